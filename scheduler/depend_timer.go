package scheduler

// setStart says when the job that a DependAfter is on started, or was cancelled.
func (e *engine) setStart(id int32, start Time) {
	t := &e.depends.terms[id]
	t.at = start.Add(t.Delay)
	o := &e.jobs.rows[t.owner]
	e.depends.timers.push(timer{at: t.at, row: t.owner, gen: o.gen, id: o.id})
}

// dependsStarted sets the timers of those that wait for the start of job r. It
// runs in a pass; the next one looks at them, also if they wait for nothing else.
func (e *engine) dependsStarted(r int32) {
	for at := e.jobs.rows[r].dependants; at > 0; {
		t := &e.depends.terms[at-1]
		e.depends.steps++
		if t.Kind == DependAfter {
			e.setStart(at-1, e.jobs.rows[r].start)
		}
		at = t.after
	}
}

// wakeDependants settles what has come true with time.
func (e *engine) wakeDependants() {
	d := &e.depends
	for h := &d.timers; len(h.items) > 0 && h.items[0].at <= e.now; {
		t := h.items[0]
		h.pop()
		if e.dependStale(&t) {
			continue
		}
		for at := e.jobs.rows[t.row].depend.first; at > 0; {
			x := &d.terms[at-1]
			if x.fate == DependencyOpen && x.at == t.at {
				e.settleTerm(t.at, at-1, DependencyMet)
			}
			at = x.next
		}
		e.judge(e.now, t.row)
	}
}

// dependStale reports whether a timer of a dependency does not count any more.
func (e *engine) dependStale(t *timer) bool {
	j := &e.jobs.rows[t.row]
	if j.gen != t.gen || !j.depend.blocks() {
		return true
	}
	for at := j.depend.first; at > 0; {
		x := &e.depends.terms[at-1]
		e.depends.steps++
		if x.fate == DependencyOpen && x.at == t.at {
			return false
		}
		at = x.next
	}
	return true
}

// trimDependTimers makes room for a timer a term, so that a pass need not, and
// drops stale ones when they outnumber the terms.
func (e *engine) trimDependTimers() {
	d := &e.depends
	if items := d.timers.items; len(items) > 2*d.timed+64 {
		d.timers.items = items[:0]
		for i := range items {
			if t := items[i]; !e.dependStale(&t) {
				d.timers.push(t)
			}
		}
	}
	d.timers.reserve(len(d.timers.items) + d.timed)
}
