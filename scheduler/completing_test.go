package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// propCompleteWait: while a job has been completing for less than CompleteWait,
// nothing starts, in either profile; and Wake names the instant at which that ends
// for a job that could start.
func propCompleteWait(t *rapid.T) {
	const wait = 5
	cfg := scheduler.Config{
		Nodes:      []scheduler.NodeSpec{{Names: "n[0-3]", CoresPerSocket: 2}},
		Parameters: scheduler.Parameters{CompleteWait: wait * time.Second},
	}
	if rapid.Bool().Draw(t, "slurm") {
		cfg.Profile = scheduler.ProfileSlurm
		cfg.Parameters.Plan = scheduler.PlanParameters{Interval: time.Second, Resolution: time.Second}
	}
	s := newLawScheduler(t, cfg)
	now, next := int64(0), scheduler.JobID(1)
	running := map[scheduler.JobID]int64{} // until when it holds others back; 0 does not complete
	var order []scheduler.JobID
	forget := func(i int) {
		delete(running, order[i])
		order = append(order[:i], order[i+1:]...)
	}
	apply := func(e scheduler.Event) {
		if err := s.Apply(scheduler.Seconds(now), e); err != nil {
			t.Fatalf("apply %s: %v", e.Kind, err)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			j := scheduler.JobSpec{
				ID: next, MinNodes: rapid.Int32Range(1, 4).Draw(t, "nodes"), TimeLimit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second,
				Exclusive: scheduler.ExclusiveNode,
			}
			next++
			apply(scheduler.Submit(&j))
		},
		"complete": func(t *rapid.T) {
			if len(order) == 0 {
				return
			}
			id := rapid.SampledFrom(order).Draw(t, "job")
			apply(scheduler.Ended(id, scheduler.JobEnd{Completing: true}))
			if running[id] == 0 {
				running[id] = now + wait
			}
		},
		"end": func(t *rapid.T) {
			if len(order) == 0 {
				return
			}
			i := rapid.IntRange(0, len(order)-1).Draw(t, "job")
			apply(scheduler.Ended(order[i], scheduler.JobEnd{}))
			forget(i)
		},
		"restart": func(t *rapid.T) {
			b, err := s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			if s, err = scheduler.Restore(b, nil); err != nil {
				t.Fatal(err)
			}
		},
		"pass": func(t *rapid.T) {
			now += rapid.Int64Range(0, 4).Draw(t, "seconds")
			for _, d := range s.Pass(scheduler.Seconds(now), nil) {
				switch d.Op {
				case scheduler.OpKill:
					if running[d.Job] == 0 {
						running[d.Job] = now + wait
					}
				case scheduler.OpStart:
					for _, id := range order {
						if running[id] > now {
							t.Fatalf("job %d starts at %d, job %d holds others back until %d", d.Job, now, id, running[id])
						}
					}
				}
				if d.Op == scheduler.OpStart {
					order = append(order, d.Job)
					running[d.Job] = 0
				}
			}
			hold := int64(0)
			for _, id := range order {
				hold = max(hold, running[id])
			}
			at, ok := s.Wake()
			if pending(s) && hold > now && (!ok || at > scheduler.Seconds(hold)) {
				t.Fatalf("Wake = %d, %v; jobs wait until %d", at, ok, hold)
			}
		},
	})
}

func newLawScheduler(t *rapid.T, cfg scheduler.Config) scheduler.Scheduler {
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pending(s scheduler.Scheduler) (some bool) {
	s.View(func(v scheduler.View) { some = v.Metrics().Pending > 0 })
	return some
}

func TestNothingStartsWhileJobsComplete(t *testing.T) { rapid.Check(t, propCompleteWait) }
