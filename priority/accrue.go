package priority

// An AccrueLimit is one limit on pending jobs that earn age: a number, and how
// many of those in its scope earn age now.
type AccrueLimit struct {
	Limit  int64 // negative: not set
	Earned int64 // jobs of the limit's scope that earn age
}

// AccrueLimits are the limits that apply to one job.
type AccrueLimits struct {
	// QOS are those of the job's own QOS: GrpJobsAccrue,
	// MaxJobsAccruePerAccount and MaxJobsAccruePerUser.
	QOS [3]AccrueLimit
	// Assoc are those of the job's association: MaxJobsAccrue, GrpJobsAccrue,
	// then GrpJobsAccrue of each account above. They count only if the QOS
	// sets none.
	Assoc []AccrueLimit
}

// Slots is how many more pending jobs (array tasks one by one) may begin to
// earn age; ok is false if nothing limits them. Of an array with more tasks so
// many are split off. The smallest room of the QOS's limits counts; without
// one, the first association with a limit, from the leaf up (at the leaf the
// smaller room of its two). With [AccrueAlways] the caller does not ask.
//
// Source: spec priority 1.3.
func (a *AccrueLimits) Slots() (n int64, ok bool) {
	if n, ok = room(a.QOS[:]); ok {
		return n, true
	}
	leaf := min(2, len(a.Assoc))
	if n, ok = room(a.Assoc[:leaf]); ok {
		return n, true
	}
	for i := leaf; i < len(a.Assoc); i++ {
		if n, ok = room(a.Assoc[i : i+1]); ok {
			return n, true
		}
	}
	return 0, false
}

// room is the smallest room that limits leave; ok is false if none is set.
func room(limits []AccrueLimit) (n int64, ok bool) {
	for _, l := range limits {
		if l.Limit < 0 {
			continue
		}
		r := max(l.Limit-l.Earned, 0)
		if !ok || r < n {
			n, ok = r, true
		}
	}
	return n, ok
}
