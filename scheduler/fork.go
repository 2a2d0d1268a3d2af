package scheduler

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// A fork is made by copying each struct whole and then giving it tables of its
// own. What follows from the configuration and is never written in place stays
// shared: names, schema, shapes, topologies, features, the nodes of classes, what
// jobs ask. Scratch is left as New leaves it. A test walks both object graphs and
// fails for anything else that is shared, so a new field cannot be forgotten.

// Fork returns an independent copy; see Scheduler. It costs about a copy of the
// tables: O(jobs + nodes · keys of the index).
func (e *engine) Fork() (Scheduler, error) { return e.fork(), nil }

func (e *engine) fork() *engine {
	f := new(engine)
	*f = *e
	f.cfg = e.cfg.fork()
	f.there, f.up, f.held, f.busy = forkSet(&e.there), forkSet(&e.up), forkSet(&e.held), forkSet(&e.busy)
	f.devices, f.pool = e.devices.Clone(), e.pool.Fork()
	f.parts = slices.Clone(e.parts)
	for i := range f.parts {
		p := &f.parts[i]
		p.nodes = forkSet(&e.parts[i].nodes)
		if p.share != nil {
			p.share = p.share.Clone()
		}
	}
	f.topos = slices.Clone(e.topos)
	f.classes = e.classes.fork()
	f.users, f.owners = e.users.fork(), e.owners.fork()
	f.licenses.pools = slices.Clone(e.licenses.pools)
	for i := range f.licenses.pools {
		p := &f.licenses.pools[i]
		p.units, p.free, p.freeNext = slices.Clone(p.units), slices.Clone(p.free), slices.Clone(p.freeNext)
	}
	if e.acct != nil {
		f.acct = e.acct.fork()
	}
	var a arenas
	f.nodes = forkNodes(e.nodes, &a)
	f.jobs = e.jobs.fork(&a)
	f.queue = e.queue.fork()
	f.rank = e.rank.fork()
	f.holding = slices.Clone(e.holding)
	f.orders, f.stepping = slices.Clone(e.orders), slices.Clone(e.stepping)
	f.plans = e.plans.fork(&a)
	f.slurm = e.slurm.fork()
	f.resv = e.resv.fork(&a)
	for _, h := range []*timerHeap{&f.timers.limits, &f.timers.begins, &f.timers.deadlines} {
		h.items = cloneRoom(h.items)
	}
	f.pre = e.pre.fork()
	f.depends, f.closings = e.depends.fork(), cloneRoom(e.closings)
	f.placement.learner = e.placement.learner.Clone()
	if e.placement.placer != nil {
		f.placement.placer = e.placement.placer.Clone(f.pool)
	}
	f.types, f.part = nil, gres.Grant{}
	f.try = scratch{withdrawn: e.try.withdrawn, goneNo: e.try.goneNo}
	f.try.init(len(e.nodes))
	f.try.gone.Copy(&e.try.gone)
	return f
}

// fork copies the lists of c whose entries events replace one by one.
func (c *Config) fork() Config {
	f := *c
	f.Partitions, f.Accounts, f.QOS = slices.Clone(c.Partitions), slices.Clone(c.Accounts), slices.Clone(c.QOS)
	f.Licenses = slices.Clone(c.Licenses)
	return f
}

func forkSet(s *topology.NodeSet) topology.NodeSet { return *s.Clone() }

func forkNodes(nodes []node, a *arenas) []node {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].jobs = a.rows.copy(nodes[i].jobs, 4)
	}
	return out
}

func (t *classTable) fork() classTable {
	return classTable{rows: slices.Clone(t.rows), free: slices.Clone(t.free), ids: maps.Clone(t.ids)}
}

func (t *nameTable) fork() nameTable {
	return nameTable{ids: maps.Clone(t.ids), names: slices.Clone(t.names)}
}

// cloneRoom copies a list with the room that was made for it outside of a pass.
func cloneRoom[T any](s []T) []T { return append(make([]T, 0, cap(s)), s...) }

func (t *dependTable) fork() dependTable {
	f := *t
	f.terms, f.free, f.fallen, f.touched = slices.Clone(t.terms), slices.Clone(t.free), slices.Clone(t.fallen), nil
	f.timers.items = cloneRoom(t.timers.items)
	f.singles.groups = maps.Clone(t.singles.groups)
	for k, list := range f.singles.groups {
		f.singles.groups[k] = slices.Clone(list)
	}
	return f
}

func (q *queue) fork() queue {
	f := *q
	// A pass merges what has come into the room behind what is sorted.
	f.sorted = append(make([]record, 0, max(len(q.sorted)+len(q.incoming), min(cap(q.sorted), len(q.sorted)+len(q.sorted)/8))), q.sorted...)
	f.incoming = slices.Clone(q.incoming)
	return f
}

func (r *ranker) fork() ranker {
	f := *r
	f.mf = priority.NewMultifactor(r.cfg, &r.cluster)
	j := &f.jobs
	j.Partition, j.QOS, j.Assoc, j.Age = slices.Clone(j.Partition), slices.Clone(j.QOS), slices.Clone(j.Assoc), slices.Clone(j.Age)
	j.Nodes, j.CPUs, j.TimeLimit, j.TRES = slices.Clone(j.Nodes), slices.Clone(j.CPUs), slices.Clone(j.TimeLimit), slices.Clone(j.TRES)
	j.Nice, j.Site, j.Standing, j.Prev = slices.Clone(j.Nice), slices.Clone(j.Site), slices.Clone(j.Standing), slices.Clone(j.Prev)
	f.prio = make([]uint32, len(r.prio))
	f.pairs, f.pairPrio, f.rows, f.held = priority.Pairs{}, nil, nil, make([]int64, len(r.held))
	return f
}

func (a *accounting) fork() *accounting {
	f := *a
	f.l = a.l.Clone()
	f.byUser, f.partQOS, f.kinds, f.factor = maps.Clone(a.byUser), slices.Clone(a.partQOS), slices.Clone(a.kinds), slices.Clone(a.factor)
	c := &f.columns
	c.Assoc, c.Parent, c.Shares = slices.Clone(c.Assoc), slices.Clone(c.Parent), slices.Clone(c.Shares)
	c.User, c.Usage = slices.Clone(c.User), slices.Clone(c.Usage)
	f.tree, f.classic, f.rank = nil, nil, nil // the next ranking makes them
	f.job, f.tres, f.alloc = qos.Job{}, make(gres.Vector, len(a.tres)), make(gres.Vector, len(a.alloc))
	f.parts, f.nodes, f.over, f.waiting, f.verdicts, f.stopped = nil, nil, nil, nil, nil, stopped{}
	f.inUse = forkSet(&a.inUse)
	return &f
}

func (p *preempter) fork() preempter {
	f := *p
	f.runs, f.lenders, f.claims, f.log = slices.Clone(p.runs), slices.Clone(p.lenders), slices.Clone(p.claims), slices.Clone(p.log)
	f.accounts = p.accounts.fork()
	f.search, f.trial, f.pairs = preempt.Search{}, trial{}, pairing{}
	f.rows, f.picked, f.notices, f.keys, f.order, f.modes, f.victims = nil, nil, nil, nil, nil, nil, nil
	f.gang = ganging{next: p.gang.next, dirty: p.gang.dirty, last: p.gang.last}
	f.cost = costing{cost: p.cost.cost, always: p.cost.always}
	return f
}
