package scheduler

import (
	"math/bits"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A look is how one try sees the nodes, and what it has taken of them. It is the
// [topology.Taker] of the fit: each node is evaluated with what still holds when
// its turn comes, required nodes first and one by one, all others at once with
// what holds after those (see [gres.Taking]).
type look struct {
	e     *engine
	c     *class
	t     Time // when
	limit time.Duration
	plans *planner
	idle  bool              // as if every node were idle and up
	only  *topology.NodeSet // the nodes for that; nil is all of the class

	strict, relaxed after // by pass: what the others are evaluated with

	taking gres.Taking
	pass   gres.Pass
	taken  []taken // since the try began, in order
}

// An after is what holds when nodes are evaluated.
type after struct {
	need    int32 // nodes still required
	granted [gres.MaxNeeds]int64
}

// A taken is a node that a try took.
type taken struct {
	node    topology.NodeID
	fit     gres.NodeFit
	at      after
	cpus    int32
	devices [gres.MaxNeeds]uint16
}

// open readies the look for a class at t.
func (l *look) open(e *engine, c *class, t Time, limit time.Duration, plans *planner, idle bool) {
	l.e, l.c, l.t, l.limit, l.plans, l.idle, l.only = e, c, t, limit, plans, idle, nil
	l.strict = after{need: max(c.min, 1)}
	l.relaxed = l.strict
	l.taken = l.taken[:0]
}

// two reports whether the fit has a first pass in which devices must be near.
func (l *look) two() bool {
	return l.c.firstPass == gres.PassNear && (l.idle || l.t == l.e.now)
}

// passOf is what gres calls a pass of the fit.
func (l *look) passOf(relaxed bool) gres.Pass {
	p := gres.PassAny
	if !relaxed && l.two() {
		p = gres.PassNear
	}
	if l.idle {
		p |= gres.PassEver
	}
	return p
}

// others is what nodes that are not required are evaluated with in a pass.
func (l *look) others(pass gres.Pass) *after {
	if pass&gres.PassAny == 0 {
		return &l.strict
	}
	return &l.relaxed
}

// fit evaluates a node as the try sees it.
func (l *look) fit(n topology.NodeID, pass gres.Pass, a *after) gres.NodeFit {
	e, s := l.e, &l.e.try
	if !l.idle && l.t == e.now && !e.plans.searching && (l.plans == nil || !l.plans.nodes.Has(n)) && !e.byNode(l.c) {
		return e.pool.FitAfter(l.c.pool, pass, a.need, &a.granted, int32(n))
	}
	return gres.EvaluateAfter(l.row(n), &l.c.req, pass, int(a.need), &a.granted, &s.work)
}

// row is a node as the try sees it, valid until the next call.
func (l *look) row(n topology.NodeID) gres.NodeRow {
	e, s := l.e, &l.e.try
	switch {
	case l.idle:
	case l.t == e.now && (l.plans == nil || !l.plans.nodes.Has(n)):
		// Plans that this try does not look at take nothing from it.
		return gres.NodeRow{Shape: e.pool.Shape(int32(n)), Row: e.pool.Row(int32(n)), Limits: e.cpuLimits(l.c, n, l.t), Cores: e.rowCores(l.c, n, l.t, l.limit)}
	default:
		return e.nodeRow(l.c, n, l.t, l.limit)
	}
	sh := e.pool.Shape(int32(n))
	for len(s.zero) < sh.RowLen() {
		s.zero = append(s.zero, 0)
	}
	return gres.NodeRow{Shape: sh, Row: s.zero[:sh.RowLen()], Limits: e.idleLimits(l.c)}
}

// Begin implements [topology.Taker].
func (l *look) Begin(relaxed bool) {
	l.taking.Start(&l.c.req)
	l.taken = l.taken[:0]
	l.pass = l.passOf(relaxed)
}

// Take implements [topology.Taker].
func (l *look) Take(n topology.NodeID, budget int32, _ bool) (cpus, gpus int32, ok bool) {
	x := taken{node: n, at: *l.others(l.pass)}
	if l.c.inTurn || l.c.required != nil && l.c.required.Has(n) {
		x.at = after{max(l.taking.Nodes, 1), l.taking.Granted}
	}
	x.fit = l.fit(n, l.pass, &x.at)
	if x.fit.Refusal != gres.RefuseNone {
		return 0, 0, false
	}
	left := l.wanted()
	x.cpus, x.devices = l.taking.Take(l.e.pool.Shape(int32(n)), &l.c.req, &x.fit)
	if l.c.parted {
		// Each part has a budget of its own.
		if most := max(budget, x.fit.MinCPUs); x.cpus > most {
			l.taking.CPUs += x.cpus - most
			l.taking.Budget += x.cpus - most
			x.cpus = most
		}
	}
	l.taken = append(l.taken, x)
	return x.cpus, int32(left - l.wanted()), true
}

// wanted is the number of devices counted over the job that are still wanted.
func (l *look) wanted() int64 {
	var n int64
	for i := range l.c.req.Needs[:l.c.req.NumNeeds] {
		n += max(l.c.req.Needs[i].PerJob-l.taking.Granted[i], 0)
	}
	return n
}

// takeRequired evaluates the required nodes one by one, each after those before
// it, stores what they give in s.needFits, and sets what the others are
// evaluated with. Required nodes that are not there end it.
func (l *look) takeRequired(pass gres.Pass) {
	s, c := &l.e.try, l.c
	s.needFits = s.needFits[:0]
	if c.required == nil {
		return
	}
	var t gres.Taking
	t.Start(&c.req)
	for n := range c.required.All() {
		if l.idle && !l.idleNodes().Has(n) || !l.idle && (!s.within.Has(n) || !l.e.up.Has(n)) {
			break
		}
		f := l.fit(n, pass, &after{max(t.Nodes, 1), t.Granted})
		s.needFits = append(s.needFits, f)
		if f.Refusal != gres.RefuseNone {
			break
		}
		t.Take(l.e.pool.Shape(int32(n)), &c.req, &f)
	}
	*l.others(pass) = after{max(t.Nodes, 1), t.Granted}
}

// fill stores in dst what each node gives in a pass.
func (l *look) fill(dst *gres.Columns, pass gres.Pass) {
	e, s := l.e, &l.e.try
	l.takeRequired(pass)
	a := l.others(pass)
	if l.idle {
		l.fillIdle(dst, pass, a)
	} else {
		planned := e.maskPlans(l.c, l.plans, l.limit)
		e.pool.FillAfter(dst, l.c.pool, pass, a.need, &a.granted, s.within.Words())
		if planned {
			for n := range s.alone.All() {
				if !s.within.Has(n) || s.mask.Has(n) || !e.up.Has(n) {
					continue
				}
				f := l.fit(n, pass, a)
				setColumn(dst, n, &f)
			}
		}
	}
	if len(s.needFits) > 0 {
		i := 0
		for n := range l.c.required.All() {
			if i == len(s.needFits) {
				break
			}
			setColumn(dst, n, &s.needFits[i])
			i++
		}
	}
}

// idleNodes are the nodes that are looked at as if idle.
func (l *look) idleNodes() *topology.NodeSet {
	if l.only != nil {
		return l.only
	}
	return l.c.nodes
}

// A shapeFit is what an idle node of a shape gives, if that is known.
type shapeFit struct {
	known bool
	fit   gres.NodeFit
}

// fillIdle is fill for idle nodes: each shape is evaluated once.
func (l *look) fillIdle(dst *gres.Columns, pass gres.Pass, a *after) {
	e, s := l.e, &l.e.try
	dst.Empty()
	s.byShape = append(s.byShape[:0], make([]shapeFit, e.pool.NumShapes())...)
	for n := range l.idleNodes().All() {
		v := &s.byShape[e.pool.ShapeID(int32(n))]
		if !v.known {
			*v = shapeFit{true, l.fit(n, pass, a)}
		}
		setColumn(dst, n, &v.fit)
	}
}

// columns stores what each node gives in both passes.
func (l *look) columns() {
	s := &l.e.try
	l.fill(&s.cols, l.passOf(true))
	copy(s.fit.Words(), s.cols.Fit)
	if l.two() {
		l.fill(&s.near, l.passOf(false))
		// Nodes that fit in the first pass alone are offered too; their relaxed
		// column is what the second pass says.
		for w := range s.near.Fit {
			for x := s.near.Fit[w] &^ s.fit.Words()[w]; x != 0; x &= x - 1 {
				n := w<<6 | bits.TrailingZeros64(x)
				s.cols.CPUs[n], s.cols.Devices[n] = 0, 0
			}
			for x := s.fit.Words()[w] &^ s.near.Fit[w]; x != 0; x &= x - 1 {
				n := w<<6 | bits.TrailingZeros64(x)
				s.near.CPUs[n], s.near.Devices[n] = 0, 0
			}
			s.fit.Words()[w] |= s.near.Fit[w]
		}
	}
	if l.idle && l.c.one && l.e.cfg.Defects {
		s.fit.Copy(l.idleNodes()) // placeFirst evaluates by itself
	}
}

// arrange lets the topology choose among the nodes of the columns, and gres
// choose what the job gets on each; with idle nodes the choice is enough.
func (l *look) arrange() bool {
	e, s, c := l.e, &l.e.try, l.c
	l.request()
	s.apart = gres.RefuseNone
	if !e.fitTopology(c) {
		s.refusal = s.res.Refusal
		return false
	}
	s.nodes = append(s.nodes[:0], s.res.Nodes...)
	pass := l.passOf(s.res.Relaxed)
	l.choose(pass)
	if l.idle && e.cfg.Defects {
		return true
	}
	s.need(len(s.nodes))
	why := gres.Select(s.grants[:len(s.nodes)], s.chosen, &c.req, pass, int(c.min), &s.work)
	s.hold = why == gres.RefuseHold
	if why != gres.RefuseNone {
		s.refusal = topology.Refusal{Rule: topology.RuleShort, Unit: topology.NoUnit}
		s.apart = why
	}
	return why == gres.RefuseNone
}

// request makes the topology request from the columns.
func (l *look) request() {
	e, s, c := l.e, &l.e.try, l.c
	s.req = c.fit
	if c.follow {
		s.req.Take = l
	}
	if s.capNodes > 0 {
		s.req.Want, s.req.Max = min(s.req.Want, s.capNodes), s.capNodes
	}
	s.req.Eligible = &s.fit
	if c.fit.BusyFirst {
		e.preferInUse(s.later || l.t > e.now && !l.idle)
	}
	s.req.List = c.list
	s.req.MaxSwitchWait, s.req.Waited = e.par.Select.MaxSwitchWait, s.waited
	gpus := c.fit.GPUs > 0
	if l.two() {
		s.req.CPUs, s.req.RelaxedCPUs = s.near.CPUs, s.cols.CPUs
		s.req.MostCPUs, s.req.MostRelaxedCPUs = s.near.MostCPUs, s.cols.MostCPUs
		if gpus {
			s.req.NodeGPUs, s.req.RelaxedGPUs = s.near.Devices, s.cols.Devices
			s.req.MostGPUs, s.req.MostRelaxedGPUs = s.near.MostDevices, s.cols.MostDevices
		}
	} else {
		s.req.CPUs, s.req.MostCPUs = s.cols.CPUs, s.cols.MostCPUs
		if gpus {
			s.req.NodeGPUs, s.req.MostGPUs = s.cols.Devices, s.cols.MostDevices
		}
		s.req.Sifted = true
	}
	if c.fit.LLN {
		for n := range s.fit.All() {
			s.free[n] = e.totalCPUs[n]
			if l.t == e.now && !l.idle {
				s.free[n] = int32(e.pool.Shape(int32(n)).FreeMilliCPU(e.pool.Row(int32(n))) / 1000)
			}
		}
		s.req.FreeCPUs = s.free
	}
	s.req.Weights = nil
	if e.weighted || c.wantsGPU || s.prefer || s.features.better != nil || e.resv.inside != nil {
		for n := range s.fit.All() {
			near := int32(0)
			if c.wantsGPU {
				near = int32(s.cols.Near[n])
				if s.req.RelaxedCPUs != nil {
					near = max(near, int32(s.near.Near[n]))
				}
			}
			s.weight[n] = topology.Weight(e.besideResv(n), e.weightFor(n), near)
		}
		s.req.Weights = s.weight
	}
}

// choose fills s.chosen for the nodes of the result: each as the try sees it,
// with the share of CPUs and devices that fell to it.
func (l *look) choose(pass gres.Pass) {
	e, s, c := l.e, &l.e.try, l.c
	l.chooseRows()
	if s.req.Take != nil {
		for i := range l.taken {
			k := &l.taken[i]
			x := &s.chosen[indexOf(s.nodes, k.node)]
			x.Fit, x.CPUs, x.Devices = k.fit, k.cpus, k.devices
			x.Need, x.Before = k.at.need, k.at.granted
		}
		return
	}
	var take gres.Taking
	take.Start(&c.req)
	l.chooseFits(pass)
	for k, n := range s.res.Order {
		if k >= len(s.nodes) || s.nodes[k] != n { // mostly they are taken in node order
			k = indexOf(s.nodes, n)
		}
		x := &s.chosen[k]
		x.CPUs, x.Devices = take.Take(x.Node.Shape, &c.req, &x.Fit)
	}
	if c.levels != nil && c.levels.taskCPUs > 0 {
		e.shareMembers(c)
	}
	if c.parted && len(s.res.Part) > 0 {
		for i := range s.chosen {
			s.chosen[i].CPUs = s.res.CPUs[i]
		}
	}
}

// chooseRows sets the nodes of s.chosen, each as the try sees it.
func (l *look) chooseRows() {
	e, s := l.e, &l.e.try
	s.chosen, s.rows = s.chosen[:0], s.rows[:0]
	if l.plans == nil && (l.idle || l.t == e.now) {
		for _, n := range s.nodes { // their rows last as long as the pool does not change
			s.chosen = append(s.chosen, gres.Chosen{Node: l.row(n)})
			l.keepCores()
		}
		return
	}
	for _, n := range s.nodes {
		s.rows = append(s.rows, l.row(n).Row...)
	}
	at := 0
	for _, n := range s.nodes {
		sh := e.pool.Shape(int32(n))
		x := gres.Chosen{Node: l.row(n)}
		x.Node.Row = s.rows[at : at+sh.RowLen()]
		at += sh.RowLen()
		s.chosen = append(s.chosen, x)
		l.keepCores()
	}
}

// keepCores copies the cores that the last node of s.chosen must keep off, which the
// next node's take the place of.
func (l *look) keepCores() {
	s := &l.e.try
	x := &s.chosen[len(s.chosen)-1].Node
	if len(s.chosen) == 1 {
		s.cores = s.cores[:0]
	}
	if x.Cores != nil {
		at := len(s.cores)
		s.cores = append(s.cores, x.Cores...)
		x.Cores = s.cores[at:len(s.cores):len(s.cores)]
	}
}

// chooseFits sets what each node of s.chosen gives in a pass; nodes in one state
// give the same.
func (l *look) chooseFits(pass gres.Pass) {
	s, a := &l.e.try, l.others(pass)
	pooled := l.pooled()
	for i, n := range s.nodes {
		if pooled && i > 0 && l.e.pool.StateOf(int32(n)) == l.e.pool.StateOf(int32(s.nodes[i-1])) {
			s.chosen[i].Fit = s.chosen[i-1].Fit
			continue
		}
		s.chosen[i].Fit = l.fit(n, pass, a)
	}
}

// pooled reports whether the pool's states say what every node gives.
func (l *look) pooled() bool {
	return !l.idle && l.t == l.e.now && !l.e.plans.searching && l.plans == nil && !l.e.byNode(l.c)
}

// placeFirst is the one-node path of Slurm with its defects: nodes are looked at
// in order of weight and index, what they give of devices counted over the job
// adds up over those that are not taken, and the first that seems to do is taken
// though its cores and devices may not go together (spec: gres 9 and 11.1). With
// idle nodes nothing is selected.
func (l *look) placeFirst(within *topology.NodeSet) bool {
	e, s, c := l.e, &l.e.try, l.c
	s.nodes = within.AppendIDs(s.nodes[:0])
	if !l.idle {
		s.nodes = slices.DeleteFunc(s.nodes, func(n topology.NodeID) bool { return !e.up.Has(n) })
	}
	slices.SortStableFunc(s.nodes, func(a, b topology.NodeID) int { return int(e.weightFor(a)) - int(e.weightFor(b)) })
	order := s.nodes
	for _, relaxed := range [...]bool{false, true} {
		pass := l.passOf(relaxed)
		n := l.firstOf(order, pass)
		if n == topology.NoNode {
			continue
		}
		s.nodes = append(s.nodes[:0], n)
		if l.idle {
			return true
		}
		s.need(1)
		why := gres.Select(s.grants[:1], s.chosen, &c.req, pass, 1, &s.work)
		s.hold = why == gres.RefuseHold
		return why == gres.RefuseNone
	}
	return false
}

// firstOf returns the node that placeFirst takes in a pass, with what it gives in
// s.chosen.
func (l *look) firstOf(order []topology.NodeID, pass gres.Pass) topology.NodeID {
	s, r := &l.e.try, &l.c.req
	var at after
	at.need = 1
	for _, n := range order {
		row := l.row(n)
		f := gres.EvaluateAfter(row, r, pass, 1, &at.granted, &s.work)
		if f.Refusal != gres.RefuseNone {
			continue
		}
		var t gres.Taking
		t.Start(r)
		t.Granted = at.granted
		x := gres.Chosen{Node: row, Fit: f, Before: at.granted}
		x.CPUs, x.Devices = t.Take(row.Shape, r, &f)
		switch {
		case t.CPUs > 0:
		case t.Enough(r), r.Has(gres.WholeNode):
			s.chosen = append(s.chosen[:0], x)
			return n
		default:
			at.granted = t.Granted
		}
	}
	return topology.NoNode
}
