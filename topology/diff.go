package topology

import (
	"cmp"
	"slices"
)

// A ChangeKind says what a [Change] is about.
type ChangeKind uint8

// The changes, in the order in which a diff lists them.
const (
	ChangeKindOf  ChangeKind = iota // the type of a topology
	ChangeSizes                     // the block sizes
	UnitRemoved                     // a unit is only in the old topology
	UnitAdded                       // a unit is only in the new one
	UnitMoved                       // a switch has another parent
	NodeMoved                       // a node is in another unit, or in one rather than in none
	PositionMoved                   // a node is at another position of its ring or torus
)

// A Change is one difference between two topologies on the same nodes.
type Change struct {
	Kind ChangeKind
	// Node is the node of NodeMoved and PositionMoved, else NoNode.
	Node NodeID
	// Unit is the unit of UnitRemoved, UnitAdded and UnitMoved, else empty.
	Unit string
	// From and To are what was and what is: names of units, types, sizes or
	// addresses; empty for none.
	From, To string
}

// Diff returns what must be done to a to make it b, units in file order, nodes
// ascending. Both must be of the cluster of names.
func Diff(a, b *Topology, names *Names) []Change {
	var out []Change
	if a.kind != b.kind {
		out = append(out, Change{Kind: ChangeKindOf, Node: NoNode, From: a.kind.String(), To: b.kind.String()})
	}
	if x, y := a.sizesText(), b.sizesText(); x != y && a.kind == b.kind {
		out = append(out, Change{Kind: ChangeSizes, Node: NoNode, From: x, To: y})
	}
	inA, inB := a.unitNames(), b.unitNames()
	for u := range a.base {
		if _, ok := inB[a.units[u].name]; !ok {
			out = append(out, Change{Kind: UnitRemoved, Node: NoNode, Unit: a.units[u].name})
		}
	}
	for u := range b.base {
		name := b.units[u].name
		old, ok := inA[name]
		if !ok {
			out = append(out, Change{Kind: UnitAdded, Node: NoNode, Unit: name})
			continue
		}
		if x, y := a.parentName(old), b.parentName(UnitID(u)); a.kind == KindTree && b.kind == KindTree && x != y {
			out = append(out, Change{Kind: UnitMoved, Node: NoNode, Unit: name, From: x, To: y})
		}
	}
	for i := range min(a.nodes, b.nodes) {
		id := NodeID(i)
		x, y := a.unitName(a.UnitOf(id)), b.unitName(b.UnitOf(id))
		if x != y {
			out = append(out, Change{Kind: NodeMoved, Node: id, From: x, To: y})
			continue
		}
		if a.kind == b.kind && (a.kind == KindRing || a.kind == KindTorus3D) {
			x, y = string(a.AppendAddress(nil, id, names)), string(b.AppendAddress(nil, id, names))
			if x != y {
				out = append(out, Change{Kind: PositionMoved, Node: id, From: x, To: y})
			}
		}
	}
	return out
}

func (t *Topology) sizesText() string {
	if t.kind != KindBlock {
		return ""
	}
	var b []byte
	for k := range maxLevel + 1 {
		if t.block.levels>>k&1 != 0 {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = append(b, itoa(t.block.baseSize<<k)...)
		}
	}
	return string(b)
}

func (t *Topology) unitNames() map[string]UnitID {
	m := make(map[string]UnitID, t.base)
	for u := range t.base {
		m[t.units[u].name] = UnitID(u)
	}
	return m
}

func (t *Topology) unitName(u UnitID) string {
	if u == NoUnit {
		return ""
	}
	return t.units[u].name
}

func (t *Topology) parentName(u UnitID) string { return t.unitName(t.units[u].parent) }

// AppendDiff appends changes as text, a line each; nodes that moved the same way
// share one: "n[3-5]: r0 -> r1".
func AppendDiff(dst []byte, changes []Change, names *Names) []byte {
	or := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	for i := 0; i < len(changes); {
		c := &changes[i]
		j := i + 1
		switch c.Kind {
		case ChangeKindOf:
			dst = append(dst, "type: "...)
		case ChangeSizes:
			dst = append(dst, "sizes: "...)
		case UnitRemoved:
			dst = append(append(append(dst, "- unit "...), c.Unit...), '\n')
			i = j
			continue
		case UnitAdded:
			dst = append(append(append(dst, "+ unit "...), c.Unit...), '\n')
			i = j
			continue
		case UnitMoved:
			dst = append(append(append(dst, "switch "...), c.Unit...), ": "...)
		case NodeMoved:
			var f folder
			f.dst = dst
			for j = i; j < len(changes) && changes[j].Kind == NodeMoved && changes[j].From == c.From && changes[j].To == c.To; j++ {
				f.add(names.Name(changes[j].Node))
			}
			dst = append(f.end(), ": "...)
		case PositionMoved:
			dst = append(append(dst, names.Name(c.Node)...), ": "...)
		}
		dst = append(append(append(append(dst, or(c.From)...), " -> "...), or(c.To)...), '\n')
		i = j
	}
	return dst
}

// A Misplaced is a node that the measured fabric puts elsewhere than the
// topology does.
type Misplaced struct {
	Node NodeID
	// Unit is where the topology has it, NoUnit if nowhere.
	Unit UnitID
	// Domain is where it was measured: an NVLink domain, a switch.
	Domain string
	// Belongs is the unit that stands for Domain, NoUnit if none does.
	Belongs UnitID
}

// CheckFabric compares a topology with a measured fabric: domain[n] is the
// NVLink domain or switch of node n, "" if it was not measured. A unit stands for
// the domain with which it shares the most nodes, each domain and unit once;
// nodes of a domain that are not in its unit are returned, ascending. An empty
// result means that the file describes the machine.
//
// It panics if domain is not of the cluster's length. Cost: O(N + B log B).
func (t *Topology) CheckFabric(domain []string) []Misplaced {
	if len(domain) != t.nodes {
		panic("topology: column is not of the cluster")
	}
	index := map[string]int{}
	var names []string
	type pair struct {
		unit, dom, nodes int
	}
	shared := map[[2]int]int{}
	for i, d := range domain {
		if d == "" {
			continue
		}
		at, ok := index[d]
		if !ok {
			at = len(names)
			index[d] = at
			names = append(names, d)
		}
		if u := t.UnitOf(NodeID(i)); u != NoUnit {
			shared[[2]int{int(u), at}]++
		}
	}
	pairs := make([]pair, 0, len(shared))
	for k, n := range shared { // sorted below
		pairs = append(pairs, pair{k[0], k[1], n})
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(b.nodes-a.nodes, a.unit-b.unit, a.dom-b.dom)
	})
	stands := make([]UnitID, len(names))
	for i := range stands {
		stands[i] = NoUnit
	}
	taken := make([]bool, t.base)
	for _, p := range pairs {
		if !taken[p.unit] && stands[p.dom] == NoUnit {
			taken[p.unit], stands[p.dom] = true, UnitID(p.unit)
		}
	}
	var out []Misplaced
	for i, d := range domain {
		if d == "" {
			continue
		}
		id := NodeID(i)
		if u, b := t.UnitOf(id), stands[index[d]]; u != b {
			out = append(out, Misplaced{Node: id, Unit: u, Domain: d, Belongs: b})
		}
	}
	return out
}

// DefaultSizes appends the block sizes that topograph gives domains of the given
// sizes: the smallest, D, times 2^i up to the number of domains.
//
// Source: spec/topology.md 1.9.
func DefaultSizes(dst []int64, domains []int) []int64 {
	if len(domains) == 0 {
		return dst
	}
	d := int64(slices.Min(domains))
	for n := 1; n <= len(domains); n *= 2 {
		dst = append(dst, d)
		d *= 2
	}
	return dst
}
