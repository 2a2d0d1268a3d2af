package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// before is the instant at which every calendar begins.
const before = Time(math.MinInt64)

// A step is what is in use on a node from an instant until the next step: by
// jobs that run, until their limits, and by plans. Neighbours differ.
type step struct {
	at     Time
	digest gres.Digest
	state  gres.StateID // held in the pool
	grows  bool         // something is taken that was free in the step before
}

// A calendar is the future of a node, from now on: the first step is what is in
// use now.
type calendar struct{ steps []step }

// A turn is an instant at which a job or a plan begins or ends on a node.
type turn struct {
	at    Time
	begin bool
	id    JobID
	plan  int32 // number of a plan, or -1
	grant *gres.Grant
}

func compareTurns(a, b turn) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	switch {
	case a.begin != b.begin && a.begin:
		return 1 // what ends makes room for what begins
	case a.begin != b.begin:
		return -1
	}
	if c := cmp.Compare(a.id, b.id); c != 0 {
		return c
	}
	return cmp.Compare(a.plan, b.plan)
}

// at returns the number of the step that holds at t.
func (c *calendar) at(t Time) int {
	lo, hi := 0, len(c.steps)
	for hi-lo > 1 {
		m := int(uint(lo+hi) >> 1)
		if c.steps[m].at <= t {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// window returns the earliest start at or after from at which every step of the
// next span covers ask, and the last start of the same run; Never if there is
// none. What it finds may still be refused: steps may hold different devices.
func (c *calendar) window(ask gres.Digest, span, from, grain Time) (start, last Time) {
	s := c.steps
	i := c.at(from)
	for {
		for !s[i].digest.Covers(ask) {
			if i++; i == len(s) {
				return Never, Never
			}
			from = roundTo(s[i].at, grain)
		}
		for i++; ; i++ {
			if i == len(s) {
				return from, Never
			}
			if !s[i].digest.Covers(ask) {
				break
			}
		}
		if span != Never && s[i].at-span >= from {
			return from, s[i].at - span
		}
	}
}

// runUp is window for a request that would take the place of one of its kind:
// what is in use over [from, to) counts as free.
func (c *calendar) runUp(ask gres.Digest, span, now, from, to Time) Time {
	run := Never
	long := func(end Time) bool { return run != Never && span != Never && end-span >= run }
	for i := range c.steps {
		a, b := max(c.steps[i].at, now), Never
		if i+1 < len(c.steps) {
			b = c.steps[i+1].at
		}
		if c.steps[i].digest.Covers(ask) {
			run = min(run, a)
			continue
		}
		lo, hi := max(a, from), min(b, to)
		if lo >= hi || lo > a {
			if long(a) {
				return run
			}
			run = Never
		}
		if lo >= hi {
			continue
		}
		run = min(run, lo)
		if hi < b {
			if long(hi) {
				return run
			}
			run = Never
		}
	}
	return run
}

// roundTo rounds t up to a multiple of grain.
func roundTo(t, grain Time) Time {
	if grain <= 1 || t > Never-grain {
		return t
	}
	return (t + grain - 1) / grain * grain
}

// grain is the unit to which starts of plans are rounded up.
func (e *engine) grain() Time { return Time(e.par.Plan.Resolution / time.Microsecond) }

// spanOf is a limit in units of Time, Never if it has no end.
func spanOf(limit time.Duration) Time { return Time(0).Add(limit) }

// openCalendars makes the calendars when the first plan is needed.
func (p *planner) openCalendars(e *engine) {
	if p.cal != nil {
		return
	}
	p.open = true
	n := len(e.nodes)
	p.cal = make([]calendar, n)
	p.nextAt = make([]Time, n)
	p.weight = make([]uint32, n)
	p.log, p.stales = slices.Grow(p.log, n), slices.Grow(p.stales, n) // as many as one pass may follow
	const room = 16
	arena := make([]step, room*n)
	for i := range p.cal {
		p.cal[i].steps = arena[i*room : i*room : (i+1)*room]
		p.nextAt[i] = Never
	}
	for i := range e.there.All() {
		p.weight[i] = e.weightOf(i)
		p.touch(i)
	}
	e.pool.ReserveStates(4 * n)
}

// touch notes that what runs on a node has changed.
func (p *planner) touch(n topology.NodeID) {
	if p.cal != nil && !p.stale.Has(n) {
		p.stale.Add(n)
		p.stales = append(p.stales, n)
	}
}

// touchJob notes that a running job is expected to end at another time.
func (e *engine) touchJob(j *job) {
	for i := range j.alloc {
		e.plans.vacate(j.alloc[i].node)
	}
	e.staleUnits(&j.licenses, j.alloc)
	e.noteAround(j, j.partIdx, j.alloc)
}

// rebuild makes the calendar of a node anew. Plans that do not fit any more
// beside what runs are broken: they are left out, and listed.
func (e *engine) rebuild(n topology.NodeID) {
	p := &e.plans
	turns := p.turns[:0]
	for _, r := range e.nodes[n].jobs {
		j := &e.jobs.rows[r]
		turns = append(turns, turn{at: e.expectedEnd(j), id: j.id, plan: -1, grant: j.grantOn(n)})
	}
	for _, id := range p.on[n] {
		x := &p.all[id]
		g := grantOn(x.grants, n)
		turns = append(turns, turn{at: x.start, begin: true, id: e.jobs.rows[x.row].id, plan: id, grant: g})
		if x.end != Never {
			turns = append(turns, turn{at: x.end, id: e.jobs.rows[x.row].id, plan: id, grant: g})
		}
	}
	slices.SortFunc(turns, compareTurns)
	p.turns = turns
	c := &p.cal[n]
	for i := range c.steps {
		e.pool.DropState(c.steps[i].state)
	}
	c.steps = c.steps[:0]
	sh, row := e.pool.Shape(int32(n)), append(p.row[:0], e.pool.Row(int32(n))...)
	e.bareRow(sh, row, n)
	at := before
	for i := 0; ; {
		for ; i < len(turns) && (turns[i].at == at || turns[i].begin && turns[i].at <= e.now); i++ {
			e.takeTurn(sh, row, n, &turns[i])
		}
		e.pushStep(c, n, at, row)
		if i == len(turns) {
			break
		}
		at = turns[i].at
	}
	p.row = row
	p.nextAt[n] = Never
	if len(c.steps) > 1 {
		p.nextAt[n] = c.steps[1].at
	}
}

// takeTurn applies a turn to a row.
func (e *engine) takeTurn(sh *gres.Shape, row []uint64, n topology.NodeID, x *turn) {
	p := &e.plans
	switch {
	case x.plan >= 0 && p.all[x.plan].broken:
	case !x.begin:
		sh.Give(row, x.grant)
	case !e.up.Has(n) || sh.CheckGrant(row, x.grant) != nil:
		p.all[x.plan].broken = true
		p.broken = append(p.broken, x.plan)
	default:
		sh.Take(row, x.grant)
	}
}

// pushStep ends a calendar with a step, unless nothing changes.
func (e *engine) pushStep(c *calendar, n topology.NodeID, at Time, row []uint64) {
	id := e.pool.HoldRow(e.pool.ShapeID(int32(n)), row)
	if k := len(c.steps); k > 0 && c.steps[k-1].state == id {
		e.pool.DropState(id)
		return
	}
	c.steps = append(c.steps, step{at: at, state: id, digest: e.pool.Digest(id)})
	e.markGrowth(c, len(c.steps)-1)
}

// markGrowth computes whether step i takes something that was free before it.
func (e *engine) markGrowth(c *calendar, i int) {
	if i == 0 {
		c.steps[0].grows = false
		return
	}
	was, is := e.pool.StateRow(c.steps[i-1].state).Row, e.pool.StateRow(c.steps[i].state).Row
	grows := false
	for w := range is {
		grows = grows || is[w]&^was[w] != 0
	}
	c.steps[i].grows = grows
}

// cut makes t the beginning of a step and returns its number.
func (e *engine) cut(c *calendar, t Time) int {
	if t == Never {
		return len(c.steps)
	}
	i := c.at(t)
	if c.steps[i].at == t {
		return i
	}
	s := c.steps[i]
	e.pool.HoldState(s.state)
	s.at, s.grows = t, false
	c.steps = slices.Insert(c.steps, i+1, s)
	return i + 1
}

// bookStep takes a grant in the calendar of a node over [from, to), or gives it
// back.
func (e *engine) bookStep(n topology.NodeID, from, to Time, g *gres.Grant, give bool) {
	p := &e.plans
	c := &p.cal[n]
	i, j := e.cut(c, from), e.cut(c, to)
	sh, shape := e.pool.Shape(int32(n)), e.pool.ShapeID(int32(n))
	for k := i; k < j; k++ {
		s := &c.steps[k]
		row := append(p.row[:0], e.pool.StateRow(s.state).Row...)
		p.row = row
		if give {
			sh.Give(row, g)
		} else {
			sh.Take(row, g)
		}
		id := e.pool.HoldRow(shape, row)
		e.pool.DropState(s.state)
		s.state, s.digest = id, e.pool.Digest(id)
	}
	for k := min(j, len(c.steps)-1); k >= max(i, 1); k-- {
		if c.steps[k].state == c.steps[k-1].state {
			e.pool.DropState(c.steps[k].state)
			c.steps = slices.Delete(c.steps, k, k+1)
		}
	}
	for k := max(i-1, 0); k <= min(j, len(c.steps)-1); k++ {
		e.markGrowth(c, k)
	}
	p.nextAt[n] = Never
	if len(c.steps) > 1 {
		p.nextAt[n] = c.steps[1].at
	}
}

// stateOver returns the state of all that is in use on node n at any time of
// [t, to). It is valid until the pool is asked for another.
func (e *engine) stateOver(n topology.NodeID, t, to Time) gres.StateID {
	p := &e.plans
	c := &p.cal[n]
	i := c.at(t)
	id, grown := c.steps[i].state, false
	for k := i + 1; k < len(c.steps) && c.steps[k].at < to; k++ {
		if !c.steps[k].grows {
			continue
		}
		if !grown {
			p.row = append(p.row[:0], e.pool.StateRow(id).Row...)
			grown = true
		}
		e.pool.Shape(int32(n)).Union(p.row, e.pool.StateRow(c.steps[k].state).Row)
	}
	if !grown {
		return id
	}
	id = e.pool.HoldRow(e.pool.ShapeID(int32(n)), p.row)
	e.pool.DropState(id)
	return id
}

// nextStep returns the first instant after t at which the calendar of node n
// changes.
func (p *planner) nextStep(n topology.NodeID, t Time) Time {
	c := &p.cal[n]
	if i := c.at(t) + 1; i < len(c.steps) {
		return c.steps[i].at
	}
	return Never
}

// lastStep returns the instant from which the calendar of node n changes no more.
func (p *planner) lastStep(n topology.NodeID) Time {
	c := &p.cal[n]
	return c.steps[len(c.steps)-1].at
}
