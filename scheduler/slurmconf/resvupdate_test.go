package slurmconf_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
	"github.com/google/go-cmp/cmp"
)

// TestReservationUpdates reads the arguments of the worked cases.
func TestReservationUpdates(t *testing.T) {
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	count, more, less := int32(1), 30*time.Minute, -10*time.Minute
	empty := ""
	for _, tt := range []struct {
		args string
		want scheduler.ReservationUpdate
	}{
		{"ReservationName=r NodeCnt=+1", scheduler.ReservationUpdate{Name: "r", NodeCount: &count}},
		{"reservation=r users+=ann,bob accounts-=a", scheduler.ReservationUpdate{Name: "r",
			Users: &scheduler.ListChange{Op: "+", Names: []string{"ann", "bob"}}, Accounts: &scheduler.ListChange{Op: "-", Names: []string{"a"}}}},
		{"ReservationName=r duration+=30 nodes+=p[7-9]", scheduler.ReservationUpdate{Name: "r", Extend: &more, Nodes: &scheduler.ListChange{Op: "+", Names: []string{"p[7-9]"}}}},
		{"ReservationName=r Duration-=10 flags-=MAINT skip", scheduler.ReservationUpdate{Name: "r", Extend: &less, Skip: true, Flags: &scheduler.ListChange{Op: "-", Names: []string{"MAINT"}}}},
		{"ReservationName=r PartitionName=", scheduler.ReservationUpdate{Name: "r", Partition: &empty}},
	} {
		got, err := slurmconf.ParseReservationUpdate(strings.Fields(tt.args), now)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		} else if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, bad := range []string{"", "users=ann", "ReservationName=r duration=+30", "ReservationName=r nodecnt+=1", "ReservationName=r colour=red", "ReservationName=r flags+=FIRST_CORES"} {
		if u, err := slurmconf.ParseReservationUpdate(strings.Fields(bad), now); err == nil {
			t.Errorf("%q reads as %+v", bad, u)
		}
	}
}

// TestCalendar lists the changes of a year's clocks.
func TestCalendar(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no zone data here: ", err)
	}
	got := slurmconf.Calendar(zone, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC))
	want := []scheduler.ZoneChange{
		{From: scheduler.Seconds(1_761_440_400), Offset: time.Hour}, {From: scheduler.Seconds(1_774_746_000), Offset: 2 * time.Hour},
		{From: scheduler.Seconds(1_792_890_000), Offset: time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
