package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// What a caller of Apply branches on about reservations.
var (
	// ErrReservationBusy: not enough nodes are free of running jobs and of
	// other reservations, or the reservation is in use. Slurm:
	// ESLURM_NODES_BUSY, ESLURM_RESERVATION_BUSY.
	ErrReservationBusy = errors.New("requested nodes are busy")
	// ErrReservationOverlap: the nodes named belong to another reservation
	// then. Slurm: ESLURM_RESERVATION_OVERLAP.
	ErrReservationOverlap = errors.New("requested reservation overlaps with another reservation")
	// ErrReservationInvalid: no reservation has that name. Slurm:
	// ESLURM_RESERVATION_INVALID.
	ErrReservationInvalid = errors.New("requested reservation is invalid")
	// ErrReservationAccess: the job may not use the reservation. Slurm:
	// ESLURM_RESERVATION_ACCESS.
	ErrReservationAccess = errors.New("access denied to requested reservation")
	// ErrReservationTime: it begins too far in the past or has ended. Slurm:
	// ESLURM_INVALID_TIME_VALUE.
	ErrReservationTime = errors.New("time value specified is invalid")
	// ErrReservationFlags: flags that exclude each other. Slurm:
	// ESLURM_NOT_SUPPORTED.
	ErrReservationFlags = errors.New("flags of the reservation exclude each other")
)

// resvFlags are the flags of a reservation that the engine acts on.
type resvFlags uint8

const (
	resvMaint resvFlags = 1 << iota
	resvOverlap
	resvIgnoreJobs
	resvFlex
	resvNoHold
	resvAll // all nodes of the cluster or of a partition
)

// A reservation is a ReservationSpec with what was chosen for it.
type reservation struct {
	spec       ReservationSpec // Start and End resolved
	flags      resvFlags
	start, end Time
	nodes      topology.NodeSet
	cores      []nodeGrant // cores on each node; empty for whole nodes
	id         int64       // rises with creation
}

// during reports whether x holds at any time of [from, to).
func (x *reservation) during(from, to Time) bool { return x.start < to && x.end > from }

// A resvTable holds the reservations, in order of creation.
type resvTable struct {
	all    []reservation
	nextID int64
	nextAt Time // next start or end
	mark   int  // of the pool while a try keeps cores
	kept   gres.Grant
}

// resvByName returns the number of the reservation of that name, -1 for none.
func (e *engine) resvByName(name string) int {
	return slices.IndexFunc(e.resv.all, func(x reservation) bool { return x.spec.Name == name })
}

// resvOf is the reservation that a job uses: the first of its list that still
// exists, -1 for none.
func (e *engine) resvOf(s *JobSpec) int {
	for _, n := range s.Reservations {
		if i := e.resvByName(n); i >= 0 {
			return i
		}
	}
	return -1
}

// buildReservations makes those of the configuration.
func (e *engine) buildReservations() error {
	e.resv.nextAt = Never
	specs := e.cfg.Reservations
	e.cfg.Reservations = nil
	for i := range specs {
		if err := e.addReservation(0, &specs[i], -1); err != nil {
			return err
		}
	}
	return nil
}

// setReservation adds, changes or removes a reservation.
func (e *engine) setReservation(now Time, ev *Event) error {
	if ev.Reservation == nil {
		return fmt.Errorf("scheduler: apply %s: no reservation given: %w", ev.Kind, ErrSpec)
	}
	s := ev.Reservation
	at := -1
	if s.Name != "" {
		at = e.resvByName(s.Name)
	}
	if !ev.Remove {
		return e.addReservation(now, s, at)
	}
	switch {
	case at < 0:
		return fmt.Errorf("scheduler: remove reservation %q: %w", s.Name, ErrReservationInvalid)
	case e.resvUsed(s.Name, true):
		return fmt.Errorf("scheduler: remove reservation %q: jobs use it: %w", s.Name, ErrReservationBusy)
	}
	e.dropReservation(at)
	return nil
}

// resvUsed reports whether a running job is in the reservation, or with pending
// a waiting one asks for it.
func (e *engine) resvUsed(name string, pending bool) bool {
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if (j.running() || pending && j.state == StatePending) && slices.Contains(j.spec.Reservations, name) {
			return true
		}
	}
	return false
}

// dropReservation forgets a reservation.
func (e *engine) dropReservation(at int) {
	e.resv.all = slices.Delete(e.resv.all, at, at+1)
	e.cfg.Reservations = slices.Delete(e.cfg.Reservations, at, at+1)
	e.resvChanged()
}

// resvChanged notes the next instant at which a reservation starts or ends, and
// that jobs may fit now that did not.
func (e *engine) resvChanged() {
	at := Never
	for i := range e.resv.all {
		switch x := &e.resv.all[i]; {
		case x.start > e.now:
			at = min(at, x.start)
		case x.end > e.now:
			at = min(at, x.end)
		}
	}
	e.resv.nextAt = at
	e.freed++
	e.arrivals++
}

// addReservation checks a specification, chooses nodes or cores, and books it in
// place of number at, or as a new one if at is -1 (spec: reservations 2).
func (e *engine) addReservation(now Time, s *ReservationSpec, at int) error {
	fail := func(err error) error {
		return fmt.Errorf("scheduler: make reservation %q: %w", s.Name, err)
	}
	x, err := e.readReservation(now, s)
	if err != nil {
		return fail(err)
	}
	if err := e.pickReservation(&x, at); err != nil {
		return fail(err)
	}
	if at >= 0 {
		x.id = e.resv.all[at].id
		e.resv.all[at], e.cfg.Reservations[at] = x, x.spec
	} else {
		e.resv.nextID++
		x.id = e.resv.nextID
		if x.spec.Name == "" {
			x.spec.Name = e.resvName(&x)
		}
		e.resv.all = append(e.resv.all, x)
		e.cfg.Reservations = append(e.cfg.Reservations, x.spec)
	}
	e.now = max(e.now, now)
	e.resvChanged()
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && len(j.spec.Reservations) > 0 {
			e.pushLimit(int32(r)) // its reservation may end at another time
		}
	}
	return nil
}

// resvName makes a name up: the first of the access lists and a number.
func (e *engine) resvName(x *reservation) string {
	for _, l := range [][]string{x.spec.Users, x.spec.Groups, x.spec.Accounts, x.spec.QOS, x.spec.Partitions} {
		if len(l) > 0 {
			return fmt.Sprintf("%s_%d", strings.TrimPrefix(l[0], "-"), x.id)
		}
	}
	return fmt.Sprintf("resv_%d", x.id)
}

// readReservation checks what needs no look at nodes.
func (e *engine) readReservation(now Time, s *ReservationSpec) (reservation, error) {
	x := reservation{spec: *s}
	has := func(f string) bool { return slices.Contains(s.Flags, f) }
	if err := checkAccessLists(s); err != nil {
		return x, err
	}
	repeats := 0
	for _, f := range s.Flags {
		switch f {
		case "MAINT":
			x.flags |= resvMaint
		case "OVERLAP":
			x.flags |= resvOverlap
		case "IGNORE_JOBS":
			x.flags |= resvIgnoreJobs
		case "FLEX":
			x.flags |= resvFlex
		case "NO_HOLD_JOBS_AFTER":
			x.flags |= resvNoHold
		case "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND":
			repeats++
		case "SPEC_NODES", "ALL_NODES", "PART_NODES", "STATIC_ALLOC", "REPLACE", "REPLACE_DOWN", "TIME_FLOAT", "MAGNETIC", "ANY_NODES",
			"LICENSE_ONLY", "FORCE_START", "PURGE_COMP", "USER_DELETE":
		default:
			return x, fmt.Errorf("flag %q: %w", f, ErrSpec)
		}
	}
	replaces := has("REPLACE") || has("REPLACE_DOWN")
	anyNodes := has("ANY_NODES") || has("LICENSE_ONLY")
	named := s.Nodes != "" || s.NodeCount > 0 || len(s.CoreCount) > 0 || s.TRES != ""
	switch {
	case repeats > 1, repeats > 0 && has("TIME_FLOAT"), replaces && (has("STATIC_ALLOC") || has("MAINT")):
		return x, ErrReservationFlags
	case replaces && (s.Nodes != "" || len(s.CoreCount) > 0):
		return x, fmt.Errorf("nodes or cores that are replaced: %w", ErrUnknownNode)
	case has("PART_NODES") && (s.Partition == "" || !strings.EqualFold(s.Nodes, "ALL")):
		return x, fmt.Errorf("PART_NODES without a partition or without all nodes: %w", ErrSpec)
	case anyNodes && s.Licenses == "" && s.BurstBuffer == "":
		return x, fmt.Errorf("ANY_NODES without licences: %w", ErrSpec)
	case !named && !anyNodes:
		return x, fmt.Errorf("neither nodes nor cores: %w", ErrUnknownNode)
	}
	x.start = s.Start
	if x.start == 0 {
		x.start = now
	}
	switch x.end = s.End; {
	case s.End == 0 && s.Duration <= 0:
		return x, fmt.Errorf("no end and no duration: %w", ErrSpec)
	case s.End == 0:
		x.end = x.start.Add(min(s.Duration, 365*24*time.Hour))
	}
	switch {
	case x.start >= x.end:
		return x, fmt.Errorf("it ends before it starts: %w", ErrReservationTime)
	case x.start < now.Add(-600*time.Second), x.end <= now:
		return x, ErrReservationTime
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"recurrence", repeats > 0}, {"TIME_FLOAT", has("TIME_FLOAT")}, {"MAGNETIC", has("MAGNETIC")}, {"ANY_NODES", anyNodes},
		{"REPLACE", has("REPLACE")}, {"PURGE_COMP", has("PURGE_COMP") || s.PurgeComp > 0}, {"licences", s.Licenses != ""},
		{"burst buffers", s.BurstBuffer != ""}, {"TRES", s.TRES != ""}, {"MaxStartDelay", s.MaxStartDelay > 0},
	} {
		if f.set {
			return x, fmt.Errorf("%s: %w", f.name, ErrUnsupported)
		}
	}
	x.spec = cloneReservation(s)
	x.spec.Start, x.spec.End, x.spec.Duration = x.start, x.end, 0
	return x, nil
}

func cloneReservation(s *ReservationSpec) ReservationSpec {
	c := *s
	for _, l := range []*[]string{&c.Users, &c.Groups, &c.Accounts, &c.QOS, &c.Partitions, &c.Flags} {
		*l = slices.Clone(*l)
	}
	c.CoreCount = slices.Clone(s.CoreCount)
	return c
}

// checkAccessLists refuses a reservation that nobody could use, and lists that
// allow and deny at once.
func checkAccessLists(s *ReservationSpec) error {
	given := false
	for _, l := range [][]string{s.Users, s.Groups, s.Accounts, s.QOS, s.Partitions} {
		deny := 0
		for _, n := range l {
			if strings.HasPrefix(n, "-") {
				deny++
			}
		}
		if deny > 0 && deny < len(l) {
			return fmt.Errorf("a list allows and denies: %w", ErrSpec)
		}
		given = given || len(l) > 0
	}
	switch {
	case !given:
		return fmt.Errorf("no users, groups, accounts, QOS or partitions: %w", ErrSpec)
	case len(s.Users) > 0 && len(s.Groups) > 0:
		return fmt.Errorf("both users and groups: %w", ErrSpec)
	}
	return nil
}
