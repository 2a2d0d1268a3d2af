package scheduler

import (
	"cmp"
	"fmt"
	"slices"
)

// newDependency reads the dependency that an update gives a waiting job, and
// reports whether it gives one. A circle is refused, also one that a new name
// makes.
func (e *engine) newDependency(now Time, j *job, spec *JobSpec, u *JobUpdate) (d Dependency, changed bool, err error) {
	changed = u.Dependency != nil || spec.Dependency != j.own.dependency()
	if changed {
		if d, err = e.readDependency(now, "update", spec); err != nil {
			return d, true, err
		}
		return d, true, e.checkCircle(spec, &d)
	}
	if spec.KillOnInvalidDep != j.spec.KillOnInvalidDep {
		if _, err := e.readDependency(now, "update", &JobSpec{ID: j.id, KillOnInvalidDep: spec.KillOnInvalidDep}); err != nil {
			return d, false, err
		}
	}
	if spec.Name != j.own.Name || spec.User != j.own.User {
		for at := j.depend.first; at > 0; {
			t := &e.depends.terms[at-1]
			if t.fate == DependencyOpen {
				d.Terms = append(d.Terms, t.DependencyTerm)
			}
			at = t.next
		}
		return d, false, e.checkCircle(spec, &d)
	}
	return d, false, nil
}

// replaceDependency gives a waiting job a new dependency in place of the one it
// has. With it the job starts to earn age anew (spec: priority 1.3).
func (e *engine) replaceDependency(now Time, r int32, d *Dependency) {
	j := &e.jobs.rows[r]
	if j.depend.blocks() || len(d.Terms) > 0 {
		j.since = now
	}
	e.dropTerms(r)
	j.depend.phase = dependNone
	e.depend(now, r, d)
}

// endAllInvalid cancels the jobs whose dependency can never be met, after the
// rule for them has changed.
func (e *engine) endAllInvalid(now Time) {
	if !e.par.KillInvalidDep {
		return
	}
	var rows []int32
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.state == StatePending && j.depend.phase == dependNever {
			rows = append(rows, int32(r))
		}
	}
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Compare(e.jobs.rows[a].id, e.jobs.rows[b].id) })
	for _, r := range rows {
		if e.jobs.rows[r].state == StatePending {
			e.endInvalid(now, r)
		}
	}
}

// checkCircle refuses a dependency by which a job would wait for itself. It looks
// as many jobs far as MaxDependDepth says, each once. Without singletons a job
// that is submitted cannot close a circle: nobody waits for it yet.
func (e *engine) checkCircle(s *JobSpec, d *Dependency) error {
	c := circle{e: e, goal: e.jobs.find(s.ID), id: s.ID, key: singleKey{-1, s.Name}, seen: map[int32]bool{}}
	if len(d.Terms) == 0 || c.goal < 0 && !e.depends.singles.on {
		return nil
	}
	if user, ok := e.users.ids[s.User]; ok {
		c.key.user = user
	}
	for i := range d.Terms {
		t := &d.Terms[i]
		if t.Kind == DependSingleton {
			c.before(c.key, s.ID)
		} else if r := e.jobs.find(t.Job); r >= 0 && !e.jobs.rows[r].state.Ended() && !(t.Kind == DependAfter && e.jobs.rows[r].running()) {
			c.add(r)
		}
	}
	for depth := int32(1); len(c.next) > 0 && depth < e.par.MaxDependDepth; depth++ {
		level := c.next
		c.next = nil
		for _, r := range level {
			if c.follow(r) {
				return fmt.Errorf("scheduler: job %d: Dependency: job %d waits for it, a circle: %w", s.ID, e.jobs.rows[r].id, ErrDependency)
			}
		}
	}
	return nil
}

// A circle is a search for the job that it began with, level by level.
type circle struct {
	e    *engine
	goal int32 // row of the job, -1 while it has none
	id   JobID
	key  singleKey // its user and name
	next []int32   // rows of the next level
	seen map[int32]bool
}

func (c *circle) add(r int32) {
	if r != c.goal && !c.seen[r] {
		c.seen[r] = true
		c.next = append(c.next, r)
	}
}

// before adds the jobs of a name that have smaller ids.
func (c *circle) before(key singleKey, id JobID) {
	for _, x := range c.e.depends.singles.groups[key] {
		if x.id >= id {
			break
		}
		c.add(x.row)
	}
}

// follow adds what job r waits for, and reports whether the goal is among it.
func (c *circle) follow(r int32) bool {
	j := &c.e.jobs.rows[r]
	for at := j.depend.first; at > 0; {
		t := &c.e.depends.terms[at-1]
		at = t.next
		switch {
		case t.fate != DependencyOpen || t.at != Never:
		case t.Kind == DependSingleton:
			if j.nameKey() == c.key && c.id < j.id {
				return true
			}
			c.before(j.nameKey(), j.id)
		case c.goal >= 0 && t.on == c.goal:
			return true
		case t.on >= 0:
			c.add(t.on)
		}
	}
	return false
}
