package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// gpuCluster returns a scheduler of nodes with 64 cores and 8 GPUs.
func gpuCluster(tb testing.TB, nodes int, par scheduler.Parameters) scheduler.Scheduler {
	tb.Helper()
	cfg := scheduler.Config{Parameters: par}
	for _, names := range hostlists(nodes) {
		cfg.Nodes = append(cfg.Nodes, scheduler.NodeSpec{Names: names, Sockets: 2, CoresPerSocket: 32, MemMiB: 1 << 20, GRES: "gpu:8"})
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// hostlists names so many nodes in lists that are not too long.
func hostlists(nodes int) []string {
	const most = 50000
	var out []string
	for i := 0; i < nodes; i += most {
		out = append(out, fmt.Sprintf("n[%d-%d]", i+1, min(i+most, nodes)))
	}
	return out
}

// round submits jobs first to last that ask one GPU each, and returns what
// ends them again.
func submitGPUJobs(tb testing.TB, s scheduler.Scheduler, now scheduler.Time, first, last scheduler.JobID) {
	tb.Helper()
	for id := first; id <= last; id++ {
		spec := scheduler.JobSpec{
			ID: id, Tasks: 1, CPUsPerTask: 4, GPUsPerNode: "1", MinNodes: 1, Mem: scheduler.MemPerNode, MemMiB: 1000, TimeLimit: time.Hour,
		}
		if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkPassStart starts all pending jobs in one pass; an operation is one
// job.
func BenchmarkPassStart(b *testing.B) {
	for _, size := range []struct{ nodes, pending int }{{1000, 1000}, {10000, 10000}} {
		b.Run(fmt.Sprintf("nodes=%d/pending=%d", size.nodes, size.pending), func(b *testing.B) {
			s := gpuCluster(b, size.nodes, scheduler.Parameters{MinJobAge: time.Second})
			now, first := scheduler.Seconds(0), scheduler.JobID(1)
			dec := make([]scheduler.Decision, 0, size.pending)
			b.ReportAllocs()
			var spent time.Duration
			starts := 0
			for b.Loop() {
				b.StopTimer()
				last := first + scheduler.JobID(size.pending) - 1
				submitGPUJobs(b, s, now, first, last)
				b.StartTimer()
				from := time.Now()
				dec = s.Pass(now, dec[:0])
				spent += time.Since(from)
				b.StopTimer()
				if len(dec) != size.pending {
					b.Fatalf("%d of %d jobs started", len(dec), size.pending)
				}
				starts += len(dec)
				now = now.Add(10 * time.Second)
				for i := range dec {
					if err := s.Apply(now, scheduler.Ended(dec[i].Job, scheduler.JobEnd{})); err != nil {
						b.Fatal(err)
					}
				}
				first = last + 1
				b.StartTimer()
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(starts), "ns/start")
			b.ReportMetric(float64(starts)/spent.Seconds(), "starts/s")
		})
	}
}
