package scheduler

import (
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// Pass makes one scheduling pass; see Scheduler.
func (e *engine) Pass(now Time, dst []Decision) []Decision {
	e.now = max(e.now, now)
	e.resv.clock = e.now
	e.counts.Passes++
	e.passNo++
	e.try.names = e.try.names[:0]
	e.pre.wake = Never
	e.expireEvictions()
	if e.now >= e.nextSwitch {
		e.nextSwitch = Never
		e.arrivals++ // plans are tried again
	}
	dst = e.endings(dst)
	e.missDeadlines()
	e.delayLenders()
	e.wakePending()
	e.wakeDependants()
	e.turnReservations()
	e.queue.merge(e.alive)
	e.tick()
	e.pairQueue()
	dst = e.killOver(dst)
	dst = e.slice(dst)
	dst = e.startSteps(dst)
	if e.plans.live == 0 || e.par.Plan.Interval > 0 {
		// Else planning tries every record anyway, beside the plans.
		dst = e.startPhase(dst)
	}
	dst = e.planPhase(dst)
	dst = e.slice(dst)
	e.stepBack(-1)
	e.pool.Forget()
	e.closeAccounts()
	if checking {
		e.check()
	}
	return dst
}

// alive reports whether a record still stands for a job that could start.
func (e *engine) alive(q *record) bool { return e.jobs.rows[q.row].qgen == q.gen }

// decide appends a decision about a job and numbers it.
func (e *engine) decide(dst []Decision, r int32, op Op) []Decision {
	j := &e.jobs.rows[r]
	e.seq++
	p := &e.parts[j.parts[j.partIdx]]
	d := Decision{Seq: e.seq, Op: op, Job: j.id, ArrayTask: -1, At: e.now, Limit: j.limit, Partition: p.spec.Name}
	d.QOS = e.qosName(j)
	if op == OpKill || op == OpRequeue {
		e.beginClosing(r)
	}
	if op != OpStart {
		d.Reason = j.endWhy
		d.For = j.evict.by
	}
	from := len(e.try.names)
	for i := range j.alloc {
		e.try.names = append(e.try.names, e.names.Name(j.alloc[i].node))
	}
	d.Nodes = e.try.names[from:len(e.try.names):len(e.try.names)]
	return append(dst, d)
}

// endings tells jobs to end: those that events ordered to, and those at their
// limit.
func (e *engine) endings(dst []Decision) []Decision {
	for _, o := range e.orders {
		if j := &e.jobs.rows[o.row]; j.gen == o.gen && j.running() {
			if o.op == OpResume {
				dst = e.resume(dst, o.row)
				continue
			}
			dst = e.decide(dst, o.row, o.op)
		}
	}
	e.orders = e.orders[:0]
	h := &e.timers.limits
	for len(h.items) > 0 && h.items[0].at <= e.now {
		t := h.items[0]
		h.pop()
		j := &e.jobs.rows[t.row]
		if e.limitStale(&t) {
			continue
		}
		if j.graceOver() {
			dst = e.expel(dst, t.row)
			continue
		}
		j.flags |= flagEnding
		j.endState, j.endWhy = StateTimeout, ReasonTimeLimit
		e.touchJob(j)
		dst = e.decide(dst, t.row, OpKill)
	}
	return dst
}

// killTime is when a running job has used its limit and what it may overrun.
func (e *engine) killTime(j *job) Time {
	if j.graceOver() {
		return j.end
	}
	over := e.par.OverTimeLimit
	if p := e.parts[j.parts[j.partIdx]].spec.OverTimeLimit; p != nil {
		over = *p
	}
	return min(j.end.Add(over), e.resvEnd(j))
}

// limitStale reports whether a timer of the limits does not count any more.
func (e *engine) limitStale(t *timer) bool {
	j := &e.jobs.rows[t.row]
	return j.gen != t.gen || !j.running() || j.lending() || j.flags&flagEnding != 0 || e.killTime(j) != t.at
}

// trimTimers drops stale limits when they outnumber the jobs, and makes room
// for one timer a job, so that a pass need not.
func (e *engine) trimTimers() {
	h := &e.timers.limits
	jobs := e.counts.Pending + e.counts.Running + 1
	if len(h.items) > 2*jobs+64 {
		items := h.items
		h.items = items[:0]
		for i := range items {
			if t := items[i]; !e.limitStale(&t) {
				h.push(t)
			}
		}
	}
	h.reserve(len(h.items) + jobs)
	e.reserveClosings()
	e.pre.growRuns(jobs)
}

// wakePending gives records to jobs whose begin time has come.
func (e *engine) wakePending() {
	h := &e.timers.begins
	for len(h.items) > 0 && h.items[0].at <= e.now {
		t := h.items[0]
		h.pop()
		if e.beginStale(&t) {
			continue
		}
		e.setEligible(e.now, t.row)
		e.requeueRecords(t.row)
	}
}

// beginStale reports whether a timer of the begin times does not count any more.
func (e *engine) beginStale(t *timer) bool {
	j := &e.jobs.rows[t.row]
	return j.gen != t.gen || j.state != StatePending || j.flags&flagQueued != 0 || j.begin != t.at || j.depend.blocks()
}

// lookCost is the work of trying a class, in looks at nodes: one if it is known
// to fail or takes one node, else one for each that it may use.
func (e *engine) lookCost(class int32) int64 {
	c := &e.classes.rows[class]
	if c.fails[0].at == e.freed+1 || c.one {
		return 1
	}
	return int64(c.nodes.Count())
}

// startPhase starts jobs in strict order: the first that does not fit stops
// its partition, and takes its nodes from the partitions that follow (spec:
// backfill 1.3).
func (e *engine) startPhase(dst []Decision) []Decision {
	q := &e.par.Queue
	e.try.withdrawn = false
	if q.Disabled {
		return dst
	}
	if e.keepsBack() {
		return dst
	}
	depth := e.queueDepth()
	e.leftOver = false
	tested, starts, steps := int32(0), int32(0), int64(0)
	plans := e.keptPlans()
	defer func() { e.plans.skip = -1 }()
	for _, rec := range e.records() {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen {
			continue
		}
		e.plans.skip = rec.row
		p := &e.parts[j.parts[rec.pair]]
		if p.failedIn == e.passNo || rec.resv != 0 && e.resvFailed(rec) {
			if j.reason == ReasonNone || j.reason == ReasonResources {
				j.reason = ReasonPriority
			}
			continue
		}
		if q.PartitionDepth > 0 {
			if p.testedIn != e.passNo {
				p.testedIn, p.tested = e.passNo, 0
			}
			if p.tested++; p.tested > q.PartitionDepth {
				continue
			}
		}
		if tested++; depth > 0 && tested > depth+1 || q.MaxStarts > 0 && starts >= q.MaxStarts {
			e.leftOver = true
			break
		}
		if q.MaxSteps > 0 {
			if steps >= q.MaxSteps {
				e.leftOver = true
				break
			}
			steps += e.lookCost(j.classes[rec.pair])
		}
		if !e.gate(rec) {
			dst = e.reclaimLicenses(dst, rec)
			if j = &e.jobs.rows[rec.row]; !j.running() && e.waitsForLicenses(j) {
				e.standstill(rec)
			}
			continue
		}
		beside := plans
		if e.claiming(j) {
			beside = nil // the place of its victims is its own, whoever plans for it
		}
		if e.tryNow(rec, beside) {
			if e.admits(rec) {
				dst = e.start(dst, rec, false)
				starts++
			}
			continue
		}
		j = &e.jobs.rows[rec.row]
		if e.prefers(j, rec.pair) {
			continue // the record that asks follows
		}
		if e.try.hold && e.cfg.Profile == ProfileSlurm {
			// Its cores can never be laid out: Slurm holds it.
			e.hold(rec.row, true)
			continue
		}
		j.reason = e.why(j.classes[rec.pair])
		dst = e.preempt(dst, rec, plans)
		if j.running() {
			starts++
			continue
		}
		if rec.resv != 0 {
			dst = e.recall(dst, rec)
		}
		if len(e.resv.all) > 0 && e.resvStops(rec) {
			continue
		}
		e.standstill(rec)
	}
	return dst
}

// queueDepth is the most records that a start phase tests, but for one; 0 is all,
// as it is once every FullInterval.
func (e *engine) queueDepth() int32 {
	if e.now < e.nextFull {
		return e.par.Queue.Depth
	}
	e.nextFull = e.now.Add(e.par.Queue.FullInterval)
	return 0
}

// blocks reports whether a waiting job stops its partition.
func (e *engine) blocks(j *job) bool {
	q := &e.par.Queue
	switch {
	case j.prio < q.MinPrioReserve, q.MinAgeReserve > 0 && e.now.Sub(j.submit) < q.MinAgeReserve:
		return false
	}
	return true
}

// withdraw takes nodes away from the records that follow in this pass.
func (e *engine) withdraw(s *topology.NodeSet) {
	if !e.try.withdrawn {
		e.try.withdrawn = true
		e.try.gone.Clear()
	}
	e.try.goneNo++
	e.try.gone.Or(s)
}

// start commits what place found for a record.
func (e *engine) start(dst []Decision, rec record, backfill bool) []Decision {
	r := rec.row
	j := &e.jobs.rows[r]
	e.unqueue(r)
	e.dropPlans(r)
	e.takeQOS(j, int(rec.pair))
	j.partIdx = rec.pair
	j.limit = e.startLimit(j, int(rec.pair))
	e.takeGrants(j, r)
	e.shareStart(j)
	j.state = StateRunning
	j.evict = eviction{last: j.evict.last, times: j.evict.times}
	e.noteRun(r)
	if e.slicing() {
		e.pre.gang.join(j)
	}
	if e.classes.rows[j.classes[rec.pair]].unitsAlone {
		e.holdUnits()
	}
	j.flags |= flagUnconfirmed
	j.reason = ReasonNone
	var cutting time.Duration
	dst, cutting = e.reconfigure(dst, r)
	j.start, j.end = e.now, e.now.Add(j.limit).Add(cutting)
	e.dependsStarted(r)
	e.counts.Pending--
	e.counts.Running++
	e.counts.Starts++
	e.countUse(j, 1)
	e.useLicenses(j, 1)
	e.charge(j)
	e.enterReservation(r, rec.resv)
	e.pushLimit(r)
	dst = e.decide(dst, r, OpStart)
	d := &dst[len(dst)-1]
	d.At = e.now.Add(cutting)
	if at := e.resvAt(rec.resv); at >= 0 {
		d.Reservation = e.resv.all[at].spec.Name
	}
	d.Backfill = backfill
	j.seq = d.Seq
	return dst
}

// Wake returns the next instant at which a pass could decide differently; see
// Scheduler.
func (e *engine) Wake() (Time, bool) {
	at := e.wakeReservations()
	if len(e.orders) > 0 || len(e.stepping) > 0 {
		return e.now, true
	}
	if e.slurm.round.open && e.closingUntil() == 0 {
		return e.now, true
	}
	for _, h := range []*timerHeap{&e.timers.limits, &e.timers.begins, &e.timers.deadlines, &e.depends.timers} {
		for len(h.items) > 0 {
			t := h.items[0]
			stale := false
			switch h {
			case &e.timers.begins:
				stale = e.beginStale(&t)
			case &e.depends.timers:
				stale = e.dependStale(&t)
			case &e.timers.limits:
				stale = e.limitStale(&t)
			case &e.timers.deadlines:
				stale = e.deadlineStale(&t)
			}
			if !stale {
				at = min(at, t.at)
				break
			}
			h.pop()
		}
	}
	at = min(at, e.accountWake())
	if e.counts.Pending > 0 {
		at = min(at, e.nextSwitch)
		if e.leftOver {
			at = min(at, e.nextFull)
		}
		if until := e.closingUntil(); until > 0 {
			at = min(at, until)
		}
		if e.ages() {
			at = min(at, e.nextCal)
		}
		if e.par.Plan.Interval > 0 && e.par.Plan.Mode == PlanBackfill {
			at = min(at, max(e.nextBF, e.closingUntil()))
		}
		if e.par.Plan.Interval == 0 && e.par.Plan.Mode == PlanBackfill {
			at = min(at, max(e.plans.nextRound, e.closingUntil()))
		}
	}
	at = min(at, e.pre.wake, e.pre.gang.next)
	if e.pre.gang.dirty && e.slicing() {
		at = e.now
	}
	return max(at, e.now), at != Never
}

// countUse adds what a job holds to the totals, or takes it off.
func (e *engine) countUse(j *job, sign int64) {
	if e.staysApart(j, int(j.partIdx)) {
		e.apart += int(sign)
	}
	u := e.use(j)
	e.counts.CPUMilliUsed += sign * u.cpuMilli
	e.counts.GPUMilliUsed += sign * u.gpuMilli
}

// A jobUse is what a job holds in all.
type jobUse struct {
	cpuMilli, gpuMilli, memMiB int64
}

func (e *engine) use(j *job) jobUse {
	var u jobUse
	for i := range j.alloc {
		a := &j.alloc[i]
		if m := a.grant.MilliCPU; m > 0 {
			u.cpuMilli += m
		} else {
			u.cpuMilli += a.grant.CPUs * 1000
		}
		u.memMiB += a.grant.MemMiB
		s := e.pool.Shape(int32(a.node))
		for _, d := range a.grant.Devices {
			if s.GroupName(int(d.Group)) == gres.NameGPU {
				u.gpuMilli += s.GrantMilli(&d)
			}
		}
	}
	return u
}
