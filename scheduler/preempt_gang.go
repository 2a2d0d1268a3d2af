package scheduler

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// A ganging is the engine's time slicing (spec: preempt 8): jobs of a partition that
// hold the same cores take turns. Who is stopped keeps its memory and devices. Of
// the books it holds next, dirty and last, and each job its turn.
type ganging struct {
	next  Time   // end of the slice; Never while nobody waits for a turn
	dirty bool   // a job came or went since turns were given
	last  uint64 // turn given last

	turns   preempt.Gang
	rows    []int32 // of the partition's jobs, in order of turns
	list    []int32 // numbers of those that take turns
	leaving []int32 // and of those that are active to their end
	on      []bool
	cores   preempt.Cores
}

// join puts a job at the end of the line.
func (g *ganging) join(j *job) {
	g.last++
	j.turn = g.last
	g.dirty = true
}

// slicing reports whether jobs take turns at all. Slurm: GANG.
func (e *engine) slicing() bool { return e.pre.rule.Cluster.Gang }

// slice gives turns: at the end of a slice to those who waited longest, else only
// to who came or can go on since somebody left.
func (e *engine) slice(dst []Decision) []Decision {
	g := &e.pre.gang
	tick := e.now >= g.next
	if !e.slicing() || !tick && !g.dirty {
		return dst
	}
	g.dirty = false
	waits := false
	for p := range e.parts {
		var some bool
		dst, some = e.slicePart(dst, int32(p), tick)
		waits = waits || some
	}
	switch {
	case !waits:
		g.next = Never
	case tick || g.next == Never:
		g.next = e.now.Add(e.par.Preempt.TimeSlice)
	}
	return dst
}

// slicePart gives turns in a partition, and reports whether anybody waits for
// one.
func (e *engine) slicePart(dst []Decision, part int32, tick bool) ([]Decision, bool) {
	g := &e.pre.gang
	if !e.lineUp(part, tick) {
		return dst, false
	}
	if tick {
		g.turns.Rotate(g.list, g.on)
		for _, k := range g.list {
			g.last++
			e.jobs.rows[g.rows[k]].turn = g.last
		}
	}
	g.turns.Choose(g.on, g.leaving, g.list, &g.cores)
	waits := false
	for _, k := range g.list {
		r := g.rows[k]
		if j := &e.jobs.rows[r]; !g.on[k] {
			waits = true
			if j.state == StateRunning {
				at := len(dst)
				dst = e.stop(dst, r, e.inTheWay(k))
				dst[at].Rule = "gang"
			}
		}
	}
	for _, k := range g.list {
		r := g.rows[k]
		if j := &e.jobs.rows[r]; g.on[k] && j.state == StateSuspended {
			e.takeOver(j)
			e.goOn(e.now, r)
			dst = e.resume(dst, r)
			dst[len(dst)-1].Rule = "gang"
		}
	}
	if waits {
		e.listLenders()
	}
	return dst, waits
}

// resume appends the decision that lets a job go on.
func (e *engine) resume(dst []Decision, r int32) []Decision {
	if e.par.Preempt.Signals {
		dst = e.signal(dst, r, preempt.SignalCont, 0, preempt.ToSteps)
	}
	return e.decide(dst, r, OpResume)
}

// lineUp lists the jobs of a partition that take turns: those that run, and those
// that were stopped for others of the same partition. Who is on its way out is
// active to the end. It reports whether anybody waits or any two overlap. At the end
// of a slice they stand in order of their turns, else those who are active go
// first.
func (e *engine) lineUp(part int32, tick bool) bool {
	g := &e.pre.gang
	g.rows = g.rows[:0]
	shared := e.parts[part].rows > 1
	for i := range e.pre.runs {
		r := e.pre.runs[i].row
		j := &e.jobs.rows[r]
		if j.parts[j.partIdx] != part || j.state == StateSuspended && !e.stoppedWithin(j, part) {
			continue
		}
		shared = shared || j.state == StateSuspended
		g.rows = append(g.rows, r)
	}
	if !shared {
		return false
	}
	slices.SortFunc(g.rows, func(a, b int32) int {
		x, y := &e.jobs.rows[a], &e.jobs.rows[b]
		if !tick && x.state != y.state {
			return cmp.Compare(x.state, y.state) // running is the lesser
		}
		return cmp.Or(cmp.Compare(x.turn, y.turn), cmp.Compare(x.id, y.id))
	})
	words := int32(e.coreWords)
	h := &g.cores
	h.First, h.Word, h.Mask, h.Words = append(h.First[:0], 0), h.Word[:0], h.Mask[:0], len(e.nodes)*int(words)
	g.list, g.leaving, g.on = g.list[:0], g.leaving[:0], g.on[:0]
	for i, r := range g.rows {
		j := &e.jobs.rows[r]
		switch leaving := j.flags&flagEnding != 0 || j.evict.by != 0 && !j.lending(); {
		case leaving && j.state == StateRunning:
			g.leaving = append(g.leaving, int32(i))
		case !leaving && e.withinReach(j):
			g.list = append(g.list, int32(i))
		}
		g.on = append(g.on, j.state == StateRunning)
		for _, held := range [2][]nodeGrant{j.alloc, j.lent} {
			for k := range held {
				for w, c := range held[k].grant.Cores {
					if c != 0 {
						h.Word, h.Mask = append(h.Word, int32(held[k].node)*words+int32(w)), append(h.Mask, c)
					}
				}
			}
		}
		h.First = append(h.First, int32(len(h.Word)))
	}
	return true
}

// withinReach reports whether those of the line have all cores that a job has
// lent.
func (e *engine) withinReach(j *job) bool {
	g := &e.pre.gang
	for i := range j.lent {
		l := &j.lent[i]
		for w, c := range l.grant.Cores {
			for _, r := range g.rows {
				o := &e.jobs.rows[r]
				if at := indexOfGrant(o.alloc, l.node); at < len(o.alloc) && o.alloc[at].node == l.node {
					c &^= o.alloc[at].grant.Cores[w]
				}
			}
			if c != 0 {
				return false
			}
		}
	}
	return true
}

// stoppedWithin reports whether a suspended job waits for its turn in a partition,
// and not for a job of another one or for its user.
func (e *engine) stoppedWithin(j *job, part int32) bool {
	if !j.lending() {
		return false
	}
	r := e.jobs.find(j.evict.by)
	if r < 0 {
		return true // who stopped it is gone
	}
	o := &e.jobs.rows[r]
	return o.parts[o.partIdx] == part
}

// inTheWay is the first active job that overlaps number k.
func (e *engine) inTheWay(k int32) JobID {
	g := &e.pre.gang
	h := &g.cores
	for o := range int32(len(g.rows)) {
		if !g.on[o] {
			continue
		}
		for a := h.First[k]; a < h.First[k+1]; a++ {
			for b := h.First[o]; b < h.First[o+1]; b++ {
				if h.Word[a] == h.Word[b] && h.Mask[a]&h.Mask[b] != 0 {
					return e.jobs.rows[g.rows[o]].id
				}
			}
		}
	}
	return 0
}

// takeOver moves the cores that a job has lent from those of the line who have
// them, and are stopped now, back to it.
func (e *engine) takeOver(j *job) {
	g := &e.pre.gang
	j.ownAlloc()
	for i := range j.lent {
		l := &j.lent[i]
		mine := &j.alloc[indexOfGrant(j.alloc, l.node)].grant
		for k, r := range g.rows {
			o := &e.jobs.rows[r]
			at := indexOfGrant(o.alloc, l.node)
			if g.on[k] || o == j || at == len(o.alloc) || o.alloc[at].node != l.node || o.alloc[at].grant.SharedCores {
				continue
			}
			o.ownAlloc()
			theirs := &o.alloc[at].grant
			e.part.Reset(len(theirs.Cores))
			any := false
			for w, c := range l.grant.Cores {
				e.part.Cores[w] = c & theirs.Cores[w]
				any = any || e.part.Cores[w] != 0
			}
			if !any {
				continue
			}
			for w, c := range e.part.Cores {
				theirs.Cores[w] &^= c
				l.grant.Cores[w] &^= c
				mine.Cores[w] |= c
			}
			o.lendMore(l.node, e.part.Cores)
			e.touchJob(o)
		}
	}
}

// lendMore notes that others have cores of a node.
func (j *job) lendMore(n topology.NodeID, cores []uint64) {
	at := indexOfGrant(j.lent, n)
	if at == len(j.lent) || j.lent[at].node != n {
		j.lent = slices.Insert(j.lent, at, nodeGrant{node: n, grant: gres.Grant{Cores: make([]uint64, len(cores))}})
	}
	for w, c := range cores {
		j.lent[at].grant.Cores[w] |= c
	}
}

// listLenders puts those who wait for their turn with cores lent on the list of
// lenders, by which they get them back when those who have them end.
func (e *engine) listLenders() {
	g, p := &e.pre.gang, &e.pre
	for k, r := range g.rows {
		if !g.on[k] && len(e.jobs.rows[r].lent) > 0 && !slices.Contains(p.lenders, r) {
			p.lenders = append(p.lenders, r)
		}
	}
}
