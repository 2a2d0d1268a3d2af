package scheduler

import "slices"

// A job that has told its victims to go counts as a user of its limits until it
// starts or gives up, so that no other job chooses victims, or starts, on what the
// limits will not allow once it runs. While the job itself is tried its claim is
// set aside.

// claim begins to count a record that has chosen victims.
func (e *engine) claim(rec record) {
	if e.acct == nil || e.cfg.Defects {
		return
	}
	e.pre.aside, e.pre.isAside = rec, true
}

// stepAside stops counting the claim of a record that is tried now, and counts
// that of the one tried before again.
func (e *engine) stepAside(rec record) {
	e.stepBack(rec.row)
	j := &e.jobs.rows[rec.row]
	if j.evict.claim != 0 {
		e.dropClaim(j)
		e.pre.aside, e.pre.isAside = rec, true
	}
}

// stepBack counts a claim that was set aside, unless it is that of job row but or
// void by now.
func (e *engine) stepBack(but int32) {
	p := &e.pre
	if !p.isAside || p.aside.row == but {
		return
	}
	p.isAside = false
	j := &e.jobs.rows[p.aside.row]
	if j.qgen != p.aside.gen || j.state != StatePending || j.evict.until < e.now || j.evict.until == 0 || j.evict.claim != 0 {
		return
	}
	q := e.candidate(j, int(p.aside.pair))
	j.evict.claim, j.evict.pair = e.acct.l.Charge(q), p.aside.pair
	if !slices.Contains(p.claims, p.aside.row) {
		p.claims = append(p.claims, p.aside.row)
	}
}

// keepOwn takes the nodes from the try that others of those who wait for their
// victims will get: so many as become free at once are not all one's own.
func (e *engine) keepOwn(j *job) {
	for i := range e.pre.runs {
		v := &e.jobs.rows[e.pre.runs[i].row]
		if v.evict.by == 0 || v.evict.by == j.id || v.lending() {
			continue
		}
		r := e.jobs.find(v.evict.by)
		if r < 0 || e.jobs.rows[r].state != StatePending || !e.claiming(&e.jobs.rows[r]) {
			continue
		}
		for k := range v.alloc {
			e.try.within.Remove(v.alloc[k].node)
		}
	}
}

// dropClaim stops counting the claim of a job.
func (e *engine) dropClaim(j *job) {
	if j.evict.claim == 0 {
		return
	}
	e.acct.l.Uncharge(j.evict.claim)
	j.evict.claim = 0
}

// expireEvictions drops claims whose victims should long be gone, and evictions
// that budgets count no longer.
func (e *engine) expireEvictions() {
	if len(e.pre.log) > 0 {
		e.forgetEvictions()
	}
	p := &e.pre
	n := 0
	for _, r := range p.claims {
		j := &e.jobs.rows[r]
		if j.evict.claim == 0 {
			continue
		}
		if j.evict.until < e.now {
			e.dropClaim(j)
			e.freed++
			continue
		}
		p.claims[n] = r
		n++
	}
	p.claims = p.claims[:n]
}

// claimStands reports whether what a snapshot says of a job's claim can be.
func (e *engine) claimStands(j *job) bool {
	c := j.evict.claim
	return c == 0 || e.acct != nil && e.acct.l.Charged(c) && j.state == StatePending && c != j.acct.charge
}

// visitEvictions visits what the search for victims remembers beside the jobs.
func (e *engine) visitEvictions(c *codec) {
	p := &e.pre
	if c.reading {
		p.claims = p.claims[:0]
		for r := range e.jobs.rows {
			if e.jobs.rows[r].evict.claim != 0 {
				p.claims = append(p.claims, int32(r))
			}
		}
	}
	num(c, &p.gang.next)
	c.bool(&p.gang.dirty)
	c.uint(&p.gang.last)
	list(c, &p.log, func(c *codec, x *evictedFrom) {
		num(c, &x.at)
		for _, v := range []*int32{&x.by, &x.of} {
			var name string
			if !c.reading {
				name = p.accounts.names[*v]
			}
			c.str(&name)
			if c.reading {
				*v = p.accounts.intern(name)
			}
		}
	})
}
