package scheduler

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

type topo struct {
	name   string
	top    *topology.Topology
	fitter topology.Fitter

	levels   *topology.Levels // nil without
	fill     topology.Fill
	balanced bool
}

// buildTopologies makes the topologies of the configuration and their fitters.
func (e *engine) buildTopologies() error {
	specs := e.cfg.Topologies
	if len(specs) == 0 {
		specs = []TopologySpec{{Name: "default", Flat: true}}
	}
	specs, err := e.withMembers(specs)
	if err != nil {
		return err
	}
	list := make([]topology.Spec, len(specs))
	for i := range specs {
		list[i] = specs[i].topology()
	}
	all, problems := topology.NewTopologies(list, e.names)
	if err := problems.Err(); err != nil {
		return fmt.Errorf("scheduler: read topologies: %w", err)
	}
	e.topologies = all
	for i := range specs {
		s := &specs[i]
		t := topo{name: s.Name, top: all.At(i), fitter: all.At(i).Fitter(e.fitOptions(s))}
		if len(s.Levels) > 0 {
			lv, err := e.buildLevels(s)
			if err != nil {
				return fmt.Errorf("scheduler: read topology %q: %w", s.Name, err)
			}
			t.levels = lv
			t.fill, t.balanced = levelFill(s.Parameters)
		}
		e.topos = append(e.topos, t)
	}
	if _, n, ok := strings.Cut(strings.ToLower(specs[0].Parameters), "topomaxsizeunroll="); ok && all.At(0).Kind() == topology.KindBlock {
		n, _, _ = strings.Cut(n, ",")
		k, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			return fmt.Errorf("scheduler: read topology parameters %q: %w", specs[0].Parameters, ErrSpec)
		}
		e.unroll = int32(k)
	}
	e.held.Init(len(e.nodes))
	e.busy.Init(len(e.nodes))
	e.totalCPUs = make([]int32, len(e.nodes))
	for i := range e.there.All() {
		e.totalCPUs[i] = int32(e.pool.Shape(int32(i)).MilliCPU() / 1000)
	}
	return nil
}

// fitProfile is the configuration's profile in the words of package topology.
func (e *engine) fitProfile() topology.Profile {
	if e.cfg.Profile == ProfileSlurm {
		return topology.ProfileSlurm
	}
	return topology.ProfileBest
}

// exclusiveTopo reports whether a job of spec in partition p wants its topology
// units to itself.
func exclusiveTopo(s *JobSpec, p *partition) bool {
	return s.Exclusive == ExclusiveTopo || p.spec.Exclusive == ExclusiveTopo
}

// holdUnits recomputes the nodes kept by running jobs that have their topology
// units to themselves. It is called when such a job starts or ends.
func (e *engine) holdUnits() {
	e.held.Clear()
	e.holders, e.holding, e.plans.holdsKnown = 0, e.holding[:0], false
	var set topology.NodeSet
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if !j.running() || len(j.alloc) == 0 || !e.classes.rows[j.classes[j.partIdx]].unitsAlone {
			continue
		}
		if e.holders == 0 {
			set.Init(len(e.nodes))
		}
		e.holders++
		e.holding = append(e.holding, int32(r))
		set.Clear()
		for i := range j.alloc {
			set.Add(j.alloc[i].node)
		}
		e.addBlocked(&e.held, &e.classes.rows[j.classes[j.partIdx]], &set)
	}
}

// keepUnits takes from the nodes of a try those in units that others have to
// themselves, and for a class that wants its own, those in units that are used.
func (e *engine) keepUnits(c *class) {
	if e.holders > 0 {
		e.try.within.AndNot(&e.held)
	}
	if !c.unitsAlone {
		return
	}
	e.busy.Clear()
	for i := range e.nodes {
		if len(e.nodes[i].jobs) > 0 {
			e.busy.Add(topology.NodeID(i))
		}
	}
	used := &e.try.mask
	used.Clear()
	e.addForbidden(used, c, &e.busy)
	e.try.within.AndNot(used)
}

// fitOptions are the rules by which a topology is fitted.
func (e *engine) fitOptions(s *TopologySpec) topology.Options {
	o := topology.Options{Defects: e.cfg.Defects, Profile: e.fitProfile()}
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
