package main

import (
	"fmt"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/cgroupsv2"
)

// A plan is a step of this node, worked out: what its fence is, which CPUs and
// GPUs each task gets and what its environment says.
type plan struct {
	order *order
	node  cgroupsv2.Node
	job   cgroupsv2.Job
	step  cgroupsv2.Step
	masks [][]uint64 // the kernel's CPU numbers by task; nil for an unbound one
	bound bind.Bound
	env   bind.NodeEnv
	gpus  bind.Devices
}

// work works an order out. It reads nothing but the order.
func work(o *order) (*plan, error) {
	l, m := &o.Launch, &o.Machine
	id, err := cgroupsv2.ParseSLUID(l.SLUID)
	if err != nil {
		return nil, err
	}
	p := &plan{order: o}
	p.node = cgroupsv2.Node{RealMemory: o.Memory, TracksMemory: o.Tracks, Mems: m.Mems, Records: m.Records}
	p.job = cgroupsv2.Job{SLUID: id, ID: l.Job.ID, Memory: l.Memory}
	p.step = cgroupsv2.Step{ID: cgroupsv2.StepID(l.Step), Memory: l.StepMemory, OOMKill: l.OOMKillStep}
	var abstract []uint64
	if o.Conf.ConstrainCores || l.CPUBind != "none" {
		if _, p.job.CPUs, err = m.kernelCPUs(l.CPUs); err != nil {
			return nil, err
		}
		if abstract, p.step.CPUs, err = m.kernelCPUs(l.StepCPUs); err != nil {
			return nil, err
		}
	}
	if p.job.Held, err = m.held(l.GPUs); err != nil {
		return nil, err
	}
	if p.step.Held, err = m.held(l.StepGPUs); err != nil {
		return nil, err
	}
	abstractMasks, err := p.bindCPUs(abstract)
	if err != nil {
		return nil, err
	}
	if err := p.bindGPUs(abstractMasks); err != nil {
		return nil, err
	}
	p.describe()
	return p, nil
}

// bindCPUs gives each task its CPUs; a step that is not bound gives nil masks.
func (p *plan) bindCPUs(cpus []uint64) ([][]uint64, error) {
	l, m := &p.order.Launch, &p.order.Machine
	masks := make([][]uint64, len(l.Tasks))
	p.masks = make([][]uint64, len(l.Tasks))
	if l.Place != bind.PlaceTask || l.CPUBind == "none" || len(l.Tasks) == 0 {
		return masks, nil
	}
	req := bind.CPURequest{Tasks: int32(len(l.Tasks)), CPUsPerTask: l.CPUsPerTask}
	if l.CPUBind != "" {
		var err error
		if req.Bind, err = bind.ParseCPUBind(l.CPUBind); err != nil {
			return nil, err
		}
	}
	var layer bind.CPULayer
	var laid bind.Masks
	alloc := make([]uint64, (len(m.Numbers)+63)/64)
	copy(alloc, cpus)
	if why := layer.Lay(&laid, &m.Shape, alloc, &req); why != bind.Accepted {
		return nil, fmt.Errorf("nodeagent: bind tasks to CPUs %q: %v", l.StepCPUs, why)
	}
	for i, mask := range laid.Tasks() {
		if mask != nil {
			masks[i] = append([]uint64{}, mask...)
			p.masks[i] = bind.AppendMachine(nil, mask, m.Numbers)
		}
	}
	return masks, nil
}

// bindGPUs says which GPUs each task sees, and lets the fence say the same.
func (p *plan) bindGPUs(masks [][]uint64) error {
	l, m := &p.order.Launch, &p.order.Machine
	p.gpus = bind.Devices{Index: l.StepGPUs, Job: l.GPUs, Constrained: p.order.Conf.ConstrainDevices}
	for _, g := range l.StepGPUs {
		p.gpus.Near = append(p.gpus.Near, m.Near[g])
	}
	var how bind.Binding
	if l.GPUBind != "" {
		var err error
		if how, err = bind.ParseGPUBind(l.GPUBind); err != nil {
			return err
		}
	}
	var b bind.Binder
	b.Bind(&p.bound, &how, &p.gpus, masks)
	for i := range l.Tasks {
		t := cgroupsv2.Task{Rank: l.Tasks[i].Rank}
		if how.Mode != bind.ModeNone {
			held, err := m.held(p.gpus.AppendGlobal(nil, p.bound.Task(i)))
			if err != nil {
				return err
			}
			t.Bound, t.Held = true, held
		}
		p.step.Tasks = append(p.step.Tasks, t)
	}
	return nil
}

// describe fills in what tasks of this node share.
func (p *plan) describe() {
	l, m := &p.order.Launch, &p.order.Machine
	e := &p.env
	e.Name, e.ID, e.CPUs = p.order.Node, l.NodeID, l.CPUsOnNode
	if e.CPUs == 0 {
		set, _ := cgroupsv2.ParseList(l.StepCPUs)
		e.CPUs = count(set)
	}
	e.GPUs, e.JobGPUs = int32(len(l.StepGPUs)), l.BatchGPUs
	if len(l.StepGPUs) > 0 {
		e.Devices, e.Flags = &p.gpus, bind.EnvNVIDIA
		if l.UUIDs {
			e.Flags |= bind.EnvUUID
		}
		for _, g := range l.StepGPUs {
			e.UUID = append(e.UUID, m.Inventory.GPUs[g].UUID)
		}
	}
	for _, t := range l.Tasks {
		e.Ranks = append(e.Ranks, t.Rank)
	}
}

// environ returns the environment of a local task: a path, what the user gave,
// then what the step says.
func (p *plan) environ(local int) []string {
	l := &p.order.Launch
	launch := bind.Launch{Place: l.Place, Job: &l.Job, Options: &l.Options, Step: &l.StepEnv, Node: &p.env}
	switch l.Place {
	case bind.PlaceBatch:
		launch.Step = nil
	case bind.PlaceTask:
		launch.Task = &bind.TaskEnv{Rank: l.Tasks[local].Rank, Local: int32(local), Visible: p.bound.Task(local)}
	}
	env := append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, l.Env...)
	block := bind.AppendEnv(nil, &launch)
	for from := 0; from < len(block); {
		to := from
		for block[to] != 0 {
			to++
		}
		env = append(env, string(block[from:to]))
		from = to + 1
	}
	return env
}

// start returns the operations that build the fence.
func (p *plan) start() []cgroupsv2.Op {
	return p.order.Conf.AppendStart(nil, &p.node, &p.job, &p.step)
}

func count(words []uint64) (n int32) {
	for _, w := range words {
		for ; w != 0; w &= w - 1 {
			n++
		}
	}
	return n
}
