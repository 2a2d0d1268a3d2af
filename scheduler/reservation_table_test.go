package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// TestReservationFlagTable makes a reservation with each flag, sets the flag on one
// without it and takes it off again, lets it begin, and lets it end (spec:
// reservations 3, 6).
func TestReservationFlagTable(t *testing.T) {
	const in, long = 10 * time.Minute, 20 * time.Minute
	named := func(r *scheduler.ReservationSpec) { r.NodeCount, r.Nodes = 0, "p[0-1]" }
	for _, c := range []struct {
		flag  string
		shape func(*scheduler.ReservationSpec) // what it needs beside the flag
		bad   func(*scheduler.ReservationSpec) // what it does not go with
		why   error                            // of bad
		add   error                            // of setting it on a plain one
		off   error                            // of taking it off again
		moves bool                             // it is there again after its end
		shuts bool                             // outsiders are off its nodes while it holds
		never bool                             // it does not begin
	}{
		{flag: "MAINT", bad: withFlags("REPLACE"), why: scheduler.ErrReservationFlags, shuts: true},
		{flag: "OVERLAP", off: scheduler.ErrReservationFlags, shuts: true},
		{flag: "IGNORE_JOBS", shuts: true},
		{flag: "HOURLY", bad: withFlags("DAILY"), why: scheduler.ErrReservationFlags, moves: true, shuts: true},
		{flag: "DAILY", bad: withFlags("WEEKLY"), why: scheduler.ErrReservationFlags, moves: true, shuts: true},
		{flag: "WEEKLY", bad: withFlags("WEEKDAY"), why: scheduler.ErrReservationFlags, moves: true, shuts: true},
		{flag: "WEEKDAY", bad: withFlags("WEEKEND"), why: scheduler.ErrReservationFlags, moves: true, shuts: true},
		{flag: "WEEKEND", bad: withFlags("TIME_FLOAT"), why: scheduler.ErrReservationFlags, moves: true, shuts: true},
		{flag: "FORCE_START", shuts: true},
		{flag: "FLEX", shuts: true},
		{flag: "MAGNETIC", shuts: true},
		{flag: "ANY_NODES", shape: func(r *scheduler.ReservationSpec) { r.NodeCount, r.Licenses = 0, "lic:1" }, bad: func(*scheduler.ReservationSpec) {}, why: scheduler.ErrSpec,
			add: scheduler.ErrSpec},
		{flag: "LICENSE_ONLY", shape: func(r *scheduler.ReservationSpec) { r.NodeCount, r.Licenses = 0, "lic:1" }, add: scheduler.ErrSpec},
		{flag: "PART_NODES", shape: func(r *scheduler.ReservationSpec) { r.NodeCount, r.Nodes, r.Partition = 0, "ALL", "half" }, bad: named, why: scheduler.ErrSpec,
			add: scheduler.ErrSpec, shuts: true},
		{flag: "REPLACE", bad: withFlags("STATIC_ALLOC"), why: scheduler.ErrReservationFlags, off: scheduler.ErrReservationFlags, shuts: true},
		{flag: "REPLACE_DOWN", bad: named, why: scheduler.ErrUnknownNode, off: scheduler.ErrReservationFlags, shuts: true},
		{flag: "STATIC_ALLOC", bad: withFlags("REPLACE_DOWN"), why: scheduler.ErrReservationFlags, shuts: true},
		{flag: "TIME_FLOAT", bad: withFlags("HOURLY"), why: scheduler.ErrReservationFlags, add: scheduler.ErrReservationFlags, off: scheduler.ErrReservationFlags, never: true},
		{flag: "NO_HOLD_JOBS_AFTER", off: scheduler.ErrReservationFlags, shuts: true},
		{flag: "PURGE_COMP", shuts: true},
		{flag: "USER_DELETE", shuts: true},
	} {
		t.Run(c.flag, func(t *testing.T) {
			now := scheduler.Seconds(1_790_000_040)
			plain := scheduler.ReservationSpec{Name: "r", Users: []string{"mail"}, Start: now.Add(in), Duration: long, NodeCount: 2}
			x := plain
			x.Flags = []string{c.flag}
			if c.bad != nil {
				y := x
				c.bad(&y)
				if err := reserve(tableCluster(t), now, y); !errors.Is(err, c.why) {
					t.Errorf("with what it does not go with: %v, want %v", err, c.why)
				}
			}
			if c.shape != nil {
				c.shape(&x)
			}
			s := tableCluster(t)
			if err := reserve(s, now, x); err != nil {
				t.Fatalf("made: %v", err)
			}
			checkFlagUpdate(t, now, plain, x, c.add, c.off)

			// It begins: an outsider who would be on its nodes waits.
			nodes := int32(8)
			if err := s.Apply(now, scheduler.Submit(&scheduler.JobSpec{ID: 1, User: "games", MinNodes: nodes, Exclusive: scheduler.ExclusiveNode, TimeLimit: 5 * time.Minute})); err != nil {
				t.Fatal(err)
			}
			now = now.Add(in)
			if got := len(started(s.Pass(now, nil))) == 0; got != c.shuts && !c.never {
				t.Errorf("an outsider for all nodes waits: %v, want %v", got, c.shuts)
			}
			at := resvTimes(s)
			if begun := len(at) == 1 && at[0] <= now; begun == c.never {
				t.Errorf("it has begun: %v, want %v", begun, !c.never)
			}
			// It ends: it is gone, or is there again later.
			_ = s.Apply(now, scheduler.Cancel(1))
			_ = s.Apply(now, scheduler.Ended(1, scheduler.JobEnd{}))
			now = now.Add(long)
			s.Pass(now, nil)
			at = resvTimes(s)
			if c.moves && (len(at) != 1 || at[0] <= now) || !c.moves && !c.never && len(at) != 0 {
				t.Errorf("after its end it begins at %v", at)
			}
		})
	}
}

// checkFlagUpdate sets the flags of x on plain, and takes them off x.
func checkFlagUpdate(t *testing.T, now scheduler.Time, plain, x scheduler.ReservationSpec, add, off error) {
	t.Helper()
	for _, c := range []struct {
		op   string
		from scheduler.ReservationSpec
		want error
	}{{"+", plain, add}, {"-", x, off}} {
		s := tableCluster(t)
		if err := reserve(s, now, c.from); err != nil {
			t.Fatal(err)
		}
		if c.op == "-" && x.Licenses != "" {
			c.want = scheduler.ErrUnknownNode // licences alone need it
		}
		u := scheduler.ReservationUpdate{Name: "r", Flags: &scheduler.ListChange{Op: c.op, Names: x.Flags}}
		err := s.Apply(now, scheduler.Event{Kind: scheduler.EventReservation, ReservationUpdate: &u})
		if !errors.Is(err, c.want) {
			t.Errorf("flags%s=%v: %v, want %v", c.op, x.Flags, err, c.want)
		}
		flag := x.Flags[0]
		if flag == "LICENSE_ONLY" {
			flag = "ANY_NODES"
		}
		s.View(func(v scheduler.View) {
			for r := range v.Reservations() {
				if has := slices.Contains(r.Flags, flag); has != ((c.op == "+") == (c.want == nil)) {
					t.Errorf("flags%s=%v: it has %v", c.op, x.Flags, r.Flags)
				}
			}
		})
	}
}

// TestReservationSteps counts looks at two sizes. Making one by count looks at each
// node, job and reservation; a pass looks at the reservations for a class, however
// many of its jobs wait.
func TestReservationSteps(t *testing.T) {
	now := scheduler.Seconds(1_790_000_040)
	build := func(nodes, resvs, jobs int) (pick, pass int64) {
		s, err := scheduler.New(scheduler.Config{
			Nodes: []scheduler.NodeSpec{{Names: fmt.Sprintf("p[0-%d]", nodes-1), Sockets: 1, CoresPerSocket: 4}},
			Parameters: scheduler.Parameters{
				Plan: scheduler.PlanParameters{Mode: scheduler.PlanNone}, Select: scheduler.SelectParameters{NoMemory: true},
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for id := range scheduler.JobID(nodes / 4) {
			j := scheduler.JobSpec{ID: id + 1, MinNodes: 1, Exclusive: scheduler.ExclusiveNode, TimeLimit: 24 * time.Hour}
			if err := s.Apply(now, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(now, nil)
		for i := range resvs {
			was := scheduler.ReservationLooks(s)
			r := scheduler.ReservationSpec{Users: []string{"mail"}, Start: now.Add(time.Duration(i+1) * time.Hour), Duration: time.Hour, NodeCount: int32(nodes / 4)}
			if err := reserve(s, now, r); err != nil {
				t.Fatal(err)
			}
			pick = scheduler.ReservationLooks(s) - was // of the last
		}
		for id := range scheduler.JobID(jobs) {
			j := scheduler.JobSpec{ID: 10_000 + id, MinNodes: int32(nodes), Exclusive: scheduler.ExclusiveNode, TimeLimit: 100 * time.Hour}
			if err := s.Apply(now, scheduler.Submit(&j)); err != nil {
				t.Fatal(err)
			}
		}
		was := scheduler.ReservationLooks(s)
		s.Pass(now, nil)
		return pick, scheduler.ReservationLooks(s) - was
	}
	pick, pass := build(64, 8, 50)
	pick2, _ := build(128, 16, 50)
	if pick == 0 || pass == 0 {
		t.Fatalf("%d looks to pick, %d in a pass", pick, pass)
	}
	if pick2 > 2*pick+64 {
		t.Errorf("making the last of 16 on 128 nodes takes %d looks, of 8 on 64 nodes %d; want at most twice as many", pick2, pick)
	}
	if _, more := build(64, 8, 100); more > pass {
		t.Errorf("a pass over 100 jobs of a class takes %d looks at reservations, over 50 %d; want as many", more, pass)
	}
	if _, wide := build(64, 16, 50); wide > 2*pass {
		t.Errorf("a pass beside 16 reservations takes %d looks, beside 8 %d; want at most twice as many", wide, pass)
	}
}

// withFlags adds flags.
func withFlags(flags ...string) func(*scheduler.ReservationSpec) {
	return func(r *scheduler.ReservationSpec) { r.Flags = append(slices.Clone(r.Flags), flags...) }
}

// tableCluster is setup L with a licence.
func tableCluster(t *testing.T) scheduler.Scheduler {
	t.Helper()
	s, err := scheduler.New(scheduler.Config{
		Profile:    scheduler.ProfileSlurm,
		Nodes:      []scheduler.NodeSpec{{Names: "p[0-7]", Sockets: 1, CoresPerSocket: 4}},
		Partitions: []scheduler.PartitionSpec{{Name: "main", Nodes: "ALL", Default: true}, {Name: "half", Nodes: "p[0-3]"}},
		Licenses:   []scheduler.LicenseSpec{{Name: "lic", Total: 2}},
		Parameters: scheduler.Parameters{Plan: scheduler.PlanParameters{Interval: time.Second}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resvTimes are the starts of all reservations.
func resvTimes(s scheduler.Scheduler) (at []scheduler.Time) {
	s.View(func(v scheduler.View) {
		for r := range v.Reservations() {
			at = append(at, r.Start)
		}
	})
	return at
}

// TestReservationRepeats checks the next occurrence after one on each day of a
// week, at 10:00 (spec: reservations 6.1, case 40).
func TestReservationRepeats(t *testing.T) {
	const hour, days = time.Hour, 24 * time.Hour
	monday := scheduler.Seconds(1_790_553_600) // 2026-09-28
	for _, c := range []struct {
		flag string
		next [7]time.Duration // after Monday to Sunday
	}{
		{"HOURLY", [7]time.Duration{hour, hour, hour, hour, hour, hour, hour}},
		{"DAILY", [7]time.Duration{days, days, days, days, days, days, days}},
		{"WEEKLY", [7]time.Duration{7 * days, 7 * days, 7 * days, 7 * days, 7 * days, 7 * days, 7 * days}},
		{"WEEKDAY", [7]time.Duration{days, days, days, days, 3 * days, 2 * days, days}},
		{"WEEKEND", [7]time.Duration{5 * days, 4 * days, 3 * days, 2 * days, days, days, 6 * days}},
	} {
		for d, want := range c.next {
			s := tableCluster(t)
			start := monday.Add(time.Duration(d)*days + 10*hour)
			r := scheduler.ReservationSpec{Name: "r", Users: []string{"mail"}, Start: start, Duration: 30 * time.Minute, NodeCount: 1, Flags: []string{c.flag}}
			if err := reserve(s, start, r); err != nil {
				t.Fatal(err)
			}
			s.Pass(start.Add(30*time.Minute), nil)
			if got := resvTimes(s); len(got) != 1 || got[0].Sub(start) != want {
				t.Errorf("%s on day %d: next at %v, want %v after %v", c.flag, d, got, want, start)
			}
		}
	}
}
