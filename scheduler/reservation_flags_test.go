package scheduler_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// TestReservationFlags follows a reservation with each flag through its making,
// a change of the flag, its start, and its end (spec: reservations 3).
func TestReservationFlags(t *testing.T) {
	const in = 10 * time.Minute
	type life struct {
		flag      string
		make      error // of one by count
		takeOff   error // of the flag
		outsider  bool  // a long job of another user starts now on all nodes
		member    bool  // a job of the reservation starts before its start
		magnet    bool  // a job that names none starts in it
		early     bool  // its job may name it at all
		leftOver  bool  // it is still there after its end
		heldAfter bool  // a job that waits for it is held after its end
	}
	for _, c := range []life{
		{flag: "", early: true, heldAfter: true},
		{flag: "MAINT", early: true, heldAfter: true},
		{flag: "OVERLAP", takeOff: scheduler.ErrReservationFlags, early: true, heldAfter: true},
		{flag: "IGNORE_JOBS", early: true, heldAfter: true},
		{flag: "HOURLY", early: true, leftOver: true},
		{flag: "DAILY", early: true, leftOver: true},
		{flag: "WEEKLY", early: true, leftOver: true},
		{flag: "WEEKDAY", early: true, leftOver: true},
		{flag: "WEEKEND", early: true, leftOver: true},
		{flag: "FORCE_START", early: true, heldAfter: true},
		{flag: "FLEX", early: true, member: true},
		{flag: "MAGNETIC", early: true, magnet: true, heldAfter: true},
		{flag: "ANY_NODES", make: scheduler.ErrSpec},
		{flag: "PART_NODES", make: scheduler.ErrSpec},
		{flag: "REPLACE", takeOff: scheduler.ErrReservationFlags, early: true, heldAfter: true},
		{flag: "REPLACE_DOWN", takeOff: scheduler.ErrReservationFlags, early: true, heldAfter: true},
		{flag: "STATIC_ALLOC", early: true, heldAfter: true},
		{flag: "TIME_FLOAT", takeOff: scheduler.ErrReservationFlags, leftOver: true},
		{flag: "NO_HOLD_JOBS_AFTER", takeOff: scheduler.ErrReservationFlags, early: true},
		{flag: "PURGE_COMP", early: true, heldAfter: true},
		{flag: "USER_DELETE", early: true, heldAfter: true},
	} {
		t.Run(c.flag, func(t *testing.T) {
			now := scheduler.Seconds(1_790_000_040)
			s := resvCluster(t)
			x := scheduler.ReservationSpec{Name: "r", Users: []string{"mail"}, Start: now.Add(in), Duration: 20 * time.Minute, NodeCount: 2}
			if c.flag != "" {
				x.Flags = []string{c.flag}
			}
			if err := reserve(s, now, x); !errors.Is(err, c.make) {
				t.Fatalf("made: %v, want %v", err, c.make)
			}
			if c.make != nil {
				return
			}
			u := scheduler.ReservationUpdate{Name: "r", Flags: &scheduler.ListChange{Op: "-", Names: x.Flags}}
			other := resvCluster(t)
			if err := reserve(other, now, x); err != nil {
				t.Fatal(err)
			}
			if err := other.Apply(now, scheduler.Event{Kind: scheduler.EventReservation, ReservationUpdate: &u}); !errors.Is(err, c.takeOff) {
				t.Errorf("flag taken off: %v, want %v", err, c.takeOff)
			}
			submit := func(id scheduler.JobID, user string, limit time.Duration, nodes int32, resv ...string) error {
				return s.Apply(now, scheduler.Submit(&scheduler.JobSpec{
					ID: id, User: user, MinNodes: nodes, Exclusive: scheduler.ExclusiveNode, TimeLimit: limit, Reservations: resv,
				}))
			}
			if err := submit(1, "mail", time.Minute, 1, "r"); (err == nil) != c.early {
				t.Errorf("a member: %v", err)
			}
			if err := submit(2, "games", time.Hour, 8); err != nil {
				t.Fatal(err)
			}
			ran := started(s.Pass(now, nil))
			if slices.Contains(ran, 1) != c.member || slices.Contains(ran, 2) != c.outsider {
				t.Errorf("before its start %v start", ran)
			}
			_ = s.Apply(now, scheduler.Cancel(2))
			now = now.Add(in)
			if err := submit(3, "mail", time.Minute, 1); err != nil {
				t.Fatal(err)
			}
			in3 := ""
			for _, d := range s.Pass(now, nil) {
				if d.Job == 3 {
					in3 = d.Reservation
				}
			}
			if (in3 == "r") != c.magnet {
				t.Errorf("a job that names none starts in %q", in3)
			}
			for id := range scheduler.JobID(4) {
				_ = s.Apply(now, scheduler.Ended(id, scheduler.JobEnd{}))
			}
			waiter := c.early && submit(4, "mail", time.Hour, 2, "r") == nil && submit(5, "mail", time.Hour, 2, "r") == nil
			s.Pass(now, nil)
			now = now.Add(20 * time.Minute)
			for range 3 {
				for _, d := range s.Pass(now, nil) {
					if d.Op == scheduler.OpKill {
						_ = s.Apply(now, scheduler.Ended(d.Job, scheduler.JobEnd{}))
					}
				}
				now = now.Add(time.Second)
			}
			s.View(func(v scheduler.View) {
				left := slices.Collect(v.Reservations())
				if c.flag != "FLEX" && (len(left) > 0) != c.leftOver {
					t.Errorf("after its end: %+v", left)
				}
				if j, _ := v.Job(5); waiter && c.flag != "FLEX" && (j.Reason == scheduler.ReasonReservationDeleted) != c.heldAfter {
					t.Errorf("the job that waited for it: %s %s", j.State, j.Reason)
				}
			})
		})
	}
}

func started(dec []scheduler.Decision) (ids []scheduler.JobID) {
	for _, d := range dec {
		if d.Op == scheduler.OpStart {
			ids = append(ids, d.Job)
		}
	}
	return ids
}

// TestReservationCalendar checks days that are 23 and 25 hours long: a daily
// reservation at 08:00 stays at 08:00 by the clock.
func TestReservationCalendar(t *testing.T) {
	spring, autumn := scheduler.Seconds(1_774_746_000), scheduler.Seconds(1_792_890_000) // Europe, 2026
	s, err := scheduler.New(scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: "p0", Sockets: 1, CoresPerSocket: 4}},
		Parameters: scheduler.Parameters{Zone: []scheduler.ZoneChange{
			{From: 0, Offset: time.Hour}, {From: spring, Offset: 2 * time.Hour}, {From: autumn, Offset: time.Hour},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(day int64, utc time.Duration) scheduler.Time { return scheduler.Seconds(day * 86400).Add(utc) }
	const before = 20540 // 28 March 2026: 08:00 is 07:00 UTC
	x := scheduler.ReservationSpec{Name: "r", Users: []string{"mail"}, Start: at(before, 7*time.Hour), Duration: time.Hour, Nodes: "p0", Flags: []string{"DAILY"}}
	if err := reserve(s, at(before, 0), x); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		now, start scheduler.Time
	}{
		{at(before, 8*time.Hour), at(before+1, 6*time.Hour)},
		{at(before+1, 7*time.Hour), at(before+2, 6*time.Hour)},
		{at(20750, 7*time.Hour), at(20751, 7*time.Hour)}, // 24 October, clocks go back on the 25th
		{at(20751, 8*time.Hour), at(20752, 7*time.Hour)},
	} {
		s.Pass(want.now, nil)
		s.View(func(v scheduler.View) {
			for r := range v.Reservations() {
				if r.Start != want.start || r.End.Sub(r.Start) != time.Hour {
					t.Errorf("at %d it begins at %d, want %d", want.now/1e6, r.Start/1e6, want.start/1e6)
				}
			}
		})
	}
}

// TestReservationAllocs demands no allocation of passes beside reservations, and
// as many tries as without: classes that failed are not tried again.
func TestReservationAllocs(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	for _, profile := range []scheduler.Profile{scheduler.ProfileSlurm, scheduler.ProfileBest} {
		s, err := scheduler.New(scheduler.Config{
			Profile: profile, Nodes: []scheduler.NodeSpec{{Names: "p[0-63]", Sockets: 1, CoresPerSocket: 4}},
			Parameters: scheduler.Parameters{Select: scheduler.SelectParameters{NoMemory: true}, Plan: scheduler.PlanParameters{Mode: scheduler.PlanNone}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := scheduler.Seconds(1_790_000_040)
		for i, nodes := range []string{"p[0-7]", "p[8-15]", "p[16-23]"} {
			x := scheduler.ReservationSpec{Users: []string{"mail"}, Start: now.Add(time.Duration(i+1) * 10 * time.Minute), Duration: time.Hour, Nodes: nodes}
			if err := reserve(s, now, x); err != nil {
				t.Fatal(err)
			}
		}
		for id := range scheduler.JobID(500) {
			j := scheduler.JobSpec{ID: id + 1, User: "games", Tasks: 4, MinNodes: 1, TimeLimit: time.Duration(id%40+1) * time.Minute}
			if err := s.Apply(now, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
		dec := s.Pass(now, make([]scheduler.Decision, 0, 500))
		least := uint64(1 << 60)
		for range 5 {
			now = now.Add(time.Second)
			least = min(least, mallocs(func() { dec = s.Pass(now, dec[:0]) }))
		}
		if least != 0 {
			t.Errorf("%s: a pass beside reservations made %d allocations, want 0", profile, least)
		}
	}
}
