package nvml

// A Source finds devices. Implementations need not be safe for concurrent use.
type Source interface {
	// Name is the word of AutoDetect that asks for this source: nvml, nvidia,
	// rsmi, oneapi, nrt.
	Name() string
	// Snapshot reads all devices. A device that cannot be read is part of it,
	// with an error. An error of the call means that nothing could be asked;
	// ErrNoLibrary, ErrNoDriver and ErrUnsupported count as "no devices".
	Snapshot() (*Snapshot, error)
}

// A Snapshot is what a source found.
type Snapshot struct {
	Driver  string // version of the kernel's driver, empty if unknown
	Library string // version of the library
	// Devices are in the source's order, which is that of PCI addresses.
	Devices []Device
}

// A Device is one GPU.
type Device struct {
	Index  int
	Name   string // as the driver spells it
	UUID   string
	BusID  string // the kernel's form, 0000:3d:00.0
	Minor  int    // N of /dev/nvidiaN; −1 if unknown
	File   string // device file where it does not follow from Minor
	Memory uint64 // bytes; 0 if unknown
	// CPUs are the near CPUs as bits by the kernel's number. Known says that
	// the source told them; an empty set that is known is a fault.
	CPUs     []uint64
	CPUKnown bool
	// MemoryNodes are the near NUMA nodes as bits by the kernel's number.
	MemoryNodes []uint64
	Links       []Link // active lanes, rising
	// Ancestor has for every device of the snapshot how far away it is:
	// AncestorSame … AncestorSystem, −1 if unknown. Nil if nothing is known.
	Ancestor []int
	// P2P has for every device whether the driver allows direct access over
	// NVLink. Nil if nothing is known.
	P2P          []bool
	Compute      [2]int // CUDA compute capability, major and minor
	Architecture uint32
	MIG          MIGState
	Instances    []Instance // MIG instances, by index
	Fabric       Fabric
	// Err is set if the device could not be read: GPUIsLost, ResetRequired,
	// NoPermission, …. The other fields are then those read before.
	Err error
}

// RemoteKind is what is at the far end of an NVLink lane.
type RemoteKind uint8

// The kinds; the numbers are NVML's but for the unknown.
const (
	RemoteGPU RemoteKind = iota
	RemoteNPU
	RemoteSwitch
	RemoteUnknown
)

// A Link is an active NVLink lane.
type Link struct {
	Lane  int
	BusID string // of the far end
	Kind  RemoteKind
}

// Distances to a common ancestor in the PCI tree; the numbers are NVML's.
const (
	AncestorSame       = 0  // the same board
	AncestorSwitch     = 10 // one switch
	AncestorSwitches   = 20 // several switches
	AncestorHostBridge = 30
	AncestorNode       = 40 // one NUMA node
	AncestorSystem     = 50
)

// A MIGState says whether a GPU is, or will be, divided.
type MIGState struct {
	Supported        bool
	Current, Pending bool // Pending takes effect with the next reset
	Err              error
}

// An Instance is one MIG device.
type Instance struct {
	Index                    int // may have gaps
	GPUInstance, ComputeInst int
	Name, UUID               string
	GPUSlices, ComputeSlices int // of attributes
	MemoryMB                 uint64
}

// Fabric is the GPU's place in a network of NVLinks across nodes.
type Fabric struct {
	Cluster string // UUID in hexadecimal; empty if there is none
	Clique  uint32
	State   uint8 // 0 unsupported, 1 not started, 2 in progress, 3 completed
}
