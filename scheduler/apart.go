package scheduler

import "github.com/berth-sched/berth/topology"

// aloneKind says whom a job shares its nodes with in one of its partitions: what
// it asks, else what the partition says.
func (e *engine) aloneKind(j *job, pair int) Exclusive {
	if j.spec.Exclusive != ExclusiveNo {
		return j.spec.Exclusive
	}
	return e.parts[j.parts[pair]].spec.Exclusive
}

// staysApart reports whether a job keeps other users' jobs, or those of other
// MCS labels, off its nodes (spec: cores 7.1).
func (e *engine) staysApart(j *job, pair int) bool {
	k := e.aloneKind(j, pair)
	return k == ExclusiveUser || k == ExclusiveMCS
}

// keepApart takes from within the nodes on which, at t, a job runs that may not
// be beside this one: as one of them says, other users', or another MCS label's.
// It reports whether it had to look.
func (e *engine) keepApart(within *topology.NodeSet, j *job, pair int, t Time) bool {
	if e.apart == 0 && !e.staysApart(j, pair) {
		return false
	}
	mine := e.aloneKind(j, pair)
	for n := range within.All() {
		for _, r := range e.nodes[n].jobs {
			o := &e.jobs.rows[r]
			if o.flags&flagAway != 0 || t > e.now && e.expectedEnd(o) <= t {
				continue
			}
			if j.staysOff(o, mine, e.aloneKind(o, int(o.partIdx))) {
				within.Remove(n)
				break
			}
		}
	}
	return true
}

// staysOff reports whether two jobs may not be on one node: as one of them says,
// for it is of another user, or of another MCS label.
func (j *job) staysOff(o *job, mine, theirs Exclusive) bool {
	return (mine == ExclusiveUser || theirs == ExclusiveUser) && o.user != j.user ||
		(mine == ExclusiveMCS || theirs == ExclusiveMCS) && o.spec.MCSLabel != j.spec.MCSLabel
}
