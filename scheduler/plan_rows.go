package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// An ending is an instant at which something is expected to become free: the
// end of a running job's limit, or of a plan.
type ending struct {
	at   Time
	id   JobID // of the job that ends, or that the plan is for
	job  int32 // row of a running job, or -1
	plan int32 // or number of a plan
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
		if j := &e.jobs.rows[r]; j.running() {
			e.plans.ends = append(e.plans.ends, ending{at: e.expectedEnd(j), id: j.id, job: int32(r), plan: -1})
		}
	}
	slices.SortFunc(e.plans.ends, compareEndings)
}

// unlimited is for how long plans take a job without limit to run (spec: backfill
// 2.3).
const unlimited = 365 * 24 * time.Hour

// planLimit is for how long a job is planned.
func (e *engine) planLimit(j *job, pair int) time.Duration {
	if limit := e.timeLimit(j, pair); limit != Infinite {
		return limit
	}
	return unlimited
}

// expectedEnd is a running job's limit, or that of a job without; a job that is over
// it, or told to end, is expected to be gone a moment from now.
func (e *engine) expectedEnd(j *job) Time {
	if j.flags&flagEnding != 0 {
		return e.now + 1
	}
	end := j.end
	if end == Never {
		end = j.start.Add(unlimited)
	}
	return max(end, e.now+1)
}

func (e *engine) addRunningEnd(r int32) {
	j := &e.jobs.rows[r]
	e.plans.insertEnd(ending{at: e.expectedEnd(j), id: j.id, job: r, plan: -1})
	e.offAdd(r)
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

// rowAt stores what is in use on node n at any time of [t, t+limit), as one
// row: the union over the instants at which something begins.
func (e *engine) rowAt(n topology.NodeID, t Time, limit time.Duration) []uint64 {
	s := &e.try
	if e.plans.searching {
		return e.searchRow(n, t)
	}
	sh := e.pool.Shape(int32(n))
	s.union = e.rowInstant(s.union, sh, n, t)
	end := t.Add(limit)
	for _, id := range e.plans.on[n] {
		if p := &e.plans.all[id]; p.start > t && p.start < end && p.row != e.plans.skip {
			s.row = e.rowInstant(s.row, sh, n, p.start)
			sh.Union(s.union, s.row)
		}
	}
	return s.union
}

// rowInstant stores what is in use on node n at t.
func (e *engine) rowInstant(dst []uint64, sh *gres.Shape, n topology.NodeID, t Time) []uint64 {
	dst = append(dst[:0], e.pool.Row(int32(n))...)
	e.bareRow(sh, dst, n)
	if t > e.now {
		for _, r := range e.nodes[n].jobs {
			if j := &e.jobs.rows[r]; j.flags&flagAway == 0 && e.expectedEnd(j) <= t {
				sh.Give(dst, j.grantOn(n))
			}
		}
	}
	for _, id := range e.plans.on[n] {
		if p := &e.plans.all[id]; p.start <= t && p.end > t && p.row != e.plans.skip {
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
