package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Levels is a cluster cut into domains level by level, from the widest to single
// nodes: zones, blocks, racks, nodes. It is immutable. Domains of a level are
// numbered in the order of their values, so that the domains inside one of the
// level above are consecutive. The last level is always the nodes themselves,
// which are called "node".
//
// Kubernetes: Kueue's Topology, KAI's Topology, Volcano's HyperNode tiers
// (spec/topology.md 3).
type Levels struct {
	n      int
	levels []levelTable
	nodeAt []NodeID     // node of each domain of the last level
	at     []int32      // domain of each node at the last level, -1 if in none
	plain  bool         // nodeAt[i] == i
	bits   []domainBits // of the domains above the nodes
}

// domainBits says where the nodes of a domain are in the words of a set: the bits
// mask of one word, or from node start on if they are consecutive, which is NoNode
// if they are not.
type domainBits struct {
	mask  uint64 // 0 if they are in several words
	word  int32
	start NodeID
}

func bitsOf(ids []NodeID) domainBits {
	b := domainBits{word: int32(ids[0] >> 6), start: ids[0]}
	for i, id := range ids {
		if int(id-ids[0]) != i {
			b.start = NoNode
		}
		b.mask |= 1 << (uint(id) & 63)
	}
	if int32(slices.Max(ids)>>6) != b.word || int32(slices.Min(ids)>>6) != b.word {
		b.mask = 0
	}
	return b
}

// A levelTable is one level: child domains of domain d are first[d] to
// first[d+1]-1 of the next level.
type levelTable struct {
	name    string
	domains []string
	first   []int32
	parent  []int32 // domain of the level above, 0 at the top
}

// MaxLevels is the most levels above the nodes.
const MaxLevels = 8

// ErrLevels is returned by [NewLevels] for columns that do not make levels.
var ErrLevels = errors.New("invalid levels")

// NewLevels builds levels from labels: labels[l][n] is the value of level l at
// node n, widest level first, and levels[l] the label's name. Two domains of one
// level with equal values but different parents are two domains. A node that
// lacks a value is in no domain. The order of domains is that of their values as
// text; of nodes that of their NodeIDs. Errors wrap [ErrLevels].
func NewLevels(levels []string, labels [][]string, n int) (*Levels, error) {
	if len(levels) != len(labels) || len(levels) > MaxLevels {
		return nil, fmt.Errorf("topology: build levels: %d names, %d columns, at most %d: %w", len(levels), len(labels), MaxLevels, ErrLevels)
	}
	for l, col := range labels {
		if len(col) != n {
			return nil, fmt.Errorf("topology: build levels: level %q has %d nodes of %d: %w", levels[l], len(col), n, ErrLevels)
		}
	}
	var in []NodeID
	for id := range n {
		if !slices.ContainsFunc(labels, func(col []string) bool { return col[id] == "" }) {
			in = append(in, NodeID(id))
		}
	}
	slices.SortFunc(in, func(a, b NodeID) int {
		for _, col := range labels {
			if c := cmp.Compare(col[a], col[b]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	return buildLevels(levels, in, n, func(l int, a, b NodeID) bool { return labels[l][a] == labels[l][b] },
		func(l int, id NodeID) string { return labels[l][id] }), nil
}

// Levels returns the levels of a topology: switches of a tree by depth, the
// enforced aggregates and base blocks of a block topology, rings, toruses; of
// flat the nodes alone. Domains are in file order. A leaf switch higher up than
// others stands for itself at the levels below.
func (t *Topology) Levels() *Levels {
	var names []string
	var of func(l int, id NodeID) UnitID // unit of level l
	switch t.kind {
	case KindFlat:
		of = func(int, NodeID) UnitID { return 0 }
	case KindTree:
		depth := int32(0)
		for _, d := range t.tree.depth {
			depth = max(depth, d)
		}
		for l := range depth + 1 {
			names = append(names, "switch"+itoa(int64(l)))
		}
		of = func(l int, id NodeID) UnitID {
			u := t.unitOf[id]
			for int(t.tree.depth[u]) > l {
				u = t.units[u].parent
			}
			return u
		}
	case KindBlock:
		var widths []int
		for k := maxLevel; k > 0; k-- {
			if t.block.levels>>k&1 != 0 && slices.ContainsFunc(t.block.aggs, func(a aggregate) bool { return int(a.level) == k }) {
				widths = append(widths, k)
				names = append(names, "block"+itoa(t.block.baseSize<<k))
			}
		}
		widths = append(widths, 0)
		names = append(names, "block")
		of = func(l int, id NodeID) UnitID { return t.unitOf[id] >> widths[l] }
	default:
		names = append(names, t.kind.String())
		of = func(_ int, id NodeID) UnitID { return t.unitOf[id] }
	}
	var in []NodeID
	for id := range t.nodes {
		if t.kind == KindFlat || t.unitOf[id] != NoUnit {
			in = append(in, NodeID(id))
		}
	}
	slices.SortFunc(in, func(a, b NodeID) int {
		for l := range names {
			if c := cmp.Compare(of(l, a), of(l, b)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	return buildLevels(names, in, t.nodes, func(l int, a, b NodeID) bool { return of(l, a) == of(l, b) },
		func(l int, id NodeID) string { return t.levelName(l, len(names), of(l, id)) })
}

// levelName names a domain of Levels.
func (t *Topology) levelName(l, levels int, u UnitID) string {
	if t.kind != KindBlock || l == levels-1 {
		return t.units[u].name
	}
	k := 0
	for i, seen := maxLevel, 0; i > 0; i-- { // the l-th listed level from the top
		if t.block.levels>>i&1 != 0 && slices.ContainsFunc(t.block.aggs, func(a aggregate) bool { return int(a.level) == i }) {
			if seen == l {
				k = i
				break
			}
			seen++
		}
	}
	var f folder
	for b := int(u) << k; b < min((int(u)+1)<<k, t.base); b++ {
		f.add(t.units[b].name)
	}
	return string(f.end())
}

// buildLevels makes the tables from the nodes in order.
func buildLevels(names []string, in []NodeID, n int, same func(l int, a, b NodeID) bool, name func(l int, id NodeID) string) *Levels {
	lv := &Levels{n: n, nodeAt: in, at: make([]int32, n), plain: true}
	for id := range lv.at {
		lv.at[id] = -1
	}
	for i, id := range in {
		lv.at[id] = int32(i)
		lv.plain = lv.plain && int(id) == i
	}
	lv.levels = make([]levelTable, len(names)+1)
	last := &lv.levels[len(names)]
	last.name = "node"
	last.parent = make([]int32, len(in))
	for l := range names {
		lv.levels[l].name = names[l]
	}
	for i, id := range in {
		fresh := i == 0 // a domain that begins here makes all below it begin
		for l := range names {
			t := &lv.levels[l]
			fresh = fresh || !same(l, in[i-1], id)
			if !fresh {
				continue
			}
			next := i
			if l+1 < len(names) {
				next = len(lv.levels[l+1].domains)
			}
			t.domains = append(t.domains, name(l, id))
			t.first = append(t.first, int32(next))
			up := int32(0)
			if l > 0 {
				up = int32(len(lv.levels[l-1].domains) - 1)
			}
			t.parent = append(t.parent, up)
		}
		if len(names) > 0 {
			last.parent[i] = int32(len(lv.levels[len(names)-1].domains) - 1)
		}
	}
	for l := range names {
		end := len(in)
		if l+1 < len(names) {
			end = len(lv.levels[l+1].domains)
		}
		lv.levels[l].first = append(lv.levels[l].first, int32(end))
	}
	if len(names) > 0 {
		first := lv.levels[len(names)-1].first
		for d, lo := range first[:len(first)-1] {
			lv.bits = append(lv.bits, bitsOf(in[lo:first[d+1]]))
		}
	}
	return lv
}

// Len returns the number of levels, the nodes included.
func (lv *Levels) Len() int { return len(lv.levels) }

// Nodes returns the number of nodes of the cluster.
func (lv *Levels) Nodes() int { return lv.n }

// LevelName returns the name of level l; the last is "node".
func (lv *Levels) LevelName(l int) string { return lv.levels[l].name }

// FindLevel returns the level called name.
func (lv *Levels) FindLevel(name string) (int, bool) {
	for l := range lv.levels {
		if lv.levels[l].name == name {
			return l, true
		}
	}
	return 0, false
}

// Domains returns the number of domains of level l.
func (lv *Levels) Domains(l int) int { return lv.size(l) }

// Domain returns the name of domain d of level l; "" at the level of nodes, whose
// names the caller has.
func (lv *Levels) Domain(l int, d int32) string {
	if l == len(lv.levels)-1 {
		return ""
	}
	return lv.levels[l].domains[d]
}

// DomainOf returns the domain of node id at level l, or -1 if it is in none.
func (lv *Levels) DomainOf(l int, id NodeID) int32 {
	d := lv.at[id]
	for k := len(lv.levels) - 1; k > l && d >= 0; k-- {
		d = lv.levels[k].parent[d]
	}
	return d
}

// AddDomain puts the nodes of domain d of level l into dst.
func (lv *Levels) AddDomain(dst *NodeSet, l int, d int32) {
	lo, hi := lv.leaves(l, d)
	for _, id := range lv.nodeAt[lo:hi] {
		dst.Add(id)
	}
}

// leaves returns the range of the last level's domains below domain d of level l.
func (lv *Levels) leaves(l int, d int32) (lo, hi int32) {
	lo, hi = d, d+1
	for ; l < len(lv.levels)-1; l++ {
		lo, hi = lv.levels[l].first[lo], lv.levels[l].first[hi]
	}
	return lo, hi
}

// size returns the number of domains of level l.
func (lv *Levels) size(l int) int {
	if l == len(lv.levels)-1 {
		return len(lv.nodeAt)
	}
	return len(lv.levels[l].domains)
}
