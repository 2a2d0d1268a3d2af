package bind

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// MaxGPUs is the largest number of GPUs (or MIG instances) that a [Wiring] takes.
const MaxGPUs = 64

// maxGBps bounds the bandwidth of one pair, so that sums fit their field.
const maxGBps = 8191

// A Wiring is a machine reduced to the small tables that a [Solver] reads. Make
// it once for each kind of node; it is immutable and may be shared.
type Wiring struct {
	gpus, nics, nodes int

	class []uint8  // gpus × gpus, topology.PathClass
	gbps  []int32  // gpus × gpus
	link  []uint32 // gpus × gpus, cost of being neighbours in rank order
	nic   []uint8  // gpus × nics, topology.PathClass
	numa  []int32  // by GPU: position of its NUMA node, −1 for none
	rail  []int32  // by GPU: its nearest NIC, −1 for none

	dist   []int32    // nodes × nodes
	socket []int32    // by NUMA node, −1 without CPUs
	deal   [][]int32  // by NUMA node: its CPUs, core by core
	cpus   [][]uint64 // by NUMA node: its CPUs as bits
	words  int        // of a CPU set

	groups []uint64 // GPU sets worth keeping whole: switches, link domains, NUMA nodes
	alike  []uint64 // by GPU: those that could change places with it
	m      *topology.Machine
}

// NewWiring reduces m, which it keeps and which must not change.
func NewWiring(m *topology.Machine) (*Wiring, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if len(m.GPUs) > MaxGPUs || len(m.NICs) > MaxGPUs || len(m.Memory) > 64 {
		return nil, fmt.Errorf("bind: reduce wiring: %d GPUs, %d NICs, %d NUMA nodes: more than %d", len(m.GPUs), len(m.NICs), len(m.Memory), MaxGPUs)
	}
	w := &Wiring{gpus: len(m.GPUs), nics: len(m.NICs), nodes: len(m.Memory), m: m}
	w.reduceWires(m)
	w.reduceCPUs(m)
	w.findGroups(m)
	w.findAlike()
	return w, nil
}

func (w *Wiring) reduceWires(m *topology.Machine) {
	for i := range w.gpus {
		for j := range w.gpus {
			wire := m.GPUWire(i, j)
			b := min(wire.Bandwidth(), maxGBps)
			w.class = append(w.class, uint8(wire.Class))
			w.gbps = append(w.gbps, b)
			w.link = append(w.link, uint32(wire.Class)<<linkShift+uint32(maxGBps-b))
		}
		best := int32(-1)
		for r := range w.nics {
			c := m.NICWire(i, r).Class
			w.nic = append(w.nic, uint8(c))
			if best < 0 || uint8(c) < w.nic[i*w.nics+int(best)] {
				best = int32(r)
			}
		}
		w.rail = append(w.rail, best)
		w.numa = append(w.numa, m.GPUs[i].Memory)
	}
}

// linkShift keeps the sum of bandwidth terms along a chain of MaxGPUs below
// one step of class.
const linkShift = 20

func (w *Wiring) reduceCPUs(m *topology.Machine) {
	for a := range w.nodes {
		for b := range w.nodes {
			w.dist = append(w.dist, m.Distance(int32(a), int32(b)))
		}
		w.socket = append(w.socket, -1)
		w.deal = append(w.deal, nil)
	}
	order := slices.Clone(m.CPUs)
	slices.SortFunc(order, func(a, b topology.MachineCPU) int {
		if a.Core != b.Core {
			return int(a.Core - b.Core)
		}
		return int(a.ID - b.ID)
	})
	for _, c := range order {
		w.words = max(w.words, int(c.ID>>6)+1)
		if c.Memory >= 0 {
			w.deal[c.Memory] = append(w.deal[c.Memory], c.ID)
			w.socket[c.Memory] = c.Socket
		}
	}
	for n := range w.nodes {
		set := make([]uint64, w.words)
		for _, cpu := range w.deal[n] {
			set[cpu>>6] |= 1 << (cpu & 63)
		}
		w.cpus = append(w.cpus, set)
	}
}

// findGroups collects the sets of GPUs under one PCIe switch, in one link
// domain and near one NUMA node: at least two GPUs, but not all.
func (w *Wiring) findGroups(m *topology.Machine) {
	add := func(g uint64) {
		if n := bits.OnesCount64(g); n >= 2 && n < w.gpus && !slices.Contains(w.groups, g) {
			w.groups = append(w.groups, g)
		}
	}
	for i := range w.gpus {
		under, near := uint64(0), uint64(0)
		for j := range w.gpus {
			if s := m.GPUs[i].Switch; s >= 0 && s == m.GPUs[j].Switch {
				under |= 1 << j
			}
			if w.numa[i] >= 0 && w.numa[i] == w.numa[j] {
				near |= 1 << j
			}
		}
		add(under)
		for limit := topology.PathNVLink; limit < topology.PathSys; limit++ {
			add(w.component(i, uint8(limit)))
		}
		add(near)
	}
}

// component returns the GPUs that GPU i reaches over wires of class limit or
// better.
func (w *Wiring) component(i int, limit uint8) uint64 {
	seen := uint64(1) << i
	for todo := seen; todo != 0; {
		a := bits.TrailingZeros64(todo)
		todo &= todo - 1
		for b := range w.gpus {
			if seen>>b&1 == 0 && w.class[a*w.gpus+b] <= limit {
				seen |= 1 << b
				todo |= 1 << b
			}
		}
	}
	return seen
}

func (w *Wiring) findAlike() {
	w.alike = make([]uint64, w.gpus)
	for a := range w.gpus {
		for b := range w.gpus {
			if a != b && w.sameSeat(a, b) {
				w.alike[a] |= 1 << b
			}
		}
	}
}

func (w *Wiring) sameSeat(a, b int) bool {
	if w.numa[a] != w.numa[b] || w.rail[a] != w.rail[b] ||
		!slices.Equal(w.nic[a*w.nics:(a+1)*w.nics], w.nic[b*w.nics:(b+1)*w.nics]) {
		return false
	}
	for c := range w.gpus {
		if c != a && c != b && w.link[a*w.gpus+c] != w.link[b*w.gpus+c] {
			return false
		}
	}
	for _, g := range w.groups {
		if g>>a&1 != g>>b&1 {
			return false
		}
	}
	return true
}

// GPUs returns the number of GPUs.
func (w *Wiring) GPUs() int { return w.gpus }

// Rail returns the position of GPU i's nearest NIC, lowest first, or −1. On a
// rail-optimised fabric NIC r of every node hangs on rail r.
func (w *Wiring) Rail(i int) int { return int(w.rail[i]) }

// distance returns that between a GPU and a NUMA node.
func (w *Wiring) distance(gpu int, node int) int32 {
	if a := w.numa[gpu]; a >= 0 {
		return w.dist[int(a)*w.nodes+node]
	}
	return 10
}

// touched returns the NUMA nodes of a CPU set as bits.
func (w *Wiring) touched(cpus []uint64) (nodes uint64) {
	for n, set := range w.cpus {
		for i := range min(len(set), len(cpus)) {
			if set[i]&cpus[i] != 0 {
				nodes |= 1 << n
				break
			}
		}
	}
	return nodes
}

func all(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}
