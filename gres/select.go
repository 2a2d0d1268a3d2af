package gres

// A Chosen is one node of a job's final node set, in node order.
type Chosen struct {
	Node NodeRow
	// Fit is what Evaluate said in the pass that chose the node.
	Fit NodeFit
	// CPUs the node contributes after [Taking.Take].
	CPUs int32
	// Devices granted to the node by [Taking.Take], by need.
	Devices [MaxNeeds]uint16
	// Before is what was granted when the node was evaluated; zero unless
	// [EvaluateAfter] did it.
	Before [MaxNeeds]int64
	// Need is the number of nodes that were still required when the node was
	// evaluated; 0 is what Select is told.
	Need int32
}

// A Taking follows a fitter while it takes nodes one by one: the budget of
// CPUs, and the devices counted over the job. Start it with [Taking.Start].
//
// What Slurm's fitters tell Evaluate, with t the Taking so far:
//   - Nodes that are required (-w) are evaluated and taken first, one by one,
//     each with need t.Nodes and before t.Granted ([EvaluateAfter]).
//   - All others are then evaluated at once with what holds after those; least
//     loaded (LLN) evaluates each in its turn.
//   - The one-node path looks at nodes in order with need 1 and takes each that
//     fits, until CPUs suffice and [Taking.Enough] says so; only the last one
//     is chosen. So devices add up over nodes that are not used: a defect that
//     a scheduler may leave out by starting a new Taking for each node.
//   - If in the first pass some nodes do, but fewer than the minimum, there is
//     no second pass; if none does, or enough do and yet the set fails, there
//     is.
//
// Need and Before of each evaluation go into its [Chosen].
type Taking struct {
	// CPUs still wanted; may be zero or less.
	CPUs int32
	// Budget is what trimming may still give: it starts from the job's maximum
	// or least, or from what its devices need if that is more.
	Budget int32
	// Nodes still required for the minimum.
	Nodes int32
	// Granted devices by need.
	Granted [MaxNeeds]int64
}

// Start readies t for r, of which nothing is taken yet.
func (t *Taking) Start(r *Request) {
	*t = Taking{CPUs: max(r.MinCPUs, 1), Nodes: max(r.MinNodes, 1)}
	t.Budget = t.CPUs
	if r.MaxCPUs > 0 {
		t.Budget = r.MaxCPUs
	}
	c := max(r.CPUsPerGPU, r.DefCPUsPerGPU)
	if r.CPUsPerGPU > 0 {
		c = r.CPUsPerGPU
	}
	if j := r.gpus(func(n *Need) int64 { return n.PerJob }); c > 0 && j > 0 {
		t.Budget = max(t.Budget, int32(min(int64(c)*j, 1<<30)))
	}
}

// Take books the node with the given fit and returns the CPUs it contributes:
// trimmed so that every node still required can give something; whole nodes
// are not trimmed. devices are what the job counts on from it.
//
// Source: spec/cores.md 3.4, spec/gres.md 11.1.
func (t *Taking) Take(s *Shape, r *Request, fit *NodeFit) (cpus int32, devices [MaxNeeds]uint16) {
	t.Nodes--
	cpus = fit.CPUs
	if !r.Has(WholeNode) {
		rest := t.Budget - max(t.Nodes, 0)*r.ReserveCPUs(s)
		cpus = min(cpus, max(rest, r.NodeCPUs, fit.MinCPUs, 1))
	}
	t.CPUs -= cpus
	t.Budget -= cpus
	devices = fit.Devices
	for i := range r.Needs[:r.NumNeeds] {
		d := int64(fit.Devices[i])
		if k := r.planeDevices(i); k > 0 {
			d = min(d, k)
		}
		left := r.Needs[i].PerJob - t.Granted[i]
		switch {
		case r.Needs[i].PerJob == 0:
		case r.Needs[i].PerTask > 0:
			// No more than the CPUs' tasks use, and each node still required
			// needs devices for a task.
			k := r.Needs[i].PerTask
			d = max(min(d, left-int64(max(t.Nodes, 0))*k, int64(cpus)/int64(r.perTask())*k), 1)
		case left > 0:
			d = max(min(d, left), 1)
		}
		devices[i] = uint16(d)
		t.Granted[i] += d
	}
	return cpus, devices
}

// ReserveCPUs returns the CPUs that are kept for each node still required when
// a node of shape s is trimmed: those of a core that r may use, with whole
// sockets those of a socket.
//
// Source: spec/cores.md 3.4.
func (r *Request) ReserveCPUs(s *Shape) int32 {
	v := r.threads(s)
	if r.Unit == UnitSocket {
		v *= s.perSocket
	}
	return int32(v)
}

// planeDevices returns how many devices of need i the tasks of one plane take,
// 0 if planes do not matter to it.
func (r *Request) planeDevices(i int) int64 {
	d := &r.Needs[i]
	switch p := int64(r.PlaneSize); {
	case p == 0:
	case d.PerTask > 0:
		return p * d.PerTask
	case r.TasksPerGPU > 0 && d.Name == NameGPU:
		return int64(ceilDiv(int(p), int(r.TasksPerGPU)))
	}
	return 0
}

// Enough reports whether CPUs and devices counted over the job suffice.
func (t *Taking) Enough(r *Request) bool {
	if t.CPUs > 0 {
		return false
	}
	for i := range r.Needs[:r.NumNeeds] {
		if t.Granted[i] < r.Needs[i].PerJob {
			return false
		}
	}
	return true
}

// selection is the working memory of Select.
type selection struct {
	tasks, cpus []int32 // by chosen node
	room        []int32
	taken       []int64 // by device: units taken for the need at hand
	visit       []int16
	parts       []PartitionState
	jobTaken    [MaxNeeds]int64
	links       linkState
	best        bestSearch
	pk          picker
}

// Select decides which cores, devices and memory the job gets on each node of
// its final set, once a fitter has chosen it. nodes are in node order; pass
// and need are those of the evaluation. dst has one grant per node, whose
// memory is reused. It books nothing. If the set does not do after all, it
// says why, and dst is unspecified.
//
// It does not allocate once s and dst have grown.
//
// Source: spec/cores.md 4, spec/gres.md 11 to 13.
func Select(dst []Grant, nodes []Chosen, r *Request, pass Pass, need int, s *Scratch) Refusal {
	if len(dst) != len(nodes) {
		panic("gres: grants and nodes of different length")
	}
	if f := s.spreadTasks(nodes, r); f != RefuseNone {
		return f
	}
	s.sel.jobTaken = [MaxNeeds]int64{}
	for i := range nodes {
		if f := s.selectNode(&dst[i], nodes, i, r, pass, need); f != RefuseNone {
			return f
		}
	}
	if f := s.fillUp(dst, nodes, r); f != RefuseNone {
		return f
	}
	for i := range nodes {
		sortDevices(nodes[i].Node.Shape, r, &dst[i])
		s.charge(&dst[i], &nodes[i], r, i)
		// Rounding up to cores and sockets may cost memory that is not there.
		if dst[i].MemMiB > nodes[i].Node.Shape.FreeMem(nodes[i].Node.Row) && !(r.Mem == MemPerGPU && r.Has(LooseGPUMem)) {
			return RefuseMemory
		}
	}
	return RefuseNone
}

// selectNode fills g with the cores of node i and the devices of the first
// phase.
func (s *Scratch) selectNode(g *Grant, nodes []Chosen, i int, r *Request, pass Pass, need int) Refusal {
	c := &nodes[i]
	sh := c.Node.Shape
	g.Reset(sh.coreWords)
	g.Owner = r.Owner
	g.SharedCores = r.Has(SharesCores)
	if r.Has(WholeNode) {
		s.wholeNode(g, c, r)
		return s.wholeDevices(g, c, r)
	}
	var fit NodeFit
	if c.Need > 0 {
		need = int(c.Need)
	}
	if f := s.evaluate(&c.Node, r, pass, need, &c.Before, &fit); f != RefuseNone {
		return f
	}
	if sh.sockets > 0 {
		if f := s.layCores(g.Cores, sh, r, int(s.sel.cpus[i])); f != RefuseNone {
			return f
		}
	}
	s.sel.links.ready = false
	for k := range r.Needs[:r.NumNeeds] {
		if f := s.pickNeed(g, nodes, i, r, k); f != RefuseNone {
			return f
		}
	}
	return RefuseNone
}

// charge stores CPUs and memory of node i in g.
//
// Source: spec/cores.md 4.4, spec/gres.md 12.
func (s *Scratch) charge(g *Grant, c *Chosen, r *Request, i int) {
	sh := c.Node.Shape
	if sh.sockets == 0 {
		g.CPUs = int64(s.sel.cpus[i])
		g.MilliCPU = g.CPUs * 1000
		if r.MilliCPU > 0 {
			g.MilliCPU = r.MilliCPU
		}
		if r.Has(WholeNode) {
			g.MilliCPU = sh.milliCPU
			g.CPUs = g.MilliCPU / 1000
		}
		g.MemMiB = s.memory(g, c, r, g.CPUs)
		return
	}
	cores := int64(countRange(g.Cores, 0, sh.cores))
	t := int64(sh.threads)
	memCPUs := cores * t
	if r.ThreadsPerCore > 0 {
		memCPUs = cores * min(t, int64(r.ThreadsPerCore))
	}
	switch {
	case r.Has(WholeNode):
		g.CPUs = int64(sh.cpus)
		memCPUs = int64(r.wholeMemCPUs(sh))
	case r.Unit == UnitCPU:
		g.CPUs = int64(s.sel.cpus[i])
		memCPUs = g.CPUs
	default:
		g.CPUs = cores * t
	}
	g.MemMiB = s.memory(g, c, r, memCPUs)
}

func (s *Scratch) memory(g *Grant, c *Chosen, r *Request, cpus int64) int64 {
	if !r.Has(ConsumeMem) {
		return 0
	}
	switch r.Mem {
	case MemPerNode:
		return r.MemMiB
	case MemPerCPU:
		return r.MemMiB * cpus
	case MemPerGPU:
		sh := c.Node.Shape
		if k := sh.Group(NameGPU); k >= 0 {
			return r.MemMiB * g.Count(sh, k, 0)
		}
		return 0
	}
	return c.Node.Shape.mem
}
