package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// A gathering looks for the first instant at which several waiting jobs fit at
// once. It works on a fork, which it leaves in disorder.
type gathering struct {
	e     *engine
	jobs  []gathered
	turns []Time // after now, ascending: when something may become free
	plans []int32
}

// A gathered job is tried by each of its records.
type gathered struct {
	row     int32
	records []record
	limit   time.Duration
	nodes   int32
}

// Together is the View's method.
func (v *view) Together(ids ...JobID) (at Time, ok bool) {
	if len(ids) == 0 {
		return Never, false
	}
	e := v.e.fork()
	e.queue.merge(e.alive)
	e.pairQueue()
	g := gathering{e: e}
	for _, id := range ids {
		if g.has(e.jobs.find(id)) {
			continue
		}
		if !g.add(e.jobs.find(id)) {
			return Never, false
		}
	}
	// Who runs longest has the fewest places, and those would do for the others.
	slices.SortStableFunc(g.jobs, func(a, b gathered) int {
		return cmp.Or(cmp.Compare(b.limit, a.limit), cmp.Compare(b.nodes, a.nodes))
	})
	g.open()
	return g.find()
}

func (g *gathering) has(row int32) bool {
	return slices.ContainsFunc(g.jobs, func(x gathered) bool { return x.row == row })
}

// add takes a job that is waiting for nothing but its turn and a place.
func (g *gathering) add(row int32) bool {
	if row < 0 {
		return false
	}
	e := g.e
	j := &e.jobs.rows[row]
	x := gathered{row: row, nodes: j.spec.MinNodes}
	for _, rec := range e.records() {
		if rec.row != row || rec.gen != j.qgen || e.prefers(j, rec.pair) || !g.ready(rec) {
			continue
		}
		x.records = append(x.records, rec)
		x.limit = max(x.limit, e.timeLimit(j, int(rec.pair)))
	}
	g.jobs = append(g.jobs, x)
	return len(x.records) > 0
}

// ready reports whether a record may start if it finds a place and licences, and
// readies the search for it.
func (g *gathering) ready(rec record) bool {
	j := &g.e.jobs.rows[rec.row]
	return g.e.gate(rec) || j.reason == ReasonLicenses && (g.e.cfg.Profile == ProfileBest || g.e.waitsForLicenses(j))
}

// open puts what runs and what is planned for others in its place.
func (g *gathering) open() {
	e := g.e
	if e.cfg.Profile == ProfileSlurm {
		e.slurm.round.open = false
		e.slurmBegin()
		g.planBefore()
	} else {
		e.plans.inPass = true
		for i := range g.jobs {
			e.dropPlans(g.jobs[i].row)
		}
		e.syncPlans()
	}
	g.listTurns()
}

// planBefore plans for the records that go before the last of the jobs, as a
// planning pass does.
func (g *gathering) planBefore() {
	e := g.e
	records := e.records()
	last := len(records) - 1
	for last >= 0 && (records[last].gen != e.jobs.rows[records[last].row].qgen || !g.has(records[last].row)) {
		last--
	}
	for _, rec := range records[:last+1] {
		j := &e.jobs.rows[rec.row]
		if j.qgen != rec.gen || g.has(rec.row) || e.prefers(j, rec.pair) || !g.ready(rec) || !e.blocks(j) || !e.reserves(j, int(rec.pair)) {
			continue
		}
		first := e.slurm.round.mark(rec)
		if t, limit, ok := e.slurmEarliest(rec, e.now); ok && t > e.now {
			e.slurmReserve(rec, t, limit, first)
		}
	}
	e.slurm.round.open = true // the plans are the round's: clear brings them back
}

// listTurns lists when running jobs, plans and reservations end.
func (g *gathering) listTurns() {
	e, grain := g.e, g.e.grain()
	add := func(t Time) {
		if t > e.now && t < Never {
			g.turns = append(g.turns, roundTo(t, grain))
		}
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() {
			add(e.expectedEnd(j))
		}
	}
	for i := range e.plans.all[:e.plans.n] {
		if x := &e.plans.all[i]; x.row >= 0 {
			add(x.end)
		}
	}
	for i := range e.resv.all {
		add(e.resv.all[i].end)
	}
	slices.Sort(g.turns)
	g.turns = slices.Compact(g.turns)
}

// find takes instants in order: none before the last of what each job alone could
// have is looked at, and nothing is gained but when something becomes free.
func (g *gathering) find() (Time, bool) {
	for at := g.e.now; ; {
		for from := Time(-1); from != at; {
			from = at
			for i := range g.jobs {
				t, ok := g.alone(&g.jobs[i], at)
				if !ok {
					return Never, false
				}
				at = max(at, t)
			}
		}
		if g.fit(at) {
			return at, true
		}
		i, found := slices.BinarySearch(g.turns, at)
		if found {
			i++
		}
		if i == len(g.turns) {
			return Never, false
		}
		at = g.turns[i]
	}
}

// alone is when a job could start at or after from, if it were the only one.
func (g *gathering) alone(x *gathered, from Time) (Time, bool) {
	best := Never
	for _, rec := range x.records {
		if t, ok := g.earliest(rec, from, Never); ok {
			best = min(best, t)
		}
	}
	return best, best != Never
}

// fit reports whether all jobs fit at an instant, each in the place that it
// finds when those before it have theirs.
func (g *gathering) fit(at Time) bool {
	defer g.clear()
	return !slices.ContainsFunc(g.jobs, func(x gathered) bool {
		return !slices.ContainsFunc(x.records, func(rec record) bool { return g.take(rec, at) })
	})
}

// earliest finds a place for a record at or after from, and before until; it is
// in the scratch.
func (g *gathering) earliest(rec record, from, until Time) (Time, bool) {
	e := g.e
	if !g.ready(rec) {
		return Never, false
	}
	if e.cfg.Profile == ProfileSlurm {
		t, _, ok := e.slurmEarliest(rec, from)
		return t, ok && t < until
	}
	e.plans.first = from
	return e.earliest(rec, e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair)), until, nil)
}

// take gives a record a place at an instant.
func (g *gathering) take(rec record, at Time) bool {
	e := g.e
	if t, ok := g.earliest(rec, at, at+1); !ok || t > at {
		return false
	}
	limit := e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair))
	if e.cfg.Profile == ProfileSlurm {
		e.slurm.nodes.reserve(e.try.nodes, at, at.Add(limit))
		return true
	}
	id := e.newPlan(rec)
	x := &e.plans.all[id]
	x.limit, x.start, x.end = limit, at, e.planEnd(at, limit)
	x.pick = e.jobs.rows[rec.row].licenses.pick
	x.grants = copyGrants(x.grants, e.try.nodes, e.try.grants)
	e.bookPlan(id)
	g.plans = append(g.plans, id)
	return true
}

// clear takes the places back.
func (g *gathering) clear() {
	e := g.e
	if e.cfg.Profile == ProfileSlurm {
		e.slurmBegin()
		return
	}
	for _, id := range g.plans {
		e.dropPlan(id)
	}
	e.catchUp()
	g.plans = g.plans[:0]
}
