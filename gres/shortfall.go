package gres

// A Shortfall says how much of what a refusal is about a request asks of a
// node and how much the node has free. Unit tells what is counted.
type Shortfall struct {
	Unit         ShortUnit
	Need         int // index of the need, for devices
	Asked, Found int64
}

// ShortUnit is what a [Shortfall] counts.
type ShortUnit uint8

const (
	ShortNothing ShortUnit = iota // no number explains the refusal
	ShortDevices                  // devices or units of a need
	ShortCPUs                     // CPUs
	ShortMemory                   // MiB
	ShortSockets                  // sockets
)

// Explain turns the refusal f, which Evaluate gave for r on n, into numbers:
// what every node must give, and what this one has free. With the row of an
// idle node it tells what hardware would be needed. It is for explanations,
// not for a pass.
func Explain(n NodeRow, r *Request, f Refusal, s *Scratch) Shortfall {
	sh := n.Shape
	switch f {
	case RefuseWrongType, RefuseNotEnough, RefuseBusyShared, RefuseScope, RefuseUnits, RefuseNoNearCores:
		for i := range r.Needs[:r.NumNeeds] {
			d := &r.Needs[i]
			asked := max(d.PerNode, d.PerSocket*int64(max(r.SocketsPerNode, 1)), d.PerTask, min(d.PerJob, 1))
			why := s.findDevices(&n, r, i)
			found := s.pools[i].total
			if s.pools[i].group < 0 || why == RefuseWrongType {
				found = 0
			}
			if why == RefuseUnits {
				found = 1 // a request gets one at most
			}
			if found < asked || why == f || f == RefuseNoNearCores {
				return Shortfall{ShortDevices, i, asked, found}
			}
		}
	case RefuseMemory, RefuseMemPerGPU:
		asked := r.MemMiB
		switch r.Mem {
		case MemPerCPU:
			asked *= int64(max(int(r.NodeCPUs), int(r.TasksPerNode)*r.perTask(), r.perTask()))
		case MemAll:
			asked = sh.mem
		}
		return Shortfall{ShortMemory, 0, asked, sh.FreeMem(n.Row)}
	case RefuseSocketsPerNode:
		return Shortfall{ShortSockets, 0, int64(r.SocketsPerNode), int64(s.openSockets(&n, r))}
	case RefuseCores, RefuseMinCPUs, RefuseTasksPerNode, RefuseMaxCPUsNode, RefuseMaxCPUsSocket, RefuseCPUPerGPU:
		least := max(int(r.NodeCPUs), int(r.TasksPerNode)*r.perTask(), r.perTask(), int(r.CPUsPerGPU))
		if r.MaxNodes == 1 && r.TasksKnown == Given {
			least = max(least, int(r.Tasks)*r.perTask())
		}
		return Shortfall{ShortCPUs, 0, int64(least), sh.FreeMilliCPU(n.Row) / 1000}
	case RefuseBusy:
		return Shortfall{ShortCPUs, 0, int64(sh.cpus), sh.FreeMilliCPU(n.Row) / 1000}
	}
	return Shortfall{}
}

// openSockets counts the sockets with as many free cores as r asks of one.
func (s *Scratch) openSockets(n *NodeRow, r *Request) int {
	k, sh := 0, n.Shape
	for q := range sh.sockets {
		lo, hi := q*sh.perSocket, (q+1)*sh.perSocket
		free := countRange(sh.usable, lo, hi) - countRange(n.used(), lo, hi)
		if free > 0 && free >= int(r.CoresPerSocket) {
			k++
		}
	}
	return k
}
