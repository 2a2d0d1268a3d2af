package bind

import "slices"

// A StepNode is what a job holds on one of its nodes, and what of it other
// steps hold. All slices are the caller's and are only read.
type StepNode struct {
	// CPUs is the number of CPUs that the job holds; Held is the number of
	// those that other steps hold now.
	CPUs, Held int32
	// Devices are the node's numbers of the job's devices, ascending.
	Devices []int32
	// Type has the type of each device, or is nil if they have none.
	Type []int32
	// Near says for each device whether it is near a CPU of the step; nil
	// means all are.
	Near []bool
	// Busy says for each device whether another step holds it; nil means none.
	Busy []bool
}

// A TypedCount is a number of devices of a type; −1 is any type.
type TypedCount struct {
	Type  int32
	Count int32
}

// A StepRequest is what srun asks of its allocation. Zero means not given.
type StepRequest struct {
	Tasks       int32 // -n; without it GPUs may imply a number, else one a node
	MinNodes    int32 // -N
	CPUsPerTask int32 // -c
	// Exact gives the step no more CPUs than its tasks need; without it a step
	// takes all of the job's CPUs on its nodes. Slurm: --exact; -c implies it.
	Exact bool
	// Overlap shares what other steps hold. Slurm: --overlap.
	Overlap bool
	// Overcommit lifts the bound of one task a CPU. Slurm: -O.
	Overcommit   bool
	Distribution Distribution
	// NoDevices asks for a step without devices. Slurm: --gres=none.
	NoDevices bool
	// Job, Node and Task are GPUs per step, node and task, by type. Slurm:
	// --gpus; --gres, --gpus-per-node; --gpus-per-task, --tres-per-task.
	Job, Node, Task []TypedCount
	TasksPerGPU     int32 // --ntasks-per-gpu
}

// Step is the answer of [Layer.Plan]. Its slices are reused by the next call
// that is given the same value.
type Step struct {
	// Nodes is how many of the job's nodes the step runs on, from First on.
	First, Nodes int32
	// CPUs has the number of CPUs of the step by its nodes.
	CPUs []int32
	// Layout places the tasks on the step's nodes.
	Layout Layout
	dev    []int32
	off    []int32
}

// Devices returns the step's devices on its node i as positions in
// [StepNode.Devices], ascending.
func (s *Step) Devices(i int) []int32 { return s.dev[s.off[i]:s.off[i+1]] }

// A Layer plans steps. It holds scratch only; the zero value works.
type Layer struct {
	room []int32
	pick []int32
}

// Plan stores in dst how a step of a job that holds nodes is laid out and
// which of the job's devices it gets. The step runs on the first of the nodes
// that suffice: as many as MinNodes says, or all, but never more than tasks.
// A step that names no devices gets all of the job's. dst is not to be used
// unless the result is [Accepted]; [RefusedWait] says that it could run once
// other steps are over.
//
// Source: srun(1); specification bind.md 4.1, 5.
func (l *Layer) Plan(dst *Step, req *StepRequest, nodes []StepNode) Refusal {
	if int(req.MinNodes) > len(nodes) || len(nodes) == 0 {
		return RefusedNodes
	}
	count := int32(len(nodes))
	if req.MinNodes > 0 {
		count = req.MinNodes
	}
	n := req.tasks(count)
	count = min(count, n)
	refusal := RefusedNodes
	for first := range int32(len(nodes)) - count + 1 {
		got := l.planAt(dst, req, nodes[first:first+count], n)
		dst.First, dst.Nodes = first, count
		if got == Accepted {
			return got
		}
		// The mildest refusal speaks: waiting above all, else the first.
		if first == 0 || got == RefusedWait {
			refusal = got
		}
	}
	return refusal
}

func (l *Layer) planAt(dst *Step, req *StepRequest, nodes []StepNode, n int32) Refusal {
	if why := l.rooms(req, nodes, n, false); why != Accepted {
		return why
	}
	if !dst.Layout.Lay(n, l.room, req.Distribution, req.Overcommit) {
		return RefusedCPUs
	}
	if why := l.rooms(req, nodes, n, true); why != Accepted {
		return RefusedWait
	}
	if !dst.Layout.Lay(n, l.room, req.Distribution, req.Overcommit) {
		return RefusedWait
	}
	dst.CPUs = dst.CPUs[:0]
	for i := range nodes {
		cpus := nodes[i].CPUs
		if req.exact() {
			cpus = min(cpus, dst.Layout.Tasks[i]*max(req.CPUsPerTask, 1))
		}
		dst.CPUs = append(dst.CPUs, cpus)
	}
	return l.devices(dst, req, nodes)
}

// tasks returns the number of tasks: as given, as the GPUs imply, or one a node.
func (r *StepRequest) tasks(nodes int32) int32 {
	gpus, each := total(r.Job), total(r.Task)
	switch {
	case r.Tasks > 0:
		return r.Tasks
	case gpus > 0 && r.TasksPerGPU > 0:
		return gpus * r.TasksPerGPU
	case gpus > 0 && each > 0:
		return max(gpus/each, 1)
	}
	return max(nodes, 1)
}

func total(counts []TypedCount) (n int32) {
	for _, c := range counts {
		n += c.Count
	}
	return n
}

func (r *StepRequest) exact() bool { return r.Exact || r.CPUsPerTask > 0 }

// rooms stores how many tasks each node can take: by CPUs and by GPUs per
// task. free counts only what no other step holds. Every node must take one.
func (l *Layer) rooms(req *StepRequest, nodes []StepNode, n int32, free bool) Refusal {
	l.room = l.room[:0]
	c := max(req.CPUsPerTask, 1)
	for i := range nodes {
		nd := &nodes[i]
		cpus := nd.CPUs
		switch {
		case !free || req.Overlap:
		case req.exact():
			cpus -= nd.Held
		case nd.Held > 0:
			cpus = 0
		}
		room := cpus / c
		if req.Overcommit {
			room = n
		}
		for _, t := range req.Task {
			if t.Count > 0 {
				have := nd.count(t.Type, free && !req.Overlap)
				if !free && have < t.Count {
					return RefusedTaskGRES
				}
				room = min(room, have/t.Count)
			}
		}
		l.room = append(l.room, room)
	}
	for _, room := range l.room {
		if room < 1 {
			return RefusedCPUs
		}
	}
	return Accepted
}

// count returns the number of devices of a type, −1 for any; free ones only if
// asked.
func (nd *StepNode) count(typ int32, free bool) int32 {
	n := int32(0)
	for i := range nd.Devices {
		if nd.has(i, typ) && !(free && nd.busy(i)) {
			n++
		}
	}
	return n
}

func (nd *StepNode) has(i int, typ int32) bool {
	return typ < 0 || nd.Type == nil || nd.Type[i] == typ || nd.Type[i] < 0
}

func (nd *StepNode) busy(i int) bool { return nd.Busy != nil && nd.Busy[i] }

func (nd *StepNode) nearCPU(i int) bool { return nd.Near == nil || nd.Near[i] }

// devices chooses the step's devices on each node.
func (l *Layer) devices(dst *Step, req *StepRequest, nodes []StepNode) Refusal {
	dst.dev, dst.off = dst.dev[:0], append(dst.off[:0], 0)
	asked := len(req.Job)+len(req.Node)+len(req.Task) > 0 || req.TasksPerGPU > 0
	if req.NoDevices || !asked {
		for i := range nodes {
			for p := range nodes[i].Devices {
				if !req.NoDevices {
					dst.dev = append(dst.dev, int32(p))
				}
			}
			dst.off = append(dst.off, int32(len(dst.dev)))
		}
		return Accepted
	}
	perJob := [1]TypedCount{{Type: -1}}
	job := req.Job
	if len(req.Node) == 0 && len(req.Task) == 0 && len(job) == 0 {
		tasks := int32(0)
		for _, t := range dst.Layout.Tasks {
			tasks += t
		}
		perJob[0].Count = (tasks + req.TasksPerGPU - 1) / req.TasksPerGPU
		job = perJob[:]
	}
	for _, count := range [2]bool{false, true} {
		if why := l.spread(dst, req, job, nodes, count && !req.Overlap); why != Accepted {
			if count {
				return RefusedWait
			}
			return why
		}
	}
	return Accepted
}

// spread takes each request's devices from the nodes in order; free means that
// other steps' devices are left out.
func (l *Layer) spread(dst *Step, req *StepRequest, job []TypedCount, nodes []StepNode, free bool) Refusal {
	dst.dev, dst.off = dst.dev[:0], append(dst.off[:0], 0)
	for i := range nodes {
		before := len(dst.dev)
		l.pick = l.pick[:0]
		switch {
		case len(req.Node) > 0:
			for _, t := range req.Node {
				if !l.take(&nodes[i], t.Type, t.Count, free) {
					return RefusedGRES
				}
			}
		case len(req.Task) > 0:
			for _, t := range req.Task {
				if !l.take(&nodes[i], t.Type, t.Count*dst.Layout.Tasks[i], free) {
					return RefusedGRES
				}
			}
		default:
			for _, t := range job {
				l.take(&nodes[i], t.Type, shareOf(t, nodes, i, free), free)
			}
		}
		dst.dev = append(dst.dev, l.pick...)
		sortInt32(dst.dev[before:])
		dst.off = append(dst.off, int32(len(dst.dev)))
	}
	if len(req.Node) == 0 && len(req.Task) == 0 && int32(len(dst.dev)) < total(job) {
		return RefusedGRES
	}
	return Accepted
}

// shareOf returns how many of the step's t.Count devices node i gives: as many
// as it can, one kept back for each later node.
func shareOf(t TypedCount, nodes []StepNode, i int, free bool) int32 {
	left := t.Count
	for k := range nodes {
		give := min(nodes[k].count(t.Type, free), max(left-int32(len(nodes)-1-k), 1), left)
		if k == i {
			return give
		}
		left -= give
	}
	return 0
}

// take adds n devices to l.pick: those near the step's CPUs first, then any,
// ascending. It reports whether there were enough.
func (l *Layer) take(nd *StepNode, typ, n int32, free bool) bool {
	for _, wantNear := range [2]bool{true, false} {
		for i := range nd.Devices {
			if n <= 0 {
				return true
			}
			if nd.has(i, typ) && nd.nearCPU(i) == wantNear && !(free && nd.busy(i)) && !l.picked(int32(i)) {
				l.pick = append(l.pick, int32(i))
				n--
			}
		}
	}
	return n <= 0
}

func (l *Layer) picked(p int32) bool {
	return slices.Contains(l.pick, p)
}
