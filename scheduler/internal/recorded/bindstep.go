package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
	"github.com/berth-sched/berth/topology"
)

// A bindAlloc is what a job holds, and what of it its steps hold.
type bindAlloc struct {
	nodes []bindNode
	types map[string]int32
}

type bindNode struct {
	name    string
	cores   []int32 // of each CPU that the job holds, ascending
	gpus    []int32 // the node's numbers of the job's GPUs, ascending
	typ     []int32 // of each GPU; nil without types
	near    [][]uint64
	cpuHeld []bool
	gpuHeld []bool
}

func newBindAlloc(cfg *scheduler.Config, held []scheduler.NodeAlloc) (*bindAlloc, error) {
	a := &bindAlloc{types: map[string]int32{}}
	for i := range held {
		h := &held[i]
		spec, err := nodeSpec(cfg, h.Node)
		if err != nil {
			return nil, err
		}
		n := bindNode{name: h.Node}
		threads := max(int64(len(h.Cores)), h.CPUs) / int64(max(len(h.Cores), 1))
		for _, core := range h.Cores {
			for range threads {
				n.cores = append(n.cores, core)
			}
		}
		all, err := nearCores(spec)
		if err != nil {
			return nil, err
		}
		for _, d := range h.Devices {
			if d.Name != "gpu" || d.Units == 0 {
				continue
			}
			n.gpus = append(n.gpus, d.Index)
			n.near = append(n.near, all[d.Index])
			if d.Type != "" {
				n.typ = append(n.typ, a.typeID(d.Type))
			}
		}
		n.cpuHeld, n.gpuHeld = make([]bool, len(n.cores)), make([]bool, len(n.gpus))
		a.nodes = append(a.nodes, n)
	}
	return a, nil
}

func (a *bindAlloc) typeID(name string) int32 {
	if name == "" {
		return -1
	}
	id, ok := a.types[name]
	if !ok {
		id = int32(len(a.types))
		a.types[name] = id
	}
	return id
}

func nodeSpec(cfg *scheduler.Config, node string) (*scheduler.NodeSpec, error) {
	for i := range cfg.Nodes {
		hosts, err := topology.ParseHostlist(cfg.Nodes[i].Names)
		if err != nil {
			return nil, err
		}
		if slices.Contains(hosts, node) {
			return &cfg.Nodes[i], nil
		}
	}
	return nil, scheduler.ErrUnknownNode
}

// nearCores are the cores near each GPU of a node, as bits; nil is all.
func nearCores(spec *scheduler.NodeSpec) ([][]uint64, error) {
	var out [][]uint64
	for _, d := range spec.Devices {
		if d.Name != "gpu" {
			continue
		}
		files, err := topology.ParseHostlist(d.File)
		if err != nil {
			return nil, err
		}
		var near []uint64
		if d.Cores != "" {
			cores, err := recordedCores(d.Cores, 1)
			if err != nil {
				return nil, err
			}
			near = make([]uint64, 4)
			for _, k := range cores {
				near[k/64] |= 1 << (k % 64)
			}
		}
		for range files {
			out = append(out, near)
		}
	}
	return out, nil
}

// run plans a step and starts its tasks. One that must wait for others runs
// once they are over.
func (a *bindAlloc) run(o *sbatch.Options) (bindStep, error) {
	req, perTask, err := a.request(o)
	if err != nil {
		return bindStep{}, err
	}
	binding, err := bindingOf(o, perTask)
	if err != nil {
		return bindStep{}, err
	}
	var plan bind.Step
	var layer bind.Layer
	why := layer.Plan(&plan, &req, a.stepNodes(&req))
	if why == bind.RefusedWait {
		for i := range a.nodes {
			clear(a.nodes[i].cpuHeld)
			clear(a.nodes[i].gpuHeld)
		}
		why = layer.Plan(&plan, &req, a.stepNodes(&req))
	}
	switch why {
	case bind.Accepted:
		return a.launch(&plan, &binding), nil
	case bind.RefusedWait:
		return bindStep{RC: json.RawMessage(`"blocked"`)}, nil
	}
	return refusedStep("1", "error: Unable to create step for N: "+why.String()), nil
}

// request is the step that srun asks for; perTask is its GPUs of a task.
func (a *bindAlloc) request(o *sbatch.Options) (req bind.StepRequest, perTask int32, err error) {
	s := &o.Spec
	_, exact := o.Last("exact")
	_, overlap := o.Last("overlap")
	req = bind.StepRequest{
		Tasks: s.Tasks, MinNodes: s.MinNodes, CPUsPerTask: s.CPUsPerTask, Exact: exact, Overlap: overlap,
		Overcommit: s.Overcommit, Distribution: distribution(s.Distribution), TasksPerGPU: s.TasksPerGPU,
	}
	if g, ok := o.Last("gres"); ok {
		req.NoDevices = g.Value == "none"
		asks, err := gres.ParseAsks(nil, gres.PerNode, "gres", g.Value)
		if err != nil {
			return req, 0, err
		}
		// What asks for nothing asks all the same: it keeps the job's GPUs away.
		if req.Node = a.counts(asks); len(req.Node) == 0 && !req.NoDevices {
			req.Node = []bind.TypedCount{{Type: -1}}
		}
	}
	for _, row := range []struct {
		per  gres.Per
		text string
		into *[]bind.TypedCount
	}{
		{gres.PerJob, s.GPUs, &req.Job}, {gres.PerNode, s.GPUsPerNode, &req.Node}, {gres.PerTask, s.GPUsPerTask, &req.Task},
	} {
		asks, err := gres.ParseGPUs(nil, row.per, "gpus", row.text)
		if err != nil {
			return req, 0, err
		}
		*row.into = append(*row.into, a.counts(asks)...)
	}
	asks, cpus, err := gres.ParseTRESPerTask(nil, s.TRESPerTask)
	if err != nil {
		return req, 0, err
	}
	if cpus > 0 {
		req.CPUsPerTask = cpus
	}
	req.Task = append(req.Task, a.counts(asks)...)
	for _, c := range req.Task {
		perTask += c.Count
	}
	return req, perTask, nil
}

func (a *bindAlloc) counts(asks []gres.Ask) []bind.TypedCount {
	var out []bind.TypedCount
	for _, k := range asks {
		if k.Name == "gpu" {
			out = append(out, bind.TypedCount{Type: a.typeID(k.Type), Count: int32(k.Count)})
		}
	}
	return out
}

func distribution(text string) bind.Distribution {
	nodes, in, _ := strings.Cut(text, ":")
	in, _, _ = strings.Cut(in, ":")
	d := bind.Distribution{Socket: map[string]bind.InSocket{"block": bind.SocketBlock, "cyclic": bind.SocketCyclic, "fcyclic": bind.SocketFCyclic}[in]}
	if p, ok := strings.CutPrefix(nodes, "plane="); ok {
		n, _ := strconv.Atoi(p)
		d.Spread, d.Plane = bind.SpreadPlane, int32(n)
	} else if nodes == "cyclic" {
		d.Spread = bind.SpreadCyclic
	}
	return d
}

// stepNodes describes the allocation to a step: an exact step takes the lowest
// CPUs that no other holds.
func (a *bindAlloc) stepNodes(req *bind.StepRequest) []bind.StepNode {
	var in []bind.StepNode
	for i := range a.nodes {
		n := &a.nodes[i]
		nd := bind.StepNode{CPUs: int32(len(n.cores)), Devices: n.gpus, Type: n.typ, Busy: n.gpuHeld}
		want := int32(len(n.cores))
		if req.Exact {
			want = max(req.Tasks, 1) * max(req.CPUsPerTask, 1)
		}
		var cores [4]uint64
		for k, core := range n.cores {
			if n.cpuHeld[k] {
				nd.Held++
			} else if want > 0 {
				cores[core/64] |= 1 << (core % 64)
				want--
			}
		}
		for _, near := range n.near {
			meets := near == nil
			for w := range near {
				meets = meets || near[w]&cores[w] != 0
			}
			nd.Near = append(nd.Near, meets)
		}
		in = append(in, nd)
	}
	return in
}

// launch starts the tasks of a planned step: each gets its environment, and
// the step holds its CPUs and GPUs.
func (a *bindAlloc) launch(plan *bind.Step, binding *bind.Binding) bindStep {
	step := bindStep{RC: json.RawMessage("0"), Tasks: make([]bindTask, len(plan.Layout.Node))}
	job := bind.JobEnv{ID: 1}
	for i := range a.nodes {
		job.CPUsPerNode = append(job.CPUsPerNode, int32(len(a.nodes[i].cores)))
	}
	stepEnv := bind.StepEnv{Tasks: int32(len(plan.Layout.Node)), TasksPerNode: plan.Layout.Tasks}
	var bound bind.Bound
	var binder bind.Binder
	for i := range int(plan.Nodes) {
		n := &a.nodes[int(plan.First)+i]
		d := bind.Devices{Job: n.gpus}
		for _, p := range plan.Devices(i) {
			d.Index = append(d.Index, n.gpus[p])
			d.Near = append(d.Near, n.near[p])
			n.gpuHeld[p] = true
		}
		left := plan.CPUs[i]
		for k := range n.cpuHeld {
			if !n.cpuHeld[k] && left > 0 {
				n.cpuHeld[k] = true
				left--
			}
		}
		binder.Bind(&bound, binding, &d, make([][]uint64, plan.Layout.Tasks[i]))
		ranks := plan.Layout.AppendRanks(nil, i)
		node := bind.NodeEnv{Name: n.name, ID: int32(i), CPUs: plan.CPUs[i], GPUs: int32(len(d.Index)), Ranks: ranks, Devices: &d, Flags: bind.EnvAll}
		for k, rank := range ranks {
			env := environment(&bind.Launch{
				Place: bind.PlaceTask, Job: &job, Step: &stepEnv, Node: &node,
				Task: &bind.TaskEnv{Rank: rank, Local: int32(k), Visible: bound.Task(k)},
			})
			number := func(name string) int32 {
				v, _ := strconv.Atoi(env[name])
				return int32(v)
			}
			step.Tasks[rank] = bindTask{
				Procid: number("SLURM_PROCID"), Nodeid: number("SLURM_NODEID"), Localid: number("SLURM_LOCALID"), Node: env["SLURMD_NODENAME"],
				CUDA: env["CUDA_VISIBLE_DEVICES"], Step: env["SLURM_STEP_GPUS"], Job: env["SLURM_JOB_GPUS"],
				GPUs: env["SLURM_GPUS_ON_NODE"], CPUs: env["SLURM_CPUS_ON_NODE"], PerNode: env["SLURM_TASKS_PER_NODE"],
				Tasks: env["SLURM_NTASKS"], GTIDs: env["SLURM_GTIDS"],
			}
		}
	}
	return step
}

func environment(l *bind.Launch) map[string]string {
	env := map[string]string{}
	for entry := range strings.SplitSeq(string(bind.AppendEnv(nil, l)), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}
