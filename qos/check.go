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
	q     [2]*limits // those of the QOS in the order of precedence; never nil
	id    [2]QOSID
	sec   int64   // the job's time limit
	scale float64 // UsageFactor in products with time
	lf    float64 // LimitFactor; 0: none
	all   bool
	list  []Verdict
	first Verdict
}

// unset is the limits of a QOS that is not there.
var unset = &limits{}

// begin sets p up for a job.
func (p *probe) begin(l *Ledger, j *Job, phase Phase) {
	if len(j.TRES) != l.kinds {
		panic("qos: vectors of different length")
	}
	p.l, p.j, p.phase, p.scale = l, j, phase, 1
	p.id = [2]QOSID{j.PartQOS, j.QOS}
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
	for i, id := range p.id {
		p.q[i] = unset
		if id == 0 {
			continue
		}
		q := l.quality(id)
		p.q[i] = &q.eff
		if p.lf == 0 {
			p.lf = q.attr.LimitFactor
		}
	}
	p.sec = maxSeconds
	if j.Limit > 0 {
		p.sec = secondsOf(j.Limit)
	}
}

// fail notes a limit in the way; it returns true if that is enough.
func (p *probe) fail(v Verdict, s side, c class) bool {
	v.Reason, v.Phase = reasonOf(v.Limit, s, c), p.phase
	if p.first.OK() {
		p.first = v
	}
	if p.all {
		p.list = append(p.list, v)
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
	// mask are the limits that beat this owner's, slot by slot.
	mask [2]*limits
	lf   float64 // multiplies the limits; 0: nothing
}

// word returns the slots w·64 … of family f that are set and in force.
func (o *owner) word(fam *family, f, w int) uint64 {
	m := fam.mask[w]
	for _, s := range o.mask {
		if s != nil && s.fam[f] != nil {
			m &^= s.fam[f].mask[w]
		}
	}
	return m
}

// ownerQOS returns the i-th QOS as an owner; the second is masked by the first.
func (p *probe) ownerQOS(i int) owner {
	o := owner{set: p.q[i], obj: Object{Scope: ScopeQOS, ID: int32(p.id[i])}, side: sideQOS}
	o.row = p.l.qos[p.id[i]].row
	if i == 1 {
		o.mask[0] = p.q[0]
	}
	return o
}

// of returns the part of a QOS that counts one user or one account; ok is false
// if the job has none.
func (p *probe) of(o owner, account bool) (owner, bool) {
	if p.j.Assoc == 0 {
		return o, false
	}
	a := &p.l.assocs[p.j.Assoc]
	o.obj.Scope, o.obj.Of = ScopeQOSUser, int32(a.user)
	if account {
		o.obj.Scope, o.obj.Of = ScopeQOSAccount, int32(a.account)
	}
	o.row = p.l.books.pairs.get(pairKey(QOSID(o.obj.ID), o.obj.Of, account))
	return o, o.obj.Of != 0
}

// ownerAssoc returns an association as an owner, masked by both QOS.
func (p *probe) ownerAssoc(id AssocID) owner {
	a := &p.l.assocs[id]
	o := owner{set: a.own, obj: Object{Scope: ScopeAssoc, ID: int32(id)}, row: a.row,
		side: sideAssoc, mask: p.q, lf: p.lf}
	if o.set == nil {
		o.set = unset
	}
	return o
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

// number returns a limit without TRES that is in force. alias is a second limit
// of a QOS that beats it too; NoLimit if there is none.
func (o *owner) number(m, by, alias Limit) (int64, bool) {
	if !o.set.has(m) {
		return 0, false
	}
	for _, s := range o.mask {
		if s != nil && (s.has(by) || alias != NoLimit && s.has(alias)) {
			return 0, false
		}
	}
	return o.set.num[m], true
}

// count checks a limit on jobs: used + asked > limit.
func (p *probe) count(o *owner, m, by, alias Limit, used, asked int64) bool {
	n, ok := o.number(m, by, alias)
	if !ok || used+asked <= n {
		return false
	}
	v := Verdict{Limit: m, Object: o.obj, Max: n, Used: used, Asked: asked, Short: used + asked - n}
	v.Reject = p.phase == AtSubmit
	return p.fail(v, o.side, 0)
}

// tres calls the check of one slot for every slot of m that is in force.
func (p *probe) tres(o *owner, m Limit, f func(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool) bool {
	i := m.family()
	if o.set.famSet>>i&1 == 0 {
		return false
	}
	fam := o.set.fam[i]
	for w := range fam.mask {
		for set := o.word(fam, i, w); set != 0; set &= set - 1 {
			k := gres.Kind(w<<6 + bits.TrailingZeros64(set))
			if p.adminSet(k) {
				continue
			}
			if f(p, o, m, k, fam.val[k]) {
				return true
			}
		}
	}
	return false
}

// adminSet reports whether an administrator set the amount of k.
func (p *probe) adminSet(k gres.Kind) bool {
	w := int(k >> 6)
	return w < len(p.j.AdminTRES) && p.j.AdminTRES[w]>>(k&63)&1 != 0
}

// The checks of one slot. An amount of 0 violates no maximum.

// slotUse checks what is in use by the owner: asked > limit or used + asked > limit.
func slotUse(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
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
func slotJob(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
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
func slotNode(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
	need := p.j.TRES[k] / max(p.j.TRES[gres.Node], 1)
	if need <= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: need,
		Short: need - limit, Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotLeast checks the least size of one job: asked < limit.
func slotLeast(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
	need := p.j.TRES[k]
	if need >= limit {
		return false
	}
	return p.fail(Verdict{Limit: m, Kind: k, Object: o.obj, Max: limit, Asked: need,
		Short: limit - need, Reject: p.phase == AtSubmit}, o.side, p.l.classes[k])
}

// slotJobMinutes checks one job's size times its time limit.
func slotJobMinutes(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
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
func slotRun(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
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
func slotHistory(p *probe, o *owner, m Limit, k gres.Kind, limit int64) bool {
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
