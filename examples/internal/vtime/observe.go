package vtime

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// A watch is what is looked at beside the samples.
type watch struct {
	reservations []outcome.Reservation
	shares       []outcome.Share
	row          map[[2]string]int // of shares, by account and user
	nextShares   scheduler.Time
	lines        []priority.ShareLine

	waiting []int32 // jobs that wait and have had no plan yet
	at      int     // where the last look at them stopped
}

// planEach is how many waiting jobs without a plan are looked at at an instant,
// beside those that have just come.
const planEach = 128

// observe notes plans, reservations and shares after an instant.
func (d *driver) observe(v scheduler.View) {
	d.observePlans(v)
	for r := range v.Reservations() {
		d.observeReservation(&r)
	}
	if d.in.ShareEach > 0 && d.now >= d.seen.nextShares {
		d.observeShares(v)
	}
}

// observePlans notes the first plan of each job. A long queue is looked at in
// turns, so that a plan may be seen some instants after it was made.
func (d *driver) observePlans(v scheduler.View) {
	w := &d.seen
	w.waiting = append(w.waiting, d.fresh...)
	for looked := 0; looked < planEach+len(d.fresh) && len(w.waiting) > 0; looked++ {
		if w.at >= len(w.waiting) {
			w.at = 0
			if looked >= len(w.waiting) {
				break
			}
		}
		i := w.waiting[w.at]
		if d.jobs[i].status == pending && !d.observePlan(v, i) {
			w.at++
			continue
		}
		last := len(w.waiting) - 1
		w.waiting[w.at] = w.waiting[last]
		w.waiting = w.waiting[:last]
	}
}

// observePlan reports whether the job has had a plan.
func (d *driver) observePlan(v scheduler.View, i int32) bool {
	j := &d.jobs[i].out
	if j.Promised || len(j.Stays) > 0 {
		return true
	}
	if view, ok := v.Job(d.in.Jobs[i].Spec.ID); ok && view.Planned {
		j.Promised, j.Promise, j.PromisedAt = true, int64(view.Start), int64(d.now)
	}
	return j.Promised
}

// observeReservation notes when a reservation begins and ends and what it keeps.
func (d *driver) observeReservation(r *scheduler.ReservationSpec) {
	end := r.End
	if end == 0 && r.Duration > 0 {
		end = r.Start.Add(r.Duration)
	}
	seen := outcome.Reservation{Name: r.Name, Start: int64(r.Start), End: int64(end)}
	if names, err := topology.ParseHostlist(r.Nodes); err == nil {
		for _, n := range names {
			if row, ok := d.nodes[n]; ok {
				seen.Nodes = append(seen.Nodes, row)
			}
		}
	}
	list := d.seen.reservations
	at := slices.IndexFunc(list, func(o outcome.Reservation) bool { return o.Name == seen.Name && o.Start == seen.Start })
	if at >= 0 {
		list[at] = seen
		return
	}
	d.seen.reservations = append(list, seen)
}

// observeShares notes what accounts and users have used.
func (d *driver) observeShares(v scheduler.View) {
	w := &d.seen
	w.nextShares = d.now.Add(d.in.ShareEach)
	w.lines = v.AppendShares(w.lines[:0])
	if w.row == nil {
		w.row = make(map[[2]string]int)
	}
	for i := range w.lines {
		l := &w.lines[i]
		key := [2]string{l.Account, l.User}
		at, ok := w.row[key]
		if !ok {
			at = len(w.shares)
			w.row[key] = at
			w.shares = append(w.shares, outcome.Share{Account: l.Account, User: l.User, Depth: l.Depth})
		}
		p := outcome.SharePoint{At: int64(d.now), Due: l.Norm, Used: l.Effective, Factor: l.Factor}
		w.shares[at].Points = append(w.shares[at].Points, p)
	}
}

// look shows the books once, as they are before the next instant.
func (d *driver) look() {
	if d.in.Look != nil {
		d.s.View(d.in.Look)
		d.in.Look = nil
	}
}

// Spread is the time between looks that gives about n of them over the
// submissions of jobs; at least a minute.
func Spread(jobs []Job, n int) time.Duration {
	if len(jobs) == 0 {
		return time.Minute
	}
	span := jobs[len(jobs)-1].Submit.Sub(jobs[0].Submit)
	return max(span/time.Duration(n), time.Minute)
}
