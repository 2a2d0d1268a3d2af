package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A failure is what is remembered of a class that found no place although all
// its nodes were tried: until something becomes free it finds none.
type failure struct {
	at      uint64 // e.freed+1 for which it holds
	resv    int32  // reservation of the record, 0 for none
	started int    // reservations that counted
	limit   time.Duration
	refusal topology.Refusal
}

// A resvVerdict is what resvStops remembers of a class.
type resvVerdict struct {
	turns, ups uint64 // of the reservations and the nodes, +1
	started    int
	named      bool // reservations are the reason
	stops      bool // the partition is not blocked
}

// failureOf is the place for what is known of records like rec: one for jobs in
// reservations, one for all others.
func (c *class) failureOf(rec record) *failure {
	if rec.resv != 0 {
		return &c.fails[1]
	}
	return &c.fails[0]
}

// failedBefore returns what is remembered if it holds for a record: nothing has
// become free since, and at least the reservations that were in its way are. It
// costs a search among the starts of reservations.
func (e *engine) failedBefore(c *class, rec record, limit time.Duration) *failure {
	f := c.failureOf(rec)
	switch t := &e.resv; {
	case f.at != e.freed+1 || f.resv != rec.resv:
		return nil
	case len(t.all) == 0:
	case t.floats > 0 && limit < f.limit, e.mayBorrow(rec), e.startedBy(e.now.Add(limit)) < f.started:
		return nil
	}
	return f
}

// rememberFailure notes that a record found no place.
func (e *engine) rememberFailure(c *class, rec record, limit time.Duration) {
	if e.mayBorrow(rec) {
		return
	}
	*c.failureOf(rec) = failure{
		at: e.freed + 1, resv: rec.resv, started: e.startedBy(e.now.Add(limit)), limit: limit, refusal: e.try.refusal,
	}
}

// mayBorrow reports whether a job may use reserved nodes that other jobs of its
// class may not.
func (e *engine) mayBorrow(rec record) bool {
	return e.resv.delays > 0 && strings.Contains(e.jobs.rows[rec.row].spec.SignalFlags, "R")
}

// startedBy counts the reservations that begin before to. While none changes, a
// larger count stands for a larger set.
func (e *engine) startedBy(to Time) int {
	if len(e.resv.all) == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(e.resv.starts, to)
	return n
}

// resvStops handles a record that found no place while there are reservations:
// it reports whether the partition is not blocked by it, since it waits within
// its reservation, or since what is not reserved could never serve it. With too
// few nodes beside what is reserved it blocks, as any job that waits for nodes
// (recorded beside maintenance and beside reserved cores).
func (e *engine) resvStops(rec record) bool {
	if at := e.resvAt(rec.resv); at >= 0 {
		x := &e.resv.all[at]
		if x.flags&resvFlex != 0 {
			return false
		}
		if x.nodes.CountAnd(e.classOf(rec).nodes) >= int(e.classOf(rec).min) {
			x.failedIn = e.passNo // others of it wait behind this one
		}
		return true
	}
	j, c := &e.jobs.rows[rec.row], e.classOf(rec)
	limit := e.timeLimit(j, int(rec.pair))
	key := resvVerdict{turns: e.resv.turns + 1, ups: e.resv.ups + 1, started: e.startedBy(e.now.Add(limit))}
	v := &c.verdict
	if v.turns != key.turns || v.ups != key.ups || v.started != key.started || e.resv.floats > 0 || e.mayBorrow(rec) {
		key.named, key.stops = e.resvInWay(rec, c, limit)
		*v = key
	}
	if !v.named {
		return false
	}
	if why := e.resvReason(rec, limit); c.list == nil || !e.coresAlone(rec, limit) {
		j.reason = why
	}
	if v.stops && e.cfg.Profile == ProfileSlurm && c.list != nil && c.list.Count() >= int(max(c.key.req.MinNodes, 1)) {
		e.withdraw(c.list) // as standstill does
	}
	return v.stops
}

// classOf is the class of a record.
func (e *engine) classOf(rec record) *class {
	return &e.classes.rows[e.jobs.rows[rec.row].classes[rec.pair]]
}

// resvInWay reports whether a record could not be served by what is not reserved
// for others even if no job ran: whether that is the reason of its waiting, and
// whether others of its partition may pass.
func (e *engine) resvInWay(rec record, c *class, limit time.Duration) (named, stops bool) {
	s := &e.try
	s.within.Copy(c.nodes)
	s.within.And(&e.up)
	before := s.within.Count()
	e.keepReserved(rec, e.now, limit)
	cores := e.resv.mark >= 0 && e.someCores(rec, limit)
	e.releaseReserved()
	if !s.cut && !cores {
		return false, false
	}
	left := &e.resv.left
	left.Copy(&s.within)
	if c.req.Has(gres.WholeNode) {
		e.dropCoreNodes(left, e.now, limit)
	}
	n := left.Count()
	if n == before && !cores {
		return false, false
	}
	if n > 0 && n < int(c.min) {
		return e.barred(rec, limit), false
	}
	never := n == 0 || !e.fitsIdle(rec, left)
	return never, never
}

// barred reports whether reservations of whole nodes, other than for the
// maintenance of some, are in the way of a record over its limit (recorded: with
// too few nodes beside maintenance or reserved cores a job waits for resources).
func (e *engine) barred(rec record, limit time.Duration) bool {
	to, part := e.now.Add(limit), &e.parts[e.classOf(rec).key.part]
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if (x.flags&resvMaint == 0 || x.closes(part)) && len(x.cores) == 0 && x.during(e.now, to) && !e.passesOver(x, rec) && x.nodes.Intersects(e.classOf(rec).nodes) {
			return true
		}
	}
	return false
}

// closes reports whether x holds all of a partition, which its jobs see as
// maintenance (spec: reservations 5.2).
func (x *reservation) closes(p *partition) bool {
	switch {
	case x.flags&resvAllNodes != 0:
		return true
	case x.flags&resvPartNodes != 0:
		return x.spec.Partition == p.spec.Name
	}
	return x.flags&resvMaint != 0 && x.nodes.Contains(&p.nodes)
}

// resvReason is the reason of a job that reservations keep from starting.
func (e *engine) resvReason(rec record, limit time.Duration) Reason {
	to, part := e.now.Add(limit), &e.parts[e.classOf(rec).key.part]
	for i := range e.resv.all {
		if x := &e.resv.all[i]; x.during(e.now, to) && x.closes(part) && !e.passesOver(x, rec) {
			return ReasonReservedMaint
		}
	}
	return ReasonReserved
}

// someCores reports whether cores are reserved for others on nodes that a record
// could use, while it would run.
func (e *engine) someCores(rec record, limit time.Duration) bool {
	to := e.now.Add(limit)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if len(x.cores) > 0 && x.during(e.now, to) && x.nodes.Intersects(e.classOf(rec).nodes) && !e.passesOver(x, rec) {
			return true
		}
	}
	return false
}

// coresAlone reports whether cores are all that is reserved for others while a
// record would run.
func (e *engine) coresAlone(rec record, limit time.Duration) bool {
	to := e.now.Add(limit)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if x.during(e.now, to) && len(x.cores) == 0 && x.nodes.Intersects(e.classOf(rec).nodes) && !e.passesOver(x, rec) {
			return false
		}
	}
	return true
}

// dropCoreNodes takes nodes with cores reserved during [from, from+limit) off set.
func (e *engine) dropCoreNodes(set *topology.NodeSet, from Time, limit time.Duration) {
	for i := range e.resv.all {
		if x := &e.resv.all[i]; len(x.cores) > 0 && x.during(from, from.Add(limit)) {
			set.AndNot(&x.nodes)
		}
	}
}

// fitsIdle reports whether a record fits on the nodes of set when no job runs.
func (e *engine) fitsIdle(rec record, set *topology.NodeSet) bool {
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	for r := range e.jobs.rows {
		if e.jobs.rows[r].running() {
			e.takeOff(int32(r))
		}
	}
	j := &e.jobs.rows[rec.row]
	return e.tryOn(rec, set, e.now, e.timeLimit(j, int(rec.pair)))
}
