package scheduler

import (
	"time"

	"github.com/berth-sched/berth/preempt"
)

// preempt chooses victims for a record that does not fit, and appends what they
// are told. The job itself starts in a later pass, once they are gone.
func (e *engine) preempt(dst []Decision, rec record, plans *planner) []Decision {
	p := &e.pre
	j := &e.jobs.rows[rec.row]
	if !p.on || e.searched(rec, plans) {
		return dst
	}
	p.made++
	if !e.collectVictims(rec) {
		e.remember(rec, plans, searchNobody)
		return dst
	}
	if !e.admitsAsked(rec) {
		return dst
	}
	t := &p.trial
	t.open(e, rec, plans)
	defer t.close()
	if t.leaving > 0 && t.Fits() {
		e.remember(rec, plans, searchLeaving)
		return dst // what it needs is already on its way out
	}
	if j.evict.askedAt > 0 && e.now < j.evict.askedAt.Add(e.par.KillWait+e.par.MessageTimeout) || !e.budget(j) {
		return dst
	}
	p.order = preempt.AppendOrder(p.order[:0], p.keys)
	if e.narrow() {
		return e.suspendFor(dst, rec, t)
	}
	outcome := searchNobody
	if e.cfg.Profile == ProfileSlurm {
		n, strict := p.rule.Reorders()
		var ok bool
		if p.victims, ok = p.search.Greedy(p.victims[:0], p.order, n, strict, t); ok {
			outcome = searchFound
		}
	} else {
		outcome = e.leastVictims(t)
	}
	t.close()
	if outcome != searchFound || len(p.victims) == 0 {
		e.remember(rec, plans, outcome)
		return dst
	}
	return e.evictAll(dst, rec, t)
}

// evictAll tells the chosen victims to make room for a record.
func (e *engine) evictAll(dst []Decision, rec record, t *trial) []Decision {
	p := &e.pre
	j := &e.jobs.rows[rec.row]
	j.evict.askedAt, j.evict.until = e.now, e.now.Add(e.par.KillWait+e.par.MessageTimeout)
	for _, c := range p.victims {
		at := len(dst)
		dst = e.evict(dst, p.rows[c], rec)
		j.evict.until = max(j.evict.until, e.jobs.rows[p.rows[c]].evict.at.Add(e.par.KillWait+e.par.MessageTimeout))
		d := &dst[at]
		d.Rule, d.Candidates, d.Victims = p.rule.Type.String(), int32(len(p.rows)), int32(len(p.victims))
		d.Trials = int32(t.trials)
		if e.cfg.Profile == ProfileBest {
			d.Cost, d.SetCost, d.Bound = p.cost.costs[c], p.cost.res.Cost, p.cost.res.Bound
		}
	}
	e.claim(rec)
	return dst
}

// preemptBeside is preempt on the nodes that no plan of Slurm's map needs for as
// long as the record is tested.
func (e *engine) preemptBeside(dst []Decision, rec record, limit time.Duration) []Decision {
	s, m := &e.try, &e.slurm
	m.avail.Copy(&e.up)
	m.nodes.over(&m.avail, e.now, e.now.Add(limit))
	s.gone.Copy(&e.up)
	s.gone.AndNot(&m.avail)
	s.withdrawn, e.pre.beside = true, true
	dst = e.preempt(dst, rec, nil)
	s.withdrawn, e.pre.beside = false, false
	return dst
}

// collectVictims lists the jobs that a record may take, in order of submission,
// and reports whether there are any.
func (e *engine) collectVictims(rec record) bool {
	p := &e.pre
	var me, it preempt.Job
	j := &e.jobs.rows[rec.row]
	e.preemptJob(&me, j, rec.pair)
	nodes := &e.parts[j.parts[rec.pair]].nodes
	best := e.cfg.Profile == ProfileBest
	if best {
		nodes = e.classes.rows[j.classes[rec.pair]].nodes
	}
	p.rows, p.keys, p.modes, p.picked = p.rows[:0], p.keys[:0], p.modes[:0], p.picked[:0]
	p.exempt = Never
	for i := range p.runs {
		u := &p.runs[i]
		v := &e.jobs.rows[u.row]
		if v.flags&flagEnding != 0 || v.evict.by != 0 {
			continue
		}
		e.describe(&it, v, v.partIdx, u.qos)
		if !p.rule.Eligible(&me, &it) {
			if x := p.rule.ExemptTime(&it); it.Age < x && x != preempt.Unlimited {
				p.exempt = min(p.exempt, v.start.Add(x))
			}
			continue
		}
		if best && e.spared(j, v, &me, &it) {
			continue
		}
		if !meets(v, nodes) && !e.holdsLicense(j, v) {
			continue
		}
		p.rows = append(p.rows, u.row)
		p.keys = append(p.keys, p.rule.Key(&it))
		p.modes = append(p.modes, p.rule.ModeOf(&it))
		p.picked = append(p.picked, int32(i))
	}
	p.wake = min(p.wake, p.exempt)
	return len(p.rows) > 0
}

// spared reports whether profile Best lets a job be that the rule gives away: it
// has just started again after an eviction, its account has made room often
// enough, or taking it could go on for ever.
func (e *engine) spared(j, v *job, me, it *preempt.Job) bool {
	return e.strikesBack(j, v, me, it) || e.settles(v) || e.shielded(v)
}

// strikesBack reports whether taking v could go on for ever: it took j's place
// before, or both belong to QOS that may take each other in turn. There the higher
// priority alone counts, and who was ever taken takes nobody, so that no circle
// closes however priorities move.
func (e *engine) strikesBack(j, v *job, me, it *preempt.Job) bool {
	if j.evict.last == v.id {
		return true
	}
	if e.pre.rule.Type != preempt.TypeQOS {
		return false
	}
	c := e.pre.circle
	return c[me.QOSID] == c[it.QOSID] && (me.Priority <= it.Priority || j.evict.last != 0)
}
