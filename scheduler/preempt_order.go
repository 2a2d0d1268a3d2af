package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/preempt"
)

// A pairing sorts the queue by the pair rule of preempt/qos: who may take
// another's place goes before it, others keep their order (spec: preempt 2.3).
// The rule is not transitive, so this is a merge sort over the sorted queue as in
// Slurm, and not an order of it. Tiers sort partitions already. In profile Best
// jobs that wait for their victims go first of all, so that they get the place.
type pairing struct {
	seen        [2]uint64 // arrivals and decisions when it was made
	claims      bool
	rows, spare []paired
	out         []record
}

type paired struct {
	rec   record
	qos   int32
	claim bool
}

// records returns the queue in the order in which a pass walks it.
func (e *engine) records() []record {
	if !e.pairs() {
		return e.queue.sorted
	}
	return e.pre.pairs.out
}

// claiming reports whether a waiting job may expect the place of its victims.
func (e *engine) claiming(j *job) bool {
	return e.cfg.Profile == ProfileBest && j.evict.until > 0 && j.evict.until >= e.now
}

// pairs reports whether the order of a pass may differ from the queue's.
func (e *engine) pairs() bool {
	return e.pre.rule.Type == preempt.TypeQOS || e.pre.on && e.cfg.Profile == ProfileBest
}

// pairQueue makes the order of a pass.
func (e *engine) pairQueue() {
	q := &e.pre.pairs
	seen := [2]uint64{e.arrivals + 1, e.seq}
	if !e.pairs() || seen == q.seen && !q.claims {
		return
	}
	q.seen = seen
	q.rows, q.out, q.claims = q.rows[:0], q.out[:0], false
	for _, rec := range e.queue.sorted {
		if j := &e.jobs.rows[rec.row]; j.qgen == rec.gen {
			claim := e.claiming(j)
			q.claims = q.claims || claim
			q.rows = append(q.rows, paired{rec, e.qosOf(j), claim})
		}
	}
	n := len(q.rows)
	q.spare = slices.Grow(q.spare[:0], n)[:n]
	for width := 1; width < n; width *= 2 {
		for lo := 0; lo < n; lo += 2 * width {
			mid, hi := min(lo+width, n), min(lo+2*width, n)
			e.mergePairs(q.spare[lo:hi], q.rows[lo:mid], q.rows[mid:hi])
		}
		q.rows, q.spare = q.spare, q.rows
	}
	for i := range q.rows {
		q.out = append(q.out, q.rows[i].rec)
	}
}

// mergePairs merges two runs, the first one's on ties.
func (e *engine) mergePairs(dst, a, b []paired) {
	for i := range dst {
		if len(b) == 0 || len(a) > 0 && !e.pairBefore(&b[0], &a[0]) {
			dst[i], a = a[0], a[1:]
		} else {
			dst[i], b = b[0], b[1:]
		}
	}
}

// pairBefore reports whether x goes before y.
func (e *engine) pairBefore(x, y *paired) bool {
	if x.claim != y.claim {
		return x.claim
	}
	if a, b := &e.jobs.rows[x.rec.row].evict, &e.jobs.rows[y.rec.row].evict; x.claim && a.askedAt != b.askedAt {
		return a.askedAt < b.askedAt
	}
	if e.pre.rule.Type != preempt.TypeQOS {
		return compareRecords(x.rec, y.rec) < 0
	}
	if x.qos >= 0 && y.qos >= 0 {
		var a, b preempt.Job
		a.QOS, a.QOSID, a.Priority = &e.pre.qos[x.qos], x.qos, e.jobs.rows[x.rec.row].pairPrio(int(x.rec.pair))
		b.QOS, b.QOSID, b.Priority = &e.pre.qos[y.qos], y.qos, e.jobs.rows[y.rec.row].pairPrio(int(y.rec.pair))
		if e.pre.rule.May(&a, &b) {
			return true
		}
		if e.pre.rule.May(&b, &a) {
			return false
		}
	}
	return compareRecords(x.rec, y.rec) < 0
}
