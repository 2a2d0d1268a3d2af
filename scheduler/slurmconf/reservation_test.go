package slurmconf_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

func instant(y int, m time.Month, d, h, min int) scheduler.Time {
	return scheduler.Time(time.Date(y, m, d, h, min, 0, 0, time.UTC).UnixMicro())
}

// TestReservations reads the arguments of the worked cases.
func TestReservations(t *testing.T) {
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		args string
		want scheduler.ReservationSpec
	}{
		// V01
		{"starttime=2026-10-06T08:00:00 duration=480 user=root flags=maint,ignore_jobs nodes=ALL",
			scheduler.ReservationSpec{Start: instant(2026, 10, 6, 8, 0), Duration: 8 * time.Hour, Users: []string{"root"}, Flags: []string{"MAINT", "IGNORE_JOBS"}, Nodes: "ALL"}},
		{"ReservationName=res1 Users=root StartTime=now+1800 Duration=30 CoreCnt=3,2",
			scheduler.ReservationSpec{Name: "res1", Users: []string{"root"}, Start: instant(2026, 11, 29, 15, 0), Duration: 30 * time.Minute, CoreCount: []int32{3, 2}}},
		{"Reservation=r Accounts=-physics StartTime=16:00 EndTime=tomorrow NodeCnt=1k PartitionName=p Features=a&b",
			scheduler.ReservationSpec{Name: "r", Accounts: []string{"-physics"}, Start: instant(2026, 11, 29, 16, 0), End: instant(2026, 11, 30, 0, 0), NodeCount: 1024, Partition: "p", Features: "a&b"}},
		{"QOS=hero TRES=gres/gpu:a100=2 StartTime=now Duration=UNLIMITED Flags=PURGE_COMP=0:20,WEEKLY MaxStartDelay=3",
			scheduler.ReservationSpec{QOS: []string{"hero"}, TRES: "gres/gpu:a100=2", Start: instant(2026, 11, 29, 14, 30), Duration: 365 * 24 * time.Hour, Flags: []string{"PURGE_COMP", "WEEKLY"},
				PurgeComp: 20 * time.Second, MaxStartDelay: 3 * time.Minute}},
		{"Users=u Licenses=matlab:2 Flags=LICENSE_ONLY StartTime=now Duration=1", scheduler.ReservationSpec{Users: []string{"u"}, Licenses: "matlab:2", Flags: []string{"ANY_NODES"},
			Start: instant(2026, 11, 29, 14, 30), Duration: time.Minute}},
	} {
		got, err := slurmconf.ParseReservation(strings.Fields(tt.args), now)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		} else if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: mismatch (-want +got)\n%s", tt.args, d)
		}
	}
	// What the command refuses itself: spec/reservations.md 2.1 and cases 1, 4,
	// 5, 9 to 11.
	const ok = " StartTime=now Duration=10"
	for _, bad := range []string{
		"Nodes=n1" + ok, "Users=a Nodes=n1 StartTime=now", "Users=mail Groups=mail" + ok, "Users=mail,-games" + ok, "Users=a StartTime=now EndTime=now-60",
		"Users=a Flags=PART_NODES Nodes=p0" + ok, "Users=a Flags=PART_NODES PartitionName=half" + ok, "Users=a Flags=ANY_NODES Nodes=n1" + ok,
		"Users=a Flags=FIRST_CORES" + ok, "Users=a StartTime=now Duration=+30", "Users=a Color=red" + ok, "Users=a Nodes" + ok, "Users=a CoreCnt=x" + ok,
		"Users=a NodeCnt=-1" + ok, "Users=a StartTime=whenever Duration=1", "Users=a Flags=MAINT=3" + ok, "Users=a CoreCnt=" + ok,
	} {
		_, err := slurmconf.ParseReservation(strings.Fields(bad), now)
		var e *slurmconf.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
