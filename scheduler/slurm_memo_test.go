package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSlurmMemo: what Slurm's planner remembers changes nothing: a scheduler that
// forgets it before every call decides the same, and shows the same plans.
func TestSlurmMemo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 12).Draw(t, "nodes")
		cfg := Config{
			Profile: ProfileSlurm,
			Nodes:   []NodeSpec{{Names: fmt.Sprintf("n[0-%d]", nodes-1), CoresPerSocket: 4}},
			Parameters: Parameters{
				Plan:   PlanParameters{Resolution: 10 * time.Second, Interval: 10 * time.Second},
				Select: SelectParameters{NoMemory: true},
			},
		}
		both := [2]Scheduler{}
		for i := range both {
			s, err := New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			both[i] = s
		}
		now, id := Time(0), JobID(0)
		var running []JobID
		apply := func(ev Event) {
			for _, s := range both {
				if err := s.Apply(now, ev); err != nil {
					t.Fatal(err)
				}
			}
		}
		shown := func(s Scheduler) string {
			var text strings.Builder
			s.View(func(v View) {
				for id := range v.Queue() {
					j, _ := v.Job(id)
					text.WriteString(fmt.Sprintf("%d %s %d %d;", id, j.Reason, j.Start, j.End))
				}
			})
			return text.String()
		}
		for range rapid.IntRange(5, 40).Draw(t, "calls") {
			switch rapid.IntRange(0, 5).Draw(t, "call") {
			case 0, 1:
				id++
				spec := JobSpec{ID: id, TimeLimit: time.Duration(rapid.IntRange(1, 9).Draw(t, "minutes")) * time.Minute}
				if rapid.Bool().Draw(t, "whole") {
					spec.MinNodes, spec.Exclusive = int32(rapid.IntRange(1, nodes).Draw(t, "nodes")), ExclusiveNode
				} else {
					spec.Tasks = int32(rapid.IntRange(1, 4*nodes).Draw(t, "tasks"))
				}
				apply(Submit(&spec))
			case 2:
				if len(running) > 0 {
					k := rapid.IntRange(0, len(running)-1).Draw(t, "job")
					apply(Ended(running[k], JobEnd{}))
					running = append(running[:k], running[k+1:]...)
				}
			case 3:
				state := NodeUp
				if rapid.Bool().Draw(t, "drain") {
					state = NodeDrain
				}
				apply(Event{Kind: EventNodeState, Nodes: fmt.Sprintf("n%d", rapid.IntRange(0, nodes-1).Draw(t, "node")), NodeState: state})
			default:
				now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			}
			both[1].(*engine).slurm.memo.valid = false
			first := both[0].Pass(now, nil)
			second := both[1].Pass(now, nil)
			if a, b := fmt.Sprint(first), fmt.Sprint(second); a != b {
				t.Fatalf("decisions\n%s\nwithout memory\n%s", a, b)
			}
			if a, b := shown(both[0]), shown(both[1]); a != b {
				t.Fatalf("queue\n%s\nwithout memory\n%s", a, b)
			}
			for i := range first {
				switch d := &first[i]; d.Op {
				case OpStart:
					running = append(running, d.Job)
				case OpKill:
					apply(Ended(d.Job, JobEnd{}))
					for k := range running {
						if running[k] == d.Job {
							running = append(running[:k], running[k+1:]...)
							break
						}
					}
				}
			}
		}
	})
}
