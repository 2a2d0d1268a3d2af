package scheduler

import "github.com/berth-sched/berth/topology"

// An offRun is what Slurm's planner knows of the running jobs that it takes off
// the pool to look ahead. One try leaves off for the next what it has taken off:
// what is off beside the nodes of a try says nothing of them. It also keeps, by
// class, the nodes that may serve it as things are, so that a try is made only
// where enough nodes can be free by then.
type offRun struct {
	n     int   // the first n ends are off the pool
	marks []int // of the pool, before each of them

	nodes []topology.NodeID // of the running jobs
	spans []nodeSpan        // by row

	round uint64 // rises when something may have become free
	sets  []topology.NodeSet
	used  int
	of    []classSet // by class
	may   topology.NodeSet

	tries, taken int64 // of all passes: tries made, nodes taken off jobs
}

// A nodeSpan is where a job's nodes lie in a list.
type nodeSpan struct{ from, to int32 }

// A classSet is the number of a class's set, if it is of this round.
type classSet struct {
	round uint64
	set   int32
}

// offBegin readies a planning pass, with all ends known.
func (e *engine) offBegin() {
	o := &e.slurm.off
	o.nodes = o.nodes[:0]
	o.turn()
	if n := len(e.jobs.rows); len(o.spans) < n {
		o.spans = append(o.spans, make([]nodeSpan, n-len(o.spans))...)
	}
	for i := range e.plans.ends {
		e.offAdd(e.plans.ends[i].job)
	}
}

// turn forgets what classes could get.
func (o *offRun) turn() {
	o.round++
	o.used = 0
}

// offAdd lists the nodes of a running job.
func (e *engine) offAdd(r int32) {
	o := &e.slurm.off
	from := int32(len(o.nodes))
	for i := range e.jobs.rows[r].alloc {
		o.nodes = append(o.nodes, e.jobs.rows[r].alloc[i].node)
	}
	o.spans[r] = nodeSpan{from, int32(len(o.nodes))}
}

// nodesOff are the nodes of a job that ran when the pass began, or started in it.
func (e *engine) nodesOff(r int32) []topology.NodeID {
	if o := &e.slurm.off; len(e.jobs.rows[r].alloc) > 0 {
		return o.nodes[o.spans[r].from:o.spans[r].to]
	}
	return nil
}

// offTo takes the first n ends off the pool, and no others.
func (e *engine) offTo(n int) {
	o := &e.slurm.off
	if n < o.n {
		e.pool.Rollback(o.marks[n])
		o.n, o.marks = n, o.marks[:n]
	}
	for ; o.n < n; o.n++ {
		o.marks = append(o.marks, e.pool.Mark())
		o.taken += int64(len(e.nodesOff(e.plans.ends[o.n].job)))
		e.takeOff(e.plans.ends[o.n].job)
	}
}

// mayServe are the nodes on which a class may fit as things are, with nothing
// off the pool. What starts in the pass leaves some that do not fit any more.
func (e *engine) mayServe(class int32) *topology.NodeSet {
	o := &e.slurm.off
	if n := len(e.classes.rows); len(o.of) < n {
		o.of = append(o.of, make([]classSet, n-len(o.of))...)
	}
	k := &o.of[class]
	if k.round == o.round {
		return &o.sets[k.set]
	}
	e.offTo(0)
	if o.used == len(o.sets) {
		o.sets = append(o.sets, topology.NodeSet{})
		o.sets[o.used].Init(len(e.nodes))
	}
	*k = classSet{o.round, int32(o.used)}
	o.used++
	set := &o.sets[k.set]
	c := &e.classes.rows[class]
	e.pool.Candidates(set.Words(), c.pool, c.nodes.Words())
	return set
}

// A reach counts the nodes of a try that may be free when what ends first is
// off the pool.
type reach struct {
	within *topology.NodeSet
	n      int // ends that are counted
	count  int
	need   int
	steps  int64 // that a try counts
}

// reachOf counts the nodes of within that may serve a record as things are.
func (e *engine) reachOf(rec record, within *topology.NodeSet) reach {
	o := &e.slurm.off
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	x := reach{within: within, need: max(int(c.min), 1), steps: int64(within.Count()) + 1}
	if c.shares || e.sharing || c.one && e.cfg.Defects {
		x.need = 0 // the pool does not know rows of cores, nor that devices of nodes passed by count
		return x
	}
	o.may.AndOf(e.mayServe(j.classes[rec.pair]), within)
	x.count = o.may.Count()
	return x
}

// enough reports whether a try with the first n ends off the pool may succeed.
func (e *engine) enough(x *reach, n int) bool {
	o := &e.slurm.off
	for ; x.n < n && x.count < x.need; x.n++ {
		for _, id := range e.nodesOff(e.plans.ends[x.n].job) {
			if x.within.Has(id) && !o.may.Has(id) {
				o.may.Add(id)
				x.count++
			}
		}
	}
	return x.count >= x.need
}
