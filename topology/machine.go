package topology

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// A PathClass says what lies on the way between two devices of one machine.
// Lower is closer; the order is that of NCCL and of nvidia-smi topo -m.
type PathClass uint8

// The classes, closest first.
const (
	PathSelf   PathClass = iota // the same device (X)
	PathNVLink                  // NVLink, direct or through an NVSwitch (NV#)
	PathPIX                     // at most one PCIe bridge
	PathPXB                     // several PCIe bridges, no host bridge
	PathPHB                     // one PCIe host bridge
	PathNode                    // several host bridges of one NUMA node (NODE)
	PathSys                     // the interconnect between NUMA nodes (SYS)
	PathNone                    // no way, or none known (N/A)
)

// PathClasses is the number of classes.
const PathClasses = int(PathNone) + 1

// String returns the word that nvidia-smi uses, without the lane count.
func (p PathClass) String() string {
	switch p {
	case PathSelf:
		return "X"
	case PathNVLink:
		return "NV"
	case PathPIX:
		return "PIX"
	case PathPXB:
		return "PXB"
	case PathPHB:
		return "PHB"
	case PathNode:
		return "NODE"
	case PathSys:
		return "SYS"
	}
	return "N/A"
}

// A Wire is the way between two devices of one machine.
type Wire struct {
	Class PathClass
	Lanes uint8 // active NVLink lanes; 0 for every other class
	GBps  int32 // bandwidth in one direction, GB/s; 0 means the nominal one of class and lanes
}

// Bandwidth returns w.GBps, or else a nominal figure in GB/s: 25 for each
// NVLink lane, and for PCIe a falling sequence whose order matters more than
// its values.
func (w Wire) Bandwidth() int32 {
	if w.GBps > 0 {
		return w.GBps
	}
	switch w.Class {
	case PathNVLink:
		return 25 * int32(max(w.Lanes, 1))
	case PathPIX:
		return 24
	case PathPXB:
		return 20
	case PathPHB:
		return 16
	case PathNode:
		return 12
	case PathSys:
		return 8
	}
	return 0
}

// A MachineCPU is one hardware thread.
type MachineCPU struct {
	ID     int32 // the kernel's number
	Core   int32 // number of its core, socket-major and dense, as Slurm numbers cores
	Socket int32 // number of its socket, dense
	Memory int32 // position in [Machine.Memory] of its NUMA node; −1 if unknown
}

// A MachineMemory is one NUMA node.
type MachineMemory struct {
	ID       int32    // the kernel's number
	CPUs     []uint64 // kernel CPU numbers as bits; empty for a node without CPUs
	Bytes    int64    // size of its memory, 0 if unknown
	Distance []int32  // to every NUMA node by position, the ACPI SLIT's figures; nil if unknown
}

// A MachineGPU is one GPU, or one MIG instance of a GPU.
type MachineGPU struct {
	Name   string   // model, as the source spells it
	UUID   string   // GPU-… or MIG-…, may be empty
	BusID  string   // domain:bus:device.function in lower case, may be empty
	Minor  int32    // N of /dev/nvidiaN, −1 if unknown
	Switch int32    // GPUs of equal number hang under one PCIe switch; −1 means none, or unknown
	Memory int32    // position in [Machine.Memory] of the nearest NUMA node; −1 means no preference
	CPUs   []uint64 // kernel numbers of the near CPUs as bits; nil means all are equally near
}

// A MachineNIC is one network adapter.
type MachineNIC struct {
	Name   string // mlx5_0, eth0, …
	BusID  string // as MachineGPU.BusID
	Memory int32  // position in [Machine.Memory] of the nearest NUMA node; −1 means no preference
}

// A Machine is the inner wiring of one node, as a plain value. Order matters:
// GPUs are in Slurm's device order (PCI order), NICs in the order of rails.
// It holds no references to files; package bind/wiring fills it from sysfs,
// nvidia-smi or hwloc, package nvml from the driver, a program by hand.
type Machine struct {
	CPUs   []MachineCPU    // ascending by ID
	Memory []MachineMemory // ascending by ID
	GPUs   []MachineGPU
	NICs   []MachineNIC
	// GPUWires is the square matrix of ways between GPUs, row by row:
	// len(GPUs)·len(GPUs) elements, symmetric, PathSelf on the diagonal.
	GPUWires []Wire
	// NICWires has the way from each GPU to each NIC, row by GPU:
	// len(GPUs)·len(NICs) elements.
	NICWires []Wire
}

// ErrMachine is wrapped by every error of [Machine.Validate].
var ErrMachine = errors.New("wiring is inconsistent")

// GPUWire returns the way between GPUs i and j by position.
func (m *Machine) GPUWire(i, j int) Wire { return m.GPUWires[i*len(m.GPUs)+j] }

// NICWire returns the way between GPU i and NIC r by position.
func (m *Machine) NICWire(i, r int) Wire { return m.NICWires[i*len(m.NICs)+r] }

// Validate returns all inconsistencies of m joined, each wrapping
// [ErrMachine], or nil. It changes nothing.
func (m *Machine) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("topology: check machine: "+format+": %w", append(args, ErrMachine)...))
	}
	if got, want := len(m.GPUWires), len(m.GPUs)*len(m.GPUs); got != want {
		bad("%d wires between %d GPUs, want %d", got, len(m.GPUs), want)
	} else {
		m.checkWires(bad)
	}
	if got, want := len(m.NICWires), len(m.GPUs)*len(m.NICs); got != want {
		bad("%d wires between %d GPUs and %d NICs, want %d", got, len(m.GPUs), len(m.NICs), want)
	}
	inRange := func(kind string, i int, node int32) {
		if node < -1 || int(node) >= len(m.Memory) {
			bad("%s %d: NUMA position %d of %d", kind, i, node, len(m.Memory))
		}
	}
	for i := range m.CPUs {
		inRange("CPU", i, m.CPUs[i].Memory)
		if c := &m.CPUs[i]; c.ID < 0 || c.Core < 0 || c.Socket < 0 {
			bad("CPU %d: negative number", i)
		}
		if i > 0 && m.CPUs[i].ID <= m.CPUs[i-1].ID {
			bad("CPU %d: ids do not rise", i)
		}
	}
	for i := range m.Memory {
		if d := len(m.Memory[i].Distance); d != 0 && d != len(m.Memory) {
			bad("NUMA node %d: %d distances, want %d", i, d, len(m.Memory))
		}
	}
	for i := range m.GPUs {
		inRange("GPU", i, m.GPUs[i].Memory)
	}
	for i := range m.NICs {
		inRange("NIC", i, m.NICs[i].Memory)
	}
	return errors.Join(errs...)
}

func (m *Machine) checkWires(bad func(string, ...any)) {
	for i := range m.GPUs {
		for j := range m.GPUs {
			w := m.GPUWire(i, j)
			switch {
			case (i == j) != (w.Class == PathSelf):
				bad("GPU %d to GPU %d: class %v", i, j, w.Class)
			case w != m.GPUWire(j, i):
				bad("GPU %d to GPU %d: ways there and back differ", i, j)
			}
		}
	}
}

// Distance returns the distance between the NUMA nodes at positions a and b:
// the firmware's figure, or 10 within a node and 20 between two where there
// is none. A position of −1 is equally near to all, at 10.
func (m *Machine) Distance(a, b int32) int32 {
	if a < 0 || b < 0 || a == b {
		return 10
	}
	if d := m.Memory[a].Distance; int(b) < len(d) && d[b] > 0 {
		return d[b]
	}
	return 20
}

// AppendCPUList appends the numbers of the set bits in Linux's list form,
// such as 0-3,8.
func AppendCPUList(dst []byte, words []uint64) []byte {
	first := true
	for lo := nextCPUBit(words, 0); lo >= 0; {
		hi := lo
		for hi+1 < 64*len(words) && words[(hi+1)>>6]>>((hi+1)&63)&1 == 1 {
			hi++
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(lo), 10)
		if hi > lo {
			dst = strconv.AppendInt(append(dst, '-'), int64(hi), 10)
		}
		lo = nextCPUBit(words, hi+1)
	}
	return dst
}

// nextCPUBit returns the first set bit at or after i, or −1.
func nextCPUBit(words []uint64, i int) int {
	for w := i >> 6; w < len(words); w++ {
		x := words[w]
		if w == i>>6 {
			x &= ^uint64(0) << (i & 63)
		}
		if x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
	}
	return -1
}
