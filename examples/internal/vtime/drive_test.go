package vtime

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/examples/internal/vtime/vtimetest"
	"github.com/berth-sched/berth/scheduler"
)

func nodes(n int, cpus, gpus int64) []outcome.Node {
	var dst []outcome.Node
	for i := range n {
		dst = append(dst, outcome.Node{Name: fmt.Sprintf("n%03d", i), MilliCPU: cpus * 1000, GPUs: gpus})
	}
	return dst
}

// job asks for gpus on each of n nodes.
func job(id int, submit, run, limit int64, n int32, gpus int) Job {
	return Job{Name: strconv.Itoa(id), Where: "test:" + strconv.Itoa(id), Submit: scheduler.Seconds(submit), Runtime: time.Duration(run) * time.Second,
		Spec: scheduler.JobSpec{ID: scheduler.JobID(id), MinNodes: n, GPUsPerNode: strconv.Itoa(gpus), TimeLimit: time.Duration(limit) * time.Second}}
}

func TestDrive(t *testing.T) {
	f := vtimetest.New(2, 4, 2)
	f.Preempt = 3
	jobs := []Job{
		job(1, 0, 10, 60, 2, 2),  // whole cluster
		job(2, 1, 100, 5, 1, 1),  // waits for 1, runs into its limit
		job(3, 2, 20, 60, 1, 1),  // waits behind 2, preempted after a second
		job(4, 30, 0, 60, 1, 2),  // takes no time
		job(5, 30, 30, 60, 2, 2), // waits for 3 to end
	}
	jobs[1].Runtime = scheduler.Infinite
	r, err := Drive(Input{Scheduler: f, Jobs: jobs, Nodes: nodes(2, 4, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if err := outcome.Check(r); err != nil {
		t.Error(err)
	}
	var got []string
	for _, j := range r.Jobs {
		var s strings.Builder
		s.WriteString(j.Name + " " + j.State)
		for _, st := range j.Stays {
			s.WriteString(fmt.Sprintf(" %d-%d", st.Start/outcome.Second, st.End/outcome.Second))
		}
		for _, w := range j.Waits {
			s.WriteString(fmt.Sprintf(" %s=%d", w.Reason, w.Time/outcome.Second))
		}
		got = append(got, s.String())
	}
	want := []string{
		"1 COMPLETED 0-10",
		"2 TIMEOUT 10-15 Resources=9",
		"3 COMPLETED 10-11 11-31 Priority=8",
		"4 COMPLETED 30-30",
		"5 COMPLETED 31-61 Resources=1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Drive gives\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDriveRefused(t *testing.T) {
	jobs := []Job{job(1, 0, 10, 60, 1, 1), job(2, 0, 10, 60, 3, 1)}
	in := Input{Scheduler: vtimetest.New(2, 4, 2), Jobs: jobs, Nodes: nodes(2, 4, 2)}
	_, err := Drive(in)
	if e, ok := errors.AsType[*RefusedError](err); !ok || e.Job.Name != "2" || !errors.Is(err, scheduler.ErrNeverRuns) {
		t.Errorf("Drive = %v, want job 2 refused", err)
	}
	in.Scheduler, in.LeaveOut = vtimetest.New(2, 4, 2), true
	r, err := Drive(in)
	if err != nil || len(r.Jobs) != 1 || !slices.Equal(r.Notes, []string{"1 jobs that this cluster can never run were left out."}) {
		t.Errorf("Drive = %+v, %v", r, err)
	}
}

// never is a scheduler that starts nothing.
type never struct{ *vtimetest.FIFO }

func (never) Pass(_ scheduler.Time, dst []scheduler.Decision) []scheduler.Decision { return dst }

func TestDriveStuck(t *testing.T) {
	_, err := Drive(Input{Scheduler: never{vtimetest.New(1, 4, 2)}, Jobs: []Job{job(1, 0, 1, 1, 1, 1), job(2, 5, 1, 1, 1, 1)}, Nodes: nodes(1, 4, 2)})
	if want := "test:1: job 1 waits for ever: Resources (and 1 more)"; err == nil || err.Error() != want {
		t.Errorf("Drive = %v, want %s", err, want)
	}
}

// TestDriveSeesDoubleUse: a scheduler that gives a GPU twice is found out.
func TestDriveSeesDoubleUse(t *testing.T) {
	f := vtimetest.New(1, 4, 2)
	f.Sabotage = true
	r, err := Drive(Input{Scheduler: f, Jobs: []Job{job(1, 0, 10, 60, 1, 2), job(2, 1, 10, 60, 1, 2)}, Nodes: nodes(1, 4, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if err := outcome.Check(r); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("Check = %v, want a GPU given twice", err)
	}
}

func TestDriveKeepsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		gpus := rapid.IntRange(0, 4).Draw(t, "gpus")
		var jobs []Job
		at := int64(0)
		for i := range rapid.IntRange(1, 20).Draw(t, "jobs") {
			at += rapid.Int64Range(0, 5).Draw(t, "gap")
			j := job(i+1, at, rapid.Int64Range(0, 10).Draw(t, "run"), rapid.Int64Range(1, 10).Draw(t, "limit"),
				int32(rapid.IntRange(1, n).Draw(t, "want")), rapid.IntRange(0, gpus).Draw(t, "each"))
			jobs = append(jobs, j)
		}
		drive := func() *outcome.Run {
			f := vtimetest.New(n, 4, int64(gpus))
			f.Preempt = scheduler.JobID(rapid.IntRange(0, 3).Draw(t, "preempt"))
			r, err := Drive(Input{Scheduler: f, Jobs: jobs, Nodes: nodes(n, 4, int64(gpus))})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := drive()
		if err := outcome.Check(r); err != nil {
			t.Fatal(err)
		}
		if len(r.Jobs) != len(jobs) {
			t.Fatalf("%d jobs of %d", len(r.Jobs), len(jobs))
		}
	})
}

func TestHeapSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) end {
			return end{at: scheduler.Time(rapid.IntRange(0, 9).Draw(t, "at")), job: int32(rapid.IntRange(0, 9).Draw(t, "job"))}
		})).Draw(t, "ends")
		var h heap
		for _, e := range list {
			h.push(e)
		}
		var last end
		for i := range list {
			e := h.pop()
			if i > 0 && e.before(last) {
				t.Fatalf("pop gives %v after %v", e, last)
			}
			last = e
		}
		if len(h) != 0 {
			t.Fatal("heap is not empty")
		}
	})
}
