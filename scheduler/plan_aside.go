package scheduler

import "time"

// A job has a record, and maybe a plan, for each partition and reservation that
// it may use. When it starts by one of them all its plans go, so none of them is in
// the way of a start by another.

// startAside tries a record now in the place that plans of its job by other records
// hold as well, and starts it there. tried reports whether there is such a plan.
func (e *engine) startAside(dst []Decision, w *walk, limit time.Duration) (_ []Decision, tried bool) {
	p := &e.plans
	p.aside = p.aside[:0]
	for id := e.jobs.rows[w.rec.row].plan - 1; id >= 0; id = p.all[id].next - 1 {
		if x := &p.all[id]; id != w.id && x.booked && e.mayMeet(w.rec, x) {
			p.aside = append(p.aside, id)
		}
	}
	if len(p.aside) == 0 {
		return dst, false
	}
	for _, id := range p.aside {
		e.unbookPlan(id)
		e.ownNodes(p.all[id].grants)
	}
	_, ok := e.earliest(w.rec, limit, e.now+1, nil)
	p.disown()
	if ok {
		dst = e.startPlanned(dst, w)
	}
	if !e.jobs.rows[w.rec.row].running() {
		for _, id := range p.aside {
			e.bookPlan(id)
		}
	}
	return dst, true
}

// mayMeet reports whether a plan holds a node that a record may use.
func (e *engine) mayMeet(rec record, x *plan) bool {
	on := e.classOf(rec).nodes
	if at := e.resvAt(rec.resv); at >= 0 && e.resv.all[at].flags&(resvFlex|resvAnyNodes) == 0 {
		on = &e.resv.all[at].nodes
	}
	for i := range x.grants {
		if on.Has(x.grants[i].node) {
			return true
		}
	}
	return false
}

// makeRoom tries a record that has no place with all plans of lower rank out of the
// way. If it gains by that they stay out until the walk comes to them; else all is
// as before, and the answer what was found beside them: at and ok.
func (e *engine) makeRoom(w *walk, limit time.Duration, at Time, ok bool) (Time, bool) {
	p := &e.plans
	if w.id >= 0 && p.left <= 0 {
		return at, ok // it has been tried when it came
	}
	e.liftBelow(w.pos)
	p.left -= int64(len(p.lifts))
	if t, fits := e.earliest(w.rec, limit, Never, nil); fits && (!ok || t < at) {
		return t, true
	}
	for _, id := range p.lifts {
		e.bookPlan(id)
	}
	p.lifted = false
	return e.earliest(w.rec, limit, Never, nil)
}
