package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A plan is a promise within one planning pass: the job holds these grants over
// [start, end), and nothing of lower rank may take them then.
type plan struct {
	row        int32
	start, end Time
	grants     []nodeGrant
}

// An ending is an instant at which something is expected to become free: the
// end of a running job's limit, or of a plan.
type ending struct {
	at   Time
	id   JobID // of the job that ends, or that the plan is for
	job  int32 // row of a running job, or -1
	plan int32 // or number of a plan
}

// A planner is the calendar of the future: what runs ends at its limit, what is
// planned begins and ends as planned. It is made anew in each planning pass.
type planner struct {
	all   []plan
	n     int
	head  []int32          // by node: its latest plan's link, -1 none
	links []planLink       // lists of the plans of each node
	nodes topology.NodeSet // nodes with plans
	ends  []ending         // ascending
	seen  planSeen
	pairs int // records planned for in this pass
}

// A planLink is an entry of a node's list of plans.
type planLink struct{ plan, next int32 }

// planSeen tells whether anything changed since the last planning pass.
type planSeen struct {
	freed, seq, arrivals uint64
	valid                bool
}

func (p *planner) init(nodes int) {
	p.head = make([]int32, nodes)
	for i := range p.head {
		p.head[i] = -1
	}
	p.nodes.Init(nodes)
}

// clear forgets all plans and keeps their memory.
func (p *planner) clear() {
	for id := range p.nodes.All() {
		p.head[id] = -1
	}
	p.nodes.Clear()
	p.n, p.pairs = 0, 0
	p.ends, p.links = p.ends[:0], p.links[:0]
}

// add makes room for one more plan.
func (p *planner) add() *plan {
	if p.n == len(p.all) {
		p.all = append(p.all, plan{})
	}
	p.n++
	x := &p.all[p.n-1]
	x.grants = x.grants[:0]
	return x
}

// insertEnd keeps ends sorted.
func (p *planner) insertEnd(x ending) {
	i, _ := slices.BinarySearchFunc(p.ends, x, compareEndings)
	p.ends = slices.Insert(p.ends, i, x)
}

func compareEndings(a, b ending) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	if c := cmp.Compare(a.id, b.id); c != 0 {
		return c
	}
	return cmp.Compare(a.plan, b.plan)
}

// planPhase walks the queue once more: each job is tried now against the plans
// made so far, and those of the first Depth jobs that do not fit get a plan.
func (e *engine) planPhase(dst []Decision) []Decision {
	par := &e.par.Plan
	if e.counts.Pending == 0 {
		return dst
	}
	if par.Mode == PlanNone {
		if e.cfg.Profile == ProfileSlurm {
			e.builtinPlan()
		}
		return dst
	}
	if par.Interval > 0 {
		if e.now < e.nextBF {
			return dst
		}
		e.nextBF = e.now.Add(par.Interval)
	}
	if e.cfg.Profile == ProfileSlurm {
		return e.slurmPlan(dst)
	}
	seen := planSeen{e.freed, e.seq, e.arrivals, true}
	if seen == e.plans.seen && par.Interval == 0 {
		return dst
	}
	e.plans.clear()
	e.collectEnds()
	e.try.withdrawn = false
	blocked, tested, starts := false, int32(0), int32(0)
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen {
			continue
		}
		if tested++; par.MaxTest > 0 && tested > par.MaxTest || par.MaxStarts > 0 && starts >= par.MaxStarts {
			break
		}
		if !e.gate(rec) {
			j.start, j.end = Never, Never
			continue
		}
		limit := e.timeLimit(j, int(rec.pair))
		c := &e.classes.rows[j.classes[rec.pair]]
		if c.futile != e.passNo || limit < c.futileLimit || len(e.resv.all) > 0 {
			if e.tryNow(rec, &e.plans) {
				if !e.admits(rec) {
					j.start, j.end = Never, Never
					continue
				}
				dst = e.start(dst, rec, blocked)
				e.addRunningEnd(rec.row)
				starts++
				continue
			}
			if e.try.refusal.Rule != topology.RuleSwitches && e.try.capNodes == 0 {
				c.futile, c.futileLimit = e.passNo, limit
			}
			if e.prefers(j, rec.pair) {
				continue // the record that asks follows
			}
			j.reason = e.why(j.classes[rec.pair])
		}
		if e.pre.on {
			if dst = e.preempt(dst, rec, &e.plans); j.running() {
				e.addRunningEnd(rec.row)
				starts++
				continue
			}
		}
		if e.prefers(j, rec.pair) {
			continue
		}
		if blocked && plannable(j.reason) {
			j.reason = ReasonPriority
		}
		if !e.blocks(j) || !plannable(j.reason) || !e.reserves(j, int(rec.pair)) {
			continue
		}
		if !e.admitsAsked(rec) {
			// Over a limit whatever is free: no plan, and it blocks nobody.
			j.start, j.end = Never, Never
			continue
		}
		blocked = true
		if par.Depth == 0 || e.plans.pairs < int(par.Depth) {
			e.plans.pairs++
			e.makePlan(rec, limit)
		} else if e.plans.pairs >= int(par.Depth) {
			j.start, j.end = Never, Never
		}
	}
	e.plans.seen = planSeen{e.freed, e.seq, e.arrivals, true}
	return dst
}

// plannable reports whether a job waits for something that time brings.
func plannable(r Reason) bool {
	switch r {
	case ReasonResources, ReasonPriority, ReasonTopology, ReasonTopologyInsufficient, ReasonNodesDown, ReasonNone:
		return true
	}
	return false
}

// collectEnds lists when running jobs are expected to end.
func (e *engine) collectEnds() {
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && j.end != Never {
			e.plans.ends = append(e.plans.ends, ending{at: e.expectedEnd(j), id: j.id, job: int32(r), plan: -1})
		}
	}
	slices.SortFunc(e.plans.ends, compareEndings)
}

// expectedEnd is a running job's limit; a job that is over it, or told to end,
// is expected to be gone a moment from now.
func (e *engine) expectedEnd(j *job) Time {
	if j.flags&flagEnding != 0 {
		return e.now + 1
	}
	return max(j.end, e.now+1)
}

func (e *engine) addRunningEnd(r int32) {
	if j := &e.jobs.rows[r]; j.end != Never {
		e.plans.insertEnd(ending{at: e.expectedEnd(j), id: j.id, job: r, plan: -1})
	}
}

// makePlan finds the earliest start of a record against running jobs and plans,
// and books it. A start beyond the window is shown and not booked.
func (e *engine) makePlan(rec record, limit time.Duration) {
	j := &e.jobs.rows[rec.row]
	start, ok := e.earliest(rec, limit)
	if !ok {
		j.start, j.end = Never, Never
		return
	}
	j.start, j.end = start, start.Add(limit)
	if e.par.Plan.Window != Infinite && start > e.now.Add(e.par.Plan.Window) {
		return
	}
	p := e.plans.add()
	p.row, p.start, p.end = rec.row, start, e.roundUp(start.Add(limit))
	p.grants = copyGrants(p.grants, e.try.nodes, e.try.grants)
	id := int32(e.plans.n - 1)
	for i := range p.grants {
		n := p.grants[i].node
		e.plans.links = append(e.plans.links, planLink{id, e.plans.head[n]})
		e.plans.head[n] = int32(len(e.plans.links) - 1)
		e.plans.nodes.Add(n)
	}
	if p.end != Never {
		e.plans.insertEnd(ending{at: p.end, id: j.id, job: -1, plan: id})
	}
}

// copyGrants stores grants in dst's own memory.
func copyGrants(dst []nodeGrant, nodes []topology.NodeID, grants []gres.Grant) []nodeGrant {
	for len(dst) < len(nodes) {
		if cap(dst) > len(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, nodeGrant{})
		}
	}
	for i, n := range nodes {
		dst[i].node = n
		dst[i].grant.CopyFrom(&grants[i])
	}
	return dst
}

// earliest walks the instants at which something becomes free until the record
// fits over [t, t+limit); what it gets is then in the scratch's grants.
func (e *engine) earliest(rec record, limit time.Duration) (Time, bool) {
	s := &e.try
	c := e.openFit(rec)
	e.releaseReserved()
	e.keepReserved(&e.jobs.rows[rec.row].spec, e.now, Infinite)
	defer e.releaseReserved()
	count := e.pool.Fill(&s.cols, c.pool, gres.PassAny, c.min, s.within.Words())
	copy(s.fit.Words(), s.cols.Fit)
	for i := 0; i < len(e.plans.ends); {
		at := e.plans.ends[i].at
		t := e.roundUp(at)
		for ; i < len(e.plans.ends) && e.plans.ends[i].at == at; i++ {
			x := &e.plans.ends[i]
			grants := e.endingGrants(x)
			for k := range grants {
				if n := grants[k].node; s.within.Has(n) {
					count += e.refit(c, n, t, limit)
				}
			}
		}
		if t <= e.now || count < int(c.min) {
			continue
		}
		for n := range e.plans.nodes.All() {
			if s.within.Has(n) {
				count += e.refit(c, n, t, limit)
			}
		}
		if count >= int(c.min) && e.place(c, &attempt{at: t, limit: limit, plans: &e.plans}) {
			return t, true
		}
	}
	return Never, false
}

// endingGrants is what becomes free at x.
func (e *engine) endingGrants(x *ending) []nodeGrant {
	if x.job >= 0 {
		return e.jobs.rows[x.job].alloc
	}
	return e.plans.all[x.plan].grants
}

// refit evaluates node n over [t, t+limit), puts the answer into the columns
// and returns the change of the number of nodes that fit.
func (e *engine) refit(c *class, n topology.NodeID, t Time, limit time.Duration) int {
	s := &e.try
	f := gres.Evaluate(e.nodeRow(c, n, t, limit), &c.req, gres.PassAny, int(c.min), &s.work)
	before := s.fit.Has(n)
	s.set(n, &f)
	switch after := f.Refusal == gres.RefuseNone; {
	case after && !before:
		return 1
	case before && !after:
		return -1
	}
	return 0
}

// rowAt stores what is in use on node n at any time of [t, t+limit), as one
// row: the union over the instants at which something begins.
func (e *engine) rowAt(n topology.NodeID, t Time, limit time.Duration) []uint64 {
	s := &e.try
	sh := e.pool.Shape(int32(n))
	s.union = e.rowInstant(s.union, sh, n, t)
	end := t.Add(limit)
	for l := e.plans.head[n]; l >= 0; l = e.plans.links[l].next {
		if p := &e.plans.all[e.plans.links[l].plan]; p.start > t && p.start < end {
			s.row = e.rowInstant(s.row, sh, n, p.start)
			sh.Union(s.union, s.row)
		}
	}
	return s.union
}

// rowInstant stores what is in use on node n at t.
func (e *engine) rowInstant(dst []uint64, sh *gres.Shape, n topology.NodeID, t Time) []uint64 {
	dst = append(dst[:0], e.pool.Row(int32(n))...)
	if t > e.now {
		for _, r := range e.nodes[n].jobs {
			if j := &e.jobs.rows[r]; j.flags&flagAway == 0 && j.end != Never && e.expectedEnd(j) <= t {
				sh.Give(dst, j.grantOn(n))
			}
		}
	}
	for l := e.plans.head[n]; l >= 0; l = e.plans.links[l].next {
		if p := &e.plans.all[e.plans.links[l].plan]; p.start <= t && p.end > t {
			sh.Take(dst, grantOn(p.grants, n))
		}
	}
	return dst
}

// grantOn returns what j holds on node n.
func (j *job) grantOn(n topology.NodeID) *gres.Grant { return grantOn(j.alloc, n) }

// grantOn finds node n in grants, which are in node order.
func grantOn(grants []nodeGrant, n topology.NodeID) *gres.Grant {
	return &grants[indexOfGrant(grants, n)].grant
}

func indexOfGrant(grants []nodeGrant, n topology.NodeID) int {
	i, _ := slices.BinarySearchFunc(grants, n, func(g nodeGrant, n topology.NodeID) int { return cmp.Compare(g.node, n) })
	return i
}
