package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// maxSweeps bounds how often a pass walks the queue for plans that can move.
const maxSweeps = 8

// bestPlan is the planning pass of profile Best. Plans of the last pass stand.
// In order of the queue each record that waits is tried beside the plans of
// others; what has a plan is tried at every instant before its start, but only
// if something has become free on a node that would let it start earlier. Since
// a plan that moves leaves a place that others may use, the queue is walked until
// nothing changes.
func (e *engine) bestPlan(dst []Decision) []Decision {
	p := &e.plans
	if p.open {
		turned := false
		if p.cal == nil { // restored from a snapshot
			turned = e.turned()
			p.openCalendars(e)
			if !turned && p.seen == (planSeen{e.freed, e.seq, e.arrivals, true}) {
				e.catchUp() // else when late plans have moved, as in the original
			}
		}
		if !turned && e.unchanged() {
			return dst
		}
	}
	p.inPass = true
	e.syncPlans()
	if e.loose() {
		p.noteAll()
	}
	e.orderPlans()
	e.try.withdrawn = false
	starts := int32(0)
	if p.left = compressSteps; e.par.Plan.MaxSteps > 0 {
		p.left = e.par.Plan.MaxSteps
	}
	for sweep := 0; ; sweep++ {
		from := len(p.log)
		p.moved = false
		if sweep == maxSweeps {
			p.left = 0
		}
		p.beginSweep()
		dst = e.sweepQueue(dst, &starts)
		if !p.endRound() && (len(p.log) == from || !p.moved) {
			break
		}
	}
	p.inPass = false
	e.closeChanges()
	p.vacant.Clear()
	p.seen, p.seenNoted = planSeen{e.freed, e.seq, e.arrivals, true}, p.noted
	return dst
}

// unchanged reports whether a planning pass would find everything as the last
// one left it.
func (e *engine) unchanged() bool {
	p := &e.plans
	if e.pre.on || p.seen != (planSeen{e.freed, e.seq, e.arrivals, true}) || e.par.Plan.Interval > 0 || p.nextRound <= e.now {
		return false
	}
	for _, at := range p.nextAt {
		if at <= e.now {
			return false
		}
	}
	return true
}

// turned reports whether something that runs should be gone, or a plan has come,
// which the calendars of a restored scheduler cannot tell any more.
func (e *engine) turned() bool {
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && (j.flags&flagEnding != 0 || j.end <= e.now) {
			return true
		}
	}
	p := &e.plans
	for id := range p.all[:p.n] {
		if x := &p.all[id]; x.row >= 0 && x.booked && x.start <= e.now {
			return true
		}
	}
	return false
}

// orderPlans lists the plans in order of the queue. In best effort, a plan that
// was made before one of higher rank is made anew.
func (e *engine) orderPlans() {
	p := &e.plans
	p.order = p.order[:0]
	if p.n == len(p.free) {
		return
	}
	left := p.n - len(p.free)
	for i, rec := range e.records() {
		if left == 0 {
			break
		}
		j := &e.jobs.rows[rec.row]
		if j.plan == 0 || j.qgen != rec.gen {
			continue
		}
		if id := e.planOf(&rec); id >= 0 {
			x := &p.all[id]
			x.pos, x.now = int32(i), 0
			p.order = append(p.order, id)
			left--
		}
	}
	if e.par.Plan.Promise != PromiseBestEffort {
		return
	}
	newest, kept := uint64(0), p.order[:0]
	for _, id := range p.order {
		if x := &p.all[id]; x.serial < newest {
			e.dropPlan(id)
			continue
		}
		newest = p.all[id].serial
		kept = append(kept, id)
	}
	p.order = kept
	e.catchUp()
}

// sweepQueue walks the queue once.
func (e *engine) sweepQueue(dst []Decision, starts *int32) []Decision {
	par, p := &e.par.Plan, &e.plans
	var w walk
	tested := int32(0)
	p.lifted = false
	plain := e.acct == nil && len(e.licenses.pools) == 0 && !e.pre.on && !e.sharing && len(e.resv.all) == 0
	records := e.records()
	fill := par.Fill == FillShortest && !e.pre.on && !e.sharing
	group, above := 0, int32(0) // where the priority at hand begins, and plans above
	for i := range records {
		r := &records[i]
		if fill {
			if i == 0 || r.key != records[group].key {
				group, above = i, w.held
			}
			if w.held > above {
				// The first that waits has what it can get.
				dst = e.fillGaps(dst, starts, &w, i)
				above = math.MaxInt32
			}
		}
		if r.told && plain && w.blocked && par.Depth > 0 && w.held >= par.Depth && par.MaxTest == 0 {
			// It waits like the others of its class.
			if c := &e.classes.rows[r.class]; c.futileLimit <= c.leastLimit && e.futile(c, c.leastLimit) {
				continue
			}
		}
		r.told = false
		rec := *r
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen {
			continue
		}
		if tested++; par.MaxTest > 0 && tested > par.MaxTest || par.MaxStarts > 0 && *starts >= par.MaxStarts {
			break
		}
		w.rec, w.pos, w.id = rec, int32(i), e.planOf(&rec)
		w.licences, w.told = false, false
		if !e.gate(rec) {
			if dst = e.reclaimLicenses(dst, rec); j.running() {
				e.started(&w)
				*starts++
				continue
			}
			if w.licences = j.reason == ReasonLicenses; !w.licences {
				e.losePlan(&w)
				continue
			}
		}
		w.room = par.Depth == 0 || w.held < par.Depth
		if w.id >= 0 && !w.room && par.Promise == PromiseBestEffort {
			e.losePlan(&w)
		}
		if w.id >= 0 && e.stands(&w) {
			e.waits(&w, p.all[w.id].why)
			continue
		}
		mark := len(dst)
		dst = e.planRecord(dst, &w)
		if len(dst) > mark && len(p.stales) > 0 {
			e.catchUp() // victims were told to go
		}
		if j = &e.jobs.rows[rec.row]; j.running() {
			*starts++
		}
		r.told = w.told
	}
	return dst
}

// A walk is where a sweep stands.
type walk struct {
	rec      record
	pos      int32 // of the record in the queue
	id       int32 // its plan, -1 none
	held     int32 // plans above it
	blocked  bool  // one above it waits
	room     bool  // fewer plans than Depth are above it
	licences bool  // it waits for licences at least
	whole    bool  // its plan is compared with all that has changed, for all starts before its own
	told     bool  // it waits like others of its class
}

// waits notes that a record with a plan waits. One that waits for its reservation
// stops none outside of it.
func (e *engine) waits(w *walk, why Reason) {
	j := &e.jobs.rows[w.rec.row]
	j.reason = why
	if w.blocked && plannable(why) {
		j.reason = ReasonPriority
	}
	e.reservedWhy(w.rec)
	if at := e.resvAt(w.rec.resv); at < 0 || e.resv.all[at].flags&resvFlex != 0 {
		w.blocked = true
	}
	w.held++
}

// reservedWhy says of a record that waits beside plans that reservations keep it from
// starting, if they do. It uses the scratch.
func (e *engine) reservedWhy(rec record) {
	if len(e.resv.all) > 0 && rec.resv == 0 && e.resv.floats == 0 && plannable(e.jobs.rows[rec.row].reason) {
		e.resvStops(rec) // which says why
	}
}

// losePlan takes a record's plan from it.
func (e *engine) losePlan(w *walk) {
	j := &e.jobs.rows[w.rec.row]
	if w.id >= 0 {
		e.dropPlan(w.id)
		e.catchUp()
		e.plans.moved = true
		w.id = -1
	}
	e.showPlan(j)
}

// showPlan sets the start that a waiting job shows: the earliest of its plans.
func (e *engine) showPlan(j *job) {
	j.start, j.end = Never, Never
	for id := j.plan - 1; id >= 0; id = e.plans.all[id].next - 1 {
		if x := &e.plans.all[id]; x.start < j.start {
			j.start, j.end = x.start, x.start.Add(x.limit)
		}
	}
}

// stands reports whether the plan of a record need not be looked at: nothing has
// become free that would let it start earlier since it was compared with
// everything before its start. A plan that had to make room takes its place again
// if it is free. What the pass has no steps left for is put off, but for starts
// at this instant.
func (e *engine) stands(w *walk) bool {
	p := &e.plans
	id := w.id
	x := &p.all[id]
	if !x.booked && len(x.grants) > 0 {
		if x.broken || !e.fitsBack(x) {
			return false
		}
		e.bookPlan(id)
	}
	if w.whole = p.left > 0 && x.checked < p.round; !w.whole && x.checked < len(p.log) {
		p.behind = true
	}
	switch {
	case e.pre.on, e.sharing, x.booked && x.start <= e.now, !x.booked && e.inWindow(x.start):
		return false
	case x.checked == len(p.log):
		return true
	case !w.whole:
		if x.now < len(p.log) && e.gainsNow(x) {
			return false
		}
		x.now = len(p.log)
		return true
	case x.checked < p.anywhere, e.gains(x):
		return false
	}
	x.checked = len(p.log)
	return true
}

// planRecord tries a record now, and plans for it if it may have a plan.
func (e *engine) planRecord(dst []Decision, w *walk) []Decision {
	p := &e.plans
	j := &e.jobs.rows[w.rec.row]
	limit := e.planLimit(j, int(w.rec.pair))
	if w.id >= 0 && p.all[w.id].limit != limit {
		e.losePlan(w)
	}
	if w.id >= 0 && p.all[w.id].booked {
		return e.compress(dst, w)
	}
	if w.id >= 0 && len(p.all[w.id].grants) > 0 {
		x := &p.all[w.id]
		e.leave(x)
		if x.broken {
			e.liftOn(x, w.pos)
		}
		x.grants, x.broken = x.grants[:0], false
	}
	return e.newcomer(dst, w, limit)
}

// compress takes a plan out and puts it back at its earliest fit.
func (e *engine) compress(dst []Decision, w *walk) []Decision {
	p := &e.plans
	x := &p.all[w.id]
	e.unbookPlan(w.id)
	e.ownNodes(x.grants)
	due := x.start <= e.now
	until, only := x.start+1, (*topology.NodeSet)(nil) // at its start others nodes may do better
	if due || !w.whole {
		until = e.now + 1
	}
	if !due {
		only = e.onlyChanged(x)
	}
	at, ok := e.earliest(w.rec, x.limit, until, only)
	if w.whole {
		p.left -= p.find.work + grantWork*int64(len(x.grants))
	}
	p.disown()
	if ok && at <= e.now {
		return e.startPlanned(dst, w)
	}
	if e.pre.on {
		if dst = e.preempt(dst, w.rec, p); e.jobs.rows[w.rec.row].running() {
			e.started(w)
			return dst
		}
		if len(p.stales) > 0 {
			// Victims go: it may start when they are gone.
			e.catchUp()
			at, ok = e.earliest(w.rec, x.limit, until, nil)
			ok = ok && at > e.now
		} else if ok {
			at, ok = e.earliest(w.rec, x.limit, until, only)
		}
	}
	switch {
	case due:
		e.leave(x)
		x.grants = x.grants[:0]
		return e.newcomer(dst, w, x.limit)
	case ok && !(at == x.start && e.sameNodes(x)):
		e.leave(x)
		e.putPlan(w, at)
	default:
		e.bookPlan(w.id)
		if x.now = len(p.log); w.whole {
			x.checked = x.now
		}
	}
	e.waits(w, x.why)
	return dst
}

// sameNodes reports whether the place in the scratch is on the nodes of a plan.
func (e *engine) sameNodes(x *plan) bool {
	return slices.EqualFunc(e.try.nodes, x.grants, func(n topology.NodeID, g nodeGrant) bool { return n == g.node })
}

// onlyChanged is the node of a plan for one, and those on which something has
// become free since the plan was compared with them: all that need be looked at.
// It is nil if that is not enough to know.
func (e *engine) onlyChanged(x *plan) *topology.NodeSet {
	p := &e.plans
	if c := &e.classes.rows[e.jobs.rows[x.row].classes[x.pair]]; !c.one || c.unitsAlone || x.checked < p.anywhere || e.pre.on {
		return nil
	}
	p.only.Clear()
	p.only.Add(x.grants[0].node)
	for _, n := range p.log[x.checked:] {
		p.only.Add(n)
	}
	return &p.only
}

// putPlan books a plan at t with what the scratch holds.
func (e *engine) putPlan(w *walk, t Time) {
	p := &e.plans
	x := &p.all[w.id]
	x.start, x.end = t, e.planEnd(t, x.limit)
	x.pick = e.jobs.rows[x.row].licenses.pick
	if e.inWindow(t) {
		x.grants = copyGrants(x.grants, e.try.nodes, e.try.grants)
		e.bookPlan(w.id)
	}
	x.checked = len(p.log)
	p.moved = true
	e.showPlan(&e.jobs.rows[x.row])
}

// newcomer tries a record that has no place in the calendars, and gives it one.
func (e *engine) newcomer(dst []Decision, w *walk, limit time.Duration) []Decision {
	p := &e.plans
	j := &e.jobs.rows[w.rec.row]
	c := &e.classes.rows[j.classes[w.rec.pair]]
	if j.reason >= reasonLimits {
		j.reason = ReasonResources
	}
	prefers := e.prefers(j, w.rec.pair) || w.rec.resv != 0 && len(j.spec.Reservations) == 0
	may := w.room && !prefers && e.blocks(j) && e.reserves(j, int(w.rec.pair))
	until := Never
	aside := false
	if j.plan > 0 {
		if dst, aside = e.startAside(dst, w, limit); j.running() {
			return dst
		}
	}
	if !may {
		if until = e.now + 1; !aside && !e.pre.on && w.blocked && plannable(j.reason) && c.list == nil && c.futileResv == w.rec.resv && e.futile(c, limit) {
			if !prefers {
				j.reason = ReasonPriority
			}
			e.losePlan(w)
			w.told = !prefers
			return dst
		}
	}
	at, ok := e.earliest(w.rec, limit, until, nil)
	late := w.id < 0 || p.all[w.id].start == Never // it has never had a place
	if may && late && (!ok || at > e.now) && e.lower(w) {
		at, ok = e.makeRoom(w, limit, at, ok)
	}
	if ok && at <= e.now {
		return e.startPlanned(dst, w)
	}
	if prefers {
		return dst // the record that asks follows
	}
	why := e.why(j.classes[w.rec.pair])
	if w.licences {
		why = ReasonLicenses
	} else if !may && e.try.refusal.Rule != topology.RuleSwitches && e.try.capNodes == 0 && p.find.guards&(guardScoped|guardApart) == 0 &&
		len(j.licenses.asks) == 0 {
		c.futileResv, c.futileLimit, c.futileAt = w.rec.resv, limit, p.logBase+uint64(len(p.log))
	}
	j.reason = why
	if w.rec.resv != 0 {
		told := len(dst)
		if dst = e.recall(dst, w.rec); len(dst) > told {
			e.catchUp() // borrowers leave
			at, ok = e.earliest(w.rec, limit, until, nil)
		}
	}
	if e.pre.on {
		if dst = e.preempt(dst, w.rec, p); j.running() {
			e.started(w)
			return dst
		}
		e.catchUp()
		if at, ok = e.earliest(w.rec, limit, until, nil); ok && at <= e.now {
			ok = false // it waits for what it has just been refused
		}
	}
	if w.blocked && plannable(why) {
		j.reason = ReasonPriority
	}
	if !may || !plannable(why) && !w.licences {
		e.losePlan(w)
		w.told = !may && j.reason == ReasonPriority
		e.reservedWhy(w.rec)
		return dst
	}
	if !e.admitsAsked(w.rec) {
		// Over a limit whatever is free: no plan, and it blocks nobody.
		e.losePlan(w)
		return dst
	}
	if w.id < 0 {
		w.id = e.newPlan(w.rec)
	}
	x := &p.all[w.id]
	x.limit, x.why, x.pos = limit, why, w.pos
	if !ok {
		at = Never
	}
	e.putPlan(w, at)
	e.waits(w, why)
	return dst
}

// startPlanned starts a record at the place in the scratch.
func (e *engine) startPlanned(dst []Decision, w *walk) []Decision {
	if !e.admits(w.rec) {
		e.losePlan(w)
		return dst
	}
	dst = e.start(dst, w.rec, w.blocked)
	e.started(w)
	return dst
}

// started makes calendars follow a record that has started.
func (e *engine) started(w *walk) {
	e.bookRunning(w.rec.row)
	e.plans.moved = true
}

// keptPlans are the plans that the start phase must heed, nil if there are none.
func (e *engine) keptPlans() *planner {
	if e.plans.live == 0 {
		return nil
	}
	e.syncPlans()
	return &e.plans
}

// loose reports whether anything has changed since the last planning pass that
// is not noted by node.
func (e *engine) loose() bool {
	p := &e.plans
	return !p.seen.valid || p.seen.freed-p.seenNoted != e.freed-p.noted
}
