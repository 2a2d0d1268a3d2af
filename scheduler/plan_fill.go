package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// Fill says who is asked first, of waiting jobs of equal priority, when
// something has become free before the plans begin (profile Best). The first of
// them that waits is asked before all others in any case, and whoever is asked
// fits beside all plans: Fill decides who gains, never who loses a plan.
type Fill uint8

// Who fills what is free. A job that ends early leaves a gap before the next
// plan. Most of the jobs behind fit into it at most for a while; a short one is
// done in it, and leaves the rest to the next, so that on average jobs wait less
// if short ones are asked first. None starts later than its plan said.
const (
	// FillShortest: the one with the shortest limit, of equal ones the first.
	FillShortest Fill = iota
	// FillRank: in order of the queue.
	FillRank
	fills
)

var fillNames = [fills]string{FillShortest: "shortest", FillRank: "rank"}

// String returns the name of f.
func (f Fill) String() string { return enumName(fillNames[:], uint8(f)) }

// MarshalText returns the name of f.
func (f Fill) MarshalText() ([]byte, error) { return enumText(fillNames[:], uint8(f)) }

// UnmarshalText accepts a name that MarshalText gives.
func (f *Fill) UnmarshalText(b []byte) error {
	v, err := enumParse("fill", fillNames[:], b)
	if err == nil {
		*f = Fill(v)
	}
	return err
}

// A filler is a plan that may be able to start now.
type filler struct {
	limit time.Duration
	pos   int32 // of its record in the queue
	id    int32 // its number
}

func compareFillers(a, b filler) int {
	return cmp.Or(cmp.Compare(a.limit, b.limit), cmp.Compare(a.pos, b.pos))
}

// fillGaps starts plans of records from one on, as far as they have its priority,
// that fit now beside all plans: the shortest first. at is where the sweep
// stands; one above waits. Work: a look a plan and a node that something has
// become free on, and a try for each plan that may start.
func (e *engine) fillGaps(dst []Decision, starts *int32, at *walk, from int) []Decision {
	p := &e.plans
	records := e.records()
	p.fill = p.fill[:0]
	for id := range p.all[:p.n] {
		x := &p.all[id]
		if x.row < 0 || !x.booked || x.start <= e.now || int(x.pos) < from || int(x.pos) >= len(records) || records[x.pos].key != records[from].key {
			continue
		}
		rec := &records[x.pos]
		if e.jobs.rows[rec.row].qgen != rec.gen || e.planOf(rec) != int32(id) {
			continue
		}
		if x.checked >= p.anywhere && max(x.checked, x.now) < len(p.log) {
			if e.gainsNow(x) {
				p.fill = append(p.fill, filler{x.limit, x.pos, int32(id)})
			} else {
				x.now = len(p.log)
			}
		}
	}
	if len(p.fill) == 0 {
		return dst
	}
	slices.SortFunc(p.fill, compareFillers)
	w := *at
	for _, f := range p.fill {
		if e.par.Plan.MaxStarts > 0 && *starts >= e.par.Plan.MaxStarts {
			break
		}
		// A job that has started had other plans, if it may use several
		// partitions.
		w.rec, w.pos, w.blocked = records[f.pos], f.pos, true
		j := &e.jobs.rows[w.rec.row]
		if j.qgen != w.rec.gen || e.planOf(&w.rec) != f.id || !p.all[f.id].booked || e.planLimit(j, int(w.rec.pair)) != f.limit {
			continue
		}
		w.id = f.id
		if !e.gainsNow(&p.all[f.id]) || !e.gate(w.rec) {
			continue
		}
		if dst = e.startEarly(dst, &w); j.running() {
			*starts++
		}
	}
	return dst
}

// startEarly starts the job of a plan now if it fits beside all others; else the
// plan stands.
func (e *engine) startEarly(dst []Decision, w *walk) []Decision {
	p := &e.plans
	x := &p.all[w.id]
	e.unbookPlan(w.id)
	e.ownNodes(x.grants)
	only := e.onlyChanged(x)
	_, ok := e.earliest(w.rec, x.limit, e.now+1, only)
	p.disown()
	if ok {
		return e.startPlanned(dst, w)
	}
	e.bookPlan(w.id)
	x.now = len(p.log)
	return dst
}
