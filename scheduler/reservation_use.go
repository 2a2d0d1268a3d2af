package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/topology"
)

// resvWaits reports whether a job must wait for its reservations to begin, to let it
// in, or for the records of them to go.
func (e *engine) resvWaits(j *job) bool {
	known := false
	for _, name := range j.spec.Reservations {
		at := e.resvByName(name)
		if at < 0 {
			continue
		}
		if x := &e.resv.all[at]; x.open(e.resv.clock) && e.lets(x, j.spec, j.own) && e.admitsAnyOf(x, j) {
			return false
		}
		known = true
	}
	return known
}

// admitsAnyOf reports whether a reservation lets a job in in any of its partitions,
// with any of its QOS.
func (e *engine) admitsAnyOf(x *reservation, j *job) bool {
	for i := range j.parts {
		if e.admitsRecord(x, j, i) {
			return true
		}
	}
	return false
}

// A resvChoice is a reservation that a record of a job is for.
type resvChoice struct {
	id    int32 // 0 for none
	order int16 // place among the records of a job in one partition
}

// choices lists the reservations for which a job gets records: those of its
// list by start, or the MAGNETIC ones that take it, and none.
func (e *engine) choices(dst []resvChoice, j *job) []resvChoice {
	if len(j.spec.Reservations) == 0 {
		dst = append(dst, resvChoice{})
		for i := range e.resv.all {
			if x := &e.resv.all[i]; e.resv.magnets > 0 && e.attracts(x, j) {
				dst = append(dst, resvChoice{x.id, int16(len(dst))})
			}
		}
		return dst
	}
	for _, name := range j.spec.Reservations {
		at := e.resvByName(name)
		if at < 0 || !e.lets(&e.resv.all[at], j.spec, j.own) {
			continue
		}
		x := &e.resv.all[at]
		dst = append(dst, resvChoice{id: x.id})
		for k := len(dst) - 1; k > 0 && e.resv.all[e.resvAt(dst[k-1].id)].start > x.start; k-- {
			dst[k], dst[k-1] = dst[k-1], dst[k]
		}
	}
	for k := range dst {
		dst[k].order = int16(k)
	}
	if len(dst) == 0 {
		dst = append(dst, resvChoice{})
	}
	return dst
}

// resvGate reports whether the reservation of a record takes jobs now: it has
// begun, and none of its jobs failed in this pass.
func (e *engine) resvGate(rec record) bool {
	at := e.resvAt(rec.resv)
	if at < 0 {
		return false
	}
	x := &e.resv.all[at]
	j := &e.jobs.rows[rec.row]
	switch {
	case !x.open(e.now), !e.admitsRecord(x, j, int(rec.pair)):
		return false
	case len(j.spec.Reservations) == 0:
		// A MAGNETIC one takes only what ends in time.
		return x.flags&resvFlex != 0 || e.now.Add(e.timeLimit(j, int(rec.pair))) <= x.end
	}
	return true
}

// resvLast is when the reservation of a record takes no more jobs. One that is
// FLEX takes them before each occurrence too, so that it never stops if it repeats.
func (e *engine) resvLast(rec record) Time {
	at := e.resvAt(rec.resv)
	if at < 0 || e.resv.all[at].flags&resvFlex != 0 && e.resv.all[at].flags&resvRecurs != 0 {
		return Never
	}
	return e.resv.all[at].end
}

// resvEnd is when a running job is ended by the end of its reservation (spec:
// reservations 7.5).
func (e *engine) resvEnd(j *job) Time {
	if j.resv == 0 || e.par.ResvOverRun == Infinite {
		return Never
	}
	return j.resvEnd.Add(e.par.ResvOverRun)
}

// enterReservation notes in which reservation a job starts.
func (e *engine) enterReservation(r, id int32) {
	j := &e.jobs.rows[r]
	j.resv, j.resvEnd = 0, Never
	at := e.resvAt(id)
	if at < 0 {
		return
	}
	x := &e.resv.all[at]
	j.resv = id
	if x.flags&resvFlex == 0 {
		j.resvEnd = x.end
	}
	x.members = append(x.members, r)
	if x.flags&resvReplace != 0 {
		e.resv.stale = true
		e.resv.nextAt = min(e.resv.nextAt, e.now)
	}
}

// leaveReservation takes a job that ended out of its reservation.
func (e *engine) leaveReservation(now Time, r int32) {
	j := &e.jobs.rows[r]
	if at := e.resvAt(j.resv); at >= 0 {
		x := &e.resv.all[at]
		for i, m := range x.members {
			if m == r {
				x.members = append(x.members[:i], x.members[i+1:]...)
				break
			}
		}
		x.idleSince = now
		e.resv.nextAt = min(e.resv.nextAt, now) // it may go now
	}
	j.resv, j.resvEnd = 0, Never
}

// borrows reports whether a job may be on nodes of x while it holds: it said
// that a signal makes it leave soon enough (spec: reservations 7.4).
func (x *reservation) borrows(s *JobSpec) bool {
	return x.spec.MaxStartDelay > 0 && s.SignalBefore > 0 && s.SignalBefore <= x.spec.MaxStartDelay && strings.Contains(s.SignalFlags, "R")
}

// keepReserved readies a try of a record over [from, from+limit) for the
// reservations: from the set of the try it takes the nodes that are not the
// job's to use, and in the pool it books cores that are not. releaseReserved
// takes that back.
func (e *engine) keepReserved(rec record, from Time, limit time.Duration) {
	t, s := &e.resv, &e.try
	t.mark, t.mine, t.from, t.inside, s.cut = -1, -1, from, nil, false
	e.keepScoped(&e.jobs.rows[rec.row], from)
	if len(t.all) == 0 {
		return
	}
	t.mine = e.resvAt(rec.resv)
	to := from.Add(limit)
	if t.mine < 0 && from == e.now && t.floats == 0 && t.delays == 0 {
		if e.takenUntil(to) {
			s.within.AndNot(&t.taken)
			s.cut = true
		}
	} else {
		e.dropReserved(rec, from, to)
	}
	if t.mine >= 0 {
		e.keepInside(&t.all[t.mine])
	}
	t.looks += int64(len(t.all))
	for i := range t.all {
		if x := &t.all[i]; len(x.cores) > 0 && i != t.mine && e.holdsDuring(x, from, to) && !e.passesOver(x, rec) {
			for k := range x.cores {
				e.bookCores(&x.cores[k], false)
			}
			e.keepListed(rec, x)
		}
	}
}

// keepListed keeps a job that lists nodes and counts none on its list while cores
// there are reserved for others: Slurm does not add nodes to make up for those
// (spec: reservations, case 33).
func (e *engine) keepListed(rec record, x *reservation) {
	c := e.classOf(rec)
	if e.cfg.Profile == ProfileSlurm && c.list != nil && e.jobs.rows[rec.row].spec.MinNodes == 0 && c.list.Intersects(&x.nodes) {
		e.try.within.And(c.list)
		e.try.cut = true
	}
}

// takenUntil makes taken the nodes that are reserved whole before to, and
// reports whether there are any.
func (e *engine) takenUntil(to Time) bool {
	t := &e.resv
	by := e.startedBy(to)
	if t.takenAt == t.turns+1 && t.takenBy == by {
		return t.takenAny
	}
	t.takenAt, t.takenBy, t.takenAny = t.turns+1, by, false
	t.taken.Clear()
	t.looks += int64(len(t.all))
	for i := range t.all {
		if x := &t.all[i]; len(x.cores) == 0 && x.during(e.now, to) && !x.nodes.Empty() {
			t.taken.Or(&x.nodes)
			t.takenAny = true
		}
	}
	return t.takenAny
}

// dropReserved takes from the set of the try the nodes reserved whole for others
// at any time of [from, to).
func (e *engine) dropReserved(rec record, from, to Time) {
	e.resv.looks += int64(len(e.resv.all))
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if i != e.resv.mine && len(x.cores) == 0 && e.holdsDuring(x, from, to) && !e.passesOver(x, rec) {
			e.try.within.AndNot(&x.nodes)
			e.try.cut = true
		}
	}
}

// passesOver reports whether a record need not heed reservation o, which is not
// its own.
func (e *engine) passesOver(o *reservation, rec record) bool {
	if at := e.resvAt(rec.resv); at >= 0 {
		x := &e.resv.all[at]
		return x.flags&resvMaint != 0 || x.flags&resvOverlap != 0 && o.flags&resvMaint == 0
	}
	return o.borrows(e.jobs.rows[rec.row].spec)
}

// keepInside keeps a job on the nodes and cores of its reservation, or has it
// take them first.
func (e *engine) keepInside(x *reservation) {
	switch {
	case x.flags&resvAnyNodes != 0:
		return
	case x.flags&resvFlex != 0:
		e.resv.inside = &x.nodes
		return
	}
	e.try.within.And(&x.nodes)
	e.try.cut = true
	for k := range x.cores {
		e.bookCores(&x.cores[k], true)
	}
}

// bookCores is bookFree under the mark of the try.
func (e *engine) bookCores(a *nodeGrant, others bool) {
	if e.resv.mark < 0 {
		e.resv.mark = e.pool.Mark()
	}
	e.bookFree(a, others)
	if e.sharing {
		e.resv.barred = append(e.resv.barred, barredCores{a, others})
	}
}

// bookFree books the free cores of a reserved grant, or the free cores of its
// node that are not in it.
func (e *engine) bookFree(a *nodeGrant, others bool) {
	n := int32(a.node)
	sh := e.pool.Shape(n)
	used := sh.UsedCores(e.pool.Row(n))
	g := &e.resv.kept
	g.Cores = append(g.Cores[:0], a.grant.Cores...)
	for w := range g.Cores {
		if others {
			g.Cores[w] = ^g.Cores[w]
			if left := sh.Cores() - 64*w; left < 64 {
				g.Cores[w] &= 1<<max(left, 0) - 1
			}
		}
		g.Cores[w] &^= used[w]
	}
	e.pool.Take(n, g)
}

// releaseReserved takes back what keepReserved booked.
func (e *engine) releaseReserved() {
	e.resv.inside, e.resv.barred = nil, e.resv.barred[:0]
	if e.resv.mark >= 0 {
		e.pool.Rollback(e.resv.mark)
		e.resv.mark = -1
	}
}

// resvClash reports whether the place in the scratch is on nodes reserved for
// others during [t, t+limit).
func (e *engine) resvClash(rec record, t Time, limit time.Duration) bool {
	to := t.Add(limit)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == rec.resv || !e.holdsDuring(x, t, to) || len(x.cores) > 0 || e.passesOver(x, rec) {
			continue
		}
		if slices.ContainsFunc(e.try.nodes, x.nodes.Has) {
			return true
		}
	}
	return false
}

// coresClash reports whether grants hold cores that are reserved for others during
// [t, t+limit).
func (e *engine) coresClash(rec record, grants []nodeGrant, t Time, limit time.Duration) bool {
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == rec.resv || len(x.cores) == 0 || !e.holdsDuring(x, t, t.Add(limit)) || e.passesOver(x, rec) {
			continue
		}
		for k := range grants {
			at := indexOfGrant(x.cores, grants[k].node)
			if at < len(x.cores) && x.cores[at].node == grants[k].node && meetWords(x.cores[at].grant.Cores, grants[k].grant.Cores) {
				return true
			}
		}
	}
	return false
}

// meetWords reports whether two sets of cores share one.
func meetWords(a, b []uint64) bool {
	for w := range min(len(a), len(b)) {
		if a[w]&b[w] != 0 {
			return true
		}
	}
	return false
}

// outsideOwn reports whether a start at t on the nodes of grants is not within the
// reservation of its record as that is now.
func (e *engine) outsideOwn(rec record, grants []nodeGrant, t Time) bool {
	if rec.resv == 0 {
		return false
	}
	at := e.resvAt(rec.resv)
	if at < 0 || t >= e.resvLast(rec) {
		return true
	}
	x := &e.resv.all[at]
	if x.flags&(resvFlex|resvAnyNodes) != 0 {
		return false
	}
	for k := range grants {
		n := grants[k].node
		if !x.nodes.Has(n) {
			return true
		}
		if i := indexOfGrant(x.cores, n); i < len(x.cores) && x.cores[i].node == n {
			for w, c := range grants[k].grant.Cores {
				if c&^x.cores[i].grant.Cores[w] != 0 {
					return true
				}
			}
		}
	}
	return false
}

// reservedFrom is the first instant of [now, now+limit) at which one of nodes is
// reserved for others than job j, Never if none is.
func (e *engine) reservedFrom(j *job, nodes []topology.NodeID, limit time.Duration) Time {
	at, to := Never, e.now.Add(limit)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == j.resv || !x.during(e.now, to) || len(x.cores) > 0 || x.borrows(j.spec) {
			continue
		}
		if slices.ContainsFunc(nodes, x.nodes.Has) {
			at = min(at, max(x.start, e.now))
		}
	}
	return at
}

// placeReserved places a request on the nodes of the try. A job of a FLEX
// reservation takes that reservation's nodes first.
func (e *engine) placeReserved(c *class, limit time.Duration, plans *planner) bool {
	s, t := &e.try, &e.resv
	if t.mine >= 0 && !e.withinDevices(&t.all[t.mine], c) {
		s.refusal = topology.Refusal{Rule: topology.RuleEmpty, Unit: topology.NoUnit}
		return false
	}
	if !c.one {
		return e.placeNow(c, limit, plans)
	}
	if t.inside != nil {
		t.outside.Copy(&s.within)
		s.within.And(t.inside)
		s.cut = true
		if e.placeNow(c, limit, plans) {
			return true
		}
		s.within.Copy(&t.outside)
	}
	return e.placeNow(c, limit, plans)
}

// withinDevices reports whether a request asks no more devices than its
// reservation has beside what its jobs hold when it would start.
func (e *engine) withinDevices(x *reservation, c *class) bool {
	for _, d := range x.devices {
		used := int64(0)
		for _, m := range x.members {
			j := &e.jobs.rows[m]
			if j.end <= e.resv.from && e.resv.from > e.now {
				continue
			}
			used += e.holds(j, d)
		}
		if used+c.tres[d.kind] > d.count {
			return false
		}
	}
	return true
}

// holds counts the devices of a kind that a running job asked for.
func (e *engine) holds(j *job, d resvCount) int64 {
	return e.classes.rows[j.classes[j.partIdx]].tres[d.kind]
}
