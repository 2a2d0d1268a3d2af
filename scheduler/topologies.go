package scheduler

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/topology"
)

type topo struct {
	name   string
	fitter topology.Fitter
}

// buildTopologies makes the fitters of the configuration.
func (e *engine) buildTopologies() error {
	specs := e.cfg.Topologies
	if len(specs) == 0 {
		specs = []TopologySpec{{Name: "default", Flat: true}}
	}
	for i := range specs {
		s := &specs[i]
		if len(s.Levels) > 0 {
			return fmt.Errorf("scheduler: read topology %q: levels: %w", s.Name, ErrUnsupported)
		}
		spec := s.topology()
		t, problems := topology.New(&spec, e.names)
		if err := problems.Err(); err != nil {
			return fmt.Errorf("scheduler: read topology %q: %w", s.Name, err)
		}
		e.topos = append(e.topos, topo{name: s.Name, fitter: t.Fitter(e.fitOptions(s))})
	}
	e.totalCPUs = make([]int32, len(e.nodes))
	for i := range e.totalCPUs {
		e.totalCPUs[i] = int32(e.pool.Shape(int32(i)).MilliCPU() / 1000)
	}
	return nil
}

// fitOptions are the rules by which a topology is fitted.
func (e *engine) fitOptions(s *TopologySpec) topology.Options {
	o := topology.Options{Defects: e.cfg.Defects}
	if e.cfg.Profile == ProfileSlurm {
		o.Profile = topology.ProfileSlurm
	}
	for word := range strings.SplitSeq(strings.ToLower(s.Parameters), ",") {
		switch word {
		case "dragonfly":
			o.Dragonfly = true
		case "topooptional":
			o.TopoOptional = true
		}
	}
	return o
}

// topology puts s into the form of package topology.
func (s *TopologySpec) topology() topology.Spec {
	t := topology.Spec{Name: s.Name}
	switch {
	case len(s.Switches) > 0:
		t.Tree = &topology.TreeSpec{}
		for _, w := range s.Switches {
			t.Tree.Switches = append(t.Tree.Switches, topology.SwitchSpec{
				Name: w.Name, Nodes: w.Nodes, Children: w.Switches, LinkSpeed: int64(w.LinkSpeed),
			})
		}
	case len(s.Blocks) > 0 || len(s.BlockSizes) > 0:
		t.Block = &topology.BlockSpec{Blocks: units(s.Blocks)}
		for _, n := range s.BlockSizes {
			t.Block.Sizes = append(t.Block.Sizes, int64(n))
		}
	case len(s.Rings) > 0:
		t.Ring = &topology.RingSpec{Rings: units(s.Rings)}
	case len(s.Toruses) > 0:
		t.Torus = &topology.TorusSpec{}
		for _, u := range s.Toruses {
			t.Torus.Toruses = append(t.Torus.Toruses, torus(&u))
		}
	default:
		t.Flat = &topology.FlatSpec{}
	}
	return t
}

func units(list []UnitSpec) []topology.UnitSpec {
	var out []topology.UnitSpec
	for _, u := range list {
		out = append(out, topology.UnitSpec{Name: u.Name, Nodes: u.Nodes})
	}
	return out
}

func torus(u *TorusSpec) topology.TorusUnitSpec {
	t := topology.TorusUnitSpec{Name: u.Name, Dims: coord(u.Dims), Nodes: u.Nodes}
	for _, r := range u.Regions {
		t.Regions = append(t.Regions, topology.RegionSpec{Anchor: coord(r.Anchor), Dims: coord(r.Dims), Nodes: r.Nodes})
	}
	for _, p := range u.Placements {
		t.Placements = append(t.Placements, topology.PlacementSpec{Dims: coord(p.Dims), Seed: coord(p.Seed), Spacing: coord(p.Spacing)})
	}
	return t
}

func coord(v [3]int32) topology.Coord { return topology.Coord{X: v[0], Y: v[1], Z: v[2]} }
