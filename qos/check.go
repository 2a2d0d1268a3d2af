package qos

import (
	"math/bits"

	"github.com/berth-sched/berth/gres"
)

// probe is one check of one job. It stops at the first limit in the way, or
// collects all.
type probe struct {
	l     *Ledger
	j     *Job
	phase Phase
	id    [2]QOSID   // the QOS in the order of precedence; limits of row 0 are none
	sec   int64      // the job's time limit
	scale float64    // UsageFactor in products with time
	lf    float64    // LimitFactor; 0: none
	list  *[]Verdict // not nil: collect all
	first Verdict

	// At submission alone.
	strict  bool  // what no allocation could satisfy is refused
	given   bool  // the job came with a time limit
	minutes int64 // the default time limit so far
}

// probeFor returns a probe of a job. It is returned by value so that the job
// need not live on the heap.
func probeFor(l *Ledger, j *Job, phase Phase) probe {
	if len(j.TRES) != l.kinds {
		panic("qos: vectors of different length")
	}
	p := probe{l: l, j: j, phase: phase, scale: 1, id: [2]QOSID{j.PartQOS, j.QOS}, sec: maxSeconds}
	if j.QOS != 0 {
		a := &l.quality(j.QOS).attr
		if a.Flags&OverPartQOS != 0 {
			p.id = [2]QOSID{j.QOS, j.PartQOS}
		}
		if a.Flags&UsageFactorSafe != 0 {
			p.scale = a.UsageFactor
		}
	}
	if p.id[0] == p.id[1] {
		p.id[1] = 0
	}
	for _, id := range p.id {
		if id != 0 && p.lf == 0 {
			p.lf = l.quality(id).attr.LimitFactor
		}
	}
	if j.Limit > 0 {
		p.sec = secondsOf(j.Limit)
	}
	return p
}

// fail notes a limit in the way; it returns true if that is enough.
func (p *probe) fail(v Verdict, s side, c class) bool {
	v.Reason, v.Phase = reasonOf(v.Limit, s, c), p.phase
	if p.first.OK() {
		p.first = v
	}
	if p.list != nil {
		*p.list = append(*p.list, v)
		return false
	}
	return true
}

// owner is whose limits are looked at.
type owner struct {
	set  *limits
	obj  Object
	row  int32
	side side
	mask [2]*limits // limits that beat this owner's, slot by slot; nil: none
	// What of mask is set at all, so that most slots need not ask it.
	maskFam, maskNum uint32
	lf               float64 // multiplies the limits; 0: nothing
}

// word returns the slots w·64 … of family f that are set and in force.
func (o *owner) word(fam *family, f, w int) uint64 {
	m := fam.mask[w]
	if o.maskFam>>f&1 == 0 {
		return m
	}
	for _, s := range o.mask {
		if s != nil && s.fam[f] != nil {
			m &^= s.fam[f].mask[w]
		}
	}
	return m
}

// The limits are reached through p.l and not kept in p: the compiler would
// else take the job for leaking with them.

// toQOS makes o the i-th QOS as a whole; the second is masked by the first.
func (p *probe) toQOS(o *owner, i int) {
	o.set, o.side = &p.l.qos[p.id[i]].eff, sideQOS
	o.obj = Object{Scope: ScopeQOS, ID: int32(p.id[i])}
	o.row = p.l.qos[p.id[i]].row
	o.mask[0], o.maskFam, o.maskNum = nil, 0, 0
	if i == 1 {
		first := &p.l.qos[p.id[0]].eff
		o.mask[0], o.maskFam, o.maskNum = first, first.famSet, first.set
	}
}

// toPair makes o, a QOS, the part of it that counts the job's user or account;
// false if the job has none.
func (p *probe) toPair(o *owner, account bool) bool {
	if p.j.Assoc == 0 {
		return false
	}
	a := &p.l.assocs[p.j.Assoc]
	o.obj.Scope, o.obj.Of = ScopeQOSUser, int32(a.user)
	if account {
		o.obj.Scope, o.obj.Of = ScopeQOSAccount, int32(a.account)
	}
	o.row = p.l.books.pairs.get(pairKey(QOSID(o.obj.ID), o.obj.Of, account))
	return o.obj.Of != 0
}

// association returns an owner to be made one or the other association: both
// QOS beat it.
func (p *probe) association() owner {
	a, b := &p.l.qos[p.id[0]].eff, &p.l.qos[p.id[1]].eff
	return owner{side: sideAssoc, lf: p.lf, mask: [2]*limits{a, b}, maskFam: a.famSet | b.famSet, maskNum: a.set | b.set}
}

// toGroup makes o the association with what is set on it for the group; false
// if nothing is.
func (p *probe) toGroup(o *owner, id AssocID) bool {
	a := &p.l.assocs[id]
	o.set, o.row, o.obj = a.own, a.row, Object{Scope: ScopeAssoc, ID: int32(id)}
	return o.set != nil
}

// toLeaf makes o the job's own association with the limits handed down to it;
// false if id is another one or nothing is handed down.
func (p *probe) toLeaf(o *owner, id AssocID) bool {
	if id != p.j.Assoc {
		return false
	}
	a := &p.l.assocs[id]
	o.set, o.row, o.obj = a.eff, a.row, Object{Scope: ScopeAssoc, ID: int32(id)}
	return o.set != nil
}

// times returns n multiplied by LimitFactor, truncated.
func (o *owner) times(n int64) int64 {
	if o.lf == 0 {
		return n
	}
	x := float64(float64(n) * o.lf)
	if x >= gres.Unlimited {
		return gres.Unlimited
	}
	return int64(x)
}

// number returns a limit without TRES that is in force. by are the limits of a
// QOS that beat it.
func (o *owner) number(m Limit, by uint32) (int64, bool) {
	return o.set.num[m], o.set.set>>m&1 != 0 && o.maskNum&by == 0
}

// count checks a limit on jobs: used + asked > limit.
func (p *probe) count(o *owner, m Limit, by uint32, used, asked int64) bool {
	n, ok := o.number(m, by)
	if !ok || used+asked <= n {
		return false
	}
	v := Verdict{Limit: m, Object: o.obj, Max: n, Used: used, Asked: asked, Short: used + asked - n}
	v.Reject = p.phase == AtSubmit
	return p.fail(v, o.side, 0)
}

// how names the check of one slot. It is a number and not a function, so that
// probe and owner stay on the stack.
type how uint8

const (
	byUse        how = iota // in use by the owner: asked > limit or used + asked > limit
	byJob                   // the size of one job: asked > limit
	byNode                  // over its nodes: ⌊asked/nodes⌋ > limit
	byLeast                 // the least size: asked < limit
	byJobMinutes            // the size times the time limit
	byRun                   // what is committed to running jobs and would be to this one
	byHistory               // what was used; if safe, also what may still be
	byElapsed               // what a running job used: minutes · amount + 1 > limit
)

// tres checks every slot of m that is in force.
func (p *probe) tres(o *owner, m Limit, h how) bool {
	return o.set.famSet>>m.family()&1 != 0 && p.slots(o, m, h)
}

func (p *probe) slots(o *owner, m Limit, h how) bool {
	i := m.family()
	fam := o.set.fam[i]
	for w := range fam.mask {
		for set := o.word(fam, i, w); set != 0; set &= set - 1 {
			k := gres.Kind(w<<6 + bits.TrailingZeros64(set))
			if !p.adminSet(k) && p.slot(o, m, k, fam.val[k], h) {
				return true
			}
		}
	}
	return false
}

// slot checks one slot. An amount of 0 violates no maximum.
func (p *probe) slot(o *owner, m Limit, k gres.Kind, limit int64, h how) bool {
	switch h {
	case byUse:
		return p.slotUse(o, m, k, limit)
	case byJob:
		return p.slotJob(o, m, k, limit)
	case byNode:
		return p.slotNode(o, m, k, limit)
	case byLeast:
		return p.slotLeast(o, m, k, limit)
	case byJobMinutes:
		return p.slotJobMinutes(o, m, k, limit)
	case byRun:
		return p.slotRun(o, m, k, limit)
	case byHistory:
		return p.slotHistory(o, m, k, limit)
	}
	return p.slotElapsed(o, m, k, limit)
}

// adminSet reports whether an administrator set the amount of k.
func (p *probe) adminSet(k gres.Kind) bool {
	w := int(k >> 6)
	return w < len(p.j.AdminTRES) && p.j.AdminTRES[w]>>(k&63)&1 != 0
}

// slotUse checks what is in use by the owner: asked > limit or used + asked > limit.
func (p *probe) slotUse(o *owner, m Limit, k gres.Kind, limit int64) bool {
	need := p.j.TRES[k]
	if need == 0 {
		return false
	}
	if o.lf != 0 {
		limit = o.times(limit)
	}
	b := &p.l.books
	used, add := b.use[int(o.row)*b.k+int(k)], need
	if k == gres.Node && b.rows[o.row].refs != 0 && len(p.j.Nodes) > 0 {
		add = b.refs[b.rows[o.row].refs-1].fresh(p.j.Nodes)
	}
	if need <= limit && used+add <= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: used, Asked: need,
		Short: max(used+add-limit, need-limit)}, o.side, p.l.classes[k])
}

// slotJob checks the size of one job: asked > limit.
func (p *probe) slotJob(o *owner, m Limit, k gres.Kind, limit int64) bool {
	if m == GrpTRES || m == MaxTRESPerJob {
		limit = o.times(limit)
	}
	need := p.j.TRES[k]
	if need <= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: need,
		Short: need - limit, Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotNode checks the size of one job over its nodes: ⌊asked/nodes⌋ > limit.
func (p *probe) slotNode(o *owner, m Limit, k gres.Kind, limit int64) bool {
	need := p.j.TRES[k] / max(p.j.TRES[gres.Node], 1)
	if need <= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: need,
		Short: need - limit, Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotLeast checks the least size of one job: asked < limit.
func (p *probe) slotLeast(o *owner, m Limit, k gres.Kind, limit int64) bool {
	need := p.j.TRES[k]
	if need >= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: need,
		Short: limit - need, Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotJobMinutes checks one job's size times its time limit.
func (p *probe) slotJobMinutes(o *owner, m Limit, k gres.Kind, limit int64) bool {
	if p.j.AdminLimit {
		return false
	}
	need := committed(p.j.TRES[k], p.sec, p.scale)
	if need <= gres.SatMul(limit, 60) {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: minutesOf(need),
		Short: minutesOf(need - limit*60), Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotRun checks what is committed to running jobs and would be to this one.
func (p *probe) slotRun(o *owner, m Limit, k gres.Kind, limit int64) bool {
	if p.j.AdminLimit {
		return false
	}
	need := committed(p.j.TRES[k], p.sec, p.scale)
	if need == 0 {
		return false
	}
	has := p.l.books.commitOf(o.row)[k]
	sum := has.add(wideOf(need)).sub(mulWide(limit, 60))
	if !(wide{}).less(sum) {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: has.clamp() / 60,
		Asked: minutesOf(need), Short: minutesOf(sum.clamp())}, o.side, p.l.classes[k])
}

// slotHistory checks what was used; if safe, also what running jobs and this one
// may still use.
func (p *probe) slotHistory(o *owner, m Limit, k gres.Kind, limit int64) bool {
	if p.j.TRES[k] == 0 {
		return false
	}
	b := &p.l.books
	used := b.minutes(o.row, int(k))
	if used >= limit {
		return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: used, Asked: 1,
			Short: used - limit + 1}, o.side, p.l.classes[k])
	}
	if p.l.enforce&EnforceSafe == 0 || p.j.AdminLimit {
		return false
	}
	need := committed(p.j.TRES[k], p.sec, p.scale)
	sum := b.commitOf(o.row)[k].add(wideOf(need)).sub(mulWide(limit-used, 60))
	if !(wide{}).less(sum) {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: used + b.commitOf(o.row)[k].clamp()/60,
		Asked: minutesOf(need), Short: minutesOf(sum.clamp())}, o.side, p.l.classes[k])
}

// slotElapsed checks what a running job used: elapsed minutes · amount + 1 > limit.
func (p *probe) slotElapsed(o *owner, m Limit, k gres.Kind, limit int64) bool {
	used := gres.SatMul(p.j.TRES[k], p.sec/60)
	if p.j.TRES[k] == 0 || used < limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Used: used, Asked: 1,
		Short: used + 1 - limit}, o.side, p.l.classes[k])
}
