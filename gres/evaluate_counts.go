package gres

// evaluateCounts is evaluate for a node with counts only: milli-CPU, memory
// and devices without a place.
func (s *Scratch) evaluateCounts(n *NodeRow, r *Request, need int, granted *[MaxNeeds]int64, fit *NodeFit) Refusal {
	sh := n.Shape
	if r.Has(WholeNode) && !sh.Idle(n.Row) {
		return RefuseBusy
	}
	for i := range r.Needs[:r.NumNeeds] {
		if f := s.findDevices(n, r, i); f != RefuseNone {
			return f
		}
		p, d := &s.pools[i], &r.Needs[i]
		k := p.total
		if d.Milli > 0 {
			k = 0
			for _, u := range p.units {
				if u > 0 {
					k++
				}
			}
			if k < max(d.PerNode, 1) {
				return RefuseNotEnough
			}
		} else if p.shared && !r.Has(MultipleSharing) {
			k = p.best
			if k < d.PerNode {
				return RefuseNotEnough
			}
		}
		if d.PerNode > 0 {
			k = min(k, d.PerNode)
		} else if d.PerJob > granted[i] {
			k = min(k, d.PerJob-granted[i]-int64(need-1))
		}
		if k <= 0 {
			return RefuseNotEnough
		}
		fit.Devices[i] = uint16(min(k, 1<<16-1))
	}
	c := r.perTask()
	u := int(sh.FreeMilliCPU(n.Row) / 1000)
	if r.MilliCPU > 0 {
		if sh.FreeMilliCPU(n.Row) < r.MilliCPU {
			return RefuseCores
		}
		u = max(u, 1)
	} else {
		if u -= u % c; r.TasksPerNode > 0 {
			u = min(u, int(r.TasksPerNode)*c)
		}
		if u < max(int(r.NodeCPUs), int(r.TasksPerNode)*c, 1) {
			return RefuseCores
		}
	}
	free := sh.FreeMem(n.Row)
	switch {
	case !r.Has(ConsumeMem):
	case r.Mem == MemAll && n.Row[sh.coreWords] != 0:
		return RefuseMemory
	case r.Mem == MemPerNode && free < r.MemMiB:
		return RefuseMemory
	case r.Mem == MemPerCPU && r.MemMiB > 0:
		if u = min(u, int(free/r.MemMiB)); u < max(int(r.NodeCPUs), 1) {
			return RefuseMemory
		}
		u -= u % c
	}
	fit.CPUs = int32(u)
	return enoughForTasks(r, u)
}
