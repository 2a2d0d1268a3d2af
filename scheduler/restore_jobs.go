package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// readJobs reads the jobs and makes them part of the books. What each would
// change in turn is made at once for all: the use of nodes, the list of what runs.
func (e *engine) readJobs(c *codec) {
	n := c.count(0)
	e.reserveJobs(n)
	u := e.newReadUse()
	for ; n > 0 && c.err == nil; n-- {
		id := JobID(c.get())
		if id == 0 || e.jobs.find(id) >= 0 {
			c.fail("job id")
			return
		}
		r := e.jobs.add(id)
		if ask := e.visitJob(c, &e.jobs.rows[r]); c.err == nil {
			e.adoptRow(c, r, ask, u)
		}
	}
	if c.err != nil {
		return
	}
	u.store()
	e.listRuns()
}

// reserveJobs makes room for n jobs.
func (e *engine) reserveJobs(n int) {
	e.jobs.rows = slices.Grow(e.jobs.rows, n)
	e.jobs.ids.reserve(n)
	e.rank.grow(n)
}

// readUse is the use of the nodes while jobs are read: a row a node, which comes
// into the pool at the end.
type readUse struct {
	e    *engine
	rows [][]uint64 // nil is what the pool has
	room arena[uint64]
}

func (e *engine) newReadUse() *readUse { return &readUse{e: e, rows: make([][]uint64, len(e.nodes))} }

// take books a grant that was read, and reports whether it can be.
func (u *readUse) take(node topology.NodeID, g *gres.Grant) bool {
	sh := u.e.pool.Shape(int32(node))
	row := u.rows[node]
	if row == nil {
		row = u.room.take(sh.RowLen())
		copy(row, u.e.pool.Row(int32(node)))
		u.rows[node] = row
	}
	if sh.CheckGrant(row, g) != nil {
		return false
	}
	sh.Take(row, g)
	return true
}

// store gives the pool its rows.
func (u *readUse) store() {
	for n, row := range u.rows {
		if row != nil {
			u.e.pool.SetRow(int32(n), row)
		}
	}
}

// adoptRow makes a job that was read part of the books.
func (e *engine) adoptRow(c *codec, r, ask int32, use *readUse) {
	j := &e.jobs.rows[r]
	if j.state == StateNone || j.state >= jobStates || j.depend.phase >= dependPhases {
		c.fail("job state")
		return
	}
	if j.flags&flagQueued != 0 {
		if j.flags &^= flagQueued; j.state != StatePending {
			c.fail("queue")
			return
		}
		c.queued = append(c.queued, r)
	}
	if e.compileRead(c, j, ask); c.err != nil || j.state.Ended() {
		return
	}
	e.holdClasses(j.classes)
	if j.running() {
		e.useLicenses(j, 1)
	}
	j.user = e.users.intern(j.own.User)
	e.findQOS(j)
	e.fillRow(r)
	switch {
	case j.running():
		for i := range j.alloc {
			a := &j.alloc[i]
			if !e.placed(a.node) || i > 0 && j.alloc[i-1].node >= a.node || !use.take(a.node, &a.grant) {
				c.fail("allocation")
				return
			}
		}
		e.tellPlacer(j, 1)
		for i := range j.lent {
			at := indexOfGrant(j.alloc, j.lent[i].node)
			if at == len(j.alloc) || j.alloc[at].node != j.lent[i].node || len(j.alloc[at].grant.Cores) != len(j.lent[i].grant.Cores) {
				c.fail("lent cores")
				return
			}
		}
		if j.resv != 0 {
			at := e.resvAt(j.resv)
			if at < 0 {
				c.fail("reservation of a job")
				return
			}
			e.resv.all[at].members = append(e.resv.all[at].members, r)
		}
		e.counts.Running++
		e.countUse(j, 1)
		e.pushLimit(r)
	case j.state == StatePending:
		e.counts.Pending++
		e.watchDeadline(r)
		if j.eligible == Never && !j.depend.blocks() && (j.flags&(flagHeldUser|flagHeldAdmin) == 0 || j.begin > e.now) {
			e.timers.begins.push(timer{at: j.begin, row: r, gen: j.gen, id: j.id})
		}
	}
}

// readQueue gives records to the jobs that had some; keys follow from the books.
func (e *engine) readQueue(c *codec) {
	e.queue.incoming = slices.Grow(e.queue.incoming, len(c.queued))
	e.queue.sorted = slices.Grow(e.queue.sorted, len(c.queued))
	for _, r := range c.queued {
		why, arrivals := e.jobs.rows[r].reason, e.arrivals
		e.pushRecords(r)
		e.arrivals = arrivals
		e.jobs.rows[r].reason = why
	}
}
