package gres

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// stepNodes returns n nodes of which a job holds all 16 cores and 4 GPUs.
func stepNodes(t testing.TB, n int) []StepNode {
	t.Helper()
	s := gpuShape(t, 16, 4, 0, 65536)
	var nodes []StepNode
	for range n {
		g := &Grant{Cores: []uint64{1<<16 - 1}, CPUs: 16, MemMiB: 4096}
		for d := range int16(4) {
			g.Devices = append(g.Devices, DeviceGrant{Device: d, Units: 1})
		}
		nodes = append(nodes, StepNode{s, g})
	}
	return nodes
}

func gpuStep(tasks int32, need Need) *StepRequest {
	r := &StepRequest{Tasks: tasks, Flags: StepNoDevices}
	if need != (Need{}) {
		need.Name = NameGPU
		r.Needs[0], r.NumNeeds = need, 1
	}
	return r
}

func TestStepReasons(t *testing.T) {
	for _, c := range []struct {
		name string
		r    StepRequest
		want StepReason
	}{
		{"fits", *gpuStep(4, Need{PerNode: 2}), StepRuns},
		{"more nodes than the job has", StepRequest{Tasks: 3, MinNodes: 3}, StepNodes},
		{"more tasks than CPUs", StepRequest{Tasks: 33}, StepTooManyCPUs},
		{"wide tasks", StepRequest{Tasks: 3, CPUsPerTask: 9}, StepTooManyCPUs},
		{"more memory than a node has", StepRequest{Tasks: 1, MemMiB: 4097}, StepMemory},
		{"more in all than the job has", *gpuStep(1, Need{PerJob: 9}), StepInvalidDevices},
		{"another type", *gpuStep(1, Need{PerNode: 1, Type: 7}), StepInvalidDevices},
		{"more a task than a node has", *gpuStep(1, Need{PerTask: 5}), StepDevices},
		{"more a node than it has", *gpuStep(1, Need{PerNode: 5}), StepDevices},
		{"one a task, too many tasks", *gpuStep(9, Need{PerTask: 1}), StepDevices},
		{"spread over nodes", *gpuStep(8, Need{PerTask: 1}), StepRuns},
	} {
		s := NewSteps(stepNodes(t, 2))
		if got := s.Submit(1, &c.r); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// show lists what a step holds, node by node.
func show(g *StepGrant) string {
	var out []string
	for i, n := range g.Nodes {
		var dev []int16
		for _, d := range g.Grants[i].Devices {
			dev = append(dev, d.Device)
		}
		out = append(out, fmt.Sprintf("%d:%dt cores %x gpus %v", n, g.Tasks[i], g.Grants[i].Cores[0], dev))
	}
	return fmt.Sprint(out)
}

func TestStepsShareAnAllocation(t *testing.T) {
	s := NewSteps(stepNodes(t, 2))
	next := func(id uint32, want string) {
		t.Helper()
		got, g, ok := s.Next()
		if !ok && want != "" || ok && (got != id || show(g) != want) {
			if ok {
				t.Errorf("Next = %d %s, want %d %s", got, show(g), id, want)
			} else {
				t.Errorf("Next has none, want %d %s", id, want)
			}
		}
	}
	s.Submit(1, gpuStep(3, Need{PerNode: 1})) // tasks go evenly
	next(1, "[0:2t cores 3 gpus [0] 1:1t cores 1 gpus [0]]")
	s.Submit(2, gpuStep(1, Need{PerNode: 3}))
	next(2, "[0:1t cores 4 gpus [1 2 3]]")
	s.Submit(3, gpuStep(1, Need{PerNode: 4})) // waits for device 0
	next(3, "")
	if got := s.Why(3); got != StepBusy {
		t.Errorf("Why(3) = %v", got)
	}
	s.Submit(4, gpuStep(1, Need{})) // may not pass
	next(4, "")
	if got := s.Why(4); got != StepBehind {
		t.Errorf("Why(4) = %v", got)
	}
	if got := s.Submit(5, &StepRequest{Flags: StepImmediate | StepNoDevices}); got != StepBusy {
		t.Errorf("an immediate step behind others is %v", got)
	}
	over := gpuStep(1, Need{PerNode: 4})
	over.Flags |= StepOverlap
	s.Passing = true
	s.Submit(6, over) // sees everything
	next(6, "[0:1t cores 1 gpus [0 1 2 3]]")
	next(4, "[0:1t cores 8 gpus []]")
	s.End(1)
	next(3, "[1:1t cores 1 gpus [0 1 2 3]]")
	for _, id := range []uint32{2, 3, 4, 6} {
		if !s.End(id) {
			t.Errorf("step %d does not run", id)
		}
	}
	s.Submit(7, &StepRequest{Tasks: 2, Flags: StepWhole})
	next(7, "[0:1t cores ffff gpus [0 1 2 3] 1:1t cores ffff gpus [0 1 2 3]]")
	if s.End(1) || s.Cancel(7) {
		t.Error("a step that ended ends again")
	}
	near := gpuStep(1, Need{PerNode: 1})
	near.CPUsPerTask = 10
	s.End(7)
	s.Submit(8, gpuStep(8, Need{}))
	s.Submit(9, &StepRequest{Tasks: 1, CPUsPerTask: 8, MinNodes: 1, Flags: StepNoDevices})
	next(8, "[0:4t cores f gpus [] 1:4t cores f gpus []]")
	next(9, "[0:1t cores ff0 gpus []]")
	s.Submit(10, gpuStep(1, Need{PerNode: 1})) // cores 12 are near device 2
	next(10, "[0:1t cores 1000 gpus [2]]")
}

func TestStepsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := stepNodes(&testing.T{}, rapid.IntRange(1, 3).Draw(t, "nodes"))
		s := NewSteps(nodes)
		s.Passing = rapid.Bool().Draw(t, "passing")
		type running struct {
			id   uint32
			flag StepFlags
		}
		reqs := map[uint32]StepRequest{}
		var run []running
		var queue []uint32
		id := uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				r := StepRequest{Tasks: rapid.Int32Range(0, 12).Draw(t, "tasks"), CPUsPerTask: rapid.Int32Range(0, 5).Draw(t, "cpus"),
					MinNodes: rapid.Int32Range(0, 3).Draw(t, "minnodes"), MemMiB: rapid.Int64Range(0, 3).Draw(t, "mem") * 1000,
					Flags: StepFlags(rapid.SampledFrom([]StepFlags{0, StepOverlap, StepWhole, StepPack, StepNoDevices, StepNoDevices | StepPack}).Draw(t, "flags"))}
				if k := rapid.IntRange(0, 3).Draw(t, "form"); k > 0 {
					n := Need{Name: NameGPU}
					v := rapid.Int64Range(1, 4).Draw(t, "gpus")
					switch k {
					case 1:
						n.PerNode = v
					case 2:
						n.PerTask = v
					case 3:
						n.PerJob = v
					}
					r.Needs[0], r.NumNeeds = n, 1
				}
				id++
				if s.Submit(id, &r) == StepRuns {
					reqs[id] = r
					queue = append(queue, id)
				}
			},
			"next": func(t *rapid.T) {
				got, g, ok := s.Next()
				if !ok {
					if len(queue) > 0 && len(run) == 0 {
						t.Fatalf("nothing runs, %d wait, first %+v", len(queue), reqs[queue[0]])
					}
					return
				}
				if !s.Passing && got != queue[0] && reqs[got].Flags&StepOverlap == 0 {
					t.Fatalf("step %d passes step %d", got, queue[0])
				}
				queue = slices.DeleteFunc(queue, func(q uint32) bool { return q == got })
				r := reqs[got]
				tasks, gpus := int32(0), int64(0)
				for i := range g.Nodes {
					tasks += g.Tasks[i]
					n := int64(len(g.Grants[i].Devices))
					gpus += n
					if g.Tasks[i] < 1 || r.NumNeeds > 0 && (n < r.Needs[0].PerNode || n < r.Needs[0].PerTask*int64(g.Tasks[i])) {
						t.Fatalf("step %+v gets %s", r, show(g))
					}
					if c := int64(g.Tasks[i] * max(r.CPUsPerTask, 1)); g.Grants[i].CPUs < c || r.Flags&(StepWhole|StepOverlap) == 0 && int64(bits.OnesCount64(g.Grants[i].Cores[0])) != c {
						t.Fatalf("step %+v gets %s", r, show(g))
					}
				}
				if tasks < max(r.Tasks, 1) || r.NumNeeds > 0 && gpus < r.Needs[0].PerJob || int32(len(g.Nodes)) < r.MinNodes {
					t.Fatalf("step %+v gets %s", r, show(g))
				}
				run = append(run, running{got, r.Flags})
			},
			"end": func(t *rapid.T) {
				if len(run) == 0 {
					return
				}
				k := rapid.IntRange(0, len(run)-1).Draw(t, "which")
				if !s.End(run[k].id) {
					t.Fatalf("step %d does not run", run[k].id)
				}
				run = slices.Delete(run, k, k+1)
			},
			"again": func(t *rapid.T) { // what is told rebuilds it
				u := NewSteps(nodes)
				u.Passing = s.Passing
				for _, id := range s.AppendRunning(nil) {
					g, _ := s.Grant(id)
					r := reqs[id]
					if !u.Adopt(id, &r, g) || u.Adopt(id, &r, g) {
						t.Fatalf("step %d is not adopted once", id)
					}
				}
				if w := s.AppendWaiting(nil); len(w) != len(queue) || !slices.Equal(w, queue) {
					t.Fatalf("waiting %v, want %v", w, queue)
				}
				for _, id := range queue {
					r := reqs[id]
					u.Submit(id, &r)
				}
				s = u
			},
			"": func(t *rapid.T) {
				for n := range nodes {
					var cores uint64
					var mem int64
					dev := map[int16]bool{}
					for _, r := range run {
						g, _ := s.Grant(r.id)
						for i := range g.Nodes {
							if int(g.Nodes[i]) != n {
								continue
							}
							c := g.Grants[i].Cores[0]
							if c&^nodes[n].Grant.Cores[0] != 0 {
								t.Fatal("a core outside the job")
							}
							if r.flag&StepOverlap != 0 {
								continue
							}
							if c&cores != 0 {
								t.Fatal("a core is given twice")
							}
							cores |= c
							mem += g.Grants[i].MemMiB
							for _, d := range g.Grants[i].Devices {
								if dev[d.Device] {
									t.Fatal("a device is given twice")
								}
								dev[d.Device] = true
							}
						}
					}
					if mem > nodes[n].Grant.MemMiB {
						t.Fatal("more memory than the job has")
					}
					if len(run) == 0 && (s.nodes[n].free[0] != nodes[n].Grant.Cores[0] || s.nodes[n].freeCPUs != s.nodes[n].all || s.nodes[n].freeMem != s.nodes[n].mem) {
						t.Fatalf("after all steps something is missing: %+v", s.nodes[n])
					}
				}
				if s.Waiting() != len(queue) || s.Running() != len(run) {
					t.Fatalf("%d wait and %d run, want %d and %d", s.Waiting(), s.Running(), len(queue), len(run))
				}
			},
		})
	})
}

// TestStepStartsDoNotGrow counts the nodes looked at for a start.
func TestStepStartsDoNotGrow(t *testing.T) {
	cost := map[int]int{}
	for _, queued := range []int{100, 10_000} {
		s := NewSteps(stepNodes(t, 16))
		for id := range uint32(queued) {
			s.Submit(id, []*StepRequest{gpuStep(1, Need{}), gpuStep(1, Need{PerNode: 1})}[id%2])
		}
		var run []uint32
		s.looks = 0
		for s.Waiting() > 0 {
			if id, _, ok := s.Next(); ok {
				run = append(run, id)
				continue
			}
			for _, id := range run {
				s.End(id)
			}
			run = run[:0]
		}
		cost[queued] = s.looks / queued
	}
	if cost[10_000] > cost[100]+1 || cost[10_000] > 8 {
		t.Errorf("a start looks at %d nodes with 100 in the queue, at %d with 10,000", cost[100], cost[10_000])
	}
}

func TestStepAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate")
	}
	s := NewSteps(stepNodes(t, 4))
	r := gpuStep(2, Need{PerNode: 1})
	id := uint32(0)
	step := func() {
		id++
		s.Submit(id, r)
		if _, _, ok := s.Next(); !ok {
			t.Fatal("does not start")
		}
		s.End(id)
	}
	step()
	if got := testing.AllocsPerRun(100, step); got != 0 {
		t.Errorf("submit, start and end: %v allocs per run, want 0", got)
	}
}

// BenchmarkSteps starts and ends steps of a queue that stays as long as it is.
func BenchmarkSteps(b *testing.B) {
	for _, queued := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("nodes=16/queued=%d", queued), func(b *testing.B) {
			s := NewSteps(stepNodes(b, 16))
			kinds := []*StepRequest{gpuStep(1, Need{}), gpuStep(1, Need{PerNode: 1}), gpuStep(4, Need{PerTask: 1})}
			id := uint32(0)
			for range queued {
				id++
				s.Submit(id, kinds[id%3])
			}
			var run []uint32
			b.ReportAllocs()
			for b.Loop() {
				k, _, ok := s.Next()
				if ok {
					run = append(run, k)
					id++
					s.Submit(id, kinds[id%3])
					continue
				}
				for _, r := range run {
					s.End(r)
				}
				run = run[:0]
			}
		})
	}
}
