package slurmconf

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// pluginKinds are the values of TopologyPlugin that topology.conf serves.
var pluginKinds = map[string]TopologyKind{"": Flat, "topology/flat": Flat, "topology/default": Flat, "topology/none": Flat, "topology/tree": Tree,
	"topology/block": Block, "topology/ring": Ring}

// topologies checks and converts the topologies. topology.yaml alone counts if
// it is there; otherwise TopologyPlugin says what topology.conf is. A missing
// topology.conf is a warning only: sites keep it elsewhere or generate it.
func (b *builder) topologies() {
	f, p := b.f, &b.f.Params
	list := f.Topologies
	if !f.YAML {
		kind, ok := pluginKinds[p.TopologyPlugin.V]
		if !ok {
			b.rd.fail(p.TopologyPlugin.At, p.TopologyPlugin.V, refusedErr("flat, tree, block and ring are possible outside topology.yaml"))
			return
		}
		switch {
		case kind == Flat:
			if len(list) > 0 {
				b.rd.warn(list[0].At, "topology.conf", "TopologyPlugin is flat, the file is not used")
			}
			list = nil
		case len(list) == 0:
			b.rd.warn(p.TopologyPlugin.At, p.TopologyPlugin.V, "topology.conf is missing: the nodes count as flat")
		case list[0].Kind != kind:
			b.rd.fail(list[0].At, "topology.conf", refusedErr("it describes a %s, TopologyPlugin is %s", list[0].Kind, kind))
			return
		}
	}
	warnings, err := CheckTopologies(list, func(name string) bool { _, ok := b.line[name]; return ok })
	b.rd.warnings = append(b.rd.warnings, warnings...)
	if err != nil {
		b.rd.errs = append(b.rd.errs, err)
		return
	}
	param := make([]string, 0, len(p.TopologyParam.V))
	for _, it := range p.TopologyParam.V {
		if !topologyWords[it.Name] {
			b.rd.warn(p.TopologyParam.At, it.text(), "unknown word of TopologyParam, ignored")
		}
		param = append(param, it.text())
	}
	for _, t := range defaultFirst(list) {
		b.cfg.Topologies = append(b.cfg.Topologies, b.topology(t, strings.Join(param, ",")))
	}
	if len(list) == 0 && len(param) > 0 {
		b.cfg.Topologies = append(b.cfg.Topologies, scheduler.TopologySpec{Name: "default", Flat: true, Parameters: strings.Join(param, ",")})
	}
}

// text returns the item as it was written, its name in lower case.
func (it Item) text() string {
	if it.Given {
		return it.Name + "=" + it.Value
	}
	return it.Name
}

// defaultFirst puts the flagged topologies before the others.
func defaultFirst(list []Topology) []Topology {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(x, y Topology) int {
		switch {
		case x.Default.V == y.Default.V:
			return 0
		case x.Default.V:
			return -1
		}
		return 1
	})
	return out
}

func (b *builder) topology(t Topology, param string) scheduler.TopologySpec {
	s := scheduler.TopologySpec{Name: t.Name.V, Parameters: param}
	switch t.Kind {
	case Flat:
		s.Flat = true
	case Tree:
		for _, u := range t.Units {
			s.Switches = append(s.Switches, scheduler.SwitchSpec{Name: u.Name.V, Nodes: b.existing(u.Nodes.V), Switches: u.Switches.V, LinkSpeed: clip32(u.LinkSpeed.Or(1))})
		}
	case Block:
		for _, n := range t.BlockSizes.V {
			s.BlockSizes = append(s.BlockSizes, clip32(n))
		}
		for _, u := range t.Units {
			s.Blocks = append(s.Blocks, scheduler.UnitSpec{Name: u.Name.V, Nodes: b.existing(u.Nodes.V)})
		}
	case Ring:
		for _, u := range t.Units {
			s.Rings = append(s.Rings, scheduler.UnitSpec{Name: u.Name.V, Nodes: b.existing(u.Nodes.V)})
		}
	case Torus:
		for _, u := range t.Units {
			s.Toruses = append(s.Toruses, torus(u))
		}
	}
	return s
}

// existing drops the nodes that do not exist from a hostlist. Slurm skips them;
// in a ring the later ones move up.
func (b *builder) existing(list string) string {
	names, err := topology.ParseHostlist(list)
	if err != nil {
		return list
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := b.line[n]; return !ok })
	if len(kept) == len(names) {
		return list
	}
	return string(topology.AppendHostlist(nil, kept))
}

// torus converts a torus. Its nodes stay as written: an unknown one leaves its
// cell empty, but keeps the places of the others.
func torus(u Unit) scheduler.TorusSpec {
	s := scheduler.TorusSpec{Name: u.Name.V, Dims: int32s(u.Dims.V), Nodes: u.Nodes.V}
	for _, r := range u.Regions {
		s.Regions = append(s.Regions, scheduler.RegionSpec{Anchor: int32s(r.Anchor), Dims: int32s(r.Dims), Nodes: r.Nodes.V})
	}
	for _, p := range u.Placements {
		s.Placements = append(s.Placements, scheduler.PlacementSpec{Dims: int32s(p.Dims), Seed: int32s(p.Seed), Spacing: int32s(p.Spacing)})
	}
	return s
}

func int32s(v [3]int64) [3]int32 { return [3]int32{int32(v[0]), int32(v[1]), int32(v[2])} }
