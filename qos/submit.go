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
	var p probe
	p.begin(l, j, AtSubmit)
	s := p.submit()
	if j.Limit != 0 || s.minutes == gres.Unlimited {
		return j.Limit, p.first
	}
	return time.Duration(max(s.minutes, 1)) * time.Minute, p.first
}

// submission is a probe at submission.
type submission struct {
	*probe
	strict  bool
	given   bool  // the job came with a time limit
	minutes int64 // the default time limit so far
}

func (p *probe) submit() *submission {
	s := submission{probe: p, given: p.j.Limit != 0, minutes: gres.Unlimited, strict: p.j.QOS == 0}
	for _, id := range p.id {
		if id != 0 && p.l.qos[id].attr.Flags&DenyOnLimit != 0 {
			s.strict = true
		}
	}
	if !s.qualities() {
		s.associations()
	}
	return &s
}

// qualities checks both QOS; it returns true if the first Verdict is enough.
func (s *submission) qualities() bool {
	for i, id := range s.id {
		if id == 0 {
			continue
		}
		o := s.ownerQOS(i)
		acct, hasAcct := s.of(o, true)
		user, hasUser := s.of(o, false)
		if s.strict && (hasAcct && s.tres(&acct, MaxTRESPerAccount, slotJob) || s.userThenGroup(&o, &user, hasUser)) {
			return true
		}
		if s.submitted(&o, GrpSubmitJobs, GrpSubmitJobs, NoLimit) || s.timed(&o, MaxTRESMinsPerJob) ||
			s.timed(&o, GrpTRESMins) || s.timed(&o, GrpTRESRunMins) ||
			hasAcct && s.timed(&acct, MaxTRESRunMinsPerAccount) || hasUser && s.timed(&user, MaxTRESRunMinsPerUser) ||
			s.wall(&o, MaxWall) || s.wall(&o, GrpWall) {
			return true
		}
		if s.strict && (s.tres(&o, MaxTRESPerJob, slotJob) || s.tres(&o, MaxTRESPerNode, slotNode)) {
			return true
		}
		if hasAcct && s.submitted(&acct, MaxSubmitJobsPerAccount, MaxSubmitJobsPerAccount, NoLimit) ||
			hasUser && s.submitted(&user, MaxSubmitJobsPerUser, MaxSubmitJobsPerUser, NoLimit) {
			return true
		}
		if s.strict && s.tres(&o, MinTRESPerJob, slotLeast) {
			return true
		}
	}
	return false
}

// userThenGroup checks the size of one job against MaxTRESPerUser and GrpTRES
// of a QOS, slot by slot.
func (s *submission) userThenGroup(o, user *owner, hasUser bool) bool {
	for k := range gres.Kind(s.l.kinds) {
		if s.j.TRES[k] == 0 || s.adminSet(k) {
			continue
		}
		if limit, ok := user.inForce(MaxTRESPerUser, k); ok && hasUser && slotJob(s.probe, user, MaxTRESPerUser, k, limit) {
			return true
		}
		if limit, ok := o.inForce(GrpTRES, k); ok && slotJob(s.probe, o, GrpTRES, k, limit) {
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

func (s *submission) associations() {
	for id := s.j.Assoc; id != 0; id = s.l.assocs[id].parent {
		o := s.ownerAssoc(id)
		if s.strict && s.tres(&o, GrpTRES, slotJob) ||
			s.submitted(&o, GrpSubmitJobs, GrpSubmitJobs, NoLimit) ||
			s.timed(&o, GrpTRESMins) || s.timed(&o, GrpTRESRunMins) || s.wall(&o, GrpWall) {
			return
		}
		o, ok := s.leaf(o, id)
		if !ok {
			continue
		}
		if s.strict && (s.tres(&o, MaxTRESPerJob, slotJob) || s.tres(&o, MaxTRESPerNode, slotNode)) ||
			s.submitted(&o, MaxSubmitJobs, MaxSubmitJobsPerUser, MaxSubmitJobsPerAccount) ||
			s.timed(&o, MaxTRESMinsPerJob) || s.wall(&o, MaxWall) {
			return
		}
	}
}

// submitted checks a limit on submitted jobs.
func (s *submission) submitted(o *owner, m, by, alias Limit) bool {
	return s.count(o, m, by, alias, s.l.books.rows[o.row].submitted, s.j.tasks())
}

// timed checks a limit on minutes: the job's own product must fit if a time
// limit was given, otherwise the limit lowers the default one.
func (s *submission) timed(o *owner, m Limit) bool {
	if o.set.famSet>>m.family()&1 == 0 {
		return false
	}
	if s.given {
		return s.strict && s.tres(o, m, slotJobMinutes)
	}
	for k := range gres.Kind(s.l.kinds) {
		limit, ok := o.inForce(m, k)
		if need := s.j.TRES[k]; ok && need > 0 && !s.adminSet(k) {
			s.minutes = min(s.minutes, minutesFor(limit, need, s.scale))
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
func (s *submission) wall(o *owner, m Limit) bool {
	n, ok := o.number(m, m, NoLimit)
	if !ok || s.j.AdminLimit {
		return false
	}
	if !s.given {
		s.minutes = min(s.minutes, n)
		return false
	}
	if !s.strict || s.sec <= gres.SatMul(n, 60) {
		return false
	}
	return s.fail(Verdict{Limit: m, Object: o.obj, Max: n, Asked: minutesOf(s.sec),
		Short: minutesOf(s.sec - n*60), Reject: true}, o.side, 0)
}
