package scheduler

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A unitHold is what a job that has its topology units to itself keeps from others.
type unitHold struct {
	nodes topology.NodeSet
	row   int32 // of a running job, -1 for none
	plan  int32 // or number of a plan
}

// A unitSpan is a time over which a unit is used.
type unitSpan struct{ from, to Time }

// listHolds lists what such jobs and plans keep, if that has changed.
func (e *engine) listHolds() {
	p := &e.plans
	if p.holdsKnown {
		return
	}
	p.holds = p.holds[:0]
	for _, r := range e.holding {
		j := &e.jobs.rows[r]
		e.addHold(&e.classes.rows[j.classes[j.partIdx]], j.alloc, r, -1)
	}
	for _, id := range p.alone {
		x := &p.all[id]
		e.addHold(e.classOf(record{row: x.row, pair: x.pair}), x.grants, -1, id)
	}
	p.holdsKnown = true
}

func (e *engine) addHold(c *class, grants []nodeGrant, row, id int32) {
	p := &e.plans
	if len(p.holds) == cap(p.holds) {
		p.holds = slices.Grow(p.holds, 1)
	}
	p.holds = p.holds[:len(p.holds)+1]
	h := &p.holds[len(p.holds)-1]
	h.row, h.plan = row, id
	if h.nodes.Len() != len(e.nodes) {
		h.nodes.Init(len(e.nodes))
	}
	h.nodes.Clear()
	e.addBlocked(&h.nodes, c, e.nodesIn(grants))
}

// nodesIn is the set of the nodes of some grants, valid until the next call.
func (e *engine) nodesIn(grants []nodeGrant) *topology.NodeSet {
	set := &e.plans.some
	set.Clear()
	for i := range grants {
		set.Add(grants[i].node)
	}
	return set
}

// heldFrom returns the first start at or after t at which nobody has node n's units
// to himself, and for a job that wants its units so nobody uses them.
func (e *engine) heldFrom(n topology.NodeID, t Time) Time {
	p := &e.plans
	s := &p.find
	for again := true; again && t != Never; {
		again = false
		for i := range p.holds {
			h := &p.holds[i]
			switch {
			case !h.nodes.Has(n):
			case h.row >= 0:
				if j := &e.jobs.rows[h.row]; j.flags&flagAway == 0 && e.expectedEnd(j) > t {
					t, again = e.expectedEnd(j), true
				}
			case !p.running:
				if x := &p.all[h.plan]; x.row != p.skip && x.end > t && e.meets(x, t) {
					t, again = x.end, true
				}
			}
		}
		if at := t; s.class.unitsAlone && t != Never {
			t = e.unusedFrom(n, t)
			again = again || t > at
		}
	}
	return t
}

// unusedFrom returns the first start at or after t at which the units of node n are
// not used over the limit of the record of the search.
func (e *engine) unusedFrom(n topology.NodeID, t Time) Time {
	p := &e.plans
	if !p.usedKnown || !p.unit.Has(n) {
		e.listUsed(n)
	}
	for _, u := range p.used {
		if span := p.find.span; span != Never && u.from >= t+span {
			break
		}
		t = max(t, u.to)
	}
	return t
}

// listUsed lists when the units of node n are used, in order of time.
func (e *engine) listUsed(n topology.NodeID) {
	p := &e.plans
	p.some.Clear()
	p.some.Add(n)
	p.unit.Clear() // none where the topology has no units
	e.addForbidden(&p.unit, p.find.class, &p.some)
	p.used = p.used[:0]
	for m := range p.unit.All() {
		for _, r := range e.nodes[m].jobs {
			if j := &e.jobs.rows[r]; j.flags&flagAway == 0 {
				p.used = append(p.used, unitSpan{before, e.expectedEnd(j)})
			}
		}
		for _, id := range p.on[m] {
			if x := &p.all[id]; !p.running && x.row != p.skip {
				p.used = append(p.used, unitSpan{e.bookFrom(x.start), x.end})
			}
		}
	}
	slices.SortFunc(p.used, func(a, b unitSpan) int { return cmp.Compare(a.from, b.from) })
	p.usedKnown = true
}
