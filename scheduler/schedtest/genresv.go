package schedtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// genLevels draws levels of topology over the nodes of c: zones of one kind of
// node, racks of two nodes.
func genLevels(t *rapid.T, c *scheduler.Config, sizes []int) {
	if rapid.IntRange(0, 2).Draw(t, "levels") > 0 {
		return
	}
	s := scheduler.TopologySpec{Name: "default", Levels: []string{"zone", "rack"}}
	for k, n := range sizes {
		for i := range n {
			s.Domains = append(s.Domains, scheduler.DomainSpec{
				Values: []string{fmt.Sprintf("z%d", k), fmt.Sprintf("r%d", i/2)}, Nodes: fmt.Sprintf("%c%d", 'a'+k, i),
			})
		}
	}
	c.Topologies = []scheduler.TopologySpec{s}
}

// genGang draws a job with a wish about levels.
func genGang(t *rapid.T, id scheduler.JobID) *scheduler.JobSpec {
	j := &scheduler.JobSpec{
		ID: id, User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
		TimeLimit: time.Duration(rapid.IntRange(1, 30).Draw(t, "limit")) * time.Second,
	}
	if rapid.Bool().Draw(t, "tasks") {
		j.Tasks, j.CPUsPerTask = rapid.Int32Range(1, 6).Draw(t, "count"), rapid.Int32Range(0, 2).Draw(t, "cpus")
		j.GPUsPerTask = rapid.SampledFrom([]string{"", "", "1", "x:1"}).Draw(t, "GPUs")
	} else {
		j.MinNodes = rapid.Int32Range(1, 4).Draw(t, "nodes")
		j.Exclusive = rapid.SampledFrom([]scheduler.Exclusive{scheduler.ExclusiveNo, scheduler.ExclusiveNode, scheduler.ExclusiveTopo}).Draw(t, "exclusive")
	}
	level := func() string { return rapid.SampledFrom([]string{"zone", "rack"}).Draw(t, "level") }
	switch rapid.IntRange(0, 3).Draw(t, "wish") {
	case 0, 1:
		j.Levels = []scheduler.LevelSpec{{Level: level(), Required: true}}
	case 2:
		j.Levels = []scheduler.LevelSpec{{Level: "zone", Required: true}, {Level: "rack"}}
	case 3:
		j.Levels = []scheduler.LevelSpec{{Level: level(), Slice: rapid.Int32Range(1, 2).Draw(t, "slice")}}
	}
	return j
}

// genPlace lets some jobs name reservations, and some end before what comes.
func genPlace(t *rapid.T, j *scheduler.JobSpec) {
	switch rapid.IntRange(0, 9).Draw(t, "reservation") {
	case 0, 1:
		j.Reservations = []string{rapid.SampledFrom(resvNames).Draw(t, "reservation")}
	case 2:
		j.Reservations = []string{"r0", "r1"}
	case 3:
		j.TimeMin = time.Second
	}
}

// resvNames are the names of reservations in random sequences.
var resvNames = []string{"r0", "r1", "r2"}

// resvFlagSets are the flags that are drawn; most reservations have none.
var resvFlagSets = [][]string{
	nil, nil, nil, {"MAINT"}, {"OVERLAP"}, {"FLEX"}, {"MAGNETIC"}, {"IGNORE_JOBS"}, {"HOURLY"}, {"DAILY"}, {"REPLACE"}, {"REPLACE_DOWN"},
	{"STATIC_ALLOC"}, {"TIME_FLOAT"}, {"NO_HOLD_JOBS_AFTER"}, {"PURGE_COMP"}, {"FLEX", "MAGNETIC"}, {"MAINT", "IGNORE_JOBS"},
	{"OVERLAP", "FLEX"}, {"HOURLY", "PURGE_COMP"}, {"MAGNETIC", "OVERLAP"}, {"HOURLY", "MAGNETIC"}, {"DAILY", "FLEX"}, {"HOURLY", "OVERLAP"},
	{"WEEKLY"}, {"WEEKDAY"}, {"WEEKEND"}, {"DAILY", "FORCE_START"}, {"PART_NODES"}, {"PART_NODES", "MAINT"}, {"USER_DELETE"},
}

// GenReservation draws a reservation that begins at now or soon, of nodes that are
// named or counted, of cores, devices or licences, for users or accounts of
// [GenConfig]. Many are refused.
func GenReservation(t *rapid.T, now scheduler.Time) scheduler.ReservationSpec {
	x := scheduler.ReservationSpec{
		Name:     rapid.SampledFrom(resvNames).Draw(t, "reservation"),
		Start:    now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "ahead")) * time.Second),
		Duration: time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second,
		Flags:    rapid.SampledFrom(resvFlagSets).Draw(t, "flags"),
	}
	if x.Start == 0 {
		x.Start = 1
	}
	switch rapid.IntRange(0, 5).Draw(t, "access") {
	case 0, 1:
		x.Users = []string{"ann"}
	case 2:
		x.Users = []string{"-bob"}
	case 3:
		x.Accounts = rapid.SampledFrom([][]string{{"a"}, {"-b"}}).Draw(t, "accounts")
	case 4:
		x.Partitions = rapid.SampledFrom([][]string{{"q"}, {"p"}, {"-q"}}).Draw(t, "partitions")
	case 5:
		x.QOS = rapid.SampledFrom([][]string{{"high"}, {"-high"}}).Draw(t, "QOS")
	}
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0, 1:
		x.Nodes = rapid.SampledFrom([]string{"a0", "a[0-1]", "a0,b0", "b0", "ALL"}).Draw(t, "nodes")
	case 2, 3:
		x.NodeCount = rapid.Int32Range(1, 3).Draw(t, "count")
		x.Features = rapid.SampledFrom([]string{"", "", "f", "g"}).Draw(t, "features")
		x.Partition = rapid.SampledFrom([]string{"", "", "p", "q"}).Draw(t, "partition")
	case 4:
		x.CoreCount = []int32{rapid.Int32Range(1, 4).Draw(t, "cores")}
		x.Nodes = rapid.SampledFrom([]string{"", "a0"}).Draw(t, "nodes")
	case 5:
		x.TRES = rapid.SampledFrom([]string{"gres/gpu=1", "gres/gpu:x=2", "cpu=2"}).Draw(t, "tres")
	case 6:
		x.Licenses, x.Flags = "lic:1", append([]string{"ANY_NODES"}, x.Flags...)
	}
	if slices.Contains(x.Flags, "PART_NODES") && rapid.IntRange(0, 3).Draw(t, "all of it") > 0 {
		x.Nodes, x.NodeCount, x.CoreCount, x.TRES, x.Features = "ALL", 0, nil, "", ""
		x.Partition = rapid.SampledFrom([]string{"p", "q"}).Draw(t, "whole partition")
	}
	return x
}

// GenReservationEvent draws the making, the change or the end of a reservation.
func GenReservationEvent(t *rapid.T, now scheduler.Time) scheduler.Event {
	ev := scheduler.Event{Kind: scheduler.EventReservation}
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	default:
		x := GenReservation(t, now)
		ev.Reservation = &x
	case 4:
		ev.Reservation, ev.Remove = &scheduler.ReservationSpec{Name: rapid.SampledFrom(resvNames).Draw(t, "reservation")}, true
	case 5:
		u := scheduler.ReservationUpdate{Name: rapid.SampledFrom(resvNames).Draw(t, "reservation")}
		switch rapid.IntRange(0, 5).Draw(t, "field") {
		case 0:
			u.Start = new(now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "ahead")) * time.Second))
		case 1:
			u.Duration = new(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
		case 2:
			u.NodeCount = new(rapid.Int32Range(1, 3).Draw(t, "count"))
		case 3:
			u.Nodes = &scheduler.ListChange{Op: rapid.SampledFrom([]string{"", "+", "-"}).Draw(t, "op"), Names: []string{"a0"}}
		case 4:
			op := rapid.SampledFrom([]string{"+", "-"}).Draw(t, "op")
			u.Flags = &scheduler.ListChange{Op: op, Names: rapid.SampledFrom(resvFlagSets[3:]).Draw(t, "flags")}
		case 5:
			u.Skip = true
		}
		ev.ReservationUpdate = &u
	}
	return ev
}
