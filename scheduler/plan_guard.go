package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// guards are what a record must heed of a node beside its calendar.
type guards uint8

const (
	guardScoped guards = 1 << iota // it takes of racks or nodes
	guardApart                     // nodes of one user's jobs, or one MCS label's
	guardUnits                     // topology units that a job has to itself
	guardKinds                     // nodes of jobs that share cores
)

// guardsOf is what record of a class must heed.
func (e *engine) guardsOf(rec *record) guards {
	p, j := &e.plans, &e.jobs.rows[rec.row]
	g := guards(0)
	if j.licenses.scoped {
		g |= guardScoped
	}
	if e.apart > 0 || p.apart > 0 || e.staysApart(j, int(rec.pair)) {
		g |= guardApart
	}
	if e.holders > 0 || len(p.alone) > 0 || e.classes.rows[j.classes[rec.pair]].unitsAlone {
		g |= guardUnits
	}
	if e.sharing {
		g |= guardKinds
	}
	return g
}

// guardFrom returns the first start at or after t at which nothing that the record
// of the search must heed keeps it off node n for its whole limit.
func (e *engine) guardFrom(n topology.NodeID, t Time) Time {
	s := &e.plans.find
	for {
		at := t
		if s.guards&guardScoped != 0 {
			at = e.servedFrom(&e.jobs.rows[s.record.row].licenses, n, at, s.span)
		}
		if s.guards&(guardApart|guardKinds) != 0 {
			at = e.besideFrom(n, at)
		}
		if s.guards&guardUnits != 0 {
			at = e.heldFrom(n, at)
		}
		if at == t || at == Never {
			return at
		}
		t = at
	}
}

// openGuards readies guardFrom for a record.
func (e *engine) openGuards(rec record, limit time.Duration) {
	s := &e.plans.find
	s.record, s.limit, s.span = rec, limit, spanOf(limit)
	s.class = e.classOf(rec)
	if s.guards = e.guardsOf(&rec); s.guards&guardScoped != 0 {
		e.openUnits()
	}
	e.readyGuards()
}

// keepBeside takes from the set of a try at this instant the nodes off which plans
// keep a record, beside what they hold in the calendars.
func (e *engine) keepBeside(rec record, limit time.Duration) {
	p, s := &e.plans, &e.try
	e.openGuards(rec, limit)
	if p.find.guards == 0 {
		return
	}
	own := e.skipsScoped(rec)
	if own {
		e.staleOwn(rec.row)
	}
	if p.find.guards&guardScoped != 0 {
		e.scopeOver(s.uses, &s.within, e.now, limit)
	}
	for n := range s.within.All() {
		if e.guardFrom(n, e.now) > e.now {
			s.within.Remove(n)
			s.cut = true
		}
	}
	if own {
		e.staleOwn(rec.row)
	}
}

// skipsScoped reports whether plans of the record's own job, which take of racks
// or nodes, do not count.
func (e *engine) skipsScoped(rec record) bool {
	j := &e.jobs.rows[rec.row]
	return e.plans.skip == rec.row && j.licenses.scoped && j.plan > 0
}

// staleOwn makes the futures of units follow whether a job's plans count.
func (e *engine) staleOwn(r int32) {
	j := &e.jobs.rows[r]
	for id := j.plan - 1; id >= 0; id = e.plans.all[id].next - 1 {
		e.staleUnits(&j.licenses, e.plans.all[id].grants)
	}
}

// breakPlan takes a plan out of the calendars for what now runs in its way.
func (e *engine) breakPlan(id int32) {
	x := &e.plans.all[id]
	x.broken = true
	e.unlist(id)
	for i := range x.grants {
		e.plans.touch(x.grants[i].node)
	}
}

// guardsLet reports whether nothing beside the calendars is in the way of a plan
// that is not booked.
func (e *engine) guardsLet(x *plan) bool {
	e.openGuards(record{row: x.row, pair: x.pair, resv: x.resv}, x.limit)
	if e.plans.find.guards == 0 {
		return true
	}
	for i := range x.grants {
		if e.guardFrom(x.grants[i].node, x.start) > x.start {
			return false
		}
	}
	return e.scopedFrom(x) && e.shareFits(x)
}

// onlyReady makes the ready nodes of a search the set of the try; with back it is
// as before.
func (e *engine) onlyReady(back bool) {
	s, t := &e.plans.find, &e.try
	if s.guards == 0 && len(s.block) == 0 {
		return
	}
	if back {
		t.within.Copy(&e.plans.spots)
		return
	}
	e.plans.spots.Copy(&t.within)
	t.within.Clear()
	for i := range s.ready {
		t.within.Add(s.ready[i].node)
	}
}

// readyGuards readies guardFrom for the record of the search.
func (e *engine) readyGuards() {
	p := &e.plans
	s := &p.find
	p.running, p.usedKnown = false, false
	if s.guards&guardUnits != 0 {
		e.listHolds()
	}
}

// besideFrom returns the first start at or after t at which no job or plan on node n
// is one that the record of the search may not be beside: for whose it is, or since one
// of them shares cores and the other does not.
func (e *engine) besideFrom(n topology.NodeID, t Time) Time {
	p := &e.plans
	s := &p.find
	j := &e.jobs.rows[s.record.row]
	mine := e.aloneKind(j, int(s.record.pair))
	for again := true; again && t != Never; {
		again = false
		for _, r := range e.nodes[n].jobs {
			o := &e.jobs.rows[r]
			if to := e.expectedEnd(o); to > t && o.flags&flagAway == 0 && ((o.shareRow > 0) != s.class.shares || j.staysOff(o, mine, e.aloneKind(o, int(o.partIdx)))) {
				t, again = to, true
			}
		}
		if p.running {
			continue
		}
		for _, id := range p.on[n] {
			x := &p.all[id]
			o := &e.jobs.rows[x.row]
			if x.row != p.skip && x.end > t && e.meets(x, t) && (e.classes.rows[o.classes[x.pair]].shares != s.class.shares || j.staysOff(o, mine, e.aloneKind(o, int(x.pair)))) {
				t, again = x.end, true
			}
		}
	}
	return t
}

// meets reports whether a plan begins before the end of the record of the search,
// if that starts at t.
func (e *engine) meets(x *plan, t Time) bool {
	span := e.plans.find.span
	return span == Never || e.bookFrom(x.start) < t+span
}

// notePlan counts a plan that is booked, or with sign -1 is not any more, where
// others must heed it beside the calendars.
func (e *engine) notePlan(id int32, sign int) {
	p := &e.plans
	x := &p.all[id]
	j := &e.jobs.rows[x.row]
	e.staleUnits(&j.licenses, x.grants)
	if e.staysApart(j, int(x.pair)) {
		p.apart += sign
	}
	if e.classes.rows[j.classes[x.pair]].unitsAlone {
		p.holdsKnown = false
		if sign > 0 {
			p.alone = append(p.alone, id)
		} else {
			p.alone = slices.Delete(p.alone, slices.Index(p.alone, id), slices.Index(p.alone, id)+1)
		}
	}
}

// breakGuarded takes out plans that what runs is in the way of beside the
// calendars: it runs longer than they knew. Work: a look at what runs on the nodes
// of each plan, if there is anything to heed.
func (e *engine) breakGuarded() {
	p := &e.plans
	e.breakScoped()
	e.breakShared()
	if e.apart == 0 && p.apart == 0 && !e.sharing && e.holders == 0 && len(p.alone) == 0 {
		return
	}
	for id := range p.all[:p.n] {
		x := &p.all[id]
		if x.row < 0 || !x.booked {
			continue
		}
		e.openGuards(record{row: x.row, pair: x.pair, resv: x.resv}, x.limit)
		p.find.guards &^= guardScoped
		p.running = true
		for i := range x.grants {
			if e.guardFrom(x.grants[i].node, x.start) > x.start {
				e.breakPlan(int32(id))
				break
			}
		}
	}
	p.running = false
}
