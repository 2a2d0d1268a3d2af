package scheduler

import "github.com/berth-sched/berth/qos"

// A job that lists several QOS has a record for each of them in each of its
// partitions: pairs run over the partitions, within a partition over the QOS as
// listed, and of each the record that prefers features comes first (spec:
// backfill 1.2, priority 1.10). While it waits its headline QOS, the one of the
// highest priority, counts as submitted; it starts with the QOS of its record.

// listsQOS is the number of QOS that a job's records take in turn.
func listsQOS(s *JobSpec) int { return max(len(s.QOS), 1) }

// perQOS repeats each partition once a QOS that the job lists.
func perQOS(parts []int32, s *JobSpec) []int32 {
	n := listsQOS(s)
	if n == 1 {
		return parts
	}
	out := make([]int32, 0, n*len(parts))
	for _, p := range parts {
		for range n {
			out = append(out, p)
		}
	}
	return out
}

// findQOS notes the QOS that a job lists, if several: 0 for one that is gone.
func (e *engine) findQOS(j *job) {
	j.qoses = j.qoses[:0]
	if e.acct == nil || listsQOS(j.spec) < 2 {
		return
	}
	for _, n := range j.spec.QOS {
		j.qoses = append(j.qoses, e.acct.l.FindQOS(n))
	}
}

// pairQOS is the QOS of one of a job's records; of a job that has started, the
// one that it started with.
func (j *job) pairQOS(pair int) qos.QOSID {
	if len(j.qoses) == 0 || j.state != StatePending {
		return j.acct.qos
	}
	return j.qoses[j.listed(pair)]
}

// listed is the number of a pair's QOS in the job's list.
func (j *job) listed(pair int) int {
	if j.spec.Prefer != "" {
		pair /= 2
	}
	return pair % listsQOS(j.spec)
}

// pairQOSName is the name of the QOS of one of a job's records.
func (e *engine) pairQOSName(j *job, pair int) string {
	if len(j.spec.QOS) > 1 && j.state == StatePending {
		return j.spec.QOS[j.listed(pair)]
	}
	return e.qosName(j)
}

// foldQOS leaves an ended job the QOS that it ran with alone.
func (e *engine) foldQOS(j *job, name string) {
	n, per := listsQOS(j.spec), int16(1)
	if j.spec.Prefer != "" {
		per = 2
	}
	j.change().QOS, j.acct.qos, j.qoses = []string{name}, 0, nil
	if n > 1 {
		j.partIdx = j.partIdx/per/int16(n)*per + j.partIdx%per
		j.parts, _ = e.partitionsOf(j.spec) // they have been read before
	}
}

// takeQOS makes the QOS of a record the job's own, when it starts.
func (e *engine) takeQOS(j *job, pair int) { e.setQOS(j, j.pairQOS(pair)) }

// headQOS gives a job that waits again its headline QOS back.
func (e *engine) headQOS(j *job) {
	best := j.acct.qos
	for i, q := range j.qoses {
		if q != 0 && (i == 0 || e.acct.l.QOS(q).Priority > e.acct.l.QOS(best).Priority) {
			best = q
		}
	}
	e.setQOS(j, best)
}

// setQOS counts a job as submitted in another QOS.
func (e *engine) setQOS(j *job, q qos.QOSID) {
	if q == j.acct.qos {
		return
	}
	booked := j.acct.booked
	e.unbook(j)
	j.acct.qos = q
	if booked {
		e.book(j)
	}
}

// findAllQOS follows a change of the QOS that exist.
func (e *engine) findAllQOS() {
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.state == StatePending {
			e.findQOS(j)
		}
	}
}

// onePartition reports whether all records of a job are in one partition.
func (j *job) onePartition() bool { return j.parts[0] == j.parts[len(j.parts)-1] }

// pairColumn is what the columns of priorities say of a pair's QOS. With one
// partition alone Slurm sorts by the headline (spec: priority 1.10a).
func (e *engine) pairColumn(j *job, r int32, pair int) int32 {
	if len(j.qoses) == 0 || e.cfg.Profile == ProfileSlurm && j.onePartition() {
		return e.rank.jobs.QOS[r]
	}
	if q := j.pairQOS(pair); q != 0 {
		return int32(q)
	}
	return -1
}

// accruer is a job as those who earn age are counted: by its headline QOS.
func (e *engine) accruer(j *job) *qos.Job {
	q := e.candidate(j, 0)
	q.QOS = j.acct.qos
	return q
}
