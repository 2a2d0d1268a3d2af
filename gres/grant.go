package gres

// CountOnly is the Device of a [DeviceGrant] that takes from the group's count
// and not from a device.
const CountOnly = -1

// A DeviceGrant is a part of a [Grant]: units of one device, or of a group.
type DeviceGrant struct {
	// Group is the number of the group in the node's shape.
	Group uint16
	// Type is the type under which the allocation lists it; 0 is none.
	Type TypeID
	// Device is the index in the group, or CountOnly.
	Device int16
	// Start is where an instance of a partitioned device begins (memory
	// slice); Type is then its profile.
	Start uint8
	// Recut says that the instance did not exist when it was placed: the
	// device must be cut anew before the job starts. Running instances stay.
	Recut bool
	// Units taken: 1 for a whole device, the part of a shared one, the count
	// of a group without devices. With Units 0 the entry only mentions that
	// nothing of the type was given, as Slurm's listings do.
	Units int64
}

// A Grant is what a job holds on one node. Its slices are the caller's and
// are reused with [Grant.Reset].
type Grant struct {
	// Cores in use, CoreWords words; empty on nodes with counts only.
	Cores []uint64
	// CPUs charged, which may differ from the threads of Cores.
	CPUs int64
	// MilliCPU taken on nodes with counts only.
	MilliCPU int64
	// MemMiB taken.
	MemMiB int64
	// Devices, grouped in the order of listings: entries of one group and
	// type follow one another, devices ascending.
	Devices []DeviceGrant
	// Owner is whom the devices with a [ShareScope] belong to.
	Owner Owner
	// SharedCores says that other jobs may hold the same cores (Slurm:
	// OverSubscribe); the row's core words are then kept by [CoreRows].
	SharedCores bool
}

// An Owner names the holder of a shared device in numbers of the caller, all
// at least 1 where a scope needs them.
type Owner struct {
	Account, User uint32
	Job           uint64
}

// word returns what the owner word of a device holds for scope.
func (o Owner) word(scope ShareScope) uint64 {
	switch scope {
	case ShareAccount:
		return uint64(o.Account)
	case ShareUser:
		return uint64(o.User)
	}
	return o.Job
}

// Reset empties g and keeps its memory. Cores gets words words, all zero.
func (g *Grant) Reset(words int) {
	g.Cores = zeroed(g.Cores, words)
	g.CPUs, g.MilliCPU, g.MemMiB = 0, 0, 0
	g.Devices = g.Devices[:0]
	g.Owner, g.SharedCores = Owner{}, false
}

// CopyFrom makes g equal to o, in g's own memory.
func (g *Grant) CopyFrom(o *Grant) {
	cores, devs := append(g.Cores[:0], o.Cores...), append(g.Devices[:0], o.Devices...)
	*g = *o
	g.Cores, g.Devices = cores, devs
}

// Count returns how many of the group, and of type t unless t is 0, g holds:
// devices of a group taken whole, units of a shared one. s is the node's
// shape.
func (g *Grant) Count(s *Shape, group int, t TypeID) int64 {
	var n int64
	for i := range g.Devices {
		d := &g.Devices[i]
		if int(d.Group) != group || t != 0 && d.Type != t {
			continue
		}
		if s.groups[group].flags&Divisible != 0 && d.Units > 0 {
			n++
			continue
		}
		n += d.Units
	}
	return n
}

// zeroed returns a slice of n zero words, in s if it has room.
func zeroed(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	s = s[:n]
	clear(s)
	return s
}
