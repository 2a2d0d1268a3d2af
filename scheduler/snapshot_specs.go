package scheduler

import "slices"

// Many jobs ask for the same thing. A snapshot holds what they ask once, and of
// each job what is its own beside; reading compiles it once.

// A specTable is what a snapshot that is written or read has of specifications so
// far.
type specTable struct {
	asks    []*JobSpec
	byClass [][]int32 // written: numbers of asks, by class; first those of ended jobs
	read    []readAsk // by number
	words   []string  // names, in order of their first use
	wordOf  map[string]uint64
}

// A readAsk is what compiling a specification gave.
type readAsk struct {
	parts, classes []int32 // nil: not known
	uses           licenseUse
}

// sameAskMost is with how many specifications of its class one is compared.
const sameAskMost = 32

// find returns the number of the ask that s is equal to but for what is a job's
// own; fresh is whether it is new. Jobs are told apart by class, which is the
// same in a restored scheduler, whatever its number is.
func (t *specTable) find(s *JobSpec, class int32) (id int32, fresh bool) {
	for int(class) >= len(t.byClass) {
		t.byClass = append(t.byClass, make([][]int32, int(class)+1-len(t.byClass))...)
	}
	list := t.byClass[class]
	for i := len(list) - 1; i >= max(len(list)-sameAskMost, 0); i-- {
		if sameAsk(t.asks[list[i]], s) {
			return list[i], false
		}
	}
	id = int32(len(t.asks))
	t.asks = append(t.asks, s)
	t.byClass[class] = append(list, id)
	return id, true
}

// visitSpec visits the specification of a job and returns the number of its ask.
func (e *engine) visitSpec(c *codec, j *job) (ask int32) {
	t := c.specs
	fresh := false
	if !c.reading {
		class := int32(0)
		if !j.state.Ended() {
			class = j.classes[0] + 1
		}
		ask, fresh = t.find(j.spec, class)
	}
	n := uint64(ask) + 1
	if fresh {
		n = 0
	}
	c.uint(&n)
	if c.reading {
		s := new(JobSpec)
		switch {
		case n == 0:
			ask = int32(len(t.asks))
			visitJobSpec(c, s)
			t.asks, t.read = append(t.asks, s), append(t.read, readAsk{})
		case n > uint64(len(t.asks)):
			c.fail("what a job asks")
		default:
			ask = int32(n - 1)
			*s = *t.asks[ask]
		}
		j.spec = s
	} else if n == 0 {
		visitJobSpec(c, j.spec)
	}
	if n > 0 {
		visitOwn(c, j.spec)
	}
	j.spec.ID = j.id
	return ask
}

// visitOwn visits the fields of a specification in which jobs that ask the same
// may differ, but for the id.
func visitOwn(c *codec, s *JobSpec) {
	c.str(&s.Name)
	c.word(&s.User)
	c.word(&s.Account)
	rest := s.WCKey != "" || s.Comment != "" || s.AdminComment != "" || s.Dependency != "" || s.Begin != 0 || s.Deadline != 0
	c.bool(&rest)
	if !rest {
		s.WCKey, s.Comment, s.AdminComment, s.Dependency, s.Begin, s.Deadline = "", "", "", "", 0, 0
		return
	}
	c.word(&s.WCKey)
	c.str(&s.Comment)
	c.str(&s.AdminComment)
	c.str(&s.Dependency)
	num(c, &s.Begin)
	num(c, &s.Deadline)
}

// word visits a text that is likely to occur again.
func (c *codec) word(v *string) {
	t := c.specs
	if !c.reading {
		n, ok := t.wordOf[*v]
		if !ok {
			t.wordOf[*v] = uint64(len(t.wordOf)) + 1
		}
		if c.uint(&n); !ok {
			c.str(v)
		}
		return
	}
	var n uint64
	switch c.uint(&n); {
	case n == 0:
		c.str(v)
		t.words = append(t.words, *v)
	case n > uint64(len(t.words)):
		c.fail("word")
		*v = ""
	default:
		*v = t.words[n-1]
	}
}

// compileRead gives a job that was read its partitions, classes and licences, from
// what another with the same ask has got.
func (e *engine) compileRead(c *codec, j *job, ask int32) {
	k := &c.specs.read[ask]
	if k.parts == nil || len(e.scopes) > 0 {
		var err error
		if k.parts, err = e.partitionsOf(j.spec); err != nil {
			c.fail("job partition")
			return
		}
		k.classes = nil
	}
	if j.parts = k.parts; j.partIdx < 0 || int(j.partIdx) >= len(j.parts) {
		c.fail("job partition")
		return
	}
	if j.state.Ended() {
		return
	}
	if k.classes == nil {
		var err error
		if _, k.classes, err = e.compile(j.spec); err != nil {
			c.fail("job request")
			return
		}
		if k.uses, err = e.usesOf(j.spec); err != nil {
			c.fail("licences of a job")
			return
		}
	}
	j.classes = k.classes
	pick := j.licenses.pick
	if j.licenses = k.uses; pick < 0 || int(pick) > len(k.uses.asks) {
		c.fail("licences of a job")
		return
	}
	j.licenses.pick = pick
}

// sameAsk reports whether two jobs ask the same, but for the fields of visitOwn.
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
