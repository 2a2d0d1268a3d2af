package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// A preempter is the engine's preemption: the configured rule, and scratch. Of
// the books it holds only wake.
type preempter struct {
	on    bool
	rule  preempt.Rule
	qos   []preempt.QOS
	ids   map[string]int32    // of QOS; looked up, never ranged over
	parts []preempt.Partition // by partition

	wake Time // when a job stops being exempt that would have been taken

	runs []runner // jobs that run, in order of submission; kept while on

	search  preempt.Search
	rows    []int32 // job rows of the candidates, in order of submission
	picked  []int32 // their places in runs
	exempt  Time    // when a job stops being spared that would have been taken
	beside  bool    // the search is beside Slurm's map
	lacking bool    // the record lacks licences that victims could give
	made    int     // searches, for tests
	left    int32   // of the account's budget; negative is any
	notices []preempt.Notice
	gang    ganging
	keys    []uint64
	order   []int32
	modes   []preempt.Mode
	victims []int32
	lenders []int32 // rows of jobs stopped for others, in order of stopping
	cost    costing
	trial   trial
	pairs   pairing

	claims   []int32 // rows of jobs whose limits are held until their victims are gone
	aside    record  // whose claim is not counted while it is tried itself
	isAside  bool
	log      []evictedFrom // evictions of the window, oldest first
	accounts nameTable     // numbers of accounts in log
	circle   []int32       // by QOS: the number that those share who may take each other in turn
}

// An eviction is what a job knows of its own preemption, and of the victims it
// waits for.
type eviction struct {
	by      JobID        // who it makes room for; 0 nobody
	at      Time         // when its grace is over
	mode    preempt.Mode // what happens then
	askedAt Time         // when it last chose victims; 0 never
	until   Time         // how long it may expect their place
	last    JobID        // who it made room for before
	times   int32        // how often it made room
	claim   qos.ChargeID // what it will use, counted against its limits; 0 nothing
	pair    int16        // partition of its list that the claim is for
}

// buildPreempt makes the rule follow parameters, partitions and QOS.
func (e *engine) buildPreempt() error {
	p := &e.pre
	p.wake = Never
	if p.gang.last == 0 {
		p.gang.next = Never
	}
	wrap := func(err error) error { return fmt.Errorf("scheduler: read preemption: %w: %w", ErrSpec, err) }
	r, err := e.readRule(&e.par.Preempt)
	if err != nil {
		return wrap(err)
	}
	p.parts = make([]preempt.Partition, len(e.parts))
	for i := range e.parts {
		s := &e.parts[i].spec
		p.parts[i] = preempt.Partition{Tier: e.parts[i].tier, Grace: s.GraceTime}
		if p.parts[i].Modes, err = preempt.ParseModes(s.PreemptMode); err != nil {
			return wrap(err)
		}
	}
	p.ids = make(map[string]int32, len(e.cfg.QOS))
	for i := range e.cfg.QOS {
		p.ids[strings.ToLower(e.cfg.QOS[i].Name)] = int32(i)
		p.ids[e.cfg.QOS[i].Name] = int32(i)
	}
	p.qos = make([]preempt.QOS, len(e.cfg.QOS))
	for i := range e.cfg.QOS {
		s := &e.cfg.QOS[i]
		q := preempt.QOS{Priority: s.Priority, Grace: s.GraceTime, Exempt: -1}
		if s.ExemptTime != nil {
			q.Exempt = *s.ExemptTime
		}
		if q.Modes, err = preempt.ParseModes(s.PreemptMode); err != nil {
			return wrap(err)
		}
		for _, name := range s.Preempt {
			if id, ok := p.ids[strings.ToLower(name)]; ok {
				q.Preempt = append(q.Preempt, id)
			}
		}
		slices.Sort(q.Preempt)
		p.qos[i] = q
	}
	p.cost.cost = e.reg.Costs[e.par.Preempt.Cost]
	p.circle = circles(p.qos)
	p.rule, p.on = r, r.Type != preempt.TypeNone
	e.listRuns()
	return nil
}

// readRule reads the parameters.
func (e *engine) readRule(p *PreemptParameters) (r preempt.Rule, err error) {
	if p.Cost != "" && e.reg.Costs[p.Cost] == nil {
		return r, fmt.Errorf("no cost %q in the registry", p.Cost)
	}
	if r.Type, err = preempt.ParseType(p.Type); err != nil {
		return r, err
	}
	if r.Cluster, err = preempt.ParseModes(p.Mode); err != nil {
		return r, err
	}
	r.Exempt = p.ExemptTime
	r.Parameters, err = preempt.ParseParameters(p.Parameters)
	return r, err
}

// qosOf is the number of a job's QOS, -1 if it has none.
func (e *engine) qosOf(j *job) int32 {
	name := e.qosName(j)
	if name == "" {
		return -1
	}
	id, ok := e.pre.ids[name]
	if !ok {
		if id, ok = e.pre.ids[strings.ToLower(name)]; !ok {
			return -1
		}
	}
	return id
}

// preemptJob fills what the pair rule looks at of a job in partition number
// pair of its list.
func (e *engine) preemptJob(dst *preempt.Job, j *job, pair int16) {
	e.describe(dst, j, pair, e.qosOf(j))
}

// describe is preemptJob for a job whose QOS is known.
func (e *engine) describe(dst *preempt.Job, j *job, pair int16, id int32) {
	p := &e.pre
	*dst = preempt.Job{
		Priority: j.prio, Part: &p.parts[j.parts[pair]], QOSID: -1, Nodes: int32(len(j.alloc)), Requeueable: e.mayRequeue(j),
	}
	if id >= 0 {
		dst.QOS, dst.QOSID = &p.qos[id], id
	}
	if j.running() {
		dst.Age = e.now.Sub(j.start)
	}
	dst.User = j.user + 1
	alone := j.spec.Exclusive
	if alone == ExclusiveNo {
		alone = e.parts[j.parts[pair]].spec.Exclusive
	}
	switch alone {
	case ExclusiveNode, ExclusiveTopo:
		dst.Alone = preempt.WithNone
	case ExclusiveUser:
		dst.Alone = preempt.WithUser
	}
}

// circles numbers QOS so that those share a number that may take each other in
// turn, over others or at once.
func circles(qos []preempt.QOS) []int32 {
	n := len(qos)
	reach := make([]bool, n*n)
	for i := range qos {
		for _, k := range qos[i].Preempt {
			reach[i*n+int(k)] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reach[i*n+j] = reach[i*n+j] || reach[i*n+k] && reach[k*n+j]
			}
		}
	}
	out := make([]int32, n)
	for i := range n {
		out[i] = int32(i)
		for j := range i {
			if reach[i*n+j] && reach[j*n+i] {
				out[i] = out[j]
				break
			}
		}
	}
	return out
}

// meets reports whether a job holds a node of the set.
func meets(j *job, s *topology.NodeSet) bool {
	for i := range j.alloc {
		if s.Has(j.alloc[i].node) {
			return true
		}
	}
	return false
}

// evict tells a victim to make room for a record's job: at once, or when its
// grace is over.
func (e *engine) evict(dst []Decision, r int32, rec record) []Decision {
	j := &e.jobs.rows[r]
	var it preempt.Job
	e.preemptJob(&it, j, j.partIdx)
	grace := e.pre.rule.GraceOf(&it)
	j.evict.by, j.evict.mode = rec.id, e.pre.rule.ModeOf(&it)
	j.evict.at = e.now.Add(grace)
	e.logEviction(&e.jobs.rows[rec.row], j)
	e.counts.Preemptions++
	if grace <= 0 {
		return e.expel(dst, r)
	}
	own := e.userSignal(j)
	// The job's own limit stays if it comes first.
	if j.end > j.evict.at {
		j.end = j.evict.at
		e.pushLimit(r)
		e.touchJob(j)
	}
	dst = e.decide(dst, r, OpPreempt)
	d := &dst[len(dst)-1]
	d.At, d.Reason = j.end, ReasonPreempted
	signal, to := e.pre.rule.Parameters.First(&own)
	d.Signal, d.Batch = signal, to == preempt.ToBatch
	d.LostGPU, d.LostCPU = e.lostBy(e.now, j)
	return e.spell(dst, r, j.evict.mode, &own, grace)
}

// expel ends a victim whose grace is over.
func (e *engine) expel(dst []Decision, r int32) []Decision {
	j := &e.jobs.rows[r]
	op := OpKill
	j.flags |= flagEnding
	e.touchJob(j)
	j.endState, j.endWhy = StatePreempted, ReasonPreempted
	if j.evict.mode == preempt.ModeRequeue {
		op = OpRequeue
		j.flags |= flagRequeue
		j.begin = e.now.Add(e.par.RequeueDelay)
	}
	dst = e.decide(dst, r, op)
	d := &dst[len(dst)-1]
	d.LostGPU, d.LostCPU = e.lostBy(e.now, j)
	return e.spell(dst, r, j.evict.mode, &preempt.UserSignal{}, 0)
}

// leaveEarly prepares the books for a victim that ended within its grace: what
// was to happen at its end happens now (spec: preempt 7).
func (e *engine) leaveEarly(now Time, j *job) {
	e.endAsVictim(now, j)
	if j.evict.by == 0 || j.lending() {
		return
	}
	if j.endWhy == ReasonPreempted {
		gpu, cpu := e.lostBy(now, j)
		e.counts.LostGPU += gpu
		e.counts.LostCPU += cpu
	}
}

// endAsVictim makes a victim that is over within its grace end as one.
func (e *engine) endAsVictim(now Time, j *job) {
	if j.evict.by == 0 || j.lending() || j.flags&flagEnding != 0 {
		return
	}
	j.flags |= flagEnding
	j.endState, j.endWhy = StatePreempted, ReasonPreempted
	if j.evict.mode == preempt.ModeRequeue {
		j.flags |= flagRequeue
		j.begin = now.Add(e.par.RequeueDelay)
	}
}

// graceOver reports whether a job at its limit is there as a victim.
func (j *job) graceOver() bool { return j.evict.by != 0 && j.evict.at <= j.end }
