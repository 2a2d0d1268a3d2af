package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/topology"
)

// A ReservationUpdate changes a reservation; a nil field stays as it is. Slurm:
// scontrol update reservation.
type ReservationUpdate struct {
	// Name of the reservation.
	Name string
	// Start and End move it. Start of one that has begun cannot change.
	Start *Time `json:",omitempty"`
	// End moves its end; without End and Duration it stays as long as it was.
	End *Time `json:",omitempty"`
	// Duration sets its end from its start.
	Duration *time.Duration `json:",omitempty"`
	// Extend lengthens it; negative shortens. Slurm: duration+=, duration-=.
	Extend *time.Duration `json:",omitempty"`
	// Nodes sets the nodes, adds some or takes some off: one hostlist.
	Nodes *ListChange `json:",omitempty"`
	// NodeCount resizes it.
	NodeCount *int32 `json:",omitempty"`
	// CoreCount is refused: what is reserved by cores cannot be resized.
	CoreCount []int32 `json:",omitempty"`
	// TRES, Licenses, BurstBuffer and Features replace what is held.
	TRES *string `json:",omitempty"`
	// Licenses that it holds.
	Licenses *string `json:",omitempty"`
	// BurstBuffer that it holds.
	BurstBuffer *string `json:",omitempty"`
	// Features of nodes chosen from now on.
	Features *string `json:",omitempty"`
	// Partition to choose from; it cannot be taken away.
	Partition *string `json:",omitempty"`
	// Users, Groups, Accounts, QOS and Partitions change who may use it.
	Users *ListChange `json:",omitempty"`
	// Groups that may use it.
	Groups *ListChange `json:",omitempty"`
	// Accounts that may use it.
	Accounts *ListChange `json:",omitempty"`
	// QOS that may use it.
	QOS *ListChange `json:",omitempty"`
	// Partitions that may use it.
	Partitions *ListChange `json:",omitempty"`
	// Flags are set, added or taken off.
	Flags *ListChange `json:",omitempty"`
	// PurgeComp replaces the time without jobs.
	PurgeComp *time.Duration `json:",omitempty"`
	// MaxStartDelay replaces the longest notice of borrowers.
	MaxStartDelay *time.Duration `json:",omitempty"`
	// Skip moves one that repeats to its next occurrence.
	Skip bool `json:",omitempty"`
}

// A ListChange changes a list: Op is empty to replace it, "+" to add to it, "-"
// to take from it.
type ListChange struct {
	// Op is "", "+" or "-".
	Op string `json:",omitempty"`
	// Names are the list's items.
	Names []string `json:",omitempty"`
}

// apply changes a list; nil changes nothing.
func (c *ListChange) apply(l *[]string) error {
	switch {
	case c == nil:
		return nil
	case c.Op == "":
		*l = slices.Clone(c.Names)
	case c.Op == "+":
		for _, n := range c.Names {
			if !slices.Contains(*l, n) {
				*l = append(*l, n)
			}
		}
	case c.Op == "-":
		*l = slices.DeleteFunc(*l, func(n string) bool { return slices.Contains(c.Names, n) })
	default:
		return fmt.Errorf("change %q of a list: %w", c.Op, ErrSpec)
	}
	return nil
}

// updateReservation changes a reservation as an event says. What cannot be is
// refused before anything changes (spec: reservations 6.3).
func (e *engine) updateReservation(now Time, u *ReservationUpdate) error {
	at := e.resvByName(u.Name)
	fail := func(err error) error {
		return fmt.Errorf("scheduler: update reservation %q: %w", u.Name, err)
	}
	if at < 0 {
		return fail(ErrReservationInvalid)
	}
	x := &e.resv.all[at]
	y := *x
	y.spec, y.nodes = cloneReservation(&x.spec), *x.nodes.Clone()
	if err := e.changeSpec(&y, u); err != nil {
		return fail(err)
	}
	if err := e.changeSpan(now, &y, u); err != nil {
		return fail(err)
	}
	if err := e.changeNodes(&y, at, u); err != nil {
		return fail(err)
	}
	if y.start != x.start || y.end != x.end || !y.nodes.Equal(&x.nodes) || u.Licenses != nil || u.TRES != nil || (y.flags^x.flags)&(resvMaint|resvRecurs) != 0 {
		if err := e.checkOthers(&y, at); err != nil {
			return fail(err)
		}
	}
	e.now = max(e.now, now)
	magnet := (x.flags|y.flags)&resvMagnetic != 0
	*x = y
	e.resvChanged(magnet)
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; !magnet && j.state == StatePending && slices.Contains(j.spec.Reservations, u.Name) {
			e.requeueRecords(int32(r))
		}
	}
	for _, r := range x.members {
		j := &e.jobs.rows[r]
		if j.resvEnd = x.end; x.flags&resvFlex != 0 {
			j.resvEnd = Never
		}
		e.pushLimit(r)
	}
	return nil
}

// changeSpec changes everything but time and nodes.
func (e *engine) changeSpec(y *reservation, u *ReservationUpdate) error {
	s := &y.spec
	old := y.flags
	if u.CoreCount != nil {
		return ErrReservationCores
	}
	if u.Partition != nil && *u.Partition == "" {
		return fmt.Errorf("partition taken away: %w", ErrUnknownPartition)
	}
	words, flags := y.flags.words(), u.Flags
	if flags != nil {
		f, err := parseResvFlags(flags.Names)
		if err != nil {
			return err
		}
		flags = &ListChange{Op: flags.Op, Names: f.words()}
	}
	err := errors.Join(u.Users.apply(&s.Users), u.Groups.apply(&s.Groups), u.Accounts.apply(&s.Accounts), u.QOS.apply(&s.QOS),
		u.Partitions.apply(&s.Partitions), flags.apply(&words))
	if err != nil {
		return err
	}
	set(&s.TRES, u.TRES)
	set(&s.Licenses, u.Licenses)
	set(&s.BurstBuffer, u.BurstBuffer)
	set(&s.Features, u.Features)
	set(&s.Partition, u.Partition)
	set(&s.MaxStartDelay, u.MaxStartDelay)
	set(&s.PurgeComp, u.PurgeComp)
	if y.flags, err = parseResvFlags(words); err != nil {
		return err
	}
	const shown = resvSpecNodes | resvAllNodes
	y.flags = y.flags&^shown | old&shown
	if u.PurgeComp != nil {
		y.flags |= resvPurge
	}
	const kept = resvReplace | resvReplaceDown | resvOverlap | resvNoHold
	if (old^y.flags)&resvFloat != 0 || old&^y.flags&kept != 0 {
		return ErrReservationFlags
	}
	if err := errors.Join(e.checkAsked(s), e.checkAccess(s)); err != nil {
		return err
	}
	return e.checkResvFlags(y)
}

// changeSpan moves a reservation in time.
func (e *engine) changeSpan(now Time, y *reservation, u *ReservationUpdate) error {
	if u.Skip {
		if y.flags&resvRecurs == 0 {
			return fmt.Errorf("nothing to skip to: %w", ErrReservationFlags)
		}
		y.start, y.end = e.par.advance(y.flags, y.start, y.end)
		y.idleSince = y.start
	}
	long := y.end.Sub(y.start)
	if u.Start != nil && *u.Start != y.start {
		switch {
		case y.start <= now && y.flags&resvFloat == 0:
			return fmt.Errorf("it has begun: %w", ErrReservationTime)
		case *u.Start < now.Add(-resvPast):
			return fmt.Errorf("start %d is past: %w", *u.Start, ErrReservationTime)
		}
		y.start = *u.Start
		y.end = y.start.Add(long)
		y.idleSince = y.start
	}
	if u.Duration != nil {
		y.end = y.start.Add(min(*u.Duration, resvYear))
	}
	if u.End != nil {
		y.end = *u.End
	}
	if u.Extend != nil {
		y.end = y.end.Add(*u.Extend)
	}
	switch {
	case y.end <= y.start:
		return fmt.Errorf("it ends before it starts: %w", ErrReservationTime)
	case y.end <= now:
		return fmt.Errorf("end %d is past: %w", y.end, ErrReservationTime)
	}
	if y.flags&resvFloat != 0 {
		y.offset = max(y.start-now, 0)
	}
	y.spec.Start, y.spec.End, y.spec.Duration = y.start, y.end, 0
	return nil
}

// changeNodes gives a reservation other nodes, more or fewer.
func (e *engine) changeNodes(y *reservation, at int, u *ReservationUpdate) error {
	count, err := e.countAsked(y, u)
	if err != nil {
		return err
	}
	if (u.Nodes != nil || count != nil) && len(y.cores) > 0 {
		return ErrReservationCores
	}
	had := y.nodes.Clone()
	switch {
	case u.Nodes != nil:
		err = e.changeNamed(y, u.Nodes)
	case u.Partition != nil && y.follows():
		err = e.namedNodes(y)
	}
	if err == nil && count != nil {
		err = e.changeCount(y, at, *count)
	}
	if err != nil {
		return err
	}
	if count != nil && u.Nodes == nil {
		y.spec.NodeCount = *count
	}
	if (u.Nodes != nil || y.flags&resvSpecNodes != 0 && count != nil) && !(count == nil && y.follows()) {
		y.spec.Nodes, y.spec.NodeCount = string(e.names.AppendSet(nil, &y.nodes)), 0
		y.flags &^= resvAllNodes | resvPartNodes
	}
	y.counted = y.counted && y.spec.Nodes == ""
	if u.TRES != nil || len(y.devices) > 0 && !y.nodes.Equal(had) {
		if err := e.changeDevices(y, at); err != nil {
			return err
		}
	}
	if y.flags&resvIgnoreJobs == 0 {
		for n := range y.nodes.All() {
			if !had.Has(n) && e.busyPast(n, y.start+1, at) {
				return ErrReservationBusy
			}
		}
	}
	return nil
}

// countAsked is how many nodes a reservation is to have from now on, nil for as
// many as it has; TRES may say so. It refuses to change what is held of cores.
func (e *engine) countAsked(y *reservation, u *ReservationUpdate) (*int32, error) {
	count := u.NodeCount
	if u.TRES != nil {
		w, err := e.wantOf(&ReservationSpec{TRES: *u.TRES})
		switch {
		case err != nil:
			return nil, err
		case len(w.cores) > 0:
			return nil, ErrReservationCores
		case w.nodes > 0 && count == nil:
			count = &w.nodes
		}
	}
	if count != nil && *count <= 0 {
		return nil, fmt.Errorf("%d nodes: %w", *count, ErrUnknownNode)
	}
	return count, nil
}

// changeCount resizes a reservation to n nodes.
func (e *engine) changeCount(y *reservation, at int, n int32) error {
	more := int(n) - y.nodes.Count()
	if more <= 0 {
		e.shrink(y, int(n))
		return nil
	}
	part, err := e.resvPart(y)
	if err != nil {
		return err
	}
	sets, err := e.candidates(y, at, part)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sets, func(s *topology.NodeSet) bool { return e.growBy(y, at, part, more, s) }) {
		return ErrReservationBusy
	}
	return nil
}

// changeDevices follows a change of the devices that a reservation holds, or of its
// nodes: what was chosen by count is chosen anew where its nodes have too few.
func (e *engine) changeDevices(y *reservation, at int) error {
	want, err := e.wantOf(&y.spec)
	if err != nil {
		return err
	}
	y.devices = nil
	if err = e.capDevices(y, &want); err == nil || !y.counted {
		return err
	}
	return e.pickReservation(y, at)
}

// changeNamed sets, adds or removes named nodes.
func (e *engine) changeNamed(y *reservation, c *ListChange) error {
	hosts := strings.Join(c.Names, ",")
	if c.Op == "" {
		y.spec.Nodes = hosts
		return e.namedNodes(y)
	}
	list, err := e.reservedList(hosts)
	if err != nil {
		return err
	}
	if c.Op == "+" {
		y.nodes.Or(list)
	} else {
		y.nodes.AndNot(list)
	}
	y.flags |= resvSpecNodes
	if y.nodes.Empty() {
		return fmt.Errorf("no nodes left: %w", ErrUnknownNode)
	}
	y.spec.Nodes = string(e.names.AppendSet(nil, &y.nodes))
	return nil
}

// growBy adds n nodes of set that no job is expected to use when y begins.
func (e *engine) growBy(y *reservation, at int, part int32, n int, set *topology.NodeSet) bool {
	free := set.Clone()
	free.AndNot(&y.nodes)
	for id := range set.All() {
		if y.flags&resvIgnoreJobs == 0 && free.Has(id) && e.busyPast(id, max(y.start, e.now), at) {
			free.Remove(id)
		}
	}
	more := reservation{spec: y.spec, flags: y.flags}
	more.nodes.Init(len(e.nodes))
	if !e.pickNodes(&more, part, free, int32(n)) {
		return false
	}
	y.nodes.Or(&more.nodes)
	return true
}
