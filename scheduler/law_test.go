package scheduler_test

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/schedtest"
	"pgregory.net/rapid"
)

func newScheduler(cfg scheduler.Config) (scheduler.Scheduler, error) { return scheduler.New(cfg, nil) }

// TestLaws also counts how often the observing twin, which may say that it cannot
// judge, does judge: a good part of what happens, or the law would be empty. Over many
// worlds it misses a third of the starts and explains nine waits of ten; a hundred vary.
func TestLaws(t *testing.T) {
	n := schedtest.CheckLaws(t, newScheduler)
	t.Logf("of %d starts the twin would have missed %d, of %d waits it cannot explain %d", n.Starts, n.Missed, n.Waits, n.Waits-n.Explained)
	if n.Starts >= 50 && (5*n.Missed > 4*n.Starts || 3*n.Explained < n.Waits) {
		t.Errorf("the twin judges too little: %+v", n)
	}
}

func FuzzLaws(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { schedtest.Laws(t, newScheduler) }))
}

// propTwin compares the engine with the naive twin on equal nodes: whole nodes
// with plans, or parts of a node in strict order.
func propTwin(t *rapid.T) {
	n := &schedtest.Naive{
		Nodes: rapid.IntRange(1, 6).Draw(t, "nodes"), CPUs: rapid.IntRange(1, 4).Draw(t, "CPUs"),
		Depth: rapid.IntRange(0, 3).Draw(t, "depth"), Strict: rapid.Bool().Draw(t, "strict"),
	}
	if n.Strict {
		n.GPUs = rapid.IntRange(0, 3).Draw(t, "GPUs")
	}
	s, err := scheduler.New(twinConfig(n), nil)
	if err != nil {
		t.Fatal(err)
	}
	now, next := scheduler.Time(0), scheduler.JobID(0)
	run := map[scheduler.JobID]bool{}
	// The program passes after each end, so that no plan comes late.
	compare := func(t *rapid.T) {
		want := n.Pass(now)
		got := s.Pass(now, nil)
		if len(got) != len(want) {
			t.Fatalf("pass at %d: %d starts, the twin has %d (%v)", now, len(got), len(want), want)
		}
		for i := range got {
			if got[i].Job != want[i].Job || len(got[i].Nodes) != len(want[i].On) {
				t.Fatalf("start %d: job %d on %v, the twin says %v", i, got[i].Job, got[i].Nodes, want[i])
			}
			for k, name := range got[i].Nodes {
				if name != nodeName(want[i].On[k]) {
					t.Fatalf("start %d: job %d on %v, the twin says %v", i, got[i].Job, got[i].Nodes, want[i])
				}
			}
			run[got[i].Job] = true
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			next++
			j := schedtest.NaiveJob{ID: next, Submit: now, Limit: time.Duration(rapid.IntRange(1, 20).Draw(t, "limit")) * time.Second}
			spec := scheduler.JobSpec{ID: next, TimeLimit: j.Limit}
			if n.Strict && rapid.Bool().Draw(t, "part") {
				j.CPUs = rapid.IntRange(1, n.CPUs).Draw(t, "CPUs")
				spec.Tasks, spec.CPUsPerTask = 1, int32(j.CPUs)
				if n.GPUs > 0 {
					j.GPUs = rapid.IntRange(0, n.GPUs).Draw(t, "GPUs")
				}
				if j.GPUs > 0 {
					spec.GPUsPerNode = string(rune('0' + j.GPUs))
					spec.MinNodes = 1
				}
			} else {
				j.Nodes = rapid.IntRange(1, n.Nodes).Draw(t, "nodes")
				spec.MinNodes, spec.Exclusive = int32(j.Nodes), scheduler.ExclusiveNode
			}
			if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
				t.Fatal(err)
			}
			n.Submit(j)
		},
		"end": func(t *rapid.T) {
			if len(run) == 0 {
				return
			}
			id := scheduler.JobID(0)
			for x := range run {
				if id == 0 || x < id {
					id = x
				}
			}
			if err := s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
			n.End(id)
			delete(run, id)
			compare(t)
		},
		"pass": func(t *rapid.T) {
			target := now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
			for now = nextEnd(s, run, now, target); ; now = nextEnd(s, run, now+1, target) {
				for id := scheduler.JobID(1); id <= next; id++ {
					if run[id] && endOf(s, id) <= now {
						if err := s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
							t.Fatal(err)
						}
						n.End(id)
						delete(run, id)
					}
				}
				compare(t)
				if now == target {
					return
				}
			}
		},
	})
}

// nextEnd is the first instant from now on at which a running job is at its
// limit, at most target.
func nextEnd(s scheduler.Scheduler, run map[scheduler.JobID]bool, now, target scheduler.Time) scheduler.Time {
	at := target
	for id := range run {
		at = min(at, max(endOf(s, id), now))
	}
	return at
}

func nodeName(i int) string { return "n" + string(rune('0'+i)) }

func endOf(s scheduler.Scheduler, id scheduler.JobID) (end scheduler.Time) {
	s.View(func(v scheduler.View) {
		j, _ := v.Job(id)
		end = j.End
	})
	return end
}

func twinConfig(n *schedtest.Naive) scheduler.Config {
	c := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n[0-" + string(rune('0'+n.Nodes-1)) + "]", CoresPerSocket: int32(n.CPUs)}}}
	if n.GPUs > 0 {
		c.Nodes[0].GRES = "gpu:" + string(rune('0'+n.GPUs))
	}
	c.Parameters.Select = scheduler.SelectParameters{NoMemory: true, Flags: []string{"CR_LLN"}}
	c.Parameters.Plan.Depth, c.Parameters.Plan.Fill = int32(n.Depth), scheduler.FillRank // the twin keeps to the order of the queue
	if n.Strict {
		c.Parameters.Plan.Mode = scheduler.PlanNone
	}
	return c
}

func TestEngineAgreesWithNaiveTwin(t *testing.T) { rapid.Check(t, propTwin) }
