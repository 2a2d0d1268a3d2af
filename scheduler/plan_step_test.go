package scheduler_test

import (
	"testing"

	"github.com/berth-sched/berth/scheduler"
)

// TestPlanSteps counts looks at nodes at two sizes: twice the nodes and jobs may
// cost a job at most three times the looks, and a pass after an early end no more
// than its bound and a few looks a job.
func TestPlanSteps(t *testing.T) {
	if scheduler.Checking {
		t.Skip("too slow with checks")
	}
	perJob := func(nodes int) (plan, end float64) {
		s := busyCluster(t, nodes, nodes/2, nodes, planPar(0))
		s.Pass(1, nil)
		first := scheduler.PlanSteps(s)
		if err := s.Apply(2, scheduler.Ended(1, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
		s.Pass(2, nil)
		return float64(first) / float64(nodes), float64(scheduler.PlanSteps(s)-first) / float64(nodes)
	}
	small, _ := perJob(200)
	large, end := perJob(400)
	t.Logf("looks at nodes a job: %.0f at 200 nodes, %.0f at 400; after an early end %.0f", small, large, end)
	if large > 3*small {
		t.Errorf("a plan takes %.0f looks at 400 nodes, %.0f at 200", large, small)
	}
	if end > large {
		t.Errorf("a pass after an early end takes %.0f looks a job, planning from zero %.0f", end, large)
	}
}
