package scheduler

// visitDepends visits the terms of the jobs that wait: what became of each. What
// they are about follows from the jobs' texts, lists and timers from the books.
func (e *engine) visitDepends(c *codec) {
	var rows []int32
	if !c.reading {
		for r := range e.jobs.rows {
			if j := &e.jobs.rows[r]; j.id != 0 && j.depend.blocks() {
				rows = append(rows, int32(r))
			}
		}
	}
	e.visitRows(c, &rows)
	for _, r := range rows {
		if c.err != nil {
			return
		}
		if c.reading && !e.readTerms(c, r) {
			c.fail("dependency")
			return
		}
		for at := e.jobs.rows[r].depend.first; at > 0; {
			t := &e.depends.terms[at-1]
			num(c, &t.fate)
			num(c, &t.ended)
			num(c, &t.at)
			if c.reading && (c.err != nil || !e.restoreTerm(at-1)) {
				c.fail("dependency")
				return
			}
			at = t.next
		}
		if j := &e.jobs.rows[r]; c.reading && j.depend.phase != j.depend.judged() {
			c.fail("dependency")
		}
	}
	if !c.reading || c.err != nil {
		return
	}
	waiting := 0
	for r := range e.jobs.rows {
		if e.jobs.rows[r].depend.blocks() {
			waiting++
		}
	}
	if waiting != len(rows) {
		c.fail("dependency")
		return
	}
	e.restoreSingles(c, rows)
}

// readTerms makes the terms of a job that was read.
func (e *engine) readTerms(c *codec, r int32) bool {
	j := &e.jobs.rows[r]
	d, err := ParseDependency(j.own.dependency())
	if err != nil || j.state != StatePending || !j.depend.blocks() || j.depend.first != 0 {
		return false
	}
	j.depend.any = d.Any
	last := int32(0)
	for i := range d.Terms {
		last = e.addTerm(r, last, dependTerm{DependencyTerm: d.Terms[i], at: Never})
	}
	return true
}

// restoreTerm counts a term that was read, and lists it with its job.
func (e *engine) restoreTerm(id int32) bool {
	t := &e.depends.terms[id]
	at := t.at
	switch {
	case t.fate > DependencyFailed || t.ended >= jobStates || t.Kind != DependAfter && at != Never:
		t.fate = DependencyOpen
		return false
	case t.fate != DependencyOpen:
		fate, ended := t.fate, t.ended
		since := e.jobs.rows[t.owner].since
		t.fate = DependencyOpen
		e.settleTerm(0, id, fate)
		e.jobs.rows[t.owner].since = since
		t.ended = ended
		return true
	case t.Kind == DependSingleton:
		return true
	}
	r := e.jobs.find(t.Job)
	alive := r >= 0 && !e.jobs.rows[r].state.Ended()
	if alive {
		e.listTerm(id, r)
	}
	if at != Never {
		o := &e.jobs.rows[t.owner]
		e.depends.timers.push(timer{at: at, row: t.owner, gen: o.gen, id: o.id})
	}
	return at != Never || alive && !(t.Kind == DependAfter && e.jobs.rows[r].running())
}

// restoreSingles lists jobs by name if one waits for that.
func (e *engine) restoreSingles(c *codec, rows []int32) {
	for _, r := range rows {
		for at := e.jobs.rows[r].depend.first; at > 0; {
			t := &e.depends.terms[at-1]
			at = t.next
			if t.Kind != DependSingleton || t.fate != DependencyOpen {
				continue
			}
			e.watchNames()
			if e.leastOfName(r) {
				c.fail("singleton")
				return
			}
		}
	}
}

// checkDepends verifies terms, lists and names against the jobs.
func (e *engine) checkDepends(fail func(string, ...any)) {
	d := &e.depends
	used, timed, listed := 0, 0, 0
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.id == 0 {
			continue
		}
		for at, prior := j.dependants, int32(0); at > 0; {
			t := &d.terms[at-1]
			if t.on != int32(r) || t.prior != prior || t.fate != DependencyOpen || t.Job != j.id || j.state.Ended() {
				fail("job %d: term %+v in its list", j.id, *t)
			}
			listed++
			at, prior = t.after, at
		}
		n := dependState{phase: j.depend.phase, any: j.depend.any, first: j.depend.first}
		for at := j.depend.first; at > 0; {
			t := &d.terms[at-1]
			used++
			switch t.fate {
			case DependencyOpen:
				n.open++
				if t.Kind == DependAfter {
					timed++
				}
				if t.on >= 0 {
					listed--
				} else if t.at == Never && t.Kind != DependSingleton {
					fail("job %d: term %+v waits for nothing", j.id, *t)
				}
				if t.Kind == DependSingleton && (!d.singles.on || e.leastOfName(int32(r))) {
					fail("job %d: its singleton is not settled", j.id)
				}
			case DependencyMet:
				n.met++
			case DependencyFailed:
				n.failed++
			}
			if t.owner != int32(r) {
				fail("job %d: term of row %d", j.id, t.owner)
			}
			at = t.next
		}
		if j.depend.first > 0 && (n != j.depend || n.judged() != n.phase || j.state != StatePending) || j.depend.first == 0 && j.depend.blocks() {
			fail("job %d is %s: dependency %+v, counted %+v", j.id, j.state, j.depend, n)
		}
		if j.depend.blocks() && (j.flags&flagQueued != 0 || j.eligible != Never) {
			fail("job %d waits for others and is queued", j.id)
		}
		if d.singles.on && !j.state.Ended() {
			if g := d.singles.groups[j.nameKey()]; !hasSingle(g, j.id, int32(r)) {
				fail("job %d is not listed by its name", j.id)
			}
		}
	}
	if used+len(d.free) != len(d.terms) || timed != d.timed || listed != 0 || len(d.fallen) > 0 {
		fail("terms: %d used, %d free of %d; %d of %d timed; %d listed twice", used, len(d.free), len(d.terms), timed, d.timed, listed)
	}
}

// hasSingle reports whether an ascending list has the job once, in its row.
func hasSingle(g []singleJob, id JobID, row int32) bool {
	n := 0
	for i, x := range g {
		if i > 0 && g[i-1].id >= x.id {
			return false
		}
		if x.id == id && x.row == row {
			n++
		}
	}
	return n == 1
}
