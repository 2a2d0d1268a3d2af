package slurmconf

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// lintTopologyFiles: topo-two-files, topo-torus-conf, topo-unknown-node,
// topo-dup-node, topo-ring-16.
func (s *site) lintTopologyFiles() {
	p := &s.f.Params
	if s.f.YAML && (s.f.Conf || p.TopologyPlugin.IsSet()) {
		what := "TopologyPlugin=" + p.TopologyPlugin.V
		if s.f.Conf {
			what = "topology.conf"
		}
		at := p.TopologyPlugin.At
		if at.IsZero() {
			at = s.f.Topologies[0].At
		}
		s.warn("topo-two-files", at, "only topology.yaml counts", "topology.yaml and %s are both there; keep one", what)
	}
	if p.TopologyPlugin.V == "topology/torus3d" {
		s.bad("topo-torus-conf", p.TopologyPlugin.At, "fatal at start", "TopologyPlugin=topology/torus3d; a torus can only be in topology.yaml")
	}
	for i := range s.f.Topologies {
		t := &s.f.Topologies[i]
		where := map[string]int{}
		for u := range t.Units {
			s.lintMembers(t, u, where)
		}
	}
}

// members returns the nodes of a unit.
func members(u *Unit) []string {
	names, _ := topology.ParseHostlist(u.Nodes.V)
	for _, r := range u.Regions {
		more, _ := topology.ParseHostlist(r.Nodes.V)
		names = append(names, more...)
	}
	return names
}

func (s *site) lintMembers(t *Topology, i int, where map[string]int) {
	u := &t.Units[i]
	names := members(u)
	if t.Kind == Ring && len(names) > maxRing {
		s.bad("topo-ring-16", u.At, "fatal at start", "ring %s has %d nodes, at most %d are possible", u.Name.V, len(names), maxRing)
	}
	unknown, dup := "", ""
	for _, n := range names {
		if _, ok := s.index[n]; !ok && unknown == "" {
			unknown = n
		}
		if _, ok := where[n]; ok && dup == "" {
			dup = n
		}
		where[n] = i
	}
	if unknown != "" && len(s.index) > 0 {
		s.warn("topo-unknown-node", u.At, "the node is skipped; in a ring the later ones move up",
			"%s %s names %s, which no NodeName line has", t.Kind, u.Name.V, unknown)
	}
	if dup != "" && (t.Kind == Block || t.Kind == Ring) {
		s.warn("topo-dup-node", u.At, "the node is counted twice; this library refuses the file",
			"node %s is in %s %s and in another", dup, t.Kind, u.Name.V)
	}
}

// lintBlocks: topo-block-sizes, topo-block-small, topo-block-remainder.
func (s *site) lintBlocks() {
	for i := range s.f.Topologies {
		t := &s.f.Topologies[i]
		if t.Kind != Block || len(t.BlockSizes.V) == 0 {
			continue
		}
		if err := checkBlockSizes(t.BlockSizes.V); err != nil {
			s.bad("topo-block-sizes", t.BlockSizes.At, "fatal at start",
				"BlockSizes=%s: %v; the first value is the base, the others are it times a power of two", formatInts(t.BlockSizes.V), err)
			continue
		}
		base := t.BlockSizes.V[0]
		for j := range t.Units {
			u := &t.Units[j]
			if n := int64(len(members(u))); n > 0 && n < base {
				s.warn("topo-block-small", u.At, "it can never host a part of the base size", "block %s has %d nodes, the base size is %d", u.Name.V, n, base)
			}
		}
		// The level below the whole: the largest size that is not all of it.
		blocks, level := int64(len(t.Units)), int64(1)
		for _, size := range t.BlockSizes.V {
			level = max(level, size/base)
		}
		if level < blocks && blocks%level != 0 {
			s.warn("topo-block-remainder", t.BlockSizes.At, "some sizes are refused for ever",
				"%d blocks are no multiple of the %d of the largest size %d: jobs above it cannot use the last %d", blocks, level, level*base, blocks%level)
		}
	}
}

// lintTree: topo-all-links, topo-no-top, weight-over-topology.
func (s *site) lintTree() {
	for i := range s.f.Topologies {
		t := &s.f.Topologies[i]
		if t.Kind != Tree {
			continue
		}
		leaves, parents := 0, map[string]int{}
		for j := range t.Units {
			if !t.Units[j].Switches.IsSet() {
				leaves++
			}
			children, _ := topology.ParseHostlist(t.Units[j].Switches.V)
			for _, c := range children {
				parents[c]++
			}
		}
		roots, several := 0, ""
		for j := range t.Units {
			name := t.Units[j].Name.V
			if parents[name] == 0 {
				roots++
			}
			if parents[name] > 1 && several == "" {
				several = name
			}
		}
		if between := len(t.Units) - leaves - roots; between > 4 && between > leaves/2 || several != "" {
			what := "every link of the fabric"
			if several != "" {
				what = "switch " + several + " under several others"
			}
			s.info("topo-all-links", t.At, "slow, with little gain", "the tree lists %s (%d leaves, %d switches between them and the top); leaves and one top are enough", what, leaves, max(between, 0))
		}
		if roots > 1 {
			s.warn("topo-no-top", t.At, "jobs cannot span the parts", "the tree has %d tops; add one switch over all", roots)
		}
		s.lintWeights(t)
	}
}

func (s *site) lintWeights(t *Topology) {
	first := -1
	for j := range t.Units {
		for _, n := range members(&t.Units[j]) {
			l, ok := s.b.line[n]
			if !ok {
				continue
			}
			w := s.f.Nodes[l].Weight
			if first < 0 {
				first = int(l)
				continue
			}
			if o := s.f.Nodes[first].Weight; o.Or(1) != w.Or(1) {
				at := w.At
				if at.IsZero() {
					at = o.At
				}
				s.warn("weight-over-topology", at, "weights are honoured before switch locality",
					"%s has Weight=%d and %s Weight=%d in one tree; give the tree's nodes one weight", s.f.Nodes[first].Names.V, o.Or(1), s.f.Nodes[l].Names.V, w.Or(1))
				return
			}
		}
	}
}

// topologyOf returns the topology by which a partition places.
func (s *site) topologyOf(p *Partition) *Topology {
	list := defaultFirst(s.f.Topologies)
	if len(list) == 0 {
		return nil
	}
	if p.Topology.IsSet() {
		i := slices.IndexFunc(list, func(t Topology) bool { return t.Name.V == p.Topology.V })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	if !s.f.YAML && strings.TrimPrefix(s.f.Params.TopologyPlugin.V, "topology/") != list[0].Kind.String() {
		return nil
	}
	return &list[0]
}

// lintTopologyUse: topo-uncovered, topo-excl-tree.
func (s *site) lintTopologyUse() {
	for i := range s.parts {
		q := &s.parts[i]
		t := s.topologyOf(q.p)
		if q.p.Exclusive.V == ExclusiveTopo && (t == nil || t.Kind == Flat || t.Kind == Tree) {
			kind := Flat
			if t != nil {
				kind = t.Kind
			}
			s.warn("topo-excl-tree", q.p.Exclusive.At, "no effect", "partition %s has Exclusive=TOPO on a %s topology; it works on block and ring", q.p.Name.V, kind)
		}
		if t == nil || t.Kind == Flat {
			continue
		}
		covered := make([]uint64, len(q.nodes))
		for j := range t.Units {
			for _, n := range members(&t.Units[j]) {
				if k, ok := s.index[n]; ok {
					covered[k/64] |= 1 << (k % 64)
				}
			}
		}
		missing, first := 0, ""
		for _, names := range s.b.names {
			for _, n := range names {
				k := s.index[n]
				if q.nodes[k/64]>>(k%64)&1 == 1 && covered[k/64]>>(k%64)&1 == 0 {
					if missing++; first == "" {
						first = n
					}
				}
			}
		}
		if missing > 0 {
			s.warn("topo-uncovered", q.p.Name.At, "they are never used together with nodes of a unit",
				"%d nodes of partition %s (%s first) lie in no %s of topology %q", missing, q.p.Name.V, first, t.Kind, t.Name.V)
		}
	}
}
