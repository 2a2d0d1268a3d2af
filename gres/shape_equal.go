package gres

import "slices"

// equal reports whether s and o describe the same hardware.
func (s *Shape) equal(o *Shape) bool {
	if s == o {
		return true
	}
	return s.sockets == o.sockets && s.perSocket == o.perSocket && s.threads == o.threads && s.confThreads == o.confThreads &&
		s.boards == o.boards && s.cpus == o.cpus && s.milliCPU == o.milliCPU && s.mem == o.mem && s.realMem == o.realMem &&
		s.restrictedPerGPU == o.restrictedPerGPU && slices.Equal(s.spec, o.spec) && slices.EqualFunc(s.groups, o.groups, group.equal)
}

// equal compares what a group is described by; the rest follows from it.
func (g group) equal(o group) bool {
	return g.name == o.name && g.flags == o.flags && g.scope == o.scope && g.over == o.over && g.count == o.count && g.plain == o.plain &&
		g.part.equal(o.part) && slices.Equal(g.types, o.types) && slices.EqualFunc(g.devs, o.devs, device.equal)
}

func (d device) equal(o device) bool {
	return d.typ == o.typ && d.units == o.units && slices.Equal(d.cores, o.cores) && slices.Equal(d.links, o.links)
}

// equal compares models; nil is equal to nil alone.
func (m *PartitionModel) equal(o *PartitionModel) bool {
	if m == nil || o == nil {
		return m == o
	}
	return m.Name == o.Name && m.MemorySlices == o.MemorySlices && m.ComputeSlices == o.ComputeSlices && slices.Equal(m.Profiles, o.Profiles)
}
