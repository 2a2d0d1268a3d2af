package nvml

import (
	"encoding/hex"
	"fmt"
)

// A handle is a device, or an event set, of the library.
type handle uintptr

// library is the set of shapes of calls that we make; name is the symbol. A
// symbol that the driver lacks answers FunctionNotFound. The functions keep
// their meaning for ever, since NVML changes them under new names only.
type library interface {
	call(name string) Return
	text(name string) (string, Return)
	count(name string) (uint32, Return)
	byIndex(name string, i uint32) (handle, Return)
	devText(name string, d handle) (string, Return)
	devUint(name string, d handle) (uint32, Return)
	devUint2(name string, d handle) (a, b uint32, r Return)
	devLink(name string, d handle, link uint32) (uint32, Return)
	devPCI(name string, d handle, link int) (pciInfo, Return) // link −1: the device itself
	devMemory(name string, d handle) (total, free, used uint64, r Return)
	devBits(name string, d handle, words, scope int) ([]uint64, Return) // scope −1: none
	devPair(name string, a, b handle, kind int) (uint32, Return)        // kind −1: none
	devChild(name string, d handle, i uint32) (handle, Return)
	devAttributes(name string, d handle) (attributes, Return)
	devFabric(name string, d handle) (fabricInfo, Return)
	devECC(name string, d handle, errType, counter int) (uint64, Return)
	devRows(name string, d handle) ([4]uint32, Return)
	devClocks(name string, d handle, memory uint32) ([]uint32, Return) // memory 0: memory clocks
	devSet(name string, d handle, lo, hi uint32) Return
	devReset(name string, d handle) Return
	eventSet() (handle, Return)
	eventRegister(d handle, types uint64, set handle) Return
	eventWait(set handle) (event, Return)
	eventFree(set handle)
	close()
}

// What the library's structs hold, as far as we read them.
type (
	pciInfo    struct{ BusID string }
	attributes struct {
		gpuSlices, computeSlices uint32
		memoryMB                 uint64
	}
	fabricInfo struct {
		cluster [16]byte
		status  Return
		clique  uint32
		state   uint8
	}
	event struct {
		device handle
		kind   uint64
		data   uint64
	}
)

// A Library is NVIDIA's management library, opened. It is a [Source]. Close it
// once; calls must not overlap.
type Library struct {
	lib    library
	events handle
	index  map[handle]int // device of the event set -> index
}

// newLibrary initializes lib, whose counts of Init and Shutdown must pair.
func newLibrary(lib library) (*Library, error) {
	if r := lib.call("nvmlInit_v2"); r != Success {
		lib.close()
		return nil, fmt.Errorf("nvml: initialize library: %w", r)
	}
	return &Library{lib: lib}, nil
}

// Close lets go of the library.
func (l *Library) Close() error {
	if l.events != 0 {
		l.lib.eventFree(l.events)
	}
	r := l.lib.call("nvmlShutdown")
	l.lib.close()
	if r != Success {
		return fmt.Errorf("nvml: shut down library: %w", r)
	}
	return nil
}

// Name returns "nvml".
func (l *Library) Name() string { return "nvml" }

// Snapshot reads all devices.
//
// Source: specification nvml.md 2 to 4; adapters.md 4.4.
func (l *Library) Snapshot() (*Snapshot, error) {
	s := &Snapshot{}
	s.Driver, _ = l.lib.text("nvmlSystemGetDriverVersion")
	s.Library, _ = l.lib.text("nvmlSystemGetNVMLVersion")
	n, r := l.lib.count("nvmlDeviceGetCount_v2")
	if r != Success {
		return nil, fmt.Errorf("nvml: count devices: %w", r)
	}
	n = min(n, maxDevices)
	handles := make([]handle, n)
	for i := range n {
		d := Device{Index: int(i), Minor: -1}
		h, r := l.lib.byIndex("nvmlDeviceGetHandleByIndex_v2", i)
		if r != Success {
			d.Err = r
		} else {
			handles[i] = h
			l.read(&d, h)
		}
		s.Devices = append(s.Devices, d)
	}
	l.pairs(s, handles)
	return s, nil
}

// Bounds of what a library may claim.
const (
	maxDevices   = 256
	maxLanes     = 64
	maxInstances = 64
	cpuWords     = 64 // 4096 CPUs
	nodeWords    = 4
)

// lost reports whether a result says that the whole device is unusable.
func lost(r Return) bool { return r == GPUIsLost || r == ResetRequired }

// read fills d; a result that says the device is lost ends it.
func (l *Library) read(d *Device, h handle) {
	var r Return
	note := func(r Return) bool {
		if lost(r) || r == NoPermission {
			d.Err = r
		}
		return d.Err == nil
	}
	if d.Name, r = l.lib.devText("nvmlDeviceGetName", h); !note(r) {
		return
	}
	if d.UUID, r = l.lib.devText("nvmlDeviceGetUUID", h); !note(r) {
		return
	}
	pci, r := l.lib.devPCI("nvmlDeviceGetPciInfo_v3", h, -1)
	if r == FunctionNotFound {
		pci, r = l.lib.devPCI("nvmlDeviceGetPciInfo_v2", h, -1)
	}
	d.BusID = normalBusID(pci.BusID)
	if !note(r) {
		return
	}
	if m, r := l.lib.devUint("nvmlDeviceGetMinorNumber", h); r == Success && m < 1<<20 {
		d.Minor = int(m)
	} else if !note(r) {
		return
	}
	if total, _, _, r := l.lib.devMemory("nvmlDeviceGetMemoryInfo", h); r == Success {
		d.Memory = total
	}
	if a, b, r := l.lib.devUint2("nvmlDeviceGetCudaComputeCapability", h); r == Success {
		d.Compute = [2]int{int(a), int(b)}
	}
	if a, r := l.lib.devUint("nvmlDeviceGetArchitecture", h); r == Success {
		d.Architecture = a
	}
	if d.CPUs, r = l.lib.devBits("nvmlDeviceGetCpuAffinity", h, cpuWords, -1); r == Success {
		d.CPUKnown = true
	} else if !note(r) {
		return
	}
	d.MemoryNodes, _ = l.lib.devBits("nvmlDeviceGetMemoryAffinity", h, nodeWords, 0)
	l.lanes(d, h)
	l.fabric(d, h)
	l.mig(d, h)
}

// lanes walks the NVLink lanes: INVALID_ARGUMENT is a lane that does not
// exist, NOT_SUPPORTED a device without NVLink.
func (l *Library) lanes(d *Device, h handle) {
	for lane := range uint32(maxLanes) {
		state, r := l.lib.devLink("nvmlDeviceGetNvLinkState", h, lane)
		if r == NotSupported || r == FunctionNotFound || lost(r) {
			return
		}
		if r != Success || state == 0 {
			continue
		}
		pci, r := l.lib.devPCI("nvmlDeviceGetNvLinkRemotePciInfo_v2", h, int(lane))
		if r != Success {
			continue
		}
		link := Link{Lane: int(lane), BusID: normalBusID(pci.BusID), Kind: RemoteUnknown}
		if k, r := l.lib.devLink("nvmlDeviceGetNvLinkRemoteDeviceType", h, lane); r == Success && k <= uint32(RemoteSwitch) {
			link.Kind = RemoteKind(k)
		}
		d.Links = append(d.Links, link)
	}
}

func (l *Library) fabric(d *Device, h handle) {
	f, r := l.lib.devFabric("nvmlDeviceGetGpuFabricInfoV", h)
	if r != Success || f.state == 0 {
		return
	}
	d.Fabric = Fabric{Cluster: hex.EncodeToString(f.cluster[:]), Clique: f.clique, State: f.state}
}

func (l *Library) mig(d *Device, h handle) {
	current, pending, r := l.lib.devUint2("nvmlDeviceGetMigMode", h)
	switch r {
	case Success:
	case NotSupported, FunctionNotFound:
		return
	default:
		d.MIG.Err = r
		return
	}
	d.MIG = MIGState{Supported: true, Current: current == 1, Pending: pending == 1}
	if !d.MIG.Current {
		return
	}
	n, r := l.lib.devUint("nvmlDeviceGetMaxMigDeviceCount", h)
	if r != Success {
		d.MIG.Err = r
		return
	}
	for i := range min(n, maxInstances) {
		child, r := l.lib.devChild("nvmlDeviceGetMigDeviceHandleByIndex", h, i)
		if r == NotFound || r == InvalidArgument {
			continue // indices have gaps
		}
		if r != Success {
			d.MIG.Err = r
			return
		}
		l.instance(d, child, int(i))
	}
}

func (l *Library) instance(d *Device, h handle, i int) {
	in := Instance{Index: i}
	gi, r := l.lib.devUint("nvmlDeviceGetGpuInstanceId", h)
	ci, r2 := l.lib.devUint("nvmlDeviceGetComputeInstanceId", h)
	if r != Success || r2 != Success {
		d.MIG.Err = max(r, r2)
		return
	}
	in.GPUInstance, in.ComputeInst = int(gi), int(ci)
	in.Name, _ = l.lib.devText("nvmlDeviceGetName", h)
	in.UUID, _ = l.lib.devText("nvmlDeviceGetUUID", h)
	a, r := l.lib.devAttributes("nvmlDeviceGetAttributes_v2", h)
	if r == Success {
		in.GPUSlices, in.ComputeSlices, in.MemoryMB = int(a.gpuSlices), int(a.computeSlices), a.memoryMB
	}
	d.Instances = append(d.Instances, in)
}

// p2pNVLink is NVML_P2P_CAPS_INDEX_NVLINK.
const p2pNVLink = 2

// pairs asks about every pair of devices that answered.
func (l *Library) pairs(s *Snapshot, handles []handle) {
	n := len(handles)
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.Err != nil || handles[i] == 0 {
			continue
		}
		d.Ancestor, d.P2P = make([]int, n), make([]bool, n)
		known := false
		for j := range handles {
			d.Ancestor[j] = -1
			if handles[j] == 0 || j == i {
				continue
			}
			if a, r := l.lib.devPair("nvmlDeviceGetTopologyCommonAncestor", handles[i], handles[j], -1); r == Success {
				d.Ancestor[j], known = int(a), true
			}
			if p, r := l.lib.devPair("nvmlDeviceGetP2PStatus", handles[i], handles[j], p2pNVLink); r == Success {
				d.P2P[j], known = p == 0, true
			}
		}
		if !known {
			d.Ancestor, d.P2P = nil, nil
		}
	}
}

// trim cuts zero words off the end.
func trim(words []uint64) []uint64 {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return words
}
