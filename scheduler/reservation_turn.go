package scheduler

import "slices"

// turnReservations makes reservations begin, end, repeat and go (spec:
// reservations 6).
func (e *engine) turnReservations() {
	t := &e.resv
	if t.floats > 0 {
		e.floatReservations()
	}
	if e.now < t.nextAt {
		return
	}
	for i := 0; i < len(t.all); {
		x := &t.all[i]
		over := x.end <= e.now
		if !over && e.purgeAt(x) <= e.now {
			if over = !e.resvUsed(i, true); !over {
				x.idleSince = e.now
			}
		}
		switch {
		case !over:
			i++
		case x.flags&resvRecurs != 0:
			e.repeatReservation(i)
			i++
		case len(x.members) > 0:
			i++ // it stays until they are gone
		default:
			e.endReservation(i)
		}
	}
	e.resvChanged(false)
	e.replaceReserved()
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.state != StatePending {
			continue
		}
		if j.reason == ReasonReservedMaint || j.reason == ReasonReserved {
			j.reason = ReasonNone
		}
		if len(j.spec.Reservations) > 0 {
			e.requeueRecords(int32(r))
		}
	}
}

// floatReservations keeps TIME_FLOAT reservations as far ahead as they were made.
func (e *engine) floatReservations() {
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if at := e.now + x.offset; x.flags&resvFloat != 0 && x.start != at {
			x.end += at - x.start
			x.start = at
		}
	}
}

// repeatReservation moves a reservation to its next occurrence. Chosen nodes that
// cannot serve it then are chosen anew.
func (e *engine) repeatReservation(at int) {
	x := &e.resv.all[at]
	if x.end > e.now {
		x.start, x.end = e.par.advance(x.flags, x.start, x.end) // purged early
	}
	x.start, x.end = e.par.occurrence(x.flags, x.start, x.end, e.now)
	x.idleSince = x.start
	if !x.counted || x.flags&resvStatic != 0 {
		return
	}
	for n := range x.nodes.All() {
		if !e.up.Has(n) {
			e.rechoose(at)
			return
		}
	}
}

// rechoose picks the nodes of a counted reservation anew; it keeps those it has
// if there are not enough others.
func (e *engine) rechoose(at int) {
	y := e.resv.all[at]
	y.nodes = *y.nodes.Clone()
	if e.pickReservation(&y, at) == nil {
		e.resv.all[at] = y
	}
}

// endReservation forgets a reservation. Jobs that asked for it and for no other
// that is left are held, or with NO_HOLD_JOBS_AFTER compete as others do.
func (e *engine) endReservation(at int) {
	x := &e.resv.all[at]
	name, hold := x.spec.Name, x.flags&resvNoHold == 0
	magnet := x.flags&resvMagnetic != 0
	e.resv.all = slices.Delete(e.resv.all, at, at+1)
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		switch {
		case j.state != StatePending:
		case magnet && len(j.spec.Reservations) == 0:
			e.requeueRecords(int32(r))
		case !slices.Contains(j.spec.Reservations, name) || e.resvOf(j.spec) >= 0:
		case !hold:
			j.change().Reservations = nil
			e.requeueRecords(int32(r))
		case j.flags&(flagHeldUser|flagHeldAdmin) == 0:
			j.flags |= flagHeldAdmin
			j.eligible, j.reason = Never, ReasonReservationDeleted
			j.start, j.end = Never, Never
			e.requeueRecords(int32(r))
		}
	}
}

// purgeAt is when a PURGE_COMP reservation has been idle long enough.
func (e *engine) purgeAt(x *reservation) Time {
	if x.flags&resvPurge == 0 || x.start > e.now || x.end <= e.now || len(x.members) > 0 {
		return Never
	}
	wait := x.spec.PurgeComp
	if wait == 0 {
		wait = resvPurgeTime
	}
	return max(x.idleSince, x.start).Add(wait)
}

// askedNo notes that a job which waited for reservations is gone.
func (e *engine) askedNo(now Time, s *JobSpec) {
	for _, name := range s.Reservations {
		if at := e.resvByName(name); at >= 0 {
			e.resv.all[at].idleSince = max(e.resv.all[at].idleSince, now)
		}
	}
}

// wakeReservations is the next instant at which one begins, ends or goes.
func (e *engine) wakeReservations() Time { return e.resv.nextAt }

// replaceReserved gives counted reservations other nodes for those that are down
// or drained, with REPLACE for those in use too (spec: reservations 3).
func (e *engine) replaceReserved() {
	if !e.resv.stale {
		return
	}
	e.resv.stale = false
	changed := false
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.counted && x.flags&(resvMaint|resvStatic|resvSpecNodes) == 0 && !(len(x.cores) > 0 && x.nodes.Count() > 1) && x.end > e.now {
			changed = e.replaceNodes(i) || changed
		}
	}
	if changed {
		e.resvChanged(false)
		e.resv.stale = false
	}
}

// replaceNodes replaces nodes of one reservation, as many as there are others
// for: half as many when not all can be had.
func (e *engine) replaceNodes(at int) bool {
	x := &e.resv.all[at]
	if len(x.cores) > 0 {
		return e.replaceCores(at)
	}
	keep := x.nodes.Clone()
	for n := range x.nodes.All() {
		if !e.up.Has(n) || x.flags&resvReplace != 0 && len(e.nodes[n].jobs) > 0 {
			keep.Remove(n)
		}
	}
	want, err := e.wantOf(&x.spec)
	if err != nil {
		return false
	}
	lack := max(int(want.nodes), x.nodes.Count()) - keep.Count()
	if len(want.devices) > 0 {
		lack = x.nodes.Count() - keep.Count()
	}
	if lack <= 0 {
		return false
	}
	part, err := e.resvPart(x)
	if err != nil {
		return false
	}
	sets, err := e.candidates(x, at, part)
	if err != nil {
		return false
	}
	free := sets[0]
	free.AndNot(&x.nodes)
	for n := range free.All() {
		if e.busyPast(n, max(x.start, e.now), at) || x.flags&resvReplace != 0 && len(e.nodes[n].jobs) > 0 {
			free.Remove(n)
		}
	}
	for ; lack > 0; lack /= 2 {
		y := reservation{spec: x.spec, flags: x.flags}
		y.nodes.Init(len(e.nodes))
		w := resvWant{nodes: int32(lack), devices: want.devices}
		for k := range w.devices {
			w.devices[k].count = 1
		}
		if !e.pickDevices(&y, part, free, &w) {
			continue
		}
		// As many of those that must go as came, the lowest first.
		n := lack
		for id := range x.nodes.All() {
			if n > 0 && !keep.Has(id) {
				x.nodes.Remove(id)
				n--
			}
		}
		x.nodes.Or(&y.nodes)
		for x.nodes.Count() > max(int(want.nodes), keep.Count()+lack) {
			e.shrink(x, x.nodes.Count()-1)
		}
		return true
	}
	return false
}

// replaceCores picks the cores of a one-node reservation anew when its node is
// down.
func (e *engine) replaceCores(at int) bool {
	for n := range e.resv.all[at].nodes.All() {
		if e.up.Has(n) {
			continue
		}
		was := e.resv.all[at].nodes.Clone()
		e.rechoose(at)
		return !e.resv.all[at].nodes.Equal(was)
	}
	return false
}

// shrink takes nodes off a reservation until n are left: idle ones first, from
// the low end.
func (e *engine) shrink(x *reservation, n int) {
	for _, idle := range []bool{true, false} {
		for id := range x.nodes.All() {
			if x.nodes.Count() <= n {
				return
			}
			if (len(e.nodes[id].jobs) == 0) == idle {
				x.nodes.Remove(id)
			}
		}
	}
}
