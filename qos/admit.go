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
	p := probeFor(l, j, BeforeNodes)
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
	p := probeFor(l, j, AfterNodes)
	p.admit()
	return p.first
}

// AppendVerdicts appends every limit in the way of a job, in the order in which
// they are looked at, of the given phase: AtSubmit, BeforeNodes or AfterNodes.
func (l *Ledger) AppendVerdicts(dst []Verdict, j *Job, phase Phase) []Verdict {
	if l.enforce&EnforceLimits == 0 {
		return dst
	}
	p := probeFor(l, j, phase)
	p.list = &dst
	switch phase {
	case AtSubmit:
		p.submit()
	case BeforeNodes:
		p.eligible()
	case AfterNodes:
		p.admit()
	}
	return dst
}

func (p *probe) eligible() bool {
	var o owner
	for i := range p.id {
		if p.id[i] == 0 || p.l.qos[p.id[i]].eff.set == 0 {
			continue
		}
		p.toQOS(&o, i)
		if p.threshold(&o) || p.running(&o, GrpJobs, 1<<GrpJobs) || p.groupWall(&o) ||
			o.set.has(MaxJobsPerAccount) && p.toPair(&o, true) && p.running(&o, MaxJobsPerAccount, 1<<MaxJobsPerAccount) ||
			o.set.has(MaxJobsPerUser) && p.toPair(&o, false) && p.running(&o, MaxJobsPerUser, 1<<MaxJobsPerUser) {
			return true
		}
		p.toQOS(&o, i)
		if p.maxWall(&o) {
			return true
		}
	}
	o = p.association()
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		if p.toGroup(&o, id) && o.set.set != 0 && (p.running(&o, GrpJobs, 1<<GrpJobs) || p.groupWall(&o)) {
			return true
		}
		if p.toLeaf(&o, id) && o.set.set != 0 &&
			(p.running(&o, MaxJobs, 1<<MaxJobsPerUser|1<<MaxJobsPerAccount) || p.maxWall(&o)) {
			return true
		}
	}
	return false
}

// running checks a limit on running jobs.
func (p *probe) running(o *owner, m Limit, by uint32) bool {
	return p.count(o, m, by, p.l.books.rows[o.row].running, 1)
}

// threshold checks the fair-share factor against a QOS.
func (p *probe) threshold(o *owner) bool {
	if p.l.qos[o.obj.ID].attr.Flags&EnforceUsageThreshold == 0 {
		return false
	}
	n, ok := o.number(UsageThreshold, 1<<UsageThreshold)
	has := int64(math.Floor(p.j.Fairshare * 1e6))
	if !ok || has >= n {
		return false
	}
	return p.fail(Verdict{Limit: UsageThreshold, Object: o.obj, Max: n, Asked: has, Short: n - has}, o.side, 0)
}

// groupWall checks the wall time used by a group; if safe, with the job's own.
func (p *probe) groupWall(o *owner) bool {
	n, ok := o.number(GrpWall, 1<<GrpWall)
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
	n, ok := o.number(MaxWall, 1<<MaxWall)
	if !ok || p.j.AdminLimit || p.sec <= gres.SatMul(n, 60) {
		return false
	}
	return p.fail(Verdict{Limit: MaxWall, Object: o.obj, Max: n, Asked: minutesOf(p.sec),
		Short: minutesOf(p.sec - n*60), Reject: p.phase == AtSubmit}, o.side, 0)
}

func (p *probe) admit() bool {
	var o owner
	for i := range p.id {
		fs := p.l.qos[p.id[i]].eff.famSet
		if fs == 0 {
			continue
		}
		p.toQOS(&o, i)
		if fs&^perUserOrAccount != 0 && (p.tres(&o, GrpTRESMins, byHistory) || p.tres(&o, GrpTRES, byUse) ||
			p.tres(&o, GrpTRESRunMins, byRun) || p.tres(&o, MaxTRESMinsPerJob, byJobMinutes) ||
			p.tres(&o, MaxTRESPerJob, byJob) || p.tres(&o, MaxTRESPerNode, byNode) || p.tres(&o, MinTRESPerJob, byLeast)) {
			return true
		}
		if fs&perUserOrAccount != 0 && (p.pair(&o, MaxTRESPerAccount, true, byUse) || p.pair(&o, MaxTRESPerUser, false, byUse) ||
			p.pair(&o, MaxTRESRunMinsPerAccount, true, byRun) || p.pair(&o, MaxTRESRunMinsPerUser, false, byRun)) {
			return true
		}
	}
	o = p.association()
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		if p.toGroup(&o, id) && o.set.famSet&groupFamilies != 0 && (p.tres(&o, GrpTRESMins, byHistory) ||
			p.tres(&o, GrpTRES, byUse) || p.tres(&o, GrpTRESRunMins, byRun)) {
			return true
		}
		if p.toLeaf(&o, id) && o.set.famSet != 0 && (p.tres(&o, MaxTRESMinsPerJob, byJobMinutes) ||
			p.tres(&o, MaxTRESPerJob, byJob) || p.tres(&o, MaxTRESPerNode, byNode)) {
			return true
		}
	}
	return false
}

// pair checks a limit of a QOS on one user or one account.
func (p *probe) pair(o *owner, m Limit, account bool, h how) bool {
	return o.set.famSet>>m.family()&1 != 0 && p.toPair(o, account) && p.slots(o, m, h)
}

const (
	groupFamilies    = 1<<(GrpTRES-1) | 1<<(GrpTRESMins-1) | 1<<(GrpTRESRunMins-1)
	perUserOrAccount = 1<<(MaxTRESPerUser-1) | 1<<(MaxTRESPerAccount-1) |
		1<<(MaxTRESRunMinsPerUser-1) | 1<<(MaxTRESRunMinsPerAccount-1)
)

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
	c := nodeCap{p: probeFor(l, j, BeforeNodes), most: gres.Unlimited, eligible: eligible}
	if c.p.adminSet(gres.Node) {
		return gres.Unlimited, Verdict{}
	}
	var o owner
	for i, id := range c.p.id {
		if id == 0 {
			continue
		}
		c.p.toQOS(&o, i)
		c.lower(&o, MaxTRESPerJob, false)
		if c.p.toPair(&o, false) {
			c.lower(&o, MaxTRESPerUser, true)
		}
		if c.p.toPair(&o, true) {
			c.lower(&o, MaxTRESPerAccount, true)
		}
		c.p.toQOS(&o, i)
		c.lower(&o, GrpTRES, true)
	}
	o = c.p.association()
	for id := j.Assoc; id != 0; id = l.assocs[id].parent {
		if c.p.toLeaf(&o, id) {
			c.lower(&o, MaxTRESPerJob, false)
		}
		if c.p.toGroup(&o, id) {
			c.lower(&o, GrpTRES, true)
		}
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
	p := probeFor(l, &j, WhileRuns)
	p.overrun(int64(elapsed / time.Minute))
	return p.first
}

func (p *probe) overrun(minutes int64) bool {
	p.sec = minutes * 60
	var o owner
	for i, id := range p.id {
		if id == 0 {
			continue
		}
		p.toQOS(&o, i)
		if p.tres(&o, GrpTRESMins, byHistory) || p.groupWall(&o) || p.tres(&o, MaxTRESMinsPerJob, byElapsed) {
			return true
		}
	}
	o = p.association()
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		if p.toGroup(&o, id) && (p.tres(&o, GrpTRESMins, byHistory) || p.groupWall(&o)) ||
			p.toLeaf(&o, id) && p.tres(&o, MaxTRESMinsPerJob, byElapsed) {
			return true
		}
	}
	return false
}
