package scheduler

import "github.com/berth-sched/berth/gres"

// pairPrio is the priority of the job in one of its partitions.
func (j *job) pairPrio(pair int) uint32 {
	if pair < len(j.prios) && !j.unranked() {
		return j.prios[pair]
	}
	return j.prio
}

// unranked reports whether no factor counts for the job: it is held, or an
// operator set its priority.
func (j *job) unranked() bool {
	return j.flags&(flagHeldUser|flagHeldAdmin) != 0 || j.spec.Priority > 0
}

// rankPairs computes the priorities of jobs in each of several partitions:
// factor and TRES totals are the partition's own, all else is shared (spec:
// priority 1.10). Their columns are filled and their headline is computed.
func (e *engine) rankPairs(rows []int32) {
	k := &e.rank
	p := &k.pairs
	p.Job, p.Partition, p.QOS = p.Job[:0], p.Partition[:0], p.QOS[:0]
	for _, r := range rows {
		j := &e.jobs.rows[r]
		if len(j.parts) < 2 {
			continue
		}
		for i, part := range j.parts {
			p.Job, p.Partition, p.QOS = append(p.Job, r), append(p.Partition, part), append(p.QOS, e.pairColumn(j, r, i))
		}
		if k.rising {
			k.jobs.Prev[r] = 0 // each pair rises on its own
		}
	}
	if len(p.Job) == 0 {
		return
	}
	if n := len(p.Job); len(k.pairPrio) < n {
		k.pairPrio = make([]uint32, n+n/4)
	}
	k.mf.RankPairs(k.pairPrio[:len(p.Job)], &k.jobs, e.shareColumn(), p)
	for at := 0; at < len(p.Job); {
		j := &e.jobs.rows[p.Job[at]]
		was := len(j.prios) == len(j.parts)
		for len(j.prios) < len(j.parts) {
			j.prios = append(j.prios, 0)
		}
		j.prios = j.prios[:len(j.parts)]
		for i := range j.prios {
			v := k.pairPrio[at+i]
			if k.rising && was {
				v = max(v, j.prios[i])
			}
			j.prios[i] = v
		}
		at += len(j.parts)
	}
}

// rankRunning computes the priorities of running jobs anew, from what they hold.
// Slurm: CALCULATE_RUNNING.
func (e *engine) rankRunning() {
	rows := e.rank.rows[:0]
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if !j.running() || j.unranked() {
			continue
		}
		e.holdsRow(int32(r))
		rows = append(rows, int32(r))
	}
	e.rank.rows = rows
	e.rankRows(rows)
}

// holdsRow fills a running job's row of the columns: it is ranked in the
// partition it runs in, by what it holds.
func (e *engine) holdsRow(r int32) {
	e.fillRow(r)
	j, k := &e.jobs.rows[r], &e.rank.jobs
	k.Partition[r] = j.parts[j.partIdx]
	if e.rank.always {
		k.Age[r] = e.now.Sub(j.submit)
	} else if j.eligible != Never {
		k.Age[r] = e.now.Sub(j.eligible)
	}
	held := e.rank.held
	clear(held)
	e.allocTRES(held, j)
	copy(e.rank.tresRow(r), held)
	k.CPUs[r] = clamp32(held[gres.CPU])
}
