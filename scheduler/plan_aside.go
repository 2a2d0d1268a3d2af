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

// lower reports whether plans below a newcomer have to make room for it.
func (e *engine) lower(w *walk) bool {
	p := &e.plans
	if e.par.Plan.Promise != PromiseBestEffort || p.lifted {
		return false
	}
	for i := len(p.order) - 1; i >= 0; i-- {
		if x := &p.all[p.order[i]]; x.row >= 0 && x.booked {
			return x.pos > w.pos
		}
	}
	return false
}

// liftBelow takes all plans of lower rank out of the calendars; each goes back
// to its place, if that is still free, when the walk comes to it.
func (e *engine) liftBelow(pos int32) {
	p := &e.plans
	p.lifts = p.lifts[:0]
	for _, id := range p.order {
		if x := &p.all[id]; x.row >= 0 && x.booked && x.pos > pos {
			e.unbookPlan(id)
			p.lifts = append(p.lifts, id)
		}
	}
	p.bounds.reset()
	p.lifted = true
}

// liftOn is liftBelow for the plans on the nodes of x.
func (e *engine) liftOn(x *plan, pos int32) {
	p := &e.plans
	for i := range x.grants {
		n := x.grants[i].node
		for k := 0; k < len(p.on[n]); {
			id := p.on[n][k]
			y := &p.all[id]
			if y.pos <= pos {
				k++
				continue
			}
			e.unbookPlan(id)
			for m := range y.grants {
				p.bounds.drop(y.grants[m].node)
			}
		}
	}
}
