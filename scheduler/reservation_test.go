package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// resvCluster is setup L of the specification: 8 nodes of 4 CPUs, partition main
// on all, half on the first four.
func resvCluster(t *testing.T) scheduler.Scheduler {
	t.Helper()
	s, err := scheduler.New(scheduler.Config{
		Profile:    scheduler.ProfileSlurm,
		Nodes:      []scheduler.NodeSpec{{Names: "p[0-7]", Sockets: 1, CoresPerSocket: 4}},
		Partitions: []scheduler.PartitionSpec{{Name: "main", Nodes: "ALL", Default: true}, {Name: "half", Nodes: "p[0-3]"}},
		Parameters: scheduler.Parameters{Plan: scheduler.PlanParameters{Interval: time.Second}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reserve(s scheduler.Scheduler, now scheduler.Time, r scheduler.ReservationSpec) error {
	return s.Apply(now, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &r})
}

// TestReservationRules checks what creation refuses (spec: reservations 2).
func TestReservationRules(t *testing.T) {
	now := scheduler.Seconds(1_790_000_040)
	hour := now.Add(time.Hour)
	mail := []string{"mail"}
	for _, c := range []struct {
		name string
		r    scheduler.ReservationSpec
		want error
	}{
		{"no list", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p0"}, scheduler.ErrSpec},
		{"both", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p0", Users: mail, Groups: mail}, scheduler.ErrSpec},
		{"allow and deny", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p0", Users: []string{"mail", "-games"}}, scheduler.ErrSpec},
		{"two hours ago", scheduler.ReservationSpec{Start: now.Add(-2 * time.Hour), Duration: 3 * time.Hour, Nodes: "p0", Users: mail}, scheduler.ErrReservationTime},
		{"five minutes ago", scheduler.ReservationSpec{Start: now.Add(-5 * time.Minute), Duration: time.Hour, Nodes: "p0", Users: mail}, nil},
		{"no end", scheduler.ReservationSpec{Start: hour, Nodes: "p0", Users: mail}, scheduler.ErrSpec},
		{"end before start", scheduler.ReservationSpec{Start: hour, End: now, Nodes: "p0", Users: mail}, scheduler.ErrReservationTime},
		{"replace by name", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p3", Users: mail, Flags: []string{"REPLACE"}}, scheduler.ErrUnknownNode},
		{"replace static", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, NodeCount: 1, Users: mail, Flags: []string{"REPLACE", "STATIC_ALLOC"}}, scheduler.ErrReservationFlags},
		{"two recurrences", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, NodeCount: 1, Users: mail, Flags: []string{"DAILY", "WEEKLY"}}, scheduler.ErrReservationFlags},
		{"float", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, NodeCount: 1, Users: mail, Flags: []string{"TIME_FLOAT", "DAILY"}}, scheduler.ErrReservationFlags},
		{"too many", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, NodeCount: 99, Users: mail}, scheduler.ErrReservationBusy},
		{"part nodes", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p0", Users: mail, Flags: []string{"PART_NODES"}}, scheduler.ErrSpec},
		{"licences alone", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Licenses: "matlab:2", Users: mail}, scheduler.ErrUnknownNode},
		{"removed flag", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "p0", Users: mail, Flags: []string{"FIRST_CORES"}}, scheduler.ErrSpec},
		{"maintenance", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, Nodes: "ALL", Users: mail, Flags: []string{"MAINT"}}, nil},
		{"three cores", scheduler.ReservationSpec{Start: hour, Duration: time.Hour, CoreCount: []int32{3}, Users: mail}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := reserve(resvCluster(t), now, c.r); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestReservationOverlap checks which reservations may share nodes and time.
func TestReservationOverlap(t *testing.T) {
	now := scheduler.Seconds(1_790_000_040)
	s := resvCluster(t)
	at := func(hours int, nodes string, flags ...string) error {
		return reserve(s, now, scheduler.ReservationSpec{
			Start: now.Add(time.Duration(hours) * time.Hour), Duration: time.Hour, Nodes: nodes, Users: []string{"mail"}, Flags: flags,
		})
	}
	for _, c := range []struct {
		err  error
		want error
	}{
		{at(1, "p[0-3]"), nil}, {at(1, "p[2-5]"), scheduler.ErrReservationOverlap}, {at(1, "p[2-5]", "OVERLAP"), nil},
		{at(2, "p[0-3]"), nil}, {at(1, "p[0-3]", "MAINT"), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("got %v, want %v", c.err, c.want)
		}
	}
}

// TestReservationJobs follows jobs inside and outside a reservation through its
// life, through a snapshot too.
func TestReservationJobs(t *testing.T) {
	now := scheduler.Seconds(1_790_000_040)
	s := resvCluster(t)
	start := now.Add(10 * time.Minute)
	if err := reserve(s, now, scheduler.ReservationSpec{Name: "r", Start: start, Duration: 30 * time.Minute, Nodes: "p[0-1]", Users: []string{"mail"}}); err != nil {
		t.Fatal(err)
	}
	submit := func(id scheduler.JobID, user string, nodes int32, limit time.Duration, resv ...string) error {
		return s.Apply(now, scheduler.Submit(&scheduler.JobSpec{
			ID: id, User: user, MinNodes: nodes, Exclusive: scheduler.ExclusiveNode, TimeLimit: limit, Reservations: resv,
		}))
	}
	if err := submit(1, "games", 1, time.Hour, "r"); !errors.Is(err, scheduler.ErrReservationAccess) {
		t.Errorf("a stranger: %v", err)
	}
	if err := submit(1, "mail", 1, time.Hour, "none"); !errors.Is(err, scheduler.ErrReservationInvalid) {
		t.Errorf("unknown: %v", err)
	}
	for _, err := range []error{submit(1, "mail", 2, time.Hour, "r"), submit(2, "games", 6, time.Hour), submit(3, "games", 2, 5*time.Minute)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Apply(now, scheduler.Event{Kind: scheduler.EventReservation, Reservation: &scheduler.ReservationSpec{Name: "r"}, Remove: true}); !errors.Is(err, scheduler.ErrReservationBusy) {
		t.Errorf("removed while a job asks for it: %v", err)
	}
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = scheduler.Restore(b, nil); err != nil {
		t.Fatal(err)
	}
	dec := s.Pass(now, nil)
	if len(dec) != 2 || dec[0].Job != 2 || dec[0].Nodes[0] != "p2" || dec[1].Job != 3 || dec[1].Nodes[0] != "p0" {
		t.Fatalf("first pass: %+v", dec)
	}
	reason(t, s, 1, scheduler.ReasonReservation)
	if at, ok := s.Wake(); !ok || at > start {
		t.Errorf("wakes at %d, the reservation begins at %d", at, start)
	}
	now = now.Add(5 * time.Minute)
	for _, d := range s.Pass(now, nil) {
		if err := s.Apply(now, scheduler.Ended(d.Job, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
	}
	now = start
	dec = s.Pass(now, nil)
	if len(dec) != 1 || dec[0].Job != 1 || dec[0].Nodes[0] != "p0" {
		t.Fatalf("at its start: %+v", dec)
	}
	if err := submit(4, "mail", 1, time.Hour, "r"); err != nil {
		t.Fatal(err)
	}
	now = start.Add(30 * time.Minute)
	dec = s.Pass(now, nil)
	if len(dec) != 1 || dec[0].Job != 1 || dec[0].Op != scheduler.OpKill {
		t.Fatalf("at its end: %+v", dec)
	}
	if err := s.Apply(now, scheduler.Ended(1, scheduler.JobEnd{})); err != nil {
		t.Fatal(err)
	}
	s.Pass(now.Add(time.Second), nil)
	reason(t, s, 4, scheduler.ReasonReservationDeleted)
}

func reason(t *testing.T, s scheduler.Scheduler, id scheduler.JobID, want scheduler.Reason) {
	t.Helper()
	s.View(func(v scheduler.View) {
		if j, ok := v.Job(id); !ok || j.Reason != want {
			t.Errorf("job %d: reason %s, want %s", id, j.Reason, want)
		}
	})
}
