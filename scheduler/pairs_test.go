package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
)

// pairCluster has two partitions over four nodes with one CPU each; q counts
// four times as much.
func pairCluster(t *testing.T, flags string) scheduler.Scheduler {
	t.Helper()
	ten, forty := uint16(10), uint16(40)
	cfg := scheduler.Config{
		Profile: scheduler.ProfileSlurm,
		Nodes:   []scheduler.NodeSpec{{Names: "n[0-3]", Sockets: 1, CoresPerSocket: 1}},
		Partitions: []scheduler.PartitionSpec{
			{Name: "p", Nodes: "ALL", Default: true, JobFactor: &ten}, {Name: "q", Nodes: "n[0-1]", JobFactor: &forty},
		},
		Parameters: scheduler.Parameters{Priority: scheduler.PriorityParameters{
			Partition: 1000, Age: 600, MaxAge: 10 * time.Minute, CalcPeriod: time.Minute, Flags: flags, TRES: "cpu=100",
		}},
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Pass(0, nil)
	return s
}

func submitPairs(t *testing.T, s scheduler.Scheduler, now scheduler.Time, spec scheduler.JobSpec) {
	t.Helper()
	if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
		t.Fatal(err)
	}
}

func priorities(s scheduler.Scheduler, id scheduler.JobID) (list []uint32, terms []priority.PriorityLine) {
	s.View(func(v scheduler.View) { terms = v.AppendPriority(nil, id) })
	for i := range terms {
		list = append(list, terms[i].Priority)
	}
	return list, terms
}

func headline(s scheduler.Scheduler, id scheduler.JobID) (p uint32) {
	s.View(func(v scheduler.View) {
		j, _ := v.Job(id)
		p = j.Priority
	})
	return p
}

// TestPairPriority: a job of several partitions has a priority in each of them,
// from that partition's factor and totals, and is tried by it (spec: priority
// 1.10).
func TestPairPriority(t *testing.T) {
	s := pairCluster(t, "")
	wide := scheduler.JobSpec{MinNodes: 2, Tasks: 2, TimeLimit: time.Hour}
	for id := scheduler.JobID(1); id <= 3; id++ { // p and q are full but for n3
		spec := scheduler.JobSpec{ID: id, Tasks: 1, TimeLimit: time.Hour}
		submitPairs(t, s, 0, spec)
	}
	if n := len(s.Pass(0, nil)); n != 3 {
		t.Fatalf("%d jobs start, want 3", n)
	}
	both, q := wide, wide
	both.ID, both.Partitions = 10, []string{"p", "q"}
	q.ID, q.Partitions, q.Nice = 11, []string{"q"}, 1
	submitPairs(t, s, 0, both)
	submitPairs(t, s, 0, q)
	// p: 250 + 100·2/4; q: 1000 + 100·2/2.
	if got, _ := priorities(s, 10); !slices.Equal(got, []uint32{300, 1100}) || headline(s, 10) != 300 {
		t.Errorf("priorities of two partitions %v, headline %d", got, headline(s, 10))
	}
	if got, _ := priorities(s, 11); !slices.Equal(got, []uint32{1099}) {
		t.Errorf("priorities of one partition %v", got)
	}
	now := scheduler.Seconds(300)
	s.Pass(now, nil) // age 5 of 10 minutes
	if got, _ := priorities(s, 10); !slices.Equal(got, []uint32{600, 1400}) {
		t.Errorf("priorities after five minutes %v", got)
	}
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := scheduler.Restore(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := priorities(r, 10); !slices.Equal(got, []uint32{600, 1400}) {
		t.Errorf("priorities of the restored %v", got)
	}
	// Both nodes of q are free: the pair in q goes first, though the job's
	// headline is below that of job 11.
	for id := scheduler.JobID(1); id <= 3; id++ {
		if err := s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
	}
	if d := s.Pass(now, nil); len(d) == 0 || d[0].Job != 10 || d[0].Partition != "q" {
		t.Errorf("decisions %+v, want job 10 in q first", d)
	}
}

// TestFixedPriority: what an operator sets stays until the job is released; a
// held job is not computed.
func TestFixedPriority(t *testing.T) {
	s := pairCluster(t, "")
	submitPairs(t, s, 0, scheduler.JobSpec{ID: 1, Tasks: 1, MinNodes: 1, Partitions: []string{"p", "q"}, SiteFactor: 7, Nice: 3, TimeLimit: time.Hour})
	if got, l := priorities(s, 1); !slices.Equal(got, []uint32{279, 1054}) || l[0].Site != 7 || l[0].Nice != 3 || l[0].Breakdown.Partition.Points != 250 {
		t.Errorf("priorities %v, %+v", got, l)
	}
	nine, zero := uint32(999), uint32(0)
	update := func(p *uint32) {
		t.Helper()
		ev := scheduler.Event{Kind: scheduler.EventJobUpdate, Job: 1, ByAdmin: true, Update: &scheduler.JobUpdate{Priority: p}}
		if err := s.Apply(0, ev); err != nil {
			t.Fatal(err)
		}
	}
	update(&nine)
	if got, l := priorities(s, 1); !slices.Equal(got, []uint32{999, 999}) || l[0].Standing != priority.Fixed {
		t.Errorf("set priorities %v, %v", got, l[0].Standing)
	}
	update(&zero)
	if got, l := priorities(s, 1); !slices.Equal(got, []uint32{0, 0}) || l[0].Standing != priority.Held {
		t.Errorf("held priorities %v, %v", got, l[0].Standing)
	}
	update(&nine)
	if err := s.Apply(0, scheduler.Release(1)); err != nil {
		t.Fatal(err)
	}
	if got, _ := priorities(s, 1); !slices.Equal(got, []uint32{279, 1054}) {
		t.Errorf("released priorities %v", got)
	}
}

// TestIncrOnly: a computation never lowers a priority, in no pair.
func TestIncrOnly(t *testing.T) {
	s := pairCluster(t, "INCR_ONLY")
	submitPairs(t, s, 0, scheduler.JobSpec{ID: 1, Tasks: 1, MinNodes: 1, Partitions: []string{"p", "q"}, TimeLimit: time.Hour})
	was, _ := priorities(s, 1)
	nice := int64(200)
	ev := scheduler.Event{Kind: scheduler.EventJobUpdate, Job: 1, Update: &scheduler.JobUpdate{Nice: &nice}}
	if err := s.Apply(0, ev); err != nil {
		t.Fatal(err)
	}
	if got, _ := priorities(s, 1); !slices.Equal(got, was) {
		t.Errorf("priorities %v fell from %v", got, was)
	}
}

// TestCalculateRunning: with the flag the priority of a running job moves on,
// without it it stays.
func TestCalculateRunning(t *testing.T) {
	for flags, want := range map[string]uint32{"": 275, "CALCULATE_RUNNING": 875} {
		s := pairCluster(t, flags)
		submitPairs(t, s, 0, scheduler.JobSpec{ID: 1, Tasks: 1, MinNodes: 1, Partitions: []string{"p"}, TimeLimit: time.Hour})
		s.Pass(0, nil)
		s.Pass(scheduler.Seconds(1200), nil)
		if got := headline(s, 1); got != want {
			t.Errorf("flags %q: priority %d, want %d", flags, got, want)
		}
	}
}
