package gres

// deriveGPUs makes the four ways of asking agree and derives nodes, sockets,
// tasks and CPUs from them. def is the cluster's CPUs per GPU, where it
// applies.
//
// Source: spec/gres.md 7.3, whose steps are numbered here.
func (d *derivation) deriveGPUs(def int32) error {
	r := &d.r
	r.Needs, r.NumNeeds = d.asked, d.nAsked
	if err := d.perTaskOfOthers(); err != nil {
		return err
	}
	j := r.gpus(func(n *Need) int64 { return n.PerJob })
	n := r.gpus(func(n *Need) int64 { return n.PerNode })
	s := r.gpus(func(n *Need) int64 { return n.PerSocket })
	t := r.gpus(func(n *Need) int64 { return n.PerTask })
	if j+n+s+t == 0 {
		return d.withoutGPUs()
	}
	for _, step := range [...]func(j, n, s, t int64) error{d.order, d.nodes, d.sockets, d.tasks} {
		if err := step(j, n, s, t); err != nil {
			return err
		}
	}
	j = r.gpus(func(n *Need) int64 { return n.PerJob })
	if err := d.nodeTasks(n, s, t); err != nil {
		return err
	}
	cpg := max(r.CPUsPerGPU, def)
	if r.CPUsPerGPU > 0 {
		cpg = r.CPUsPerGPU
	}
	if cpg > 0 && t > 0 { // 8
		r.CPUsPerTask = int32(min(SatMul(int64(cpg), t), maxCount))
	}
	if j > 0 { // 9
		if j < int64(r.MinNodes) {
			return &RequestError{Rule: RuleJobNodes}
		}
		if r.MaxNodes > 0 {
			r.MaxNodes = int32(min(int64(r.MaxNodes), j))
		}
	}
	if g := int64(r.TasksPerGPU); g > 0 { // 10
		switch {
		case j > 0:
			r.Tasks, d.known = int32(min(SatMul(j, g), maxCount)), true
			r.MinCPUs = max(r.MinCPUs, mul32(r.Tasks, r.CPUsPerTask))
		case n > 0:
			r.TasksPerNode = int32(min(SatMul(n, g), maxCount))
		}
	}
	switch c := int64(r.CPUsPerGPU); { // 12
	case c == 0:
	case j > 0:
		r.MinCPUs = max(r.MinCPUs, int32(min(SatMul(c, j), maxCount)))
	case n > 0:
		r.MinCPUs = max(r.MinCPUs, int32(min(SatMul(SatMul(c, n), int64(max(r.MinNodes, 1))), maxCount)))
	}
	return nil
}

// withoutGPUs is steps 10 and 11 for a request that names no GPU.
func (d *derivation) withoutGPUs() error {
	r := &d.r
	if g := r.TasksPerGPU; g > 0 {
		switch {
		case !d.known:
			return &RequestError{Rule: RuleTasksPerGPUAlone}
		case r.Tasks < g && d.o.MemPerGPU <= 0 && d.o.CPUsPerGPU == 0:
			return nil // not even one GPU: none is asked
		case r.Tasks%g != 0:
			return &RequestError{Rule: RuleTasksPerGPU}
		case int(r.NumNeeds) == MaxNeeds:
			return &RequestError{Rule: RuleTooManyNeeds}
		}
		r.Needs[r.NumNeeds] = Need{Name: NameGPU, PerJob: int64(r.Tasks / g)}
		r.NumNeeds++
		if err := d.checkShared(); err != nil {
			return err
		}
		if r.Tasks/g < r.MinNodes {
			return &RequestError{Rule: RuleJobNodes}
		}
		if r.MaxNodes > 0 {
			r.MaxNodes = min(r.MaxNodes, r.Tasks/g)
		}
		return nil
	}
	if d.o.CPUsPerGPU > 0 {
		return &RequestError{Rule: RuleCPUsPerGPUAlone, Num: [3]int64{int64(d.o.CPUsPerGPU)}}
	}
	if d.o.MemPerGPU > 0 {
		return &RequestError{Rule: RuleMemPerGPUAlone, Num: [3]int64{d.o.MemPerGPU}}
	}
	return nil
}

// perTaskOfOthers is step 5 for names other than gpu.
func (d *derivation) perTaskOfOthers() error {
	r := &d.r
	for i := range r.Needs[:r.NumNeeds] {
		x := &r.Needs[i]
		if x.Name == NameGPU || x.PerTask == 0 || x.PerJob > 0 {
			continue
		}
		if err := d.tasksFromNodes(); err != nil {
			return err
		}
		x.PerJob = SatMul(int64(r.Tasks), x.PerTask)
	}
	return nil
}

// order is step 1.
func (d *derivation) order(j, n, s, t int64) error {
	switch {
	case j > 0 && j < max(n, s), n > 0 && n < s:
		return &RequestError{Rule: RuleOrder}
	case j > 0 && j < t, n > 0 && n < t:
		return &RequestError{Rule: RuleOrderTask}
	}
	return nil
}

// nodes is step 2.
func (d *derivation) nodes(j, n, _, _ int64) error {
	r := &d.r
	if j == 0 || n == 0 {
		return nil
	}
	if j%n != 0 {
		return &RequestError{Rule: RuleNodesMultiple}
	}
	k := int32(min(j/n, maxCount))
	if r.MinNodes > 0 && k < r.MinNodes || r.MaxNodes > 0 && k > r.MaxNodes {
		return &RequestError{Rule: RuleNodesRange, Num: [3]int64{int64(k), int64(r.MinNodes), int64(r.MaxNodes)}}
	}
	r.MinNodes, r.MaxNodes = k, k
	return nil
}

// sockets is step 3.
func (d *derivation) sockets(_, n, s, _ int64) error {
	r := &d.r
	switch {
	case s == 0:
	case n == 0:
		if r.SocketsPerNode == 0 {
			return &RequestError{Rule: RuleSockets}
		}
	case n%s != 0:
		return &RequestError{Rule: RuleSocketsMultiple}
	case r.SocketsPerNode == 0:
		r.SocketsPerNode = int32(min(n/s, maxCount))
	case int64(r.SocketsPerNode) != n/s:
		return &RequestError{Rule: RuleSocketsGiven}
	}
	return nil
}

// tasks is steps 4 and 5.
func (d *derivation) tasks(j, _, _, t int64) error {
	r := &d.r
	switch {
	case t == 0:
		return nil
	case j > 0 && j%t != 0:
		return &RequestError{Rule: RuleTasksMultiple}
	case j > 0:
		k := int32(min(j/t, maxCount))
		if d.known && r.Tasks != k {
			return &RequestError{Rule: RuleTasksGiven}
		}
		r.Tasks, d.known = k, true
		r.MinCPUs = max(r.MinCPUs, mul32(k, r.CPUsPerTask))
		return nil
	}
	if err := d.tasksFromNodes(); err != nil {
		return err
	}
	for i := range r.Needs[:r.NumNeeds] {
		if x := &r.Needs[i]; x.Name == NameGPU && x.PerTask > 0 {
			x.PerJob = SatMul(int64(r.Tasks), x.PerTask)
		}
	}
	return nil
}

// tasksFromNodes makes the task count known, from an exact node count if
// tasks are not given.
func (d *derivation) tasksFromNodes() error {
	r := &d.r
	if d.known {
		return nil
	}
	if r.MinNodes == 0 || r.MinNodes != r.MaxNodes || d.cpusGiven {
		return &RequestError{Rule: RuleTasks}
	}
	r.Tasks, d.known = mul32(r.MinNodes, max(r.TasksPerNode, 1)), true
	r.MinCPUs = max(r.MinCPUs, mul32(r.Tasks, r.CPUsPerTask))
	return nil
}

// nodeTasks is steps 6 and 7.
func (d *derivation) nodeTasks(n, s, t int64) error {
	r := &d.r
	if t == 0 {
		return nil
	}
	if n > 0 {
		switch k := int32(min(n/t, maxCount)); {
		case n%t != 0:
			return &RequestError{Rule: RuleNodeTasksMultiple}
		case r.TasksPerNode == 0:
			r.TasksPerNode = k
		case r.TasksPerNode != k:
			return &RequestError{Rule: RuleNodeTasksGiven}
		}
	}
	if s > 0 {
		if s%t != 0 {
			return &RequestError{Rule: RuleSocketTasks}
		}
		if r.TasksPerSocket == 0 {
			r.TasksPerSocket = int32(min(s/t, maxCount))
		}
	}
	return nil
}

// maxCount bounds derived counts of tasks and CPUs, so that int32 holds them
// and their sums.
const maxCount = 1 << 30

// mul32 returns a·b, at most maxCount.
func mul32(a, b int32) int32 { return int32(min(int64(a)*int64(b), maxCount)) }
