package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// slurmCluster is a small cluster with Slurm's planning at every second.
func slurmCluster(nodes int, steps int64) scheduler.Config {
	return scheduler.Config{
		Profile: scheduler.ProfileSlurm,
		Nodes:   []scheduler.NodeSpec{{Names: fmt.Sprintf("n[0-%d]", nodes-1), CoresPerSocket: 4}},
		Parameters: scheduler.Parameters{
			Plan:   scheduler.PlanParameters{Resolution: time.Second, Interval: time.Second, MaxSteps: steps},
			Select: scheduler.SelectParameters{NoMemory: true},
		},
	}
}

// drawSlurmJob draws whole-node jobs, parts of nodes, and least times.
func drawSlurmJob(t *rapid.T, id scheduler.JobID, nodes int) scheduler.JobSpec {
	j := scheduler.JobSpec{ID: id, TimeLimit: time.Duration(rapid.IntRange(1, 8).Draw(t, "minutes")) * time.Minute}
	if rapid.Bool().Draw(t, "whole") {
		j.MinNodes, j.Exclusive = int32(rapid.IntRange(1, nodes).Draw(t, "nodes")), scheduler.ExclusiveNode
	} else {
		j.Tasks = int32(rapid.IntRange(1, 4*nodes).Draw(t, "tasks"))
	}
	if rapid.IntRange(0, 3).Draw(t, "flexible") == 0 {
		j.TimeMin = time.Minute
	}
	return j
}

// slurmStarts is when each of the first jobs starts or is planned to, and where it
// stands, after passes at now.
func slurmStarts(t *rapid.T, cfg scheduler.Config, running, waiting []scheduler.JobSpec, first int) []string {
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(now scheduler.Time, list []scheduler.JobSpec) {
		for i := range list {
			if err := s.Apply(now, scheduler.Submit(&list[i])); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(now, nil)
	}
	submit(0, running)
	submit(scheduler.Seconds(7), waiting)
	var out []string
	s.View(func(v scheduler.View) {
		for i := range waiting[:first] {
			j, _ := v.Job(waiting[i].ID)
			out = append(out, fmt.Sprintf("job %d: %s, start %d, planned %v, limit %v", j.ID, j.State, j.Start, j.Planned, j.Limit))
		}
	})
	return out
}

// propNeverDelayed: within a pass the start of a job is what it would be if none
// of lower rank were there.
func propNeverDelayed(t *rapid.T) {
	nodes := rapid.IntRange(1, 5).Draw(t, "cluster")
	cfg := slurmCluster(nodes, 0)
	var lists [2][]scheduler.JobSpec
	id := scheduler.JobID(0)
	for k := range lists {
		for range rapid.IntRange(1, 6).Draw(t, "jobs") {
			id++
			lists[k] = append(lists[k], drawSlurmJob(t, id, nodes))
		}
	}
	running, waiting := lists[0], lists[1]
	first := rapid.IntRange(1, len(waiting)).Draw(t, "first")
	all := slurmStarts(t, cfg, running, waiting, first)
	alone := slurmStarts(t, cfg, running, waiting[:first], first)
	for i := range all {
		if all[i] != alone[i] {
			t.Fatalf("with lower jobs: %s; without: %s", all[i], alone[i])
		}
	}
}

func TestHigherPriorityNeverDelayedByBackfill(t *testing.T) { rapid.Check(t, propNeverDelayed) }

func FuzzHigherPriorityNeverDelayedByBackfill(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(propNeverDelayed))
}

// propSlurmRestored: a scheduler that is restored before each call decides as
// the original, in the middle of a planning pass too.
func propSlurmRestored(t *rapid.T) {
	nodes := rapid.IntRange(1, 5).Draw(t, "cluster")
	s, err := scheduler.New(slurmCluster(nodes, int64(rapid.IntRange(0, 40).Draw(t, "steps"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	now, id := scheduler.Time(0), scheduler.JobID(0)
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			id++
			j := drawSlurmJob(t, id, nodes)
			if err := s.Apply(now, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		},
		"end": func(t *rapid.T) {
			if id == 0 {
				return
			}
			_ = s.Apply(now, scheduler.Ended(scheduler.JobID(rapid.IntRange(1, int(id)).Draw(t, "job")), scheduler.JobEnd{}))
		},
		"pass": func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			b, err := s.AppendSnapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			twin, err := scheduler.Restore(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, want := fmt.Sprint(twin.Pass(now, nil)), fmt.Sprint(s.Pass(now, nil))
			if got != want {
				t.Fatalf("restored: %s\noriginal: %s", got, want)
			}
		},
	})
}

func TestSlurmPlanningSurvivesRestore(t *testing.T) { rapid.Check(t, propSlurmRestored) }

// TestSlurmPlanSteps counts node tests of a planning pass at two sizes: they rise
// with the nodes, and with the jobs no faster than their square, since each may
// meet every plan before it.
func TestSlurmPlanSteps(t *testing.T) {
	steps := func(nodes, jobs int) int64 {
		cfg := slurmCluster(nodes, 0)
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for id := range scheduler.JobID(nodes / 2) {
			j := scheduler.JobSpec{ID: id + 1, MinNodes: 2, Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Duration(10+id%7*10) * time.Minute}
			if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(0, nil)
		for id := range scheduler.JobID(jobs) {
			j := scheduler.JobSpec{ID: id + 1000, MinNodes: int32(1 + id%5), Exclusive: scheduler.ExclusiveNode, TimeLimit: time.Duration(5+id%11*5) * time.Minute}
			if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(scheduler.Seconds(1), nil)
		return scheduler.SlurmSteps(s)
	}
	base := steps(64, 50)
	if got := steps(128, 50); got > 3*base {
		t.Errorf("128 nodes: %d steps, 64 nodes: %d; want at most three times", got, base)
	}
	if got := steps(64, 100); got > 5*base {
		t.Errorf("100 jobs: %d steps, 50 jobs: %d; want at most five times", got, base)
	}
}
