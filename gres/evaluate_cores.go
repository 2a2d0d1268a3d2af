package gres

// findCores stores in s.cand the cores that r could use on n and in fit.CPUs
// how many CPUs of them, before memory and devices.
//
// Source: spec/cores.md 3.1 and 3.2.
func (s *Scratch) findCores(n *NodeRow, r *Request, fit *NodeFit) Refusal {
	sh := n.Shape
	s.resetSockets(sh.sockets)
	s.cand = zeroed(s.cand, sh.coreWords)
	used := n.used()
	copy(s.cand, sh.usable)
	if r.leavesOutCores(sh) {
		if int(r.SpecCount) >= sh.cores {
			return RefuseCores
		}
		leaveOut(s.cand, sh, int(r.SpecCount))
	}
	for w := range s.cand {
		s.cand[w] &^= used[w]
	}
	if !r.Has(WholeNode) {
		s.dropRestricted(sh, r)
	}
	s.countSockets(sh)
	if r.Unit == UnitSocket {
		for k := range s.count {
			if countRange(used, k*sh.perSocket, (k+1)*sh.perSocket) > 0 {
				clearRange(s.cand, k*sh.perSocket, (k+1)*sh.perSocket)
				s.count[k] = 0
			}
		}
	}
	maxCPUs, f := s.limitCPUs(n, r)
	if f != RefuseNone {
		return f
	}
	if f := s.filterSockets(sh, r); f != RefuseNone {
		return f
	}
	return s.countCPUs(sh, r, maxCPUs, fit)
}

// limitCPUs applies MaxCPUsPerSocket to the candidates and returns the CPUs
// that MaxCPUsPerNode leaves, −1 if it does not bind.
func (s *Scratch) limitCPUs(n *NodeRow, r *Request) (int, Refusal) {
	l, sh := n.Limits, n.Shape
	if l == nil {
		return -1, RefuseNone
	}
	if m := int(l.PerSocket); m > 0 {
		left := 0
		for k := range s.count {
			use := 0
			if l.UsedSocket != nil {
				use = int(l.UsedSocket[k])
			}
			room := m / sh.threads
			if r.Has(StrictSocketLimit) {
				room = max(m-use, 0) / sh.threads
			}
			if use >= m {
				room = 0
			}
			if s.count[k] > room {
				dropHighest(s.cand, k*sh.perSocket, (k+1)*sh.perSocket, s.count[k]-room)
				s.count[k] = room
			}
			left += s.count[k]
		}
		if left == 0 {
			return -1, RefuseMaxCPUsSocket
		}
	}
	m := int(l.PerNode)
	if m <= 0 {
		return -1, RefuseNone
	}
	free := 0
	for _, c := range s.count {
		free += c * sh.threads
	}
	if free+int(l.Used) <= m {
		return -1, RefuseNone
	}
	left := m - int(l.Used)
	if r.Has(WholeNode) || left <= 0 {
		return -1, RefuseMaxCPUsNode
	}
	if left == 1 && (r.TasksPerCore > 1 || r.TasksPerSocket > 1 || r.ThreadsPerCore > 1 || r.perTask() > 1) {
		return -1, RefuseMaxCPUsNode
	}
	return left, RefuseNone
}

// filterSockets drops sockets with fewer free cores than --cores-per-socket
// and tests --sockets-per-node.
func (s *Scratch) filterSockets(sh *Shape, r *Request) Refusal {
	offering := 0
	for k := range s.count {
		if s.count[k] < int(r.CoresPerSocket) {
			clearRange(s.cand, k*sh.perSocket, (k+1)*sh.perSocket)
			s.count[k] = 0
		}
		if s.count[k] > 0 {
			offering++
		}
	}
	switch {
	case offering == 0:
		return RefuseCores
	case offering < int(r.SocketsPerNode):
		return RefuseSocketsPerNode
	}
	return RefuseNone
}

// countCPUs turns free cores into usable CPUs and drops the cores beyond.
func (s *Scratch) countCPUs(sh *Shape, r *Request, maxCPUs int, fit *NodeFit) Refusal {
	v, c, p := r.threads(sh), r.perTask(), max(int(r.NodeCPUs), 1)
	perSock, tpn := int(r.TasksPerSocket), int(r.TasksPerNode)
	all, tasks := 0, 0
	for _, f := range s.count {
		all += f * v
		if perSock > 0 {
			tasks += min(f*v, perSock)
		} else {
			tasks += f * v
		}
	}
	if all < p {
		return RefuseMinCPUs
	}
	if tpn > 0 && !r.Has(WholeNode) && r.CPUsPerGPU == 0 {
		tasks = min(tasks, tpn)
	}
	u := all
	switch {
	case r.NumNeeds > 0:
	case c == 1:
		u = tasks
	case r.TasksPerCore == 1 && c > v:
		w := ceilDiv(c, v) * v
		u = all / w * c
	default:
		tasks = min(tasks, all/c)
		u = tasks * c
	}
	if r.Has(memRaised) {
		u = max(u, p)
	}
	if tasks < tpn && !r.Has(Overcommit) {
		return RefuseTasksPerNode
	}
	s.keepReached(sh, u, v, perSock*c)
	if maxCPUs >= 0 {
		u = min(u, maxCPUs) // bounds the CPUs, not which cores they are
	}
	if u < p {
		return RefuseMinCPUs
	}
	fit.CPUs = int32(u)
	return enoughForTasks(r, u)
}

// enoughForTasks tests that u CPUs hold the tasks that a node must take.
func enoughForTasks(r *Request, u int) Refusal {
	least := 1
	switch {
	case r.Has(Overcommit):
	case r.TasksPerNode > 0:
		least = int(r.TasksPerNode)
	case r.MaxNodes == 1 && r.TasksKnown == Given:
		least = int(r.Tasks)
	}
	if u < least*r.perTask() {
		return RefuseCores
	}
	return RefuseNone
}

// keepReached walks the candidates upward, v CPUs each and at most perSock a
// socket (0: no bound), and drops what is not reached when u are counted.
func (s *Scratch) keepReached(sh *Shape, u, v, perSock int) {
	for k := range s.count {
		lo, hi := k*sh.perSocket, (k+1)*sh.perSocket
		room := u
		if perSock > 0 {
			room = min(room, perSock)
		}
		keep := min(s.count[k], ceilDiv(room, v))
		if keep < s.count[k] {
			dropHighest(s.cand, lo, hi, s.count[k]-keep)
			s.count[k] = keep
		}
		u -= min(keep*v, room)
	}
}

// cutMemory lowers fit.CPUs to what memory allows.
//
// Source: spec/cores.md 3.3.
func (s *Scratch) cutMemory(n *NodeRow, r *Request, fit *NodeFit) Refusal {
	if !r.Has(ConsumeMem) {
		return RefuseNone
	}
	sh, free := n.Shape, n.Shape.FreeMem(n.Row)
	c, tpn := r.perTask(), int(r.TasksPerNode)
	u := int(fit.CPUs)
	switch r.Mem {
	case MemAll:
		if n.Row[sh.coreWords] != 0 {
			return RefuseMemory
		}
	case MemPerNode:
		if r.MemMiB > free {
			return RefuseMemory
		}
	case MemPerCPU:
		m := r.MemMiB
		if free < m*int64(max(tpn, int(r.NodeCPUs), c)) {
			return RefuseMemory
		}
		switch {
		case r.Has(WholeNode):
			if m*int64(r.wholeMemCPUs(sh)) > free {
				return RefuseMemory
			}
		case r.TasksPerCore == 1 && c == 1 && r.Unit != UnitCPU:
			for u > 0 && m*int64(u)*int64(sh.threads) > free {
				u--
			}
		default:
			unit := r.memUnit(sh)
			for u > 0 && m*int64(u) > free {
				u -= unit
			}
		}
	default:
		return RefuseNone
	}
	u = max(u, 0)
	if !r.Has(WholeNode) {
		u -= u % c
	}
	if u < max(tpn, 1) && !r.Has(Overcommit) || u < 1 {
		return RefuseMemory
	}
	fit.CPUs = int32(u)
	return enoughForTasks(r, u)
}

// memUnit is the step by which memory per CPU lowers the CPUs of a node.
func (r *Request) memUnit(sh *Shape) int {
	unit := sh.threads
	switch r.Unit {
	case UnitCPU:
		unit = 1
	case UnitSocket:
		unit = sh.perSocket * sh.threads
	}
	if r.TasksPerCore > 0 {
		unit = min(unit, int(r.TasksPerCore)*r.perTask())
	}
	if r.ThreadsPerCore > 0 {
		unit = min(unit, int(r.ThreadsPerCore))
	}
	return max(unit, 1)
}

// wholeMemCPUs is the number of CPUs that memory per CPU counts on a node
// taken whole.
func (r *Request) wholeMemCPUs(sh *Shape) int {
	cores, t := sh.cores-sh.specCores, sh.threads
	if r.ThreadsPerCore > 0 {
		t = min(t, int(r.ThreadsPerCore))
	}
	switch {
	case r.leavesOutCores(sh):
		cores = sh.cores - int(r.SpecCount)
	case r.Has(HasThreadSpec):
		return min(cores*t, sh.cores*sh.threads-int(r.SpecCount))
	}
	return cores * t
}

// leavesOutCores reports whether r says itself how many cores stay with the
// system: -S, or --thread-spec where a core has one thread.
func (r *Request) leavesOutCores(sh *Shape) bool {
	return r.Has(HasCoreSpec) || r.Has(HasThreadSpec) && sh.threads == 1
}

// leaveOut stores in cores all but the x that -S x leaves out: the lowest
// specialised ones, then further ones as CoreSpecCount takes them.
//
// Source: spec/cores.md 6.
func leaveOut(cores []uint64, sh *Shape, x int) {
	for k := range sh.cores {
		spec := sh.spec[k>>6]>>(k&63)&1 != 0
		if spec && x > 0 {
			x--
			cores[k>>6] &^= 1 << (k & 63)
		} else {
			cores[k>>6] |= 1 << (k & 63)
		}
	}
	for i := 0; x > 0 && i < sh.cores; i++ {
		k := (sh.sockets-1-i%sh.sockets)*sh.perSocket + sh.perSocket - 1 - i/sh.sockets
		if hasBit(cores, k) {
			cores[k>>6] &^= 1 << (k & 63)
			x--
		}
	}
}
