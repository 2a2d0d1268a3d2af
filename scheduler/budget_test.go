package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// A start phase ends with the record that uses up its budget; what it did not
// reach starts in the next pass.
func TestStartPhaseHasABudget(t *testing.T) {
	cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-7]", CoresPerSocket: 1}}}
	cfg.Parameters.Plan.Mode = scheduler.PlanNone
	cfg.Parameters.Select.NoMemory = true
	cfg.Parameters.Queue.MaxSteps = 10 // a gang looks at 8 nodes, then at 8 more
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id := range scheduler.JobID(3) {
		if err := s.Apply(0, scheduler.Submit(&scheduler.JobSpec{ID: id + 1, MinNodes: 2, TimeLimit: time.Hour})); err != nil {
			t.Fatal(err)
		}
	}
	for pass, want := range []int{2, 1, 0} {
		if got := len(s.Pass(0, nil)); got != want {
			t.Errorf("pass %d: %d starts, want %d", pass, got, want)
		}
	}
}

// A job is ended by the end of its reservation, and what it may overrun (spec:
// reservations 7.5).
func TestReservationOverrun(t *testing.T) {
	for _, over := range []time.Duration{0, 3 * time.Minute, scheduler.Infinite} {
		cfg := scheduler.Config{Profile: scheduler.ProfileSlurm, Nodes: []scheduler.NodeSpec{{Names: "n0"}}}
		cfg.Parameters.ResvOverRun = over
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = reserve(s, 0, scheduler.ReservationSpec{Name: "r", End: scheduler.Seconds(60), Nodes: "n0", Users: []string{"ann"}})
		if err != nil {
			t.Fatal(err)
		}
		j := scheduler.JobSpec{ID: 1, User: "ann", Reservations: []string{"r"}, TimeLimit: time.Hour}
		if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
			t.Fatal(err)
		}
		s.Pass(0, nil)
		end := scheduler.Seconds(60).Add(over)
		if over == scheduler.Infinite {
			end = scheduler.Seconds(3600)
		}
		if d := s.Pass(end-1, nil); len(d) != 0 {
			t.Errorf("overrun %v: told %v before its end", over, d)
		}
		if d := s.Pass(end, nil); len(d) != 1 || d[0].Op != scheduler.OpKill {
			t.Errorf("overrun %v: told %v at its end", over, d)
		}
	}
}
