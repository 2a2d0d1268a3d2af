package scheduler

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// bestSteps bounds the search for the least victims among many candidates, in
// removals and trials.
const bestSteps = 4000

// A costing is the scratch of the search for the least victims.
type costing struct {
	cost   func(*VictimInfo) int64 // registered; nil is lostWork
	always bool                    // propose among few too, for tests
	info   VictimInfo
	costs  []int64
	start  []int32
	banned []bool // by candidate: not to be chosen
	slots  preempt.Slots
	held   preempt.Held
	free   []int32
	unit   []int32
	res    preempt.Result
}

// leastVictims chooses among the candidates the victims of least cost (profile
// Best). With a grace they are spared if the job could start as soon without
// them.
func (e *engine) leastVictims(t *trial) search {
	p := &e.pre
	k := &p.cost
	k.costs = k.costs[:0]
	for i := range p.rows {
		k.costs = append(k.costs, e.victimCost(&p.runs[p.picked[i]]))
	}
	k.banned = slices.Grow(k.banned[:0], len(p.rows))[:len(p.rows)]
	clear(k.banned)
	for {
		start := preempt.Start{Budget: bestSteps}
		if len(p.rows) > preempt.ExactUpTo || k.always {
			var ok bool
			if start.Victims, start.Bound, ok = e.propose(t); !ok {
				return searchNobody
			}
		}
		var ok bool
		if p.victims, k.res, ok = p.search.Minimal(p.victims[:0], k.costs, start, t); !ok {
			return searchNobody
		}
		if !e.overShield() {
			break
		}
		e.ban()
	}
	if !e.affordable() {
		return searchFound // and taken by nobody: budgets are not remembered
	}
	if by := e.gone(); by > e.now && e.soonEnough(t, by) {
		return searchSpared
	}
	return searchFound
}

// ban takes the banned candidates off the lists.
func (e *engine) ban() {
	p := &e.pre
	n := 0
	for c, banned := range p.cost.banned {
		if banned {
			continue
		}
		p.rows[n], p.picked[n], p.modes[n], p.cost.costs[n] = p.rows[c], p.picked[c], p.modes[c], p.cost.costs[c]
		n++
	}
	p.rows, p.picked, p.modes, p.cost.costs = p.rows[:n], p.picked[:n], p.modes[:n], p.cost.costs[:n]
	p.cost.banned = p.cost.banned[:n]
	clear(p.cost.banned)
}

// gone is when the last of the chosen victims has used up its grace.
func (e *engine) gone() Time {
	p := &e.pre
	by := e.now
	for _, c := range p.victims {
		u := &p.runs[p.picked[c]]
		v := &e.jobs.rows[u.row]
		var it preempt.Job
		e.describe(&it, v, v.partIdx, u.qos)
		by = max(by, min(e.now.Add(p.rule.GraceOf(&it)), e.expectedEnd(v)))
	}
	return by
}

// soonEnough reports whether the record of a trial fits at the instant by when
// victims would be gone, by what ends until then anyway.
func (e *engine) soonEnough(t *trial, by Time) bool {
	n := 0
	for i := range e.pre.runs {
		r := e.pre.runs[i].row
		if v := &e.jobs.rows[r]; v.flags&flagAway == 0 && e.expectedEnd(v) <= by {
			t.removeRow(r)
			n++
		}
	}
	ok := n > 0 && t.Fits()
	t.Undo(n)
	return ok
}

// victimCost is what evicting a running job costs.
func (e *engine) victimCost(u *runner) int64 {
	v := &e.jobs.rows[u.row]
	if e.pre.cost.cost == nil {
		return lostWork(u, v.unsaved(e.now), v.prio, v.evict.times)
	}
	x := &e.pre.cost.info
	*x = VictimInfo{
		Job: v.id, User: v.own.User, Account: v.own.Account, QOS: e.qosName(v), Priority: v.prio, Nodes: int32(len(v.alloc)),
		CPUMilli: u.cpuMilli, GPUMilli: u.gpuMilli, Ran: e.now.Sub(v.start), Lost: v.unsaved(e.now), Evictions: v.evict.times,
	}
	return max(e.pre.cost.cost(x), 0)
}

// unsaved is how long a running job has worked since its last checkpoint or its
// start.
func (j *job) unsaved(now Time) time.Duration {
	ran := now.Sub(j.start)
	if j.spec.CheckpointEvery > 0 {
		ran %= j.spec.CheckpointEvery
	}
	return ran
}

// lostBy is the work that a running job loses by ending at now, in GPU-seconds
// and CPU-seconds.
func (e *engine) lostBy(now Time, j *job) (gpu, cpu int64) {
	u, sec := e.use(j), int64(j.unsaved(now)/time.Second)
	return u.gpuMilli * sec / 1000, u.cpuMilli * sec / 1000
}

// lostWork is the default cost: GPU-seconds (64 CPUs count as a GPU) since the
// last checkpoint or the start, times the priority, times one more than the
// evictions so far. A second is always lost.
func lostWork(u *runner, lost time.Duration, prio uint32, evictions int32) int64 {
	milli := max(u.gpuMilli+u.cpuMilli/64, 1)
	work := mulCost(milli, int64(max(lost/time.Second, 1)))
	return mulCost(mulCost(max(work/1000, 1), int64(max(prio, 1))), int64(evictions)+1)
}

// mulCost multiplies costs and stays at the largest number.
func mulCost(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// propose finds a cheap set to begin with by counting what is scarce on each
// node: all jobs of a node that is wanted whole, else GPUs, else CPUs. It reports
// false if so many are on no nodes, whoever goes.
func (e *engine) propose(t *trial) ([]int32, int64, bool) {
	k := &e.pre.cost
	c := e.openFit(t.rec, t.plans)
	g, want, sure := scarce(c)
	d := preempt.Demand{Nodes: int(max(c.min, 1)), PerNode: want, Units: 1}
	n := len(e.nodes)
	if len(k.free) != n {
		k.free, k.unit = make([]int32, n), make([]int32, n)
	}
	for i := range e.nodes {
		k.free[i] = -1
		if e.try.within.Words()[i>>6]&(1<<(i&63)) != 0 && e.pool.Available(int32(i)) {
			k.free[i] = e.freeOf(int32(i), g, want)
		}
	}
	k.held.First = append(k.held.First[:0], 0)
	k.held.Node, k.held.Amount = k.held.Node[:0], k.held.Amount[:0]
	for _, r := range e.pre.rows {
		j := &e.jobs.rows[r]
		for i := range j.alloc {
			k.held.Node = append(k.held.Node, int32(j.alloc[i].node))
			k.held.Amount = append(k.held.Amount, e.amountOf(&j.alloc[i], g))
		}
		k.held.First = append(k.held.First, int32(len(k.held.Node)))
	}
	clear(k.unit)
	var bound int64
	var ok bool
	k.start, bound, ok = k.slots.Propose(k.start[:0], &d, k.free, k.unit, k.costs, &k.held)
	if ok && e.byUnit(c, &d) {
		// A cheap set to begin with lies in one unit. What no base block gives is
		// nowhere, larger jobs may find a place that is counted otherwise.
		from := len(k.start)
		var in int64
		var some bool
		k.start, in, some = k.slots.Propose(k.start, &d, k.free, k.unit, k.costs, &k.held)
		if some {
			k.start = append(k.start[:0], k.start[from:]...)
		}
		if e.inBase(c, &d) {
			bound, ok = in, some
		}
	}
	if !sure || e.pre.lacking {
		return k.start, 0, true // a hint and no bound
	}
	return k.start, bound, ok
}

// byUnit numbers the unit of each node in which a job of several nodes would lie
// whole, and reports whether the topology has such units: the smallest block,
// ring or torus around it that is large enough.
func (e *engine) byUnit(c *class, d *preempt.Demand) bool {
	top := e.topos[e.parts[c.key.part].topo].top
	if kind := top.Kind(); d.Nodes < 2 || c.fit.Segment > 0 || kind != topology.KindBlock && kind != topology.KindRing && kind != topology.KindTorus3D {
		return false
	}
	k := &e.pre.cost
	d.Units = top.Units()
	for n := range k.unit {
		u := top.UnitOf(topology.NodeID(n))
		for u != topology.NoUnit && top.Unit(u).Size < d.Nodes && top.Unit(u).Parent != topology.NoUnit {
			u = top.Unit(u).Parent
		}
		if k.unit[n] = int32(u); u == topology.NoUnit {
			k.unit[n], k.free[n] = 0, -1
		}
	}
	return true
}

// inBase reports whether a job of a block topology must lie in one base block.
func (e *engine) inBase(c *class, d *preempt.Demand) bool {
	top := e.topos[e.parts[c.key.part].topo].top
	if top.Kind() != topology.KindBlock {
		return false
	}
	for u := range top.Units() {
		if x := top.Unit(topology.UnitID(u)); x.Level == 0 && x.Size < d.Nodes {
			return false
		}
	}
	return true
}

// A good is what propose counts.
type good uint8

const (
	goodJobs good = iota // jobs on a node that is to be empty
	goodGPUs
	goodCPUs
)

// manyJobs is more than run on any node.
const manyJobs = 1 << 20

// scarce says what to count for a class, how much of it a node must give, and
// whether every place needs that: not where devices are counted over several
// nodes, nor of CPUs, since jobs keep more from others than they were given.
func scarce(c *class) (g good, want int32, sure bool) {
	if c.req.Has(gres.WholeNode) {
		return goodJobs, manyJobs, true
	}
	nodes := int64(max(c.min, 1))
	for i := range c.req.Needs[:c.req.NumNeeds] {
		n := &c.req.Needs[i]
		if n.Name != gres.NameGPU || n.Milli > 0 {
			continue
		}
		if per := max(n.PerNode, (n.PerJob+nodes-1)/nodes); per > 0 {
			return goodGPUs, int32(min(per, math.MaxInt16)), n.PerNode == per || c.one
		}
	}
	return goodCPUs, int32(max(int64(c.req.NodeCPUs), (int64(c.req.MinCPUs)+nodes-1)/nodes, 1)), false
}

// freeOf is what a node gives as it is.
func (e *engine) freeOf(n int32, g good, want int32) int32 {
	sh, row := e.pool.Shape(n), e.pool.Row(n)
	switch g {
	case goodJobs:
		free := want
		for _, r := range e.nodes[n].jobs {
			if e.jobs.rows[r].flags&flagAway == 0 {
				free--
			}
		}
		return free
	case goodGPUs:
		if k := sh.Group(gres.NameGPU); k >= 0 {
			return int32(sh.FreeDevices(row, k, 0))
		}
		return 0
	}
	return int32(sh.FreeMilliCPU(row) / 1000)
}

// amountOf is what a job holds on a node.
func (e *engine) amountOf(a *nodeGrant, g good) int32 {
	switch g {
	case goodJobs:
		return 1
	case goodGPUs:
		sh, n := e.pool.Shape(int32(a.node)), int32(0)
		for _, d := range a.grant.Devices {
			if int(d.Group) == sh.Group(gres.NameGPU) {
				n++
			}
		}
		return n
	}
	return int32(max(a.grant.CPUs, a.grant.MilliCPU/1000))
}
