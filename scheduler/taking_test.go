package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// A pass that places jobs of several nodes whose devices are counted over the
// job allocates nothing, whatever decides how nodes are evaluated: all at once,
// required ones first, least loaded ones in turn, segments of a block.
func TestGangAllocs(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	const nodes, drained = 64, "n63"
	blocks := []scheduler.TopologySpec{{Name: "default", BlockSizes: []int32{16}, Blocks: []scheduler.UnitSpec{
		{Name: "b0", Nodes: "n[0-15]"}, {Name: "b1", Nodes: "n[16-31]"}, {Name: "b2", Nodes: "n[32-47]"}, {Name: "b3", Nodes: "n[48-63]"},
	}}}
	for _, f := range []struct {
		name string
		topo []scheduler.TopologySpec
		par  scheduler.SelectParameters
		spec scheduler.JobSpec
	}{
		{"gpus", nil, scheduler.SelectParameters{}, scheduler.JobSpec{MinNodes: 4, GPUs: "20"}},
		{"required", nil, scheduler.SelectParameters{}, scheduler.JobSpec{MinNodes: 4, GPUs: "20", NodeList: "n[7,9]"}},
		{"lln", nil, scheduler.SelectParameters{Flags: []string{"CR_LLN"}}, scheduler.JobSpec{MinNodes: 4, Tasks: 20, GPUsPerTask: "1"}},
		{"plane", nil, scheduler.SelectParameters{}, scheduler.JobSpec{Tasks: 12, GPUsPerTask: "2", Distribution: "plane=2"}},
		{"segments", blocks, scheduler.SelectParameters{}, scheduler.JobSpec{MinNodes: 8, Segment: 4, GPUs: "64"}},
		{"never now", blocks, scheduler.SelectParameters{}, scheduler.JobSpec{MinNodes: 64, GPUs: "64"}},
		{"unit gone", blocks, scheduler.SelectParameters{}, scheduler.JobSpec{MinNodes: 16, Segment: 16, GPUs: "64", NodeList: "n[48-63]"}},
	} {
		s, err := scheduler.New(scheduler.Config{
			Profile: scheduler.ProfileSlurm, Topologies: f.topo,
			Nodes:      []scheduler.NodeSpec{{Names: "n[0-63]", Sockets: 2, CoresPerSocket: 16, MemMiB: 1 << 20, GRES: "gpu:8"}},
			Parameters: scheduler.Parameters{MinJobAge: time.Second, Select: f.par, Plan: scheduler.PlanParameters{Mode: scheduler.PlanNone}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(0, scheduler.SetNodes(drained, scheduler.NodeDrain, "test")); err != nil {
			t.Fatal(err)
		}
		now, id := scheduler.Seconds(0), scheduler.JobID(1)
		dec := make([]scheduler.Decision, 0, 8)
		least := uint64(1 << 60)
		for range 8 {
			for range 2 {
				spec := f.spec
				spec.ID, spec.Mem, spec.MemMiB, spec.TimeLimit = id, scheduler.MemPerNode, 1000, time.Hour
				if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
					t.Fatalf("%s: %v", f.name, err)
				}
				id++
			}
			n := mallocs(func() { dec = s.Pass(now, dec[:0]) })
			least = min(least, n)
			now = now.Add(10 * time.Second)
			for k := id - 2; k < id; k++ {
				_ = s.Apply(now, scheduler.Cancel(k))
				_ = s.Apply(now, scheduler.Ended(k, scheduler.JobEnd{}))
			}
			if starts := f.name != "never now" && f.name != "unit gone"; starts != (len(dec) > 0) {
				t.Fatalf("%s: %d started", f.name, len(dec))
			}
		}
		if least != 0 {
			t.Errorf("%s: a pass made %d allocations, want 0", f.name, least)
		}
	}
}
