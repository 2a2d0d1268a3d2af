package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// submitChain submits jobs of one CPU each with ids from first on: n that wait
// for nothing, and n that wait for one of them each by kind.
func submitChain(tb testing.TB, s scheduler.Scheduler, now scheduler.Time, first scheduler.JobID, n int, kind string) {
	tb.Helper()
	for i := range 2 * n {
		spec := scheduler.JobSpec{ID: first + scheduler.JobID(i), Tasks: 1, TimeLimit: time.Hour}
		if i >= n {
			spec.Dependency = fmt.Sprintf("%s:%d", kind, spec.ID-scheduler.JobID(n))
		}
		if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
}

func cpuNodes(tb testing.TB, nodes int) scheduler.Scheduler {
	tb.Helper()
	cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: fmt.Sprintf("n[1-%d]", nodes), CoresPerSocket: 8}}}
	cfg.Parameters.Select.NoMemory = true
	cfg.Parameters.MinJobAge = time.Second
	cfg.Parameters.Plan.Mode = scheduler.PlanNone
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestDependenciesAllocateNothingInPasses starts jobs that others wait for, and
// then those, once some rounds have warmed the scratch.
func TestDependenciesAllocateNothingInPasses(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	const n = 64
	s := cpuNodes(t, 2*n/8)
	dec := make([]scheduler.Decision, 0, 2*n)
	now, first := scheduler.Time(0), scheduler.JobID(1)
	least := uint64(1 << 60)
	for range 8 {
		submitChain(t, s, now, first, n, "after")
		made := mallocs(func() {
			dec = s.Pass(now, dec[:0])
			dec = s.Pass(now, dec)
		})
		if len(dec) != 2*n {
			t.Fatalf("%d jobs started, want %d", len(dec), 2*n)
		}
		least = min(least, made)
		now = now.Add(10 * time.Second)
		for i := range dec {
			if err := s.Apply(now, scheduler.Ended(dec[i].Job, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
		}
		first += 2 * n
	}
	if least != 0 {
		t.Errorf("two passes made %d allocations, want 0", least)
	}
}

// TestDependantsAreFoundWithoutASearch ends a job with ten dependants among few
// and many others that wait: the number of looks is the same.
func TestDependantsAreFoundWithoutASearch(t *testing.T) {
	for _, others := range []int{10, 2000} {
		s := cpuNodes(t, 1)
		submitChain(t, s, 0, 1, others, "afterok")
		s.Pass(0, nil)
		for i := range 10 {
			spec := scheduler.JobSpec{ID: scheduler.JobID(1e6 + i), Tasks: 1, TimeLimit: time.Hour, Dependency: "afterany:1"}
			if err := s.Apply(0, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
		}
		before := scheduler.DependSteps(s)
		if err := s.Apply(1, scheduler.Ended(1, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
		s.Pass(1, nil)
		// Job 1 has the ten and one of the chain; so has the job that starts.
		if got := scheduler.DependSteps(s) - before; got != 12 {
			t.Errorf("with %d others: %d looks at conditions, want 12", others, got)
		}
	}
}

// BenchmarkDependantsEnd ends a job that others wait for, and lets a pass see
// them; an operation is one dependant.
func BenchmarkDependantsEnd(b *testing.B) {
	for _, others := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("pending=%d/dependants=100", others), func(b *testing.B) {
			s := cpuNodes(b, 1)
			submitChain(b, s, 0, 1, others/2, "afterok")
			s.Pass(0, nil)
			id, now := scheduler.JobID(1e7), scheduler.Time(0)
			var spent time.Duration
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				now++
				first := scheduler.JobSpec{ID: id, Tasks: 1, TimeLimit: time.Hour, Hold: true}
				if err := s.Apply(now, scheduler.Submit(&first)); err != nil {
					b.Fatal(err)
				}
				for i := range scheduler.JobID(100) {
					spec := scheduler.JobSpec{ID: id + 1 + i, Tasks: 1, TimeLimit: time.Hour, KillOnInvalidDep: "yes", Dependency: fmt.Sprintf("afterok:%d", id)}
					if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
						b.Fatal(err)
					}
				}
				start := time.Now()
				if err := s.Apply(now, scheduler.Cancel(id)); err != nil {
					b.Fatal(err)
				}
				spent += time.Since(start)
				id += 101
				n += 100
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(n), "ns/dependant")
		})
	}
}
