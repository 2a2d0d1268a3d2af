package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// idleCluster returns a cluster in which nothing that waits can start: every
// node is full, or by the part that is free has four GPUs left where the classes
// of waiting jobs ask at least five.
func idleCluster(tb testing.TB, nodes, pending, classes int, free float64) scheduler.Scheduler {
	tb.Helper()
	s := gpuCluster(tb, nodes, scheduler.Parameters{Plan: scheduler.PlanParameters{Depth: 1}})
	apply := func(ev scheduler.Event) {
		if err := s.Apply(0, ev); err != nil {
			tb.Fatal(err)
		}
	}
	unfit := int(float64(nodes) * free)
	for i := 1; i <= nodes; i++ {
		a := scheduler.NodeAlloc{Node: fmt.Sprintf("n%d", i)}
		gpus := 8
		if i > nodes-unfit {
			gpus = 4
		}
		for k := range gpus {
			a.Devices = append(a.Devices, scheduler.DeviceAlloc{Name: "gpu", Index: int32(k), Units: 1})
			a.Cores = append(a.Cores, int32(k))
		}
		a.CPUs = int64(gpus)
		spec := scheduler.JobSpec{ID: scheduler.JobID(i), Tasks: int32(gpus), GPUsPerNode: fmt.Sprint(gpus), MinNodes: 1, TimeLimit: 1000 * time.Hour}
		apply(scheduler.Event{Kind: scheduler.EventJobAdopt, Job: spec.ID, Submit: &spec, Adopt: &scheduler.Adopt{Nodes: []scheduler.NodeAlloc{a}}})
	}
	for i := range pending {
		k := i % classes
		spec := scheduler.JobSpec{
			ID: scheduler.JobID(nodes + i + 1), Tasks: 1, CPUsPerTask: int32(1 + k%16), GPUsPerNode: fmt.Sprint(5 + k/16%4), MinNodes: 1,
			Mem: scheduler.MemPerNode, MemMiB: int64(1000 + k/64), TimeLimit: time.Hour,
		}
		apply(scheduler.Submit(&spec))
	}
	if dec := s.Pass(0, nil); len(dec) > 0 {
		tb.Fatalf("%d jobs start", len(dec))
	}
	return s
}

// touchNodes lets nodes change without consequence.
func touchNodes(tb testing.TB, s scheduler.Scheduler, now scheduler.Time, lists []string) {
	for _, nodes := range lists {
		touch(tb, s, now, nodes)
	}
}

func touch(tb testing.TB, s scheduler.Scheduler, now scheduler.Time, nodes string) {
	if err := s.Apply(now, scheduler.Event{Kind: scheduler.EventNodeState, Nodes: nodes, NodeState: scheduler.NodeUp}); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkPassIdle passes when nothing can start, after no node, one or all have
// changed.
func BenchmarkPassIdle(b *testing.B) {
	for _, size := range []struct{ nodes, pending, classes int }{{12500, 100000, 1000}, {125000, 1000000, 1000}} {
		for _, free := range []float64{0, 0.03} {
			var s scheduler.Scheduler
			now := scheduler.Time(1)
			for _, dirty := range []string{"none", "one", "all"} {
				b.Run(fmt.Sprintf("nodes=%d/pending=%d/classes=%d/dirty=%s/free=%v", size.nodes, size.pending, size.classes, dirty, free), func(b *testing.B) {
					if s == nil {
						s = idleCluster(b, size.nodes, size.pending, size.classes, free)
					}
					touched := map[string][]string{"one": {fmt.Sprintf("n%d", size.nodes)}, "all": hostlists(size.nodes)}[dirty]
					var dec []scheduler.Decision
					b.ReportAllocs()
					var spent time.Duration
					n := 0
					for b.Loop() {
						b.StopTimer()
						now++
						touchNodes(b, s, now, touched)
						b.StartTimer()
						from := time.Now()
						dec = s.Pass(now, dec[:0])
						spent += time.Since(from)
						n++
					}
					b.ReportMetric(spent.Seconds()*1000/float64(n), "ms/pass")
				})
			}
		}
	}
}

// TestPassIdleAllocs demands no allocation of a pass that finds nothing to start,
// whatever has changed.
func TestPassIdleAllocs(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	s := idleCluster(t, 500, 5000, 100, 0.03)
	now := scheduler.Time(1)
	for _, touched := range [][]string{nil, {"n500"}, {"n[1-500]"}} {
		least, most := uint64(1<<60), uint64(0)
		for range 8 {
			now++
			touchNodes(t, s, now, touched)
			n := mallocs(func() { s.Pass(now, nil) })
			least, most = min(least, n), max(most, n)
		}
		if most > 4 { // what else runs in the process counts too
			t.Errorf("after a change of %q a pass made %d allocations: its tables grow", touched, most)
		}
		if least != 0 {
			t.Errorf("after a change of %q a pass made %d allocations, want 0", touched, least)
		}
	}
}
