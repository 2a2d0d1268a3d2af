package scheduler

import (
	"math/bits"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// What a candidate of a search is.
const (
	candWord  uint8 = iota // 64 nodes, at the least of their bounds
	candBound              // a node at its bound
	candLater              // a node, not to be looked at before
	candReady              // a node at a start that its calendar lets pass
	candAlarm              // an instant to try again
)

// A candidate is something to look at when the search comes to an instant.
type candidate struct {
	at     Time
	weight uint32
	node   int32
	kind   uint8
}

func (a *candidate) less(b *candidate) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if (a.kind == candWord) != (b.kind == candWord) {
		return a.kind == candWord // before any node is taken
	}
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	return a.node < b.node
}

// A planSearch finds the earliest start of a record: candidates are taken in order
// of time, and nodes whose calendars let the request pass are collected until
// they are enough.
type planSearch struct {
	heap   []candidate
	ready  []readyNode
	now    []candidate // nodes of a one-node request that are free at this instant, if devices need not be near
	record record
	class  *class
	bounds *bounds
	ask    gres.Digest
	limit  time.Duration
	span   Time
	from   Time // now
	first  Time // starts before here are of no use
	until  Time // starts from here on are of no use
	grain  Time
	steps  int64   // candidates taken, over all searches
	tries  int64   // times that nodes were chosen
	work   int64   // of this search: nodes that came to be free, and looks at what they give; bounds do not change it
	block  []int32 // reservations that keep others off their nodes
	cores  []int32 // reservations of cores
	guards guards
	mine   int  // the job's reservation, -1 none
	told   bool // why says what the topology said of now
	one    bool // any one node does
	varies bool // what nodes give matters, not only how many do
	fresh  bool // nodes have come since they were last tried
	why    topology.Refusal
}

// A readyNode is a node on which the request may start until last.
type readyNode struct {
	node topology.NodeID
	last Time
}

func (s *planSearch) push(c candidate) {
	c.at = max(c.at, s.first)
	if c.kind != candWord && c.at > s.from {
		c.at = roundTo(c.at, s.grain)
	}
	if c.at >= s.until {
		return
	}
	s.heap = append(s.heap, c)
	h := s.heap
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !c.less(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = c
}

func (s *planSearch) pop() candidate {
	h := s.heap
	top := h[0]
	n := len(h) - 1
	c := h[n]
	h = h[:n]
	s.heap = h
	i := 0
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && h[k+1].less(&h[k]) {
			k++
		}
		if !h[k].less(&c) {
			break
		}
		h[i] = h[k]
		i = k
	}
	if n > 0 {
		h[i] = c
	}
	return top
}

// earliest finds the first start of a record at or after now and before until at
// which it fits beside what runs and all plans, for its whole limit; what it
// gets is then in the scratch. Only nodes of only are looked at, unless that is
// nil. If it does not fit now, the scratch says why.
func (e *engine) earliest(rec record, limit time.Duration, until Time, only *topology.NodeSet) (Time, bool) {
	p, t := &e.plans, &e.try
	s := &p.find
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	ask, ok := e.pool.Ask(c.pool)
	t.layer = -1
	t.found, t.hold, t.refusal = false, false, topology.Refusal{Rule: topology.RuleEmpty, Unit: topology.NoUnit}
	if c.list != nil && !e.up.Contains(c.list) {
		t.refusal.Rule = topology.RuleRequired
	}
	s.why = t.refusal
	if !ok {
		return Never, false
	}
	span := spanOf(limit)
	*s = planSearch{
		heap: s.heap[:0], ready: s.ready[:0], now: s.now[:0], block: s.block[:0], cores: s.cores[:0], mine: -1, steps: s.steps, tries: s.tries, why: s.why,
		record: rec, class: c, ask: ask, limit: limit, span: span, from: e.now, first: p.first, until: until, grain: e.grain(),
		bounds: p.bounds.of(e.pool.Coarse(ask), span, len(e.nodes)),
	}
	s.one = c.one && c.wish == nil
	s.varies = c.list != nil || c.req.MinCPUs > max(c.req.NodeCPUs, 1)*max(c.min, 1) || c.req.Tasks > 0 || perJob(&c.req)
	e.openSearch(only)
	if c.fit.Switches > 0 {
		s.push(candidate{at: max(j.firstTry.Add(topology.SwitchLimit(c.fit.SwitchWait, e.par.Select.MaxSwitchWait)), e.now), kind: candAlarm})
	}
	p.searching = true
	at, ok := e.sweep()
	p.searching = false
	t.found = ok
	if !ok || at > e.now {
		t.refusal = s.why
	}
	return at, ok
}

// perJob reports whether a request counts devices over the job.
func perJob(r *gres.Request) bool {
	for i := range r.Needs[:r.NumNeeds] {
		if r.Needs[i].PerJob > 0 {
			return true
		}
	}
	return false
}

// openSearch readies the nodes to look at.
func (e *engine) openSearch(only *topology.NodeSet) {
	p, t := &e.plans, &e.try
	s := &p.find
	t.within.Copy(s.class.nodes)
	t.within.And(&e.up)
	if only != nil {
		t.within.And(only)
	}
	if j := &e.jobs.rows[s.record.row]; e.claiming(j) {
		e.keepOwn(j)
	}
	e.keepServed(&e.jobs.rows[s.record.row])
	s.guards = e.guardsOf(&s.record)
	e.readyGuards()
	e.blockReserved()
	for _, n := range p.owned {
		if t.within.Has(n) {
			s.push(candidate{at: e.now, node: int32(n), weight: e.searchWeight(int32(n)), kind: candLater})
		}
	}
	for w, x := range t.within.Words() {
		if x != 0 {
			s.push(candidate{at: max(s.bounds.first[w], e.now), node: int32(w), kind: candWord})
		}
	}
}

// sweep takes candidates until the request fits.
func (e *engine) sweep() (Time, bool) {
	s := &e.plans.find
	c := s.class
	want := int(max(c.min, 1))
	for len(s.heap) > 0 {
		x := s.pop()
		s.steps++
		if x.at > e.now {
			e.explainNow()
		}
		switch x.kind {
		case candWord:
			e.openWord(int(x.node))
		case candBound, candLater:
			e.lookAt(&x)
		case candReady:
			if e.tryReady(&x) {
				return x.at, true
			}
		case candAlarm:
			s.fresh = true
		}
		if len(s.heap) > 0 && s.heap[0].at == x.at {
			continue
		}
		if len(s.now) > 0 && e.tryFar(x.at) {
			return x.at, true
		}
		if s.fresh && len(s.ready) >= want {
			s.fresh = false
			if e.tryAll(x.at, want) {
				return x.at, true
			}
		}
	}
	e.explainNow()
	return Never, false
}

// explainNow lets the topology say why the nodes that are free now will not do,
// if they are too few to be tried.
func (e *engine) explainNow() {
	s, w := &e.plans.find, &e.try
	if s.told || s.one {
		return
	}
	s.told = true
	c := s.class
	if c.required != nil || c.levels == nil && e.topos[e.parts[c.key.part].topo].fitter.Kind() == topology.KindFlat {
		return
	}
	w.fit.Clear()
	w.cols.Empty()
	w.near.Empty()
	for _, r := range s.ready {
		e.column(r.node, e.now, c.firstPass == gres.PassNear)
	}
	if !e.place(c, &attempt{at: e.now, limit: s.limit, plans: &e.plans, filled: true}) {
		s.why = w.refusal
	}
}

// openWord puts the nodes of a word in their places.
func (e *engine) openWord(w int) {
	p := &e.plans
	s := &p.find
	for x := e.try.within.Words()[w]; x != 0; x &= x - 1 {
		n := int32(w<<6 | bits.TrailingZeros64(x))
		if p.own.Has(topology.NodeID(n)) {
			continue
		}
		s.push(candidate{at: max(s.bounds.least[n], e.now), node: n, weight: e.searchWeight(n), kind: candBound})
	}
}

func (e *engine) searchWeight(n int32) uint32 {
	if e.try.prefer {
		return e.weightFor(topology.NodeID(n))
	}
	return e.plans.weight[n]
}

// lookAt finds the next window of a node, and what the bound of its kind can
// be raised to.
func (e *engine) lookAt(x *candidate) {
	p := &e.plans
	s := &p.find
	n := topology.NodeID(x.node)
	start, last := p.cal[n].window(s.ask, s.span, x.at, s.grain)
	if x.kind == candBound && start > x.at {
		if at, _ := p.cal[n].window(s.bounds.ask, s.bounds.span, max(s.bounds.least[n], e.now), 1); at > s.bounds.least[n] {
			s.bounds.raise(n, at)
		}
	}
	if start == Never {
		return
	}
	if len(s.block) > 0 {
		if at := e.clearFrom(n, start); at > start {
			s.push(candidate{at: at, node: x.node, weight: x.weight, kind: candLater})
			return
		}
	}
	if s.guards != 0 {
		if at := e.guardFrom(n, start); at > start {
			s.push(candidate{at: at, node: x.node, weight: x.weight, kind: candLater})
			return
		}
	}
	if s.one {
		s.push(candidate{at: start, node: x.node, weight: x.weight, kind: candReady})
		return
	}
	if start > x.at {
		s.push(candidate{at: start, node: x.node, weight: x.weight, kind: candLater})
		return
	}
	s.work++
	s.ready, s.fresh = append(s.ready, readyNode{n, e.lastClear(n, start, last)}), true
}

// tryAll tries the nodes that are ready at t.
func (e *engine) tryAll(t Time, want int) bool {
	s, w := &e.plans.find, &e.try
	c := s.class
	n := 0
	for _, r := range s.ready {
		if r.last < t {
			// Not before t: who has become ready since is not asked about then.
			s.push(candidate{at: max(r.last+1, t), node: int32(r.node), kind: candLater})
			continue
		}
		if s.guards != 0 {
			if at := e.guardFrom(r.node, t); at > t {
				s.push(candidate{at: at, node: int32(r.node), kind: candLater})
				continue
			}
		}
		s.ready[n] = r
		n++
	}
	s.ready = s.ready[:n]
	if n < want {
		return false
	}
	if at := e.licensedFrom(t); at > t {
		s.push(candidate{at: at, kind: candAlarm})
		return false
	}
	if c.shares {
		return e.tried(t, e.tryAllShared(t, s.limit, want))
	}
	if t == e.now && c.required != nil {
		// What the others are asked depends on the required ones.
		e.onlyReady(false)
		if w.uses != nil {
			e.scopeOver(w.uses, &w.within, t, s.limit)
		}
		ok := e.place(c, &attempt{at: t, limit: s.limit, plans: &e.plans})
		e.onlyReady(true)
		return e.tried(t, ok)
	}
	near := c.firstPass == gres.PassNear && t == e.now
	w.fit.Clear()
	w.cols.Empty()
	if near {
		w.near.Empty()
	}
	n = 0
	for _, r := range s.ready {
		if !e.column(r.node, t, near) {
			if at := e.nextChange(r.node, t); at != Never {
				s.push(candidate{at: at, node: int32(r.node), kind: candLater})
			}
			continue
		}
		s.ready[n] = r
		n++
	}
	s.ready = s.ready[:n]
	if n < want {
		return false
	}
	if w.uses != nil {
		e.scopeOver(w.uses, &w.fit, t, s.limit)
		e.pruneScoped()
	}
	if c.fit.Switches > 0 {
		j := &e.jobs.rows[s.record.row]
		j.firstTry = min(j.firstTry, e.now)
		w.waited = t.Sub(j.firstTry)
	}
	return e.tried(t, e.place(c, &attempt{at: t, limit: s.limit, plans: &e.plans, filled: true}))
}

// tried says when to try again, if the nodes that are ready at t would not do.
func (e *engine) tried(t Time, ok bool) bool {
	s, w := &e.plans.find, &e.try
	s.told = s.told || t == e.now
	if s.tries++; ok {
		return true
	}
	if t == e.now {
		s.why = w.refusal
	}
	e.tryAgain(t, s.varies || w.refusal.Rule == topology.RuleShort)
	return false
}

// tryAgain has the nodes that are ready at t tried anew when racks or nodes have more
// to give, and if what each gives matters, when that changes.
func (e *engine) tryAgain(t Time, each bool) {
	s, w := &e.plans.find, &e.try
	next := Never
	if w.uses != nil {
		next = e.nextServed(w.uses, t)
	}
	if each {
		for _, r := range s.ready {
			next = min(next, e.nextChange(r.node, t))
		}
	}
	if next != Never {
		s.push(candidate{at: next, kind: candAlarm})
	}
}

// column stores what node n gives over the limit from t, and reports whether it
// is of use.
func (e *engine) column(n topology.NodeID, t Time, near bool) bool {
	s, w := &e.plans.find, &e.try
	c := s.class
	s.work++
	need := int32(c.min)
	row, plain := e.rowOver(n, t)
	eval := func(pass gres.Pass) gres.NodeFit {
		if plain {
			return e.pool.FitState(c.pool, pass, need, e.stateOver(n, t, t.Add(s.limit)))
		}
		return gres.Evaluate(row, &c.req, pass, int(need), &w.work)
	}
	f := eval(gres.PassAny)
	w.set(n, &f)
	ok := f.Refusal == gres.RefuseNone
	if near {
		f = eval(gres.PassNear)
		setColumn(&w.near, n, &f)
		if f.Refusal == gres.RefuseNone {
			w.fit.Add(n)
			ok = true
		}
	}
	return ok
}
