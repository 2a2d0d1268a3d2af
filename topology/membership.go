package topology

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// A MembershipNote says what a change of membership did other than asked.
type MembershipNote struct {
	Topology, Unit string
	// Position is the position asked for, past the end of its ring; the node was
	// put at position 0 instead, as Slurm does.
	Position int
}

// WithNode returns the topologies with the membership of node id made equal to
// attr, the node attribute Topology=: a comma list of topology:unit. In
// topologies that it does not name the node is in no unit; an empty attr removes
// it everywhere. ts is not changed.
//
// The unit of a block topology is a base block, of a tree a leaf switch or a path
// of switches "a:b:c", of which missing ones are made below the one before, of a
// ring topology ring:position, a new ring with position 0, of a torus
// torus:x:y:z, an empty cell. Later nodes of a ring move up. An unknown topology
// or unit, a full ring and a cell that is taken are errors of type *[ParseError],
// and then nothing is changed. Cost: the topologies named, and those that lose
// the node, are built anew.
//
// Source: spec/topology.md 1.6.
func (ts *Topologies) WithNode(id NodeID, attr string) (*Topologies, []MembershipNote, error) {
	e := memberEdit{ts: ts, id: id, name: ts.names.Name(id), specs: make([]*Spec, len(ts.all)), attr: attr}
	for i, t := range ts.all {
		if t.UnitOf(id) != NoUnit {
			e.remove(i)
		}
	}
	at := 0
	for entry := range strings.SplitSeq(attr, ",") {
		if entry != "" {
			if err := e.add(entry); err != nil {
				return nil, nil, &ParseError{Text: attr, Offset: at, Err: err}
			}
		}
		at += len(entry) + 1
	}
	out := &Topologies{names: ts.names, all: slices.Clone(ts.all)}
	for i, s := range e.specs {
		if s == nil {
			continue
		}
		t, problems := New(s, ts.names)
		if t == nil {
			return nil, nil, problems.Err()
		}
		t.alphaRank = ts.all[i].alphaRank
		out.all[i] = t
	}
	return out, e.notes, nil
}

// A memberEdit changes the specs of the topologies that are concerned.
type memberEdit struct {
	ts    *Topologies
	id    NodeID
	name  string
	specs []*Spec
	attr  string
	notes []MembershipNote
}

// spec returns the spec of topology i to be changed.
func (e *memberEdit) spec(i int) *Spec {
	if e.specs[i] == nil {
		s := e.ts.all[i].Spec(e.ts.names)
		e.specs[i] = &s
	}
	return e.specs[i]
}

// without and with change a hostlist of known nodes.
func (e *memberEdit) without(list string) string {
	hosts, _ := ParseHostlist(list)
	return string(AppendHostlist(nil, slices.DeleteFunc(hosts, func(h string) bool { return h == e.name })))
}

func (e *memberEdit) with(list string, at int) string {
	hosts, _ := ParseHostlist(list)
	return string(AppendHostlist(nil, slices.Insert(hosts, min(at, len(hosts)), e.name)))
}

// remove takes the node out of its unit in topology i.
func (e *memberEdit) remove(i int) {
	u := e.ts.all[i].UnitOf(e.id)
	s := e.spec(i)
	switch {
	case s.Tree != nil:
		w := &s.Tree.Switches[u]
		w.Nodes = e.without(w.Nodes)
	case s.Block != nil:
		b := &s.Block.Blocks[u]
		b.Nodes = e.without(b.Nodes)
	case s.Ring != nil:
		r := &s.Ring.Rings[u]
		r.Nodes = e.without(r.Nodes)
	case s.Torus != nil:
		t := &s.Torus.Toruses[u]
		hosts, _ := ParseHostlist(t.Nodes)
		hosts[slices.Index(hosts, e.name)] = EmptyCell
		t.Nodes = string(AppendHostlist(nil, hosts))
	}
}

// add puts the node where one entry of the attribute says.
func (e *memberEdit) add(entry string) error {
	name, path, _ := strings.Cut(entry, ":")
	i := slices.IndexFunc(e.ts.all, func(t *Topology) bool { return t.name == name })
	if i < 0 {
		return ErrUnknownTopology
	}
	units := strings.Split(path, ":")
	switch s := e.spec(i); {
	case s.Tree != nil:
		return e.addTree(s.Tree, units)
	case s.Block != nil:
		for j := range s.Block.Blocks {
			if b := &s.Block.Blocks[j]; len(units) == 1 && b.Name == units[0] {
				b.Nodes = e.with(b.Nodes, 1<<30)
				return nil
			}
		}
		return ErrUnknownUnit
	case s.Ring != nil:
		return e.addRing(name, s.Ring, units)
	case s.Torus != nil:
		return e.addTorus(s.Torus, units)
	}
	return ErrUnknownUnit // flat has none
}

func (e *memberEdit) addTree(t *TreeSpec, path []string) error {
	find := func(name string) int {
		return slices.IndexFunc(t.Switches, func(w SwitchSpec) bool { return w.Name == name })
	}
	at := find(path[0])
	if at < 0 {
		return ErrUnknownUnit
	}
	for _, name := range path[1:] {
		next := find(name)
		if next < 0 {
			if name == "" || t.Switches[at].Nodes != "" {
				return ErrUnknownUnit // nothing can be made below a leaf with nodes
			}
			t.Switches = append(t.Switches, SwitchSpec{Name: name})
			next = len(t.Switches) - 1
			hosts, _ := ParseHostlist(t.Switches[at].Children)
			t.Switches[at].Children = string(AppendHostlist(nil, append(hosts, name)))
		}
		at = next
	}
	if t.Switches[at].Children != "" {
		return ErrUnknownUnit // the last must be a leaf
	}
	t.Switches[at].Nodes = e.with(t.Switches[at].Nodes, 1<<30)
	return nil
}

func (e *memberEdit) addRing(topology string, r *RingSpec, path []string) error {
	if len(path) != 2 {
		return ErrSyntax
	}
	pos, err := strconv.ParseUint(path[1], 10, 31)
	if err != nil || path[0] == "" {
		return ErrSyntax
	}
	i := slices.IndexFunc(r.Rings, func(u UnitSpec) bool { return u.Name == path[0] })
	if i < 0 {
		if pos != 0 {
			return ErrUnknownUnit
		}
		r.Rings = append(r.Rings, UnitSpec{Name: path[0], Nodes: e.name})
		return nil
	}
	hosts, _ := ParseHostlist(r.Rings[i].Nodes)
	if len(hosts) >= MaxRing {
		return ErrFull
	}
	if int(pos) > len(hosts) {
		e.notes = append(e.notes, MembershipNote{Topology: topology, Unit: path[0], Position: int(pos)})
		pos = 0
	}
	r.Rings[i].Nodes = e.with(r.Rings[i].Nodes, int(pos))
	return nil
}

func (e *memberEdit) addTorus(t *TorusSpec, path []string) error {
	if len(path) != 4 {
		return ErrSyntax
	}
	i := slices.IndexFunc(t.Toruses, func(u TorusUnitSpec) bool { return u.Name == path[0] })
	if i < 0 {
		return ErrUnknownUnit
	}
	u := &t.Toruses[i]
	var at [3]int32
	for axis := range at {
		v, err := strconv.ParseUint(path[axis+1], 10, 31)
		if err != nil {
			return ErrSyntax
		}
		if at[axis] = int32(v); at[axis] >= u.Dims.at(axis) {
			return ErrUnknownUnit
		}
	}
	hosts, _ := ParseHostlist(u.Nodes)
	c := cell(u.Dims, at[0], at[1], at[2])
	if hosts[c] != EmptyCell {
		return ErrFull
	}
	hosts[c] = e.name
	u.Nodes = string(AppendHostlist(nil, hosts))
	return nil
}
