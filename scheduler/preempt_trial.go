package scheduler

import (
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A trial tries a record without some of the running jobs, on the pool's undo
// log. It is the preempt.Trial of the engine; candidates are numbers of
// preempter.rows.
type trial struct {
	e       *engine
	rec     record
	plans   *planner
	limit   time.Duration
	base    int     // mark below everything
	marks   []int   // below each removed candidate
	gone    []int32 // rows of the removed jobs, those leaving anyway first
	leaving int
	trials  int // calls of Fits
	// coresOnly leaves memory and devices with the removed ones.
	coresOnly bool
	part      gres.Grant
	place     topology.NodeSet
}

// open begins a trial in which jobs that were told to make room are gone.
func (t *trial) open(e *engine, rec record, plans *planner) {
	t.e, t.rec, t.plans = e, rec, plans
	j := &e.jobs.rows[rec.row]
	t.limit = e.timeLimit(j, int(rec.pair))
	t.marks, t.gone = t.marks[:0], t.gone[:0]
	t.base = e.pool.Mark()
	t.coresOnly, t.trials = false, 0
	if t.place.Len() != len(e.nodes) {
		t.place.Init(len(e.nodes))
	}
	for i := range e.pre.runs {
		r := e.pre.runs[i].row
		if v := &e.jobs.rows[r]; v.evict.by != 0 && !v.lending() {
			t.take(r)
		}
	}
	t.leaving = len(t.gone)
}

// close puts everything back.
func (t *trial) close() {
	if t.e == nil {
		return
	}
	t.e.pool.Rollback(t.base)
	t.putBack(0)
	t.e = nil
}

func (t *trial) take(r int32) {
	j := &t.e.jobs.rows[r]
	for i := range j.alloc {
		g := &j.alloc[i].grant
		if t.coresOnly {
			t.part.Cores = g.Cores
			g = &t.part
		}
		t.e.pool.Give(int32(j.alloc[i].node), g)
	}
	if !t.coresOnly {
		t.e.useLicenses(j, -1)
	}
	j.flags |= flagAway
	t.e.staleUnits(&j.licenses, j.alloc)
	t.e.shareAway(j)
	t.gone = append(t.gone, r)
}

// putBack takes back what take did beside the pool, for the jobs from position at.
func (t *trial) putBack(at int) {
	for i, r := range t.gone[at:] {
		j := &t.e.jobs.rows[r]
		if !t.coresOnly || at+i < t.leaving {
			t.e.useLicenses(j, 1)
		}
		j.flags &^= flagAway
		t.e.staleUnits(&j.licenses, j.alloc)
		t.e.shareBack(j)
	}
	t.gone = t.gone[:at]
}

// Remove takes a candidate's resources away.
func (t *trial) Remove(c int32) { t.removeRow(t.e.pre.rows[c]) }

func (t *trial) removeRow(r int32) {
	t.marks = append(t.marks, t.e.pool.Mark())
	t.take(r)
}

// Undo puts back the last n.
func (t *trial) Undo(n int) {
	if n == 0 {
		return
	}
	at := len(t.marks) - n
	t.e.pool.Rollback(t.marks[at])
	t.marks = t.marks[:at]
	t.putBack(t.leaving + at)
}

// Fits reports whether the record fits, and notes where.
func (t *trial) Fits() bool {
	e := t.e
	t.trials++
	s := &e.try
	s.hold, s.refusal = false, topology.Refusal{}
	if !e.licensesFree(&e.jobs.rows[t.rec.row], t.rec.resv, e.now, t.limit) {
		return false
	}
	c := e.openFit(t.rec, t.plans)
	ok := e.placeNow(c, t.limit, t.plans)
	e.releaseReserved()
	if ok {
		t.place.Clear()
		for _, n := range s.nodes {
			t.place.Add(n)
		}
	}
	return ok
}

// Touches counts the nodes that a candidate holds of the last place; one that holds
// a licence which is lacking counts as one more.
func (t *trial) Touches(c int32) int32 {
	j := &t.e.jobs.rows[t.e.pre.rows[c]]
	n := int32(0)
	for i := range j.alloc {
		if t.place.Has(j.alloc[i].node) {
			n++
		}
	}
	if t.e.pre.lacking {
		for _, a := range t.e.jobs.rows[t.rec.row].licenses.asks {
			n += int32(min(j.licenses.holds(a.pool), 1))
		}
	}
	return n
}
