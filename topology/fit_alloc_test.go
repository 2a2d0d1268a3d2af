package topology_test

import (
	"fmt"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// A steady taker gives what is asked and turns one node down.
type pickyTaker struct {
	req *topology.Request
	not topology.NodeID
}

func (p *pickyTaker) Begin(bool) {}

func (p *pickyTaker) Take(id topology.NodeID, budget int32, _ bool) (cpus, gpus int32, ok bool) {
	if p.req.GPUs > 0 {
		gpus = p.req.NodeGPUs[id]
	}
	return budget, gpus, id != p.not
}

// Fits of every kind with everything switched on allocate nothing.
func TestFitAllocs(t *testing.T) {
	if topology.Checking {
		t.Skip("the checks allocate")
	}
	for _, kind := range []string{"flat", "tree", "block", "ring", "torus"} {
		top := benchTopology(t, kind, 4608)
		for _, p := range []topology.Profile{topology.ProfileSlurm, topology.ProfileBest} {
			for _, dragonfly := range []bool{false, true} {
				f := top.Fitter(topology.Options{Profile: p, Dragonfly: dragonfly, Slots: []topology.SlotWeight{{Nodes: 16, Weight: 3}, {Nodes: 64, Weight: 1}}})
				var ws topology.Scratch
				var res topology.Result
				for name, req := range allocRequests(top) {
					f.Fit(&ws, req, &res)
					if got := testing.AllocsPerRun(3, func() { f.Fit(&ws, req, &res) }); got != 0 {
						t.Errorf("%s profile %d dragonfly %v %s: %v allocs per run, want 0", kind, p, dragonfly, name, got)
					}
				}
			}
		}
	}
}

func allocRequests(top *topology.Topology) map[string]*topology.Request {
	n := top.Nodes()
	reqs := map[string]*topology.Request{}
	for _, want := range []int{1, 16, 64} {
		for _, ok := range []bool{true, false} {
			reqs[fmt.Sprintf("want=%d ok=%v", want, ok)] = benchRequest(top, want, 0.5, ok)
		}
	}
	add := func(name string, change func(*topology.Request)) {
		r := benchRequest(top, 64, 0.5, true)
		change(r)
		reqs[name] = r
	}
	weights, gpus, total := make([]int64, n), make([]int32, n), make([]int32, n)
	for i := range n {
		weights[i], gpus[i], total[i] = int64(i/1000), 4, 64
	}
	add("weights", func(r *topology.Request) { r.Weights = weights })
	add("GPUs", func(r *topology.Request) { r.NodeGPUs, r.GPUs = gpus, 100 })
	add("required", func(r *topology.Request) {
		r.Required = new(topology.NodeSet)
		r.Required.Init(n)
		r.Required.Add(r.Eligible.First())
	})
	add("sizes", func(r *topology.Request) { r.Sizes = []int32{4, 16, 64, 256} })
	add("range", func(r *topology.Request) { r.Max, r.Want, r.Switches = 80, 80, 1 })
	add("LLN", func(r *topology.Request) { r.LLN, r.TotalCPUs, r.FreeCPUs, r.Tasks = true, total, total, 64 })
	add("spread", func(r *topology.Request) { r.Spread = true })
	add("busy", func(r *topology.Request) { r.BusyFirst, r.Busy = true, r.Eligible })
	add("contiguous", func(r *topology.Request) { r.Contiguous = true })
	add("taker", func(r *topology.Request) { r.Take = &pickyTaker{r, r.Eligible.First()} })
	add("segments", func(r *topology.Request) { r.Segment, r.SpreadSegments, r.Consolidate = 16, true, true })
	return reqs
}

// A fit looks at a number of things that grows with the words and units of the
// cluster, not with its square; a refusal that counts prove takes at most three
// tries.
func TestFitSteps(t *testing.T) {
	for _, kind := range []string{"flat", "tree", "block", "ring", "torus"} {
		tops := [2]*topology.Topology{benchTopology(t, kind, 9216), benchTopology(t, kind, 92160)}
		for _, want := range []int{1, 64, 1024} {
			for _, ok := range []bool{true, false} {
				var steps [2]int64
				for i, top := range tops {
					n := top.Nodes()
					f := top.Fitter(topology.Options{Profile: topology.ProfileSlurm})
					var ws topology.Scratch
					var res topology.Result
					if got := f.Fit(&ws, benchRequest(top, want, 0.5, ok), &res); got != ok {
						t.Fatalf("%s nodes=%d want=%d ok=%v: %v", kind, n, want, ok, res.Refusal)
					}
					steps[i] = res.Steps
					if res.Fits > 3 {
						t.Errorf("%s nodes=%d want=%d ok=%v: %d tries, want at most 3", kind, n, want, ok, res.Fits)
					}
				}
				if steps[1] > 12*steps[0]+1000 {
					t.Errorf("%s want=%d ok=%v: %d steps on 9,216 nodes, %d on 92,160, want at most 12 times as many", kind, want, ok, steps[0], steps[1])
				}
				limit := int64(3 * 92160)
				switch { // with the largest entries known one node costs the same anywhere
				case want == 1 && kind == "torus":
					limit = 92160/64 + 200 // a look at each word
				case want == 1:
					limit = 4
				}
				if steps[1] > limit {
					t.Errorf("%s want=%d ok=%v: %d steps on 92,160 nodes, want at most %d", kind, want, ok, steps[1], limit)
				}
			}
		}
	}
}

// Levels allocate nothing, whether nodes are counted by words, summed from a
// column, or all counted because leaders or balance want it.
func TestLevelAllocs(t *testing.T) {
	if topology.Checking {
		t.Skip("the checks allocate")
	}
	leaders := new(topology.NodeSet)
	leaders.Init(4096)
	leaders.AddAll()
	for _, column := range []bool{false, true} {
		lv, req := benchLevels(t, 4096, 64, 0.5, true, column)
		var ws topology.LevelScratch
		var res, next topology.LevelResult
		base := *req
		for name, change := range map[string]func(*topology.LevelRequest){
			"plain":         func(*topology.LevelRequest) {},
			"unconstrained": func(r *topology.LevelRequest) { r.Want, r.Must = topology.NoLevel, topology.NoLevel },
			"slices":        func(r *topology.LevelRequest) { r.Slices = []topology.Slice{{Level: 2, Size: 16}, {Level: 3, Size: 4}} },
			"leader":        func(r *topology.LevelRequest) { r.Leader, r.LeaderFits = true, leaders },
			"balanced":      func(r *topology.LevelRequest) { r.Balanced, r.Must, r.Count = true, topology.NoLevel, 640 },
			"refused":       func(r *topology.LevelRequest) { r.Want, r.Must = 3, 3 },
		} {
			*req = base
			change(req)
			lv.Fit(&ws, req, &res)
			if got := testing.AllocsPerRun(3, func() { lv.Fit(&ws, req, &res) }); got != 0 {
				t.Errorf("%s: %v allocs per run, want 0", name, got)
			}
		}
		*req = base
		lv.Fit(&ws, req, &res)
		cur := topology.Assignment{Nodes: res.Nodes, Members: res.Members, Leader: res.Leader}
		failed := new(topology.NodeSet)
		failed.Init(4096)
		failed.Add(cur.Nodes[0])
		change := func() {
			lv.Replace(&ws, req, &cur, failed, &next)
			lv.Grow(&ws, req, &cur, 8, &next)
			lv.Shrink(&ws, req, &cur, 8, &next)
		}
		change()
		if got := testing.AllocsPerRun(3, change); got != 0 {
			t.Errorf("changes: %v allocs per run, want 0", got)
		}
	}
}

// A fit by levels looks at each node once; where all nodes take the same, at words
// and at the domains of the levels that it tries.
func TestLevelSteps(t *testing.T) {
	for _, column := range []bool{false, true} {
		for _, want := range []int{1, 64, 1024} {
			for _, ok := range []bool{true, false} {
				var steps [2]int64
				for i, n := range []int{9216, 92160} {
					lv, req := benchLevels(t, n, want, 0.5, ok, column)
					var ws topology.LevelScratch
					var res topology.LevelResult
					if lv.Fit(&ws, req, &res) != ok {
						t.Fatalf("nodes=%d want=%d ok=%v: %v", n, want, ok, res.Rule)
					}
					steps[i] = res.Steps
				}
				limit := int64(92160 + 2*92160/32 + 4*int64(want) + 1000)
				if !column { // words, then the racks twice: counted and chosen from
					limit = 92160/64 + 3*92160/32 + 4*int64(want) + 1000
				}
				if steps[1] > 12*steps[0]+1000 || steps[1] > limit {
					t.Errorf("column=%v want=%d ok=%v: %d steps on 9,216 nodes, %d on 92,160, want at most %d", column, want, ok, steps[0], steps[1], limit)
				}
			}
		}
	}
}
