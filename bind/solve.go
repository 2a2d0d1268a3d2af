package bind

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// A Policy orders the criteria by which GPUs are chosen.
type Policy uint8

// The policies.
const (
	PolicyBest   Policy = iota // closest GPUs first, fragmentation late
	PolicyPack                 // break up no free group of GPUs, then as PolicyBest
	PolicySpread               // as many NUMA nodes as can be, then as PolicyBest
)

// A Need says how strongly something is wanted.
type Need uint8

// The needs, as Nomad's numa affinity has them.
const (
	NeedPrefer  Need = iota // one of the criteria
	NeedNone                // no criterion
	NeedRequire             // refuse otherwise
)

// A NICChoice says how network adapters are given to GPUs.
type NICChoice uint8

// The choices.
const (
	NICNone    NICChoice = iota // none
	NICNearest                  // one a GPU, nearest; shared only if there are fewer than GPUs
	NICRail                     // as NICNearest, among those of Rails alone
)

// A SolveRequest says what is wanted of a machine. All slices are the caller's
// and are only read.
type SolveRequest struct {
	GPUs        int // devices wanted
	Tasks       int // tasks that share them out; 0 means one a GPU
	CPUsPerTask int // CPUs (hardware threads) for each task; 0 leaves CPUs alone
	// FreeGPUs, FreeNICs are what may be given, bits by position.
	FreeGPUs, FreeNICs uint64
	// FreeCPUs is what may be given, bits by the kernel's number.
	FreeCPUs []uint64
	// TaskCPUs has CPU sets that tasks are already bound to, bits by the
	// kernel's number; then no CPUs are given and GPUs follow the tasks.
	TaskCPUs [][]uint64
	// Nodes limits GPUs and CPUs to NUMA nodes, bits by position; 0 is no
	// limit. A [Hint] of Kubernetes goes here.
	Nodes  uint64
	Policy Policy
	NUMA   Need // NeedRequire: all GPUs and CPUs of one NUMA node
	Link   Need // NeedRequire: all pairs of GPUs linked by NVLink
	NICs   NICChoice
	Rails  uint64 // of NICRail, bits by NIC position; GPUs of other rails are left out
}

// A Lack says why there is no solution.
type Lack uint8

// The lacks.
const (
	LackNothing Lack = iota
	LackGPUs         // fewer free GPUs than asked, on the nodes and rails allowed
	LackNUMA         // no single NUMA node has enough
	LackLink         // no set of GPUs is linked throughout
	LackCPUs         // fewer free CPUs than asked
	LackNICs         // no free NIC
)

// String returns a short text.
func (l Lack) String() string {
	switch l {
	case LackGPUs:
		return "too few free GPUs"
	case LackNUMA:
		return "no single NUMA node has enough"
	case LackLink:
		return "no set of GPUs is linked throughout"
	case LackCPUs:
		return "too few free CPUs"
	case LackNICs:
		return "no free NIC"
	}
	return ""
}

// A Score has the criteria of a solution, most important first under
// PolicyBest. Equal scores go to the lowest GPUs.
type Score struct {
	Worst     topology.PathClass // worst class between two of the GPUs
	GBps      int64              // sum of the pairs' bandwidths; more is better
	NUMANodes int                // NUMA nodes that the GPUs are near to
	CPUsFar   int                // CPUs wanted beyond those near the GPUs
	NICs      int                // sum of the classes from each GPU to its NIC
	Broken    int                // free switch, link and NUMA groups taken in part
	// Those below are about tasks, once the GPUs are chosen.
	SocketSplit int   // tasks whose CPUs lie on several sockets
	NodeSplit   int   // tasks whose CPUs lie on several NUMA nodes
	Distance    int64 // NUMA distance from tasks to their GPUs, summed over CPUs (over tasks if they were bound before)
	Chain       int64 // cost of the wires between GPUs of successive ranks
}

// A Solution is the answer of [Solver.Solve]. Its slices are reused by the
// next call that is given the same value.
type Solution struct {
	GPUs  uint64 // chosen GPUs, bits by position
	Score Score
	order []int32  // GPUs in rank order
	off   []int32  // off[k]:off[k+1] is task k's part of order; tasks may share a GPU
	nic   []int32  // by place in order: its NIC, −1 for none
	cpus  []uint64 // words by task
	mems  []uint64 // by task
	words int
}

// Order returns the GPUs by position in the order of ranks: those of
// neighbouring ranks are close. Valid until s is used again, as everything
// that s returns.
func (s *Solution) Order() []int32 { return s.order }

// Tasks returns the number of tasks.
func (s *Solution) Tasks() int { return len(s.mems) }

// Task returns the GPUs of task k by position, in rank order.
func (s *Solution) Task(k int) []int32 { return s.order[s.off[2*k]:s.off[2*k+1]] }

// NICs returns the NICs of task k by position, one for each of its GPUs, −1
// for none.
func (s *Solution) NICs(k int) []int32 { return s.nic[s.off[2*k]:s.off[2*k+1]] }

// CPUs returns the CPUs of task k as bits by the kernel's number; empty if
// none were asked.
func (s *Solution) CPUs(k int) []uint64 { return s.cpus[k*s.words : (k+1)*s.words] }

// MemoryNodes returns the NUMA nodes near task k as bits by position.
func (s *Solution) MemoryNodes(k int) uint64 { return s.mems[k] }

// A Solver finds the best GPUs, CPUs and NICs of one machine for a number of
// tasks. It holds scratch only; the zero value works.
type Solver struct {
	set   setSearch
	order orderSearch
	deal  cpuDealer
	match matcher
}

// Solve stores in dst the best way to serve r on w.
//
// The GPUs are chosen first, by the criteria of [Score] down to Broken in the
// order of the policy, ties to the lowest positions. Then they are put in rank
// order: if the tasks are bound to CPUs, so that the distance between tasks
// and GPUs is least; then so that the wires between successive ranks are best;
// then lowest first. Then tasks are dealt CPUs: as many as can be whole in a
// NUMA node, in rank order, at the least distance in sum; the rest whole in a
// socket, or in pieces. All of this is exact for up to 16 GPUs; beyond, the
// rank order is the best of a bounded search.
//
// Cost: on machines wired in a hierarchy, as all that are built are, 3 µs for 8
// and 15 µs for 16 tasks and GPUs, since bounds then meet. On wires without any
// order 10 µs and, in the median, 0.25 ms; at worst it looks at every set of
// GPUs and at every subset for the order (40 ms for 16). It allocates nothing
// once the slices have grown.
//
// Source: specification bind.md 6.
func (s *Solver) Solve(dst *Solution, w *Wiring, r *SolveRequest) Lack {
	free := s.allowed(w, r)
	if r.GPUs < 0 || bits.OnesCount64(free) < r.GPUs {
		return LackGPUs
	}
	nics := uint64(0)
	switch r.NICs {
	case NICNearest:
		nics = r.FreeNICs & all(w.nics)
	case NICRail:
		nics = r.FreeNICs & r.Rails & all(w.nics)
	}
	if r.NICs != NICNone && nics == 0 && r.GPUs > 0 {
		return LackNICs
	}
	tasks := r.Tasks
	if tasks <= 0 {
		tasks = max(r.GPUs, 1)
	}
	if r.CPUsPerTask > 0 && r.TaskCPUs == nil && !s.deal.enough(w, r, tasks) {
		return LackCPUs
	}
	if lack := s.set.search(dst, w, r, free, nics, tasks, s); lack != LackNothing {
		return lack
	}
	s.order.solve(dst, w, r, tasks, &s.match)
	s.giveNICs(dst, w, nics)
	if lack := s.deal.deal(dst, w, r, tasks); lack != LackNothing {
		return lack
	}
	return LackNothing
}

// allowed returns the free GPUs on the nodes and rails of r.
func (s *Solver) allowed(w *Wiring, r *SolveRequest) uint64 {
	free := r.FreeGPUs & all(w.gpus)
	for rest := free; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if n := w.numa[i]; r.Nodes != 0 && n >= 0 && r.Nodes>>n&1 == 0 {
			free &^= 1 << i
		}
		if rail := w.rail[i]; r.NICs == NICRail && (rail < 0 || r.Rails>>rail&1 == 0) {
			free &^= 1 << i
		}
	}
	return free
}

// giveNICs matches the chosen GPUs with NICs at the least sum of classes.
func (s *Solver) giveNICs(dst *Solution, w *Wiring, nics uint64) {
	dst.nic = dst.nic[:0]
	for range dst.order {
		dst.nic = append(dst.nic, -1)
	}
	if nics == 0 {
		return
	}
	s.nicMatch(w, dst.GPUs, nics)
	row := 0
	for rest := dst.GPUs; rest != 0; rest &= rest - 1 {
		gpu := int32(bits.TrailingZeros64(rest))
		for at, g := range dst.order {
			if g == gpu {
				dst.nic[at] = s.match.label[s.match.lowest(row)]
			}
		}
		row++
	}
}

// nicMatch prepares and solves the matching of GPUs with NICs and returns its
// cost. NICs repeat as columns if they are fewer than GPUs.
func (s *Solver) nicMatch(w *Wiring, gpus, nics uint64) int {
	rows, avail := bits.OnesCount64(gpus), bits.OnesCount64(nics)
	copies := (rows + avail - 1) / avail
	m := &s.match
	m.begin(rows, avail*copies)
	for rest := nics; rest != 0; rest &= rest - 1 {
		for range copies {
			m.label = append(m.label, int32(bits.TrailingZeros64(rest)))
		}
	}
	for rest := gpus; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		for _, r := range m.label {
			m.cost = append(m.cost, int32(w.nic[i*w.nics+int(r)]))
		}
	}
	return int(m.solve())
}
