package topology

import "slices"

// New builds the topology that spec describes on the cluster of names, and
// returns every problem found. The topology is nil if one of them is fatal.
// Records that are merely doubtful are warned about and left out as Slurm does;
// a node in two blocks, rings or toruses, which Slurm accepts and then counts
// twice, is fatal here.
func New(spec *Spec, names *Names) (*Topology, Problems) {
	b := builder{spec: spec, names: names}
	b.top = &Topology{name: spec.Name, nodes: names.Len()}
	kinds := 0
	for _, set := range [...]bool{spec.Flat != nil, spec.Tree != nil, spec.Block != nil, spec.Ring != nil, spec.Torus != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 || spec.Flat != nil && spec.Flat.Off {
		b.problem(Fatal, ProblemKindCount, "", "", spec.Line)
		return nil, b.problems
	}
	switch {
	case spec.Flat != nil:
		b.top.alphaRank = spec.Flat.AlphaStepRank
	case spec.Tree != nil:
		b.tree(spec.Tree)
	case spec.Block != nil:
		b.block(spec.Block)
	case spec.Ring != nil:
		b.ring(spec.Ring)
	default:
		b.torus(spec.Torus)
	}
	if b.problems.Fatal() {
		return nil, b.problems
	}
	b.finish()
	return b.top, b.problems
}

// A builder collects what New makes of a spec.
type builder struct {
	spec     *Spec
	names    *Names
	top      *Topology
	problems Problems
	seen     map[string]bool
}

func (b *builder) problem(sev Severity, kind ProblemKind, unit, token string, line int) {
	b.problems = append(b.problems, Problem{Severity: sev, Kind: kind, Topology: b.spec.Name, Unit: unit, Token: token, Line: line})
}

// unit checks the name of a unit and adds it to the table.
func (b *builder) unit(name string, line int) {
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	switch {
	case name == "":
		b.problem(Fatal, ProblemNoName, "", "", line)
	case b.seen[name]:
		b.problem(Fatal, ProblemDuplicateUnit, name, "", line)
	}
	b.seen[name] = true
	b.top.units = append(b.top.units, unit{name: name, parent: NoUnit})
}

// hosts expands the hostlist of a unit; ok is false if it cannot be read.
func (b *builder) hosts(unit, text string, line int) (_ []string, ok bool) {
	hosts, err := ParseHostlist(text)
	if err != nil {
		b.problems = append(b.problems, Problem{Severity: Fatal, Kind: ProblemHostlist, Topology: b.spec.Name, Unit: unit, Token: text, Line: line, Err: err})
		return nil, false
	}
	return hosts, true
}

// ids expands the hostlist of a unit and leaves out unknown nodes with a
// warning; with holes they stay as NoNode.
func (b *builder) ids(unit, text string, line int, holes bool) []NodeID {
	hosts, _ := b.hosts(unit, text, line)
	ids := make([]NodeID, 0, len(hosts))
	for _, h := range hosts {
		id, ok := b.names.ID(h)
		if !ok {
			if holes && h == EmptyCell {
				ids = append(ids, NoNode)
				continue
			}
			b.problem(Warning, ProblemUnknownNode, unit, h, line)
			if holes {
				ids = append(ids, NoNode)
			}
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// own claims ids for the unit with index u. A node that another unit has, or the
// same unit already, is a problem of the severity; with a warning the first
// claim counts.
func (b *builder) own(u int, ids []NodeID, sev Severity, line int) {
	t := b.top
	if t.unitOf == nil {
		t.unitOf = make([]UnitID, t.nodes)
		for i := range t.unitOf {
			t.unitOf[i] = NoUnit
		}
	}
	for _, id := range ids {
		if id == NoNode {
			continue
		}
		if t.unitOf[id] != NoUnit {
			b.problem(sev, ProblemSharedNode, t.units[u].name, b.names.Name(id), line)
			continue
		}
		t.unitOf[id] = UnitID(u)
	}
}

// finish derives the per-unit node lists from unitOf and warns about nodes in no
// unit.
func (b *builder) finish() {
	t := b.top
	if t.kind == KindFlat {
		return
	}
	t.base = len(t.units)
	if t.kind == KindBlock {
		t.base = t.block.blocks
	}
	lists := make([][]NodeID, t.base)
	var outside []string
	t.covered = make([]uint64, (t.nodes+63)>>6)
	for id, u := range t.unitOf {
		if u == NoUnit {
			outside = append(outside, b.names.Name(NodeID(id)))
			continue
		}
		lists[u] = append(lists[u], NodeID(id))
		setBit(t.covered, NodeID(id))
	}
	if len(outside) > 0 {
		SortHosts(outside)
		b.problem(Warning, ProblemUncovered, "", string(AppendHostlist(nil, outside)), b.spec.Line)
	}
	t.spans = make([]span, t.base)
	for u, ids := range lists {
		t.spans[u] = spanOf(ids)
	}
	if t.placeable == nil {
		t.placeable = t.covered
	}
	if t.kind == KindTree {
		t.tree.link(t)
	}
}

// A span is the nodes of a unit, ascending: lo to hi-1 if they are consecutive,
// else ids.
type span struct {
	lo, hi NodeID
	ids    []NodeID
	size   int32
}

func spanOf(ids []NodeID) span {
	if len(ids) == 0 {
		return span{}
	}
	slices.Sort(ids)
	s := span{lo: ids[0], hi: ids[len(ids)-1] + 1, size: int32(len(ids))}
	if int(s.hi-s.lo) != len(ids) {
		s.ids = ids
	}
	return s
}

// count returns how many nodes of the span are in w.
func (s *span) count(w []uint64) int {
	if s.ids == nil {
		return countRange(w, s.lo, s.hi)
	}
	n := 0
	for _, id := range s.ids {
		n += int(w[id>>6] >> (uint(id) & 63) & 1)
	}
	return n
}

// next returns the lowest node of the span that is in w and at least id, or
// NoNode.
func (s *span) next(w []uint64, id NodeID) NodeID {
	if s.ids == nil {
		if id = nextBit(w, max(id, s.lo)); id >= s.hi {
			return NoNode
		}
		return id
	}
	at, _ := slices.BinarySearch(s.ids, id)
	for _, id := range s.ids[at:] {
		if hasBit(w, id) {
			return id
		}
	}
	return NoNode
}

// drop takes the nodes of the span out of w.
func (s *span) drop(w []uint64) {
	if s.ids == nil {
		clearRange(w, s.lo, s.hi)
		return
	}
	for _, id := range s.ids {
		clearBit(w, id)
	}
}

// add puts the nodes of the span into w.
func (s *span) add(w []uint64) {
	if s.ids == nil {
		setRange(w, s.lo, s.hi)
		return
	}
	for _, id := range s.ids {
		setBit(w, id)
	}
}
