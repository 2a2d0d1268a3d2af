package scheduler

import (
	"testing"
	"time"
)

// TestNodesLeaveWithPlans takes a node away for which a job is planned: the plan
// goes, the job waits on.
func TestNodesLeaveWithPlans(t *testing.T) {
	e, err := newEngine(Config{Nodes: []NodeSpec{{Names: "a[0-1]", Sockets: 1, CoresPerSocket: 4}}, MaxNodes: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(now Time, ev Event) {
		t.Helper()
		if err := e.Apply(now, ev); err != nil {
			t.Fatal(err)
		}
	}
	apply(0, Event{Kind: EventNodeAdd, Node: &NodeSpec{Names: "b0", Sockets: 1, CoresPerSocket: 4}})
	for id := JobID(1); id <= 2; id++ {
		apply(0, Submit(&JobSpec{ID: id, MinNodes: int32(1 + id), Exclusive: ExclusiveNode, TimeLimit: time.Hour, TasksPerNode: 1}))
		e.Pass(0, nil)
	}
	beside := -1
	for id := range e.plans.all[:e.plans.n] {
		if x := &e.plans.all[id]; x.row >= 0 && len(x.grants) == 3 {
			beside = id
		}
	}
	if beside < 0 {
		t.Fatal("no plan on three nodes")
	}
	apply(Seconds(1), Event{Kind: EventNodeRemove, Nodes: "b0"})
	for id := range e.plans.all[:e.plans.n] {
		if x := &e.plans.all[id]; x.row >= 0 && len(x.grants) > 2 {
			t.Errorf("plan %+v is left", x)
		}
	}
	e.Pass(Seconds(1), nil)
}
