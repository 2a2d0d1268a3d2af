package scheduler

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 3

// jobBytes and nodeBytes are about what a job and a node take.
const jobBytes, nodeBytes = 128, 32

// AppendSnapshot appends the whole state; see Scheduler.
func (e *engine) AppendSnapshot(dst []byte) ([]byte, error) {
	dst = slices.Grow(dst, jobBytes*e.jobs.ids.n+nodeBytes*len(e.nodes))
	c := codec{buf: append(dst, snapshotVersion)}
	visitConfig(&c, &e.cfg)
	e.visitState(&c)
	return binary.LittleEndian.AppendUint64(c.buf, checksum(c.buf[len(dst):])), nil
}

// checksum tells a damaged snapshot from a whole one.
func checksum(b []byte) uint64 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h ^ binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		h = mix(h ^ uint64(x))
	}
	return h
}

// Restore returns the scheduler whose AppendSnapshot made b. The registry must
// equal the original's.
func Restore(b []byte, reg *Registry) (Scheduler, error) {
	e, err := restore(b, reg)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func restore(b []byte, reg *Registry) (*engine, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("scheduler: read snapshot: no bytes: %w", ErrSnapshot)
	case b[0] != snapshotVersion:
		return nil, fmt.Errorf("scheduler: read snapshot: version %d, want %d: %w", b[0], snapshotVersion, ErrSnapshot)
	}
	end := len(b) - 8
	if end < 1 || checksum(b[:end]) != binary.LittleEndian.Uint64(b[end:]) {
		return nil, fmt.Errorf("scheduler: read snapshot: damaged: %w", ErrSnapshot)
	}
	c := codec{buf: b[1:end], reading: true}
	var cfg Config
	visitConfig(&c, &cfg)
	if c.err != nil {
		return nil, c.err
	}
	e, err := newEngine(cfg, reg)
	if err != nil {
		return nil, fmt.Errorf("scheduler: read snapshot: %w: %w", ErrSnapshot, err)
	}
	e.visitState(&c)
	if c.err == nil && c.left() > 0 {
		c.fail("bytes left over")
	}
	if c.err != nil {
		return nil, c.err
	}
	e.pool.Forget()
	return e, nil
}

// visitState visits the books. Reading starts from an engine that New made.
func (e *engine) visitState(c *codec) {
	e.reading = c.reading
	defer func() { e.reading = false }()
	num(c, &e.now)
	c.uint(&e.seq)
	c.uint(&e.freed)
	c.uint(&e.arrivals)
	c.uint(&e.passNo)
	num(c, &e.nextCal)
	num(c, &e.nextBF)
	num(c, &e.nextFull)
	c.bool(&e.leftOver)
	num(c, &e.nextSwitch)
	num(c, &e.rank.basic)
	num(c, &e.pre.wake)
	c.uint(&e.plans.seen.freed)
	c.uint(&e.plans.seen.seq)
	c.uint(&e.plans.seen.arrivals)
	c.bool(&e.plans.seen.valid)
	for _, v := range []*uint64{&e.counts.Ended, &e.counts.Starts, &e.counts.Requeues, &e.counts.Preemptions, &e.counts.Passes} {
		c.uint(v)
	}
	num(c, &e.counts.LostGPU)
	num(c, &e.counts.LostCPU)
	for i := range e.nodes {
		num(c, &e.nodes[i].state)
		c.str(&e.nodes[i].reason)
		if c.reading {
			e.setAvailable(topology.NodeID(i))
		}
	}
	e.visitTypes(c)
	e.visitAccounts(c)
	if c.err != nil {
		return
	}
	e.visitReservations(c)
	e.visitOwners(c)
	e.visitJobs(c)
	e.visitDepends(c)
	e.visitRows(c, &e.jobs.ended)
	for i := range e.nodes {
		listIn(c, &c.room.rows, &e.nodes[i].jobs, e.visitRow)
	}
	if c.reading {
		e.buildShares()
		e.checkLists(c)
		e.findClosings()
		e.holdUnits()
	}
	e.visitRows(c, &e.pre.lenders)
	e.visitEvictions(c)
	list(c, &e.orders, func(c *codec, o *pendingOrder) {
		e.visitRow(c, &o.row)
		num(c, &o.op)
		if c.reading && c.err == nil {
			o.gen = e.jobs.rows[o.row].gen
		}
	})
	list(c, &e.stepping, func(c *codec, s *stepRow) {
		e.visitRow(c, &s.row)
		if c.reading && c.err == nil {
			s.gen = e.jobs.rows[s.row].gen
		}
	})
	if c.reading && c.err == nil {
		e.readQueue(c)
	}
	e.visitSlurm(c)
	e.visitFailures(c)
	e.visitPlacement(c)
	e.visitIdleInstances(c)
	if c.err == nil {
		e.visitPlans(c)
	}
}

// checkLists makes sure that the lists of what was read agree with the jobs:
// each job stands once on each of its nodes, and ended jobs are those that ended.
func (e *engine) checkLists(c *codec) {
	listed, held := 0, 0
	for i := range e.nodes {
		l := e.nodes[i].jobs
		for k, r := range l {
			j := &e.jobs.rows[r]
			at := indexOfGrant(j.alloc, topology.NodeID(i))
			if at == len(j.alloc) || j.alloc[at].node != topology.NodeID(i) || slices.Contains(l[:k], r) {
				c.fail("jobs of a node")
				return
			}
		}
		listed += len(l)
		if len(l) > 0 {
			e.counts.NodesUsed++
		}
	}
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		held += len(j.alloc)
		if j.id != 0 && j.running() != (len(j.alloc) > 0) {
			c.fail("allocation of a job that does not run")
			return
		}
	}
	if listed != held {
		c.fail("jobs of a node")
	}
	seen := make([]bool, len(e.jobs.rows))
	for _, r := range e.jobs.ended {
		if !e.jobs.rows[r].state.Ended() || seen[r] {
			c.fail("ended jobs")
			return
		}
		seen[r] = true
	}
}

// visitRow visits a reference to a job: its number in the order of the snapshot.
func (e *engine) visitRow(c *codec, r *int32) {
	if !c.reading {
		c.put(uint64(c.order[*r]))
		return
	}
	n := c.get()
	if n >= uint64(len(e.jobs.rows)) {
		c.fail("reference to no job")
		n = 0
	}
	*r = int32(n)
}

func (e *engine) visitRows(c *codec, rows *[]int32) { list(c, rows, e.visitRow) }

// visitJobs visits the jobs in row order. Free rows are left out, so rows of
// the restored engine are numbered anew; no decision depends on them.
func (e *engine) visitJobs(c *codec) {
	c.specs = newSpecTable()
	if c.reading {
		e.readJobs(c)
		return
	}
	c.put(uint64(e.jobs.ids.n))
	c.order = make([]int32, len(e.jobs.rows))
	n := int32(0)
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.id != 0 {
			c.order[r] = n
			n++
			c.put(uint64(j.id))
			e.visitJob(c, j)
		}
	}
}

// What a job has that most do not. Each is a bit of one number.
const (
	jobHasPast   = 1 << iota // it was told to end, suspended, requeued
	jobHasResv               // it runs in a reservation, or beside one
	jobHasEvict              // it was or is to be evicted
	jobHasCharge             // it is in the books of accounts
	jobHasPrios              // it has priorities in several partitions
	jobHasAlloc
	jobHasSteps
	jobHasRest // any bit from here on is an error
)

func (j *job) has() uint64 {
	h := uint64(0)
	bit := func(b uint64, some bool) {
		if some {
			h |= b
		}
	}
	bit(jobHasPast, j.restarts != 0 || j.endState != 0 || j.endWhy != 0 || j.closing != 0 || j.stopped != 0 || j.turn != 0 || j.shareRow != 0 || len(j.lent) > 0)
	bit(jobHasResv, j.resv != 0 || j.resvEnd != Never)
	bit(jobHasEvict, j.evict != eviction{})
	plain := j.acct
	plain.rebook = false
	bit(jobHasCharge, plain != jobAccount{})
	bit(jobHasPrios, len(j.prios) > 0)
	bit(jobHasAlloc, len(j.alloc) > 0)
	bit(jobHasSteps, j.steps != nil)
	return h
}

// visitJob visits a job and returns the number of what it asks. What most jobs do
// not have takes no byte.
func (e *engine) visitJob(c *codec, j *job) (ask int32) {
	num(c, &j.state)
	ask = e.visitSpec(c, j)
	has := j.has()
	c.uint(&has)
	if has >= jobHasRest {
		c.fail("job")
		return ask
	}
	num(c, &j.flags)
	num(c, &j.reason)
	num(c, &j.partIdx)
	num(c, &j.prio)
	num(c, &j.depend.phase)
	e.visitTimes(c, &j.submit, &j.since, &j.begin, &j.firstTry, &j.eligible, &j.start, &j.end)
	num(c, &j.limit)
	c.uint(&j.seq)
	if has&jobHasPrios != 0 {
		nums(c, &j.prios)
	}
	if has&jobHasPast != 0 {
		visitPast(c, j)
	}
	if has&jobHasResv != 0 {
		num(c, &j.resv)
		num(c, &j.resvEnd)
	}
	if has&jobHasEvict != 0 {
		visitEvictionOf(c, &j.evict)
	}
	e.visitJobAccount(c, j, has&jobHasCharge != 0)
	if has&jobHasAlloc != 0 {
		e.visitGrants(c, &j.alloc)
		for i := 0; c.reading && c.err == nil && i < len(j.alloc); i++ {
			e.retype(c, &j.alloc[i].grant)
		}
	}
	if has&jobHasSteps != 0 {
		e.visitSteps(c, j)
	}
	return ask
}

// visitPast visits what few jobs have gone through.
func visitPast(c *codec, j *job) {
	num(c, &j.restarts)
	num(c, &j.endState)
	num(c, &j.endWhy)
	num(c, &j.closing)
	num(c, &j.stopped)
	c.uint(&j.turn)
	num(c, &j.shareRow)
	list(c, &j.lent, func(c *codec, a *nodeGrant) {
		num(c, &a.node)
		list(c, &a.grant.Cores, (*codec).uint)
	})
}

func (e *engine) visitGrants(c *codec, list *[]nodeGrant) {
	listIn(c, &c.room.grants, list, visitNodeGrant)
}

func visitNodeGrant(c *codec, a *nodeGrant) {
	num(c, &a.node)
	visitGrant(c, &a.grant)
}

func visitEvictionOf(c *codec, v *eviction) {
	num(c, &v.by)
	num(c, &v.at)
	num(c, &v.mode)
	num(c, &v.askedAt)
	num(c, &v.until)
	num(c, &v.last)
	num(c, &v.times)
	num(c, &v.pair)
	num(c, &v.claim)
}

// visitTimes visits instants, most of which are Never or close to now.
func (e *engine) visitTimes(c *codec, list ...*Time) {
	for _, t := range list {
		if c.reading {
			v := c.get()
			if *t = Never; v != 0 {
				v--
				*t = e.now + (Time(v>>1) ^ -Time(v&1))
			}
			continue
		}
		v := uint64(0)
		if *t != Never {
			d := int64(*t - e.now)
			v = (uint64(d)<<1 ^ uint64(d>>63)) + 1
		}
		c.put(v)
	}
}

func visitDevice(c *codec, d *gres.DeviceGrant) {
	num(c, &d.Group)
	num(c, &d.Type)
	num(c, &d.Device)
	num(c, &d.Start)
	c.bool(&d.Recut)
	num(c, &d.Units)
}

func visitGrant(c *codec, g *gres.Grant) {
	listIn(c, &c.room.cores, &g.Cores, (*codec).uint)
	num(c, &g.CPUs)
	num(c, &g.MilliCPU)
	num(c, &g.MemMiB)
	listIn(c, &c.room.devs, &g.Devices, visitDevice)
	num(c, &g.Owner.Account)
	num(c, &g.Owner.User)
	c.uint(&g.Owner.Job)
	c.bool(&g.SharedCores)
}

// visitFailures visits what classes are known to fail, since the reason that a
// job shows follows from it: by a job of the class.
func (e *engine) visitFailures(c *codec) {
	type known struct {
		row    int32
		pair   int16
		inside int8
		failure
	}
	var all []known
	if !c.reading {
		told := make([]bool, len(e.classes.rows))
		for r := range e.jobs.rows {
			j := &e.jobs.rows[r]
			if j.id == 0 || j.flags&flagQueued == 0 {
				continue
			}
			for pair, id := range j.classes {
				for i := range e.classes.rows[id].fails {
					if f := &e.classes.rows[id].fails[i]; f.at == e.freed+1 && !told[id] {
						all = append(all, known{int32(r), int16(pair), int8(i), *f})
					}
				}
				told[id] = true
			}
		}
	}
	list(c, &all, func(c *codec, f *known) {
		e.visitRow(c, &f.row)
		num(c, &f.pair)
		num(c, &f.inside)
		num(c, &f.resv)
		num(c, &f.started)
		num(c, &f.limit)
		num(c, &f.refusal.Rule)
		num(c, &f.refusal.Unit)
		num(c, &f.refusal.Lack)
		num(c, &f.refusal.Need)
		num(c, &f.refusal.Have)
		num(c, &f.refusal.Part)
		if !c.reading || c.err != nil {
			return
		}
		j := &e.jobs.rows[f.row]
		if f.pair < 0 || int(f.pair) >= len(j.classes) || f.inside < 0 || f.inside > 1 {
			c.fail("failure")
			return
		}
		f.at = e.freed + 1
		e.classes.rows[j.classes[f.pair]].fails[f.inside] = f.failure
	})
}

// hash folds the books into one number: equal books have equal hashes, whatever
// rows, classes and tables look like. The pool's share rolls; the jobs are
// walked.
func (e *engine) hash() uint64 {
	h := mix(e.pool.Hash() ^ uint64(e.now))
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.id == 0 {
			continue
		}
		x := mix(uint64(j.id))
		for _, v := range [...]uint64{
			uint64(j.state), uint64(j.flags), uint64(j.reason), uint64(j.prio), uint64(j.submit), uint64(j.begin), uint64(j.eligible),
			uint64(j.start), uint64(j.end), uint64(j.limit), j.seq, uint64(j.restarts), uint64(len(j.alloc)),
			uint64(j.evict.by), uint64(j.evict.at), uint64(j.evict.askedAt), uint64(j.evict.last), uint64(j.evict.until),
			uint64(j.evict.times), uint64(j.since), uint64(j.depend.phase), uint64(j.depend.open)<<32 | uint64(j.depend.failed),
		} {
			x = mix(x ^ v)
		}
		for _, v := range j.prios {
			x = mix(x ^ uint64(v))
		}
		for i := range j.alloc {
			x = mix(x ^ uint64(j.alloc[i].node))
			for _, w := range j.alloc[i].grant.Cores {
				x = mix(x ^ w)
			}
		}
		h += x
	}
	for i := range e.nodes {
		h += mix(uint64(i)<<8 ^ uint64(e.nodes[i].state))
	}
	return mix(h ^ e.seq ^ e.hashAccounts() ^ e.hashReservations() ^ e.hashPlans())
}

// mix spreads the bits of x over the word.
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}
