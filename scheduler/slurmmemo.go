package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// A runMemo remembers what willRun found in Slurm's planning passes. Where no
// reservation, unit or licence has a say, that follows from the class, the nodes
// offered, and what runs until when; so it holds, also in later passes, until
// one of these changes. Passes come each half minute, changes seldom.
type runMemo struct {
	valid bool
	hash  uint64   // of the pool
	ends  []ending // of what runs
	first []memoAt // by class
	all   []runEntry
	n     int // of all
}

// A memoAt is the newest entry of a class: number + 1.
type memoAt struct {
	class uint64 // its serial number
	entry int32
}

// A runEntry is one answer that is not "now".
type runEntry struct {
	next   int32 // of the class, number + 1
	ok     bool
	from   Time // 0 for now
	limit  time.Duration
	key    uint64 // of avail
	avail  topology.NodeSet
	steps  int64
	at     Time
	chosen topology.NodeSet
}

// memoWords bounds the words of the sets of all entries.
const memoWords = 1 << 22

// begin forgets all unless what runs is as at the last end of a pass.
func (m *runMemo) begin(hash uint64, ends []ending) {
	if !m.valid || m.hash != hash || !slices.Equal(m.ends, ends) {
		m.forget()
	}
	m.valid = true
}

// end notes what runs.
func (m *runMemo) end(hash uint64, ends []ending) {
	m.hash = hash
	m.ends = append(m.ends[:0], ends...)
}

// applied notes an event: what it changes beside what is compared ends all.
func (m *runMemo) applied(kind EventKind) {
	switch kind {
	case EventJobSubmit, EventJobStarted, EventJobEnded:
	default:
		m.valid = false
	}
}

// forget drops all answers and keeps their memory.
func (m *runMemo) forget() {
	m.n = 0
	clear(m.first)
}

// memoKey folds a set into a number.
func memoKey(s *topology.NodeSet) uint64 {
	h := uint64(1)
	for _, w := range s.Words() {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// remembers reports whether answers for a record follow from what a runMemo
// compares.
func (e *engine) remembers(rec record) bool {
	s, j := &e.try, &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	return len(e.resv.all) == 0 && e.holders == 0 && !c.unitsAlone && !e.sharing && !c.shares && e.apart == 0 && !e.staysApart(j, int(rec.pair)) &&
		len(e.licenses.pools) == 0 && s.capNodes == 0 && !s.prefer && c.fit.Switches == 0 && e.placement.placer == nil
}

// willRunKept is willRun from memory, if that says when and it is not now.
func (e *engine) willRunKept(rec record, avail, looked *topology.NodeSet, from Time, limit time.Duration) (Time, bool) {
	if !e.remembers(rec) {
		return e.willRun(rec, avail, looked, from, limit)
	}
	p, m := &e.slurm, &e.slurm.memo
	class := e.jobs.rows[rec.row].classes[rec.pair]
	if n := len(e.classes.rows); len(m.first) < n {
		m.first = append(m.first, make([]memoAt, n-len(m.first))...)
	}
	at, serial := &m.first[class], e.classes.rows[class].serial
	if at.class != serial {
		*at = memoAt{class: serial}
	}
	since, key := from, memoKey(avail)
	if from <= e.now {
		since = 0
	}
	for i := at.entry; i > 0; i = m.all[i-1].next {
		x := &m.all[i-1]
		if x.key != key || x.from != since || x.limit != limit || !x.avail.Equal(avail) {
			continue
		}
		p.steps += x.steps
		e.try.nodes = e.try.nodes[:0]
		if x.ok {
			e.try.nodes = x.chosen.AppendIDs(e.try.nodes)
		}
		return x.at, x.ok
	}
	steps := p.steps
	t, ok := e.willRun(rec, avail, looked, from, limit)
	if ok && t <= e.now {
		return t, ok
	}
	if 2*m.n*len(avail.Words()) > memoWords {
		m.forget()
		at.class = serial
	}
	x := m.entry(avail.Len())
	x.next, at.entry = at.entry, int32(m.n)
	x.ok, x.from, x.limit, x.key, x.steps, x.at = ok, since, limit, key, p.steps-steps, t
	x.avail.Copy(avail)
	if x.chosen.Clear(); ok {
		for _, n := range e.try.nodes {
			x.chosen.Add(n)
		}
	}
	return t, ok
}

// entry makes room for one more answer.
func (m *runMemo) entry(nodes int) *runEntry {
	if m.n == len(m.all) {
		m.all = append(m.all, runEntry{})
		m.all[m.n].avail.Init(nodes)
		m.all[m.n].chosen.Init(nodes)
	}
	m.n++
	return &m.all[m.n-1]
}
