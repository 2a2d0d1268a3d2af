package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A placement chooses the node of one-node requests by a policy that keeps GPUs
// whole (spec: fragmentation). What it expects to be asked for is configured, or
// learned from what is submitted.
type placement struct {
	placer *gres.Placer // nil is first fit
	policy gres.Policy
	learn  bool

	// The books of a learned workload.
	learner gres.Learner
	at      Time  // until when learner has counted
	seen    int64 // requests observed since work was made
	work    *gres.Workload
}

// learnEvery is the number of requests after which a learned workload is made
// anew: scoring all nodes again is worth it no more often.
const learnEvery = 256

// policies are those that depend on the books alone, so that a restored
// scheduler decides as its original.
var policies = [...]gres.Policy{gres.FirstFit, gres.BestFit, gres.DotProduct, gres.GPUPacking, gres.GPUClustering, gres.FGD, gres.FillUp}

// buildPlacement readies the policy that the configuration names.
func (e *engine) buildPlacement() error {
	sel := &e.par.Select
	p := &e.placement
	if sel.Fragmentation == "" {
		return nil
	}
	k := slices.IndexFunc(policies[:], func(x gres.Policy) bool { return strings.EqualFold(x.String(), sel.Fragmentation) })
	if k < 0 {
		return fmt.Errorf("scheduler: read placement policy %q: want one of %v: %w", sel.Fragmentation, policies, ErrSpec)
	}
	if p.policy = policies[k]; p.policy == gres.FirstFit {
		return nil
	}
	var shapes []gres.TaskShape
	for i := range sel.Workload {
		s, err := e.taskShape(&sel.Workload[i])
		if err != nil {
			return fmt.Errorf("scheduler: read workload entry %d: %w", i+1, err)
		}
		shapes = append(shapes, s)
	}
	p.learn = len(shapes) == 0 && (p.policy == gres.FGD || p.policy == gres.FillUp)
	p.learner.HalfLife = sel.WorkloadHalfLife
	p.work = gres.NewWorkload(shapes, p.cut())
	p.placer = gres.NewPlacer(e.pool, p.policy, p.work, 0)
	return nil
}

// cut is the part of the workload, in percent, that is looked at.
func (p *placement) cut() int {
	if p.policy == gres.FillUp {
		return 100
	}
	return 95
}

// taskShape puts an entry of a workload into the form of package gres.
func (e *engine) taskShape(w *TaskSpec) (gres.TaskShape, error) {
	s := gres.TaskShape{MilliCPU: w.CPUMilli, GPUs: w.GPUs, MilliGPU: w.GPUMilli, Label: w.GPUType, Count: w.Count}
	if s.GPUs > 0 && s.MilliGPU == 0 {
		s.MilliGPU = 1000
	}
	if s.MilliCPU < 0 || s.GPUs < 0 || s.Count < 1 || s.MilliGPU < 0 || s.MilliGPU > 1000 || s.GPUs == 0 && s.MilliGPU > 0 || s.GPUs > 1 && s.MilliGPU < 1000 {
		return s, fmt.Errorf("%d CPUs/1000, %d GPUs of %d/1000, count %d: %w", w.CPUMilli, w.GPUs, w.GPUMilli, w.Count, ErrSpec)
	}
	if w.GPUType != "" {
		s.Types = []gres.TypeID{e.devices.InternType(w.GPUType)}
	}
	return s, nil
}

// placeFree finds the node of a one-node request among those whose pool state
// says all, −1 if there is none.
func (e *engine) placeFree(c *class, pass gres.Pass, views []gres.ViewID, within []uint64) int32 {
	if pl := e.placement.placer; pl != nil {
		return pl.Place(c.pool, pass, views, within, &e.try.grants[0])
	}
	return e.pool.PlaceOne(c.pool, pass, views, within, &e.try.grants[0])
}

// choosePlace lets the policy choose among the nodes of this instant: those that
// are reserved for others over the limit are not among them. It knows a node by its
// jobs and plans alone, so it is not asked about one of which cores are reserved.
func (e *engine) choosePlace() bool {
	p, w := &e.plans, &e.try
	p.spots.Copy(&w.within)
	w.within.Clear()
	for i := range p.find.now {
		if n := topology.NodeID(p.find.now[i].node); !e.coresKept(n) {
			w.within.Add(n)
		}
	}
	ok := e.placeOne(p.find.class, p.find.limit, p)
	w.within.Copy(&p.spots)
	return ok
}

// observe counts a submitted request, and now and then makes the workload anew.
func (e *engine) observe(now Time, c *class) {
	p := &e.placement
	if !p.learn || !c.one {
		return
	}
	s := gres.TaskShapeOf(&c.req)
	if len(s.Types) > 0 && s.Types[0] == gres.NoType {
		return // no node has it
	}
	p.learner.Advance(time.Duration(now-p.at) * time.Microsecond)
	p.at = now
	p.learner.Observe(s)
	if p.seen++; p.seen >= learnEvery || p.work.Len() == 0 && p.seen >= learnEvery/16 {
		p.seen = 0
		p.work = p.learner.Workload(p.cut())
		p.placer.SetWorkload(p.work)
	}
}

// tellPlacer says that row r of a one-node class started, or with sign −1 that
// it ended, on its node.
func (e *engine) tellPlacer(j *job, sign int) {
	p := e.placement.placer
	c := &e.classes.rows[j.classes[j.partIdx]]
	if p == nil || !c.one || len(j.alloc) != 1 {
		return
	}
	if n := int32(j.alloc[0].node); sign > 0 {
		p.Started(c.pool, n)
	} else {
		p.Ended(c.pool, n)
	}
}

// visitPlacement visits what was learned.
func (e *engine) visitPlacement(c *codec) {
	p := &e.placement
	if !p.learn {
		return
	}
	shapes, left := p.learner.State()
	work := make([]gres.TaskShape, 0, p.work.Len())
	for i := range p.work.Len() {
		work = append(work, p.work.Shape(i))
	}
	num(c, &p.at)
	num(c, &p.seen)
	num(c, &left)
	list(c, &shapes, e.visitTaskShape)
	list(c, &work, e.visitTaskShape)
	if c.reading && c.err == nil {
		p.learner.SetState(shapes, left)
		p.work = gres.NewWorkload(work, 100)
		p.placer.SetWorkload(p.work)
	}
}

func (e *engine) visitTaskShape(c *codec, s *gres.TaskShape) {
	num(c, &s.MilliCPU)
	num(c, &s.GPUs)
	num(c, &s.MilliGPU)
	num(c, &s.Count)
	var types []string
	for _, t := range s.Types {
		types = append(types, e.devices.Type(t))
	}
	strs(c, &types)
	if !c.reading {
		return
	}
	s.Types = nil
	for _, t := range types {
		s.Types = append(s.Types, e.devices.InternType(t))
	}
}
