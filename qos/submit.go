package qos

import (
	"time"

	"github.com/berth-sched/berth/gres"
)

// CheckSubmit checks a job that is submitted or modified, for one partition,
// before [Ledger.ChargeSubmit]. A Verdict against it refuses the job: too many
// are submitted, or the checks are strict and no allocation could ever satisfy
// a limit. They are strict if a QOS of the job has DenyOnLimit or it has no QOS;
// otherwise what is over a limit is accepted and waits.
//
// It returns the time limit of the job: the one given or, if Limit is 0, the
// longest that limits on time and minutes allow, in whole minutes and at least
// one; 0 if none speaks. A partition's default time is given, not 0: it is
// checked as if the user had asked for it.
//
// For a job that lists several partitions call it for each: one Verdict against
// it refuses the job. Components of a het job are checked and charged one after
// the other, so that they count together; roll back if one fails.
//
// Source: spec/qos.md 3.
func (l *Ledger) CheckSubmit(j *Job) (time.Duration, Verdict) {
	if l.enforce&EnforceLimits == 0 {
		return j.Limit, Verdict{}
	}
	p := probeFor(l, j, AtSubmit)
	p.submit()
	if j.Limit != 0 || p.minutes == gres.Unlimited {
		return j.Limit, p.first
	}
	return time.Duration(max(p.minutes, 1)) * time.Minute, p.first
}

// submit checks a submission; minutes is then the default time limit.
func (p *probe) submit() {
	p.given, p.minutes, p.strict = p.j.Limit != 0, gres.Unlimited, p.j.QOS == 0
	for _, id := range p.id {
		if id != 0 && p.l.qos[id].attr.Flags&DenyOnLimit != 0 {
			p.strict = true
		}
	}
	if !p.qualities() {
		p.associations()
	}
}

// qualities checks both QOS; it returns true if the first Verdict is enough.
func (p *probe) qualities() bool {
	for i, id := range p.id {
		if id == 0 {
			continue
		}
		var o, acct, user owner
		p.toQOS(&o, i)
		acct, user = o, o
		hasAcct, hasUser := p.toPair(&acct, true), p.toPair(&user, false)
		if p.strict && (hasAcct && p.tres(&acct, MaxTRESPerAccount, byJob) || p.userThenGroup(&o, &user, hasUser)) ||
			p.submitted(&o, GrpSubmitJobs, 1<<GrpSubmitJobs) ||
			p.timed(&o, MaxTRESMinsPerJob) || p.timed(&o, GrpTRESMins) || p.timed(&o, GrpTRESRunMins) ||
			hasAcct && p.timed(&acct, MaxTRESRunMinsPerAccount) || hasUser && p.timed(&user, MaxTRESRunMinsPerUser) ||
			p.wall(&o, MaxWall) || p.wall(&o, GrpWall) ||
			p.strict && (p.tres(&o, MaxTRESPerJob, byJob) || p.tres(&o, MaxTRESPerNode, byNode)) ||
			hasAcct && p.submitted(&acct, MaxSubmitJobsPerAccount, 1<<MaxSubmitJobsPerAccount) ||
			hasUser && p.submitted(&user, MaxSubmitJobsPerUser, 1<<MaxSubmitJobsPerUser) ||
			p.strict && p.tres(&o, MinTRESPerJob, byLeast) {
			return true
		}
	}
	return false
}

// userThenGroup checks the size of one job against MaxTRESPerUser and GrpTRES
// of a QOS, slot by slot.
func (p *probe) userThenGroup(o, user *owner, hasUser bool) bool {
	for k := range gres.Kind(p.l.kinds) {
		if p.j.TRES[k] == 0 || p.adminSet(k) {
			continue
		}
		if limit, ok := user.inForce(MaxTRESPerUser, k); ok && hasUser && p.slotJob(user, MaxTRESPerUser, k, limit) {
			return true
		}
		if limit, ok := o.inForce(GrpTRES, k); ok && p.slotJob(o, GrpTRES, k, limit) {
			return true
		}
	}
	return false
}

// inForce returns slot k of TRES limit m if it is set and nothing beats it.
func (o *owner) inForce(m Limit, k gres.Kind) (int64, bool) {
	n, ok := o.set.slot(m, k)
	for _, s := range o.mask {
		if s != nil && ok {
			_, masked := s.slot(m, k)
			ok = !masked
		}
	}
	return n, ok
}

func (p *probe) associations() {
	o := p.association()
	for id := p.j.Assoc; id != 0; id = p.l.assocs[id].parent {
		if p.toGroup(&o, id) && (p.strict && p.tres(&o, GrpTRES, byJob) ||
			p.submitted(&o, GrpSubmitJobs, 1<<GrpSubmitJobs) ||
			p.timed(&o, GrpTRESMins) || p.timed(&o, GrpTRESRunMins) || p.wall(&o, GrpWall)) {
			return
		}
		if p.toLeaf(&o, id) && (p.strict && (p.tres(&o, MaxTRESPerJob, byJob) || p.tres(&o, MaxTRESPerNode, byNode)) ||
			p.submitted(&o, MaxSubmitJobs, 1<<MaxSubmitJobsPerUser|1<<MaxSubmitJobsPerAccount) ||
			p.timed(&o, MaxTRESMinsPerJob) || p.wall(&o, MaxWall)) {
			return
		}
	}
}

// submitted checks a limit on submitted jobs.
func (p *probe) submitted(o *owner, m Limit, by uint32) bool {
	return p.count(o, m, by, p.l.books.rows[o.row].submitted, p.j.tasks())
}

// timed checks a limit on minutes: the job's own product must fit if a time
// limit was given, otherwise the limit lowers the default one.
func (p *probe) timed(o *owner, m Limit) bool {
	if o.set.famSet>>m.family()&1 == 0 {
		return false
	}
	if p.given {
		return p.strict && p.tres(o, m, byJobMinutes)
	}
	for k := range gres.Kind(p.l.kinds) {
		limit, ok := o.inForce(m, k)
		if need := p.j.TRES[k]; ok && need > 0 && !p.adminSet(k) {
			p.minutes = min(p.minutes, minutesFor(limit, need, p.scale))
		}
	}
	return false
}

// minutesFor returns how long need may run within limit.
func minutesFor(limit, need int64, scale float64) int64 {
	if scale == 1 {
		return limit / need
	}
	x := float64(limit) / float64(float64(need)*scale)
	if !(x < gres.Unlimited) {
		return gres.Unlimited
	}
	return int64(x)
}

// wall is timed for a limit on wall time.
func (p *probe) wall(o *owner, m Limit) bool {
	n, ok := o.number(m, 1<<m)
	if !ok || p.j.AdminLimit {
		return false
	}
	if !p.given {
		p.minutes = min(p.minutes, n)
		return false
	}
	if !p.strict || p.sec <= gres.SatMul(n, 60) {
		return false
	}
	return p.fail(Verdict{Limit: m, Object: o.obj, Max: n, Asked: minutesOf(p.sec),
		Short: minutesOf(p.sec - n*60), Reject: true}, o.side, 0)
}
