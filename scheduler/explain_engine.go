package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// Explain says why a job waits; see Scheduler. It runs the steps of placement
// and keeps what each left.
func (e *engine) Explain(id JobID) (Explanation, error) {
	r := e.jobs.find(id)
	if r < 0 {
		return Explanation{}, fmt.Errorf("scheduler: explain job %d: %w", id, ErrUnknownJob)
	}
	j := &e.jobs.rows[r]
	x := Explanation{
		Job: id, State: j.state, Reason: j.reason, Partition: e.parts[j.parts[j.partIdx]].spec.Name, Now: e.now,
		Start: j.start, Planned: j.state == StatePending && j.start != Never,
	}
	if j.state != StatePending {
		return x, nil
	}
	pair := int(e.plainPair(j))
	rec := record{row: r, pair: int16(pair), resv: e.resvAsked(j)}
	e.rankOf(&x, rec)
	c := &e.classes.rows[j.classes[pair]]
	p := &e.parts[j.parts[pair]]
	x.Partition = p.spec.Name
	x.Limits = e.appendLicenses(e.appendLimits(nil, j, pair), rec)
	x.Reservations = e.reservationBlocks(rec)
	e.funnels(&x, c, p, rec)
	changeLimits(&x)
	if j.reason == ReasonReservation {
		x.Changes = nil // nothing helps before it lets the job in
	} else {
		e.askLess(&x, rec)
	}
	e.explainDependency(&x, j)
	return x, nil
}

// rankOf counts the jobs tried before a record, and names the first of them that
// waits for the same partition, or for the same reservation.
func (e *engine) rankOf(x *Explanation, rec record) {
	r := rec.row
	all := append(slices.Clone(e.queue.sorted), e.queue.incoming...)
	slices.SortFunc(all, compareRecords)
	j := &e.jobs.rows[r]
	for i := range all {
		q := &all[i]
		if !e.alive(q) {
			continue
		}
		if q.row == r {
			return
		}
		o := &e.jobs.rows[q.row]
		if q.pair != o.firstPair || q.order != 0 {
			continue
		}
		x.Ahead++
		if x.Behind == 0 && o.parts[q.pair] == j.parts[j.firstPair] && e.stopsAlike(q.resv, rec.resv) {
			x.Behind = o.id
		}
	}
	if j.flags&flagQueued == 0 {
		x.Ahead, x.Behind = 0, 0
	}
}

// funnel counts the nodes left after each stage, down to the one that leaves
// too few. within are the nodes that features and node lists allow.
func (e *engine) funnel(x *Explanation, c *class, p *partition, within *topology.NodeSet, rec record) {
	left := p.nodes.Clone()
	step := func(s Stage) bool {
		n := int32(left.Count())
		x.Funnel = append(x.Funnel, FunnelStep{s, n})
		return n >= x.Wanted
	}
	if !step(StagePartition) {
		return
	}
	left.And(&e.up)
	if !step(StageUp) {
		return
	}
	if len(e.resv.all) > 0 {
		e.leaveReserved(left, rec)
		if !step(StageReservation) {
			return
		}
	}
	left.And(within)
	if !step(StageFeatures) {
		return
	}
	mark := e.pool.Mark()
	reserved := e.bookReserved(rec)
	capable, free := e.capable(left, c)
	x.Short = e.shortages(c, capable, free)
	e.pool.Rollback(mark)
	x.Devices = e.countDevices(c, left)
	left.And(capable)
	if !step(StageHardware) {
		x.Short = nil
		return
	}
	left.And(free)
	if !step(StageFree) {
		if !reserved { // else it may be the reserved cores that it lacks
			x.Changes = e.changes(int(x.Wanted), capable, free)
		}
		return
	}
	// The plan of a job of higher rank may be what is in the way: the fit is
	// asked without plans.
	saved := c.fails
	c.fails = [2]failure{}
	if e.tryNow(rec, nil) {
		x.Funnel = append(x.Funnel, FunnelStep{StageTopology, int32(len(e.try.nodes))})
		x.Changes = append(x.Changes, Change{
			Text: "if no job of higher rank were waiting for these nodes", Nodes: e.hosts(e.try.nodes),
		})
	} else {
		x.Funnel = append(x.Funnel, FunnelStep{StageTopology, int32(min(max(e.try.refusal.Have, 0), int64(left.Count())))})
		x.Topology = e.topologyBlock(c)
	}
	c.fails = saved
}

// capable returns the nodes that could take the request if idle, and those that
// can take it now.
func (e *engine) capable(within *topology.NodeSet, c *class) (capable, free *topology.NodeSet) {
	capable, free = new(topology.NodeSet), new(topology.NodeSet)
	capable.Init(len(e.nodes))
	free.Init(len(e.nodes))
	var work gres.Scratch
	type verdict struct{ known, ok bool }
	byShape := make([]verdict, e.pool.NumShapes())
	for n := range within.All() {
		v := &byShape[e.pool.ShapeID(int32(n))]
		sh := e.pool.Shape(int32(n))
		if !v.known {
			f := gres.Evaluate(gres.NodeRow{Shape: sh, Row: make([]uint64, sh.RowLen())}, &c.req, gres.PassAny, int(c.min), &work)
			*v = verdict{true, f.Refusal == gres.RefuseNone}
		}
		if !v.ok {
			continue
		}
		capable.Add(n)
		if f := e.pool.FitOf(c.pool, gres.PassAny, c.min, int32(n)); f.Refusal == gres.RefuseNone {
			free.Add(n)
		}
	}
	return capable, free
}

// changes names the jobs whose end would let the request start, fewest first:
// for each missing node, the capable one with the fewest jobs.
func (e *engine) changes(wanted int, capable, free *topology.NodeSet) []Change {
	type busy struct {
		node topology.NodeID
		jobs int
	}
	var list []busy
	for n := range capable.All() {
		if !free.Has(n) {
			list = append(list, busy{n, len(e.nodes[n].jobs)})
		}
	}
	need := wanted - free.Count()
	if need > len(list) {
		return nil
	}
	slices.SortFunc(list, func(a, b busy) int {
		if a.jobs != b.jobs {
			return a.jobs - b.jobs
		}
		return int(a.node - b.node)
	})
	ids := make([]JobID, 0, need)
	nodes := free.AppendIDs(nil)
	nodes = nodes[:min(len(nodes), wanted-need)]
	for _, b := range list[:need] {
		nodes = append(nodes, b.node)
		for _, r := range e.nodes[b.node].jobs {
			ids = append(ids, e.jobs.rows[r].id)
		}
	}
	if len(ids) == 0 {
		return nil // no job is in the way
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Sort(nodes)
	text := "if these jobs ended:"
	if len(ids) == 1 {
		text = "if this job ended:"
	}
	for i, id := range ids {
		if i == 8 {
			text += fmt.Sprintf(" and %d more", len(ids)-i)
			break
		}
		text += fmt.Sprintf(" %d", id)
	}
	return []Change{{Text: text, Nodes: e.hosts(nodes)}}
}

// hosts folds nodes into a hostlist.
func (e *engine) hosts(nodes []topology.NodeID) string {
	var s topology.NodeSet
	s.Init(len(e.nodes))
	for _, n := range nodes {
		s.Add(n)
	}
	return string(e.names.AppendSet(nil, &s))
}

// Forecast submits the specs to a copy, runs a pass, and reads what became of
// them; see Scheduler.
func (e *engine) Forecast(specs []JobSpec) ([]Forecast, error) {
	f := e.fork()
	out := make([]Forecast, len(specs))
	for i := range specs {
		o := &out[i]
		o.Job, o.Start, o.End = specs[i].ID, Never, Never
		if err := f.Apply(f.now, Submit(&specs[i])); err != nil {
			o.Err = err.Error()
			continue
		}
		o.Accepted = true
	}
	f.plans.seen.valid = false
	f.nextBF = f.now
	decisions := f.Pass(f.now, nil)
	for i := range out {
		o := &out[i]
		for k := range decisions {
			if d := &decisions[k]; d.For == o.Job {
				o.Victims = append(o.Victims, d.Job)
			}
		}
		r := f.jobs.find(o.Job)
		if !o.Accepted || r < 0 {
			continue
		}
		j := &f.jobs.rows[r]
		o.Reason, o.Start, o.End = j.reason, j.start, j.end
		nodes := make([]topology.NodeID, 0, len(j.alloc))
		for k := range j.alloc {
			nodes = append(nodes, j.alloc[k].node)
		}
		if j.state == StatePending {
			nodes = f.plannedNodes(r)
		}
		o.Nodes = f.hosts(nodes)
	}
	return out, nil
}

// plannedNodes are the nodes of a pending job's plan.
func (e *engine) plannedNodes(r int32) []topology.NodeID {
	if e.cfg.Profile == ProfileSlurm {
		return e.slurm.round.planned(r)
	}
	var nodes []topology.NodeID
	for i := range e.plans.all[:e.plans.n] {
		if p := &e.plans.all[i]; p.row == r {
			for k := range p.grants {
				nodes = append(nodes, p.grants[k].node)
			}
			break
		}
	}
	return nodes
}

// idleLimits are the CPU limits of the class's partition on an idle node.
func (e *engine) idleLimits(c *class) *gres.CPULimits {
	p := &e.parts[c.key.part].spec
	if p.MaxCPUsPerNode == 0 && p.MaxCPUsPerSocket == 0 {
		return nil
	}
	return &gres.CPULimits{PerNode: p.MaxCPUsPerNode, PerSocket: p.MaxCPUsPerSocket}
}

var errNoPartition = errors.New("no partition takes it")
