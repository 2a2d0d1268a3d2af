package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// propPreempt drives a little cluster with preemption and checks that
//
//   - a victim may be taken by the pair rule, and was told once
//   - nobody evicts whom it was evicted by (profile Best)
//   - no gang is left running with less than its least number of nodes
//   - no core is two running jobs'
//   - a restored scheduler decides alike
func propPreempt(t *rapid.T) {
	best := rapid.Bool().Draw(t, "best")
	cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-3]", CoresPerSocket: 4}}}
	cfg.Parameters.Select.NoMemory = true
	if !best {
		cfg.Profile = scheduler.ProfileSlurm
	}
	grace := rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(t, "grace")
	mode := rapid.SampledFrom([]string{"CANCEL", "REQUEUE", "SUSPEND,GANG", "REQUEUE,WITHIN", "SUSPEND,GANG,WITHIN"}).Draw(t, "mode")
	cfg.Parameters.Preempt = scheduler.PreemptParameters{Type: "qos", Mode: mode, TimeSlice: 5 * time.Second}
	within := strings.Contains(mode, "WITHIN")
	if best && rapid.Bool().Draw(t, "budget") {
		cfg.Parameters.Preempt.Window, cfg.Parameters.Preempt.Budget, cfg.Parameters.Preempt.Shield = 10*time.Second, 2, 2
	}
	cfg.Parameters.RequeueDelay = rapid.SampledFrom([]time.Duration{0, 3 * time.Second}).Draw(t, "delay")
	cfg.Parameters.Plan.Depth = int32(rapid.IntRange(0, 2).Draw(t, "depth"))
	lists := map[string][]string{"high": {"low", "mid"}, "mid": {"low"}, "low": nil}
	if rapid.Bool().Draw(t, "circle") {
		lists["low"] = []string{"high"}
	}
	for _, q := range []string{"low", "mid", "high"} {
		cfg.QOS = append(cfg.QOS, scheduler.QOSSpec{Name: q, Preempt: lists[q], GraceTime: grace})
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &preemptRun{s: s, qos: map[scheduler.JobID]string{}, lists: lists, best: best, by: map[scheduler.JobID]scheduler.JobID{}, took: map[[2]scheduler.JobID]bool{},
		within: within, nodes: map[scheduler.JobID]int32{}}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			r.next++
			q := rapid.SampledFrom([]string{"low", "mid", "high"}).Draw(t, "qos")
			spec := scheduler.JobSpec{ID: r.next, QOS: []string{q}, TimeLimit: time.Duration(rapid.IntRange(1, 40).Draw(t, "limit")) * time.Second}
			if rapid.Bool().Draw(t, "whole") {
				spec.MinNodes, spec.Exclusive = int32(rapid.IntRange(1, 3).Draw(t, "nodes")), scheduler.ExclusiveNode
			} else {
				spec.Tasks, spec.MinNodes, spec.MaxNodes = int32(rapid.IntRange(1, 4).Draw(t, "tasks")), 1, 1
			}
			spec.Priority, spec.Account = uint32(rapid.IntRange(1, 5).Draw(t, "prio")), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "account")
			r.qos[r.next], r.nodes[r.next] = q, spec.MinNodes
			if err := r.s.Apply(r.now, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
		},
		"pass":    func(t *rapid.T) { r.pass(t) },
		"advance": func(t *rapid.T) { r.now = r.now.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "s")) * time.Second) },
		"end": func(t *rapid.T) {
			if len(r.ending) == 0 {
				return
			}
			i := rapid.IntRange(0, len(r.ending)-1).Draw(t, "job")
			r.end(t, r.ending[i])
			r.ending = slices.Delete(r.ending, i, i+1)
		},
		"restart": func(t *rapid.T) {
			b, err := r.s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.s, err = scheduler.Restore(b, nil); err != nil {
				t.Fatal(err)
			}
			again, err := scheduler.Restore(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.Pass(r.now, nil), again.Pass(r.now, nil)); diff != "" {
				t.Fatalf("a restored scheduler decides otherwise (-original +restored):\n%s", diff)
			}
			s = r.s
		},
	})
}

type preemptRun struct {
	s      scheduler.Scheduler
	now    scheduler.Time
	next   scheduler.JobID
	best   bool
	qos    map[scheduler.JobID]string
	lists  map[string][]string
	ending []scheduler.JobID
	by     map[scheduler.JobID]scheduler.JobID // victims on their way: for whom
	took   map[[2]scheduler.JobID]bool
	within bool
	nodes  map[scheduler.JobID]int32 // least number of nodes
}

// books checks who holds what.
func (r *preemptRun) books(t *rapid.T) {
	r.s.View(func(v scheduler.View) {
		owner := map[[2]any]scheduler.JobID{}
		for j := range v.Jobs() {
			if j.State != scheduler.StateRunning && j.State != scheduler.StateSuspended {
				continue
			}
			if j.Nodes < r.nodes[j.ID] {
				t.Fatalf("job %d is left with %d nodes of %d", j.ID, j.Nodes, r.nodes[j.ID])
			}
			if j.State == scheduler.StateSuspended {
				continue
			}
			for _, a := range v.AppendAlloc(nil, j.ID) {
				if len(a.Cores) == 0 {
					t.Fatalf("job %d runs without a core on %s", j.ID, a.Node)
				}
				for _, c := range a.Cores {
					key := [2]any{a.Node, c}
					if o, taken := owner[key]; taken {
						t.Fatalf("core %d of %s runs jobs %d and %d", c, a.Node, o, j.ID)
					}
					owner[key] = j.ID
				}
			}
		}
	})
}

func (r *preemptRun) state(id scheduler.JobID) (st scheduler.JobState) {
	r.s.View(func(v scheduler.View) {
		j, _ := v.Job(id)
		st = j.State
	})
	return st
}

func (r *preemptRun) end(t *rapid.T, id scheduler.JobID) {
	if st := r.state(id); st != scheduler.StateRunning && st != scheduler.StateSuspended {
		return
	}
	if err := r.s.Apply(r.now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
		t.Fatal(err)
	}
	delete(r.by, id)
}

func (r *preemptRun) pass(t *rapid.T) {
	waits := map[scheduler.JobID]bool{}
	for _, by := range r.by {
		waits[by] = true
	}
	for _, d := range r.s.Pass(r.now, nil) {
		switch {
		case d.Op == scheduler.OpStart:
			if err := r.s.Apply(r.now, scheduler.Started(&d)); err != nil {
				t.Fatal(err)
			}
			continue
		case d.Op == scheduler.OpSuspend || d.Op == scheduler.OpResume:
			continue
		case d.For != 0:
			if by, told := r.by[d.Job]; told && (by != d.For || d.Op == scheduler.OpPreempt) {
				t.Fatalf("job %d was told to make room for %d and now for %d by %s", d.Job, by, d.For, d.Op)
			}
			if _, told := r.by[d.Job]; !told {
				if same := r.qos[d.For] == r.qos[d.Job]; !(same && r.within) && !slices.Contains(r.lists[r.qos[d.For]], r.qos[d.Job]) {
					t.Fatalf("%s job %d took %s job %d", r.qos[d.For], d.For, r.qos[d.Job], d.Job)
				}
				if r.best && r.took[[2]scheduler.JobID{d.Job, d.For}] {
					t.Fatalf("jobs %d and %d take each other's place", d.Job, d.For)
				}
				r.took[[2]scheduler.JobID{d.For, d.Job}] = true
				r.by[d.Job] = d.For
			}
		}
		if d.Op == scheduler.OpKill || d.Op == scheduler.OpRequeue {
			r.ending = append(r.ending, d.Job)
		}
	}
	r.books(t)
}

func TestPreemptLaws(t *testing.T) { rapid.Check(t, propPreempt) }

// Once its victims are gone a job runs, whoever comes meanwhile.
func TestStartAfterEviction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-2]", CoresPerSocket: 2}}}
		cfg.Parameters.Select.NoMemory = true
		cfg.Parameters.Preempt = scheduler.PreemptParameters{Type: "qos", Mode: "REQUEUE"}
		cfg.Parameters.Plan.Depth = int32(rapid.IntRange(0, 2).Draw(t, "depth"))
		cfg.QOS = []scheduler.QOSSpec{{Name: "low", GraceTime: time.Duration(rapid.IntRange(0, 1).Draw(t, "grace")) * 10 * time.Second}, {Name: "high", Preempt: []string{"low"}}}
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &preemptRun{s: s, qos: map[scheduler.JobID]string{}, lists: map[string][]string{"high": {"low"}}, best: true, by: map[scheduler.JobID]scheduler.JobID{}, took: map[[2]scheduler.JobID]bool{}}
		submit := func(q string, nodes int32, prio uint32) scheduler.JobID {
			r.next++
			r.qos[r.next] = q
			spec := scheduler.JobSpec{ID: r.next, QOS: []string{q}, MinNodes: nodes, Exclusive: scheduler.ExclusiveNode, Priority: prio, TimeLimit: time.Hour}
			if err := r.s.Apply(r.now, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
			return r.next
		}
		for range 3 {
			submit("low", 1, 5)
		}
		r.pass(t)
		me := submit("high", int32(rapid.IntRange(1, 3).Draw(t, "nodes")), 10)
		r.now = r.now.Add(time.Second)
		r.pass(t)
		if len(r.by) == 0 {
			t.Fatal("nobody makes room")
		}
		for range rapid.IntRange(0, 3).Draw(t, "rivals") {
			submit(rapid.SampledFrom([]string{"low", "high"}).Draw(t, "qos"), int32(rapid.IntRange(1, 3).Draw(t, "nodes")), uint32(rapid.IntRange(1, 20).Draw(t, "prio")))
			if rapid.Bool().Draw(t, "pass") {
				r.now = r.now.Add(time.Second)
				r.pass(t)
			}
		}
		r.now = r.now.Add(12 * time.Second)
		r.pass(t)
		for len(r.ending) > 0 && r.state(me) == scheduler.StatePending {
			mine := -1
			for i, id := range r.ending {
				if r.by[id] == me {
					mine = i
				}
			}
			if mine < 0 {
				break
			}
			r.end(t, r.ending[mine])
			r.ending = slices.Delete(r.ending, mine, mine+1)
			r.now = r.now.Add(time.Second)
			r.pass(t)
		}
		if st := r.state(me); st != scheduler.StateRunning {
			t.Fatalf("its victims are gone and job %d is %s", me, st)
		}
	})
}
