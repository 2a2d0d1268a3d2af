package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// Profile Best counts who shares a core at each instant, where Slurm has rows that
// whole jobs lie in: a job may have the cores that at most layer others of its
// partition hold at any time of its limit, and tries first those that nobody
// holds (layer -1). The calendars leave out the cores of jobs that share, so that
// what they let pass may be too early, and never too late.

// placeLevels places a class that may share cores where idle ones will not do, which
// is why it was refused: on those with ever more sharers.
func (e *engine) placeLevels(c *class, a *attempt, why topology.Refusal) bool {
	s := &e.try
	for s.layer = 0; s.layer < e.parts[c.key.part].rows && s.layer <= len(e.jobs.rows); s.layer++ {
		if e.place(c, a) {
			return true
		}
	}
	s.layer, s.refusal = -1, why
	return false
}

// sharedOver are the cores of node n that a job of a partition must keep off over
// [t, to) if it may have so many others beside it; with -1 all that jobs share. The
// result is valid until the next call.
func (e *engine) sharedOver(part int32, n topology.NodeID, t, to Time, layer int) []uint64 {
	s := &e.try
	words := e.pool.Shape(int32(n)).CoreWords()
	planes := max(layer, 0) + 1
	s.shared = slices.Grow(s.shared[:0], words*(planes+1))[:words*(planes+1)]
	out := s.shared[:words]
	clear(out)
	if layer < 0 {
		e.addSharers(out, s.shared[words:], -1, n, t, to)
		return out
	}
	e.addSharers(out, s.shared[words:], part, n, t, t+1)
	for _, id := range e.plans.on[n] {
		if x := &e.plans.all[id]; x.start > t && x.start < to && x.row != e.plans.skip {
			e.addSharers(out, s.shared[words:], part, n, x.start, x.start+1)
		}
	}
	return out
}

// addSharers adds to dst the cores that as many jobs of a partition, or of any with
// -1, hold at one time as there are planes. All of [t, to) is one time.
func (e *engine) addSharers(dst, planes []uint64, part int32, n topology.NodeID, t, to Time) {
	p := &e.plans
	clear(planes)
	for _, r := range e.nodes[n].jobs {
		j := &e.jobs.rows[r]
		if j.shareRow > 0 && j.flags&flagAway == 0 && e.expectedEnd(j) > t && (part < 0 || j.parts[j.partIdx] == part) {
			stack(planes, j.grantOn(n).Cores)
		}
	}
	for _, id := range p.on[n] {
		x := &p.all[id]
		j := &e.jobs.rows[x.row]
		if x.row != p.skip && e.bookFrom(x.start) < to && x.end > t && e.classes.rows[j.classes[x.pair]].shares && (part < 0 || j.parts[x.pair] == part) {
			stack(planes, grantOn(x.grants, n).Cores)
		}
	}
	for w, c := range planes[len(planes)-len(dst):] {
		dst[w] |= c
	}
}

// stack counts a holder of cores: plane k has the cores of more than k holders.
func stack(planes, cores []uint64) {
	words := len(cores)
	for k := len(planes) - words; k > 0; k -= words {
		for w, c := range cores {
			planes[k+w] |= planes[k-words+w] & c
		}
	}
	for w, c := range cores {
		planes[w] |= c
	}
}

// bareRow takes out of a row of node n, as it is now, the cores of jobs that share.
func (e *engine) bareRow(sh *gres.Shape, row []uint64, n topology.NodeID) {
	if !e.sharing || e.cfg.Profile != ProfileBest {
		return
	}
	used := sh.UsedCores(row)
	for _, r := range e.nodes[n].jobs {
		if j := &e.jobs.rows[r]; j.shareRow > 0 && j.flags&flagAway == 0 {
			for w, c := range j.grantOn(n).Cores {
				used[w] &^= c
			}
		}
	}
}

// shareFits reports whether a plan of a job that shares may hold its cores beside
// others.
func (e *engine) shareFits(x *plan) bool {
	c := e.classOf(record{row: x.row, pair: x.pair})
	if !c.shares {
		return true
	}
	p := &e.plans
	skip := p.skip
	p.skip = x.row
	ok := true
	for i := range x.grants {
		full := e.sharedOver(c.key.part, x.grants[i].node, x.start, x.end, e.parts[c.key.part].rows-1)
		for w, k := range x.grants[i].grant.Cores {
			ok = ok && full[w]&k == 0
		}
	}
	p.skip = skip
	return ok
}

// breakShared takes out plans for which cores have too many sharers now, the last
// first.
func (e *engine) breakShared() {
	p := &e.plans
	if !e.sharing {
		return
	}
	ids := p.shared[:0]
	for id := range p.all[:p.n] {
		if x := &p.all[id]; x.row >= 0 && x.booked && !e.shareFits(x) {
			ids = append(ids, int32(id))
		}
	}
	slices.SortFunc(ids, e.comparePlans)
	for _, id := range slices.Backward(ids) {
		if !e.shareFits(&p.all[id]) {
			e.breakPlan(id)
		}
	}
	p.shared = ids
}

// nextShared returns the first instant after t at which a job or plan ends on node n.
func (e *engine) nextShared(n topology.NodeID, t Time) Time {
	p, at := &e.plans, Never
	for _, r := range e.nodes[n].jobs {
		if end := e.expectedEnd(&e.jobs.rows[r]); end > t {
			at = min(at, end)
		}
	}
	for _, id := range p.on[n] {
		if end := p.all[id].end; end > t {
			at = min(at, end)
		}
	}
	return at
}

// mostSharers is the most jobs and plans on a node of the search: with so many beside
// it nothing keeps a job off.
func (e *engine) mostSharers() int {
	p, most := &e.plans, 0
	count := func(n topology.NodeID) int { return len(e.nodes[n].jobs) + len(p.on[n]) }
	for i := range p.find.now {
		most = max(most, count(topology.NodeID(p.find.now[i].node)))
	}
	for _, r := range p.find.ready {
		most = max(most, count(r.node))
	}
	return min(most+1, e.parts[p.find.class.key.part].rows)
}

// tryShared tries a one-node request that may share cores on the nodes of an
// instant.
func (e *engine) tryShared(t Time) bool {
	s, w := &e.plans.find, &e.try
	first := gres.PassAny
	if t == e.now {
		first = s.class.firstPass
	}
	most := e.mostSharers()
	for w.layer = -1; w.layer < most; w.layer++ {
		for pass := first; pass <= gres.PassAny; pass++ {
			for i := range s.now {
				if e.tryNode(topology.NodeID(s.now[i].node), t, pass) {
					return true
				}
			}
		}
	}
	w.layer = -1
	for i := range s.now {
		e.tryLater(&s.now[i])
	}
	s.now = s.now[:0]
	return false
}

// tryAllShared tries the nodes that are ready at t for a request of several nodes that
// may share cores.
func (e *engine) tryAllShared(t Time, limit time.Duration, want int) bool {
	s, w := &e.plans.find, &e.try
	near := s.class.firstPass == gres.PassNear && t == e.now
	most := e.mostSharers()
	for w.layer = -1; w.layer < most; w.layer++ {
		w.fit.Clear()
		w.cols.Empty()
		w.near.Empty()
		n := 0
		for _, r := range s.ready {
			if e.column(r.node, t, near) {
				n++
			}
		}
		if n < want {
			continue
		}
		if w.uses != nil {
			e.scopeOver(w.uses, &w.fit, t, limit)
			e.pruneScoped()
		}
		if e.place(s.class, &attempt{at: t, limit: limit, plans: &e.plans, filled: true}) {
			return true
		}
	}
	w.layer = -1
	e.tryAgain(t, true)
	return false
}

// keptShared adds the cores in use of a row, which reservations keep, to those that a
// job that shares must keep off.
func (e *engine) keptShared(sh *gres.Shape, row, cores []uint64) []uint64 {
	for w := range cores {
		cores[w] |= sh.UsedCores(row)[w]
	}
	return cores
}
