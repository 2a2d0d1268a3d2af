package nvml

import "github.com/berth-sched/berth/topology"

// Machine returns a copy of m whose GPUs are those of s that answered, MIG
// instances in place of their GPU, in the order of the snapshot: with names,
// unique ids and minor numbers, and with NVLink between them. GPUs with lanes
// to an NVSwitch are linked with one another by as many lanes as the poorer of
// two has. Ways over PCIe are those of m where it knows both devices, or else
// what the driver says about common ancestors.
func Machine(m *topology.Machine, s *Snapshot) *topology.Machine {
	out := *m
	out.GPUs, out.GPUWires, out.NICWires = nil, nil, nil
	var of []int // by new GPU: device of s
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.Err != nil {
			continue
		}
		g := topology.MachineGPU{Name: d.Name, UUID: d.UUID, BusID: d.BusID, Minor: int32(d.Minor), Switch: -1, Memory: -1}
		if k := find(m, d.BusID); k >= 0 {
			g.Switch, g.Memory, g.CPUs = m.GPUs[k].Switch, m.GPUs[k].Memory, m.GPUs[k].CPUs
		}
		if d.CPUKnown {
			g.CPUs = d.CPUs
		}
		if g.Memory < 0 {
			g.Memory = memoryOf(m, d)
		}
		seats := 1
		if d.MIG.Current && len(d.Instances) > 0 {
			seats = len(d.Instances)
		}
		for n := range seats {
			if d.MIG.Current && len(d.Instances) > 0 {
				g.Name, g.UUID = d.Instances[n].Name, d.Instances[n].id(d.UUID, s.Driver)
			}
			out.GPUs = append(out.GPUs, g)
			of = append(of, i)
		}
	}
	for a, i := range of {
		for b, j := range of {
			w := topology.Wire{}
			switch {
			case a == b:
			case i == j:
				w.Class = topology.PathPIX // instances of one GPU
			default:
				w = s.wire(m, i, j)
			}
			out.GPUWires = append(out.GPUWires, w)
		}
		for r := range m.NICs {
			w := topology.Wire{Class: topology.PathNone}
			if k := find(m, s.Devices[i].BusID); k >= 0 {
				w = m.NICWire(k, r)
			}
			out.NICWires = append(out.NICWires, w)
		}
	}
	return &out
}

// find returns the position of a GPU by address, −1 if m lacks it.
func find(m *topology.Machine, bus string) int {
	for k := range m.GPUs {
		if bus != "" && m.GPUs[k].BusID == bus {
			return k
		}
	}
	return -1
}

// memoryOf returns the one NUMA node that the driver names, or else that of
// the near CPUs; −1 for none or several.
func memoryOf(m *topology.Machine, d *Device) int32 {
	nodes := d.MemoryNodes
	if len(nodes) == 0 {
		nodes = make([]uint64, nodeWords)
		for i := range m.CPUs {
			if c := &m.CPUs[i]; hasBit(d.CPUs, int(c.ID)) && c.Memory >= 0 && m.Memory[c.Memory].ID < 64*nodeWords {
				id := m.Memory[c.Memory].ID
				nodes[id>>6] |= 1 << (id & 63)
			}
		}
	}
	at := int32(-1)
	for n := range m.Memory {
		if hasBit(nodes, int(m.Memory[n].ID)) {
			if at >= 0 {
				return -1
			}
			at = int32(n)
		}
	}
	return at
}

// wire returns the way between two devices, the same both ways.
func (s *Snapshot) wire(m *topology.Machine, i, j int) topology.Wire {
	i, j = min(i, j), max(i, j)
	lanes := max(s.links(i)[j], s.links(j)[i])
	if n := min(s.switchLanes(i), s.switchLanes(j)); lanes == 0 {
		lanes = n
	}
	a, b := &s.Devices[i], &s.Devices[j]
	if lanes > 0 && !a.MIG.Current && !b.MIG.Current {
		return topology.Wire{Class: topology.PathNVLink, Lanes: uint8(min(lanes, 255))}
	}
	if x, y := find(m, a.BusID), find(m, b.BusID); x >= 0 && y >= 0 {
		return topology.Wire{Class: m.GPUWire(x, y).Class}
	}
	if j < len(a.Ancestor) {
		return topology.Wire{Class: ancestorClass(a.Ancestor[j])}
	}
	return topology.Wire{Class: topology.PathNone}
}

// switchLanes counts the lanes of a device that end in a switch. A driver that
// does not tell kinds shows one by ending other devices' lanes there too.
func (s *Snapshot) switchLanes(i int) (n int32) {
	for _, l := range s.Devices[i].Links {
		if l.Kind == RemoteSwitch || l.Kind == RemoteUnknown && s.sharedEnd(i, l.BusID) {
			n++
		}
	}
	return n
}

// sharedEnd reports whether lanes of devices other than i end at bus, which is
// none of the devices.
func (s *Snapshot) sharedEnd(i int, bus string) bool {
	shared := false
	for k := range s.Devices {
		if s.Devices[k].BusID == bus {
			return false
		}
		for _, l := range s.Devices[k].Links {
			shared = shared || k != i && l.BusID == bus
		}
	}
	return shared
}

func ancestorClass(level int) topology.PathClass {
	switch level {
	case AncestorSame, AncestorSwitch:
		return topology.PathPIX
	case AncestorSwitches:
		return topology.PathPXB
	case AncestorHostBridge:
		return topology.PathPHB
	case AncestorNode:
		return topology.PathNode
	case AncestorSystem:
		return topology.PathSys
	}
	return topology.PathNone
}

// AppendFallen appends the addresses of NVIDIA GPUs that are on the PCI bus, as
// m tells, but not in s: they have fallen off the driver.
func AppendFallen(dst []string, m *topology.Machine, s *Snapshot) []string {
	for i := range m.GPUs {
		bus, listed := m.GPUs[i].BusID, false
		for k := range s.Devices {
			d := &s.Devices[k]
			listed = listed || d.BusID == bus && d.Err == nil
		}
		if !listed {
			dst = append(dst, bus)
		}
	}
	return dst
}
