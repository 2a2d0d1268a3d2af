package scheduler

import (
	"cmp"
	"slices"
)

// Jobs with a singleton wait for those of smaller ids that have the same user
// and name. So only the least id of a name can have its singleton settled, and
// that only changes when the least leaves.

// A singleTable has the unfinished jobs by user and name. It is kept from the
// first singleton on; before, jobs cost nothing.
type singleTable struct {
	on     bool
	groups map[singleKey][]singleJob // looked up, never ranged over; ascending ids
}

type singleKey struct {
	user int32
	name string
}

type singleJob struct {
	id  JobID
	row int32
}

func (j *job) nameKey() singleKey { return singleKey{j.user, j.own.Name} }

// watchNames starts the table.
func (e *engine) watchNames() {
	s := &e.depends.singles
	if s.on {
		return
	}
	s.on = true
	s.groups = make(map[singleKey][]singleJob)
	var all []singleJob
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 && !j.state.Ended() {
			all = append(all, singleJob{j.id, int32(r)})
		}
	}
	slices.SortFunc(all, compareSingles)
	for _, x := range all {
		k := e.jobs.rows[x.row].nameKey()
		s.groups[k] = append(s.groups[k], x)
	}
}

func compareSingles(a, b singleJob) int { return cmp.Compare(a.id, b.id) }

// enterName lists an unfinished job.
func (e *engine) enterName(r int32) {
	s := &e.depends.singles
	if !s.on {
		return
	}
	j := &e.jobs.rows[r]
	k := j.nameKey()
	g := s.groups[k]
	at, _ := slices.BinarySearchFunc(g, singleJob{id: j.id}, compareSingles)
	s.groups[k] = slices.Insert(g, at, singleJob{j.id, r})
}

// leaveName takes a job off the list of name k, and returns the row of the job that is the least of
// the name now, if it was not before and waits for that; else -1.
func (e *engine) leaveName(r int32, k singleKey) int32 {
	s := &e.depends.singles
	if !s.on {
		return -1
	}
	g := s.groups[k]
	at, found := slices.BinarySearchFunc(g, singleJob{id: e.jobs.rows[r].id}, compareSingles)
	switch {
	case !found:
		return -1
	case len(g) == 1:
		delete(s.groups, k)
		return -1
	case at > 0:
		s.groups[k] = slices.Delete(g, at, at+1)
		return -1
	}
	// The first leaves without moving the others: the memory before them goes
	// with the next growth.
	s.groups[k] = g[1:]
	if next := g[1].row; e.jobs.rows[next].depend.blocks() {
		return next
	}
	return -1
}

// leastOfName reports whether job r has the least id of its name.
func (e *engine) leastOfName(r int32) bool {
	return e.depends.singles.groups[e.jobs.rows[r].nameKey()][0].row == r
}

// settleSingles settles the singleton of a job that is the least of its name.
func (e *engine) settleSingles(now Time, r int32) {
	for at := e.jobs.rows[r].depend.first; at > 0; {
		t := &e.depends.terms[at-1]
		if t.Kind == DependSingleton && t.fate == DependencyOpen {
			e.settleTerm(now, at-1, DependencyMet)
		}
		at = t.next
	}
}

// rename lists a waiting job under its new name, and settles what follows; before
// is the name that it had.
func (e *engine) rename(now Time, r int32, before singleKey) {
	s := &e.depends.singles
	j := &e.jobs.rows[r]
	after := j.nameKey()
	if !s.on || after == before {
		return
	}
	d := &e.depends
	d.touched = d.touched[:0]
	if next := e.leaveName(r, before); next >= 0 {
		d.touched = append(d.touched, next)
		e.settleSingles(now, next)
	}
	e.enterName(r)
	if j.depend.blocks() && e.leastOfName(r) {
		d.touched = append(d.touched, r)
		e.settleSingles(now, r)
	}
	e.judgeTouched(now)
}
