package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// What racks and nodes have to give beside cores has calendars too: one a unit of
// a pool, of a single amount. They follow the books when they are asked for: what
// changes a unit says so with staleUnits.

// A unitFuture is what is in use of a unit from now on: by jobs that run, until
// their limits, and by plans.
type unitFuture struct {
	steps []unitStep // ascending, the first from before on
	until Time       // from then on it must be made anew
	known bool
}

type unitStep struct {
	at   Time
	used int64
}

// listMembers lists the nodes of each unit of a pool.
func (p *licensePool) listMembers() {
	p.first = make([]int32, len(p.units)+1)
	n := 0
	for _, u := range p.unitOf {
		if u >= 0 {
			p.first[u+1]++
			n++
		}
	}
	for u := range p.units {
		p.first[u+1] += p.first[u]
	}
	next := slices.Clone(p.first)
	p.members = make([]topology.NodeID, n)
	for id, u := range p.unitOf {
		if u >= 0 {
			p.members[next[u]] = topology.NodeID(id)
			next[u]++
		}
	}
}

// nodesOf are the nodes of a unit, ascending.
func (p *licensePool) nodesOf(unit int32) []topology.NodeID {
	return p.members[p.first[unit]:p.first[unit+1]]
}

// staleUnits notes that what is in use of the units of some nodes changes, now or
// later.
func (e *engine) staleUnits(u *licenseUse, grants []nodeGrant) {
	p := &e.plans
	if !u.scoped || p.units == nil {
		return
	}
	for _, a := range u.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope == ScopeCluster || int(a.pool) >= len(p.units) {
			continue
		}
		for i := range grants {
			if k := l.unitOf[grants[i].node]; k >= 0 {
				p.units[a.pool][k].known = false
			}
		}
	}
}

// noteAround notes that jobs on other nodes may have what a job gives back: what it
// takes of its racks, and the topology units that it has to itself.
func (e *engine) noteAround(j *job, pair int16, grants []nodeGrant) {
	p := &e.plans
	if !p.open {
		return
	}
	if c := &e.classes.rows[j.classes[pair]]; c.unitsAlone {
		p.unit.Clear()
		e.addBlocked(&p.unit, c, e.nodesIn(grants))
		for n := range p.unit.All() {
			p.note(n)
		}
		p.usedKnown = false
	}
	if !j.licenses.scoped {
		return
	}
	for _, a := range j.licenses.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope != ScopeUnit {
			continue
		}
		last := int32(-1)
		for i := range grants {
			k := l.unitOf[grants[i].node]
			if k < 0 || k == last {
				continue
			}
			last = k
			for _, n := range l.nodesOf(k) {
				p.note(n)
			}
		}
	}
}

// note notes that a node may take more, though nothing on it has changed.
func (p *planner) note(n topology.NodeID) {
	p.vacant.Add(n)
	if p.inPass {
		p.log = append(p.log, n)
	}
}

// openUnits makes room for the futures of all units.
func (e *engine) openUnits() {
	p, pools := &e.plans, e.licenses.pools
	if len(p.units) < len(pools) {
		p.units = append(p.units, make([][]unitFuture, len(pools)-len(p.units))...)
	}
	for i := range pools {
		if len(p.units[i]) != len(pools[i].units) {
			p.units[i] = make([]unitFuture, len(pools[i].units))
		}
	}
}

// futureOf is the future of a unit.
func (e *engine) futureOf(pool, unit int32) *unitFuture {
	f := &e.plans.units[pool][unit]
	if !f.known || e.now >= f.until {
		e.foresee(f, pool, unit)
	}
	return f
}

// foresee makes the future of a unit anew. Work: a look at what runs and is
// planned on its nodes.
func (e *engine) foresee(f *unitFuture, pool, unit int32) {
	p, l := &e.plans, &e.licenses.pools[pool]
	s := append(f.steps[:0], unitStep{before, l.units[unit].used})
	for _, n := range l.nodesOf(unit) {
		for _, r := range e.nodes[n].jobs {
			j := &e.jobs.rows[r]
			if k := j.licenses.of(pool); k > 0 && j.flags&flagAway == 0 {
				s = append(s, unitStep{e.expectedEnd(j), -k})
			}
		}
		for _, id := range p.on[n] {
			x := &p.all[id]
			k := e.jobs.rows[x.row].licenses.of(pool)
			if k == 0 || x.row == p.skip {
				continue
			}
			s = append(s, unitStep{e.bookFrom(x.start), k})
			if x.end != Never {
				s = append(s, unitStep{x.end, -k})
			}
		}
	}
	slices.SortFunc(s[1:], func(a, b unitStep) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for _, x := range s[1:] {
		if x.at > s[n].at {
			n++
			s[n] = unitStep{x.at, s[n-1].used}
		}
		s[n].used += x.used
	}
	f.steps, f.known, f.until = s[:n+1], true, Never
	if n > 0 {
		f.until = s[1].at
	}
}

// at returns the number of the step that holds at t.
func (f *unitFuture) at(t Time) int {
	i, found := slices.BinarySearchFunc(f.steps, t, func(s unitStep, t Time) int { return cmp.Compare(s.at, t) })
	if !found {
		i--
	}
	return max(i, 0)
}

// from returns the first start at or after t from which so much is left below
// most for the whole span.
func (f *unitFuture) from(t, span Time, count, most int64) Time {
	for i := f.at(t); i < len(f.steps) && (f.steps[i].at <= t || span == Never || f.steps[i].at < t+span); i++ {
		if f.steps[i].used+count <= most {
			continue
		}
		if i+1 == len(f.steps) {
			return Never
		}
		t = f.steps[i+1].at
	}
	return t
}

// peak is the most that is in use at any time of [t, to).
func (f *unitFuture) peak(t, to Time) int64 {
	i := f.at(t)
	most := f.steps[i].used
	for i++; i < len(f.steps) && f.steps[i].at < to; i++ {
		most = max(most, f.steps[i].used)
	}
	return most
}

// keepServed takes from the set of a search the nodes that never have what a job
// takes of them, and notes what it takes.
func (e *engine) keepServed(j *job) {
	s := &e.try
	s.uses = nil
	if !j.licenses.scoped {
		return
	}
	s.uses = &j.licenses
	e.openUnits()
	for _, a := range j.licenses.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope == ScopeCluster {
			continue
		}
		for n := range s.within.All() {
			if u := l.unitOf[n]; u < 0 || l.units[u].total < a.count {
				s.within.Remove(n)
			}
		}
	}
}

// servedFrom returns the first start at or after t from which node n and its racks
// have what a job takes of them for its whole limit.
func (e *engine) servedFrom(u *licenseUse, n topology.NodeID, t, span Time) Time {
	for i := 0; i < len(u.asks); i++ {
		a := u.asks[i]
		l := &e.licenses.pools[a.pool]
		if l.scope == ScopeCluster {
			continue
		}
		unit := l.unitOf[n]
		if unit < 0 {
			return Never
		}
		at := e.futureOf(a.pool, unit).from(t, span, a.count, l.units[unit].total)
		if at == Never {
			return Never
		}
		if at > t {
			t, i = at, -1
		}
	}
	return t
}

// scopeOver notes what the units of some nodes have left over the whole limit from
// t, for pruneScoped.
func (e *engine) scopeOver(u *licenseUse, nodes *topology.NodeSet, t Time, limit time.Duration) {
	to := t.Add(limit)
	for _, a := range u.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope == ScopeCluster {
			continue
		}
		last := int32(-1)
		for n := range nodes.All() {
			if k := l.unitOf[n]; k >= 0 && k != last {
				l.free[k] = l.units[k].total - e.futureOf(a.pool, k).peak(t, to)
				last = k
			}
		}
	}
}

// scopedFrom reports whether all that a plan takes of units is free over its time.
func (e *engine) scopedFrom(x *plan) bool {
	u := &e.jobs.rows[x.row].licenses
	if !u.scoped {
		return true
	}
	e.openUnits()
	for _, a := range u.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope == ScopeCluster {
			continue
		}
		for pass := range 2 {
			for i := range x.grants {
				k := l.unitOf[x.grants[i].node]
				switch {
				case k < 0:
					return false
				case pass == 0:
					l.freeNext[k] = l.units[k].total - e.futureOf(a.pool, k).peak(x.start, x.end)
				default:
					if l.freeNext[k] -= a.count; l.freeNext[k] < 0 {
						return false
					}
				}
			}
		}
	}
	return true
}

// nextServed returns the first instant after t at which a unit of the ready nodes
// may have more.
func (e *engine) nextServed(u *licenseUse, t Time) Time {
	next := Never
	for _, a := range u.asks {
		l := &e.licenses.pools[a.pool]
		if l.scope != ScopeUnit {
			continue
		}
		for _, r := range e.plans.find.ready {
			f := e.futureOf(a.pool, l.unitOf[r.node])
			if i := f.at(t) + 1; i < len(f.steps) {
				next = min(next, f.steps[i].at)
			}
		}
	}
	return next
}

// breakScoped takes out plans for which racks and nodes do not have enough any
// more: of those that begin when there is too little, the last. Work: a look a
// unit, and at those that changed.
func (e *engine) breakScoped() {
	p := &e.plans
	if p.units == nil {
		return
	}
	e.openUnits()
	for pool := range p.units {
		for unit := range p.units[pool] {
			f := &p.units[pool][unit]
			if f.known && e.now < f.until {
				continue
			}
			for {
				e.foresee(f, int32(pool), int32(unit))
				id := e.overUnit(f, int32(pool), int32(unit))
				if id < 0 {
					break
				}
				e.breakPlan(id)
			}
		}
	}
}

// overUnit returns the plan to take out of a unit that has too little for all, -1
// for none.
func (e *engine) overUnit(f *unitFuture, pool, unit int32) int32 {
	p, l := &e.plans, &e.licenses.pools[pool]
	for i := range f.steps {
		if f.steps[i].used <= l.units[unit].total {
			continue
		}
		last := int32(-1)
		for _, n := range l.nodesOf(unit) {
			for _, id := range p.on[n] {
				x := &p.all[id]
				if e.bookFrom(x.start) <= f.steps[i].at && x.end > f.steps[i].at && e.jobs.rows[x.row].licenses.of(pool) > 0 && (last < 0 || e.comparePlans(id, last) > 0) {
					last = id
				}
			}
		}
		if last >= 0 {
			return last
		}
	}
	return -1
}

// comparePlans orders plans by start, job and record.
func (e *engine) comparePlans(a, b int32) int {
	x, y := &e.plans.all[a], &e.plans.all[b]
	return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(e.jobs.rows[x.row].id, e.jobs.rows[y.row].id), cmp.Compare(x.pair, y.pair), cmp.Compare(x.resv, y.resv))
}

// checkUnits compares the futures of units with the books, and what is planned with
// what they have.
func (e *engine) checkUnits(fail func(string, ...any)) {
	p := &e.plans
	for pool := range p.units {
		for unit := range p.units[pool] {
			f := &p.units[pool][unit]
			if !f.known || e.now >= f.until {
				continue
			}
			var want unitFuture
			e.foresee(&want, int32(pool), int32(unit))
			if !slices.Equal(f.steps, want.steps) {
				fail("unit %d of pool %d: its future is %v, jobs and plans make it %v", unit, pool, f.steps, want.steps)
			}
			if id := e.overUnit(f, int32(pool), int32(unit)); id >= 0 {
				fail("unit %d of pool %d: plan %d takes more than is there", unit, pool, id)
			}
		}
	}
}
