package scheduler

import (
	"time"

	"github.com/berth-sched/berth/topology"
)

// A slurmPlanner is the working memory of Slurm's planning pass.
type slurmPlanner struct {
	nodes  nodeMap
	avail  topology.NodeSet
	chosen topology.NodeSet
	seenIn []uint64 // by row: number of the pass that last tried the job
	parts  []partCount
	users  []int32 // tries by user
	pairs  map[userPart]int32
}

// A partCount counts a partition's tries and plans of a planning pass.
type partCount struct{ tries, plans int32 }

// A userPart is a user in a partition.
type userPart struct{ user, part int32 }

func (p *slurmPlanner) init(nodes int) {
	p.avail.Init(nodes)
	p.chosen.Init(nodes)
}

// begin starts a planning pass.
func (e *engine) slurmBegin() {
	p := &e.slurm
	e.plans.clear()
	e.collectEnds()
	e.try.withdrawn = false
	p.nodes.reset(e.now, e.par.Plan.Window, e.par.Plan.Resolution, len(e.nodes))
	p.seenIn = append(p.seenIn, make([]uint64, max(len(e.jobs.rows)-len(p.seenIn), 0))...)
	p.parts = append(p.parts[:0], make([]partCount, len(e.parts))...)
	p.users = append(p.users[:0], make([]int32, len(e.users.names))...)
	clear(p.pairs)
	if p.pairs == nil {
		p.pairs = make(map[userPart]int32)
	}
	if e.par.Plan.RunningReserve {
		for i := range e.plans.ends {
			x := &e.plans.ends[i]
			p.nodes.reserve(e.nodesOfJob(x.job), e.now, x.at)
		}
	}
}

// nodesOfJob lists the nodes of a running job in the scratch.
func (e *engine) nodesOfJob(r int32) []topology.NodeID {
	e.try.nodes = e.try.nodes[:0]
	for i := range e.jobs.rows[r].alloc {
		e.try.nodes = append(e.try.nodes, e.jobs.rows[r].alloc[i].node)
	}
	return e.try.nodes
}

// slurmPlan is Slurm's backfill pass: every record in order of rank is tried
// beside the whole nodes that earlier ones planned for (spec: backfill 2.3).
func (e *engine) slurmPlan(dst []Decision) []Decision {
	par := &e.par.Plan
	e.slurmBegin()
	e.plans.inPass = true
	tested, starts := int32(0), int32(0)
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen || !e.slurmCounts(j, rec) {
			continue
		}
		if !e.gate(rec) && !e.waitsForLicenses(j) {
			if rec.order == 0 {
				j.start, j.end = Never, Never
			}
			continue
		}
		if tested++; par.MaxTest > 0 && tested > par.MaxTest {
			break
		}
		if e.prefers(j, rec.pair) {
			var n int32
			dst, n = e.slurmPreferred(dst, rec)
			if starts += n; par.MaxStarts > 0 && starts >= par.MaxStarts {
				break
			}
			continue
		}
		first := e.slurm.seenIn[rec.row] != e.passNo
		e.slurm.seenIn[rec.row] = e.passNo
		if first {
			j.start, j.end = Never, Never
		}
		if !e.gate(rec) && !e.waitsForLicenses(j) {
			continue
		}
		t, limit, ok := e.slurmEarliest(rec)
		if (!ok || t > e.now) && e.pre.on {
			dst = e.preemptBeside(dst, rec, limit)
			if j.running() {
				e.addRunningEnd(rec.row)
				starts++
				continue
			}
			t, limit, ok = e.slurmEarliest(rec)
		}
		if !ok {
			continue
		}
		if t <= e.now {
			if !e.admits(rec) {
				continue
			}
			dst = e.start(dst, rec, true)
			e.slurmLimit(rec.row, limit, &dst[len(dst)-1])
			e.addRunningEnd(rec.row)
			if starts++; par.MaxStarts > 0 && starts >= par.MaxStarts {
				break
			}
			continue
		}
		if first || t < j.start {
			j.start, j.end = t, t.Add(e.timeLimit(j, int(rec.pair)))
		}
		if j.reason == ReasonNone {
			j.reason = ReasonPriority
		}
		if e.blocks(j) && e.reserves(j, int(rec.pair)) {
			if par.MaxSlots > 0 && len(e.slurm.nodes.slots) >= int(par.MaxSlots) {
				break // the map is full: shown, and nothing kept
			}
			e.slurmReserve(rec, t, limit, first)
		}
	}
	e.plans.seen = planSeen{e.freed, e.seq, e.arrivals, true}
	e.plans.inPass = false
	return dst
}

// slurmPreferred starts a record that only prefers, if it can start now, and
// counts it.
func (e *engine) slurmPreferred(dst []Decision, rec record) ([]Decision, int32) {
	t, limit, ok := e.slurmEarliest(rec)
	if !ok || t > e.now || !e.admits(rec) {
		return dst, 0
	}
	dst = e.start(dst, rec, true)
	e.slurmLimit(rec.row, limit, &dst[len(dst)-1])
	e.addRunningEnd(rec.row)
	return dst, 1
}

// slurmCounts counts a try against the bounds by partition and user, and
// reports whether it may be made (spec: backfill 2.1).
func (e *engine) slurmCounts(j *job, rec record) bool {
	par, p := &e.par.Plan, &e.slurm
	part := j.parts[rec.pair]
	n := &p.parts[part]
	if par.MaxPart > 0 && n.tries >= par.MaxPart {
		return false
	}
	maxUser := par.MaxUser
	if par.MaxAssoc > 0 {
		maxUser = par.MaxAssoc
	}
	u := userPart{j.user, part}
	switch {
	case maxUser > 0 && p.users[j.user] >= maxUser, par.MaxUserPart > 0 && p.pairs[u] >= par.MaxUserPart:
		return false
	}
	n.tries++
	p.users[j.user]++
	if par.MaxUserPart > 0 {
		p.pairs[u]++
	}
	return true
}

// slurmTime is the time for which a record is tested: its least limit.
func (e *engine) slurmTime(j *job, pair int) time.Duration {
	limit := e.timeLimit(j, pair)
	if limit == Infinite {
		limit = 365 * 24 * time.Hour
	}
	if j.spec.TimeMin > 0 && j.spec.TimeMin < limit {
		limit = j.spec.TimeMin
	}
	return limit
}

// slurmEarliest finds when a record can start beside what runs and what is
// planned, and for how long it was tested; its place is in the scratch.
func (e *engine) slurmEarliest(rec record) (Time, time.Duration, bool) {
	p := &e.slurm
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	limit := e.slurmTime(j, int(rec.pair))
	for from := e.now; ; {
		p.avail.Copy(&e.up)
		p.avail.And(c.nodes)
		later := p.nodes.over(&p.avail, from, from.Add(limit))
		later = e.slurmResv(rec, from, limit, later)
		if p.avail.Count() >= int(c.min) && (c.list == nil || p.avail.Contains(c.list)) {
			t, ok := e.willRun(rec, &p.avail, from, limit)
			lacking := ok && e.par.Plan.Licenses && len(j.licenses.asks) > 0 && !e.licensesFree(j, rec.resv, t, limit)
			if lacking {
				if at := e.licensesLater(t); later == 0 || at < later {
					later = at
				}
			} else if ok && (later == 0 || p.nodes.floor(t) <= later) {
				_, clash := p.nodes.clashes(e.try.nodes, t, t.Add(limit))
				if clash = clash || e.resvClash(rec, t, limit); t <= e.now || !clash {
					return t, limit, true
				}
				if t > from {
					later = t
				}
			}
		}
		if later == 0 || later == Never {
			return Never, limit, false
		}
		from = later
	}
}

// slurmResv takes the nodes that are reserved for others during
// [from, from+limit) from those a record may use, and returns later, or the end
// of such a reservation if it is earlier.
func (e *engine) slurmResv(rec record, from Time, limit time.Duration, later Time) Time {
	p := &e.slurm
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == rec.resv || !x.during(from, from.Add(limit)) || e.passesOver(x, rec) {
			continue
		}
		if end := p.nodes.ceil(x.end); x.flags&resvFloat == 0 && (later == 0 || end < later) {
			later = end
		}
		if len(x.cores) == 0 {
			p.avail.AndNot(&x.nodes)
		}
	}
	return later
}

// slurmReserve keeps the whole nodes of the place in the scratch for a record.
// A start beyond the window is shown and nothing is kept.
func (e *engine) slurmReserve(rec record, t Time, limit time.Duration, first bool) {
	par, p := &e.par.Plan, &e.slurm
	j := &e.jobs.rows[rec.row]
	n := &p.parts[j.parts[rec.pair]]
	if par.OnePlanPerJob && !first || par.PartPlans > 0 && n.plans >= par.PartPlans {
		return
	}
	n.plans++
	x := e.plans.add()
	x.row, x.start, x.end = rec.row, t, t.Add(limit)
	x.grants = copyGrants(x.grants, e.try.nodes, e.try.grants)
	if t > e.now.Add(par.Window) {
		return
	}
	p.nodes.reserve(e.try.nodes, t, t.Add(limit))
}

// slurmLimit gives a job that started with its least limit as much of the limit
// that it asked for as no plan for its nodes forbids, in whole minutes (spec:
// backfill 2.6).
func (e *engine) slurmLimit(r int32, least time.Duration, d *Decision) {
	j := &e.jobs.rows[r]
	if j.spec.TimeMin <= 0 || least >= j.limit {
		return
	}
	limit := j.limit
	if at, clash := e.slurm.nodes.clashes(e.nodesOfJob(r), e.now, e.now.Add(limit)); clash {
		limit = max(least, at.Sub(e.now)/time.Minute*time.Minute)
	}
	if at := e.reservedFrom(j, e.try.nodes, limit); at != Never {
		limit = max(least, at.Sub(e.now)/time.Minute*time.Minute)
	}
	if limit == j.limit {
		return
	}
	j.limit, j.spec.TimeLimit = limit, limit
	j.end = e.now.Add(limit)
	d.Limit = limit
	e.pushLimit(r)
}

// builtinPlan shows when jobs could start where none may pass another: each
// after the one before it unless it runs on nodes that none before it uses.
func (e *engine) builtinPlan() {
	p := &e.slurm
	e.slurmBegin()
	p.chosen.Clear()
	last := e.now
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen || e.prefers(j, rec.pair) {
			continue
		}
		limit := e.slurmTime(j, int(rec.pair))
		t, ok := e.willRun(rec, &e.up, e.now, limit)
		if !ok {
			j.start, j.end = Never, Never
			continue
		}
		shared := false
		for _, n := range e.try.nodes {
			shared = shared || p.chosen.Has(n)
			p.chosen.Add(n)
		}
		if shared {
			t = max(t, last)
		}
		j.start, j.end = t, t.Add(limit)
		last = j.end
	}
}
