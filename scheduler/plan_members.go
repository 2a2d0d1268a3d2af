package scheduler

// devicesFrom returns the first instant at or after t from which a record asks no
// more devices than its reservation counts beside those that others of it hold, or
// have planned, at any time of its limit.
func (e *engine) devicesFrom(t Time) Time {
	s := &e.plans.find
	at := e.resvAt(s.record.resv)
	if at < 0 || len(e.resv.all[at].devices) == 0 {
		return t
	}
	x, asks := &e.resv.all[at], e.classOf(s.record).tres
	for t != Never {
		next := t
		for _, d := range x.devices {
			if asks[d.kind] > d.count {
				return Never
			}
			if end := e.crowded(x, d, d.count-asks[d.kind], t); end > next {
				next = end
			}
		}
		if next == t {
			break
		}
		t = next
	}
	return t
}

// crowded looks for an instant of the search's limit from t at which more than left
// of d is held by jobs of x or planned for them. It returns the first end of those
// after it, or t if there is none.
func (e *engine) crowded(x *reservation, d resvCount, left int64, t Time) Time {
	end := t.Add(e.plans.find.limit)
	if next, full := e.heldAt(x, d, left, t); full {
		return next
	}
	for i := range e.plans.all[:e.plans.n] {
		if y := &e.plans.all[i]; y.row >= 0 && y.booked && y.resv == x.id && y.start > t && y.start < end {
			if next, full := e.heldAt(x, d, left, y.start); full {
				return next
			}
		}
	}
	return t
}

// heldAt reports whether jobs of x hold more than left of d at t, and when the first
// of them ends.
func (e *engine) heldAt(x *reservation, d resvCount, left int64, t Time) (next Time, full bool) {
	held := int64(0)
	next = Never
	for _, m := range x.members {
		if j := &e.jobs.rows[m]; t <= e.now || e.expectedEnd(j) > t {
			held += e.holds(j, d)
			next = min(next, e.expectedEnd(j))
		}
	}
	for i := range e.plans.all[:e.plans.n] {
		y := &e.plans.all[i]
		if y.row >= 0 && y.booked && y.resv == x.id && y.row != e.plans.find.record.row && y.start <= t && y.end > t {
			held += e.classes.rows[e.jobs.rows[y.row].classes[y.pair]].tres[d.kind]
			next = min(next, y.end)
		}
	}
	return next, held > left
}

// keepsLicenses reports whether reservations leave a booked plan its licences, and
// its own the devices that it counts.
func (e *engine) keepsLicenses(id int32) bool {
	p := &e.plans
	x := &p.all[id]
	if len(e.jobs.rows[x.row].licenses.asks) == 0 && x.resv == 0 {
		return true
	}
	e.unlist(id)
	p.find.record, p.find.limit = record{row: x.row, pair: x.pair, resv: x.resv}, x.limit
	at := e.licensedFrom(max(x.start, e.now))
	e.list(id)
	return at <= x.start
}
