package qos

import (
	"math"
	"time"
)

// submission is phase A: spec/qos.md 3. It returns the time limit too.
func (w *twin) submission(j *Job, tasks int64) (time.Duration, []said) {
	c := w.check(j)
	quals, assocs := w.owners(j)
	strict := j.QOS == 0
	for _, id := range []QOSID{j.QOS, j.PartQOS} {
		strict = strict || id != 0 && w.quals[id].deny
	}
	least := int64(math.MaxInt64)
	timed := func(o *twinOwner, m Limit) {
		if j.Limit != 0 {
			if strict {
				c.perJob(o, m)
			}
			return
		}
		c.eachKind(func(k int) {
			if limit, ok := o.get(m, k); ok && j.TRES[k] > 0 {
				x := float64(limit) / (float64(j.TRES[k]) * c.uf)
				if x < float64(least) {
					least = int64(x)
				}
			}
		})
	}
	wall := func(o *twinOwner, m Limit) {
		limit, ok := o.get(m, -1)
		if ok && j.Limit == 0 {
			least = min(least, limit)
		} else if ok && strict {
			c.maxWall(o, m)
		}
	}
	for _, o := range quals {
		if strict && j.Assoc != 0 {
			c.perJob(o, MaxTRESPerAccount)
		}
		if strict {
			c.eachKind(func(k int) {
				if need := j.TRES[k]; need > 0 {
					if n, ok := o.get(MaxTRESPerUser, k); ok && need > n && j.Assoc != 0 {
						c.say(o, MaxTRESPerUser, k, n, 0, need)
					}
					if n, ok := o.get(GrpTRES, k); ok && need > n {
						c.say(o, GrpTRES, k, n, 0, need)
					}
				}
			})
		}
		c.count(o, GrpSubmitJobs, w.submitted(o.whole), tasks)
		timed(o, MaxTRESMinsPerJob)
		timed(o, GrpTRESMins)
		timed(o, GrpTRESRunMins)
		if j.Assoc != 0 {
			timed(o, MaxTRESRunMinsPerAccount)
			timed(o, MaxTRESRunMinsPerUser)
		}
		wall(o, MaxWall)
		wall(o, GrpWall)
		if strict {
			c.perJob(o, MaxTRESPerJob)
			c.perJob(o, MaxTRESPerNode)
		}
		if j.Assoc != 0 {
			c.count(o, MaxSubmitJobsPerAccount, w.submitted(o.acct), tasks)
			c.count(o, MaxSubmitJobsPerUser, w.submitted(o.user), tasks)
		}
		if strict {
			c.perJob(o, MinTRESPerJob)
		}
	}
	for i, o := range assocs {
		if strict {
			c.perJob(o, GrpTRES)
		}
		c.count(o, GrpSubmitJobs, w.submitted(o.whole), tasks)
		timed(o, GrpTRESMins)
		timed(o, GrpTRESRunMins)
		wall(o, GrpWall)
		if i == 0 {
			if strict {
				c.perJob(o, MaxTRESPerJob)
				c.perJob(o, MaxTRESPerNode)
			}
			c.count(o, MaxSubmitJobs, w.submitted(o.whole), tasks)
			timed(o, MaxTRESMinsPerJob)
			wall(o, MaxWall)
		}
	}
	if j.Limit != 0 || least == math.MaxInt64 {
		return j.Limit, c.list
	}
	return time.Duration(max(least, 1)) * time.Minute, c.list
}

// accrue adds the usage of a job to its owners.
func (w *twin) accrue(tj *twinJob, d time.Duration) {
	sec := d.Seconds() * tj.factor
	add := func(h map[int]float64) {
		for k, n := range tj.job.TRES {
			h[k] += sec * float64(n)
		}
		h[-1] += sec
	}
	for a := tj.job.Assoc; a != 0; a = w.assocs[a].parent {
		add(w.assocs[a].history)
	}
	if q := tj.job.QOS; q != 0 {
		add(w.quals[q].history)
	}
	if q := tj.job.PartQOS; q != 0 && q != tj.job.QOS {
		add(w.quals[q].history)
	}
	if tj.left != Unlimited {
		tj.left = max(tj.left-d, 0)
	}
}

// move takes an account's history along.
func (w *twin) move(id, to AssocID) {
	shift := func(from AssocID, sign float64) {
		for a := from; a != 0; a = w.assocs[a].parent {
			for k, x := range w.assocs[id].history {
				w.assocs[a].history[k] += sign * x
			}
		}
	}
	shift(w.assocs[id].parent, -1)
	w.assocs[id].parent = to
	shift(to, 1)
}

func (w *twin) remove(id AssocID) {
	for a := w.assocs[id].parent; a != 0; a = w.assocs[a].parent {
		for k, x := range w.assocs[id].history {
			w.assocs[a].history[k] -= x
		}
	}
	delete(w.assocs, id)
}

// busy reports whether an association has children or jobs.
func (w *twin) busy(id AssocID) bool {
	for _, a := range w.assocs {
		if a.parent == id {
			return true
		}
	}
	for _, j := range w.jobs {
		if w.below(&j.job, id) {
			return true
		}
	}
	return false
}
