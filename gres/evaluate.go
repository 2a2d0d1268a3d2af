package gres

import "math/bits"

// A NodeRow is one node as a request sees it: its hardware, what is in use,
// and what the partition allows there. It is passed by value; its slices are
// only read.
type NodeRow struct {
	Shape *Shape
	Row   []uint64
	// Cores to regard as used instead of the row's, for jobs that may share
	// cores; nil means the row's. See [CoreRows].
	Cores []uint64
	// Limits on the CPUs of the partition's jobs on the node; nil is none.
	Limits *CPULimits
}

// CPULimits are a partition's limits on one node and what its jobs use there.
type CPULimits struct {
	// PerNode and PerSocket CPUs at most; 0 is unlimited. Slurm:
	// MaxCPUsPerNode, MaxCPUsPerSocket.
	PerNode, PerSocket int32
	// Used CPUs on the node, cores times threads.
	Used int32
	// UsedSocket CPUs by socket; nil is none used.
	UsedSocket []int32
}

// A Pass says how strictly cores and devices belong together.
type Pass uint8

const (
	// PassNear insists that devices are near the cores; Slurm's first pass.
	PassNear Pass = iota
	// PassAny does not; Slurm's second pass.
	PassAny
	// PassEver is added to a pass to ask what an idle node could ever give,
	// the test for requests that can never run. It is as lenient as Slurm's:
	// a shared request larger than one device passes if the node has as many.
	PassEver
)

// near reports whether p insists that devices are near the cores.
func (p Pass) near() bool { return p&PassAny == 0 }

// A NodeFit is what a node could give a request.
type NodeFit struct {
	// CPUs usable by the request, before any trimming.
	CPUs int32
	// MinCPUs that the devices demand, if the node is taken.
	MinCPUs int32
	// Devices usable, by need; saturates at 65535.
	Devices [MaxNeeds]uint16
	// MinTasks and MaxTasks allowed on the node by device demands; MaxTasks 0
	// is unlimited.
	MinTasks, MaxTasks int32
	// Near is the number of usable GPUs near free cores, at most 255; 0 if
	// the request has no GPUs.
	Near uint8
	// Refusal is RefuseNone, or why the node is no use; all else is then 0.
	Refusal Refusal
}

// A Scratch is the working memory of Evaluate and Select. The zero value is
// ready; it grows to the largest shape met and is reused. It must not be
// shared between goroutines.
type Scratch struct {
	cand    []uint64 // candidate cores
	count   []int    // candidate cores by socket
	order   []int    // sockets in visiting order
	need    []bool   // socket is required
	freeCPU []int
	pools   [MaxNeeds]pool
	sel     selection
	ever    bool
}

// A pool is the usable devices of one need on the node under evaluation.
type pool struct {
	group   int
	shared  bool
	tracked bool
	units   []int64 // by device: usable amount, 0 if not usable
	bySock  []int64 // by socket: devices (or units) that touch it
	any     int64   // devices without a socket
	total   int64
	best    int64 // largest amount of one device
	cap     int64 // upper bound on the node, −1 none
	most    int64 // devices that memory allows, −1 no bound
}

// Evaluate says what node n could give request r in the given pass. need is
// the number of nodes still required, this one included: a request counted
// over the job leaves at least one device to each other. It does not allocate
// once s has grown, and depends on nothing but its arguments' values, so the
// result may be remembered for (request, pass, need, shape and row).
//
// Source: spec/cores.md 3, spec/gres.md 8 and 10.
func Evaluate(n NodeRow, r *Request, pass Pass, need int, s *Scratch) NodeFit {
	var fit NodeFit
	var granted [MaxNeeds]int64
	if f := s.evaluate(&n, r, pass, need, &granted, &fit); f != RefuseNone {
		return NodeFit{Refusal: f}
	}
	return fit
}

// EvaluateAfter is Evaluate for a node that is looked at when other nodes
// already give granted devices of each need.
func EvaluateAfter(n NodeRow, r *Request, pass Pass, need int, granted *[MaxNeeds]int64, s *Scratch) NodeFit {
	var fit NodeFit
	if f := s.evaluate(&n, r, pass, need, granted, &fit); f != RefuseNone {
		return NodeFit{Refusal: f}
	}
	return fit
}

func (s *Scratch) evaluate(n *NodeRow, r *Request, pass Pass, need int, granted *[MaxNeeds]int64, fit *NodeFit) Refusal {
	if n.Shape.sockets == 0 {
		return s.evaluateCounts(n, r, need, granted, fit)
	}
	if f := checkSpecification(n.Shape, r); f != RefuseNone {
		return f
	}
	if r.Has(WholeNode) && !n.idle() {
		return RefuseBusy
	}
	// Devices first: the count test is cheap and refuses most.
	for i := range r.Needs[:r.NumNeeds] {
		if f := s.findDevices(n, r, i); f != RefuseNone {
			return f
		}
	}
	s.ever = pass&PassEver != 0
	if f := s.findCores(n, r, fit); f != RefuseNone {
		return f
	}
	if f := s.cutMemory(n, r, fit); f != RefuseNone {
		return f
	}
	if r.NumNeeds == 0 {
		return RefuseNone
	}
	return s.bindDevices(n, r, pass, need, granted, fit)
}

// checkSpecification tests what the hardware must have at all.
func checkSpecification(s *Shape, r *Request) Refusal {
	switch {
	case int(r.SocketsPerNode) > s.sockets, int(r.CoresPerSocket) > s.perSocket,
		int(r.ThreadsPerCore) > s.threads, int(r.TasksPerSocket) > s.perSocket*s.threads:
		return RefuseSpecification
	}
	return RefuseNone
}

// idle reports whether nothing that jobs consume is in use on n: the condition
// for taking it whole. In a partition whose jobs share cores the caller's core
// set decides.
func (n *NodeRow) idle() bool {
	for _, w := range n.used() {
		if w != 0 {
			return false
		}
	}
	for i := range n.Shape.groups {
		g := &n.Shape.groups[i]
		for _, w := range n.Row[g.off:g.end()] {
			if g.part != nil {
				w = uint64(PartitionState(w).Held())
			}
			if w != 0 {
				return false
			}
		}
	}
	return true
}

// end returns the word after the group's use words.
func (g *group) end() int {
	switch {
	case len(g.devs) == 0:
		return g.off + 1
	case g.byUnits:
		return g.off + len(g.devs)
	}
	return g.off + (len(g.devs)+63)/64
}

func (n *NodeRow) used() []uint64 {
	if n.Cores != nil {
		return n.Cores
	}
	return n.Row[:n.Shape.coreWords]
}

// resetSockets sizes the per-socket slices.
func (s *Scratch) resetSockets(sockets int) {
	if cap(s.count) < sockets {
		s.count, s.order = make([]int, sockets), make([]int, sockets)
		s.need, s.freeCPU = make([]bool, sockets), make([]int, sockets)
	}
	s.count, s.order = s.count[:sockets], s.order[:sockets]
	s.need, s.freeCPU = s.need[:sockets], s.freeCPU[:sockets]
}

// countSockets counts the candidate cores of each socket and returns the sum.
func (s *Scratch) countSockets(sh *Shape) int {
	sum := 0
	for k := range s.count {
		s.count[k] = countRange(s.cand, k*sh.perSocket, (k+1)*sh.perSocket)
		sum += s.count[k]
	}
	return sum
}

// countRange counts the set bits of words in [lo, hi).
func countRange(words []uint64, lo, hi int) int {
	n := 0
	for lo < hi {
		w := words[lo>>6] >> (lo & 63)
		span := min(64-lo&63, hi-lo)
		if span < 64 {
			w &= 1<<span - 1
		}
		n += bits.OnesCount64(w)
		lo += span
	}
	return n
}

// clearRange clears the bits of words in [lo, hi).
func clearRange(words []uint64, lo, hi int) {
	for lo < hi {
		span := min(64-lo&63, hi-lo)
		m := ^uint64(0)
		if span < 64 {
			m = 1<<span - 1
		}
		words[lo>>6] &^= m << (lo & 63)
		lo += span
	}
}

// dropHighest clears the n highest set bits of words in [lo, hi).
func dropHighest(words []uint64, lo, hi, n int) {
	for w := (hi - 1) >> 6; n > 0 && w >= lo>>6; w-- {
		x := words[w]
		if top := hi - w<<6; top < 64 {
			x &= 1<<top - 1
		}
		if w == lo>>6 {
			x &= ^uint64(0) << (lo & 63)
		}
		for ; x != 0 && n > 0; n-- {
			b := uint64(1) << (bits.Len64(x) - 1)
			x &^= b
			words[w] &^= b
		}
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
