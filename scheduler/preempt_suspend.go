package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/preempt"
)

// A suspended victim keeps its memory, devices and the cores that nobody needs;
// the cores that the preemptor got move from its allocation to lent. They come
// back when whoever has them ends, and the victim goes on once it has them all.

// narrow keeps the candidates whose mode decides the path: those to be stopped
// if the first in order is, the others if it is not (spec: preempt 5.2). It
// reports which.
func (e *engine) narrow() (suspend bool) {
	p := &e.pre
	if len(p.order) == 0 {
		return false
	}
	suspend = p.modes[p.order[0]] == preempt.ModeSuspend
	if !suspend && e.cfg.Profile == ProfileBest {
		n := 0
		for i, m := range p.modes {
			if m != preempt.ModeSuspend {
				p.rows[n], p.picked[n], p.keys[n], p.modes[n] = p.rows[i], p.picked[i], p.keys[i], m
				n++
			}
		}
		// Their order does not matter to it.
		p.rows, p.picked, p.keys, p.modes = p.rows[:n], p.picked[:n], p.keys[:n], p.modes[:n]
		return false
	}
	p.order = slices.DeleteFunc(p.order, func(c int32) bool {
		if suspend {
			return p.modes[c] != preempt.ModeSuspend || !e.canLend(&e.jobs.rows[p.rows[c]])
		}
		return p.modes[c] == preempt.ModeSuspend
	})
	return suspend
}

// canLend reports whether a running job could be stopped for its cores: nodes
// that are described by counts have none.
func (e *engine) canLend(j *job) bool {
	for i := range j.alloc {
		if e.pool.Shape(int32(j.alloc[i].node)).CoreWords() == 0 || j.alloc[i].grant.SharedCores {
			return false
		}
	}
	return j.state == StateRunning
}

// suspendFor stops candidates until a record fits on their cores, and starts it.
func (e *engine) suspendFor(dst []Decision, rec record, t *trial) []Decision {
	p := &e.pre
	t.coresOnly = true
	var ok bool
	p.victims, ok = p.search.Suspended(p.victims[:0], p.order, t)
	if !ok || len(p.victims) == 0 {
		return dst
	}
	for _, c := range p.victims {
		t.Remove(c)
	}
	ok = t.Fits()
	backfill := t.plans != nil || e.try.withdrawn
	t.close()
	if !ok || !e.admits(rec) {
		return dst
	}
	for _, c := range p.victims {
		r := p.rows[c]
		if !e.lend(r) {
			continue
		}
		j := &e.jobs.rows[r]
		p.lenders = append(p.lenders, r)
		e.counts.Preemptions++
		at := len(dst)
		dst = e.stop(dst, r, rec.id)
		d := &dst[at]
		d.Reason, d.Rule, d.Candidates, d.Victims = ReasonPreempted, p.rule.Type.String(), int32(len(p.rows)), int32(len(p.victims))
		if j.parts[j.partIdx] == e.jobs.rows[rec.row].parts[rec.pair] {
			p.gang.join(j) // they take turns
		}
	}
	dst = e.start(dst, rec, backfill)
	if e.plans.inPass {
		e.catchUp() // more has changed than the job that starts
	}
	return dst
}

// stop suspends a running job for another one.
func (e *engine) stop(dst []Decision, r int32, by JobID) []Decision {
	j := &e.jobs.rows[r]
	j.state, j.stopped = StateSuspended, e.now
	j.evict.by, j.evict.mode, j.evict.at = by, preempt.ModeSuspend, Never
	e.touchJob(j)
	dst = e.decide(dst, r, OpSuspend)
	return e.spell(dst, r, preempt.ModeSuspend, &preempt.UserSignal{}, 0)
}

// goOn lets a job that was stopped for another run again: time stopped does not
// count against its limit.
func (e *engine) goOn(now Time, r int32) {
	j := &e.jobs.rows[r]
	j.lent = j.lent[:0]
	j.state = StateRunning
	j.evict = eviction{last: j.evict.last, times: j.evict.times}
	if j.end != Never {
		j.end = j.end.Add(now.Sub(j.stopped))
	}
	e.pushLimit(r)
	e.touchJob(j)
}

// lend moves the cores that the place in the scratch takes out of a job's
// allocation, and reports whether there are any.
func (e *engine) lend(r int32) bool {
	s := &e.try
	j := &e.jobs.rows[r]
	j.lent = j.lent[:0]
	j.ownAlloc()
	for i := range j.alloc {
		a := &j.alloc[i]
		k, on := slices.BinarySearch(s.nodes, a.node)
		if !on {
			continue
		}
		e.part.Reset(len(a.grant.Cores))
		any := false
		for w, c := range s.grants[k].Cores {
			e.part.Cores[w] = a.grant.Cores[w] & c
			any = any || e.part.Cores[w] != 0
		}
		if !any {
			continue
		}
		e.pool.Give(int32(a.node), &e.part)
		e.plans.touch(a.node)
		j.lent = append(j.lent, nodeGrant{node: a.node, grant: gres.Grant{Cores: slices.Clone(e.part.Cores)}})
		for w := range a.grant.Cores {
			a.grant.Cores[w] &^= e.part.Cores[w]
		}
	}
	return len(j.lent) > 0
}

// lending reports whether a job was stopped for another one.
func (j *job) lending() bool { return j.evict.mode == preempt.ModeSuspend && j.evict.by != 0 }

// reclaim gives lent cores back where they are free, to who lent last first; who
// has all of them goes on.
func (e *engine) reclaim(now Time) {
	p := &e.pre
	for i := len(p.lenders) - 1; i >= 0; i-- {
		r := p.lenders[i]
		j := &e.jobs.rows[r]
		if !j.running() || !j.lending() {
			p.lenders = slices.Delete(p.lenders, i, i+1)
			continue
		}
		whole := true
		for k := range j.lent {
			whole = e.takeBack(j, &j.lent[k]) && whole
		}
		if !whole {
			continue
		}
		p.lenders = slices.Delete(p.lenders, i, i+1)
		e.goOn(now, r)
		e.orders = append(e.orders, pendingOrder{row: r, gen: j.gen, op: OpResume})
	}
}

// takeBack books what is free of l for its owner, and reports whether that was
// the rest.
func (e *engine) takeBack(j *job, l *nodeGrant) bool {
	j.ownAlloc()
	a := &j.alloc[indexOfGrant(j.alloc, l.node)]
	row := e.pool.Row(int32(l.node))
	e.part.Reset(len(l.grant.Cores))
	left := uint64(0)
	for w, c := range l.grant.Cores {
		e.part.Cores[w] = c &^ row[w]
	}
	e.pool.Take(int32(l.node), &e.part)
	e.plans.touch(l.node)
	for w, c := range e.part.Cores {
		a.grant.Cores[w] |= c
		l.grant.Cores[w] &^= c
		left |= l.grant.Cores[w]
	}
	return left == 0
}

// delayLenders tells the plans of jobs stopped for others that are past their
// limits: nobody tells those to end, and they still hold what they did not lend.
func (e *engine) delayLenders() {
	for _, r := range e.pre.lenders {
		if j := &e.jobs.rows[r]; j.running() && j.lending() && j.end <= e.now {
			e.touchJob(j)
		}
	}
}
