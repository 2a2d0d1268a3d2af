package scheduler

import (
	"math/bits"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// scratch is the working memory of placement. It is sized when nodes change and
// reused by every try.
type scratch struct {
	names  []string      // of this pass's decisions
	waited time.Duration // of the job at hand, for few switches

	withdrawn bool             // gone holds something
	gone      topology.NodeSet // nodes of blocked partitions and of listed ones waited for
	goneNo    uint64           // number of changes of gone

	within topology.NodeSet // nodes that the try may use
	kept   bool             // within lacks nodes whose jobs may not be beside the job
	mask   topology.NodeSet // of those, the ones without a plan in the way
	fit    topology.NodeSet // nodes that could take the request
	cols   gres.Columns     // what they give when devices need not be near
	near   gres.Columns     // what they give when devices must be near
	weight []int64
	free   []int32           // CPUs that no job uses, for LLN
	alone  *topology.NodeSet // nodes to evaluate one by one, of those not in mask
	cut    bool              // reservations took nodes from within
	later  bool              // the try is for a time to come, by what the pool holds
	inUse  topology.NodeSet  // nodes to take first in such a try
	uses   *licenseUse       // what the job takes of racks and nodes, nil for nothing

	req  topology.Request
	res  topology.Result
	topo topology.Scratch
	work gres.Scratch

	levels   topology.LevelScratch
	levelReq topology.LevelRequest
	levelRes topology.LevelResult
	members  []int32 // that each node could take

	look     look
	needFits []gres.NodeFit // of the required nodes, ascending
	zero     []uint64       // the row of an idle node
	byShape  []shapeFit

	chosen []gres.Chosen
	nodes  []topology.NodeID // what was found, in node order
	grants []gres.Grant      // what is held on each
	row    []uint64
	union  []uint64
	shared []uint64
	barred []uint64
	rows   []uint64 // copies of rows that a Chosen points to
	cores  []uint64 // and of cores

	// What limits say of the record that is tried.
	capNodes int32 // the most nodes; 0 as asked
	prefer   bool  // nodes that the job's owner uses already go first

	features featureTry

	narrow   bool  // within lacks nodes that the class could use
	layer    int   // the row of cores that is tried; -1 the pool's
	rowOrder []int // of placeRows

	refusal topology.Refusal
	apart   gres.Refusal // why the nodes found could not give it together
	found   bool
	hold    bool
}

func (s *scratch) init(nodes int) {
	for _, set := range []*topology.NodeSet{&s.gone, &s.within, &s.mask, &s.fit, &s.inUse} {
		set.Init(nodes)
	}
	s.cols.Size(nodes)
	s.near.Size(nodes)
	s.weight = make([]int64, nodes)
	s.free = make([]int32, nodes)
}

// set stores what a node gives into the relaxed columns.
func (s *scratch) set(n topology.NodeID, f *gres.NodeFit) {
	setColumn(&s.cols, n, f)
	if f.Refusal == gres.RefuseNone {
		s.fit.Add(n)
	} else {
		s.fit.Remove(n)
	}
}

func setColumn(c *gres.Columns, n topology.NodeID, f *gres.NodeFit) {
	c.Forget()
	w, b := n>>6, uint64(1)<<(n&63)
	if f.Refusal != gres.RefuseNone {
		c.Fit[w] &^= b
		c.CPUs[n], c.Devices[n], c.Near[n] = 0, 0, 0
		return
	}
	c.Fit[w] |= b
	c.CPUs[n], c.Near[n] = f.CPUs, f.Near
	c.Devices[n] = int32(f.Devices[0])
}

// tryNow looks for a place for a record at this instant. With plans it keeps
// clear of what they hold while the job would run. What it finds is in the
// scratch, and nothing is booked.
func (e *engine) tryNow(rec record, plans *planner) bool {
	s := &e.try
	s.found, s.hold, s.refusal = false, false, topology.Refusal{}
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	free := plans == nil && !s.withdrawn || plans != nil && plans.live == 0
	limit := e.timeLimit(j, int(rec.pair))
	if f := e.failedBefore(c, rec, limit); f != nil {
		s.refusal = f.refusal
		return false
	}
	c = e.openFit(rec, plans)
	s.found = e.placeReserved(c, limit, plans)
	e.releaseReserved()
	switch {
	case s.found:
	case s.refusal.Rule == topology.RuleSwitches:
		// Time alone lets it start, so it is not remembered as failing.
		j := &e.jobs.rows[rec.row]
		at := j.firstTry.Add(topology.SwitchLimit(c.fit.SwitchWait, e.par.Select.MaxSwitchWait))
		e.nextSwitch = min(e.nextSwitch, at)
	case free && s.capNodes == 0 && s.uses == nil && !s.kept:
		e.rememberFailure(c, rec, limit)
	}
	return s.found
}

// openFit readies the set of nodes that a record may use, beside plans if there
// are any.
func (e *engine) openFit(rec record, plans *planner) *class {
	s := &e.try
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	s.within.Copy(c.nodes)
	if s.withdrawn {
		s.within.AndNot(&s.gone)
	}
	if e.holders > 0 || c.unitsAlone {
		e.keepUnits(c)
	}
	s.layer = -1
	e.keepKinds(c, e.now)
	if s.narrow = e.sharing; e.claiming(j) {
		e.keepOwn(j)
		s.narrow = true
	}
	if s.kept = e.keepApart(&s.within, j, int(rec.pair), e.now); s.kept {
		s.narrow = true
	}
	limit := e.timeLimit(j, int(rec.pair))
	e.keepReserved(rec, e.now, limit)
	if plans != nil && plans.live > 0 {
		e.keepBeside(rec, limit)
	}
	s.waited = 0
	if c.fit.Switches > 0 {
		j.firstTry = min(j.firstTry, e.now)
		s.waited = e.now.Sub(j.firstTry)
	}
	return c
}

// placeOne finds the first node, in order of weight and index, that takes a
// one-node request: first with its devices near its cores, then anywhere (spec:
// topology 2.4).
func (e *engine) placeOne(c *class, limit time.Duration, plans *planner) bool {
	s := &e.try
	if e.cfg.Defects {
		s.look.open(e, c, e.now, limit, plans, false)
		if s.look.placeFirst(&s.within) {
			return true
		}
		s.refusal = oneRefusal(c)
		return false
	}
	p := &e.parts[c.key.part]
	within := s.within.Words()
	if plans == nil && !s.withdrawn && c.all && !s.narrow && e.holders == 0 && !c.unitsAlone && !s.cut {
		within = nil
	}
	planned := e.maskPlans(c, plans, limit)
	if planned {
		within = s.mask.Words()
	}
	s.need(1)
	for pass := c.firstPass; pass <= gres.PassAny; pass++ {
		n := topology.NodeID(e.placeFree(c, pass, p.views, within))
		if s.prefer && n >= 0 {
			n = e.placePreferred(c, pass, p, within, n)
		}
		if planned {
			n = e.onPlanned(c, pass, limit, plans, n)
		}
		if n >= 0 {
			s.nodes = append(s.nodes[:0], n)
			return true
		}
	}
	s.refusal = oneRefusal(c)
	return false
}

// oneRefusal is why a one-node request found no node.
func oneRefusal(c *class) topology.Refusal {
	r := topology.Refusal{Rule: topology.RuleEmpty, Unit: topology.NoUnit}
	if c.list != nil && c.list.Count() == 1 {
		r.Rule = topology.RuleRequired
	}
	return r
}

// maskPlans stores the nodes of within that the pool's states speak for, and
// reports whether any is missing: those that a plan of [now, now+limit) needs,
// and in a partition that limits CPUs of a node, all.
func (e *engine) maskPlans(c *class, plans *planner, limit time.Duration) bool {
	s := &e.try
	if e.byNode(c) {
		s.mask.Clear()
		s.alone = &s.within
		return true
	}
	if plans == nil || plans.live == 0 {
		return false
	}
	s.alone = &plans.nodes
	end := e.now.Add(limit)
	any := false
	s.mask.Copy(&s.within)
	for n := range plans.nodes.All() {
		for _, id := range plans.on[n] {
			if x := &plans.all[id]; x.start < end && x.row != plans.skip {
				s.mask.Remove(n)
				any = true
				break
			}
		}
	}
	return any
}

// onPlanned tries the nodes that maskPlans left out, beside their plans, and
// returns the one to take: it or best, whichever comes first in order of weight
// and index. Its grant is in the scratch.
func (e *engine) onPlanned(c *class, pass gres.Pass, limit time.Duration, plans *planner, best topology.NodeID) topology.NodeID {
	s := &e.try
	s.need(2)
	for n := range s.alone.All() {
		if !s.within.Has(n) || s.mask.Has(n) || !e.up.Has(n) || best >= 0 && !e.before(n, best) {
			continue
		}
		row := e.nodeRow(c, n, e.now, limit)
		f := gres.Evaluate(row, &c.req, pass, 1, &s.work)
		if f.Refusal != gres.RefuseNone {
			continue
		}
		s.chosen = append(s.chosen[:0], gres.Chosen{Node: row, Fit: f})
		var t gres.Taking
		t.Start(&c.req)
		s.chosen[0].CPUs, s.chosen[0].Devices = t.Take(row.Shape, &c.req, &f)
		if t.Enough(&c.req) && gres.Select(s.grants[1:2], s.chosen, &c.req, pass, 1, &s.work) == gres.RefuseNone {
			s.grants[0], s.grants[1] = s.grants[1], s.grants[0]
			best = n
		}
	}
	return best
}

// limited reports whether the partition limits the CPUs of its jobs on a node.
func (p *partition) limited() bool { return p.spec.MaxCPUsPerNode > 0 || p.spec.MaxCPUsPerSocket > 0 }

// nodeRow is node n as a class sees it over [t, t+limit).
func (e *engine) nodeRow(c *class, n topology.NodeID, t Time, limit time.Duration) gres.NodeRow {
	return gres.NodeRow{Shape: e.pool.Shape(int32(n)), Row: e.rowAt(n, t, limit), Limits: e.cpuLimits(c, n, t), Cores: e.rowCores(c, n, t, limit)}
}

// cpuLimits counts the CPUs that jobs of the class's partition use on node n at
// t; nil if the partition limits none. Plans are not counted.
func (e *engine) cpuLimits(c *class, n topology.NodeID, t Time) *gres.CPULimits {
	p := &e.parts[c.key.part]
	if !p.limited() {
		return nil
	}
	sh := e.pool.Shape(int32(n))
	l := &gres.CPULimits{PerNode: p.spec.MaxCPUsPerNode, PerSocket: p.spec.MaxCPUsPerSocket, UsedSocket: make([]int32, sh.Sockets())}
	for _, r := range e.nodes[n].jobs {
		j := &e.jobs.rows[r]
		if j.parts[j.partIdx] != c.key.part || t > e.now && e.expectedEnd(j) <= t {
			continue
		}
		for w, x := range j.grantOn(n).Cores {
			for ; x != 0; x &= x - 1 {
				core := w<<6 | bits.TrailingZeros64(x)
				l.UsedSocket[core/sh.CoresPerSocket()] += int32(sh.Threads())
				l.Used += int32(sh.Threads())
			}
		}
	}
	return l
}

// before orders nodes as one-node requests try them.
func (e *engine) before(a, b topology.NodeID) bool {
	wa, wb := e.weightOf(a), e.weightOf(b)
	return wa < wb || wa == wb && a < b
}

// preferInUse makes a request that plans for later take nodes in use first, so that
// idle ones stay free until then. Slurm: bf_busy_nodes.
func (e *engine) preferInUse(later bool) {
	s := &e.try
	s.req.BusyFirst = later
	s.inUse.Clear()
	for n := range s.fit.All() {
		if later && len(e.nodes[n].jobs) > 0 {
			s.inUse.Add(n)
		}
	}
	s.req.Busy = &s.inUse
}

// need makes room for the grants of n nodes.
func (s *scratch) need(n int) {
	for len(s.grants) < n {
		s.grants = append(s.grants, gres.Grant{})
	}
}

// placeMany fills the columns and asks the topology.
func (e *engine) placeMany(c *class, limit time.Duration, plans *planner) bool {
	e.fillNow(c, limit, plans)
	e.pruneScoped()
	return e.try.look.arrange()
}

// fillNow fills the columns with what the nodes of the try give now.
func (e *engine) fillNow(c *class, limit time.Duration, plans *planner) {
	l := &e.try.look
	l.open(e, c, e.now, limit, plans, false)
	l.columns()
}

// arrange lets the topology choose among the nodes of the columns at t, and
// gres choose what the job gets on each.
func (e *engine) arrange(c *class, t Time, limit time.Duration, plans *planner) bool {
	e.try.look.open(e, c, t, limit, plans, false)
	return e.try.look.arrange()
}

// indexOf finds n in the ascending list nodes.
func indexOf(nodes []topology.NodeID, n topology.NodeID) int {
	lo, hi := 0, len(nodes)
	for lo < hi {
		m := (lo + hi) / 2
		if nodes[m] < n {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// weightOf is the node's configured weight, 1 if unset.
func (e *engine) weightOf(n topology.NodeID) uint32 {
	return max(e.cfg.Nodes[e.nodes[n].spec].Weight, 1)
}

// takeGrants books what the scratch holds for job row r.
func (e *engine) takeGrants(j *job, r int32) {
	j.alloc = copyGrants(j.alloc[:0], e.try.nodes, e.try.grants)
	for i := range j.alloc {
		a := &j.alloc[i]
		e.pool.Take(int32(a.node), &a.grant)
		e.joinNode(a.node, r)
	}
	e.tellPlacer(j, 1)
}

// why is the reason of the last failed try, which was for a class.
func (e *engine) why(class int32) Reason {
	switch e.try.refusal.Rule {
	case topology.RuleNoFit, topology.RuleSegment:
		return ReasonTopology
	case topology.RuleShort:
		if e.try.refusal.Unit != topology.NoUnit {
			return ReasonTopologyInsufficient
		}
	case topology.RuleRequired:
		if c := &e.classes.rows[class]; c.list != nil && !e.up.Contains(c.list) {
			return e.notAvail()
		}
	}
	return ReasonResources
}
