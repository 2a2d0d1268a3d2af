package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-sched/berth/qos"
)

// submit queues a job. Nothing is changed before the last check has passed.
func (e *engine) submit(now Time, ev *Event) error {
	s := ev.Submit
	if err := e.checkSpec("submit", s); err != nil {
		return err
	}
	dep, err := e.readDependency(now, "submit", s)
	if err == nil {
		err = e.checkCircle(s, &dep)
	}
	if err != nil {
		return err
	}
	if err := e.checkReservations(s); err != nil {
		return fmt.Errorf("scheduler: submit job %d: %w", s.ID, err)
	}
	if at := e.resvOf(s); at >= 0 && len(s.Partitions) == 0 && e.resv.all[at].spec.Partition != "" {
		in := *s
		in.Partitions = []string{e.resv.all[at].spec.Partition}
		s = &in
	}
	if most := e.par.MaxJobs; most > 0 && e.jobsKept(now) >= int(most) {
		return fmt.Errorf("scheduler: submit job %d: %d jobs are remembered: %w", s.ID, most, ErrJobCount)
	}
	s = e.alternates(s)
	parts, classes, err := e.compile(s)
	if err != nil {
		return err
	}
	if err := e.admit(s, parts, classes); err != nil {
		e.dropUnused(classes)
		return err
	}
	if err := e.enforcePartLimits(s, parts, classes); err != nil {
		e.dropUnused(classes)
		return err
	}
	if err := e.checkDeadline(now, s, parts); err != nil {
		e.dropUnused(classes)
		return err
	}
	ja, err := e.account("submit", s, parts, classes, false)
	if err == nil {
		err = e.resvServes(s, &ja, parts, classes)
	}
	if err != nil {
		e.dropUnused(classes)
		return err
	}
	r := e.addJob(now, s, parts, classes, ja)
	j := &e.jobs.rows[r]
	c := &e.classes.rows[j.classes[0]]
	j.growAlloc(int(c.min), e.coreWords, c.devices())
	e.observe(now, c)
	e.counts.Pending++
	e.watchDeadline(r)
	e.depend(now, r, &dep)
	e.setEligible(now, r)
	e.requeueRecords(r)
	e.endInvalid(now, r)
	return nil
}

// addJob makes a row for a job whose classes are made.
func (e *engine) addJob(now Time, s *JobSpec, parts, classes []int32, ja jobAccount) int32 {
	r := e.jobs.add(s.ID)
	j := &e.jobs.rows[r]
	e.jobs.ask(j, s)
	j.parts, j.classes = parts, classes
	e.holdClasses(classes)
	j.state = StatePending
	j.user = e.users.intern(s.User)
	j.submit = now
	j.begin = max(s.Begin, now)
	j.start, j.end, j.eligible = Never, Never, Never
	j.acct = ja
	e.findQOS(j)
	j.licenses, _ = e.usesOf(s)
	e.book(j)
	j.limit = e.timeLimit(j, 0)
	if s.Hold {
		j.flags |= flagHeldUser
	}
	e.rank.grow(len(e.jobs.rows))
	e.fillRow(r)
	e.trimTimers()
	e.enterName(r)
	return r
}

// admitPairs refuses a job that no partition of its list takes, or that none
// could ever run.
func (e *engine) admitPairs(s *JobSpec, parts, classes []int32) error {
	err := errNoPartition
	for i, p := range parts {
		switch e.parts[p].spec.State {
		case PartitionDrain, PartitionInactive:
			err = fmt.Errorf("partition %s is %s: %w", e.parts[p].spec.Name, e.parts[p].spec.State, ErrSpec)
			continue
		}
		if !mayEnter(s.User, s, &e.parts[p].spec) {
			err = fmt.Errorf("partition %s: %w", e.parts[p].spec.Name, ErrPartitionAccess)
			continue
		}
		if e.cfg.Profile == ProfileSlurm && e.waitsFor(s, ownOf(s), p, classes[i]) != ReasonNone {
			return nil // Slurm lets it wait for the partition's limit, whatever the nodes have
		}
		c := &e.classes.rows[classes[i]]
		if err = e.neverRuns(c); err == nil || s.Constraint != "" && e.par.Queue.IgnoreConstraintValidation && c.lacksFeatures() {
			return nil
		}
	}
	return fmt.Errorf("scheduler: submit job %d: %w", s.ID, err)
}

// checkSpec refuses what no partition could help.
func (e *engine) checkSpec(verb string, s *JobSpec) error {
	if s == nil {
		return fmt.Errorf("scheduler: %s job: no specification given: %w", verb, ErrSpec)
	}
	bad := func(field string, err error) error {
		return fmt.Errorf("scheduler: %s job %d: %s: %w", verb, s.ID, field, err)
	}
	switch {
	case s.ID == 0:
		return bad("id 0", ErrSpec)
	case e.jobs.find(s.ID) >= 0:
		return bad("id", ErrDuplicateJob)
	case s.TimeLimit < 0:
		return bad("time limit "+s.TimeLimit.String(), ErrSpec)
	case s.TimeMin < 0 || s.TimeMin > 0 && s.TimeLimit > 0 && s.TimeMin > s.TimeLimit:
		return bad("minimum time "+s.TimeMin.String(), ErrTimeMin)
	case s.Begin < 0 || s.Deadline < 0:
		return bad("begin or deadline before the epoch", ErrSpec)
	}
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"MinNodes", int64(s.MinNodes)}, {"MaxNodes", int64(s.MaxNodes)}, {"Tasks", int64(s.Tasks)}, {"TasksPerNode", int64(s.TasksPerNode)},
		{"TasksPerSocket", int64(s.TasksPerSocket)}, {"TasksPerCore", int64(s.TasksPerCore)}, {"TasksPerGPU", int64(s.TasksPerGPU)},
		{"CPUsPerTask", int64(s.CPUsPerTask)}, {"MinCPUs", int64(s.MinCPUs)}, {"CPUMilli", s.CPUMilli}, {"GPUMilli", s.GPUMilli},
		{"MemMiB", s.MemMiB}, {"TmpMiB", s.TmpMiB}, {"CPUsPerGPU", int64(s.CPUsPerGPU)}, {"Segment", int64(s.Segment)},
		{"Switches", int64(s.Switches)}, {"CheckpointEvery", int64(s.CheckpointEvery)},
	} {
		if f.v < 0 {
			return bad(fmt.Sprintf("%s %d is negative", f.name, f.v), ErrSpec)
		}
	}
	if s.GPUMilli > 1000 {
		return bad(fmt.Sprintf("GPUMilli %d is above 1000", s.GPUMilli), ErrSpec)
	}
	if _, err := e.readUses(s); err != nil {
		return bad("Licenses", err)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"Array", s.Array != ""}, {"HetJob", s.HetJob != 0},
	} {
		if f.set {
			return bad(f.name, ErrUnsupported)
		}
	}
	return nil
}

// cloneSpec copies s so that nothing is shared with the caller.
func cloneSpec(s *JobSpec) JobSpec {
	c := *s
	c.Groups = slices.Clone(s.Groups)
	c.Partitions = slices.Clone(s.Partitions)
	c.QOS = slices.Clone(s.QOS)
	c.Reservations = slices.Clone(s.Reservations)
	c.NodeSizes = slices.Clone(s.NodeSizes)
	c.Levels = slices.Clone(s.Levels)
	c.Kept = slices.Clone(s.Kept)
	return c
}

// timeLimit is the job's limit in partition number i of its list.
func (e *engine) timeLimit(j *job, i int) time.Duration {
	p := &e.parts[j.parts[i]].spec
	switch {
	case j.spec.TimeLimit > 0:
		return j.spec.TimeLimit
	case p.DefaultTime > 0:
		return p.DefaultTime
	case j.acct.limit > 0:
		return j.acct.limit
	case p.MaxTime > 0:
		return p.MaxTime
	}
	return Infinite
}

// hold sets a pending job's priority to 0.
func (e *engine) hold(r int32, admin bool) {
	j := &e.jobs.rows[r]
	if admin {
		j.flags |= flagHeldAdmin
	} else {
		j.flags |= flagHeldUser
	}
	j.eligible = Never
	e.requeueRecords(r)
}

// release takes every hold back, and a priority that an operator set: the
// factors count again (spec: priority 1).
func (e *engine) release(now Time, r int32) {
	j := &e.jobs.rows[r]
	j.endHold(now)
	if j.spec.Priority != 0 {
		j.change().Priority = 0
	}
	j.reason = ReasonNone
	e.setEligible(now, r)
	e.requeueRecords(r)
}

// endHold takes the holds back; a job that was held starts to earn age now (spec:
// priority, case 8).
func (j *job) endHold(now Time) {
	if j.flags&(flagHeldUser|flagHeldAdmin) != 0 {
		j.since = now
		j.begin = max(j.begin, now)
	}
	j.flags &^= flagHeldUser | flagHeldAdmin
}

// setEligible notes since when a pending job earns age, if it does.
func (e *engine) setEligible(now Time, r int32) {
	j := &e.jobs.rows[r]
	if j.flags&(flagHeldUser|flagHeldAdmin) != 0 || j.begin > now || j.depend.blocks() {
		e.accrueOff(j)
	}
	switch {
	case j.depend.blocks():
		j.eligible = Never
		if j.plan == 0 {
			j.start, j.end = Never, Never
		}
	case j.begin > now:
		j.eligible = Never
		e.timers.begins.push(timer{at: j.begin, row: r, gen: j.gen, id: j.id})
		if e.cfg.Profile == ProfileSlurm && j.flags&(flagHeldUser|flagHeldAdmin) == 0 {
			j.start = j.begin // as scontrol shows it
		}
	case j.flags&(flagHeldUser|flagHeldAdmin) != 0:
		j.eligible = Never
	default:
		j.eligible = j.begin
	}
}

// unqueue makes the job's records stale.
func (e *engine) unqueue(r int32) {
	j := &e.jobs.rows[r]
	if j.flags&flagQueued != 0 {
		e.dropClaim(j)
		j.flags &^= flagQueued
		j.qgen++
		e.queue.dead += int(j.records)
	}
}

// requeueRecords computes a pending job's priority and gives it records if it
// could run.
func (e *engine) requeueRecords(r int32) {
	e.unqueue(r)
	j := &e.jobs.rows[r]
	e.computePriority(r)
	if j.state != StatePending {
		return
	}
	if why := e.waitsBefore(j); why != ReasonNone {
		if why == ReasonReservation {
			e.arrivals++
			j.records = 0
		}
		j.reason = why
		return
	}
	e.pushRecords(r)
}

// waitsBefore is why a pending job gets no records, in the order in which Slurm asks
// (spec: backfill 1.4 rows 2 to 6). What held it by itself stays shown.
func (e *engine) waitsBefore(j *job) Reason {
	held := j.flags&flagHeldAdmin != 0
	switch {
	case j.depend.blocks():
		return j.depend.reason()
	case held && (j.reason == ReasonJobLaunchFailure || j.reason == ReasonJobHoldMaxRequeue || j.reason == ReasonReservationDeleted):
		return j.reason
	case j.begin > e.resv.clock:
		return ReasonBeginTime
	case e.resvWaits(j):
		return ReasonReservation
	case held:
		return ReasonJobHeldAdmin
	case j.flags&flagHeldUser != 0:
		return ReasonJobHeldUser
	}
	return ReasonNone
}

// pushRecords gives a job a record for each partition that may run it, or the
// reason why none may.
func (e *engine) pushRecords(r int32) {
	j := &e.jobs.rows[r]
	e.arrivals++
	j.reason, j.records = ReasonNone, 0
	var few [4]resvChoice
	choices := e.choices(few[:0], j)
	for i := range j.parts {
		if why := e.partitionReason(j, i); why != ReasonNone {
			if j.records == 0 {
				j.reason = why
			}
			continue
		}
		if j.records == 0 {
			j.reason, j.firstPair = ReasonNone, int16(i)
		}
		for _, c := range choices {
			j.records++
			e.queue.push(record{
				key: e.keyOf(j, i, c.id), submit: j.submit, id: j.id, row: r, gen: j.qgen, pair: int16(i), resv: c.id, order: c.order, class: j.classes[i],
			})
		}
		k := &e.classes.rows[j.classes[i]]
		k.leastLimit = min(k.leastLimit, e.timeLimit(j, i))
	}
	switch {
	case j.records > 0:
		j.flags |= flagQueued
	case j.plan == 0:
		j.start, j.end = Never, Never // a begin time that has come is none
	}
}

// waitsFor is partitionReason for a job that is not booked yet.
func (e *engine) waitsFor(s *JobSpec, own *jobOwn, part, class int32) Reason {
	j := job{parts: []int32{part}, classes: []int32{class}, spec: s, own: own}
	return e.partitionReason(&j, 0)
}

// partitionReason says why the job may not run in partition number i of its
// list at all, now or ever (spec: backfill 1.4 row 7).
func (e *engine) partitionReason(j *job, i int) Reason {
	p := &e.parts[j.parts[i]]
	c := &e.classes.rows[j.classes[i]]
	asked := &c.key.req
	flags, qosName := e.flagsOf(j, i), e.pairQOSName(j, i)
	switch s := &p.spec; {
	case s.State == PartitionDown:
		return ReasonPartitionDown
	case s.State == PartitionInactive:
		return ReasonPartitionInactive
	case s.MaxNodes > 0 && c.min > s.MaxNodes && flags&qos.PartitionMaxNodes == 0,
		asked.MaxNodes > 0 && asked.MaxNodes < s.MinNodes && flags&qos.PartitionMinNodes == 0, int(asked.MinNodes) > c.partNodes:
		return ReasonPartitionNodeLimit
	case s.MaxTime > 0 && e.timeLimit(j, i) > s.MaxTime && flags&qos.PartitionTimeLimit == 0 && !j.acct.admin:
		return ReasonPartitionTimeLimit
	case !mayEnter(j.own.User, j.spec, s), int64(c.req.MinCPUs) > p.cpus, s.MaxCPUsPerNode > 0 && int64(c.req.MinCPUs) > int64(s.MaxCPUsPerNode)*int64(c.partNodes):
		return ReasonPartitionConfig
	case c.overMem:
		return ReasonMaxMemPerLimit
	case !allowed(s.AllowAccounts, s.DenyAccounts, e.accountName(j)):
		return ReasonAccountNotAllowed
	case len(j.qoses) > 0 && j.pairQOS(i) == 0, qosName != "" && !allowed(s.AllowQOS, s.DenyQOS, qosName):
		return ReasonQOSNotAllowed
	}
	return ReasonNone
}

func allowed(allow, deny []string, name string) bool {
	return (len(allow) == 0 || slices.Contains(allow, name)) && !slices.Contains(deny, name)
}
