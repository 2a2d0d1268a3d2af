package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	// ErrReservationAccess: the job may not use the reservation, or the user
	// may not delete it. Slurm: ESLURM_RESERVATION_ACCESS.
	ErrReservationAccess = errors.New("access denied to requested reservation")
	// ErrReservationTime: it begins too far in the past or has ended. Slurm:
	// ESLURM_INVALID_TIME_VALUE.
	ErrReservationTime = errors.New("time value specified is invalid")
	// ErrReservationFlags: flags that exclude each other, or that cannot be
	// changed. Slurm: ESLURM_NOT_SUPPORTED.
	ErrReservationFlags = errors.New("requested operation is not supported")
	// ErrReservationName: the name is in use. Slurm:
	// ESLURM_RESERVATION_NAME_DUP.
	ErrReservationName = errors.New("duplicate reservation name")
	// ErrReservationCores: what is reserved by cores cannot be resized. Slurm:
	// ESLURM_CORE_RESERVATION_UPDATE.
	ErrReservationCores = errors.New("core count for reservation cannot be changed")
)

// resvFlags are the flags of a reservation.
type resvFlags uint32

const (
	resvMaint resvFlags = 1 << iota
	resvOverlap
	resvIgnoreJobs
	resvHourly
	resvDaily
	resvWeekly
	resvWeekday
	resvWeekend
	resvForceStart
	resvFlex
	resvMagnetic
	resvAnyNodes
	resvPartNodes
	resvReplace
	resvReplaceDown
	resvStatic
	resvFloat
	resvNoHold
	resvPurge
	resvUserDelete
	resvSpecNodes // shown: nodes were named
	resvAllNodes  // shown: all of the cluster
	resvFlagEnd
)

const resvRecurs = resvHourly | resvDaily | resvWeekly | resvWeekday | resvWeekend

// resvFlagNames are the words of Flags=, by bit.
var resvFlagNames = [...]string{
	"MAINT", "OVERLAP", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND", "FORCE_START", "FLEX", "MAGNETIC",
	"ANY_NODES", "PART_NODES", "REPLACE", "REPLACE_DOWN", "STATIC_ALLOC", "TIME_FLOAT", "NO_HOLD_JOBS_AFTER", "PURGE_COMP", "USER_DELETE",
	"SPEC_NODES", "ALL_NODES",
}

// parseResvFlags reads the words of Flags=.
func parseResvFlags(words []string) (f resvFlags, err error) {
	for _, w := range words {
		name := strings.ToUpper(w)
		if name == "LICENSE_ONLY" {
			name = "ANY_NODES"
		}
		i := slices.Index(resvFlagNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("flag %q: %w", w, ErrSpec)
		}
		f |= 1 << i
	}
	return f, nil
}

// words are the words of f.
func (f resvFlags) words() []string {
	var out []string
	for i, n := range resvFlagNames {
		if f&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// A reservation is a ReservationSpec with what was chosen for it.
type reservation struct {
	spec       ReservationSpec // as asked
	flags      resvFlags
	start, end Time
	offset     Time // of TIME_FLOAT: how far ahead it begins
	nodes      topology.NodeSet
	cores      []nodeGrant // cores on each node; empty for whole nodes
	devices    []resvCount // the most that its jobs may hold at once
	licenses   []licenseAsk
	id         int32 // rises with creation
	counted    bool  // nodes were chosen by count
	idleSince  Time  // no job has asked for it or run in it since

	members  []int32 // rows of the jobs that run in it
	failedIn uint64  // number of the pass in which one of its jobs found no place
}

// A resvCount is an amount of one kind.
type resvCount struct {
	kind  gres.Kind
	count int64
}

// during reports whether x holds at any time of [from, to).
func (x *reservation) during(from, to Time) bool { return x.start < to && x.end > from }

// follows reports whether x holds all nodes of the cluster or of a partition,
// whichever they are.
func (x *reservation) follows() bool { return strings.EqualFold(x.spec.Nodes, "ALL") }

// open reports whether its jobs may start at t.
func (x *reservation) open(t Time) bool {
	return t < x.end && (t >= x.start || x.flags&resvFlex != 0) && x.flags&resvFloat == 0
}

// A resvTable holds the reservations, in order of creation.
type resvTable struct {
	all    []reservation
	nextID int32
	nextAt Time   // next start, end or purge
	turns  uint64 // rises with every change
	ups    uint64 // rises when nodes change their state
	starts []Time // of all that do not float, ascending

	floats, magnets, delays int   // reservations of these flags
	looks                   int64 // at nodes and at reservations, counted by tests
	clock                   Time  // of the call that is being handled
	stale                   bool  // nodes of some may have to be replaced

	// What the last try was about: keepReserved to releaseReserved.
	mine    int  // number of the job's reservation, -1 for none
	from    Time // when the job would start
	mark    int  // of the pool while cores are kept, or -1
	kept    gres.Grant
	barred  []barredCores     // the same cores, for jobs that share
	inside  *topology.NodeSet // nodes that a job in a FLEX reservation takes first
	outside topology.NodeSet
	left    topology.NodeSet // scratch of resvInWay

	// The nodes reserved for others, by how many reservations count.
	taken    topology.NodeSet
	takenBy  int
	takenAt  uint64 // turns+1 for which it holds
	takenAny bool
}

// resvByName returns the number of the reservation of that name, -1 for none.
func (e *engine) resvByName(name string) int {
	for i := range e.resv.all {
		if e.resv.all[i].spec.Name == name {
			return i
		}
	}
	return -1
}

// resvAt returns the number of the reservation with an id, -1 for none.
func (e *engine) resvAt(id int32) int {
	if id == 0 {
		return -1
	}
	lo, hi := 0, len(e.resv.all)
	for lo < hi {
		m := (lo + hi) / 2
		if e.resv.all[m].id < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(e.resv.all) && e.resv.all[lo].id == id {
		return lo
	}
	return -1
}

// resvOf is the first reservation of a job's list that still exists, -1 for
// none.
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
	e.resv.nextAt, e.resv.mark, e.resv.mine = Never, -1, -1
	e.resv.taken.Init(len(e.nodes))
	e.resv.outside.Init(len(e.nodes))
	e.resv.left.Init(len(e.nodes))
	specs := e.cfg.Reservations
	e.cfg.Reservations = nil
	for i := range specs {
		if err := e.addReservation(0, &specs[i]); err != nil {
			return err
		}
	}
	return nil
}

// setReservation makes, changes or removes a reservation.
func (e *engine) setReservation(now Time, ev *Event) error {
	s := ev.Reservation
	if ev.ReservationUpdate != nil {
		if s != nil || ev.Remove {
			return fmt.Errorf("scheduler: update reservation %q: one to make or to remove is given too: %w", ev.ReservationUpdate.Name, ErrSpec)
		}
		return e.updateReservation(now, ev.ReservationUpdate)
	}
	if s == nil {
		return fmt.Errorf("scheduler: apply %s: no reservation given: %w", ev.Kind, ErrSpec)
	}
	at := -1
	if s.Name != "" {
		at = e.resvByName(s.Name)
	}
	switch {
	case !ev.Remove && at >= 0:
		return fmt.Errorf("scheduler: make reservation %q: %w", s.Name, ErrReservationName)
	case !ev.Remove:
		return e.addReservation(now, s)
	case at < 0:
		return fmt.Errorf("scheduler: remove reservation %q: %w", s.Name, ErrReservationInvalid)
	case ev.Text != "" && !e.mayDelete(&e.resv.all[at], ev.Text):
		return fmt.Errorf("scheduler: remove reservation %q: user %q: %w", s.Name, ev.Text, ErrReservationAccess)
	case e.resvUsed(at, true):
		return fmt.Errorf("scheduler: remove reservation %q: jobs use it: %w", s.Name, ErrReservationBusy)
	}
	e.now = max(e.now, now)
	e.dropReservation(at)
	return nil
}

// resvUsed reports whether a job runs in the reservation, or with pending one
// waits for it.
func (e *engine) resvUsed(at int, pending bool) bool {
	x := &e.resv.all[at]
	if len(x.members) > 0 {
		return true
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; pending && j.state == StatePending && slices.Contains(j.spec.Reservations, x.spec.Name) {
			return true
		}
	}
	return false
}

// addReservation checks a specification, chooses nodes or cores, and books it
// (spec: reservations 2).
func (e *engine) addReservation(now Time, s *ReservationSpec) error {
	x, err := e.readReservation(now, s)
	if err == nil {
		err = e.pickReservation(&x, -1)
	}
	if err == nil {
		err = e.checkReservedLicenses(&x, -1)
	}
	if err != nil {
		return fmt.Errorf("scheduler: make reservation %q: %w", s.Name, err)
	}
	e.now = max(e.now, now)
	e.resv.nextID++
	x.id = e.resv.nextID
	if x.spec.Name == "" {
		x.spec.Name = e.resvName(&x)
	}
	x.idleSince = x.start
	e.resv.all = append(e.resv.all, x)
	e.resvChanged(x.flags&resvMagnetic != 0)
	return nil
}

// resvName makes a name up that none has: the first of the access lists and a
// number, from that of x on.
func (e *engine) resvName(x *reservation) string {
	first := "resv"
	for _, l := range [][]string{x.spec.Users, x.spec.Groups, x.spec.Accounts, x.spec.QOS, x.spec.Partitions} {
		if len(l) > 0 {
			first = strings.TrimPrefix(l[0], "-")
			break
		}
	}
	for n := x.id; ; n++ {
		if name := fmt.Sprintf("%s_%d", first, n); e.resvByName(name) < 0 {
			return name
		}
	}
}

// dropReservation forgets a reservation.
func (e *engine) dropReservation(at int) {
	magnet := e.resv.all[at].flags&resvMagnetic != 0
	e.resv.all = slices.Delete(e.resv.all, at, at+1)
	e.resvChanged(magnet)
}

// resvChanged notes what follows from the reservations, and that jobs may fit
// now that did not; with records those of waiting jobs are made anew.
func (e *engine) resvChanged(records bool) {
	e.countReservations()
	e.resv.turns++
	e.resv.stale = true
	e.freed++
	e.arrivals++
	if records {
		e.requeueAll()
	}
}

// countReservations derives from the reservations what is kept beside them.
func (e *engine) countReservations() {
	t := &e.resv
	t.nextAt, t.floats, t.magnets, t.delays = Never, 0, 0, 0
	t.starts = t.starts[:0]
	for i := range t.all {
		x := &t.all[i]
		if x.flags&resvFloat != 0 {
			t.floats++
		} else {
			t.starts = append(t.starts, x.start)
		}
		switch {
		case x.flags&resvFloat != 0:
		case x.start > e.now:
			t.nextAt = min(t.nextAt, x.start)
		case x.end > e.now:
			t.nextAt = min(t.nextAt, x.end)
		}
		if x.flags&resvMagnetic != 0 {
			t.magnets++
		}
		if x.spec.MaxStartDelay > 0 {
			t.delays++
		}
		t.nextAt = min(t.nextAt, e.purgeAt(x))
	}
	slices.Sort(t.starts)
}

// requeueAll makes the records of waiting jobs anew.
func (e *engine) requeueAll() {
	for r := range e.jobs.rows {
		if e.jobs.rows[r].state == StatePending {
			e.requeueRecords(int32(r))
		}
	}
}
