package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// visitPlans visits the kept plans and what has become free since they were last
// looked at. Calendars and bounds follow from the books.
func (e *engine) visitPlans(c *codec) {
	p := &e.plans
	if e.cfg.Profile == ProfileSlurm {
		return
	}
	c.bool(&p.open)
	c.uint(&p.serial)
	c.uint(&p.noted)
	c.uint(&p.seenNoted)
	words := p.vacant.Words()
	for w := range words {
		c.uint(&words[w])
	}
	if tail := uint(len(e.nodes)) & 63; c.reading && c.err == nil && tail != 0 && words[len(words)-1]>>tail != 0 {
		c.fail("nodes of plans")
	}
	e.visitChanges(c)
	if c.err != nil {
		return
	}
	var ids []int32
	if !c.reading {
		for id := range p.all[:p.n] {
			if p.all[id].row >= 0 {
				ids = append(ids, int32(id))
			}
		}
	}
	n := c.count(len(ids))
	if !c.reading {
		for _, id := range ids {
			e.visitPlan(c, &p.all[id])
		}
		return
	}
	p.all, p.free = slices.Grow(p.all, n), slices.Grow(p.free, n)
	for ; n > 0 && c.err == nil; n-- {
		e.readPlan(c)
	}
	if c.err == nil {
		e.listPlans()
	}
}

func (e *engine) visitPlan(c *codec, x *plan) {
	e.visitRow(c, &x.row)
	num(c, &x.pair)
	num(c, &x.pick)
	num(c, &x.resv)
	num(c, &x.limit)
	num(c, &x.start)
	num(c, &x.end)
	c.uint(&x.serial)
	num(c, &x.checked)
	num(c, &x.why)
	c.bool(&x.booked)
	c.bool(&x.broken)
	e.visitGrants(c, &x.grants)
}

// readPlan reads a plan and notes whether it is booked; listPlans books it.
func (e *engine) readPlan(c *codec) {
	p := &e.plans
	var x plan
	e.visitPlan(c, &x)
	for i := 0; c.err == nil && i < len(x.grants); i++ {
		e.retype(c, &x.grants[i].grant)
	}
	if c.err != nil {
		return
	}
	rec := record{row: x.row, pair: x.pair, resv: x.resv}
	if !e.soundPlan(&x) || e.planOf(&rec) >= 0 {
		c.fail("plan")
		return
	}
	serial := p.serial
	y := &p.all[e.newPlan(rec)]
	x.next = y.next
	*y = x
	p.serial = serial
}

// listPlans puts the booked plans on their nodes' lists, for which it makes room
// at once.
func (e *engine) listPlans() {
	p := &e.plans
	sizes := make([]int32, len(e.nodes))
	for id := range p.all[:p.n] {
		if x := &p.all[id]; x.booked {
			for i := range x.grants {
				sizes[x.grants[i].node]++
			}
		}
	}
	var room arena[int32]
	for n, size := range sizes {
		p.on[n] = room.take(int(size))[:0]
	}
	for id := range p.all[:p.n] {
		if p.all[id].booked {
			e.list(int32(id))
		}
	}
}

// dropPlansBeside forgets the plans on nodes that are not in a set.
func (e *engine) dropPlansBeside(there *topology.NodeSet) {
	for id := range e.plans.all[:e.plans.n] {
		x := &e.plans.all[id]
		if e.cfg.Profile == ProfileSlurm || x.row < 0 {
			continue
		}
		if slices.ContainsFunc(x.grants, func(a nodeGrant) bool { return !there.Has(a.node) }) {
			e.dropPlan(int32(id))
		}
	}
}

// idleRow is the row of a node on which nothing runs.
func (e *engine) idleRow(n topology.NodeID) []uint64 {
	sh := e.pool.Shape(int32(n))
	if len(e.plans.row) < sh.RowLen() {
		e.plans.row = make([]uint64, sh.RowLen())
	}
	row := e.plans.row[:sh.RowLen()]
	clear(row)
	return row
}

// soundPlan reports whether a plan that was read could be one.
func (e *engine) soundPlan(x *plan) bool {
	j := &e.jobs.rows[x.row]
	if x.checked < 0 || x.checked > e.plans.put || j.state != StatePending || x.pair < 0 || int(x.pair) >= len(j.parts) || x.end < x.start || x.booked && (len(x.grants) == 0 || x.start == Never) {
		return false
	}
	for i := range x.grants {
		a := &x.grants[i]
		if !e.placed(a.node) || i > 0 && x.grants[i-1].node >= a.node {
			return false
		}
		if e.pool.Shape(int32(a.node)).CheckGrant(e.idleRow(a.node), &a.grant) != nil {
			return false
		}
	}
	return x.pick >= 0 && (x.pick == 0 || int(x.pick) < len(j.licenses.asks))
}

// hashPlans folds the plans into one number.
func (e *engine) hashPlans() uint64 {
	h := uint64(0)
	if e.cfg.Profile == ProfileSlurm {
		return h
	}
	for i := range e.plans.all[:e.plans.n] {
		x := &e.plans.all[i]
		if x.row < 0 {
			continue
		}
		v := mix(uint64(e.jobs.rows[x.row].id)) ^ uint64(x.pair)
		v = mix(mix(v^uint64(x.start)) ^ uint64(x.end))
		for k := range x.grants {
			v = mix(v ^ uint64(x.grants[k].node))
			for _, w := range x.grants[k].grant.Cores {
				v = mix(v ^ w)
			}
		}
		h += v
	}
	return h
}
