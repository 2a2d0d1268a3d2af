package scheduler

import (
	"cmp"
	"slices"
)

// A job that has been told to end, or that is over while its nodes are not
// clean yet, is completing: it holds what it held. While a job has been
// completing for less than CompleteWait, others do not start, so that what
// comes free in turn is not handed out in crumbs (spec: backfill 1.1).

// A closing is a job that completes.
type closing struct {
	row int32
	gen uint32
	at  Time // when it began
}

// reserveClosings makes room for every running job, so that a pass need not.
func (e *engine) reserveClosings() {
	if e.par.CompleteWait > 0 {
		e.closings = slices.Grow(e.closings, max(e.counts.Pending+e.counts.Running+1-len(e.closings), 0))
	}
}

// findClosings lists the jobs that complete, from their rows.
func (e *engine) findClosings() {
	e.closings = e.closings[:0]
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.closing != 0 && j.running() && e.par.CompleteWait > 0 {
			e.closings = append(e.closings, closing{int32(r), j.gen, j.closing - 1})
		}
	}
	slices.SortFunc(e.closings, func(a, b closing) int { return cmp.Compare(a.at, b.at) })
	e.reserveClosings()
}

// closes reports whether c still completes.
func (e *engine) closes(c *closing) bool {
	j := &e.jobs.rows[c.row]
	return j.gen == c.gen && j.running() && j.closing == c.at+1
}

// closingUntil is until when jobs that complete hold others back: the latest
// that is not over decides. It is 0 if none does.
func (e *engine) closingUntil() Time {
	for n := len(e.closings); n > 0 && !e.closes(&e.closings[n-1]); n-- {
		e.closings = e.closings[:n-1]
	}
	if n := len(e.closings); n > 0 {
		if at := e.closings[n-1].at.Add(e.par.CompleteWait); at > e.now {
			return at
		}
	}
	e.closings = e.closings[:0]
	return 0
}

// keepsBack reports whether jobs that complete keep all others from starting
// in this pass; of those of each partition it stops the partitions in question.
func (e *engine) keepsBack() bool {
	if e.closingUntil() == 0 {
		return false
	}
	if !e.par.Queue.CompletingByPartition {
		return true
	}
	near := &e.try.mask
	near.Clear()
	for i := range e.closings {
		if c := &e.closings[i]; e.closes(c) && c.at.Add(e.par.CompleteWait) > e.now {
			j := &e.jobs.rows[c.row]
			near.Or(&e.parts[j.parts[j.partIdx]].nodes)
		}
	}
	for i := range e.parts {
		if p := &e.parts[i]; p.nodes.Intersects(near) {
			p.failedIn = e.passNo
			e.withdraw(&p.nodes)
		}
	}
	return false
}

// beginClosing notes that a job completes from now on.
func (e *engine) beginClosing(r int32) {
	j := &e.jobs.rows[r]
	if j.flags&flagRequeue != 0 {
		j.reason = ReasonCleaning
	}
	if j.closing != 0 {
		return
	}
	j.closing = e.now + 1
	if e.par.CompleteWait > 0 {
		e.closings = append(e.closings, closing{r, j.gen, e.now})
	}
}

// completing handles the report that a job is over and its nodes are not clean.
func (e *engine) completing(now Time, end *JobEnd, r int32) {
	j := &e.jobs.rows[r]
	e.endAsVictim(now, j)
	if j.flags&flagEnding == 0 {
		j.endState, j.endWhy = endOf(j, end)
		j.flags |= flagEnding
	}
	j.flags |= flagOver
	e.touchJob(j)
	e.now = now
	e.beginClosing(r)
	e.freed++ // it may end at any time: what waits for it is planned anew
}

// endOf is the state and the reason of a job that ends as told.
func endOf(j *job, end *JobEnd) (JobState, Reason) {
	switch {
	case j.flags&flagEnding != 0:
		return j.endState, j.endWhy
	case end.OutOfMemory:
		return StateOutOfMemory, ReasonOutOfMemory
	case end.ExitCode != 0 || end.Signal != 0:
		return StateFailed, ReasonNonZeroExit
	}
	return StateCompleted, ReasonNone
}
