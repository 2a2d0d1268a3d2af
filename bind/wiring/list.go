package wiring

import (
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// A ListedGPU is a line of nvidia-smi -L.
type ListedGPU struct {
	Index int
	Name  string
	UUID  string
	MIG   []ListedMIG
}

// A ListedMIG is a MIG instance below a GPU.
type ListedMIG struct {
	Profile string // 3g.40gb
	Device  int    // number below the GPU
	UUID    string
}

// List reads the output of nvidia-smi -L. Empty lines are skipped. Errors are
// of type [*ParseError].
func List(text string) ([]ListedGPU, error) {
	var all []ListedGPU
	line := 0
	for s := range strings.SplitSeq(text, "\n") {
		line++
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		at := strings.LastIndex(s, " (UUID: ")
		if at < 0 {
			return nil, listError(line, s)
		}
		head := s[:at]
		uuid, ok2 := strings.CutSuffix(s[at+len(" (UUID: "):], ")")
		left, right, ok3 := strings.Cut(head, ":")
		if !ok2 || !ok3 || uuid == "" || strings.ContainsAny(uuid, " \t\r()") {
			return nil, listError(line, s)
		}
		if n, isGPU := strings.CutPrefix(left, "GPU "); isGPU {
			i, err := strconv.ParseUint(n, 10, 16)
			if err != nil {
				return nil, listError(line, n)
			}
			all = append(all, ListedGPU{Index: int(i), Name: strings.TrimSpace(right), UUID: uuid})
			continue
		}
		f := strings.Fields(left)
		if len(f) != 4 || f[0] != "MIG" || f[2] != "Device" || len(all) == 0 {
			return nil, listError(line, left)
		}
		i, err := strconv.ParseUint(f[3], 10, 16)
		if err != nil {
			return nil, listError(line, f[3])
		}
		g := &all[len(all)-1]
		g.MIG = append(g.MIG, ListedMIG{Profile: f[1], Device: int(i), UUID: uuid})
	}
	return all, nil
}

func listError(line int, token string) error {
	return &ParseError{File: "nvidia-smi -L", Line: line, Token: token, Err: ErrSyntax}
}

// AppendList appends all as nvidia-smi -L prints it.
func AppendList(dst []byte, all []ListedGPU) []byte {
	for _, g := range all {
		dst = strconv.AppendInt(append(dst, "GPU "...), int64(g.Index), 10)
		dst = append(append(append(append(append(dst, ": "...), g.Name...), " (UUID: "...), g.UUID...), ")\n"...)
		for _, m := range g.MIG {
			dst = append(append(dst, "  MIG "...), m.Profile...)
			dst = strconv.AppendInt(append(dst, "     Device  "...), int64(m.Device), 10)
			dst = append(append(append(dst, ": (UUID: "...), m.UUID...), ")\n"...)
		}
	}
	return dst
}

// A Table is the output of nvidia-smi --query-gpu=… --format=csv.
type Table struct {
	Columns []string // without units, such as memory.used
	Units   []string // by column, such as MiB; empty for none
	Rows    [][]string
}

// Query reads a table of nvidia-smi --query-gpu. Values keep their units.
// Errors are of type [*ParseError].
func Query(text string) (*Table, error) {
	t := &Table{}
	line := 0
	for s := range strings.SplitSeq(text, "\n") {
		line++
		s = strings.TrimRight(s, "\r")
		if s == "" {
			continue
		}
		cells := strings.Split(s, ", ")
		if t.Columns == nil {
			for _, c := range cells {
				name, unit, _ := strings.Cut(c, " [")
				t.Columns = append(t.Columns, name)
				t.Units = append(t.Units, strings.TrimSuffix(unit, "]"))
			}
			continue
		}
		if len(cells) != len(t.Columns) {
			return nil, &ParseError{File: "nvidia-smi --query-gpu", Line: line, Token: s, Err: ErrSyntax}
		}
		t.Rows = append(t.Rows, cells)
	}
	if t.Columns == nil {
		return nil, &ParseError{File: "nvidia-smi --query-gpu", Err: ErrSyntax}
	}
	return t, nil
}

// Value returns the cell of a row under a column, without its unit. It is
// empty if there is no such column or the value is not available.
func (t *Table) Value(row int, column string) string {
	for i, c := range t.Columns {
		if c == column {
			v := t.Rows[row][i]
			if v == "[N/A]" || v == "N/A" || v == "[Not Supported]" {
				return ""
			}
			if t.Units[i] != "" {
				v = strings.TrimSpace(strings.TrimSuffix(v, t.Units[i]))
			}
			return v
		}
	}
	return ""
}

// GPUs returns what the columns name, uuid and pci.bus_id say of each row.
func (t *Table) GPUs() []topology.MachineGPU {
	gpus := make([]topology.MachineGPU, len(t.Rows))
	for i := range t.Rows {
		gpus[i] = topology.MachineGPU{
			Name: t.Value(i, "name"), UUID: t.Value(i, "uuid"), BusID: NormalBusID(t.Value(i, "pci.bus_id")),
			Minor: -1, Memory: -1, Switch: -1,
		}
	}
	return gpus
}
