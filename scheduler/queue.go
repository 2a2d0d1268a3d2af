package scheduler

import (
	"cmp"
	"slices"
)

// A record is one chance of a pending job: the job in one of its partitions.
// Records are sorted by key, then submission, then id, then the place of the
// partition in the job's list (spec: priority 6).
type record struct {
	key    uint64 // ^(tier<<32 | priority): rises as rank falls
	submit Time
	id     JobID
	row    int32 // of the job
	gen    uint32
	pair   int16 // index in the job's partition list
	order  int16 // place among the job's records of one partition
	resv   int32 // reservation it would start in, 0 for none
	told   bool  // the job shows that it waits behind others, and has no plan
	class  int32 // of the pair
}

func compareRecords(a, b record) int {
	if c := cmp.Compare(a.key, b.key); c != 0 {
		return c
	}
	if c := cmp.Compare(a.submit, b.submit); c != 0 {
		return c
	}
	if c := cmp.Compare(a.id, b.id); c != 0 {
		return c
	}
	if c := cmp.Compare(a.pair, b.pair); c != 0 {
		return c
	}
	return cmp.Compare(a.order, b.order)
}

func rankKey(tier uint16, prio uint32) uint64 { return ^(uint64(tier)<<32 | uint64(prio)) }

// keyOf is the key of a job's record in one of its partitions: those of a
// reservation come first, whatever their rank (spec: priority 6).
func (e *engine) keyOf(j *job, pair int, resv int32) uint64 {
	k := rankKey(e.parts[j.parts[pair]].tier, j.pairPrio(pair))
	if resv != 0 {
		k &^= 1 << 48
	}
	return k
}

// A queue holds the records of pending jobs. What arrives waits unsorted in
// incoming until the next pass merges it; what leaves stays as a dead record
// (its job's generation has moved on) until then. A merge costs a step a
// record and a sort of what is new.
type queue struct {
	sorted   []record
	incoming []record
	dead     int
}

// push adds a record; it may allocate.
func (q *queue) push(r record) {
	q.incoming = append(q.incoming, r)
	// The merge happens in a pass, which must not allocate.
	q.sorted = slices.Grow(q.sorted, len(q.incoming))
}

// merge sorts in what arrived, and drops dead records once they are an eighth
// of all; until then a pass steps over them. alive says which records still
// count.
func (q *queue) merge(alive func(*record) bool) {
	if q.dead > len(q.sorted)/8 {
		n := 0
		for i := range q.sorted {
			if alive(&q.sorted[i]) {
				q.sorted[n] = q.sorted[i]
				n++
			}
		}
		q.sorted = q.sorted[:n]
		n = 0
		for i := range q.incoming {
			if alive(&q.incoming[i]) {
				q.incoming[n] = q.incoming[i]
				n++
			}
		}
		q.incoming = q.incoming[:n]
		q.dead = 0
	}
	slices.SortFunc(q.incoming, compareRecords)
	// Merge from the back: the write position cannot overtake the read one,
	// since it is ahead of it by the records of incoming not yet placed.
	i, j := len(q.sorted)-1, len(q.incoming)-1
	q.sorted = q.sorted[:len(q.sorted)+len(q.incoming)]
	for w := len(q.sorted) - 1; j >= 0; w-- {
		if i >= 0 && compareRecords(q.sorted[i], q.incoming[j]) > 0 {
			q.sorted[w] = q.sorted[i]
			i--
		} else {
			q.sorted[w] = q.incoming[j]
			j--
		}
	}
	q.incoming = q.incoming[:0]
}

// resort orders everything anew after priorities changed.
func (q *queue) resort() { slices.SortFunc(q.sorted, compareRecords) }

// reset empties the queue and keeps its memory.
func (q *queue) reset() { q.sorted, q.incoming, q.dead = q.sorted[:0], q.incoming[:0], 0 }
