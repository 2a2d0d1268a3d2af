package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// busyCluster returns a full cluster in which so many jobs run and so many wait,
// no two alike: of those that wait 60 % ask one node, 30 % 2 to 16, 10 % 32 to
// 256 (on small clusters less). Nothing is planned yet.
func busyCluster(tb testing.TB, nodes, running, pending int, par scheduler.Parameters) scheduler.Scheduler {
	tb.Helper()
	par.MinJobAge = time.Second
	rnd := rand.New(rand.NewPCG(1, uint64(nodes)))
	full := par
	full.Plan = scheduler.PlanParameters{Mode: scheduler.PlanNone}
	s := gpuCluster(tb, nodes, full)
	apply := func(ev scheduler.Event) {
		if err := s.Apply(0, ev); err != nil {
			tb.Fatal(err)
		}
	}
	left := nodes
	for id := 1; id <= running; id++ {
		n := max(left/(running-id+1), 1)
		if id < running {
			n = min(max(1, rnd.IntN(2*n)), max(left-(running-id), 1))
		}
		left -= n
		spec := scheduler.JobSpec{
			ID: scheduler.JobID(id), MinNodes: int32(n), Exclusive: scheduler.ExclusiveNode, GPUsPerNode: "8", TimeLimit: time.Duration(60+rnd.IntN(48*3600)) * time.Second,
		}
		apply(scheduler.Submit(&spec))
	}
	if n := len(s.Pass(0, nil)); n != running {
		tb.Fatalf("%d of %d jobs run", n, running)
	}
	wide := min(256, nodes/4)
	for id := running + 1; id <= running+pending; id++ {
		n := 1
		switch k := rnd.IntN(10); {
		case k == 9:
			n = wide/8 + rnd.IntN(wide-wide/8+1)
		case k > 5:
			n = 2 + rnd.IntN(min(15, nodes-2))
		}
		gpus := 1 << rnd.IntN(4)
		spec := scheduler.JobSpec{
			ID: scheduler.JobID(id), MinNodes: int32(n), TasksPerNode: 1, CPUsPerTask: int32(gpus * (1 + rnd.IntN(8))), GPUsPerNode: fmt.Sprint(gpus),
			Mem: scheduler.MemPerNode, MemMiB: int64(gpus) * int64(1000+rnd.IntN(120000)), TimeLimit: time.Duration(300+rnd.IntN(48*3600)) * time.Second,
		}
		apply(scheduler.Submit(&spec))
	}
	apply(scheduler.Event{Kind: scheduler.EventConfig, Config: &par})
	return s
}

func planPar(window time.Duration) scheduler.Parameters {
	return scheduler.Parameters{Plan: scheduler.PlanParameters{Window: window}}
}

// BenchmarkPassBackfill plans for all pending jobs from zero.
func BenchmarkPassBackfill(b *testing.B) {
	for _, size := range []struct{ nodes, running, pending int }{{1000, 500, 1000}, {10000, 5000, 10000}} {
		for _, w := range []struct {
			name   string
			window time.Duration
		}{{"24h", 24 * time.Hour}, {"none", 0}} {
			b.Run(fmt.Sprintf("nodes=%d/pending=%d/running=%d/window=%s", size.nodes, size.pending, size.running, w.name), func(b *testing.B) {
				image, err := busyCluster(b, size.nodes, size.running, size.pending, planPar(w.window)).AppendSnapshot(nil)
				if err != nil {
					b.Fatal(err)
				}
				var spent time.Duration
				n := 0
				for b.Loop() {
					b.StopTimer()
					s, err := scheduler.Restore(image, nil)
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					from := time.Now()
					s.Pass(1, nil)
					spent += time.Since(from)
					n++
				}
				b.ReportMetric(spent.Seconds()*1000/float64(n), "ms/pass")
			})
		}
	}
}

// BenchmarkCompress passes after one running job has ended early.
func BenchmarkCompress(b *testing.B) {
	for _, size := range []struct{ nodes, running, pending int }{{1000, 500, 1000}, {10000, 5000, 10000}} {
		b.Run(fmt.Sprintf("nodes=%d/pending=%d/running=%d/event=early-end", size.nodes, size.pending, size.running), func(b *testing.B) {
			s := busyCluster(b, size.nodes, size.running, size.pending, planPar(0))
			now := scheduler.Time(1)
			s.Pass(now, nil)
			rnd := rand.New(rand.NewPCG(2, 2))
			live := make([]scheduler.JobID, size.running)
			for i := range live {
				live[i] = scheduler.JobID(i + 1)
			}
			b.ReportAllocs()
			var spent, worst time.Duration
			n, starts := 0, 0
			var dec []scheduler.Decision
			for b.Loop() {
				b.StopTimer()
				now += 1000
				i := rnd.IntN(len(live))
				if err := s.Apply(now, scheduler.Ended(live[i], scheduler.JobEnd{})); err != nil {
					b.Fatal(err)
				}
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				b.StartTimer()
				from := time.Now()
				dec = s.Pass(now, dec[:0])
				d := time.Since(from)
				spent += d
				worst = max(worst, d)
				n++
				for k := range dec {
					live = append(live, dec[k].Job)
				}
				starts += len(dec)
			}
			b.ReportMetric(spent.Seconds()*1000/float64(n), "ms/pass")
			b.ReportMetric(worst.Seconds()*1000, "ms/worst")
			b.ReportMetric(float64(starts)/float64(n), "starts/pass")
		})
	}
}
