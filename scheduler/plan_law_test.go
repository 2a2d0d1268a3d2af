package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// propPlans drives jobs of all sizes and ranks through a small cluster that is
// passed at every end, and looks at all plans after each pass.
func propPlans(t *rapid.T) {
	promise := rapid.SampledFrom([]scheduler.Promise{scheduler.PromiseBestEffort, scheduler.PromiseKept}).Draw(t, "promise")
	fill := rapid.SampledFrom([]scheduler.Fill{scheduler.FillShortest, scheduler.FillRank}).Draw(t, "fill")
	ranked := rapid.Bool().Draw(t, "ranked")
	s, err := scheduler.New(scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: "n[0-4]", CoresPerSocket: 4, GRES: "gpu:2"}},
		Parameters: scheduler.Parameters{
			Plan:   scheduler.PlanParameters{Promise: promise, Fill: fill, Depth: rapid.SampledFrom([]int32{0, 0, 1, 3}).Draw(t, "depth")},
			Select: scheduler.SelectParameters{NoMemory: true},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now, next := scheduler.Time(0), scheduler.JobID(0)
	ends := map[scheduler.JobID]scheduler.Time{} // of running jobs: their limits
	planned := map[scheduler.JobID]scheduler.Time{}
	rank := map[scheduler.JobID]uint32{}
	// For each job the highest rank that has come since the pass before it did: a
	// plan in best effort makes room for those, in that pass or in a later one.
	above := map[scheduler.JobID]uint32{}
	first := scheduler.JobID(1) // that has come since the last pass
	gives := func(id scheduler.JobID) bool { return promise == scheduler.PromiseBestEffort && above[id] > rank[id] }
	pass := func(t *rapid.T) {
		for id := scheduler.JobID(1); id <= next; id++ {
			if at, ok := ends[id]; ok && at <= now {
				if err := s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
					t.Fatal(err)
				}
				delete(ends, id)
			}
		}
		for _, d := range s.Pass(now, nil) {
			if at, ok := planned[d.Job]; ok && now > at && !gives(d.Job) {
				t.Fatalf("job %d starts at %d, was planned for %d", d.Job, now, at)
			}
			delete(planned, d.Job)
			ends[d.Job] = now.Add(d.Limit)
		}
		if left := scheduler.StartsLeft(s); len(left) > 0 {
			t.Fatalf("at %d jobs %v fit beside what runs and is planned, and wait", now, left)
		}
		s.View(func(v scheduler.View) {
			for j := range v.Jobs() {
				if j.State != scheduler.StatePending {
					continue
				}
				was, ok := planned[j.ID]
				if ok && j.Start > was && !gives(j.ID) {
					t.Fatalf("at %d job %d moves from %d to %d", now, j.ID, was, j.Start)
				}
				if delete(planned, j.ID); j.Planned {
					planned[j.ID] = j.Start
				}
			}
		})
		first = next + 1
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			next++
			spec := scheduler.JobSpec{ID: next, MinNodes: 1, TimeLimit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second, Priority: 1}
			if ranked {
				spec.Priority = rapid.Uint32Range(1, 3).Draw(t, "rank")
			}
			rank[next] = spec.Priority
			for id := scheduler.JobID(1); id < next; id++ {
				above[id] = max(above[id], spec.Priority)
			}
			for id := first; id < next; id++ {
				above[next] = max(above[next], rank[id])
			}
			if rapid.Bool().Draw(t, "whole nodes") {
				spec.MinNodes, spec.Exclusive = rapid.Int32Range(1, 4).Draw(t, "nodes"), scheduler.ExclusiveNode
			} else {
				spec.Tasks, spec.CPUsPerTask = 1, rapid.Int32Range(1, 4).Draw(t, "CPUs")
				spec.GPUsPerNode = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "GPUs")
			}
			if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
		},
		"end": func(t *rapid.T) {
			for id := scheduler.JobID(1); id <= next; id++ {
				if _, ok := ends[id]; ok && rapid.Bool().Draw(t, "this one") {
					ends[id] = now
					break
				}
			}
			pass(t)
		},
		"cancel": func(t *rapid.T) {
			if id := scheduler.JobID(rapid.Uint64Range(1, 8).Draw(t, "job")); planned[id] != 0 {
				if err := s.Apply(now, scheduler.Cancel(id)); err != nil {
					t.Fatal(err)
				}
				delete(planned, id)
			}
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
			target := now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
			for {
				at := target
				for _, end := range ends {
					at = min(at, max(end, now))
				}
				now = at
				pass(t)
				if now == target {
					return
				}
			}
		},
	})
}

// TestPlanLaws: no plan moves later unless a job of higher rank has come, and
// after each pass no job waits that would fit.
func TestPlanLaws(t *testing.T) { rapid.Check(t, propPlans) }
