package scheduler

import (
	"time"

	"github.com/berth-sched/berth/topology"
)

// An attempt says when, and beside what, a request is placed.
type attempt struct {
	at     Time
	limit  time.Duration
	plans  *planner
	idle   bool // on nodes as if nothing ran
	filled bool // the columns of the try are filled already
}

// A featureTry is the scratch of placing alternatives and counts of features.
type featureTry struct {
	base     topology.NodeSet // nodes of the try before features narrow them
	taken    topology.NodeSet // picked for counts
	required topology.NodeSet // those and the job's own node list
	better   *topology.NodeSet
	part     class // the request as a term or the rest of the job asks it
}

// placeNow places a class at this instant on the nodes of the try.
func (e *engine) placeNow(c *class, limit time.Duration, plans *planner) bool {
	a := attempt{at: e.now, limit: limit, plans: plans}
	if c.shares {
		return e.placeRows(c, &a)
	}
	return e.place(c, &a)
}

// place places a class as its features ask: on the nodes of the first
// alternative that serves it, or on so many nodes of each term (spec: cores 8.3,
// 8.4). What is found is in the scratch; the set of the try is as before.
func (e *engine) place(c *class, a *attempt) bool {
	w := c.wish
	if w == nil {
		return e.placeSet(c, a)
	}
	s := &e.try
	if s.features.base.Len() != len(e.nodes) {
		for _, set := range []*topology.NodeSet{&s.features.base, &s.features.taken, &s.features.required} {
			set.Init(len(e.nodes))
		}
	}
	on := &s.within
	if a.idle || a.filled {
		on = &s.fit
	}
	base := &s.features.base
	base.Copy(on)
	ok := false
	if len(w.terms) > 0 {
		ok = e.placeCounts(c, a, on)
	}
	for i := range w.alts {
		on.AndOf(base, &w.alts[i].nodes)
		if ok = e.placeSet(c, a); ok {
			break
		}
	}
	if on == &s.within || !ok {
		on.Copy(base)
	}
	return ok
}

// placeSet places a class on the nodes of the try.
func (e *engine) placeSet(c *class, a *attempt) bool {
	switch {
	case a.idle:
		return e.arrangeIdle(c)
	case a.filled:
		return e.arrange(c, a.at, a.limit, a.plans)
	case c.one:
		return e.placeOne(c, a.limit, a.plans)
	}
	return e.placeMany(c, a.limit, a.plans)
}

// placeCounts picks so many nodes of each term in turn, and places the job on
// all of them and what more it asks.
func (e *engine) placeCounts(c *class, a *attempt, on *topology.NodeSet) bool {
	s, w := &e.try, c.wish
	f := &s.features
	short := func() bool {
		s.refusal = topology.Refusal{Rule: topology.RuleShort, Unit: topology.NoUnit}
		return false
	}
	if e.cfg.Defects && c.countsWait() {
		return short()
	}
	filter := c.list != nil && c.list.Count() > int(c.min)
	if filter {
		f.base.And(c.list)
	}
	f.taken.Clear()
	for i := range w.terms {
		if !e.pickTerm(c, a, on, i) {
			return false
		}
	}
	f.required.Copy(&f.taken)
	if c.list != nil && !filter {
		f.required.Or(c.list)
	}
	p := e.partOf(c)
	p.list = &f.required
	p.min = max(c.min, int32(f.required.Count()))
	p.fit.Min, p.fit.Want = p.min, max(p.fit.Want, p.min)
	if p.fit.Max > 0 && p.fit.Max < p.min {
		return short()
	}
	on.Copy(&f.base)
	return e.placeSet(p, a)
}

// countsWait tells of a defect of Slurm: a term must hold all tasks on CPUs for
// one task a node, so that a job of more tasks never starts (spec: cores 8.4).
func (c *class) countsWait() bool {
	for i := range c.wish.terms {
		if c.req.TasksPerNode == 0 && c.req.Tasks > c.wish.terms[i].count {
			return true
		}
	}
	return false
}

// pickTerm adds to taken the nodes of term i: the candidates that also meet the
// first term if they are enough, else those that meet the second, and so on.
func (e *engine) pickTerm(c *class, a *attempt, on *topology.NodeSet, i int) bool {
	s, w := &e.try, c.wish
	f, t := &s.features, &w.terms[i]
	p := e.partOf(c)
	p.min, p.max, p.list, p.levels, p.follow = t.count, t.count, nil, nil, false
	// Slurm does not take the path of one-node jobs here, so a maximum of one is
	// left open; the target holds the count.
	p.fit.Min, p.fit.Want, p.fit.Max, p.fit.Sizes = t.count, t.count, max(t.count, 2), nil
	p.fit.MinCPUs, p.fit.MaxCPUs, p.fit.BudgetCPUs, p.fit.GPUs, p.fit.Tasks = int64(t.count), 0, 0, 0, 0
	f.better = nil
	if e.cfg.Profile == ProfileSlurm {
		f.better = t.better
	}
	defer func() { f.better = nil }()
	for g := range w.terms[:i+1] {
		on.AndOf(&f.base, &t.nodes)
		on.AndNot(&f.taken)
		if g < i {
			on.And(&w.terms[g].nodes)
		}
		if e.pick(p, a) {
			for _, n := range s.res.Nodes {
				f.taken.Add(n)
			}
			return true
		}
	}
	s.refusal = s.res.Refusal
	return false
}

// pick lets the topology choose among the nodes of the try.
func (e *engine) pick(c *class, a *attempt) bool {
	l := &e.try.look
	if a.idle || a.filled {
		l.open(e, c, a.at, a.limit, a.plans, a.idle)
	} else {
		e.fillNow(c, a.limit, a.plans)
	}
	l.request()
	return e.fitTopology(c)
}

// partOf copies a class into the scratch, as a request for part of a job.
func (e *engine) partOf(c *class) *class {
	p := &e.try.features.part
	*p = *c
	p.wish, p.required, p.one, p.all = nil, nil, false, false
	return p
}

// arrangeIdle is arrange for nodes as if nothing ran.
func (e *engine) arrangeIdle(c *class) bool {
	s := &e.try
	if c == &s.features.part {
		s.look.open(e, c, Never, Infinite, nil, true)
	}
	if c.one && e.cfg.Defects {
		return s.look.placeFirst(&s.fit)
	}
	return s.look.arrange()
}
