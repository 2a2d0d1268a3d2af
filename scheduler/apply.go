package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// Apply books a fact; see Scheduler.
func (e *engine) Apply(now Time, ev Event) error {
	if now < e.now {
		return fmt.Errorf("scheduler: apply %s at %d: the last call was at %d: %w", ev.Kind, now, e.now, ErrTime)
	}
	owners := len(e.owners.names)
	e.resv.clock = now
	err := e.dispatch(now, &ev)
	if err != nil {
		e.owners.truncate(owners)
		e.resv.clock = e.now
	} else {
		e.now = now
		e.slurm.memo.applied(ev.Kind)
		e.pool.Forget()
		e.closeAccounts()
		e.forgetEnded()
	}
	if checking {
		e.check()
	}
	return err
}

func (e *engine) dispatch(now Time, ev *Event) error {
	switch ev.Kind {
	case EventJobSubmit:
		return e.submit(now, ev)
	case EventJobAdopt:
		return e.adopt(now, ev)
	case EventNodeState, EventNodePower:
		return e.setNodeState(now, ev)
	case EventJobUpdate, EventJobCancel, EventJobHold, EventJobRelease, EventJobRequeue, EventJobSuspend, EventJobResume,
		EventJobStarted, EventJobFailed, EventJobEnded:
		r := e.jobs.find(ev.Job)
		if r < 0 {
			return fmt.Errorf("scheduler: apply %s: job %d: %w", ev.Kind, ev.Job, ErrUnknownJob)
		}
		return e.jobEvent(now, ev, r)
	case EventStepStart, EventStepEnd:
		r := e.jobs.find(ev.Job)
		if r < 0 {
			return fmt.Errorf("scheduler: apply %s: job %d: %w", ev.Kind, ev.Job, ErrUnknownJob)
		}
		return e.stepEvent(ev, r)
	case EventNodeAdd:
		return e.addNodes(now, ev)
	case EventNodeRemove:
		return e.removeNodes(now, ev)
	case EventPartition:
		return e.setPartition(now, ev)
	case EventReservation:
		return e.setReservation(now, ev)
	case EventConfig:
		return e.setParameters(ev)
	case EventAccount, EventUser, EventQOS, EventLimit, EventUsageReset:
		return e.setAccounts(now, ev)
	case EventLicense:
		return e.setLicense(ev)
	}
	if ev.Kind == 0 || ev.Kind >= eventKinds {
		return fmt.Errorf("scheduler: apply event %d: %w", ev.Kind, ErrSpec)
	}
	return fmt.Errorf("scheduler: apply %s: %w", ev.Kind, ErrUnsupported)
}

func (e *engine) jobEvent(now Time, ev *Event, r int32) error {
	j := &e.jobs.rows[r]
	wrong := func() error {
		return fmt.Errorf("scheduler: apply %s: job %d is %s: %w", ev.Kind, j.id, j.state, ErrJobState)
	}
	switch ev.Kind {
	case EventJobUpdate:
		return e.updateJob(now, ev, r)
	case EventJobCancel:
		switch {
		case j.state == StatePending:
			e.finish(now, r, StateCancelled, ReasonCancelled)
		case j.running() && (j.flags&flagOver == 0 || j.flags&flagRequeue != 0):
			j.flags = j.flags&^flagRequeue | flagCancel
			j.reason = ReasonNone
			e.order(r, OpKill, StateCancelled, ReasonCancelled)
		default:
			return wrong()
		}
	case EventJobHold:
		if j.state != StatePending {
			return wrong()
		}
		e.hold(r, ev.ByAdmin)
	case EventJobRelease:
		if j.state != StatePending {
			return wrong()
		}
		e.release(now, r)
	case EventJobRequeue:
		if !j.running() {
			return wrong()
		}
		j.begin = now.Add(max(ev.Delay, e.par.RequeueDelay))
		j.flags |= flagRequeue
		e.order(r, OpRequeue, StatePending, ReasonRequeued)
	case EventJobSuspend:
		if j.state != StateRunning || j.flags&flagEnding != 0 {
			return wrong()
		}
		j.state = StateSuspended
	case EventJobResume:
		if j.state != StateSuspended || j.lending() {
			return wrong()
		}
		j.state = StateRunning
	case EventJobStarted:
		if j.seq == ev.Seq {
			j.flags &^= flagUnconfirmed
		}
	case EventJobFailed:
		e.failed(now, ev, r)
	case EventJobEnded:
		if !j.running() || ev.End == nil {
			if ev.End == nil {
				return fmt.Errorf("scheduler: apply %s: job %d: no end given: %w", ev.Kind, j.id, ErrSpec)
			}
			return wrong()
		}
		if ev.End.Completing {
			e.completing(now, ev.End, r)
		} else {
			e.ended(now, ev.End, r)
		}
	}
	return nil
}

// order notes that a running job must end; the next pass says so. A job that
// has been told already is told only if the new order is another.
func (e *engine) order(r int32, op Op, state JobState, why Reason) {
	j := &e.jobs.rows[r]
	if j.flags&flagEnding != 0 && j.endState == state {
		return
	}
	if j.flags&flagOver != 0 {
		// It need not be told any more.
		if op == OpRequeue {
			j.reason = ReasonCleaning
		} else {
			j.endState, j.endWhy = state, why
		}
		return
	}
	j.flags |= flagEnding
	j.endState, j.endWhy = state, why
	e.touchJob(j)
	e.orders = append(e.orders, pendingOrder{row: r, gen: j.gen, op: op})
}

// failed handles the report that a decision could not be carried out. A report
// about an older decision is stale and ignored.
func (e *engine) failed(now Time, ev *Event, r int32) {
	j := &e.jobs.rows[r]
	if !j.running() || j.seq != ev.Seq || j.flags&flagUnconfirmed == 0 {
		return
	}
	e.giveBack(now, r)
	if j.flags&flagCancel != 0 {
		e.finish(now, r, StateCancelled, ReasonCancelled)
		return
	}
	why := ReasonJobLaunchFailure
	if e.par.NoHoldOnFail {
		if most := e.par.MaxRequeue; most == 0 || j.restarts < most {
			e.toQueue(now, r, now.Add(e.par.RequeueDelay))
			return
		}
		why = ReasonJobHoldMaxRequeue
	}
	e.toQueue(now, r, now)
	e.jobs.rows[r].flags |= flagHeldAdmin
	e.jobs.rows[r].reason = why
	e.requeueRecords(r)
}

func (e *engine) ended(now Time, end *JobEnd, r int32) {
	j := &e.jobs.rows[r]
	e.leaveEarly(now, j)
	e.giveBack(now, r)
	if j.flags&flagRequeue != 0 {
		e.counts.Requeues++
		e.toQueue(now, r, max(j.begin, now))
		return
	}
	state, why := endOf(j, end)
	e.finish(now, r, state, why)
}

// toQueue makes a job that has given everything back wait again.
func (e *engine) toQueue(now Time, r int32, begin Time) {
	j := &e.jobs.rows[r]
	j.state = StatePending
	last, times := j.evict.last, j.evict.times
	if j.evict.by != 0 {
		last, times = j.evict.by, times+1
	}
	j.evict = eviction{last: last, times: times}
	j.flags &^= flagUnconfirmed | flagEnding | flagRequeue | flagOver
	j.reason, j.closing = ReasonNone, 0
	j.restarts++
	j.start, j.end, j.seq = Never, Never, 0
	j.begin = begin
	e.headQOS(j)
	e.watchDeadline(r)
	e.counts.Pending++
	e.setEligible(now, r)
	e.requeueRecords(r)
	e.dependsRequeued(now, r)
}

// giveBack frees what a running job holds.
func (e *engine) giveBack(now Time, r int32) {
	j := &e.jobs.rows[r]
	e.noteEnd(r)
	e.pre.gang.dirty = e.slicing()
	e.uncharge(now, j)
	e.useLicenses(j, -1)
	e.tellPlacer(j, -1)
	j.steps = nil
	for i := range j.alloc {
		a := &j.alloc[i]
		e.pool.Give(int32(a.node), &a.grant)
		e.leaveNode(a.node, r)
		e.plans.vacate(a.node)
	}
	e.noteAround(j, j.partIdx, j.alloc)
	e.countUse(j, -1)
	e.shareEnd(j)
	j.emptyAlloc()
	e.counts.Running--
	if e.freed++; len(j.licenses.asks) == 0 {
		e.plans.noted++ // else others may start on nodes that it was not on
	}
	if j.resv != 0 {
		e.leaveReservation(now, r)
	}
	if e.classes.rows[j.classes[j.partIdx]].unitsAlone {
		// The job still counts as running here, but it holds nothing.
		e.holdUnits()
	}
	j.lent = j.lent[:0]
	if len(e.pre.lenders) > 0 {
		e.reclaim(now)
	}
}

// leaveNode takes row r off the node's job list, keeping its order.
func (e *engine) leaveNode(id topology.NodeID, r int32) {
	l := e.nodes[id].jobs
	for i, x := range l {
		if x == r {
			e.nodes[id].jobs = append(l[:i], l[i+1:]...)
			break
		}
	}
	if len(e.nodes[id].jobs) == 0 {
		e.counts.NodesUsed--
	}
}

// joinNode puts row r on the node's job list.
func (e *engine) joinNode(id topology.NodeID, r int32) {
	if len(e.nodes[id].jobs) == 0 {
		e.counts.NodesUsed++
	}
	e.nodes[id].jobs = append(e.nodes[id].jobs, r)
	e.plans.touch(id)
}

// finish puts a job that holds nothing into a final state.
func (e *engine) finish(now Time, r int32, state JobState, why Reason) {
	j := &e.jobs.rows[r]
	if j.state == StatePending {
		e.counts.Pending--
		e.unqueue(r)
		e.dropTerms(r)
		j.flags |= flagUnstarted
	}
	j.depend.phase = dependNone
	e.unbook(j)
	e.dropPlans(r)
	e.askedNo(now, j.spec)
	j.state, j.reason = state, why
	j.end = now
	e.counts.Ended++
	e.dropClasses(r)
	e.jobs.ended = append(e.jobs.ended, r)
	e.freed++
	e.plans.noted++
	e.dependsEnded(now, r)
}

// forgetEnded drops ended jobs that are older than MinJobAge.
func (e *engine) forgetEnded() {
	n := 0
	for n < len(e.jobs.ended) {
		r := e.jobs.ended[n]
		if e.jobs.rows[r].end.Add(e.par.MinJobAge) > e.now {
			break
		}
		e.jobs.drop(r)
		n++
	}
	if n > 0 {
		e.jobs.ended = append(e.jobs.ended[:0], e.jobs.ended[n:]...)
	}
}

// jobsKept is the number of jobs less those that are to be forgotten by now.
func (e *engine) jobsKept(now Time) int {
	n := e.jobs.ids.n
	for _, r := range e.jobs.ended {
		if e.jobs.rows[r].end.Add(e.par.MinJobAge) > now {
			break
		}
		n--
	}
	return n
}

func (e *engine) setNodeState(now Time, ev *Event) error {
	if ev.NodeState == NodeUnchanged || ev.NodeState >= nodeStates {
		return fmt.Errorf("scheduler: apply %s: nodes %q: no state given: %w", ev.Kind, ev.Nodes, ErrSpec)
	}
	ids, err := e.appendNodes(nil, "event "+ev.Kind.String(), ev.Nodes)
	if err != nil {
		return err
	}
	e.reservedNodesChanged()
	for _, id := range ids {
		n := &e.nodes[id]
		n.state, n.reason = ev.NodeState, ev.Text
		e.setAvailable(id)
		e.plans.vacate(id)
		if ev.NodeState != NodeDown {
			continue
		}
		for _, r := range n.jobs {
			e.nodeFailed(now, r)
		}
	}
	e.freed++
	e.plans.noted++
	return nil
}

// nodeFailed says that a running job lost a node.
func (e *engine) nodeFailed(now Time, r int32) {
	j := &e.jobs.rows[r]
	switch {
	case j.flags&flagEnding != 0 || j.spec.NoKill && len(j.alloc) > 1:
	case e.mayRequeue(j):
		j.begin = now.Add(e.par.RequeueDelay)
		j.flags |= flagRequeue
		e.order(r, OpRequeue, StatePending, ReasonNodeFail)
	default:
		e.order(r, OpKill, StateNodeFail, ReasonNodeFail)
	}
}

func (e *engine) mayRequeue(j *job) bool {
	return j.spec.Requeue > 0 || j.spec.Requeue == 0 && !e.par.NoRequeue
}

func (e *engine) setPartition(now Time, ev *Event) error {
	if ev.Partition == nil {
		return fmt.Errorf("scheduler: apply %s: no partition given: %w", ev.Kind, ErrSpec)
	}
	p, ok := e.partByKey[ev.Partition.Name]
	if !ok || ev.Remove || ev.Partition.Nodes != "" && ev.Partition.Nodes != e.parts[p].spec.Nodes {
		return fmt.Errorf("scheduler: apply %s: partition %q: only its state and limits can change: %w", ev.Kind, ev.Partition.Name, ErrUnsupported)
	}
	spec := *ev.Partition
	spec.Nodes = e.parts[p].spec.Nodes
	if spec.Topology != e.parts[p].spec.Topology {
		return fmt.Errorf("scheduler: apply %s: partition %q: topology: %w", ev.Kind, spec.Name, ErrUnsupported)
	}
	if spec.Oversubscribe != e.parts[p].spec.Oversubscribe {
		return fmt.Errorf("scheduler: apply %s: partition %q: OverSubscribe: %w", ev.Kind, spec.Name, ErrUnsupported)
	}
	if _, err := preempt.ParseModes(spec.PreemptMode); err != nil {
		return fmt.Errorf("scheduler: apply %s: partition %q: %w: %w", ev.Kind, spec.Name, ErrSpec, err)
	}
	if err := e.reattach(p, &spec); err != nil {
		return fmt.Errorf("scheduler: apply %s: %w", ev.Kind, err)
	}
	_ = e.buildPreempt() // what it reads has been read above
	e.rerank(now)
	e.freed++
	return nil
}

func (e *engine) setParameters(ev *Event) error {
	if ev.Config == nil {
		return fmt.Errorf("scheduler: apply %s: no parameters given: %w", ev.Kind, ErrSpec)
	}
	probe := e.cfg
	probe.Parameters = *ev.Config
	if err := probe.Validate(); err != nil {
		return err
	}
	if _, err := e.readRule(&ev.Config.Preempt); err != nil {
		return fmt.Errorf("scheduler: apply %s: %w: %w", ev.Kind, ErrSpec, err)
	}
	reset := e.par.Priority.UsageReset != ev.Config.Priority.UsageReset
	e.cfg.Parameters = *ev.Config
	e.par = ev.Config.effective(e.cfg.Profile)
	e.findClosings()
	e.parametersChanged(reset)
	e.buildRanker()
	_ = e.buildPreempt() // what it reads has been read above
	e.forgetPlans()
	e.rerank(e.now)
	e.endAllInvalid(e.now)
	e.freed++
	return nil
}
