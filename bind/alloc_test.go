package bind

import "testing"

// TestAllocs proves that nothing here allocates once slices have grown.
func TestAllocs(t *testing.T) {
	if checking {
		t.Skip("self-checks allocate; the plain build counts")
	}
	m := benchMachine(16)
	w := mustWiring(t, m)
	req := SolveRequest{GPUs: 16, Tasks: 16, CPUsPerTask: 8, FreeGPUs: all(16), FreeNICs: all(16), NICs: NICNearest, FreeCPUs: allCPUs(m)}
	rug := mustWiring(t, rugMachine(16))
	var solver Solver
	var sol Solution

	shape := CPUShape{Sockets: 2, Cores: 64, Threads: 2}
	cpuReq := CPURequest{Tasks: 64, CPUsPerTask: 2, Bind: CPUBinding{Type: CPUCores}}
	alloc := []uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	var layer CPULayer
	var masks Masks

	b := mustGPUBind(t, "per_task:1")
	d := Devices{Index: span(0, 7), Constrained: true}
	var binder Binder
	var bound Bound

	step := StepRequest{Tasks: 8, Task: []TypedCount{{Type: -1, Count: 1}}}
	nodes := []StepNode{{CPUs: 8, Devices: span(0, 7)}, {CPUs: 8, Devices: span(0, 7)}}
	var stepLayer Layer
	var plan Step

	launch := recipes()["ALL"].launch(PlaceTask, 1)
	text := make([]byte, 0, 1<<14)
	var visible []int32
	hints := make([]Hint, 0, 16)
	rails := []RailNode{{w, req}, {w, req}}
	rails[0].Request.GPUs, rails[1].Request.GPUs = 15, 15
	sols := make([]Solution, 2)

	layer.Lay(&masks, &shape, alloc, &cpuReq)
	binder.Bind(&bound, &b, &d, masks.Tasks()[:8])
	for name, run := range map[string]func(){
		"Solve":          func() { solver.Solve(&sol, w, &req) },
		"Solve exact":    func() { solver.Solve(&sol, rug, &req) },
		"CommonRails":    func() { solver.CommonRails(sols, rails) },
		"Lay":            func() { layer.Lay(&masks, &shape, alloc, &cpuReq) },
		"Bind":           func() { binder.Bind(&bound, &b, &d, masks.Tasks()[:8]) },
		"AppendVisible":  func() { visible = d.AppendVisible(visible[:0], bound.Task(3)) },
		"Plan":           func() { stepLayer.Plan(&plan, &step, nodes) },
		"AppendEnv":      func() { text = AppendEnv(text[:0], launch) },
		"AppendWhy":      func() { text = AppendWhy(text[:0], w, &sol) },
		"AppendGPUHints": func() { hints = w.AppendGPUHints(hints[:0], all(16), 4) },
		"MergeHints":     func() { MergeHints(HintRestricted, 2, [][]Hint{hints}) },
		"AppendVerbose":  func() { text = AppendVerbose(text[:0], &b, &d, &bound, 0) },
	} {
		run()
		if got := testing.AllocsPerRun(20, run); got != 0 {
			t.Errorf("%s: %v allocs per run, want 0", name, got)
		}
	}
}
