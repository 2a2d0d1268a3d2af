package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// slurmQueue is a full cluster of whole-node jobs that end one after the other,
// and as many that wait for half as many nodes up to all.
func slurmQueue(tb testing.TB, nodes, jobs int) scheduler.Scheduler {
	tb.Helper()
	cfg := scheduler.Config{
		Profile: scheduler.ProfileSlurm,
		Nodes:   []scheduler.NodeSpec{{Names: fmt.Sprintf("n[0-%d]", nodes-1), CoresPerSocket: 4}},
		Parameters: scheduler.Parameters{
			Plan:   scheduler.PlanParameters{MaxTest: int32(2 * jobs), Window: 30 * 24 * time.Hour},
			Select: scheduler.SelectParameters{NoMemory: true},
		},
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for id := 1; id <= 2*jobs; id++ {
		spec := scheduler.JobSpec{ID: scheduler.JobID(id), MinNodes: int32(nodes / jobs), Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Duration(10*id) * time.Minute}
		if id > jobs {
			spec.MinNodes, spec.TimeLimit = int32(nodes/jobs/2*(1+id%(2*jobs))), time.Hour
		}
		if err := s.Apply(0, scheduler.Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
		if id == jobs {
			s.Pass(0, nil)
		}
	}
	return s
}

// TestSlurmSteps: with twice the nodes and jobs, a planning pass in Slurm mode
// makes few tries a job as before, and takes off few times the cluster's nodes a
// job to look ahead. A pass before which nothing has changed makes none.
func TestSlurmSteps(t *testing.T) {
	work := func(nodes int) (tries, taken float64, idle int64) {
		jobs := nodes / 16
		s := slurmQueue(t, nodes, jobs)
		t0, n0 := scheduler.SlurmWork(s)
		s.Pass(scheduler.Seconds(300), nil)
		t1, n1 := scheduler.SlurmWork(s)
		s.Pass(scheduler.Seconds(330), nil)
		t2, _ := scheduler.SlurmWork(s)
		return float64(t1-t0) / float64(jobs), float64(n1-n0) / float64(jobs) / float64(nodes), t2 - t1
	}
	for _, nodes := range []int{256, 512} {
		tries, taken, idle := work(nodes)
		t.Logf("%d nodes: %.2f tries and %.2f clusters of nodes a job", nodes, tries, taken)
		if idle > 0 {
			t.Errorf("%d nodes: %d tries though nothing has changed", nodes, idle)
		}
		if tries > 4 || taken > 1 {
			t.Errorf("%d nodes: %.2f tries and %.2f times all nodes taken off a job, want at most 4 and 1", nodes, tries, taken)
		}
	}
}

func BenchmarkSlurmPass(b *testing.B) {
	for _, nodes := range []int{1024, 8192} {
		b.Run(fmt.Sprintf("nodes=%d/pending=64/running=64", nodes), func(b *testing.B) {
			s := slurmQueue(b, nodes, 64)
			now := scheduler.Seconds(300)
			b.ReportAllocs()
			for b.Loop() {
				s.Pass(now, nil)
				now += scheduler.Seconds(30)
			}
		})
	}
}
