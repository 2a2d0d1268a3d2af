package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// bookPlan puts a plan into the calendars.
func (e *engine) bookPlan(id int32) {
	x := &e.plans.all[id]
	for i := range x.grants {
		e.bookStep(x.grants[i].node, e.bookFrom(x.start), x.end, &x.grants[i].grant, false)
	}
	e.list(id)
}

// unbookPlan takes a plan out of the calendars. Its grants stay noted; who leaves
// them for good says so with leave.
func (e *engine) unbookPlan(id int32) {
	x := &e.plans.all[id]
	for i := range x.grants {
		e.bookStep(x.grants[i].node, e.bookFrom(x.start), x.end, &x.grants[i].grant, true)
	}
	e.unlist(id)
}

// bookFrom is the instant from which the calendars hold what begins at t.
func (e *engine) bookFrom(t Time) Time {
	if t <= e.now {
		return before
	}
	return t
}

// leave notes that what a plan held is free.
func (e *engine) leave(x *plan) {
	for i := range x.grants {
		e.freeNode(x.grants[i].node)
	}
	e.noteAround(&e.jobs.rows[x.row], x.pair, x.grants)
}

// freeNode notes in a pass that something on node n has become free.
func (e *engine) freeNode(n topology.NodeID) {
	p := &e.plans
	p.log = append(p.log, n)
	p.bounds.drop(n)
}

// ownNodes makes a search look at nodes whatever their bounds.
func (e *engine) ownNodes(grants []nodeGrant) {
	p := &e.plans
	for i := range grants {
		p.own.Add(grants[i].node)
		p.owned = append(p.owned, grants[i].node)
	}
}

func (p *planner) disown() {
	for _, n := range p.owned {
		p.own.Remove(n)
	}
	p.owned = p.owned[:0]
}

// fitsBack reports whether all that a plan that is not booked was to hold is
// free.
func (e *engine) fitsBack(x *plan) bool {
	if len(x.grants) == 0 || x.start <= e.now {
		return false
	}
	e.plans.find.record = record{row: x.row, pair: x.pair, resv: x.resv}
	e.plans.find.limit = x.limit
	for i := range x.grants {
		n := x.grants[i].node
		if !e.up.Has(n) || e.pool.Shape(int32(n)).CheckGrant(e.pool.StateRow(e.stateOver(n, x.start, x.end)).Row, &x.grants[i].grant) != nil {
			return false
		}
	}
	return e.licensedFrom(x.start) == x.start && e.guardsLet(x)
}

// searchRow is what is in use on node n at any time of the search's limit from
// t, as one row.
func (e *engine) searchRow(n topology.NodeID, t Time) []uint64 {
	w, s := &e.try, &e.plans.find
	w.union = append(w.union[:0], e.pool.StateRow(e.stateOver(n, t, t.Add(s.limit))).Row...)
	if e.coresKept(n) {
		e.overlayCores(e.pool.Shape(int32(n)), w.union, n, t)
	}
	return w.union
}

// bookRunning puts a job that has started in this pass into the calendars,
// which were up to date before.
func (e *engine) bookRunning(r int32) {
	p := &e.plans
	j := &e.jobs.rows[r]
	if len(p.stales) != len(j.alloc) {
		e.catchUp() // more has changed than its nodes
		return
	}
	to := e.expectedEnd(j)
	for i := range j.alloc {
		n := j.alloc[i].node
		e.bookStep(n, before, to, &j.alloc[i].grant, false)
		p.stale.Remove(n)
	}
	p.stales = p.stales[:0]
	p.licenseStale = true
}

// catchUp brings the calendars up to date with what runs. Plans that do not fit
// any more are taken out.
func (e *engine) catchUp() {
	p := &e.plans
	for len(p.stales) > 0 {
		many := len(p.stales) > len(p.cal)/8
		if many {
			p.bounds.reset()
		}
		slices.Sort(p.stales) // which of two plans breaks must not depend on what came first
		for _, n := range p.stales {
			e.rebuild(n)
			if !many {
				p.bounds.drop(n)
			}
		}
		p.stale.Clear()
		p.stales = p.stales[:0]
		for _, id := range p.broken {
			x := &p.all[id]
			e.unlist(id)
			for i := range x.grants {
				p.touch(x.grants[i].node)
			}
		}
		p.broken = p.broken[:0]
		p.licenseStale = true
	}
}

// syncPlans makes calendars and plans follow what has happened since the last
// pass: jobs that left the queue, nodes that failed, limits that were overrun.
// Work: a look a node and a plan, and a calendar for each node that changed.
func (e *engine) syncPlans() {
	p := &e.plans
	p.openCalendars(e)
	for id := range p.all[:p.n] {
		x := &p.all[id]
		if x.row < 0 {
			continue
		}
		if j := &e.jobs.rows[x.row]; j.state != StatePending || j.flags&flagQueued == 0 || x.resv != 0 && e.resvAt(x.resv) < 0 {
			e.dropPlan(int32(id))
			continue
		}
		if x.booked && x.start < e.now {
			x.start = e.now // the pass comes late
			x.end = e.planEnd(x.start, x.limit)
			for i := range x.grants {
				p.touch(x.grants[i].node)
			}
		}
	}
	for n, at := range p.nextAt {
		if at <= e.now {
			p.touch(topology.NodeID(n))
		}
	}
	if len(e.resv.all) > 0 && e.loose() {
		e.breakReserved()
	}
	e.breakGuarded()
	e.catchUp()
	p.log = p.log[:p.put]
	for n := range p.vacant.All() {
		p.log = append(p.log, n)
	}
}

// planEnd is the end of a plan that begins at t.
func (e *engine) planEnd(t Time, limit time.Duration) Time {
	return roundTo(t.Add(limit), e.grain())
}

// breakReserved takes out plans that meet a reservation for others, or that are no
// longer within their own.
func (e *engine) breakReserved() {
	p := &e.plans
	turned := p.turned != e.resv.turns
	p.turned = e.resv.turns
	for id := range p.all[:p.n] {
		x := &p.all[id]
		if x.row < 0 || !x.booked {
			continue
		}
		e.try.nodes = e.try.nodes[:0]
		for i := range x.grants {
			e.try.nodes = append(e.try.nodes, x.grants[i].node)
		}
		rec := record{row: x.row, pair: x.pair, resv: x.resv}
		if e.resvClash(rec, x.start, x.limit) || e.coresClash(rec, x.grants, x.start, x.limit) || e.outsideOwn(rec, x.grants, x.start) || turned && !e.keepsLicenses(int32(id)) {
			x.broken = true
			e.unlist(int32(id))
			for i := range x.grants {
				p.touch(x.grants[i].node)
			}
		}
	}
}
