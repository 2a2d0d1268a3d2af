package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A planTrio is one world told to three schedulers: one that goes on, one that is
// restored from a snapshot now and then, one that is left for a fork of itself.
type planTrio struct {
	all   [3]scheduler.Scheduler
	now   scheduler.Time
	next  scheduler.JobID
	ends  map[scheduler.JobID]scheduler.Time
	left  int // passes that left something over
	after int // restores and forks after such
}

func newPlanTrio(t *rapid.T) *planTrio {
	par := scheduler.Parameters{Select: scheduler.SelectParameters{NoMemory: true}}
	par.Plan.MaxSteps = rapid.Int64Range(1, 30).Draw(t, "steps")
	par.Plan.Promise = rapid.SampledFrom([]scheduler.Promise{scheduler.PromiseBestEffort, scheduler.PromiseKept}).Draw(t, "promise")
	par.Plan.Fill = rapid.SampledFrom([]scheduler.Fill{scheduler.FillShortest, scheduler.FillRank}).Draw(t, "fill")
	w := &planTrio{ends: map[scheduler.JobID]scheduler.Time{}}
	for i := range w.all {
		s, err := scheduler.New(scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-5]", CoresPerSocket: 4, GRES: "gpu:2"}}, Parameters: par}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.all[i] = s
	}
	return w
}

func (w *planTrio) apply(t *rapid.T, ev scheduler.Event) {
	for _, s := range w.all {
		if err := s.Apply(w.now, ev); err != nil {
			t.Fatal(err)
		}
	}
}

// pass lets all pass and demands one answer of them.
func (w *planTrio) pass(t *rapid.T) {
	first := append([]scheduler.Decision(nil), w.all[0].Pass(w.now, nil)...)
	at, ok := w.all[0].Wake()
	plans := plansOf(w.all[0])
	if scheduler.PlansLeft(w.all[0]) > 0 {
		w.left++
	}
	for i, name := range []string{1: "restored", 2: "forked"} {
		if i == 0 {
			continue
		}
		if diff := cmp.Diff(first, w.all[i].Pass(w.now, nil)); diff != "" {
			t.Fatalf("at %d a %s scheduler decides otherwise (-original):\n%s", w.now, name, diff)
		}
		if a, o := w.all[i].Wake(); a != at || o != ok {
			t.Fatalf("at %d a %s scheduler wakes at %d, the original at %d", w.now, name, a, at)
		}
		if diff := cmp.Diff(plans, plansOf(w.all[i])); diff != "" {
			t.Fatalf("at %d a %s scheduler plans otherwise (-original):\n%s", w.now, name, diff)
		}
	}
	for i := range first {
		if first[i].Op == scheduler.OpStart {
			w.ends[first[i].Job] = w.now.Add(first[i].Limit)
		}
	}
}

func plansOf(s scheduler.Scheduler) map[scheduler.JobID]scheduler.Time {
	out := map[scheduler.JobID]scheduler.Time{}
	s.View(func(v scheduler.View) {
		for j := range v.Jobs() {
			if j.State == scheduler.StatePending {
				out[j.ID] = j.Start
			}
		}
	})
	return out
}

// end ends a job, early or at its limit.
func (w *planTrio) end(t *rapid.T, id scheduler.JobID) {
	w.apply(t, scheduler.Ended(id, scheduler.JobEnd{}))
	delete(w.ends, id)
}

func (w *planTrio) submit(t *rapid.T) {
	w.next++
	spec := scheduler.JobSpec{
		ID: w.next, MinNodes: 1, TimeLimit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second,
		Priority: rapid.Uint32Range(1, 3).Draw(t, "rank"),
	}
	if rapid.Bool().Draw(t, "whole nodes") {
		spec.MinNodes, spec.Exclusive = rapid.Int32Range(1, 4).Draw(t, "nodes"), scheduler.ExclusiveNode
	} else {
		spec.Tasks, spec.CPUsPerTask = 1, rapid.Int32Range(1, 4).Draw(t, "CPUs")
		spec.GPUsPerNode = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "GPUs")
	}
	w.apply(t, scheduler.Submit(&spec))
}

// renew takes the second from its snapshot, or the third from a fork.
func (w *planTrio) renew(t *rapid.T) {
	i := rapid.IntRange(1, 2).Draw(t, "restored or forked")
	if i == 1 {
		b, err := w.all[1].AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.all[1], err = scheduler.Restore(b, nil); err != nil {
			t.Fatal(err)
		}
	} else {
		f, err := w.all[2].Fork()
		if err != nil {
			t.Fatal(err)
		}
		w.all[2] = f
	}
	if scheduler.PlansLeft(w.all[i]) > 0 {
		w.after++
	}
}

// TestPlanRounds: with so few steps a pass that plans are always left over, what a
// scheduler does next is in its state: restored or forked it decides the same.
func TestPlanRounds(t *testing.T) {
	passes, left, after := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newPlanTrio(t)
		for range 12 {
			w.submit(t)
		}
		w.pass(t)
		t.Repeat(map[string]func(*rapid.T){
			"submit": w.submit,
			"renew":  w.renew,
			"pass": func(t *rapid.T) {
				w.pass(t)
				passes++
			},
			"end": func(t *rapid.T) {
				for id := scheduler.JobID(1); id <= w.next; id++ {
					if _, ok := w.ends[id]; ok && rapid.Bool().Draw(t, "this one") {
						w.end(t, id)
						break
					}
				}
				w.pass(t)
				passes++
			},
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
				for id := scheduler.JobID(1); id <= w.next; id++ {
					if at, ok := w.ends[id]; ok && at <= w.now {
						w.end(t, id)
					}
				}
				w.pass(t)
				passes++
			},
		})
		left, after = left+w.left, after+w.after
	})
	t.Logf("%d passes, %d with plans left over; %d restores and forks after such", passes, left, after)
	if left*10 < passes || after == 0 {
		t.Error("too few passes leave plans over")
	}
}

// TestPlanRoundsEnd: what a pass has no steps left for is done by the passes that
// Wake asks for.
func TestPlanRoundsEnd(t *testing.T) {
	for _, steps := range []int64{50, 200} {
		few, all := planPar(0), planPar(0)
		few.Plan.MaxSteps, all.Plan.MaxSteps = steps, 1<<40
		const nodes = 60
		s, whole := busyCluster(t, nodes, nodes/2, nodes, few), busyCluster(t, nodes, nodes/2, nodes, all)
		now := scheduler.Time(1)
		for _, x := range []scheduler.Scheduler{s, whole} {
			x.Pass(now, nil)
			if err := x.Apply(now, scheduler.Ended(1, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
			x.Pass(now, nil)
		}
		passes := 1
		for ; scheduler.PlansLeft(s) > 0 && passes < 1000; passes++ {
			at, ok := s.Wake()
			if !ok || at > now.Add(30*time.Second) {
				t.Fatalf("plans are left over and the next pass is at %d", at)
			}
			now = max(now, at)
			s.Pass(now, nil)
		}
		t.Logf("%d steps: %d passes", steps, passes)
		if passes < 3 || passes == 1000 || scheduler.PlansLeft(whole) > 0 {
			t.Errorf("%d steps: after %d passes %d changes are left over, with steps enough %d", steps, passes, scheduler.PlansLeft(s), scheduler.PlansLeft(whole))
		}
	}
}

// TestCompressSteps: with twice the nodes, and jobs that run and wait, a pass after
// an early end takes few times the steps: what it spends on moving plans is bounded,
// and it looks at others for starts at this instant alone.
func TestCompressSteps(t *testing.T) {
	steps := func(nodes int) int64 {
		par := planPar(0)
		par.Plan.MaxSteps = 2000
		s := busyCluster(t, nodes, nodes/2, nodes, par)
		s.Pass(1, nil)
		before, now := scheduler.PlanSteps(s), scheduler.Time(1)
		for id := scheduler.JobID(1); id <= 8; id++ {
			now += 1000
			if err := s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
			s.Pass(now, nil)
		}
		return (scheduler.PlanSteps(s) - before) / 8
	}
	small, large := steps(150), steps(300)
	t.Logf("150 nodes: %d steps a pass, 300 nodes: %d", small, large)
	if large > 3*small+1000 {
		t.Errorf("300 nodes take %d steps a pass, 150 take %d", large, small)
	}
}
