package gres

// MemLimits are the largest memory amounts of a request in MiB, 0 unlimited;
// at most one is set. Slurm: MaxMemPerCPU, MaxMemPerNode, the partition's
// before the cluster's.
type MemLimits struct{ PerCPU, PerNode int64 }

// MemFacts are the numbers of a partition's nodes that memory limits look at.
type MemFacts struct {
	// FirstNodeMiB is the memory that the first node offers.
	FirstNodeMiB int64
	// MaxCPUs is the largest CPU count of a node.
	MaxCPUs int32
	// DefPerNode is the default memory per node, which counts for a request
	// with memory per GPU.
	DefPerNode int64
}

// LimitMemory returns r with CPUs per task and memory per CPU changed so that
// memory beyond a limit per CPU is paid for in CPUs; ok is false if r exceeds
// the limit and waits (Slurm: MaxMemPerLimit). It is applied to the request as
// derived at each attempt, never to its own result.
//
// Source: spec/cores.md 5.3.
func (r *Request) LimitMemory(l MemLimits, f MemFacts) (_ Request, ok bool) {
	out := *r
	if !r.Has(ConsumeMem) {
		return out, true
	}
	per, m := r.Mem, r.MemMiB
	switch r.Mem {
	case MemPerGPU:
		per, m = MemPerNode, f.DefPerNode
	case MemAll:
		per, m = MemPerNode, f.FirstNodeMiB
	}
	switch {
	case l.PerCPU > 0 && per == MemPerCPU:
		out.payPerCPU(l.PerCPU)
		return out, true
	case l.PerCPU > 0:
		return out, out.payPerNode(m, l.PerCPU, f)
	case l.PerNode > 0 && per == MemPerCPU:
		q := int64(max(r.TasksPerNode, 1))
		if r.TasksKnown == Given && r.MaxNodes > 0 {
			q = max(q, int64(ceilDiv(int(r.Tasks), int(r.MaxNodes))))
		}
		q = max(q*int64(r.perTask()), int64(r.NodeCPUs))
		if r.Has(WholeNode) {
			q = int64(f.MaxCPUs)
		}
		return out, m*q <= l.PerNode
	case l.PerNode > 0:
		return out, m <= l.PerNode
	}
	return out, true
}

// payPerCPU spreads memory per CPU above limit over more CPUs.
func (r *Request) payPerCPU(limit int64) {
	m := r.MemMiB
	if m <= limit {
		return
	}
	k := (m + limit - 1) / limit
	r.CPUsPerTask = int32(min(SatMul(int64(r.perTask()), k), maxCount))
	r.MemMiB = (m + k - 1) / k
	if r.TasksKnown == Given {
		r.MinCPUs = mul32(r.Tasks, r.CPUsPerTask)
	}
	r.raiseNodeCPUs(r.CPUsPerTask)
}

// payPerNode raises the CPUs of a node until m MiB are at most limit each.
func (r *Request) payPerNode(m, limit int64, f MemFacts) bool {
	q := int32(min((m+limit-1)/limit, 1<<30))
	if r.NodeCPUs < q {
		r.MinCPUs = max(r.MinCPUs, q)
		n, nodes := r.Tasks, max(r.MinNodes, 1)
		switch {
		case r.TasksPerNode > 0:
			r.CPUsPerTask = int32(ceilDiv(int(q), int(r.TasksPerNode)))
			r.raiseNodeCPUs(max(mul32(r.CPUsPerTask, r.TasksPerNode), q))
		case r.TasksKnown == Given:
			r.CPUsPerTask = int32(ceilDiv(int(q)*int(nodes), int(n)))
			r.raiseNodeCPUs(mul32(r.CPUsPerTask, n) / nodes)
			r.MinCPUs = max(r.MinCPUs, mul32(r.CPUsPerTask, n))
		default:
			r.CPUsPerTask = max(q, r.CPUsPerTask)
			r.raiseNodeCPUs(q)
		}
	}
	return m <= limit*int64(max(q, r.NodeCPUs))
}

func (r *Request) raiseNodeCPUs(p int32) {
	if p > r.NodeCPUs {
		r.NodeCPUs = p
		r.Flags |= memRaised
	}
}

// ExceedsPartition reports whether r asks for more nodes or CPUs than a
// partition has, so that it waits there whatever is free: Slurm's
// PartitionNodeLimit and PartitionConfig. maxPerNode is MaxCPUsPerNode, 0
// unlimited.
//
// Source: spec/cores.md 2.3.
func (r *Request) ExceedsPartition(nodes, cpus, maxPerNode int64) (tooManyNodes, tooManyCPUs bool) {
	return int64(r.MinNodes) > nodes,
		int64(r.MinCPUs) > cpus || maxPerNode > 0 && int64(r.MinCPUs) > maxPerNode*nodes
}

// NodeFilter tests the configured size of a node before anything is placed:
// which of Slurm's filters excludes it, RefuseNone if none. If every node of a
// partition fails the same way the refusal's text precedes the general one;
// see [FilterText].
//
// Source: spec/cores.md 2.3.
func (r *Request) NodeFilter(s *Shape) Refusal {
	if s.sockets == 0 {
		return RefuseNone
	}
	cpus := s.cores * s.threads
	if k := int(r.TasksPerCore); k > 0 {
		cpus = max(s.cores*k*r.perTask(), cpus)
	}
	switch {
	case int(r.NodeCPUs) > cpus:
		return RefuseMinCPUs
	case (r.Mem == MemPerNode || r.Mem == MemPerCPU) && r.MemMiB > s.realMem:
		return RefuseMemory
	case int(r.SocketsPerNode) > s.sockets, int(r.CoresPerSocket) > s.perSocket, int(r.ThreadsPerCore) > s.confThreads:
		return RefuseSpecification
	}
	return RefuseNone
}

// FilterText returns the line that Slurm prints when all nodes fail f of
// [Request.NodeFilter], "" if there is none.
func FilterText(f Refusal) string {
	switch f {
	case RefuseMinCPUs:
		return "error: CPU count per node can not be satisfied"
	case RefuseMemory:
		return "error: Memory specification can not be satisfied"
	case RefuseSpecification:
		return "error: Socket, core and/or thread specification can not be satisfied"
	}
	return ""
}
