package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// jobSteps are the steps of a running job: what they hold of its allocation,
// and those that wait for a part of it (spec: gres 14).
type jobSteps struct {
	queue *gres.Steps
	specs map[uint32]StepSpec // of what runs or waits; looked up, never ranged over
}

// stepRow is a job whose waiting steps are tried in the next pass.
type stepRow struct {
	row int32
	gen uint32
}

// stepEvent books the arrival or the end of a step.
func (e *engine) stepEvent(ev *Event, r int32) error {
	j := &e.jobs.rows[r]
	bad := func(what string, err error) error {
		if ev.Step == nil {
			return fmt.Errorf("scheduler: apply %s: job %d: %s: %w", ev.Kind, j.id, what, err)
		}
		return fmt.Errorf("scheduler: apply %s: job %d: step %d: %s: %w", ev.Kind, j.id, ev.Step.ID, what, err)
	}
	switch {
	case ev.Step == nil:
		return bad("no step given", ErrSpec)
	case !j.running():
		return bad("the job is "+j.state.String(), ErrJobState)
	}
	id := ev.Step.ID
	known := false
	if j.steps != nil {
		_, known = j.steps.specs[id]
	}
	if ev.Kind == EventStepEnd {
		if !known {
			return bad("no such step", ErrSpec)
		}
		if !j.steps.queue.End(id) {
			j.steps.queue.Cancel(id)
		}
		delete(j.steps.specs, id)
		e.tellSteps(r)
		return nil
	}
	if known {
		return bad("step id in use", ErrSpec)
	}
	req, err := e.stepRequest(ev.Step)
	if err != nil {
		return bad("request", err)
	}
	steps := j.steps
	if steps == nil {
		steps = e.newSteps(j)
	}
	if why := steps.queue.Submit(id, &req); why != gres.StepRuns {
		return bad("request", stepError(why))
	}
	j.steps = steps
	steps.specs[id] = *ev.Step
	e.tellSteps(r)
	return nil
}

// stepError is why a step is refused for good.
func stepError(why gres.StepReason) error {
	if why == gres.StepBusy {
		return fmt.Errorf("%s: %w", why, ErrStepBusy)
	}
	return fmt.Errorf("%s: %w", why, ErrNeverRuns)
}

// newSteps readies the allocation of a running job for steps.
func (e *engine) newSteps(j *job) *jobSteps {
	nodes := make([]gres.StepNode, len(j.alloc))
	for i := range j.alloc {
		nodes[i] = gres.StepNode{Shape: e.pool.Shape(int32(j.alloc[i].node)), Grant: &j.alloc[i].grant}
	}
	s := &jobSteps{queue: gres.NewSteps(nodes), specs: map[uint32]StepSpec{}}
	s.queue.Passing = e.par.StepPassing
	return s
}

// tellSteps has the next pass look at the steps of row r.
func (e *engine) tellSteps(r int32) {
	j := &e.jobs.rows[r]
	x := stepRow{r, j.gen}
	if n := len(e.stepping); j.steps != nil && j.steps.queue.Waiting() > 0 && (n == 0 || e.stepping[n-1] != x) {
		e.stepping = append(e.stepping, x)
	}
}

// startSteps starts the steps that have become able to run.
func (e *engine) startSteps(dst []Decision) []Decision {
	for _, x := range e.stepping {
		j := &e.jobs.rows[x.row]
		if j.gen != x.gen || j.state != StateRunning || j.steps == nil {
			continue
		}
		for {
			id, g, ok := j.steps.queue.Next()
			if !ok {
				break
			}
			e.seq++
			from := len(e.try.names)
			for _, n := range g.Nodes {
				e.try.names = append(e.try.names, e.names.Name(j.alloc[n].node))
			}
			dst = append(dst, Decision{
				Seq: e.seq, Op: OpStepStart, Job: j.id, ArrayTask: -1, Step: id, At: e.now, Limit: j.limit,
				Partition: e.parts[j.parts[j.partIdx]].spec.Name, QOS: e.qosName(j), Nodes: e.try.names[from:len(e.try.names):len(e.try.names)],
			})
		}
	}
	e.stepping = e.stepping[:0]
	return dst
}

// stepRequest puts a step's request into the form of package gres.
func (e *engine) stepRequest(s *StepSpec) (gres.StepRequest, error) {
	r := gres.StepRequest{Tasks: s.Tasks, CPUsPerTask: s.CPUsPerTask, MinNodes: s.MinNodes, MaxNodes: s.MaxNodes, MemMiB: s.MemMiB}
	for _, f := range []struct {
		name string
		v    int64
	}{{"Tasks", int64(s.Tasks)}, {"CPUsPerTask", int64(s.CPUsPerTask)}, {"MinNodes", int64(s.MinNodes)}, {"MaxNodes", int64(s.MaxNodes)}, {"MemMiB", s.MemMiB}} {
		if f.v < 0 {
			return r, fmt.Errorf("%s %d is negative: %w", f.name, f.v, ErrSpec)
		}
	}
	for _, f := range []struct {
		flag gres.StepFlags
		set  bool
	}{
		{gres.StepOverlap, s.Overlap}, {gres.StepWhole, !s.Exact && s.CPUsPerTask == 0 && !s.Overlap},
		{gres.StepImmediate, s.Immediate}, {gres.StepNoDevices, s.GRES == "none"},
	} {
		if f.set {
			r.Flags |= f.flag
		}
	}
	var asks []gres.Ask
	var err error
	if s.GRES != "" && s.GRES != "none" {
		asks, err = gres.ParseAsks(asks, gres.PerNode, "gres", s.GRES)
	}
	for _, f := range []struct {
		per          gres.Per
		option, text string
	}{{gres.PerJob, "gpus", s.GPUs}, {gres.PerTask, "gpus-per-task", s.GPUsPerTask}} {
		if err == nil && f.text != "" {
			asks, err = gres.ParseGPUs(asks, f.per, f.option, f.text)
		}
	}
	if err != nil {
		return r, err
	}
	return r, e.stepNeeds(&r, asks)
}

// stepNeeds adds the devices asked to r. Names and types that no node has are
// found out by the allocation: it has none of them.
func (e *engine) stepNeeds(r *gres.StepRequest, asks []gres.Ask) error {
	for i := range asks {
		a := &asks[i]
		name, ok := e.devices.NameID(a.Name)
		typ := gres.TypeID(0)
		if ok && a.Type != "" {
			typ, ok = e.devices.TypeID(a.Type)
		}
		if !ok {
			return stepError(gres.StepInvalidDevices)
		}
		k := 0
		for k < int(r.NumNeeds) && (r.Needs[k].Name != name || r.Needs[k].Type != typ) {
			k++
		}
		if k == gres.MaxNeeds {
			return fmt.Errorf("more than %d kinds of devices: %w", gres.MaxNeeds, ErrSpec)
		}
		n := &r.Needs[k]
		n.Name, n.Type = name, typ
		r.NumNeeds = max(r.NumNeeds, uint8(k+1))
		switch a.Per {
		case gres.PerJob:
			n.PerJob = a.Count
		case gres.PerTask:
			n.PerTask = a.Count
		default:
			n.PerNode = a.Count
		}
	}
	return nil
}

// visitSteps visits the steps of job row r, after its allocation.
func (e *engine) visitSteps(c *codec, j *job) {
	var running, waiting []uint32
	if !c.reading {
		running, waiting = j.steps.queue.AppendRunning(nil), j.steps.queue.AppendWaiting(nil)
	} else {
		for i := range j.alloc {
			n := j.alloc[i].node
			if !e.placed(n) {
				c.fail("allocation")
				return
			}
			sh := e.pool.Shape(int32(n))
			if sh.CheckGrant(make([]uint64, sh.RowLen()), &j.alloc[i].grant) != nil {
				c.fail("allocation")
				return
			}
		}
		j.steps = e.newSteps(j)
	}
	q := j.steps
	list(c, &running, func(c *codec, id *uint32) {
		spec, g := e.visitStep(c, q, id), gres.StepGrant{}
		if !c.reading {
			held, _ := q.queue.Grant(*id)
			g = *held
		}
		nums(c, &g.Nodes)
		nums(c, &g.Tasks)
		list(c, &g.Grants, visitGrant)
		if !c.reading || c.err != nil {
			return
		}
		for i := range g.Grants {
			e.retype(c, &g.Grants[i])
		}
		if r, err := e.stepRequest(&spec); err != nil || !q.queue.Adopt(*id, &r, &g) {
			c.fail("step")
		}
	})
	list(c, &waiting, func(c *codec, id *uint32) {
		spec := e.visitStep(c, q, id)
		if !c.reading || c.err != nil {
			return
		}
		spec.Immediate = false // it waited already
		if r, err := e.stepRequest(&spec); err != nil || q.queue.Submit(*id, &r) != gres.StepRuns {
			c.fail("waiting step")
		}
	})
}

// visitStep visits what a step asked.
func (e *engine) visitStep(c *codec, q *jobSteps, id *uint32) StepSpec {
	spec := q.specs[*id]
	num(c, &spec.ID)
	num(c, &spec.Tasks)
	num(c, &spec.CPUsPerTask)
	num(c, &spec.MinNodes)
	num(c, &spec.MaxNodes)
	num(c, &spec.MemMiB)
	c.str(&spec.GRES)
	c.str(&spec.GPUs)
	c.str(&spec.GPUsPerTask)
	c.bool(&spec.Overlap)
	c.bool(&spec.Exact)
	c.bool(&spec.Immediate)
	if c.reading {
		if _, ok := q.specs[spec.ID]; ok {
			c.fail("step id")
		}
		*id = spec.ID
		q.specs[spec.ID] = spec
	}
	return spec
}

// AppendSteps appends the steps of a job; see View.
func (v view) AppendSteps(dst []StepView, id JobID) []StepView {
	r := v.e.jobs.find(id)
	if r < 0 || v.e.jobs.rows[r].steps == nil {
		return dst
	}
	j := &v.e.jobs.rows[r]
	for _, k := range j.steps.queue.AppendRunning(nil) {
		w := StepView{ID: k, Running: true, Reason: gres.StepRuns.String()}
		g, _ := j.steps.queue.Grant(k)
		for i, n := range g.Nodes {
			a := v.e.nodeAlloc(&nodeGrant{node: j.alloc[n].node, grant: g.Grants[i]})
			w.Nodes = append(w.Nodes, a)
			w.Tasks = append(w.Tasks, g.Tasks[i])
		}
		dst = append(dst, w)
	}
	for _, k := range j.steps.queue.AppendWaiting(nil) {
		dst = append(dst, StepView{ID: k, Reason: j.steps.queue.Why(k).String()})
	}
	return dst
}

// checkSteps panics unless steps belong to a running job's nodes.
func (e *engine) checkSteps(j *job) {
	if j.steps == nil {
		return
	}
	if !j.running() {
		panic(fmt.Sprintf("scheduler: job %d is %s and has steps", j.id, j.state))
	}
	held := map[topology.NodeID]bool{}
	for i := range j.alloc {
		held[j.alloc[i].node] = true
	}
	for _, k := range j.steps.queue.AppendRunning(nil) {
		g, _ := j.steps.queue.Grant(k)
		for _, n := range g.Nodes {
			if int(n) >= len(j.alloc) || !held[j.alloc[n].node] {
				panic(fmt.Sprintf("scheduler: step %d of job %d runs where the job does not", k, j.id))
			}
		}
	}
}
