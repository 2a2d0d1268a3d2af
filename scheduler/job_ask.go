package scheduler

import "slices"

// Many jobs ask for the same thing: of what jobs ask there is one copy, which
// they, forks and snapshots share and nobody writes to. What is a job's own stands
// beside it.

// A jobOwn is the part of a specification in which jobs that ask the same may
// differ, but for the id. It is never written once it is made.
type jobOwn struct {
	Name, User, Account string
	Deadline            Time
	rest                *jobRest // nil if it is zero
}

// A jobRest is what few jobs have of their own.
type jobRest struct {
	WCKey, Comment, AdminComment, Dependency string
	Begin                                    Time
}

// ownOf returns what of s is the job's own.
func ownOf(s *JobSpec) *jobOwn {
	o := &jobOwn{Name: s.Name, User: s.User, Account: s.Account, Deadline: s.Deadline}
	if r := (jobRest{s.WCKey, s.Comment, s.AdminComment, s.Dependency, s.Begin}); r != (jobRest{}) {
		o.rest = &r
	}
	return o
}

// put makes s the specification of the job id that asks s and has o.
func (o *jobOwn) put(s *JobSpec, id JobID) {
	s.ID, s.Name, s.User, s.Account, s.Deadline = id, o.Name, o.User, o.Account, o.Deadline
	r := o.rest
	if r == nil {
		r = &jobRest{}
	}
	s.WCKey, s.Comment, s.AdminComment, s.Dependency, s.Begin = r.WCKey, r.Comment, r.AdminComment, r.Dependency, r.Begin
}

// dependency is what the job waits for, as it was asked.
func (o *jobOwn) dependency() string {
	if o.rest == nil {
		return ""
	}
	return o.rest.Dependency
}

// asked returns the whole specification of j. Its lists are shared.
func (j *job) asked() JobSpec {
	s := *j.spec
	j.own.put(&s, j.id)
	return s
}

// change gives the job a copy of what it asks to write in.
func (j *job) change() *JobSpec {
	s := *j.spec
	j.spec = &s
	return &s
}

// ask makes s the specification of j. Nothing of s is kept but texts.
func (t *jobTable) ask(j *job, s *JobSpec) { j.spec, j.own = t.asks.share(s), ownOf(s) }

// An askTable finds what is asked again. It holds the newest few of each set, so
// what nobody asks any more goes in time.
type askTable struct{ entries []askEntry }

type askEntry struct {
	hash uint64
	spec *JobSpec
}

// askSets is the number of sets, a power of two, and askWays the size of each.
const askSets, askWays = 512, 4

// share returns the one copy of what s asks, made from s if there is none.
func (t *askTable) share(s *JobSpec) *JobSpec {
	if t.entries == nil {
		t.entries = make([]askEntry, askSets*askWays)
	}
	h := hashAsk(s)
	set := t.entries[int(h%askSets)*askWays:][:askWays]
	for i := range set {
		if x := &set[i]; x.hash == h && x.spec != nil && sameAsk(x.spec, s) {
			return x.spec
		}
	}
	c := cloneSpec(s)
	new(jobOwn).put(&c, 0)
	copy(set[1:], set)
	set[0] = askEntry{h, &c}
	return &c
}

// hashAsk folds most fields of what is asked into a number.
func hashAsk(s *JobSpec) uint64 {
	h := uint64(len(s.Partitions))
	text := func(v string) {
		h = mix(h ^ uint64(len(v)))
		for ; len(v) >= 8; v = v[8:] {
			h = mix(h ^ (uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 | uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56))
		}
		for i := range len(v) {
			h = h<<8 ^ uint64(v[i]) ^ h>>56
		}
	}
	for _, list := range [...][]string{s.Partitions, s.QOS, s.Reservations, s.Groups} {
		for _, v := range list {
			text(v)
		}
	}
	for _, v := range [...]string{
		s.Licenses, s.GRES, s.GPUs, s.GPUsPerNode, s.GPUsPerSocket, s.GPUsPerTask, s.TRESPerTask, s.NodeList, s.Exclude, s.Constraint, s.Prefer,
		s.ExtraNodeInfo, s.MCSLabel, s.KillOnInvalidDep, s.TRESBind, s.Distribution, s.Hint,
	} {
		if v != "" {
			text(v)
		}
	}
	for _, v := range [...]uint64{
		uint64(s.TimeLimit), uint64(s.TimeMin), uint64(s.HetJob), uint64(s.MemMiB), uint64(s.TmpMiB), uint64(s.CPUMilli), uint64(s.GPUMilli), uint64(s.DelayBoot),
		uint64(s.SignalBefore), uint64(s.SwitchWait), uint64(s.CheckpointEvery),
		pack(s.MinNodes, s.MaxNodes), pack(s.Tasks, s.TasksPerNode), pack(s.CPUsPerTask, s.MinCPUs), pack(s.Nice, s.SiteFactor), pack(s.Priority, s.Component),
		pack(s.CPUsPerGPU, s.Segment), pack(s.Switches, s.TasksPerGPU), pack(s.TasksPerSocket, s.TasksPerCore), pack(s.Signal, s.Requeue),
		pack(s.Exclusive, s.Mem), pack(s.CoreSpec, s.ThreadSpec),
	} {
		h = mix(h ^ v)
	}
	return h
}

// pack joins two small numbers.
func pack[A, B ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](a A, b B) uint64 {
	return uint64(uint32(a))<<32 | uint64(uint32(b))
}

// fork copies the table.
func (t *askTable) fork() askTable { return askTable{slices.Clone(t.entries)} }

// sameAsk reports whether two jobs ask the same, but for what is their own.
func sameAsk(a, b *JobSpec) bool {
	return a.TimeLimit == b.TimeLimit && slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.QOS, b.QOS) &&
		a.GPUsPerNode == b.GPUsPerNode && a.MinNodes == b.MinNodes && a.MemMiB == b.MemMiB && a.CPUsPerTask == b.CPUsPerTask &&
		a.Tasks == b.Tasks && a.TasksPerNode == b.TasksPerNode && slices.Equal(a.Groups, b.Groups) &&
		slices.Equal(a.Reservations, b.Reservations) && a.Component == b.Component && a.HetJob == b.HetJob && a.TimeMin == b.TimeMin &&
		a.Hold == b.Hold && a.Nice == b.Nice && a.Priority == b.Priority && a.SiteFactor == b.SiteFactor &&
		a.KillOnInvalidDep == b.KillOnInvalidDep && a.Array == b.Array && a.Licenses == b.Licenses && a.BurstBuffer == b.BurstBuffer &&
		a.Signal == b.Signal && a.SignalBefore == b.SignalBefore && a.SignalFlags == b.SignalFlags && a.Requeue == b.Requeue &&
		a.NoKill == b.NoKill && a.DelayBoot == b.DelayBoot && a.Reboot == b.Reboot && a.MaxNodes == b.MaxNodes &&
		a.NodesRange == b.NodesRange && slices.Equal(a.NodeSizes, b.NodeSizes) && a.UseMinNodes == b.UseMinNodes &&
		a.TasksPerSocket == b.TasksPerSocket && a.TasksPerCore == b.TasksPerCore && a.TasksPerGPU == b.TasksPerGPU &&
		a.CPUMilli == b.CPUMilli && a.GPUMilli == b.GPUMilli && a.MinCPUs == b.MinCPUs && a.SocketsPerNode == b.SocketsPerNode &&
		a.CoresPerSocket == b.CoresPerSocket && a.ThreadsPerCore == b.ThreadsPerCore && a.ExtraNodeInfo == b.ExtraNodeInfo &&
		a.Hint == b.Hint && a.Distribution == b.Distribution && a.Overcommit == b.Overcommit && a.Oversubscribe == b.Oversubscribe &&
		a.Exclusive == b.Exclusive && a.CoreSpec == b.CoreSpec && a.ThreadSpec == b.ThreadSpec && a.CoreSpecSet == b.CoreSpecSet &&
		a.MCSLabel == b.MCSLabel && a.Mem == b.Mem && a.TmpMiB == b.TmpMiB && a.GRES == b.GRES && a.GPUs == b.GPUs &&
		a.GPUsPerSocket == b.GPUsPerSocket && a.GPUsPerTask == b.GPUsPerTask && a.TRESPerTask == b.TRESPerTask &&
		a.CPUsPerGPU == b.CPUsPerGPU && a.GRESFlags == b.GRESFlags && a.TRESBind == b.TRESBind && a.GPUFreq == b.GPUFreq &&
		a.NodeList == b.NodeList && a.Exclude == b.Exclude && a.Constraint == b.Constraint && a.Prefer == b.Prefer &&
		a.ClusterConstraint == b.ClusterConstraint && a.Contiguous == b.Contiguous && a.Spread == b.Spread &&
		a.Switches == b.Switches && a.SwitchWait == b.SwitchWait && a.Segment == b.Segment && a.SpreadSegments == b.SpreadSegments &&
		a.ConsolidateSegments == b.ConsolidateSegments && slices.Equal(a.Levels, b.Levels) && slices.Equal(a.Kept, b.Kept) &&
		a.CheckpointEvery == b.CheckpointEvery
}
