package topology

import (
	"iter"
	"math/bits"

	"github.com/bits-and-blooms/bitset"
)

// A NodeSet is a set of the nodes of one cluster. Its length is fixed by
// [NodeSet.Init]: all sets of a cluster have the same length, and the methods
// that take a second set panic if it differs. The zero value is an empty set of
// a cluster without nodes.
//
// The bits lie in words of 64 in node order, bit i of word w being node 64·w+i;
// bits past the last node are zero. No method but Init, InitWords and Clone
// allocates. A NodeSet must not be copied by assignment: copies share words.
type NodeSet struct {
	set bitset.BitSet
}

// Init makes s the empty set of a cluster of n nodes. Words are reused if there
// are enough of them. It panics if n is negative.
func (s *NodeSet) Init(n int) {
	if n < 0 {
		panic("topology: negative number of nodes")
	}
	w := s.set.Words()
	if need := (n + 63) >> 6; cap(w) < need {
		w = make([]uint64, need)
	} else {
		w = w[:need]
		clear(w)
	}
	s.set = *bitset.FromWithLength(uint(n), w)
}

// InitWords makes s the set of a cluster of n nodes whose bits are words, which
// s and the caller share afterwards: a way to cut many sets from one arena. It
// panics unless len(words) is (n+63)/64 and the bits past n are zero.
func (s *NodeSet) InitWords(n int, words []uint64) {
	if n < 0 || len(words) != (n+63)>>6 {
		panic("topology: number of words does not match number of nodes")
	}
	if n&63 != 0 && words[len(words)-1]>>(uint(n)&63) != 0 {
		panic("topology: bits past the last node")
	}
	s.set = *bitset.FromWithLength(uint(n), words)
}

// Clone returns a copy of s with words of its own.
func (s *NodeSet) Clone() *NodeSet {
	c := new(NodeSet)
	c.InitWords(s.Len(), append([]uint64(nil), s.set.Words()...))
	return c
}

// Len returns the number of nodes of the cluster, not of the set.
func (s *NodeSet) Len() int { return int(s.set.Len()) }

// Words returns the words of s, lowest nodes first. They are the set itself, not
// a copy; whoever writes them keeps the bits past the last node zero.
func (s *NodeSet) Words() []uint64 { return s.set.Words() }

// Has reports whether id is in s. It panics if id is outside the cluster.
func (s *NodeSet) Has(id NodeID) bool {
	s.bound(id)
	return s.set.Words()[id>>6]>>(uint(id)&63)&1 != 0
}

// Add puts id into s. It panics if id is outside the cluster.
func (s *NodeSet) Add(id NodeID) {
	s.bound(id)
	s.set.Words()[id>>6] |= 1 << (uint(id) & 63)
}

// Remove takes id out of s. It panics if id is outside the cluster.
func (s *NodeSet) Remove(id NodeID) {
	s.bound(id)
	s.set.Words()[id>>6] &^= 1 << (uint(id) & 63)
}

func (s *NodeSet) bound(id NodeID) {
	if uint(id) >= s.set.Len() {
		panic("topology: node outside the cluster")
	}
}

// AddAll puts every node of the cluster into s.
func (s *NodeSet) AddAll() {
	w := s.set.Words()
	for i := range w {
		w[i] = ^uint64(0)
	}
	if r := s.set.Len() & 63; r != 0 {
		w[len(w)-1] = 1<<r - 1
	}
}

// AddRange puts the nodes lo to hi-1 into s. It panics unless
// 0 <= lo <= hi <= Len.
func (s *NodeSet) AddRange(lo, hi NodeID) {
	if lo < 0 || lo > hi || int(hi) > s.Len() {
		panic("topology: range outside the cluster")
	}
	setRange(s.set.Words(), lo, hi)
}

// Clear takes every node out of s.
func (s *NodeSet) Clear() { clear(s.set.Words()) }

// Count returns the number of nodes in s.
func (s *NodeSet) Count() int { return int(s.set.Count()) }

// Empty reports whether no node is in s.
func (s *NodeSet) Empty() bool {
	for _, w := range s.set.Words() {
		if w != 0 {
			return false
		}
	}
	return true
}

// First returns the lowest node of s, or NoNode if s is empty.
func (s *NodeSet) First() NodeID {
	for i, w := range s.set.Words() {
		if w != 0 {
			return NodeID(i<<6 + bits.TrailingZeros64(w))
		}
	}
	return NoNode
}

// Next returns the lowest node of s that is at least id, or NoNode.
func (s *NodeSet) Next(id NodeID) NodeID { return nextBit(s.set.Words(), max(id, 0)) }

// Copy makes s equal to a.
func (s *NodeSet) Copy(a *NodeSet) { copy(s.set.Words(), s.of(a)) }

// And keeps in s the nodes that are in a too.
func (s *NodeSet) And(a *NodeSet) {
	w, v := s.set.Words(), s.of(a)
	for i := range w {
		w[i] &= v[i]
	}
}

// Or puts the nodes of a into s.
func (s *NodeSet) Or(a *NodeSet) {
	w, v := s.set.Words(), s.of(a)
	for i := range w {
		w[i] |= v[i]
	}
}

// AndNot takes the nodes of a out of s.
func (s *NodeSet) AndNot(a *NodeSet) {
	w, v := s.set.Words(), s.of(a)
	for i := range w {
		w[i] &^= v[i]
	}
}

// AndOf makes s the nodes that are in a and in b.
func (s *NodeSet) AndOf(a, b *NodeSet) {
	w, u, v := s.set.Words(), s.of(a), s.of(b)
	for i := range w {
		w[i] = u[i] & v[i]
	}
}

// AndNotOf makes s the nodes that are in a and not in b.
func (s *NodeSet) AndNotOf(a, b *NodeSet) {
	w, u, v := s.set.Words(), s.of(a), s.of(b)
	for i := range w {
		w[i] = u[i] &^ v[i]
	}
}

// Equal reports whether s and a hold the same nodes of clusters of the same
// size.
func (s *NodeSet) Equal(a *NodeSet) bool {
	if s.set.Len() != a.set.Len() {
		return false
	}
	v := a.set.Words()
	for i, w := range s.set.Words() {
		if w != v[i] {
			return false
		}
	}
	return true
}

// Intersects reports whether s and a have a node in common.
func (s *NodeSet) Intersects(a *NodeSet) bool {
	v := s.of(a)
	for i, w := range s.set.Words() {
		if w&v[i] != 0 {
			return true
		}
	}
	return false
}

// Contains reports whether every node of a is in s.
func (s *NodeSet) Contains(a *NodeSet) bool {
	v := s.of(a)
	for i, w := range s.set.Words() {
		if v[i]&^w != 0 {
			return false
		}
	}
	return true
}

// CountAnd returns the number of nodes that are in s and in a.
func (s *NodeSet) CountAnd(a *NodeSet) int {
	s.of(a)
	return int(s.set.IntersectionCardinality(&a.set))
}

// AppendIDs appends the nodes of s to dst, ascending.
func (s *NodeSet) AppendIDs(dst []NodeID) []NodeID { return appendBits(dst, s.set.Words()) }

// All returns an iterator over the nodes of s in ascending order. The set must
// not be changed while it runs.
func (s *NodeSet) All() iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for i, w := range s.set.Words() {
			for ; w != 0; w &= w - 1 {
				if !yield(NodeID(i<<6 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// of returns the words of a after checking that it is of the same cluster.
func (s *NodeSet) of(a *NodeSet) []uint64 {
	if a.set.Len() != s.set.Len() {
		panic("topology: node sets of different clusters")
	}
	return a.set.Words()
}
