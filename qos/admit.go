package qos

import (
	"math"
	"time"

	"github.com/berth-sched/berth/gres"
)

// CheckEligible makes the cheap checks before nodes are searched: numbers of
// running jobs, wall time and fair share. A job that fails is not tried on
// nodes. It does not allocate.
//
// Source: spec/qos.md 4.1.
func (l *Ledger) CheckEligible(j *Job) Verdict {
	if l.enforce&EnforceLimits == 0 {
		return Verdict{}
	}
	var p probe
	p.begin(l, j, BeforeNodes)
	p.eligible()
	return p.first
}

// Admit makes the checks of a job whose allocation is known; only with them it
// may be charged and start. It does not look at what CheckEligible looks at.
// It does not allocate.
//
// Source: spec/qos.md 4.3.
func (l *Ledger) Admit(j *Job) Verdict {
	if l.enforce&EnforceLimits == 0 {
		return Verdict{}
	}
	var p probe
	p.begin(l, j, AfterNodes)
	p.admit()
	return p.first
}

// AppendVerdicts appends every limit in the way of a job, in the order in which
// they are looked at, of the given phase: AtSubmit, BeforeNodes or AfterNodes.
func (l *Ledger) AppendVerdicts(dst []Verdict, j *Job, phase Phase) []Verdict {
	if l.enforce&EnforceLimits == 0 {
		return dst
	}
	p := probe{all: true, list: dst}
	p.begin(l, j, phase)
	switch phase {
	case AtSubmit:
		p.submit()
	case BeforeNodes:
		p.eligible()
	case AfterNodes:
		p.admit()
	}
	return p.list
}

func (p *probe) eligible() bool {
	for i := range p.id {
		if p.id[i] == 0 {
			continue
		}
		o := p.ownerQOS(i)
		if p.threshold(&o) || p.running(&o, GrpJobs, GrpJobs, NoLimit) || p.groupWall(&o) {
			return true
		}
		if u, ok := p.of(o, true); ok && p.running(&u, MaxJobsPerAccount, MaxJobsPerAccount, NoLimit) {
			return true
		}
		if u, ok := p.of(o, false); ok && p.running(&u, MaxJobsPerUser, MaxJobsPerUser, NoLimit) {
			return true
		}
		if p.maxWall(&o) {
			return true
		}
	}
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		o := p.ownerAssoc(id)
		if o.set != unset && (p.running(&o, GrpJobs, GrpJobs, NoLimit) || p.groupWall(&o)) {
			return true
		}
		if o, ok := p.leaf(o, id); ok &&
			(p.running(&o, MaxJobs, MaxJobsPerUser, MaxJobsPerAccount) || p.maxWall(&o)) {
			return true
		}
	}
	return false
}

// leaf returns the job's own association with the limits handed down to it; ok
// is false if id is another one or nothing is handed down.
func (p *probe) leaf(o owner, id AssocID) (owner, bool) {
	o.set = p.l.assocs[id].eff
	return o, id == p.j.Assoc && o.set != nil
}

// running checks a limit on running jobs.
func (p *probe) running(o *owner, m, by, alias Limit) bool {
	return p.count(o, m, by, alias, p.l.books.rows[o.row].running, 1)
}

// threshold checks the fair-share factor against a QOS.
func (p *probe) threshold(o *owner) bool {
	if p.l.qos[o.obj.ID].attr.Flags&EnforceUsageThreshold == 0 {
		return false
	}
	n, ok := o.number(UsageThreshold, UsageThreshold, NoLimit)
	has := int64(math.Floor(p.j.Fairshare * 1e6))
	if !ok || has >= n {
		return false
	}
	return p.fail(Verdict{Limit: UsageThreshold, Object: o.obj, Max: n, Asked: has, Short: n - has}, o.side, 0)
}

// groupWall checks the wall time used by a group; if safe, with the job's own.
func (p *probe) groupWall(o *owner) bool {
	n, ok := o.number(GrpWall, GrpWall, NoLimit)
	if !ok {
		return false
	}
	used := p.l.books.minutes(o.row, p.l.kinds+1)
	asked := int64(1)
	if p.l.enforce&EnforceSafe != 0 && !p.j.AdminLimit {
		asked = max(minutesOf(p.sec), 1)
	}
	if used < n && (asked == 1 || used+asked <= n) {
		return false
	}
	return p.fail(Verdict{Limit: GrpWall, Object: o.obj, Max: n, Used: used, Asked: asked,
		Short: max(used+asked-n, 1)}, o.side, 0)
}

// maxWall checks the job's time limit.
func (p *probe) maxWall(o *owner) bool {
	n, ok := o.number(MaxWall, MaxWall, NoLimit)
	if !ok || p.j.AdminLimit || p.sec <= gres.SatMul(n, 60) {
		return false
	}
	return p.fail(Verdict{Limit: MaxWall, Object: o.obj, Max: n, Asked: minutesOf(p.sec),
		Short: minutesOf(p.sec - n*60), Reject: p.phase == AtSubmit}, o.side, 0)
}

func (p *probe) admit() bool {
	for i := range p.id {
		if p.q[i].famSet == 0 {
			continue
		}
		o := p.ownerQOS(i)
		if p.tres(&o, GrpTRESMins, slotHistory) || p.tres(&o, GrpTRES, slotUse) || p.tres(&o, GrpTRESRunMins, slotRun) ||
			p.tres(&o, MaxTRESMinsPerJob, slotJobMinutes) || p.tres(&o, MaxTRESPerJob, slotJob) ||
			p.tres(&o, MaxTRESPerNode, slotNode) || p.tres(&o, MinTRESPerJob, slotLeast) {
			return true
		}
		if o.set.famSet&perUserOrAccount == 0 {
			continue
		}
		acct, hasAcct := p.of(o, true)
		user, hasUser := p.of(o, false)
		if hasAcct && p.tres(&acct, MaxTRESPerAccount, slotUse) || hasUser && p.tres(&user, MaxTRESPerUser, slotUse) ||
			hasAcct && p.tres(&acct, MaxTRESRunMinsPerAccount, slotRun) || hasUser && p.tres(&user, MaxTRESRunMinsPerUser, slotRun) {
			return true
		}
	}
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		if a := &p.l.assocs[id]; a.own == nil && id != p.j.Assoc {
			continue
		}
		o := p.ownerAssoc(id)
		if p.tres(&o, GrpTRESMins, slotHistory) || p.tres(&o, GrpTRES, slotUse) || p.tres(&o, GrpTRESRunMins, slotRun) {
			return true
		}
		if o, ok := p.leaf(o, id); ok && (p.tres(&o, MaxTRESMinsPerJob, slotJobMinutes) ||
			p.tres(&o, MaxTRESPerJob, slotJob) || p.tres(&o, MaxTRESPerNode, slotNode)) {
			return true
		}
	}
	return false
}

const perUserOrAccount = 1<<(MaxTRESPerUser-1) | 1<<(MaxTRESPerAccount-1) |
	1<<(MaxTRESRunMinsPerUser-1) | 1<<(MaxTRESRunMinsPerAccount-1)

// NodeCap returns the largest number of nodes that limits leave to a job,
// gres.Unlimited if none speaks of nodes, and a Verdict against the job if it
// needs at least more than that; the number in TRES[gres.Node] is its least.
// eligible says which nodes it could get, as words of a set: a node that an
// owner uses already costs that owner nothing; nil stands for all. It does not
// allocate.
//
// Source: spec/qos.md 4.2.
func (l *Ledger) NodeCap(j *Job, eligible []uint64) (int64, Verdict) {
	if l.enforce&EnforceLimits == 0 {
		return gres.Unlimited, Verdict{}
	}
	c := nodeCap{most: gres.Unlimited, eligible: eligible}
	c.p.begin(l, j, BeforeNodes)
	if c.p.adminSet(gres.Node) {
		return gres.Unlimited, Verdict{}
	}
	for i, id := range c.p.id {
		if id == 0 {
			continue
		}
		o := c.p.ownerQOS(i)
		c.lower(&o, MaxTRESPerJob, false)
		if u, ok := c.p.of(o, false); ok {
			c.lower(&u, MaxTRESPerUser, true)
		}
		if u, ok := c.p.of(o, true); ok {
			c.lower(&u, MaxTRESPerAccount, true)
		}
		c.lower(&o, GrpTRES, true)
	}
	for id := j.Assoc; id != 0; id = l.assocs[id].parent {
		o := c.p.ownerAssoc(id)
		if o, ok := c.p.leaf(o, id); ok {
			c.lower(&o, MaxTRESPerJob, false)
		}
		c.lower(&o, GrpTRES, true)
	}
	return c.most, c.p.first
}

type nodeCap struct {
	p        probe
	eligible []uint64
	most     int64
}

// lower brings the cap down to what one limit leaves.
func (c *nodeCap) lower(o *owner, m Limit, shared bool) {
	limit, ok := o.set.slot(m, gres.Node)
	if !ok {
		return
	}
	for _, s := range o.mask {
		if s == nil {
			continue
		}
		if _, masked := s.slot(m, gres.Node); masked {
			return
		}
	}
	limit = o.times(limit)
	left, used := limit, int64(0)
	b := &c.p.l.books
	if refs := b.rows[o.row].refs; shared && refs != 0 {
		t := &b.refs[refs-1]
		used = int64(t.n)
		left = min(limit, limit-used+t.within(c.eligible))
	}
	need := c.p.j.TRES[gres.Node]
	if need > left && c.p.first.OK() {
		c.p.fail(Verdict{Limit: m, Kind: gres.Node, Object: o.obj, Max: limit, Used: used, Asked: need,
			Short: need - left}, o.side, classNode)
	}
	c.most = min(c.most, max(left, need))
}

// within returns how many nodes of t are in a set of nodes; nil is all.
func (t *nodeCounts) within(words []uint64) int64 {
	if words == nil {
		return int64(t.n)
	}
	n := int64(0)
	for _, id := range t.node {
		if id >= 0 && int(id>>6) < len(words) {
			n += int64(words[id>>6] >> (id & 63) & 1)
		}
	}
	return n
}

// NodesInUse adds to a set of nodes, given as words, those that an owner of a
// limit on nodes in the way of j uses already, and reports whether there is
// such a limit. Selection prefers these nodes: they cost the owner nothing. It
// panics if a node is outside the set, and does not allocate.
//
// Source: spec/qos.md 1.2.
func (l *Ledger) NodesInUse(dst []uint64, j *Job) bool {
	found := false
	add := func(r int32) {
		if refs := l.books.rows[r].refs; refs != 0 {
			found = true
			for _, id := range l.books.refs[refs-1].node {
				if id >= 0 {
					dst[id>>6] |= 1 << (id & 63)
				}
			}
		}
	}
	for _, q := range j.both() {
		if q == 0 {
			continue
		}
		add(l.qos[q].row)
		if j.Assoc != 0 {
			a := &l.assocs[j.Assoc]
			add(l.books.pairs.get(pairKey(q, int32(a.user), false)))
			add(l.books.pairs.get(pairKey(q, int32(a.account), true)))
		}
	}
	for id := j.Assoc; id != 0; id = l.assocs[id].parent {
		add(l.assocs[id].row)
	}
	return found
}

// Overrun reports whether a running job has to end, after elapsed, because a
// limit on history is used up: GrpTRESMins or GrpWall of an owner, or its own
// MaxTRESMins. Such jobs end in state TIMEOUT. With "safe" enforced none does,
// as none started that could not finish. No other limit ever ends a job. It
// does not allocate, and panics if id is not charged.
//
// Source: spec/qos.md 4.6.
func (l *Ledger) Overrun(id ChargeID, elapsed time.Duration) Verdict {
	c := l.charged(id)
	if l.enforce&EnforceLimits == 0 || l.enforce&EnforceSafe != 0 {
		return Verdict{}
	}
	j := Job{Assoc: c.assoc, QOS: c.qos[0], PartQOS: c.qos[1], TRES: l.books.held(id), Limit: elapsed}
	var p probe
	p.begin(l, &j, WhileRuns)
	p.overrun(int64(elapsed / time.Minute))
	return p.first
}

func (p *probe) overrun(minutes int64) bool {
	p.sec = minutes * 60
	for i, id := range p.id {
		if id == 0 {
			continue
		}
		o := p.ownerQOS(i)
		if p.tres(&o, GrpTRESMins, slotHistory) || p.groupWall(&o) || p.tres(&o, MaxTRESMinsPerJob, slotElapsed) {
			return true
		}
	}
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		o := p.ownerAssoc(id)
		if p.tres(&o, GrpTRESMins, slotHistory) || p.groupWall(&o) {
			return true
		}
		if o, ok := p.leaf(o, id); ok && p.tres(&o, MaxTRESMinsPerJob, slotElapsed) {
			return true
		}
	}
	return false
}

// slotElapsed checks what a running job used: elapsed minutes · amount + 1 > limit.
func slotElapsed(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
	used := gres.SatMul(p.j.TRES[k], p.sec/60)
	if p.j.TRES[k] == 0 || used < limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: used, Asked: 1,
		Short: used + 1 - limit}, o.side, p.l.classes[k])
}
