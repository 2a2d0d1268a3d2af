package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// TestPlannedGangStartsEarly: a job on several nodes starts when these are free
// before its plan: its own plan does not stand in its way.
func TestPlannedGangStartsEarly(t *testing.T) {
	s := gpuCluster(t, 4, scheduler.Parameters{Plan: scheduler.PlanParameters{Depth: 1}})
	submitPairs(t, s, 0, scheduler.JobSpec{ID: 1, Tasks: 1, MinNodes: 1, GPUsPerNode: "1", TimeLimit: time.Hour})
	if d := s.Pass(0, nil); len(d) != 1 {
		t.Fatalf("decisions %+v", d)
	}
	submitPairs(t, s, 0, scheduler.JobSpec{ID: 2, MinNodes: 4, Tasks: 8, TasksPerNode: 2, GPUsPerNode: "8", TimeLimit: time.Hour})
	if d := s.Pass(0, nil); len(d) != 0 {
		t.Fatalf("decisions %+v", d)
	}
	now := scheduler.Seconds(1)
	if err := s.Apply(now, scheduler.Ended(1, scheduler.JobEnd{})); err != nil {
		t.Fatal(err)
	}
	if d := s.Pass(now, nil); len(d) != 1 || d[0].Job != 2 {
		t.Errorf("decisions %+v, want a start of job 2", d)
	}
}
