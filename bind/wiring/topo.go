package wiring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// Topo reads the output of nvidia-smi topo -m: the matrix of GPUs and NICs
// with CPU and NUMA affinity. CPUs and NUMA nodes are those that GPUs are near
// to; each CPU counts as a core of its own and each NUMA node as a socket,
// since the text does not tell. GPUs under one bridge, or sharing a NIC's
// bridge, share a switch. Colours and the legend are skipped, names in the NIC
// legend are taken.
func Topo(text string) (*topology.Machine, error) {
	t := topoReader{names: map[string]string{}}
	for line := range strings.SplitSeq(text, "\n") {
		t.line++
		if err := t.read(stripColour(strings.TrimRight(line, "\r"))); err != nil {
			return nil, err
		}
	}
	return t.machine()
}

// A topoReader collects the rows.
type topoReader struct {
	line    int
	columns []string // device names of the header
	gpus    int      // how many of them are GPUs, which come first
	cpuAt   int      // cell of CPU Affinity, counted from the first device; 0 for none
	numaAt  int
	rows    []topoRow
	names   map[string]string // NIC0 -> mlx5_0
}

type topoRow struct {
	wires []topology.Wire
	cpus  []uint64
	numa  int // −1 for none
	line  int
}

func (t *topoReader) fail(token string, cause error) error {
	return &ParseError{File: "nvidia-smi topo", Line: t.line, Token: token, Err: cause}
}

func (t *topoReader) read(line string) error {
	cells := strings.Split(line, "\t")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if t.columns == nil {
		if cells[0] == "" && len(cells) > 1 && isGPUName(cells[1]) {
			t.header(cells[1:])
		}
		return nil
	}
	if name, to, ok := strings.Cut(cells[0], ":"); ok && strings.HasPrefix(name, "NIC") {
		t.names[name] = strings.TrimSpace(to)
		return nil
	}
	if !isGPUName(cells[0]) {
		return nil // NIC rows repeat the columns; legend
	}
	if len(t.rows) >= t.gpus || cells[0] != t.columns[len(t.rows)] {
		return t.fail(cells[0], ErrMatrix)
	}
	return t.row(cells[1:])
}

func (t *topoReader) header(cells []string) {
	for i, c := range cells {
		switch {
		case c == "CPU Affinity":
			t.cpuAt = i
		case c == "NUMA Affinity":
			t.numaAt = i
		case c == "GPU NUMA ID" || c == "":
		case t.cpuAt == 0:
			t.columns = append(t.columns, c)
			if isGPUName(c) && t.gpus == i {
				t.gpus++
			}
		}
	}
}

func isGPUName(s string) bool {
	n, ok := strings.CutPrefix(s, "GPU")
	_, err := strconv.ParseUint(n, 10, 16)
	return ok && err == nil
}

func (t *topoReader) row(cells []string) error {
	r := topoRow{numa: -1, line: t.line}
	if len(cells) < len(t.columns) {
		return t.fail("", ErrMatrix)
	}
	for i := range t.columns {
		w, ok := parseWire(cells[i])
		if !ok {
			return t.fail(cells[i], ErrSyntax)
		}
		r.wires = append(r.wires, w)
	}
	cell := func(at int) string {
		if at == 0 || at >= len(cells) || cells[at] == "N/A" {
			return ""
		}
		return cells[at]
	}
	var err error
	if r.cpus, err = ParseCPUList(cell(t.cpuAt)); err != nil {
		return t.fail(cell(t.cpuAt), ErrSyntax)
	}
	// Several NUMA nodes are as good as none.
	if s := cell(t.numaAt); s != "" && !strings.ContainsAny(s, ",-") {
		if r.numa, err = number(s); err != nil {
			return t.fail(s, err)
		}
	}
	t.rows = append(t.rows, r)
	return nil
}

// parseWire reads one cell: X, NV#, PIX, PXB, PHB, NODE, SYS.
func parseWire(s string) (topology.Wire, bool) {
	if n, ok := strings.CutPrefix(s, "NV"); ok {
		lanes, err := strconv.ParseUint(n, 10, 8)
		return topology.Wire{Class: topology.PathNVLink, Lanes: uint8(lanes)}, err == nil && lanes > 0
	}
	for c := topology.PathSelf; c <= topology.PathNone; c++ {
		if c != topology.PathNVLink && s == c.String() {
			return topology.Wire{Class: c}, true
		}
	}
	return topology.Wire{}, false
}

func (t *topoReader) machine() (*topology.Machine, error) {
	if t.gpus == 0 || len(t.rows) != t.gpus {
		return nil, t.fail("", ErrMatrix)
	}
	m := &topology.Machine{}
	t.addMemory(m)
	for i := range t.rows {
		r := &t.rows[i]
		g := topology.MachineGPU{Minor: -1, Switch: -1, Memory: -1, CPUs: r.cpus}
		for n := range m.Memory {
			if r.numa >= 0 && int(m.Memory[n].ID) == r.numa {
				g.Memory = int32(n)
			}
		}
		m.GPUs = append(m.GPUs, g)
		for j, w := range r.wires[:t.gpus] {
			if (i == j) != (w.Class == topology.PathSelf) || w != t.rows[j].wires[i] {
				t.line = r.line
				return nil, t.fail(t.columns[j], ErrMatrix)
			}
			m.GPUWires = append(m.GPUWires, w)
		}
		for j, w := range r.wires[t.gpus:] {
			if w.Class == topology.PathSelf {
				t.line = r.line
				return nil, t.fail(t.columns[t.gpus+j], ErrMatrix)
			}
			m.NICWires = append(m.NICWires, w)
		}
	}
	for _, name := range t.columns[t.gpus:] {
		if real := t.names[name]; real != "" {
			name = real
		}
		m.NICs = append(m.NICs, topology.MachineNIC{Name: name, Memory: -1})
	}
	guessSwitches(m)
	return m, nil
}

// addMemory makes a NUMA node of each number in the rows, and CPUs of all that
// GPUs are near to.
func (t *topoReader) addMemory(m *topology.Machine) {
	byID := map[int][]uint64{}
	var ids []int
	for i := range t.rows {
		r := &t.rows[i]
		if r.numa < 0 {
			continue
		}
		if _, known := byID[r.numa]; !known {
			ids = append(ids, r.numa)
		}
		set := slices.Clone(byID[r.numa])
		for w, word := range r.cpus {
			if w >= len(set) {
				set = append(set, 0)
			}
			set[w] |= word
		}
		byID[r.numa] = set
	}
	slices.Sort(ids)
	taken := make([]bool, maxCPU)
	for n, id := range ids {
		mem := topology.MachineMemory{ID: int32(id)}
		each(byID[id], func(cpu int) {
			if taken[cpu] {
				return
			}
			taken[cpu] = true
			for len(mem.CPUs) <= cpu>>6 {
				mem.CPUs = append(mem.CPUs, 0)
			}
			mem.CPUs[cpu>>6] |= 1 << (cpu & 63)
			m.CPUs = append(m.CPUs, topology.MachineCPU{ID: int32(cpu), Socket: int32(n), Memory: int32(n)})
		})
		m.Memory = append(m.Memory, mem)
	}
	for i := range m.CPUs {
		m.CPUs[i].Core = int32(i)
	}
	slices.SortFunc(m.CPUs, func(a, b topology.MachineCPU) int { return int(a.ID - b.ID) })
}

// guessSwitches gives GPUs one switch that are one bridge apart, or that have
// a NIC one bridge apart in common.
func guessSwitches(m *topology.Machine) {
	next := int32(0)
	for i := range m.GPUs {
		for j := range m.GPUs {
			near := i != j && m.GPUWire(i, j).Class == topology.PathPIX
			for r := range m.NICs {
				near = near || i != j && m.NICWire(i, r).Class == topology.PathPIX && m.NICWire(j, r).Class == topology.PathPIX
			}
			if !near {
				continue
			}
			if m.GPUs[i].Switch < 0 {
				m.GPUs[i].Switch = max(m.GPUs[j].Switch, -1)
			}
			if m.GPUs[i].Switch < 0 {
				m.GPUs[i].Switch = next
				next++
			}
			m.GPUs[j].Switch = m.GPUs[i].Switch
		}
	}
}

// stripColour removes terminal sequences such as the header's underline.
func stripColour(s string) string {
	for {
		at := strings.Index(s, "\x1b[")
		if at < 0 {
			return s
		}
		end := strings.IndexByte(s[at:], 'm')
		if end < 0 {
			return s[:at]
		}
		s = s[:at] + s[at+end+1:]
	}
}

// AppendTopo appends the matrix of m as nvidia-smi topo -m prints it; reading
// it with [Topo] gives the same wires and affinities.
func AppendTopo(dst []byte, m *topology.Machine) []byte {
	for i := range m.GPUs {
		dst = strconv.AppendInt(append(dst, "\tGPU"...), int64(i), 10)
	}
	for r := range m.NICs {
		dst = strconv.AppendInt(append(dst, "\tNIC"...), int64(r), 10)
	}
	dst = append(dst, "\tCPU Affinity\tNUMA Affinity\n"...)
	for i := range m.GPUs {
		dst = strconv.AppendInt(append(dst, "GPU"...), int64(i), 10)
		for j := range m.GPUs {
			dst = appendWire(append(dst, '\t'), m.GPUWire(i, j))
		}
		for r := range m.NICs {
			dst = appendWire(append(dst, '\t'), m.NICWire(i, r))
		}
		dst = append(dst, '\t')
		if len(m.GPUs[i].CPUs) == 0 {
			dst = append(dst, "N/A"...)
		}
		dst = topology.AppendCPUList(dst, m.GPUs[i].CPUs)
		if n := m.GPUs[i].Memory; n >= 0 {
			dst = strconv.AppendInt(append(dst, '\t'), int64(m.Memory[n].ID), 10)
		} else {
			dst = append(dst, "\tN/A"...)
		}
		dst = append(dst, '\n')
	}
	if len(m.NICs) > 0 {
		dst = append(dst, "\nNIC Legend:\n\n"...)
	}
	for r := range m.NICs {
		dst = strconv.AppendInt(append(dst, "  NIC"...), int64(r), 10)
		dst = append(append(append(dst, ": "...), m.NICs[r].Name...), '\n')
	}
	return dst
}

func appendWire(dst []byte, w topology.Wire) []byte {
	dst = append(dst, w.Class.String()...)
	if w.Class == topology.PathNVLink {
		dst = strconv.AppendInt(dst, int64(w.Lanes), 10)
	}
	return dst
}
