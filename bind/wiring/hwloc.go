package wiring

import (
	"encoding/xml"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// Hwloc reads an XML file of hwloc 2, such as lstopo --of xml writes: packages,
// NUMA nodes, cores, threads, PCI devices below their bridges, the names of
// their operating-system devices, and the distances between NUMA nodes. NVLink
// is taken from the matrix NVLinkBandwidth (MB/s) where hwloc knew it.
//
// Source: hwloc 2 documentation, Importing and exporting topologies to/from XML.
func Hwloc(r io.Reader) (*topology.Machine, error) {
	var doc hwlocDoc
	dec := xml.NewDecoder(r)
	dec.Strict = true
	if err := dec.Decode(&doc); err != nil {
		line, _ := dec.InputPos()
		return nil, &ParseError{File: "hwloc XML", Line: line, Err: err}
	}
	h := &hwlocReader{gp: map[string]string{}, m: &topology.Machine{}}
	for i := range doc.Objects {
		h.memory(&doc.Objects[i])
	}
	slices.SortFunc(h.m.Memory, func(a, b topology.MachineMemory) int { return int(a.ID - b.ID) })
	for i := range doc.Objects {
		h.walk(&doc.Objects[i], place{socket: -1, core: -1, node: -1})
	}
	if h.err != nil {
		return nil, h.err
	}
	return h.finish(doc.Distances)
}

type hwlocDoc struct {
	XMLName   xml.Name        `xml:"topology"`
	Objects   []hwlocObject   `xml:"object"`
	Distances []hwlocDistance `xml:",any"`
}

type hwlocObject struct {
	Type    string        `xml:"type,attr"`
	OSIndex string        `xml:"os_index,attr"`
	CPUSet  string        `xml:"cpuset,attr"`
	NodeSet string        `xml:"nodeset,attr"`
	GPIndex string        `xml:"gp_index,attr"`
	BusID   string        `xml:"pci_busid,attr"`
	PCIType string        `xml:"pci_type,attr"`
	Bridge  string        `xml:"bridge_type,attr"`
	Memory  string        `xml:"local_memory,attr"`
	Name    string        `xml:"name,attr"`
	OSDev   string        `xml:"osdev_type,attr"`
	Infos   []hwlocInfo   `xml:"info"`
	Objects []hwlocObject `xml:"object"`
}

type hwlocInfo struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

func (o *hwlocObject) info(name string) string {
	for _, i := range o.Infos {
		if i.Name == name {
			return i.Value
		}
	}
	return ""
}

// hwlocDistance is distances2 or distances2hetero.
type hwlocDistance struct {
	XMLName  xml.Name
	Type     string   `xml:"type,attr"`
	Name     string   `xml:"name,attr"`
	Indexing string   `xml:"indexing,attr"`
	Indexes  []string `xml:"indexes"`
	Values   []string `xml:"u64values"`
}

// A place is where the walk is.
type place struct {
	socket, core int
	node         int32
	path         []string
	cpus         string // cpuset of the nearest object that has one
}

// maxBridges is far above what a machine has on one way.
const maxBridges = 64

type hwlocReader struct {
	m       *topology.Machine
	keys    []coreKey
	sockets int
	cores   int
	gpus    []pciDevice
	nics    []pciDevice
	gpu     []topology.MachineGPU
	nic     []topology.MachineNIC
	gp      map[string]string // gp_index of an object -> address of its PCI device
	err     error
}

func (h *hwlocReader) fail(token string, cause error) {
	if h.err == nil {
		h.err = &ParseError{File: "hwloc XML", Token: token, Err: cause}
	}
}

// memory collects NUMA nodes, which are children of the object they belong to.
func (h *hwlocReader) memory(o *hwlocObject) {
	if o.Type == "NUMANode" {
		id, err := number(o.OSIndex)
		if err != nil {
			h.fail(o.OSIndex, err)
			return
		}
		bytes, _ := strconv.ParseInt(o.Memory, 10, 64)
		h.m.Memory = append(h.m.Memory, topology.MachineMemory{ID: int32(id), CPUs: h.set(o.CPUSet), Bytes: bytes})
	}
	for i := range o.Objects {
		h.memory(&o.Objects[i])
	}
}

// set reads hwloc's form: 32-bit hexadecimal words with commas, most
// significant first.
func (h *hwlocReader) set(text string) []uint64 {
	if text == "" {
		return nil
	}
	words := strings.Split(text, ",")
	if len(words) > maxCPU/32 {
		h.fail("", ErrRange)
		return nil
	}
	out := make([]uint64, (len(words)+1)/2)
	for i, w := range words {
		// Empty words are zero; 0xf...f at the front means "and all above".
		w = strings.TrimPrefix(w, "0x")
		if w == "" {
			continue
		}
		n, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			h.fail(w, ErrSyntax)
			return nil
		}
		at := len(words) - 1 - i
		out[at/2] |= n << (32 * (at % 2))
	}
	return out
}

func (h *hwlocReader) walk(o *hwlocObject, p place) {
	if h.err != nil {
		return
	}
	if o.CPUSet != "" {
		p.cpus = o.CPUSet
	}
	if o.NodeSet != "" {
		p.node = h.only(h.set(o.NodeSet))
	}
	switch o.Type {
	case "Package":
		p.socket = h.sockets
		h.sockets++
	case "Core":
		p.core = h.cores
		h.cores++
	case "PU":
		h.thread(o, p)
	case "Bridge":
		if len(p.path) >= maxBridges {
			h.fail("Bridge", ErrRange)
			return
		}
		p.path = append(slices.Clone(p.path), bridgeName(o, len(p.path)))
	case "PCIDev":
		h.pci(o, p)
		return
	}
	for i := range o.Objects {
		h.walk(&o.Objects[i], p)
	}
}

// bridgeName tells bridges apart. A host bridge has no address of its own.
func bridgeName(o *hwlocObject, depth int) string {
	if depth == 0 || strings.HasPrefix(o.Bridge, "0-") {
		return "pci" + o.GPIndex
	}
	return NormalBusID(o.BusID)
}

// only returns the position of the one NUMA node in a set, −1 for several.
func (h *hwlocReader) only(set []uint64) int32 {
	count := 0
	for _, w := range set {
		count += bits.OnesCount64(w)
	}
	if count == 1 {
		for n := range h.m.Memory {
			if has(set, int(h.m.Memory[n].ID)) {
				return int32(n)
			}
		}
	}
	return -1
}

func (h *hwlocReader) thread(o *hwlocObject, p place) {
	id, err := number(o.OSIndex)
	if err != nil {
		h.fail(o.OSIndex, err)
		return
	}
	if p.core < 0 { // no cores in the file: each thread is one
		p.core = h.cores
		h.cores++
	}
	h.keys = append(h.keys, coreKey{socket: max(p.socket, 0), first: p.core})
	h.m.CPUs = append(h.m.CPUs, topology.MachineCPU{ID: int32(id), Memory: nodeOf(h.m, id)})
}

// pci takes GPUs by class and vendor, NICs by class. The class is written as
// 0302 [10de:2330].
func (h *hwlocReader) pci(o *hwlocObject, p place) {
	d := pciDevice{addr: NormalBusID(o.BusID), node: p.node}
	d.path = append(slices.Clone(p.path), d.addr)
	class, ids, _ := strings.Cut(o.PCIType, " [")
	vendor, _, _ := strings.Cut(ids, ":")
	names := h.names(o, d.addr, nil)
	switch {
	case isGPU(vendor, class):
		h.gpus = append(h.gpus, d)
		h.gpu = append(h.gpu, topology.MachineGPU{BusID: d.addr, Name: o.info("PCIDevice"), Minor: -1, Memory: d.node, Switch: -1, CPUs: h.set(p.cpus)})
	case class == "0200" || class == "0207" || class == "0280":
		name := ""
		for _, n := range names {
			if n.kind == osdevFabric || name == "" && n.kind == osdevNet {
				name = n.name
			}
		}
		h.nics = append(h.nics, d)
		h.nic = append(h.nic, topology.MachineNIC{Name: name, BusID: d.addr, Memory: d.node})
	}
}

// Kinds of operating-system devices in hwloc.
const (
	osdevNet    = "2"
	osdevFabric = "3"
)

type osName struct{ kind, name string }

// names lists the operating-system devices below a PCI device.
func (h *hwlocReader) names(o *hwlocObject, addr string, list []osName) []osName {
	h.gp[o.GPIndex] = addr
	for i := range o.Objects {
		c := &o.Objects[i]
		if c.Type == "OSDev" {
			list = append(list, osName{c.OSDev, c.Name})
		}
		list = h.names(c, addr, list)
	}
	return list
}

func (h *hwlocReader) finish(distances []hwlocDistance) (*topology.Machine, error) {
	m := h.m
	numberCores(m, h.keys)
	slices.SortFunc(m.CPUs, func(a, b topology.MachineCPU) int { return int(a.ID - b.ID) })
	sortPCI(h.gpus, h.gpu, func(g *topology.MachineGPU) string { return g.BusID })
	sortPCI(h.nics, h.nic, func(n *topology.MachineNIC) string { return n.BusID })
	m.GPUs, m.NICs = h.gpu, h.nic
	connect(m, h.gpus, h.nics)
	for i := range distances {
		if d := &distances[i]; strings.HasPrefix(d.XMLName.Local, "distances2") {
			h.distances(d)
		}
	}
	if h.err != nil {
		return nil, h.err
	}
	if err := m.Validate(); err != nil {
		return nil, &ParseError{File: "hwloc XML", Err: err}
	}
	return m, nil
}

// sortPCI orders two parallel slices by address.
func sortPCI[T any](devs []pciDevice, rows []T, addr func(*T) string) {
	slices.SortFunc(devs, byAddress)
	slices.SortFunc(rows, func(a, b T) int {
		return byAddress(pciDevice{addr: addr(&a)}, pciDevice{addr: addr(&b)})
	})
}

// distances takes the latencies between NUMA nodes and the NVLink matrix.
func (h *hwlocReader) distances(d *hwlocDistance) {
	index := strings.Fields(strings.Join(d.Indexes, " "))
	var values []uint64
	for s := range strings.FieldsSeq(strings.Join(d.Values, " ")) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			h.fail(s, ErrSyntax)
			return
		}
		values = append(values, v)
	}
	n := len(index)
	if n*n != len(values) {
		h.fail(d.Name, ErrMatrix)
		return
	}
	switch {
	case d.Type == "NUMANode" && d.Indexing != "gp" && n == len(h.m.Memory):
		h.latencies(index, values)
	case d.Name == "NVLinkBandwidth":
		h.nvlinks(index, values)
	}
}

func (h *hwlocReader) latencies(index []string, values []uint64) {
	m, n := h.m, len(index)
	at := make([]int, n)
	for i, s := range index {
		at[i] = slices.IndexFunc(m.Memory, func(x topology.MachineMemory) bool { return strconv.Itoa(int(x.ID)) == s })
		if at[i] < 0 {
			h.fail(s, ErrSyntax)
			return
		}
	}
	for i := range n {
		m.Memory[at[i]].Distance = make([]int32, n)
	}
	for i := range n {
		for j := range n {
			m.Memory[at[i]].Distance[at[j]] = int32(min(values[i*n+j], 1<<20))
		}
	}
}

func (h *hwlocReader) nvlinks(index []string, values []uint64) {
	m, n := h.m, len(index)
	at := make([]int, n)
	for i, s := range index {
		if _, tail, ok := strings.Cut(s, ":"); ok {
			s = tail
		}
		addr := h.gp[s]
		at[i] = slices.IndexFunc(m.GPUs, func(g topology.MachineGPU) bool { return addr != "" && g.BusID == addr })
	}
	for i := range n {
		for j := range n {
			// The matrix may hold switches too, and tells itself apart by a
			// large value on the diagonal.
			v := min(values[i*n+j], values[j*n+i])
			if at[i] < 0 || at[j] < 0 || at[i] == at[j] || v == 0 {
				continue
			}
			m.GPUWires[at[i]*len(m.GPUs)+at[j]] = topology.Wire{Class: topology.PathNVLink, Lanes: lanesOf(v), GBps: int32(min(v/1000, 1<<20))}
		}
	}
}

// lanesOf guesses the lanes from a bandwidth in MB/s at 25 GB/s a lane.
func lanesOf(mbps uint64) uint8 { return uint8(max(1, min(mbps/25000, 255))) }
