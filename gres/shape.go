package gres

import (
	"math/bits"
	"slices"
)

// A ShapeConfig describes the hardware of a node as [NewShape] takes it. A
// node with Sockets 0 has counts only (Kubernetes): CPUs in milli-units,
// memory, devices without a place.
type ShapeConfig struct {
	// Sockets, CoresPerSocket and Threads (per core) as configured. Threads 0
	// is 1. Slurm: SocketsPerBoard·Boards, CoresPerSocket, ThreadsPerCore.
	Sockets, CoresPerSocket, Threads int
	// Boards divides the sockets evenly; 0 is 1. It matters only to block
	// distribution. Slurm: Boards.
	Boards int
	// CPUs as configured; 0 is Sockets·CoresPerSocket·Threads. At most
	// Sockets·CoresPerSocket means that one CPU of a core is scheduled.
	CPUs int
	// MilliCPU is the capacity of a node that has counts only.
	MilliCPU int64
	// MemMiB is the memory that jobs may take: RealMemory − MemSpecLimit.
	MemMiB int64
	// RealMemMiB is the configured memory, by which requests are filtered;
	// 0 is MemMiB.
	RealMemMiB int64
	// SpecCores are cores (index socket·CoresPerSocket + core) kept for the
	// system. See [AppendSpecCores]. Slurm: CoreSpecCount, CpuSpecList.
	SpecCores []int
	// RestrictedPerGPU is the number of cores of its socket that each GPU
	// keeps from jobs without GPUs. Slurm: RestrictedCoresPerGPU.
	RestrictedPerGPU int
	// Groups are the device names of the node, in the order in which
	// allocations list them (Slurm: order of GresTypes).
	Groups []GroupConfig
}

// A GroupConfig describes all devices of one GRES name on a node.
type GroupConfig struct {
	Name NameID
	// Count is the total of a group without a device table.
	Count int64
	// Devices in index order; nil for counts alone.
	Devices []DeviceConfig
	// Over is the name whose devices this one shares (gpu for shard and mps);
	// 0 is none. Devices then has one entry per device of that name, with
	// the units it holds in Units; type and cores are copied from there.
	Over NameID
	// Flags of the group.
	Flags GroupFlags
	// Partition says that the devices are cut into instances as jobs need
	// them: requests then name a profile as type, and Profiles numbers the
	// model's profiles as types, in its order. It excludes Over and Divisible,
	// Type and Units of the devices.
	Partition *PartitionModel
	Profiles  []TypeID
	// Plain is the profile that a request without a type gets (Kubernetes'
	// strategy single); 0 refuses such requests (strategy mixed).
	Plain TypeID
	// Scope says who may be together on one device.
	Scope ShareScope
}

// A DeviceConfig describes one device. Its position is its index.
type DeviceConfig struct {
	Type TypeID
	// Cores near the device (bit = core index); nil is every core.
	Cores []uint64
	// Links to the other devices of the group (bandwidth or lane count), own
	// position −1; nil if unknown. Slurm: Links.
	Links []int32
	// Units the device holds; 0 is 1.
	Units int64
}

// GroupFlags are properties of a device group.
type GroupFlags uint8

const (
	// Tracked says that device positions, sockets and links matter when a
	// job is placed. Groups whose devices have neither cores nor types are
	// not tracked in Slurm: counts decide and device bits are chosen last.
	Tracked GroupFlags = 1 << iota
	// NoConsume says that jobs use the group without taking from it.
	NoConsume
	// Explicit says that only a job that names the group gets of it, also if
	// it takes the whole node.
	Explicit
	// OneSharing says that once a device of the group is in use, only such
	// devices serve it (Slurm: Flags=one_sharing, mps by default).
	OneSharing
	// Divisible says that a device may be taken in parts of its Units (milli
	// GPUs); a whole device is all of them.
	Divisible
	// OneUnit says that a job may not ask for more than one unit
	// (time-sliced replicas).
	OneUnit
)

// A ShareScope says who may be together on one shared device: the trust
// boundary.
type ShareScope uint8

const (
	ShareAny     ShareScope = iota // anybody
	ShareAccount                   // jobs of one account
	ShareUser                      // jobs of one user
	ShareJob                       // one job
)

// String returns "any", "account", "user" or "job".
func (s ShareScope) String() string {
	return [...]string{"any", "account", "user", "job"}[s&3]
}

// A Shape is the immutable hardware description that nodes with equal
// hardware share. What is in use on a node is a row of words beside it; see
// [Shape.RowLen].
type Shape struct {
	sockets, perSocket, threads, confThreads, boards int
	cores, cpus                                      int // cpus: effective, without specialised cores
	milliCPU, mem, realMem                           int64
	spec, usable                                     []uint64 // cores
	specCores                                        int
	restricted                                       []uint64 // cores kept for GPUs
	restrictedPerGPU                                 int
	groups                                           []group
	coreWords, rowLen                                int
}

// A group is the device table of one name.
type group struct {
	name    NameID
	flags   GroupFlags
	scope   ShareScope
	over    int8 // index of the group whose devices this one shares, −1 none
	byUnits bool // one word of use per device; else one bit
	links   bool // the link matrix is complete
	off     int  // first word in the row
	owner   int  // first owner word, if scope is not ShareAny
	count   int64
	devs    []device
	types   []TypeID        // distinct types in order of their first device; nil if untyped
	sharers []int8          // groups that share this one's devices
	part    *PartitionModel // nil unless devices are cut into instances
	plain   TypeID          // profile of a request without a type
	// clusters are the sets of devices that belong together: linked at one
	// level, or on one socket. Only for up to 64 devices.
	clusters []uint64
}

type device struct {
	typ     TypeID
	sockets uint64 // bit s: touches socket s, but not all sockets; 0: any
	units   int64
	cores   []uint64
	links   []int32
}

// Bounds of a shape. They keep indices in 16 bits and socket sets in a word.
const (
	maxSockets = 64
	maxCores   = 1 << 14
	maxDevices = 1024
	maxGroups  = 64
)

// NewShape returns the shape that c describes, or all problems found in it,
// joined. c is not kept.
func NewShape(c ShapeConfig) (*Shape, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Shape{
		sockets: c.Sockets, perSocket: c.CoresPerSocket, confThreads: max(c.Threads, 1),
		boards: max(c.Boards, 1), milliCPU: c.MilliCPU,
		mem: c.MemMiB, realMem: c.RealMemMiB, restrictedPerGPU: c.RestrictedPerGPU,
	}
	if s.realMem == 0 {
		s.realMem = s.mem
	}
	s.cores = s.sockets * s.perSocket
	s.threads = s.confThreads
	if c.CPUs > 0 && c.CPUs <= s.cores {
		s.threads = 1
	}
	s.coreWords = (s.cores + 63) / 64
	s.spec = make([]uint64, s.coreWords)
	s.usable = make([]uint64, s.coreWords)
	for _, k := range c.SpecCores {
		s.spec[k>>6] |= 1 << (k & 63)
	}
	for k := range s.cores {
		if s.spec[k>>6]>>(k&63)&1 == 0 {
			s.usable[k>>6] |= 1 << (k & 63)
		} else {
			s.specCores++
		}
	}
	s.cpus = s.cores * s.threads
	if c.CPUs > 0 {
		s.cpus = c.CPUs
	}
	s.cpus -= s.specCores * s.threads
	s.rowLen = s.coreWords + 1
	if s.sockets == 0 {
		s.rowLen++
	}
	for i := range c.Groups {
		s.addGroup(&c.Groups[i])
	}
	s.restrict()
	return s, nil
}

func (s *Shape) addGroup(c *GroupConfig) {
	g := group{name: c.Name, flags: c.Flags, scope: c.Scope, over: -1, count: c.Count, owner: -1}
	under := -1
	if c.Over != 0 {
		under = s.Group(c.Over)
		g.over = int8(under)
		s.groups[under].sharers = append(s.groups[under].sharers, int8(len(s.groups)))
		g.byUnits = true
	}
	for i := range c.Devices {
		d := device{typ: c.Devices[i].Type, units: c.Devices[i].Units}
		if under >= 0 {
			d = s.groups[under].devs[i]
			d.units = c.Devices[i].Units
		} else {
			d.units = max(d.units, 1)
			d.cores = slices.Clone(c.Devices[i].Cores)
			d.sockets = s.socketsOf(d.cores)
			d.links = slices.Clone(c.Devices[i].Links)
		}
		g.byUnits = g.byUnits || d.units != 1
		if d.typ != 0 && !slices.Contains(g.types, d.typ) {
			g.types = append(g.types, d.typ)
		}
		g.devs = append(g.devs, d)
	}
	if c.Partition != nil {
		s.cutGroup(&g, c)
	}
	if len(g.devs) > 0 {
		g.count = 0
		g.links = true
		for i := range g.devs {
			g.count += g.devs[i].units
			g.links = g.links && len(g.devs[i].links) == len(g.devs)
		}
		if g.part != nil {
			g.count = int64(len(g.devs) * g.part.ComputeSlices)
		}
		if g.flags&Divisible != 0 {
			g.count = int64(len(g.devs))
			g.byUnits = true
		}
	}
	g.findClusters()
	g.off = s.rowLen
	switch {
	case len(g.devs) == 0:
		s.rowLen++
	case g.byUnits:
		s.rowLen += len(g.devs)
	default:
		s.rowLen += (len(g.devs) + 63) / 64
	}
	if g.scope != ShareAny && len(g.devs) > 0 {
		g.owner = s.rowLen
		s.rowLen += len(g.devs)
	}
	s.groups = append(s.groups, g)
}

// socketsOf returns the sockets that cores touches, or 0 if it is all of them
// or none: such a device belongs to no socket in particular.
func (s *Shape) socketsOf(cores []uint64) uint64 {
	var m uint64
	for w, x := range cores {
		for ; x != 0; x &= x - 1 {
			m |= 1 << ((w<<6 + bits.TrailingZeros64(x)) / s.perSocket)
		}
	}
	if bits.OnesCount64(m) == s.sockets {
		return 0
	}
	return m
}

// restrict keeps RestrictedPerGPU cores of its socket for each GPU, in device
// order, lowest cores first. Source: spec/gres.md 13.
func (s *Shape) restrict() {
	s.restricted = make([]uint64, s.coreWords)
	gi := s.Group(NameGPU)
	if s.restrictedPerGPU == 0 || gi < 0 || s.sockets == 0 {
		return
	}
	for i := range s.groups[gi].devs {
		m := s.groups[gi].devs[i].sockets
		left := s.restrictedPerGPU
		for k := 0; k < s.cores && left > 0; k++ {
			free := (s.usable[k>>6]&^s.restricted[k>>6])>>(k&63)&1 != 0
			if free && (m == 0 || m>>(k/s.perSocket)&1 != 0) {
				s.restricted[k>>6] |= 1 << (k & 63)
				left--
			}
		}
	}
}

// AppendSpecCores appends to dst the cores that Slurm's CoreSpecCount=count
// takes on a node of the given size: by index inside the socket from the last
// down, and for one index from the last socket down; with first (
// SchedulerParameters=spec_cores_first) the other way round.
func AppendSpecCores(dst []int, sockets, perSocket, count int, first bool) []int {
	for i := range min(count, sockets*perSocket) {
		c, s := i/sockets, i%sockets
		if !first {
			c, s = perSocket-1-c, sockets-1-s
		}
		dst = append(dst, s*perSocket+c)
	}
	return dst
}
