package scheduler

import "time"

// An evictedFrom is one victim of the window that budgets look at.
type evictedFrom struct {
	at     Time
	by, of int32 // numbers of the accounts that took and that lost it
}

// budgeted reports whether evictions are counted at all.
func (e *engine) budgeted() bool {
	p := &e.par.Preempt
	return p.Window > 0 && (p.Budget > 0 || p.Shield > 0)
}

// forgetEvictions drops what the window has passed.
func (e *engine) forgetEvictions() {
	p := &e.pre
	n := 0
	for n < len(p.log) && p.log[n].at.Add(e.par.Preempt.Window) <= e.now {
		n++
	}
	if n > 0 {
		p.log = append(p.log[:0], p.log[n:]...)
		e.freed++ // somebody may take others again
	}
}

// logEviction notes that a job took another one's place.
func (e *engine) logEviction(by, of *job) {
	if e.budgeted() {
		p := &e.pre
		p.log = append(p.log, evictedFrom{e.now, p.accounts.intern(e.accountName(by)), p.accounts.intern(e.accountName(of))})
	}
}

// spent counts the victims of an account in the window: those that it took, or
// those that it lost.
func (p *preempter) spent(account int32, lost bool) (n int32) {
	for i := range p.log {
		if who := p.log[i].by; !lost && who == account {
			n++
		}
		if who := p.log[i].of; lost && who == account {
			n++
		}
	}
	return n
}

// budget reports whether the account of a job may take anybody now. If not, a pass
// is due when the window moves on.
func (e *engine) budget(j *job) bool {
	p := &e.pre
	if !e.budgeted() {
		return true
	}
	p.left = -1
	if e.par.Preempt.Budget == 0 {
		return true
	}
	p.left = e.par.Preempt.Budget - p.spent(p.accounts.intern(e.accountName(j)), false)
	if p.left <= 0 {
		e.wakeForBudget()
	}
	return p.left > 0
}

func (e *engine) wakeForBudget() {
	if p := &e.pre; len(p.log) > 0 {
		p.wake = min(p.wake, p.log[0].at.Add(e.par.Preempt.Window))
	}
}

// affordable reports whether as many victims as were chosen fit the account's
// budget.
func (e *engine) affordable() bool {
	p := &e.pre
	if !e.budgeted() || p.left < 0 || int32(len(p.victims)) <= p.left {
		return true
	}
	e.wakeForBudget()
	return false
}

// shielded reports whether the account of a running job has lost as many jobs as
// it may in the window.
func (e *engine) shielded(v *job) bool {
	shield := e.par.Preempt.Shield
	if shield == 0 || !e.budgeted() {
		return false
	}
	p := &e.pre
	if p.spent(p.accounts.intern(e.accountName(v)), true) < shield {
		return false
	}
	p.exempt = min(p.exempt, p.log[0].at.Add(e.par.Preempt.Window))
	return true
}

// overShield takes candidates out of the search of whose account more were chosen
// than it may lose, the dearest first, and reports whether there were any.
func (e *engine) overShield() bool {
	shield := e.par.Preempt.Shield
	if shield == 0 || !e.budgeted() {
		return false
	}
	p := &e.pre
	over := false
	for i, c := range p.victims {
		of := p.accounts.intern(e.accountName(&e.jobs.rows[p.rows[c]]))
		n := p.spent(of, true)
		for _, k := range p.victims[:i+1] {
			if p.accounts.intern(e.accountName(&e.jobs.rows[p.rows[k]])) == of {
				n++
			}
		}
		if n > shield {
			p.cost.banned[c] = true
			over = true
		}
	}
	return over
}

// settles reports whether a running job that was evicted before is left alone,
// since it has just started again.
func (e *engine) settles(v *job) bool {
	settle := e.par.Preempt.Settle
	if v.evict.times == 0 || settle <= 0 || e.now.Sub(v.start) >= settle {
		return false
	}
	e.pre.exempt = min(e.pre.exempt, v.start.Add(settle))
	return true
}

// defaultSettle is PreemptParameters.Settle in profile Best.
const defaultSettle = time.Minute
