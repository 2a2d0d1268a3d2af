package qos

import "github.com/berth-sched/berth/gres"

// AccrueRoom returns how many more pending tasks like j may earn age now; it may
// be negative after a limit was lowered, and is gres.Unlimited without limits.
// The limits of the job's own QOS count, the one that leaves the least;
// only if it has none, those of the first association from the leaf up that has.
//
// Source: spec/priority.md 1.3.
func (l *Ledger) AccrueRoom(j *Job) int64 {
	if l.enforce&EnforceLimits == 0 {
		return gres.Unlimited
	}
	b := &l.books
	room := int64(gres.Unlimited)
	lower := func(s *limits, m Limit, r int32) bool {
		if s == nil || !s.has(m) {
			return false
		}
		room = min(room, s.num[m]-b.rows[r].accruing)
		return true
	}
	if j.QOS != 0 {
		q := l.quality(j.QOS)
		found := lower(&q.eff, GrpJobsAccrue, q.row)
		if j.Assoc != 0 {
			a := &l.assocs[j.Assoc]
			found = lower(&q.eff, MaxJobsAccruePerAccount, b.pairs.get(pairKey(j.QOS, int32(a.account), true))) || found
			found = lower(&q.eff, MaxJobsAccruePerUser, b.pairs.get(pairKey(j.QOS, int32(a.user), false))) || found
		}
		if found {
			return room
		}
	}
	for id := j.Assoc; id != 0; id = l.assocs[id].parent {
		a := &l.assocs[id]
		found := id == j.Assoc && lower(a.eff, MaxJobsAccrue, a.row)
		if lower(a.own, GrpJobsAccrue, a.row) || found {
			return room
		}
	}
	return room
}

// MinPriority returns the priority below which a waiting job gets no start in
// the future planned; 0 if there is no limit. The first of partition QOS, job
// QOS (or the other way about, with OverPartQOS), association and accounts
// above that sets MinPrioThreshold decides.
func (l *Ledger) MinPriority(j *Job) uint32 {
	if l.enforce&EnforceLimits == 0 {
		return 0
	}
	p := probeFor(l, j, WhileWaits)
	for _, id := range p.id {
		if s := &l.qos[id].eff; s.has(MinPrioThreshold) {
			return uint32(s.num[MinPrioThreshold])
		}
	}
	if j.Assoc != 0 {
		if s := l.assocs[j.Assoc].eff; s != nil && s.has(MinPrioThreshold) {
			return uint32(s.num[MinPrioThreshold])
		}
	}
	return 0
}

// FlagsOf returns the flags of a job's QOS and its partition's together, as
// PartitionMaxNodes, PartitionMinNodes and PartitionTimeLimit count on either.
func (l *Ledger) FlagsOf(job, part QOSID) Flags {
	var f Flags
	if job != 0 {
		f = l.quality(job).attr.Flags
	}
	if part != 0 {
		f |= l.quality(part).attr.Flags
	}
	return f
}
