package scheduler_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// TestReservationBadInput makes and changes reservations with what hostile programs
// send. What is refused names the reservation and leaves the books as they were;
// nothing panics, and passes go on.
func TestReservationBadInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := scheduler.New(scheduler.Config{
			Profile:    rapid.SampledFrom([]scheduler.Profile{scheduler.ProfileSlurm, scheduler.ProfileBest}).Draw(t, "profile"),
			Nodes:      []scheduler.NodeSpec{{Names: "p[0-3]", Sockets: 1, CoresPerSocket: 4, Features: []string{"a"}, GRES: "gpu:2"}},
			Partitions: []scheduler.PartitionSpec{{Name: "main", Nodes: "ALL", Default: true}, {Name: "half", Nodes: "p[0-1]"}},
			Licenses:   []scheduler.LicenseSpec{{Name: "lic", Total: 2}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := scheduler.Seconds(1_790_000_040)
		submit := scheduler.Submit(&scheduler.JobSpec{ID: 1, User: "mail", MinNodes: 1, TimeLimit: time.Hour})
		if err := s.Apply(now, submit); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			x := badReservation(t, now)
			ev := scheduler.Event{Kind: scheduler.EventReservation, Reservation: &x}
			if rapid.Bool().Draw(t, "change") {
				u := badUpdate(t, &x)
				ev.Reservation, ev.ReservationUpdate = nil, &u
			}
			before := snapshotOf(t, s)
			if err := s.Apply(now, ev); err != nil {
				if !strings.Contains(err.Error(), strconv.Quote(x.Name)) {
					t.Errorf("error %q does not name reservation %q", err, x.Name)
				}
				if !bytes.Equal(before, snapshotOf(t, s)) {
					t.Errorf("refused with %q, and the books have changed", err)
				}
			}
			now = now.Add(time.Duration(i) * time.Minute)
			s.Pass(now, nil)
			s.Wake()
		}
		if _, err := s.Explain(1); err != nil {
			t.Error(err)
		}
	})
}

func snapshotOf(t *rapid.T, s scheduler.Scheduler) []byte {
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// badReservation draws a specification of which any field may be nonsense.
func badReservation(t *rapid.T, now scheduler.Time) scheduler.ReservationSpec {
	words := func(name string, good ...string) string {
		return rapid.SampledFrom(append(good, "", ",", "[", "x[0-999999999]", "p[0-99999999999999999999]", "\x00", "-", "=")).Draw(t, name)
	}
	count := func(name string) int32 {
		return rapid.SampledFrom([]int32{0, 0, 1, 2, 5, -1, math.MaxInt32, math.MinInt32}).Draw(t, name)
	}
	long := func(name string) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, -1, 1, math.MinInt64, scheduler.Infinite}).Draw(t, name)
	}
	at := func(name string) scheduler.Time {
		return rapid.SampledFrom([]scheduler.Time{0, now, now.Add(time.Hour), now.Add(-time.Hour), 1, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1}).Draw(t, name)
	}
	x := scheduler.ReservationSpec{
		Name: rapid.SampledFrom([]string{"r", "s", "s,r", "\x00"}).Draw(t, "name"), Start: at("start"), End: at("end"), Duration: long("duration"),
		Nodes: words("nodes", "p0", "p[1-2]", "ALL", "p9"), NodeCount: count("node count"), TRES: words("tres", "cpu=2", "gres/gpu=2", "node=9", "license/lic=2", "cpu=-1"),
		Licenses: words("licences", "lic:1", "lic:9", "lic:-1", "lic:9999999999T"), BurstBuffer: words("bb", "cray:1"), Features: words("features", "a", "b", "[a*2]", "a|b"),
		Partition: words("partition", "main", "half", "none"), PurgeComp: long("purge"), MaxStartDelay: long("delay"),
		Users: []string{words("user", "mail", "root", "-mail")},
	}
	for range rapid.IntRange(0, 2).Draw(t, "cores") {
		x.CoreCount = append(x.CoreCount, count("core count"))
	}
	flag := rapid.SampledFrom([]string{
		"MAINT", "OVERLAP", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND", "FORCE_START", "FLEX", "MAGNETIC", "ANY_NODES", "PART_NODES",
		"REPLACE", "STATIC_ALLOC", "TIME_FLOAT", "NO_HOLD_JOBS_AFTER", "PURGE_COMP", "SPEC_NODES", "ALL_NODES", "", "NONE",
	})
	for range rapid.IntRange(0, 2).Draw(t, "flags") {
		x.Flags = append(x.Flags, flag.Draw(t, "flag"))
	}
	return x
}

// badUpdate draws some fields of a specification as changes.
func badUpdate(t *rapid.T, x *scheduler.ReservationSpec) scheduler.ReservationUpdate {
	change := func(name string, names ...string) *scheduler.ListChange {
		op := rapid.SampledFrom([]string{"none", "none", "", "+", "-", "*"}).Draw(t, name)
		if op == "none" {
			return nil
		}
		return &scheduler.ListChange{Op: op, Names: names}
	}
	u := scheduler.ReservationUpdate{Name: x.Name, Skip: rapid.Bool().Draw(t, "skip")}
	some := func(set func()) {
		if rapid.IntRange(0, 3).Draw(t, "some") == 0 {
			set()
		}
	}
	some(func() { u.Start = &x.Start })
	some(func() { u.End = &x.End })
	some(func() { u.Duration = &x.Duration })
	some(func() { u.Extend = &x.PurgeComp })
	some(func() { u.NodeCount = &x.NodeCount })
	some(func() { u.CoreCount = x.CoreCount })
	some(func() { u.TRES = &x.TRES })
	some(func() { u.Licenses = &x.Licenses })
	some(func() { u.BurstBuffer = &x.BurstBuffer })
	some(func() { u.Features = &x.Features })
	some(func() { u.Partition = &x.Partition })
	some(func() { u.PurgeComp = &x.PurgeComp })
	some(func() { u.MaxStartDelay = &x.MaxStartDelay })
	u.Nodes, u.Users, u.Flags = change("nodes", x.Nodes), change("users", x.Users...), change("flags", x.Flags...)
	return u
}
