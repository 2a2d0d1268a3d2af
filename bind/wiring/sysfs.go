package wiring

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// Sysfs reads a machine from a tree that is laid out as /sys; it must tell
// symbolic links (fs.ReadLinkFS), as os.DirFS and fstest.MapFS do. GPUs are the
// display and accelerator devices of NVIDIA, AMD and Intel (data centre class),
// NICs the InfiniBand and network devices with a PCI address, each in the order
// of addresses. NVLink, models, UUIDs and minor numbers are not in /sys.
//
// Source: Documentation/ABI/stable/sysfs-devices-node and testing/sysfs-bus-pci,
// sysfs-devices-system-cpu.
func Sysfs(fsys fs.FS) (*topology.Machine, error) {
	r := &sysReader{fs: fsys}
	m := &topology.Machine{}
	r.memory(m)
	r.cpus(m)
	gpus, nics := r.devices(m)
	if r.err != nil {
		return nil, r.err
	}
	connect(m, gpus, nics)
	if err := m.Validate(); err != nil {
		return nil, &ParseError{File: "sysfs", Err: err}
	}
	return m, nil
}

// A sysReader keeps the first error.
type sysReader struct {
	fs  fs.FS
	err error
}

func (r *sysReader) fail(file, token string, cause error) {
	if r.err == nil {
		r.err = &ParseError{File: file, Line: 1, Token: token, Err: cause}
	}
}

// text returns a file's first line, empty if there is no such file.
func (r *sysReader) text(file string) string {
	data, err := fs.ReadFile(r.fs, file)
	if err != nil {
		// Attributes that a device does not support fail in many ways.
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// list reads a CPU list; none is given is no error.
func (r *sysReader) list(file string) []uint64 {
	words, err := ParseCPUList(r.text(file))
	if err != nil {
		var e *ParseError
		errors.As(err, &e)
		r.fail(file, e.Token, e.Err)
	}
	return words
}

func (r *sysReader) number(file string, missing int) int {
	s := r.text(file)
	if s == "" {
		return missing
	}
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		r.fail(file, s, ErrSyntax)
		return missing
	}
	return int(n)
}

func (r *sysReader) memory(m *topology.Machine) {
	each(r.list("devices/system/node/online"), func(id int) {
		dir := "devices/system/node/node" + strconv.Itoa(id)
		mem := topology.MachineMemory{ID: int32(id), CPUs: r.list(dir + "/cpulist"), Bytes: r.memTotal(dir + "/meminfo")}
		for word := range strings.FieldsSeq(r.text(dir + "/distance")) {
			n, err := number(word)
			if err != nil {
				r.fail(dir+"/distance", word, err)
			}
			mem.Distance = append(mem.Distance, int32(n))
		}
		m.Memory = append(m.Memory, mem)
	})
	for i := range m.Memory {
		// Distances go over all possible nodes; offline ones make them long.
		if len(m.Memory[i].Distance) != len(m.Memory) {
			m.Memory[i].Distance = nil
		}
	}
}

func (r *sysReader) memTotal(file string) int64 {
	data, err := fs.ReadFile(r.fs, file)
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if f := strings.Fields(line); len(f) == 5 && f[2] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[3], 10, 53); err == nil {
				return kb << 10
			}
			r.fail(file, f[3], ErrSyntax)
		}
	}
	return 0
}

// cpus reads the online CPUs. A core is a set of equal core_cpus_list, since
// core_id repeats across sockets and dies.
func (r *sysReader) cpus(m *topology.Machine) {
	online := r.list("devices/system/cpu/online")
	if len(online) == 0 {
		r.fail("devices/system/cpu/online", "", fs.ErrNotExist)
		return
	}
	if len(m.Memory) == 0 {
		m.Memory = []topology.MachineMemory{{CPUs: online}}
	}
	var keys []coreKey
	each(online, func(id int) {
		dir := "devices/system/cpu/cpu" + strconv.Itoa(id) + "/topology"
		siblings := r.list(dir + "/core_cpus_list")
		if siblings == nil {
			siblings = r.list(dir + "/thread_siblings_list")
		}
		lowest := id
		each(siblings, func(i int) { lowest = min(lowest, i) })
		keys = append(keys, coreKey{socket: r.number(dir+"/physical_package_id", 0), first: lowest})
		m.CPUs = append(m.CPUs, topology.MachineCPU{ID: int32(id), Memory: nodeOf(m, id)})
	})
	numberCores(m, keys)
}

// nodeOf returns the position of a CPU's NUMA node, −1 for none.
func nodeOf(m *topology.Machine, cpu int) int32 {
	for n := range m.Memory {
		if has(m.Memory[n].CPUs, cpu) {
			return int32(n)
		}
	}
	return -1
}

// A coreKey tells a CPU's core: its socket and the lowest CPU of the core.
type coreKey struct{ socket, first int }

// numberCores numbers sockets and cores densely and socket-major, as Slurm
// does. keys go with m.CPUs.
func numberCores(m *topology.Machine, keys []coreKey) {
	order := slices.Clone(keys)
	slices.SortFunc(order, func(a, b coreKey) int {
		return cmp.Or(cmp.Compare(a.socket, b.socket), cmp.Compare(a.first, b.first))
	})
	order = slices.Compact(order)
	socket := map[int]int32{}
	core := map[coreKey]int32{}
	for i, k := range order {
		if _, known := socket[k.socket]; !known {
			socket[k.socket] = int32(len(socket))
		}
		core[k] = int32(i)
	}
	for i, k := range keys {
		m.CPUs[i].Socket, m.CPUs[i].Core = socket[k.socket], core[k]
	}
}

// devices reads GPUs and NICs.
func (r *sysReader) devices(m *topology.Machine) (gpus, nics []pciDevice) {
	entries, err := fs.ReadDir(r.fs, "bus/pci/devices")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.fail("bus/pci/devices", "", err)
	}
	for _, e := range entries {
		if isPCI(e.Name()) && r.isGPU("bus/pci/devices/"+e.Name()) {
			if d, ok := r.device(m, "bus/pci/devices/"+e.Name()); ok {
				gpus = append(gpus, d)
			}
		}
	}
	slices.SortFunc(gpus, byAddress)
	for _, d := range gpus {
		g := topology.MachineGPU{BusID: d.addr, Minor: -1, Memory: d.node, Switch: -1}
		g.CPUs = r.list("bus/pci/devices/" + d.addr + "/local_cpulist")
		m.GPUs = append(m.GPUs, g)
	}
	nics, names := r.nics(m)
	for _, d := range nics {
		m.NICs = append(m.NICs, topology.MachineNIC{Name: names[d.addr], BusID: d.addr, Memory: d.node})
	}
	return gpus, nics
}

// isGPU tells by vendor and class of a PCI device.
func (r *sysReader) isGPU(dir string) bool {
	vendor, class := r.text(dir+"/vendor"), r.text(dir+"/class")
	if len(class) < 6 {
		return false
	}
	return isGPU(strings.TrimPrefix(vendor, "0x"), class[2:6])
}

func isGPU(vendor, class string) bool {
	switch vendor {
	case "10de":
		return class == "0300" || class == "0302"
	case "1002":
		return class == "0300" || class == "0380" || class == "1200"
	case "8086":
		return class == "0380"
	}
	return false
}

// device follows a link to the device's place in the PCI tree. A virtual
// device has none.
func (r *sysReader) device(m *topology.Machine, link string) (d pciDevice, ok bool) {
	to, err := fs.ReadLink(r.fs, link)
	if err != nil {
		r.fail(link, "", err)
		return d, false
	}
	d.path = pathOf(to)
	if d.path == nil {
		return d, false
	}
	d.addr = d.path[len(d.path)-1]
	d.node = -1
	id := r.number("bus/pci/devices/"+d.addr+"/numa_node", -1)
	for n := range m.Memory {
		if int(m.Memory[n].ID) == id {
			d.node = int32(n)
		}
	}
	return d, true
}

// nics reads the classes infiniband and net. A device in both goes by its
// InfiniBand name.
func (r *sysReader) nics(m *topology.Machine) (nics []pciDevice, names map[string]string) {
	names = map[string]string{}
	for _, class := range [2]string{"class/infiniband", "class/net"} {
		entries, err := fs.ReadDir(r.fs, class)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.fail(class, "", err)
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink == 0 {
				continue // bonding_masters is a file
			}
			d, ok := r.device(m, path.Join(class, e.Name()))
			if _, known := names[d.addr]; ok && !known {
				names[d.addr] = e.Name()
				nics = append(nics, d)
			}
		}
	}
	slices.SortFunc(nics, byAddress)
	return nics, names
}
