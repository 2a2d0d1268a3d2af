package scheduler

import (
	"time"

	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// A slurmPlanner is the working memory of Slurm's planning pass.
type slurmPlanner struct {
	nodes  nodeMap
	avail  topology.NodeSet
	looked topology.NodeSet // avail and what others have reserved with FLEX
	chosen topology.NodeSet
	steps  int64 // node tests of this call
	off    offRun
	memo   runMemo
	round  slurmRound
	byPart []partCount
}

// A partCount counts a partition's tries and plans of a planning pass.
type partCount struct{ tries, plans int32 }

func (p *slurmPlanner) init(nodes int) {
	p.avail.Init(nodes)
	p.looked.Init(nodes)
	p.chosen.Init(nodes)
	p.off, p.memo = offRun{}, runMemo{}
	p.off.may.Init(nodes)
}

// slurmBegin starts a planning pass, or goes on with one that used up its steps.
func (e *engine) slurmBegin() {
	p := &e.slurm
	e.plans.clear()
	e.collectEnds()
	e.offBegin()
	p.memo.begin(e.pool.Hash(), e.plans.ends)
	e.try.withdrawn = false
	p.steps = 0
	p.nodes.reset(e.now, e.par.Plan.Window, e.par.Plan.Resolution, len(e.nodes))
	if e.par.Plan.RunningReserve {
		for i := range e.plans.ends {
			x := &e.plans.ends[i]
			p.nodes.reserve(e.nodesOfJob(x.job), e.now, x.at)
		}
	}
	if p.round.open {
		e.slurmResume()
		return
	}
	p.round.clear(len(e.jobs.rows))
	p.byPart = append(p.byPart[:0], make([]partCount, len(e.parts))...)
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
// beside the whole nodes that earlier ones planned for (spec: backfill 2.3). A
// pass that has used up its steps goes on in the next call, with the records
// that it has not come to.
func (e *engine) slurmPlan(dst []Decision) []Decision {
	par, p := &e.par.Plan, &e.slurm
	e.slurmBegin()
	e.plans.inPass = true
	r := &p.round
	r.open = false
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen || r.done(rec) {
			continue
		}
		if par.MaxSteps > 0 && p.steps >= par.MaxSteps {
			r.open = true
			break
		}
		first := r.mark(rec)
		if !e.slurmCounts(j, rec) {
			continue
		}
		if !e.gate(rec) && !e.waitsForLicenses(j) {
			if rec.order == 0 {
				j.start, j.end = Never, Never
			}
			continue
		}
		if par.CountMagnetic || rec.resv == 0 || len(j.spec.Reservations) > 0 {
			r.tested++
		}
		if par.MaxTest > 0 && r.tested > par.MaxTest {
			break
		}
		if e.prefers(j, rec.pair) {
			dst = e.slurmPreferred(dst, rec)
		} else {
			var full bool
			if dst, full = e.slurmTry(dst, rec, first); full {
				break
			}
		}
		if par.MaxStarts > 0 && r.starts >= par.MaxStarts {
			break
		}
	}
	e.offTo(0)
	p.memo.end(e.pool.Hash(), e.plans.ends)
	e.plans.seen = planSeen{e.freed, e.seq, e.arrivals, true}
	e.plans.inPass = false
	return dst
}

// slurmTry starts a record, or plans for it; first says that none of its job
// came before in this pass. It reports whether the map is full: the job is shown
// its start then, and nothing is kept.
func (e *engine) slurmTry(dst []Decision, rec record, first bool) (_ []Decision, full bool) {
	par, p := &e.par.Plan, &e.slurm
	j := &e.jobs.rows[rec.row]
	if first {
		j.start, j.end = Never, Never
	}
	t, limit, ok := e.slurmEarliest(rec, e.now)
	if (!ok || t > e.now) && e.pre.on {
		e.offTo(0)
		dst = e.preemptBeside(dst, rec, limit)
		p.off.turn()
		p.memo.forget()
		if j.running() {
			e.addRunningEnd(rec.row)
			p.round.starts++
			return dst, false
		}
		t, limit, ok = e.slurmEarliest(rec, e.now)
	}
	if !ok {
		return dst, false
	}
	if t <= e.now {
		return e.slurmStart(dst, rec, limit), false
	}
	if first || t < j.start {
		j.start, j.end = t, t.Add(e.timeLimit(j, int(rec.pair)))
	}
	if j.reason == ReasonNone {
		j.reason = ReasonPriority
	}
	if e.blocks(j) && e.reserves(j, int(rec.pair)) {
		if par.MaxSlots > 0 && len(p.nodes.slots) >= int(par.MaxSlots) {
			return dst, true
		}
		e.slurmReserve(rec, t, limit, first)
	}
	return dst, false
}

// slurmStart starts a record whose place is in the scratch, if limits allow.
func (e *engine) slurmStart(dst []Decision, rec record, limit time.Duration) []Decision {
	e.offTo(0)
	if !e.admits(rec) {
		return dst
	}
	beside := e.slurmBeside(rec, e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair)))
	dst = e.start(dst, rec, true)
	e.slurmLimit(rec.row, limit, beside, &dst[len(dst)-1])
	e.addRunningEnd(rec.row)
	e.slurm.memo.forget()
	e.slurm.round.starts++
	return dst
}

// slurmPreferred starts a record that only prefers, if it can start now.
func (e *engine) slurmPreferred(dst []Decision, rec record) []Decision {
	t, limit, ok := e.slurmEarliest(rec, e.now)
	if !ok || t > e.now {
		return dst
	}
	return e.slurmStart(dst, rec, limit)
}

// slurmCounts counts a try against the bounds by partition, user and
// association, and reports whether it may be made: the bound of associations
// replaces that of users (spec: backfill 2.1).
func (e *engine) slurmCounts(j *job, rec record) bool {
	par, r := &e.par.Plan, &e.slurm.round
	part := j.parts[rec.pair]
	n := &e.slurm.byPart[part]
	who := r.user(j.user)
	most := par.MaxUser
	if par.MaxAssoc > 0 {
		most = par.MaxAssoc
		if e.acct != nil {
			who = r.assoc(int32(j.acct.assoc))
		}
	}
	pair := r.userPart(j.user, part, par.MaxUserPart > 0)
	if par.MaxPart > 0 && n.tries >= par.MaxPart || most > 0 && *who >= most || par.MaxUserPart > 0 && *pair >= par.MaxUserPart {
		return false
	}
	n.tries++
	*who++
	*pair++
	return true
}

// slurmTime is the time for which a record is tested: its least limit.
func (e *engine) slurmTime(j *job, pair int) time.Duration {
	limit := e.planLimit(j, pair)
	if j.spec.TimeMin > 0 && j.spec.TimeMin < limit {
		limit = j.spec.TimeMin
	}
	return limit
}

// slurmBeside is how long a record that is tested over limit counts beside what is
// planned: one that keeps no nodes for itself and may be preempted goes wherever a
// minute is free (spec: backfill 2.3).
func (e *engine) slurmBeside(rec record, limit time.Duration) time.Duration {
	if e.pre.on && e.flagsOf(&e.jobs.rows[rec.row], int(rec.pair))&qos.NoReserve != 0 {
		return min(limit, time.Minute)
	}
	return limit
}

// slurmEarliest finds when a record can start, at or after from, beside what runs
// and what is planned, and for how long it was tested; its place is in the scratch. A start
// after the end of the slot is put off to that end, where more nodes may be free
// of plans; one in the same grain that a plan forbids is tried again as it is.
func (e *engine) slurmEarliest(rec record, from Time) (Time, time.Duration, bool) {
	p := &e.slurm
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	limit := e.slurmTime(j, int(rec.pair))
	beside := e.slurmBeside(rec, limit)
	for {
		p.avail.Copy(&e.up)
		p.avail.And(c.nodes)
		later := p.nodes.over(&p.avail, from, from.Add(beside))
		p.looked.Copy(&p.avail)
		later = e.slurmResv(rec, from, limit, later)
		if p.avail.Count() >= int(c.min) && (c.list == nil || p.avail.Contains(c.list)) {
			t, ok := e.willRunKept(rec, &p.avail, &p.looked, from, limit)
			lacking := ok && e.par.Plan.Licenses && len(j.licenses.asks) > 0 && !e.licensesFree(j, rec.resv, t, limit)
			if lacking {
				if at := e.licensesLater(t); later == 0 || at < later {
					later = at
				}
			} else if ok && (later == 0 || p.nodes.floor(t) <= later) {
				_, clash := p.nodes.clashes(e.try.nodes, t, t.Add(beside))
				clash = clash || e.resvClash(rec, t, limit)
				switch {
				case t > e.lastStart(j), t >= e.resvLast(rec):
					return Never, limit, false
				case t <= e.now || !clash && (later == 0 || t <= later):
					return t, limit, true
				case clash && t > from:
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
// of such a reservation if it is earlier: more nodes may be there then. What runs on nodes of FLEX ones still
// counts among the ends that are looked at (recorded).
func (e *engine) slurmResv(rec record, from Time, limit time.Duration, later Time) Time {
	p := &e.slurm
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.id == rec.resv || !x.during(from, from.Add(limit)) || e.passesOver(x, rec) {
			continue
		}
		if end := p.nodes.ceil(x.end); x.flags&resvFloat == 0 && (later == 0 || end < later) && x.nodes.Intersects(e.classOf(rec).nodes) {
			later = end
		}
		if len(x.cores) == 0 {
			p.avail.AndNot(&x.nodes)
			if x.flags&resvFlex == 0 {
				p.looked.AndNot(&x.nodes)
			}
		}
	}
	return later
}

// slurmReserve keeps the whole nodes of the place in the scratch for a record.
// A start beyond the window is shown and nothing is kept.
func (e *engine) slurmReserve(rec record, t Time, limit time.Duration, first bool) {
	par, p := &e.par.Plan, &e.slurm
	j := &e.jobs.rows[rec.row]
	n := &p.byPart[j.parts[rec.pair]]
	if par.OnePlanPerJob && !first || par.PartPlans > 0 && n.plans >= par.PartPlans {
		return
	}
	n.plans++
	x := e.plans.add()
	x.row, x.start, x.end = rec.row, t, t.Add(limit)
	kept := par.Window == Infinite || t <= e.now.Add(par.Window)
	p.round.hold(rec, t, t.Add(limit), e.try.nodes, kept)
	if kept {
		p.nodes.reserve(e.try.nodes, t, t.Add(limit))
	}
}

// slurmLimit gives a job that started with its least limit as much of the limit
// that it asked for as no plan for its nodes forbids, in whole minutes (spec:
// backfill 2.6).
func (e *engine) slurmLimit(r int32, least, beside time.Duration, d *Decision) {
	j := &e.jobs.rows[r]
	if j.spec.TimeMin <= 0 || least >= j.limit {
		return
	}
	limit := j.limit
	if at, clash := e.slurm.nodes.clashes(e.nodesOfJob(r), e.now, e.now.Add(min(limit, beside))); clash {
		limit = max(least, at.Sub(e.now)/time.Minute*time.Minute)
	}
	if at := e.reservedFrom(j, e.try.nodes, limit); at != Never {
		limit = max(least, at.Sub(e.now)/time.Minute*time.Minute)
	}
	if limit == j.limit {
		return
	}
	j.limit, j.change().TimeLimit = limit, limit
	j.end = e.now.Add(limit)
	d.Limit = limit
	e.pushLimit(r)
}

// builtinPlan shows when jobs could start where none may pass another: each
// after the one before it unless it runs on nodes that none before it uses. Slurm
// shows tasks without a count of nodes on as many nodes as they could use.
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
		fit := &e.classes.rows[j.classes[rec.pair]].fit
		want := fit.Want
		if e.cfg.Defects {
			fit.Want = max(want, fit.Max) // spec: topology 2.1, dry runs
		}
		t, ok := e.willRun(rec, &e.up, &e.up, e.now, limit)
		fit.Want = want
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
	e.offTo(0)
}
