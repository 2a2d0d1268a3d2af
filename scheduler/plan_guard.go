package scheduler

import (
	"time"

	"github.com/berth-sched/berth/topology"
)

// guards are what a record must heed of a node beside its calendar.
type guards uint8

const (
	guardScoped guards = 1 << iota // it takes of racks or nodes
)

// guardsOf is what record of a class must heed.
func (e *engine) guardsOf(rec *record) guards {
	g := guards(0)
	if e.jobs.rows[rec.row].licenses.scoped {
		g |= guardScoped
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
	if s.guards = e.guardsOf(&rec); s.guards&guardScoped != 0 {
		e.openUnits()
	}
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
	return e.scopedFrom(x)
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
