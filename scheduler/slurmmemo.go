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
	valid   bool
	hash    uint64     // of the pool
	ends    []ending   // of what runs
	entries []runEntry // in groups of runWays
	era     uint64     // of the entries that hold; rises with forgetting
	clock   uint64
}

// A runEntry is one answer that is not "now".
type runEntry struct {
	era, used uint64
	class     uint64 // its serial number
	from      Time   // 0 for now
	limit     time.Duration
	key       uint64 // of avail
	avail     topology.NodeSet
	steps     int64
	at        Time
	ok        bool
	chosen    topology.NodeSet
}

// runWays is how many entries an answer may lie in; mostEntries and memoWords,
// the words of all sets, bound the memory.
const (
	runWays     = 4
	mostEntries = 1 << 12
	memoWords   = 1 << 22
)

// size makes the memory, fit for n nodes.
func (m *runMemo) size(n int) {
	words := 2 * ((n + 63) / 64)
	count := mostEntries
	for count > 1<<8 && count*words > memoWords {
		count /= 2
	}
	m.entries = make([]runEntry, count)
	m.era++
}

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
func (m *runMemo) forget() { m.era++ }

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

// willRunKept is willRun from memory, if that says when and it is not now. Where
// answers are remembered, without reservations, looked is avail.
func (e *engine) willRunKept(rec record, avail, looked *topology.NodeSet, from Time, limit time.Duration) (Time, bool) {
	if !e.remembers(rec) {
		return e.willRun(rec, avail, looked, from, limit)
	}
	p, m := &e.slurm, &e.slurm.memo
	if m.entries == nil {
		m.size(avail.Len())
	}
	want := runEntry{era: m.era, class: e.classes.rows[e.jobs.rows[rec.row].classes[rec.pair]].serial, from: from, limit: limit, key: memoKey(avail)}
	if from <= e.now {
		want.from = 0
	}
	x, known := m.find(&want, avail)
	if known {
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
	if x.avail.Len() != avail.Len() {
		x.avail.Init(avail.Len())
		x.chosen.Init(avail.Len())
	}
	x.era, x.used, x.class, x.from, x.limit, x.key = want.era, m.clock, want.class, want.from, limit, want.key
	x.ok, x.steps, x.at = ok, p.steps-steps, t
	x.avail.Copy(avail)
	if x.chosen.Clear(); ok {
		for _, n := range e.try.nodes {
			x.chosen.Add(n)
		}
	}
	return t, ok
}

// find returns the entry of an answer, or the one to use for it: one that does
// not hold, or that unused longest.
func (m *runMemo) find(want *runEntry, avail *topology.NodeSet) (x *runEntry, known bool) {
	h := mix(mix(want.key^uint64(want.from)) ^ mix(want.class^uint64(want.limit)<<20))
	o := h * runWays & uint64(len(m.entries)-1)
	ways := m.entries[o : o+runWays]
	m.clock++
	for i := range ways {
		y := &ways[i]
		if y.era != m.era {
			y.used = 0
		}
		if y.era == m.era && y.class == want.class && y.from == want.from && y.limit == want.limit && y.key == want.key && y.avail.Equal(avail) {
			y.used = m.clock
			return y, true
		}
		if x == nil || y.used < x.used {
			x = y
		}
	}
	return x, false
}
