package scheduler

import (
	"cmp"
	"fmt"
	"slices"
)

// A job with a dependency waits outside the queue until the dependency is
// settled (spec: backfill 5), so a pass never looks at it. Each condition that is
// still open is a term, listed with the job that it is on; what happens to that
// job costs a step a term in its list. A condition that has come true stays true,
// whatever becomes of the job later: what is settled needs no memory of ended
// jobs.

// A dependPhase says how far a job's dependency is.
type dependPhase uint8

const (
	dependNone    dependPhase = iota // it has none
	dependWaiting                    // it can still come true
	dependNever                      // it cannot any more
	dependMet                        // it has come true
	dependPhases
)

// A dependState is what a job's row has of its dependency; the terms are there
// as long as it waits or can never be met.
type dependState struct {
	phase  dependPhase
	any    bool  // one term is enough
	first  int32 // term + 1, in the order of the text; 0 none
	open   int32 // terms that are not settled
	failed int32 // terms that cannot come true any more
	met    int32
}

// blocks reports whether the dependency keeps its job from being eligible.
func (d *dependState) blocks() bool { return d.phase == dependWaiting || d.phase == dependNever }

// reason is Slurm's name of what it waits for.
func (d *dependState) reason() Reason {
	if d.phase == dependNever {
		return ReasonDependencyNever
	}
	return ReasonDependency
}

// judged is the phase that follows from the terms.
func (d *dependState) judged() dependPhase {
	switch {
	case d.any && d.met > 0, d.open == 0 && d.failed == 0:
		return dependMet
	case !d.any && d.failed > 0, d.open == 0:
		return dependNever
	}
	return dependWaiting
}

// A dependTerm is one condition of a waiting job.
type dependTerm struct {
	DependencyTerm
	fate  DependencyFate
	ended JobState // how the job ended that settled it
	owner int32    // row of the job that waits
	on    int32    // row of the job that it is on, while that one may change it; else -1
	at    Time     // when a DependAfter comes true; Never as long as its job has not started
	next  int32    // next term of the owner + 1
	after int32    // next and previous term on the same job + 1
	prior int32
}

// dependTable owns the terms.
type dependTable struct {
	terms   []dependTerm
	free    []int32
	timed   int       // open terms of the kind DependAfter
	timers  timerHeap // when those come true
	singles singleTable
	touched []int32 // scratch: jobs with a term that was settled
	fallen  []int32 // ended jobs whose dependants are not told yet
	telling bool
	steps   int64 // looks at terms
}

// readDependency reads a job's dependency and refuses what can never have a
// meaning.
func (e *engine) readDependency(now Time, verb string, s *JobSpec) (Dependency, error) {
	bad := func(err error) (Dependency, error) {
		return Dependency{}, fmt.Errorf("scheduler: %s job %d: Dependency: %w", verb, s.ID, err)
	}
	switch s.KillOnInvalidDep {
	case "", "yes", "no":
	default:
		return Dependency{}, fmt.Errorf("scheduler: %s job %d: KillOnInvalidDep %q is not yes or no: %w", verb, s.ID, s.KillOnInvalidDep, ErrSpec)
	}
	if s.Dependency == "" {
		return Dependency{}, nil
	}
	d, err := ParseDependency(s.Dependency)
	if err != nil {
		return bad(err)
	}
	for i := range d.Terms {
		t := &d.Terms[i]
		switch {
		case t.Kind == DependExpand || t.Kind == DependAfterBurstBuffer || t.Task != AllTasks:
			return bad(fmt.Errorf("%s: %w", t.append(nil), ErrUnsupported))
		case t.Job == s.ID:
			return bad(fmt.Errorf("%s is on the job itself: %w", t.append(nil), ErrDependency))
		case (t.Kind == DependAfterOK || t.Kind == DependAfterNotOK) && e.remembered(now, t.Job) < 0:
			return bad(fmt.Errorf("%s: %w: %w", t.append(nil), ErrDependency, ErrUnknownJob))
		}
	}
	return d, nil
}

// remembered returns the row of a job, -1 if there is none or it has ended
// MinJobAge ago: rows of such jobs go with the next event.
func (e *engine) remembered(now Time, id JobID) int32 {
	r := e.jobs.find(id)
	if r >= 0 && e.jobs.rows[r].state.Ended() && e.jobs.rows[r].end.Add(e.par.MinJobAge) <= now {
		return -1
	}
	return r
}

// depend gives job r, which waits for nothing, its dependency. What is settled
// by now counts at once.
func (e *engine) depend(now Time, r int32, d *Dependency) {
	if len(d.Terms) == 0 {
		return
	}
	j := &e.jobs.rows[r]
	j.depend = dependState{phase: dependWaiting, any: d.Any}
	last := int32(0)
	for i := range d.Terms {
		last = e.addTerm(r, last, dependTerm{DependencyTerm: d.Terms[i], at: Never})
		e.weighTerm(now, last-1)
	}
	if j.depend.phase = j.depend.judged(); j.depend.phase == dependMet {
		e.dropTerms(r)
	}
}

// weighTerm settles a new term as far as it can be by now, or lists it with its job.
func (e *engine) weighTerm(now Time, id int32) {
	t := &e.depends.terms[id]
	if t.Kind == DependSingleton {
		e.watchNames()
		if e.leastOfName(t.owner) {
			e.settleTerm(now, id, DependencyMet)
		}
		return
	}
	r := e.remembered(now, t.Job)
	if r < 0 {
		e.settleTerm(now, id, DependencyMet) // who waits for a job that is forgotten
		return
	}
	o := &e.jobs.rows[r]
	switch {
	case o.state.Ended():
		e.judgeEnd(now, id, r)
		return
	case o.running() && t.Kind == DependAfter:
		e.setStart(id, o.start)
		if t.at <= now {
			e.settleTerm(now, id, DependencyMet)
			return
		}
	}
	e.listTerm(id, r)
}

// listTerm puts a term on the list of the job that it is on.
func (e *engine) listTerm(id, r int32) {
	t, o := &e.depends.terms[id], &e.jobs.rows[r]
	t.on = r
	t.after, o.dependants = o.dependants, id+1
	if t.after > 0 {
		e.depends.terms[t.after-1].prior = id + 1
	}
}

// addTerm gives job r an open term that follows the one numbered last - 1, and
// returns its number + 1. It may allocate.
func (e *engine) addTerm(r, last int32, t dependTerm) int32 {
	d := &e.depends
	j := &e.jobs.rows[r]
	if t.Kind == DependAfter {
		d.timed++
		e.trimDependTimers()
	}
	t.owner, t.on = r, -1
	id := int32(len(d.terms))
	if n := len(d.free); n > 0 {
		id = d.free[n-1]
		d.free = d.free[:n-1]
		d.terms[id] = t
	} else {
		d.terms = append(d.terms, t)
	}
	j.depend.open++
	if last > 0 {
		d.terms[last-1].next = id + 1
	} else {
		j.depend.first = id + 1
	}
	return id + 1
}

// unlistTerm takes a term off the list of the job that it is on.
func (e *engine) unlistTerm(id int32) {
	t := &e.depends.terms[id]
	if t.on < 0 {
		return
	}
	if t.prior > 0 {
		e.depends.terms[t.prior-1].after = t.after
	} else {
		e.jobs.rows[t.on].dependants = t.after
	}
	if t.after > 0 {
		e.depends.terms[t.after-1].prior = t.prior
	}
	t.on, t.after, t.prior = -1, 0, 0
}

// settleTerm closes an open term; its owner is judged by whoever calls.
func (e *engine) settleTerm(at Time, id int32, fate DependencyFate) {
	t := &e.depends.terms[id]
	e.unlistTerm(id)
	if t.Kind == DependAfter {
		e.depends.timed--
	}
	t.fate = fate
	j := &e.jobs.rows[t.owner]
	j.depend.open--
	if fate == DependencyMet {
		j.depend.met++
		j.since = max(j.since, at)
	} else {
		j.depend.failed++
	}
}

// judgeEnd settles a term on a job that has ended, or leaves it to its timer.
func (e *engine) judgeEnd(now Time, id, r int32) {
	t, o := &e.depends.terms[id], &e.jobs.rows[r]
	t.ended = o.state
	ok := o.state == StateCompleted
	switch t.Kind {
	case DependAfter:
		e.unlistTerm(id)
		if t.at == Never {
			from := o.start
			if o.flags&flagUnstarted != 0 {
				from = o.end
			}
			e.setStart(id, from)
		}
		if t.at <= now {
			e.settleTerm(t.at, id, DependencyMet)
		}
		return
	case DependAfterAny:
		ok = true
	case DependAfterNotOK:
		ok = !ok
	}
	if ok {
		e.settleTerm(now, id, DependencyMet)
	} else {
		e.settleTerm(now, id, DependencyFailed)
	}
}

// dropTerms forgets the terms of a job.
func (e *engine) dropTerms(r int32) {
	d := &e.depends
	j := &e.jobs.rows[r]
	for at := j.depend.first; at > 0; {
		id := at - 1
		t := &d.terms[id]
		at = t.next
		e.unlistTerm(id)
		if t.Kind == DependAfter && t.fate == DependencyOpen {
			d.timed--
		}
		t.owner = -1
		d.free = append(d.free, id)
	}
	j.depend = dependState{phase: j.depend.phase}
}

// judge acts on a job whose terms have changed: it becomes eligible, or never
// will.
func (e *engine) judge(now Time, r int32) {
	j := &e.jobs.rows[r]
	if j.depend.phase != dependWaiting {
		return
	}
	switch j.depend.phase = j.depend.judged(); j.depend.phase {
	case dependMet:
		e.dropTerms(r)
		j.begin = max(j.begin, j.since)
		e.setEligible(now, r)
		e.requeueRecords(r)
	case dependNever:
		e.requeueRecords(r)
		e.endInvalid(now, r)
	}
}

// endInvalid cancels a job whose dependency can never be met, if its own word or
// the cluster's rule says so.
func (e *engine) endInvalid(now Time, r int32) {
	j := &e.jobs.rows[r]
	if j.depend.phase == dependNever && (j.spec.KillOnInvalidDep == "yes" || j.spec.KillOnInvalidDep == "" && e.par.KillInvalidDep) {
		e.finish(now, r, StateCancelled, ReasonDependencyNever)
	}
}

// dependsEnded tells those that wait for job r that it has ended. Jobs that end
// by this are told of in turn.
func (e *engine) dependsEnded(now Time, r int32) {
	d := &e.depends
	if e.jobs.rows[r].dependants == 0 && !d.singles.on {
		return
	}
	d.fallen = append(d.fallen, r)
	if d.telling {
		return
	}
	d.telling = true
	for n := 0; n < len(d.fallen); n++ {
		r := d.fallen[n]
		d.touched = d.touched[:0]
		for at := e.jobs.rows[r].dependants; at > 0; {
			id := at - 1
			at = d.terms[id].after
			d.touched = append(d.touched, d.terms[id].owner)
			d.steps++
			e.judgeEnd(now, id, r)
		}
		if next := e.leaveName(r, e.jobs.rows[r].nameKey()); next >= 0 {
			d.touched = append(d.touched, next)
			e.settleSingles(now, next)
		}
		e.judgeTouched(now)
	}
	d.fallen, d.telling = d.fallen[:0], false
}

// judgeTouched judges the jobs with settled terms, by id: the order of lists is
// not part of the state.
func (e *engine) judgeTouched(now Time) {
	d := &e.depends
	slices.SortFunc(d.touched, func(a, b int32) int { return cmp.Compare(e.jobs.rows[a].id, e.jobs.rows[b].id) })
	for _, r := range d.touched {
		e.judge(now, r)
	}
}

// dependsRequeued tells those that wait for a delay after the start of job r that
// it waits again.
func (e *engine) dependsRequeued(now Time, r int32) {
	d := &e.depends
	d.touched = d.touched[:0]
	for at := e.jobs.rows[r].dependants; at > 0; {
		id := at - 1
		t := &d.terms[id]
		at = t.after
		d.steps++
		switch {
		case t.at == Never:
		case t.at <= now:
			d.touched = append(d.touched, t.owner)
			e.settleTerm(t.at, id, DependencyMet)
		default:
			t.at = Never
		}
	}
	e.judgeTouched(now)
}
