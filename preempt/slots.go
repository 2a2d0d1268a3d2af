package preempt

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Demand is what Slots looks at of a preemptor: nodes of one unit with an
// amount of the scarce resource on each.
type Demand struct {
	// Nodes is the number of nodes, at least 1.
	Nodes int
	// PerNode is the amount that each must give, in whole units (GPUs, or CPUs
	// of a job without).
	PerNode int32
	// Units is the number of units that Unit numbers; 1 for a flat cluster.
	Units int
}

// A Held says what candidates hold, as rows of variable length: candidate c
// holds Amount[i] on Node[i] for i from First[c] up to First[c+1].
type Held struct {
	// First has a row for each candidate and one more.
	First []int32
	// Node and Amount are the entries.
	Node, Amount []int32
}

// Slots proposes victims by counting one resource. The zero value is ready.
type Slots struct {
	first  []int32 // by node: its entries in cand and amount
	cand   []int32
	amount []int32
	table  []int64 // least cost by amount freed
	take   []bool  // by candidate of the node and amount
	node   []int64 // least cost of a slot on each node; -1 none
	byUnit []int32
	unitAt []int32
	heap   []int32
	best   []int32
	share  []int64 // cost of a candidate for each of its nodes, shifted left by shift
	shift  uint
	seen   []bool
	steps  int // of cover, for tests
}

// shareBits are the most binary digits that shares of a cost have behind the
// point: the rounded sum over fewer than 1<<shareBits nodes then rounds up to the
// cost that it stands for.
const shareBits = 12

// Propose appends candidates whose removal gives Nodes nodes of one unit PerNode
// each, in ascending order, and a cost that no such set can be below. free is
// what nodes give as they are, negative for nodes that must not be used; unit
// numbers the unit of each node from 0. A candidate on several nodes counts for
// each with its share of the cost. It reports false if no unit can. Ties go to
// lower units and nodes.
//
// Cost: a step for each entry of h and each free amount of a slot, and one a
// node.
func (s *Slots) Propose(dst []int32, d *Demand, free, unit []int32, costs []int64, h *Held) ([]int32, int64, bool) {
	s.prepare(free, costs, h)
	s.price(d, free)
	s.group(d, unit)
	bound, found := int64(0), false
	for u := range d.Units {
		nodes := s.byUnit[s.unitAt[u]:s.unitAt[u+1]]
		sum, ok := s.cheapest(d.Nodes, nodes)
		if ok && (!found || sum < bound) {
			bound, found = sum, true
			s.best = append(s.best[:0], s.heap...)
		}
	}
	if !found {
		return dst, 0, false
	}
	clear(s.seen)
	for _, n := range s.best {
		s.trace(d, free, n)
	}
	bound = (bound-1)>>s.shift + 1
	for c, on := range s.seen {
		if on {
			dst = append(dst, int32(c))
		}
	}
	return dst, bound, true
}

// prepare turns the rows of candidates into rows of nodes.
func (s *Slots) prepare(free []int32, costs []int64, h *Held) {
	nodes := len(free)
	s.first = resize(s.first, nodes+1)
	clear(s.first)
	for _, n := range h.Node {
		s.first[n+1]++
	}
	for n := range nodes {
		s.first[n+1] += s.first[n]
	}
	s.cand, s.amount = resize(s.cand, len(h.Node)), resize(s.amount, len(h.Node))
	s.share, s.seen = resize(s.share, len(costs)), resize(s.seen, len(costs))
	sum := int64(0)
	for _, c := range costs {
		sum = addCost(sum, c)
	}
	s.shift = uint(min(max(bits.LeadingZeros64(uint64(sum))-2, 0), shareBits))
	for c := range costs {
		lo, hi := h.First[c], h.First[c+1]
		s.share[c] = costs[c] << s.shift
		if hi-lo > 1 {
			s.share[c] /= int64(hi - lo)
		}
		for i := lo; i < hi; i++ {
			n := h.Node[i]
			at := s.first[n]
			s.first[n]++
			s.cand[at], s.amount[at] = int32(c), h.Amount[i]
		}
	}
	// Filling moved each row's begin to its end.
	copy(s.first[1:], s.first[:nodes])
	s.first[0] = 0
}

// price finds what a slot costs on each node.
func (s *Slots) price(d *Demand, free []int32) {
	s.node = resize(s.node, len(free))
	for n := range free {
		switch need := d.PerNode - free[n]; {
		case free[n] < 0:
			s.node[n] = -1
		case need <= 0:
			s.node[n] = 0
		default:
			s.node[n] = s.cover(int32(n), need)
		}
	}
}

// cover is the least cost of candidates of node n that hold need in all, -1 if
// they do not. The table that it leaves behind says which.
func (s *Slots) cover(n, need int32) int64 {
	lo, hi := s.first[n], s.first[n+1]
	held := int32(0)
	for i := lo; i < hi && held < need; i++ {
		held += s.amount[i]
	}
	if held < need {
		return -1
	}
	w := int(need) + 1
	s.steps += w * int(hi-lo)
	s.table = resize(s.table, w)
	s.take = resize(s.take, w*int(hi-lo))
	clear(s.take)
	for a := range s.table {
		s.table[a] = -1
	}
	s.table[0] = 0
	for i := lo; i < hi; i++ {
		share, amount := s.share[s.cand[i]], int(s.amount[i])
		row := s.take[int(i-lo)*w:][:w]
		for a := w - 1; a > 0; a-- {
			from := s.table[max(a-amount, 0)]
			if from < 0 || amount <= 0 {
				continue
			}
			if c := addCost(from, share); s.table[a] < 0 || c < s.table[a] {
				s.table[a] = c
				row[a] = true
			}
		}
	}
	return s.table[need]
}

// trace marks the candidates that cover chose on node n.
func (s *Slots) trace(d *Demand, free []int32, n int32) {
	a := d.PerNode - free[n]
	if a <= 0 || s.cover(n, a) < 0 {
		return
	}
	w := int(a) + 1
	lo, hi := s.first[n], s.first[n+1]
	for i := hi - 1; i >= lo && a > 0; i-- {
		if s.take[int(i-lo)*w+int(a)] {
			s.seen[s.cand[i]] = true
			a = max(a-s.amount[i], 0)
		}
	}
}

// group lists the nodes of each unit.
func (s *Slots) group(d *Demand, unit []int32) {
	s.unitAt = resize(s.unitAt, d.Units+1)
	clear(s.unitAt)
	for _, u := range unit {
		s.unitAt[u+1]++
	}
	for u := range d.Units {
		s.unitAt[u+1] += s.unitAt[u]
	}
	s.byUnit = resize(s.byUnit, len(unit))
	for n, u := range unit {
		s.byUnit[s.unitAt[u]] = int32(n)
		s.unitAt[u]++
	}
	copy(s.unitAt[1:], s.unitAt[:d.Units])
	s.unitAt[0] = 0
}

// cheapest leaves the count cheapest nodes in the heap, the dearest on top, and
// returns their sum.
func (s *Slots) cheapest(count int, nodes []int32) (int64, bool) {
	h := s.heap[:0]
	sum := int64(0)
	for _, n := range nodes {
		if s.node[n] < 0 {
			continue
		}
		if len(h) < count {
			h = append(h, n)
			sum = addCost(sum, s.node[n])
			for i := len(h) - 1; i > 0 && s.dearer(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
				h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
			}
			continue
		}
		if !s.dearer(h[0], n) {
			continue
		}
		sum += s.node[n] - s.node[h[0]]
		h[0] = n
		s.sift(h)
	}
	s.heap = h
	return sum, len(h) == count
}

func (s *Slots) dearer(a, b int32) bool {
	return s.node[a] > s.node[b] || s.node[a] == s.node[b] && a > b
}

// sift lets the top of the heap sink to its place.
func (s *Slots) sift(h []int32) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && s.dearer(h[c+1], h[c]) {
			c++
		}
		if !s.dearer(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// resize gives v n elements, and new memory only if it must grow.
func resize[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// sortByCost orders candidates by cost, ties by number. Where cost and number fit
// into one word the words are sorted; they are kept in keys.
func sortByCost(list []int32, costs []int64, keys []uint64) []uint64 {
	w := bits.Len(uint(len(costs)))
	keys = keys[:0]
	for _, c := range list {
		if uint64(costs[c])>>(64-w) != 0 {
			slices.SortFunc(list, func(a, b int32) int {
				return cmp.Or(cmp.Compare(costs[a], costs[b]), cmp.Compare(a, b))
			})
			return keys
		}
		keys = append(keys, uint64(costs[c])<<w|uint64(c))
	}
	slices.Sort(keys)
	for i, k := range keys {
		list[i] = int32(k & (1<<w - 1))
	}
	return keys
}
