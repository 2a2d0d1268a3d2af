package gres

// Sockets returns the number of sockets, 0 if the node has counts only.
func (s *Shape) Sockets() int { return s.sockets }

// CoresPerSocket returns the number of cores of a socket.
func (s *Shape) CoresPerSocket() int { return s.perSocket }

// Threads returns the threads of a core that are scheduled.
func (s *Shape) Threads() int { return s.threads }

// ConfiguredThreads returns the threads of a core as configured; CPU ids
// count with it.
func (s *Shape) ConfiguredThreads() int { return s.confThreads }

// Cores returns the number of cores, specialised ones included.
func (s *Shape) Cores() int { return s.cores }

// CPUs returns the CPUs that jobs may use: configured minus specialised.
func (s *Shape) CPUs() int { return s.cpus }

// MilliCPU returns the capacity of a node with counts only, else CPUs·1000.
func (s *Shape) MilliCPU() int64 {
	if s.sockets == 0 {
		return s.milliCPU
	}
	return int64(s.cpus) * 1000
}

// MemMiB returns the memory that jobs may take.
func (s *Shape) MemMiB() int64 { return s.mem }

// RealMemMiB returns the configured memory.
func (s *Shape) RealMemMiB() int64 { return s.realMem }

// CoreWords returns the number of words of a core set.
func (s *Shape) CoreWords() int { return s.coreWords }

// UsableCores returns the cores that are not specialised. It aliases the
// shape; do not change it.
func (s *Shape) UsableCores() []uint64 { return s.usable }

// NumGroups returns the number of device groups; they are numbered from 0.
func (s *Shape) NumGroups() int { return len(s.groups) }

// Group returns the number of the group with the given name, −1 if the node
// has none.
func (s *Shape) Group(name NameID) int {
	for i := range s.groups {
		if s.groups[i].name == name {
			return i
		}
	}
	return -1
}

// GroupName returns the name of group g.
func (s *Shape) GroupName(g int) NameID { return s.groups[g].name }

// GroupFlags returns the flags of group g.
func (s *Shape) GroupFlags(g int) GroupFlags { return s.groups[g].flags }

// GroupOver returns the group whose devices group g shares, −1 if none.
func (s *Shape) GroupOver(g int) int { return int(s.groups[g].over) }

// GroupScope returns who may be together on a device of group g.
func (s *Shape) GroupScope(g int) ShareScope { return s.groups[g].scope }

// GroupCount returns the total of group g: devices, or units of a shared
// group, or the configured count.
func (s *Shape) GroupCount(g int) int64 { return s.groups[g].count }

// NumDevices returns the length of the device table of group g, 0 if it has
// counts only.
func (s *Shape) NumDevices(g int) int { return len(s.groups[g].devs) }

// DeviceType returns the type of device d of group g, 0 if it has none.
func (s *Shape) DeviceType(g, d int) TypeID { return s.groups[g].devs[d].typ }

// DeviceUnits returns the units that device d of group g holds, 1 for a device
// taken whole.
func (s *Shape) DeviceUnits(g, d int) int64 { return s.groups[g].devs[d].units }

// DeviceCores returns the cores near device d of group g, nil if it has no
// affinity. It aliases the shape; do not change it.
func (s *Shape) DeviceCores(g, d int) []uint64 { return s.groups[g].devs[d].cores }

// DeviceLinks returns the link row of device d of group g, nil if unknown. It
// aliases the shape; do not change it.
func (s *Shape) DeviceLinks(g, d int) []int32 { return s.groups[g].devs[d].links }

// TypeCount returns how many of group g have type t: devices, or units of a
// shared group. Type 0 counts all.
func (s *Shape) TypeCount(g int, t TypeID) int64 {
	if t == 0 {
		return s.groups[g].count
	}
	if s.groups[g].part != nil {
		return s.roomOf(&s.groups[g], nil, t)
	}
	var n int64
	for i := range s.groups[g].devs {
		if d := &s.groups[g].devs[i]; d.typ == t {
			n += s.groups[g].amount(d)
		}
	}
	return n
}

// GroupPartition returns how the devices of group g are cut into instances,
// nil if they are not.
func (s *Shape) GroupPartition(g int) *PartitionModel { return s.groups[g].part }

// amount is what a free device adds to the group's count.
func (g *group) amount(d *device) int64 {
	if g.flags&Divisible != 0 {
		return 1
	}
	return d.units
}
