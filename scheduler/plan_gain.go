package scheduler

import (
	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

func (e *engine) inWindow(t Time) bool {
	w := e.par.Plan.Window
	return t != Never && (w == Infinite || t <= e.now.Add(w))
}

// A kind is what is to be known of a plan to tell quickly what it gains. It
// follows from the class of its record.
type kind struct {
	ask    gres.Digest
	want   int32 // nodes
	bounds int32 // number of its bounds
	shapes int32 // of the pool when the digest was made; 0 before
	alone  bool  // has its topology units to itself: what they are used for elsewhere counts too
}

// kindOf returns the kind of a plan, and false if no node has what it asks.
func (e *engine) kindOf(x *plan) (*kind, bool) {
	k := &x.kind
	if shapes := int32(e.pool.NumShapes()); k.shapes != shapes {
		c := &e.classes.rows[e.jobs.rows[x.row].classes[x.pair]]
		ask, ok := e.pool.Ask(c.pool)
		if !ok {
			return nil, false
		}
		*k = kind{ask, int32(c.min), e.plans.bounds.row(e.pool.Coarse(ask), spanOf(x.limit), len(e.nodes)), shapes, c.unitsAlone}
	}
	return k, true
}

// gains reports whether a node on which something has become free would let a
// plan start earlier, others permitting.
func (e *engine) gains(x *plan) bool {
	p := &e.plans
	k, ok := e.kindOf(x)
	if !ok || k.alone {
		return ok
	}
	b := &p.bounds.rows[k.bounds]
	nodes := e.classes.rows[e.jobs.rows[x.row].classes[x.pair]].nodes
	until := x.start + 1
	if x.start == Never {
		until = Never
	}
	span := spanOf(x.limit)
	for _, n := range p.log[x.checked:] {
		p.left--
		if x.booked && holds(x, n) {
			if nodes.Has(n) && e.up.Has(n) && p.cal[n].runUp(k.ask, span, e.now, x.start, x.end) < until {
				return true
			}
			continue
		}
		if !nodes.Has(n) || !e.up.Has(n) || e.boundOn(b, n) >= until {
			continue
		}
		if start, _ := p.cal[n].window(k.ask, span, e.now, e.grain()); start < until {
			return true
		}
	}
	return false
}

// boundOn is the bound of a node, found anew if nothing is known of it.
func (e *engine) boundOn(b *bounds, n topology.NodeID) Time {
	if b.least[n] == before {
		if at, _ := e.plans.cal[n].window(b.ask, b.span, e.now, 1); at > before {
			b.raise(n, at)
		}
	}
	return b.least[n]
}

// An openNode is a node that may be free now for a kind of request.
type openNode struct {
	node topology.NodeID
	at   int32 // changes of the log up to the last that was on it
}

// maxOpen is how many nodes are listed for a kind of request; if there are more,
// only their number counts.
const maxOpen = 32

// openNow lists for a kind of request the nodes that are free now.
func (e *engine) openNow(b *bounds) {
	p := &e.plans
	if b.pass != e.passNo {
		b.pass, b.seen, b.open, b.free = e.passNo, p.listed(), b.open[:0], 0
		b.tidy()
		for w, at := range b.first {
			if at > e.now {
				continue
			}
			for n := w << 6; n < min(w<<6+64, len(b.least)); n++ {
				if b.least[n] <= e.now {
					e.noteOpen(b, topology.NodeID(n), p.listed())
				}
			}
		}
	}
	for ; b.seen < len(p.log); b.seen++ {
		if n := p.log[b.seen]; b.least[n] <= e.now {
			e.noteOpen(b, n, b.seen+1)
		}
	}
}

// noteOpen lists a node that may be free now, if it is.
func (e *engine) noteOpen(b *bounds, n topology.NodeID, at int) {
	if b.free > maxOpen {
		b.free++ // if it has not been counted
		return
	}
	if !e.there.Has(n) {
		b.raise(n, Never)
		return
	}
	if from, _ := e.plans.cal[n].window(b.ask, b.span, e.now, 1); from > e.now {
		b.raise(n, from)
		return
	}
	for i := range b.open {
		if b.open[i].node == n {
			b.open[i].at = int32(at)
			return
		}
	}
	if b.free++; b.free <= maxOpen {
		b.open = append(b.open, openNode{n, int32(at)})
	}
}

// listed is the number of changes that are not looked at one by one for starts at
// this instant: those that concern all nodes, and that earlier passes left.
func (p *planner) listed() int { return max(p.put, p.anywhere) }

// gainsNow is gains for a start at this instant: it reports whether as many nodes
// as a plan needs may be free now, and something has become free on one of them.
// Its own nodes may be free before it begins.
func (e *engine) gainsNow(x *plan) bool {
	k, ok := e.kindOf(x)
	if !ok || k.alone {
		return ok
	}
	b := &e.plans.bounds.rows[k.bounds]
	e.openNow(b)
	most, want, span := b.free, int(k.want), spanOf(x.limit)
	if most+len(x.grants) < want {
		return false
	}
	have, gains := 0, false
	if x.booked {
		for i := range x.grants {
			if most+have+len(x.grants)-i < want {
				return false
			}
			c := &e.plans.cal[x.grants[i].node]
			if (x.start <= e.now || c.steps[0].digest.Covers(k.ask)) && c.runUp(k.ask, span, e.now, x.start, x.end) <= e.now {
				have, gains = have+1, true
			}
		}
	}
	if most > maxOpen {
		return true
	}
	from := max(x.checked, x.now)
	nodes := e.classes.rows[e.jobs.rows[x.row].classes[x.pair]].nodes
	for i := range b.open {
		n := b.open[i].node
		if x.booked && holds(x, n) || !nodes.Has(n) || !e.up.Has(n) {
			continue
		}
		if at, _ := e.plans.cal[n].window(k.ask, span, e.now, e.grain()); at <= e.now {
			have, gains = have+1, gains || int(b.open[i].at) > from
		}
	}
	return gains && have >= want
}

func holds(x *plan, n topology.NodeID) bool {
	if len(x.grants) == 0 || n < x.grants[0].node || n > x.grants[len(x.grants)-1].node {
		return false
	}
	at := indexOfGrant(x.grants, n)
	return at < len(x.grants) && x.grants[at].node == n
}
