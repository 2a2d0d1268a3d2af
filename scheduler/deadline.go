package scheduler

import (
	"fmt"
	"time"
)

// leastTime is the shortest limit with which a job may run: its minimum, or the
// least limit that it has in one of its partitions.
func (e *engine) leastTime(j *job) time.Duration {
	if j.spec.TimeMin > 0 {
		return j.spec.TimeMin
	}
	least := Infinite
	for i := range j.parts {
		least = min(least, e.timeLimit(j, i))
	}
	return least
}

// lastStart is the last instant at which a pending job can start and end by its
// deadline; Never if it has none (spec: backfill 8).
func (e *engine) lastStart(j *job) Time {
	if j.own.Deadline == 0 {
		return Never
	}
	least := e.leastTime(j)
	if least == Infinite {
		return -1
	}
	return j.own.Deadline - Time(least/time.Microsecond)
}

// watchDeadline makes the pass look at a pending job when it can no longer meet
// its deadline.
func (e *engine) watchDeadline(r int32) {
	j := &e.jobs.rows[r]
	if at := e.lastStart(j); at != Never {
		e.timers.deadlines.push(timer{at: max(at, 0) + 1, row: r, gen: j.gen, id: j.id})
	}
}

// checkDeadline refuses a job that is submitted too late for its deadline.
func (e *engine) checkDeadline(now Time, s *JobSpec, parts []int32) error {
	j := job{parts: parts, spec: s, own: ownOf(s)}
	if max(now, s.Begin) > e.lastStart(&j) {
		return fmt.Errorf("scheduler: submit job %d: deadline %d: %w", s.ID, s.Deadline, ErrDeadline)
	}
	return nil
}

// missDeadlines ends the jobs that can no longer meet their deadline.
func (e *engine) missDeadlines() {
	h := &e.timers.deadlines
	for len(h.items) > 0 && h.items[0].at <= e.now {
		t := h.items[0]
		h.pop()
		if !e.deadlineStale(&t) {
			e.finish(e.now, t.row, StateDeadline, ReasonDeadline)
		}
	}
}

// deadlineStale reports whether a timer of the deadlines does not count any
// more.
func (e *engine) deadlineStale(t *timer) bool {
	j := &e.jobs.rows[t.row]
	return j.gen != t.gen || j.state != StatePending || max(e.lastStart(j), 0)+1 != t.at
}

// startLimit is the limit with which a job starts now in one of its partitions:
// no longer than to its deadline. Profile Slurm counts whole minutes.
func (e *engine) startLimit(j *job, pair int) time.Duration {
	limit := e.timeLimit(j, pair)
	if j.own.Deadline == 0 || limit != Infinite && e.now.Add(limit) <= j.own.Deadline {
		return limit
	}
	left := j.own.Deadline.Sub(e.now)
	if e.cfg.Profile == ProfileSlurm {
		left = left.Truncate(time.Minute)
	}
	return max(left, j.spec.TimeMin)
}
