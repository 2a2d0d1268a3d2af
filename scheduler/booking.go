package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/qos"
)

// partsOf lists in scratch the QOS of the partitions in which a job counts as
// submitted.
func (e *engine) partsOf(j *job) []qos.QOSID {
	a := e.acct
	a.parts = a.parts[:0]
	if j.acct.one {
		return append(a.parts, a.partQOS[j.parts[j.partIdx]])
	}
	for i, p := range j.parts {
		if e.prefers(j, int16(i)) || j.listed(i) > 0 {
			continue
		}
		a.parts = append(a.parts, a.partQOS[p])
	}
	return a.parts
}

// book counts a job as submitted.
func (e *engine) book(j *job) {
	if e.acct == nil || j.acct.booked {
		return
	}
	e.acct.job = qos.Job{Assoc: j.acct.assoc, QOS: j.acct.qos, TRES: e.acct.tres}
	e.acct.l.ChargeSubmit(&e.acct.job, e.partsOf(j))
	j.acct.booked = true
}

// unbook takes a job out of the counts of submitted ones.
func (e *engine) unbook(j *job) {
	if e.acct == nil || !j.acct.booked {
		return
	}
	e.accrueOff(j)
	e.acct.job = qos.Job{Assoc: j.acct.assoc, QOS: j.acct.qos, TRES: e.acct.tres}
	e.acct.l.UnchargeSubmit(&e.acct.job, e.partsOf(j))
	j.acct.booked = false
}

// charge books a job that starts, whose allocation is in j.alloc.
func (e *engine) charge(j *job) {
	a := e.acct
	if a == nil {
		return
	}
	e.accrueOff(j)
	if !j.acct.one && len(j.parts) > 1 {
		e.unbook(j)
		j.acct.one = true
		e.book(j)
	}
	clear(a.alloc)
	a.nodes = a.nodes[:0]
	for i := range j.alloc {
		e.addGrant(a.alloc, j.alloc[i].node, &j.alloc[i].grant)
		a.nodes = append(a.nodes, int32(j.alloc[i].node))
	}
	q := e.allocated(j, int(j.partIdx), len(j.alloc))
	q.Nodes, q.Limit = a.nodes, j.limit
	j.acct.charge = a.l.Charge(q)
	j.acct.used = j.start
}

// uncharge takes a job that no longer runs out of the books, with what it used
// since the last tick.
func (e *engine) uncharge(now Time, j *job) {
	if e.acct == nil || j.acct.charge == 0 {
		return
	}
	e.settle(now)
	e.accrueUse(now, j)
	e.acct.l.Uncharge(j.acct.charge)
	j.acct.charge = 0
	if j.acct.one {
		e.unbook(j)
		j.acct.one = false
		e.book(j)
	}
}

// chargeSince charges what a job that already runs has used.
func (e *engine) chargeSince(now Time, j *job) {
	if j.acct.charge != 0 {
		e.settle(now)
		e.accrueUse(now, j)
	}
}

// commitLeft books what a running job may still use after its limit changed.
func (e *engine) commitLeft(j *job) {
	if j.acct.charge == 0 {
		return
	}
	left := j.limit
	if left != Infinite {
		left = max(j.end.Sub(j.acct.used), 0)
	}
	e.acct.l.SetLeft(j.acct.charge, left)
}

// reaccount checks a pending job that an update changes in what accounts look
// at, and takes it out of the counts as it was: the caller books it anew. On an
// error nothing changes.
func (e *engine) reaccount(j *job, s *JobSpec, parts, classes []int32, u *JobUpdate, admin bool) error {
	if e.acct == nil || u.Partitions == nil && u.QOS == nil && u.Account == nil && u.Spec == nil && u.TimeLimit == nil {
		return nil
	}
	was, mark := j.acct, e.acct.l.Mark()
	e.unbook(j)
	ja, err := e.account("update", s, parts, classes, was.admin || admin && u.TimeLimit != nil)
	if err != nil {
		e.acct.l.Rollback(mark)
		j.acct = was
		return err
	}
	j.acct = ja
	return nil
}

// reattach makes a partition as its changed spec says: QOS and billing weights
// too. Jobs that wait are counted in its new QOS; what runs stays charged to the
// one that it started with. On an error nothing changes.
func (e *engine) reattach(p int32, spec *PartitionSpec) error {
	part := &e.parts[p]
	flags, err := priorityFlags(e.par.Priority.Flags)
	if err != nil {
		return err
	}
	billing, err := e.readBilling(spec, flags)
	if err != nil {
		return err
	}
	old := part.spec
	moves := e.acct != nil && old.QOS != spec.QOS
	if moves {
		if spec.QOS != "" && e.acct.l.FindQOS(spec.QOS) == 0 {
			return fmt.Errorf("partition %q: QOS %q: %w", spec.Name, spec.QOS, ErrUnknownQOS)
		}
		e.bookAll(false)
		if q := e.acct.partQOS[p]; q != 0 {
			e.acct.l.DetachPartition(q)
			e.acct.partQOS[p] = 0
		}
		part.spec.QOS = spec.QOS
		if err := e.attachPartition(p); err != nil {
			part.spec.QOS = old.QOS
			_ = e.attachPartition(p)
			e.bookAll(true)
			return err
		}
	}
	part.setSpec(spec)
	part.billing = billing
	if len(e.cfg.Partitions) == 0 {
		e.cfg.Partitions = make([]PartitionSpec, 1)
	}
	e.cfg.Partitions[p] = clonePartition(spec)
	part.spec = e.cfg.Partitions[p]
	if moves {
		e.bookAll(true)
	}
	e.reprice(p)
	return nil
}

// bookAll takes all jobs out of the counts of submitted ones, or counts them
// again. Which order does not matter: counts are sums.
func (e *engine) bookAll(on bool) {
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		switch {
		case j.id == 0 || j.state.Ended():
		case on && j.acct.rebook:
			j.acct.rebook = false
			e.book(j)
		case !on && j.acct.booked:
			e.unbook(j)
			j.acct.rebook = true
		}
	}
}

// reprice lets what runs in a partition cost what its weights say from now on.
func (e *engine) reprice(p int32) {
	if e.acct == nil {
		return
	}
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.acct.charge == 0 || j.parts[j.partIdx] != p {
			continue
		}
		clear(e.acct.alloc)
		for i := range j.alloc {
			e.addGrant(e.acct.alloc, j.alloc[i].node, &j.alloc[i].grant)
		}
		e.licenses.count(e.acct.alloc, &j.licenses, int64(len(j.alloc)))
		e.acct.l.SetBilling(j.acct.charge, e.parts[p].points(e.acct.alloc))
	}
}

// parametersChanged makes the books follow changed parameters; reset says that
// the period of resets is another.
func (e *engine) parametersChanged(reset bool) {
	_ = e.buildBilling() // what it reads has been read before
	a := e.acct
	if a == nil {
		return
	}
	enforce, _ := qos.ParseEnforce(e.par.Limits.Enforce)
	a.l.SetEnforce(enforce)
	a.tree, a.classic = nil, nil
	if reset {
		a.reset = 0
	}
	e.accountsChanged()
	for p := range e.parts {
		e.reprice(int32(p))
	}
}

func clonePartition(s *PartitionSpec) PartitionSpec {
	w := codec{}
	visitPartitionSpec(&w, s)
	var out PartitionSpec
	visitPartitionSpec(&codec{buf: w.buf, reading: true}, &out)
	return out
}
