package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJobsShareWhatTheyAsk keeps one copy for jobs that ask the same, forks
// and a restored scheduler; each shows its own specification.
func TestJobsShareWhatTheyAsk(t *testing.T) {
	e, err := newEngine(Config{Nodes: []NodeSpec{{Names: "n[0-2]", Sockets: 2, CoresPerSocket: 2}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[JobID]JobSpec{}
	for id := JobID(1); id <= 12; id++ {
		spec := JobSpec{
			ID: id, Name: fmt.Sprint("j", id), User: fmt.Sprint("u", id%3), Account: fmt.Sprint("a", id%2), TimeLimit: time.Hour * time.Duration(1+id%2), MinNodes: 1,
			Deadline: Seconds(1e6 + int64(id)), Comment: fmt.Sprint("c", id), Dependency: fmt.Sprint("afterany:", id-1), Constraint: "",
		}
		if id == 1 {
			spec.Dependency, spec.Comment = "", ""
		}
		want[id] = cloneSpec(&spec)
		if err := e.Apply(0, Submit(&spec)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := e.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := restore(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*engine{e, e.fork(), restored} {
		asks := map[*JobSpec]bool{}
		for r := range x.jobs.rows {
			j := &x.jobs.rows[r]
			asks[j.spec] = true
			if diff := cmp.Diff(want[j.id], j.asked()); diff != "" {
				t.Errorf("job %d: mismatch (-want +got)\n%s", j.id, diff)
			}
		}
		if len(asks) != 2 {
			t.Errorf("%d copies of what is asked in 2 ways", len(asks))
		}
	}
}
