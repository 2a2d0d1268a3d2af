package scheduler_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// mallocs returns how many heap objects f makes.
func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// TestPassAllocs demands no allocation of a pass that starts jobs, refuses some
// and plans, once a few of the same size have warmed the scratch.
func TestPassAllocs(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	const nodes, pending = 50, 600 // 400 fit
	s := gpuCluster(t, nodes, scheduler.Parameters{MinJobAge: time.Second, Plan: scheduler.PlanParameters{Depth: 4}})
	now, first := scheduler.Seconds(0), scheduler.JobID(1)
	dec := make([]scheduler.Decision, 0, pending)
	// The runtime's own objects are counted too, so the least of some rounds says
	// what a pass makes.
	least := uint64(1 << 60)
	for round := range 8 {
		last := first + pending - 1
		submitGPUJobs(t, s, now, first, last)
		n := mallocs(func() { dec = s.Pass(now, dec[:0]) })
		if len(dec) != nodes*8 {
			t.Fatalf("round %d: %d jobs started, want %d", round, len(dec), nodes*8)
		}
		if round > 2 {
			least = min(least, n)
		}
		now = now.Add(10 * time.Second)
		for i := range dec {
			if err := s.Apply(now, scheduler.Ended(dec[i].Job, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
		}
		for id := first; id <= last; id++ {
			// What waits goes; jobs that ran are over and refuse.
			_ = s.Apply(now, scheduler.Cancel(id))
		}
		first = last + 1
	}
	if least != 0 {
		t.Errorf("Pass made %d allocations, want 0", least)
	}
	least = 1 << 60
	for range 4 {
		least = min(least, mallocs(func() { dec = s.Pass(now, dec[:0]) }))
	}
	if least != 0 {
		t.Errorf("an idle Pass made %d allocations, want 0", least)
	}
}
