package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// willRun finds when and where a record could start at or after from if only
// what runs were in its way, on the nodes of avail (spec: backfill 2.4). What
// runs ends at its limit and is taken off in groups: all that ends on nodes of
// looked within a window from the first such end, which doubles from 30 s. A
// group is closed by the next end of all if that is outside of the window; if it
// is inside but elsewhere, the group runs on to the next end that counts. The
// record is tried after each group; the answer is when the last of what ran on
// the nodes that it gets has ended, which may be before the group's end. The
// place is in the scratch. What it took off is left off: offTo(0) puts the books
// right.
func (e *engine) willRun(rec record, avail, looked *topology.NodeSet, from Time, limit time.Duration) (Time, bool) {
	ends := e.plans.ends
	i := 0
	if from > e.now {
		for i < len(ends) && ends[i].at <= from {
			i++
		}
	}
	e.try.later = from > e.now
	defer func() { e.try.later = false }()
	x := e.reachOf(rec, avail)
	if e.tryOff(rec, &x, i, from, limit) {
		return max(from, e.now), true
	}
	e.try.later = true
	window := 30 * time.Second
	base := Never
	for i < len(ends) {
		last, took := Time(0), false
		until := Never
		for ; i < len(ends); i++ {
			if !e.touches(ends[i].job, looked) {
				continue
			}
			if !took {
				base = min(base, ends[i].at)
				window = e.widenTo(window, ends[i].at.Sub(base))
				until = base.Add(window)
			}
			took, last = true, ends[i].at
			if i+1 < len(ends) && ends[i+1].at > until {
				i++
				break
			}
		}
		if !took {
			break
		}
		if e.tryOff(rec, &x, i, last, limit) {
			return max(e.vacated(rec, ends[:i], last), from), true
		}
		window = e.widen(window)
	}
	return Never, false
}

// tryOff tries a record at t with the first n ends off the pool, if enough nodes
// may be free then.
func (e *engine) tryOff(rec record, x *reach, n int, t Time, limit time.Duration) bool {
	if !e.enough(x, n) {
		e.slurm.steps += x.steps
		return false
	}
	e.offTo(n)
	e.slurm.off.tries++
	return e.tryOn(rec, x.within, t, limit)
}

// vacated is when the place in the scratch is free of what has been taken off:
// the last end of a job on one of its nodes. Units of topologies that are kept
// are free at last only.
func (e *engine) vacated(rec record, gone []ending, last Time) Time {
	if e.holders > 0 || e.classes.rows[e.jobs.rows[rec.row].classes[rec.pair]].unitsAlone {
		return last
	}
	place := &e.try.mask
	place.Clear()
	for _, n := range e.try.nodes {
		place.Add(n)
	}
	for i := len(gone) - 1; i >= 0; i-- {
		if e.touches(gone[i].job, place) {
			return gone[i].at
		}
	}
	return last
}

// widen returns the window of the next group of ends.
func (e *engine) widen(window time.Duration) time.Duration {
	return e.widenTo(window, window+1)
}

// widenTo widens a window step by step until it reaches gap. Slurm:
// bf_window_linear.
func (e *engine) widenTo(window, gap time.Duration) time.Duration {
	if linear := e.par.Plan.WindowLinear; linear > 0 {
		if gap > window {
			window += ((gap-window-1)/linear + 1) * linear
		}
		return window
	}
	for window < gap && window <= math.MaxInt64/2 {
		window *= 2
	}
	return window
}

// touches reports whether the running job of row r is on a node of set.
func (e *engine) touches(r int32, set *topology.NodeSet) bool {
	return slices.ContainsFunc(e.nodesOff(r), set.Has)
}

// takeOff gives back in the pool what a running job holds.
func (e *engine) takeOff(r int32) {
	j := &e.jobs.rows[r]
	for i := range j.alloc {
		e.pool.Give(int32(j.alloc[i].node), &j.alloc[i].grant)
		if j.shareRow > 0 {
			union, _ := e.sharedCores(j.alloc[i].node, e.expectedEnd(j))
			e.pool.SetUsedCores(int32(j.alloc[i].node), union)
		}
	}
}

// tryOn tries a record on the nodes of avail with what the pool says is free;
// jobs that end by t do not keep topology units.
func (e *engine) tryOn(rec record, avail *topology.NodeSet, t Time, limit time.Duration) bool {
	s := &e.try
	s.found, s.hold, s.refusal, s.layer = false, false, topology.Refusal{}, -1
	e.slurm.steps += int64(avail.Count()) + 1
	c := &e.classes.rows[e.jobs.rows[rec.row].classes[rec.pair]]
	s.within.Copy(c.nodes)
	s.within.And(avail)
	if e.holders > 0 || c.unitsAlone {
		e.keepUnitsAt(c, t)
	}
	e.keepKinds(c, t)
	s.kept = e.keepApart(&s.within, &e.jobs.rows[rec.row], int(rec.pair), t)
	e.keepReserved(rec, t, limit)
	all := c.all
	c.all = false
	ok := e.placeReserved(c, limit, nil)
	c.all = all
	e.releaseReserved()
	return ok
}

// keepUnitsAt is keepUnits as of t: what ends by then keeps nothing.
func (e *engine) keepUnitsAt(c *class, t Time) {
	if t <= e.now {
		e.keepUnits(c)
		return
	}
	e.busy.Clear()
	stays := func(j *job) bool { return j.running() && e.expectedEnd(j) > t }
	used := &e.try.mask
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if !stays(j) {
			continue
		}
		alone := e.classes.rows[j.classes[j.partIdx]].unitsAlone
		if alone {
			used.Clear()
		}
		for i := range j.alloc {
			e.busy.Add(j.alloc[i].node)
			if alone {
				used.Add(j.alloc[i].node)
			}
		}
		if alone {
			held := &e.try.fit
			held.Clear()
			e.addBlocked(held, &e.classes.rows[j.classes[j.partIdx]], used)
			e.try.within.AndNot(held)
		}
	}
	if c.unitsAlone {
		used.Clear()
		e.addForbidden(used, c, &e.busy)
		e.try.within.AndNot(used)
	}
}
