package wiring

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// A pciDevice is a GPU or NIC with the bridges above it.
type pciDevice struct {
	addr string   // domain:bus:device.function
	path []string // root bus, then bridges, then the device itself
	node int32    // position of its NUMA node, −1 for none
}

// wire classifies the way between two PCI devices by what their paths share:
// nothing: NUMA nodes tell NODE from SYS; the root bus alone: PHB; a bridge:
// PIX if at most one bridge is below it on each side, else PXB.
//
// Source: adapters.md 5; nvidia-smi topo's legend.
func wire(a, b *pciDevice) topology.PathClass {
	same := 0
	for same < len(a.path) && same < len(b.path) && a.path[same] == b.path[same] {
		same++
	}
	switch {
	case same == 0 && a.node >= 0 && b.node >= 0 && a.node != b.node:
		return topology.PathSys
	case same == 0:
		return topology.PathNode
	case same == 1:
		return topology.PathPHB
	case len(a.path)-1-same <= 1 && len(b.path)-1-same <= 1:
		return topology.PathPIX
	}
	return topology.PathPXB
}

// isPCI reports whether s is an address such as 0000:3d:00.0.
func isPCI(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	bus, rest, ok2 := strings.Cut(rest, ":")
	dev, fn, ok3 := strings.Cut(rest, ".")
	return ok && ok2 && ok3 && len(domain) >= 4 && len(bus) == 2 && len(dev) == 2 && len(fn) == 1 &&
		isHex(domain) && isHex(bus) && isHex(dev) && isHex(fn)
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}

// NormalBusID returns a PCI address in the kernel's form: lower case and a
// domain of four digits where that suffices. NVML and nvidia-smi write
// 00000000:3D:00.0, the kernel 0000:3d:00.0.
func NormalBusID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	domain, rest, ok := strings.Cut(s, ":")
	for ok && len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	if !ok {
		return s
	}
	return domain + ":" + rest
}

// pathOf picks the root bus and the PCI addresses out of a device path, such
// as ../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/eth0.
func pathOf(link string) []string {
	var path []string
	for part := range strings.SplitSeq(link, "/") {
		switch {
		case len(path) == 0 && strings.HasPrefix(part, "pci") && part != "pci":
			path = append(path, part)
		case len(path) > 0 && isPCI(part):
			path = append(path, part)
		}
	}
	if len(path) < 2 {
		return nil
	}
	return path
}

// connect fills the wires and the switches of m, whose GPUs and NICs are those
// of gpus and nics.
func connect(m *topology.Machine, gpus, nics []pciDevice) {
	m.GPUWires, m.NICWires = nil, nil
	for i := range gpus {
		for j := range gpus {
			w := topology.Wire{}
			if i != j {
				w.Class = wire(&gpus[i], &gpus[j])
			}
			m.GPUWires = append(m.GPUWires, w)
		}
		for r := range nics {
			m.NICWires = append(m.NICWires, topology.Wire{Class: wire(&gpus[i], &nics[r])})
		}
	}
	var seen []string
	for i := range gpus {
		m.GPUs[i].Switch = -1
		// Root bus, two bridges or more, device: the lowest but one bridge is
		// a switch's upper port.
		if p := gpus[i].path; len(p) >= 4 {
			up := strings.Join(p[:len(p)-2], "/")
			at := slices.Index(seen, up)
			if at < 0 {
				at = len(seen)
				seen = append(seen, up)
			}
			m.GPUs[i].Switch = int32(at)
		}
	}
}

// byAddress orders devices as Slurm and NVML number them.
func byAddress(a, b pciDevice) int {
	return cmp.Or(cmp.Compare(len(a.addr), len(b.addr)), cmp.Compare(a.addr, b.addr))
}
