package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// mixedCluster returns a cluster of nodes in three partitions on which jobs of
// two hundred users run and wait: of one to 64 nodes, with four QOS, three time
// limits and some forty asks; about a third runs. It has been planned for.
func mixedCluster(tb testing.TB, nodes, jobs int) scheduler.Scheduler {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(3, uint64(jobs)))
	cfg := scheduler.Config{
		Nodes: []scheduler.NodeSpec{
			{Names: fmt.Sprintf("a[1-%d]", nodes/2), Sockets: 2, CoresPerSocket: 32, MemMiB: 1 << 20, GRES: "gpu:h100:8"},
			{Names: fmt.Sprintf("b[1-%d]", nodes-nodes/2), Sockets: 2, CoresPerSocket: 24, MemMiB: 1 << 19, GRES: "gpu:a100:4"},
		},
		Partitions: []scheduler.PartitionSpec{
			{Name: "all", Nodes: "ALL", Default: true, MaxTime: 7 * 24 * time.Hour},
			{Name: "big", Nodes: fmt.Sprintf("a[1-%d]", nodes/2)},
			{Name: "small", Nodes: fmt.Sprintf("b[1-%d]", nodes-nodes/2)},
		},
		TRES: []string{"gres/gpu"},
		QOS: []scheduler.QOSSpec{
			{Name: "normal", Priority: 10}, {Name: "high", Priority: 100}, {Name: "low", Priority: 1},
			{Name: "capped", Priority: 20, Limits: []scheduler.LimitSpec{{Name: "MaxTRESPerUser", Value: "gres/gpu=64"}}},
		},
	}
	cfg.Parameters.Priority = scheduler.PriorityParameters{Age: 1000, FairShare: 10000, JobSize: 100, QOS: 1000}
	cfg.Parameters.Limits.Enforce = "limits,qos"
	for a := range 20 {
		cfg.Accounts = append(cfg.Accounts, scheduler.AssocSpec{Account: fmt.Sprint("acct", a), QOS: []string{"normal", "high", "low", "capped"}})
		for u := range 10 {
			cfg.Accounts = append(cfg.Accounts, scheduler.AssocSpec{Account: fmt.Sprint("acct", a), User: fmt.Sprint("user", 10*a+u), DefaultAccount: true})
		}
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for id := 1; id <= jobs; id++ {
		if id == jobs/3+1 {
			s.Pass(0, nil)
		}
		spec := mixedJob(rnd, scheduler.JobID(id), nodes)
		if err := s.Apply(scheduler.Time(id), scheduler.Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
	s.Pass(scheduler.Seconds(1), nil)
	return s
}

// mixedJob draws one of the jobs of mixedCluster.
func mixedJob(rnd *rand.Rand, id scheduler.JobID, nodes int) scheduler.JobSpec {
	spec := scheduler.JobSpec{
		ID: id, Name: fmt.Sprint("train-", id%1000), User: fmt.Sprint("user", rnd.IntN(200)), QOS: []string{[]string{"normal", "normal", "high", "low", "capped"}[rnd.IntN(5)]},
		Partitions: []string{[]string{"all", "all", "big", "small"}[rnd.IntN(4)]}, TimeLimit: []time.Duration{time.Hour, 8 * time.Hour, 48 * time.Hour}[rnd.IntN(3)],
		Mem: scheduler.MemPerNode, MinNodes: 1, TasksPerNode: 1,
	}
	switch k := rnd.IntN(100); {
	case k < 80:
		gpus := 1 << rnd.IntN(3)
		spec.GPUsPerNode, spec.CPUsPerTask, spec.MemMiB = fmt.Sprint(gpus), int32(4*gpus), int64(32000*gpus)
	case k < 95:
		spec.CPUsPerTask, spec.MemMiB = int32(1+rnd.IntN(4)), 4000
	default:
		spec.GPUsPerNode, spec.CPUsPerTask, spec.MemMiB, spec.MinNodes = "4", 16, 128000, int32(min(2<<rnd.IntN(5), nodes/4))
	}
	return spec
}

// measure runs f until the benchmark is over and reports the median of its times.
func measure(b *testing.B, f func()) {
	b.ReportAllocs()
	var times []time.Duration
	for b.Loop() {
		from := time.Now()
		f()
		times = append(times, time.Since(from))
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "ms/median")
	b.ReportMetric(times[0].Seconds()*1000, "ms/least")
}

// BenchmarkHeap reports what a scheduler keeps of nodes that are full and of jobs
// that wait in a thousand classes. The budget of the large size is 1 GiB; it runs
// with BERTH_DEEP alone.
func BenchmarkHeap(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, size := range []struct{ nodes, jobs int }{{2500, 20000}, {125000, 1000000}} {
		if size.nodes > 2500 && os.Getenv("BERTH_DEEP") == "" {
			continue
		}
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d", size.nodes, size.jobs), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				cfg := scheduler.Config{Partitions: []scheduler.PartitionSpec{{Name: "all", Nodes: "ALL", Default: true}}}
				for n := 0; n < size.nodes; n += 2500 {
					names := fmt.Sprintf("r%dn[1-2500]", n/2500)
					cfg.Nodes = append(cfg.Nodes, scheduler.NodeSpec{Names: names, Sockets: 2, CoresPerSocket: 32, MemMiB: 1 << 20, GRES: "gpu:h100:8"})
				}
				s, err := scheduler.New(cfg, nil)
				if err != nil {
					b.Fatal(err)
				}
				submit := func(id, cpus, gpus int, mem int64) {
					spec := scheduler.JobSpec{
						ID: scheduler.JobID(id), Name: fmt.Sprint("train-", id%1000), User: fmt.Sprint("user", id%200), MinNodes: 1, TasksPerNode: 1,
						CPUsPerTask: int32(cpus), GPUsPerNode: fmt.Sprint(gpus), Mem: scheduler.MemPerNode, MemMiB: mem, TimeLimit: time.Hour,
					}
					if err := s.Apply(scheduler.Time(id), scheduler.Submit(&spec)); err != nil {
						b.Fatal(err)
					}
				}
				for id := 1; id <= size.nodes; id++ {
					submit(id, 64, 8, 1000)
				}
				s.Pass(scheduler.Time(size.nodes), nil)
				full := heap()
				for id := size.nodes + 1; id <= size.nodes+size.jobs; id++ {
					k := id % 1000
					submit(id, 1+k%32, 1+k/32%8, int64(1000+k))
				}
				s.Pass(scheduler.Time(size.nodes+size.jobs), nil)
				all := heap()
				b.ReportMetric((all-before)/(1<<20), "MiB")
				b.ReportMetric((full-before)/float64(size.nodes), "bytes/node")
				b.ReportMetric((all-full)/float64(size.jobs), "bytes/job")
				runtime.KeepAlive(s)
			}
		})
	}
}

var mixedSizes = []struct{ nodes, jobs int }{{1000, 10000}, {10000, 100000}}

func BenchmarkFork(b *testing.B) {
	for _, size := range mixedSizes {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d", size.nodes, size.jobs), func(b *testing.B) {
			s := mixedCluster(b, size.nodes, size.jobs)
			measure(b, func() {
				if _, err := s.Fork(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, size := range mixedSizes {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d", size.nodes, size.jobs), func(b *testing.B) {
			s := mixedCluster(b, size.nodes, size.jobs)
			var image []byte
			measure(b, func() {
				var err error
				if image, err = s.AppendSnapshot(image[:0]); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(len(image))/float64(size.jobs), "bytes/job")
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	for _, size := range mixedSizes {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d", size.nodes, size.jobs), func(b *testing.B) {
			image, err := mixedCluster(b, size.nodes, size.jobs).AppendSnapshot(nil)
			if err != nil {
				b.Fatal(err)
			}
			measure(b, func() {
				if _, err := scheduler.Restore(image, nil); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
