package scheduler

import (
	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

func (e *engine) inWindow(t Time) bool {
	w := e.par.Plan.Window
	return t != Never && (w == Infinite || t <= e.now.Add(w))
}

// gains reports whether a node on which something has become free would let a
// plan start earlier, others permitting.
func (e *engine) gains(x *plan) bool {
	p := &e.plans
	j := &e.jobs.rows[x.row]
	c := &e.classes.rows[j.classes[x.pair]]
	ask, ok := e.pool.Ask(c.pool)
	if !ok {
		return false
	}
	until := x.start + 1
	if x.start == Never {
		until = Never
	}
	span := spanOf(x.limit)
	for _, n := range p.log[x.checked:] {
		p.left--
		if !c.nodes.Has(n) || !e.up.Has(n) {
			continue
		}
		if x.booked && holds(x, n) {
			if p.cal[n].runUp(ask, span, e.now, x.start, x.end) < until {
				return true
			}
		} else if start, _ := p.cal[n].window(ask, span, e.now, e.grain()); start < until {
			return true
		}
	}
	return false
}

// gainsNow is gains for a start at this instant. Requests of a kind look at the
// nodes that have something free for their kind now.
func (e *engine) gainsNow(x *plan) bool {
	p := &e.plans
	j := &e.jobs.rows[x.row]
	c := &e.classes.rows[j.classes[x.pair]]
	ask, ok := e.pool.Ask(c.pool)
	if !ok {
		return false
	}
	span := spanOf(x.limit)
	b := p.bounds.of(e.pool.Coarse(ask), span, len(e.nodes))
	e.openNow(b)
	for _, n := range b.open {
		if !c.nodes.Has(n) || !e.up.Has(n) || !p.cal[n].steps[0].digest.Covers(ask) {
			continue
		}
		at := Never
		if x.booked && holds(x, n) {
			at = p.cal[n].runUp(ask, span, e.now, x.start, x.end)
		} else {
			at, _ = p.cal[n].window(ask, span, e.now, e.grain())
		}
		if at <= e.now {
			return e.enoughNow(x, b, ask, span, int(c.min))
		}
	}
	return false
}

// openNow lists for a kind of request the nodes on which something has become
// free in this pass that is free now, and counts all that may be free for it.
func (e *engine) openNow(b *bounds) {
	p := &e.plans
	if b.pass != e.passNo {
		b.pass, b.seen, b.open = e.passNo, -1, b.open[:0]
	}
	if b.seen == len(p.log) {
		return
	}
	for _, n := range p.log[max(b.seen, 0):] {
		at, _ := p.cal[n].window(b.ask, b.span, e.now, 1)
		if at > b.least[n] {
			b.raise(n, at)
		}
		if at <= e.now || p.nodes.Has(n) && p.cal[n].steps[0].digest.Covers(b.ask) {
			b.open = append(b.open, n)
		}
	}
	b.seen = len(p.log)
	b.tidy()
	b.free = 0
	for w, at := range b.first {
		if at > e.now {
			continue
		}
		for _, at := range b.least[w<<6 : min(w<<6+64, len(b.least))] {
			if at <= e.now {
				b.free++
			}
		}
	}
}

// enoughNow reports whether as many nodes as a plan needs may be free now, those
// that it holds later among them.
func (e *engine) enoughNow(x *plan, b *bounds, ask gres.Digest, span Time, want int) bool {
	have := b.free
	if !x.booked {
		return have >= want
	}
	for i := range x.grants {
		if have >= want || have+len(x.grants)-i < want {
			break
		}
		c := &e.plans.cal[x.grants[i].node]
		if (x.start <= e.now || c.steps[0].digest.Covers(ask)) && c.runUp(ask, span, e.now, x.start, x.end) <= e.now {
			have++
		}
	}
	return have >= want
}

func holds(x *plan, n topology.NodeID) bool {
	at := indexOfGrant(x.grants, n)
	return at < len(x.grants) && x.grants[at].node == n
}
