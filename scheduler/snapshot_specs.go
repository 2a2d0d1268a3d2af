package scheduler

// Many jobs ask for the same thing. A snapshot holds what they ask once, and of
// each job what is its own beside; reading compiles it once.

// A specTable is what a snapshot that is written or read has of specifications so
// far.
type specTable struct {
	asks   []*JobSpec
	number map[*JobSpec]int32 // written: number of an ask
	byHash map[uint64][]int32 // written: numbers of asks, by hash
	read   []readAsk          // by number
	words  []string           // names, in order of their first use
	wordOf map[string]uint64
}

// A readAsk is what compiling a specification gave.
type readAsk struct {
	parts, classes []int32 // nil: not known
	uses           licenseUse
}

func newSpecTable() *specTable {
	return &specTable{number: map[*JobSpec]int32{}, byHash: map[uint64][]int32{}, wordOf: map[string]uint64{}}
}

// find returns the number of what s asks; fresh is whether it is new. Asks are told
// apart by what is in them, since jobs that came at different times may have
// copies.
func (t *specTable) find(s *JobSpec) (id int32, fresh bool) {
	if id, ok := t.number[s]; ok {
		return id, false
	}
	h := hashAsk(s)
	for _, id := range t.byHash[h] {
		if sameAsk(t.asks[id], s) {
			t.number[s] = id
			return id, false
		}
	}
	id = int32(len(t.asks))
	t.asks = append(t.asks, s)
	t.number[s], t.byHash[h] = id, append(t.byHash[h], id)
	return id, true
}

// visitSpec visits the specification of a job and returns the number of its ask.
func (e *engine) visitSpec(c *codec, j *job) (ask int32) {
	t := c.specs
	fresh := false
	if !c.reading {
		ask, fresh = t.find(j.spec)
	}
	n := uint64(ask) + 1
	if fresh {
		n = 0
	}
	c.uint(&n)
	switch {
	case !c.reading:
		if n == 0 {
			visitJobSpec(c, j.spec)
		}
		visitOwn(c, j.own)
		return ask
	case n == 0:
		ask = int32(len(t.asks))
		var s JobSpec
		visitJobSpec(c, &s)
		t.asks, t.read = append(t.asks, e.jobs.asks.share(&s)), append(t.read, readAsk{})
	case n > uint64(len(t.asks)):
		c.fail("what a job asks")
		return 0
	default:
		ask = int32(n - 1)
	}
	j.spec, j.own = t.asks[ask], &c.room.own.take(1)[0]
	visitOwn(c, j.own)
	return ask
}

// visitOwn visits what is a job's own.
func visitOwn(c *codec, o *jobOwn) {
	c.str(&o.Name)
	c.word(&o.User)
	c.word(&o.Account)
	num(c, &o.Deadline)
	if !c.has(o.rest != nil) {
		return
	}
	if c.reading {
		o.rest = new(jobRest)
	}
	r := o.rest
	c.word(&r.WCKey)
	c.str(&r.Comment)
	c.str(&r.AdminComment)
	c.str(&r.Dependency)
	num(c, &r.Begin)
	if *r == (jobRest{}) {
		o.rest = nil
	}
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
		spec := j.asked() // devices may be particular about whose a job is
		if _, k.classes, err = e.compile(&spec); err != nil {
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
