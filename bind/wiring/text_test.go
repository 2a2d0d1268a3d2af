package wiring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/topology"
)

// outputs is where recorded command outputs lie.
const outputs = "../../../shared/data/configs/outputs"

// TestRecordedOutputs reads every recorded output of nvidia-smi.
func TestRecordedOutputs(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(outputs, "nvidia-smi-*"))
	if len(files) == 0 {
		t.Skip("no recorded outputs at " + outputs)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		switch name := filepath.Base(file); {
		case strings.Contains(name, "-topo-"):
			m, err := Topo(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := m.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			again, err := Topo(string(AppendTopo(nil, m)))
			if diff := cmp.Diff(m, again); err != nil || diff != "" {
				t.Errorf("%s: read again: %v (-want +got)\n%s", name, err, diff)
			}
		case strings.Contains(name, "-L-"):
			all, err := List(text)
			if err != nil || len(all) == 0 {
				t.Errorf("%s: %v, %d GPUs", name, err, len(all))
			}
			again, err := List(string(AppendList(nil, all)))
			if diff := cmp.Diff(all, again); err != nil || diff != "" {
				t.Errorf("%s: read again: %v (-want +got)\n%s", name, err, diff)
			}
		case strings.HasSuffix(name, ".csv"):
			table, err := Query(text)
			if err != nil || len(table.GPUs()) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		default:
			t.Errorf("%s: no reader", name)
		}
	}
}

const pairTopo = "\x1b[4m\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\r\n" +
	"GPU0\t X \tNV12\tPIX\t0-1\t0-1\t\tN/A\n" +
	"GPU1\tNV12\t X \tPIX\tN/A\tN/A\n" +
	"NIC0\tPIX\tPIX\t X \n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_3\n"

func TestTopo(t *testing.T) {
	m, err := Topo(pairTopo)
	if err != nil {
		t.Fatal(err)
	}
	if w := m.GPUWire(0, 1); w.Class != topology.PathNVLink || w.Lanes != 12 {
		t.Errorf("GPU 0 to 1: %v", w)
	}
	if m.NICs[0].Name != "mlx5_3" || m.GPUs[0].Memory != -1 || m.GPUs[0].Switch != m.GPUs[1].Switch || m.GPUs[0].Switch < 0 {
		t.Errorf("NIC %+v GPUs %+v", m.NICs[0], m.GPUs)
	}
}

func TestTopoErrors(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		line     int
		cause    error
	}{
		"unknown class":  {"GPU1\tNV12\t X \tPIX", "GPU1\tNV12\t X \tPIXX", 3, ErrSyntax},
		"not symmetric":  {"GPU1\tNV12", "GPU1\tNV4", 2, ErrMatrix},
		"self":           {"GPU0\t X \tNV12", "GPU0\t X \tX", 2, ErrMatrix},
		"missing row":    {"GPU1\tNV12\t X \tPIX\tN/A\tN/A\n", "", 12, ErrMatrix},
		"short row":      {"GPU1\tNV12\t X \tPIX\tN/A\tN/A", "GPU1\tNV12", 3, ErrMatrix},
		"wrong row":      {"GPU1\tNV12", "GPU7\tNV12", 3, ErrMatrix},
		"CPU list":       {"\t0-1\t0-1", "\t0-z\t0-1", 2, ErrSyntax},
		"NUMA":           {"\t0-1\t0-1", "\t0-1\tq", 2, ErrSyntax},
		"no lanes":       {"NV12\tPIX\t0", "NV0\tPIX\t0", 2, ErrSyntax},
		"nothing at all": {pairTopo, "", 1, ErrMatrix},
	} {
		_, err := Topo(strings.Replace(pairTopo, c.old, c.new, 1))
		e, ok := errors.AsType[*ParseError](err)
		if !ok || e.Line != c.line || e.Err != c.cause {
			t.Errorf("%s: %v, want %v at line %d", name, err, c.cause, c.line)
		}
	}
}

func TestListErrors(t *testing.T) {
	for text, line := range map[string]int{
		"GPU 0: A": 1,
		"GPU 0: A (UUID: GPU-1)\nGPU x: A (UUID: GPU-1)": 2,
		"  MIG 3g.40gb     Device  0: (UUID: MIG-1)":     1,
		"GPU 0: A (UUID: GPU-1)\nnonsense":               2,
	} {
		_, err := List(text)
		if e, ok := errors.AsType[*ParseError](err); !ok || e.Line != line {
			t.Errorf("List(%q) = %v, want an error at line %d", text, err, line)
		}
	}
}

func TestQueryValues(t *testing.T) {
	table, err := Query("uuid, memory.used [MiB], serial, pci.bus_id\nGPU-1, 575 MiB, [N/A], 00000000:3D:00.0\n")
	if err != nil {
		t.Fatal(err)
	}
	g := table.GPUs()[0]
	if table.Value(0, "memory.used") != "575" || table.Value(0, "serial") != "" || table.Value(0, "none") != "" ||
		g.UUID != "GPU-1" || g.BusID != "0000:3d:00.0" {
		t.Errorf("%+v, GPU %+v", table, g)
	}
	if _, err := Query("a, b\n1\n"); err == nil {
		t.Error("a short row is accepted")
	}
	if _, err := Query(""); err == nil {
		t.Error("no header is accepted")
	}
}

func TestHwloc(t *testing.T) {
	read := func(name string) (*topology.Machine, error) {
		f, err := os.Open(filepath.Join("testdata", "hwloc", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return Hwloc(f)
	}
	m, err := read("synthetic.xml")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.CPUs) != 8 || m.CPUs[7] != (topology.MachineCPU{ID: 7, Core: 3, Socket: 1, Memory: 1}) || len(m.Memory) != 2 {
		t.Errorf("CPUs %+v memory %+v", m.CPUs, m.Memory)
	}
	m, err = read("two-h100.xml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendTopo(nil, m)), `	GPU0	GPU1	NIC0	NIC1	CPU Affinity	NUMA Affinity
GPU0	X	NV18	PIX	SYS	0-3	0
GPU1	NV18	X	SYS	PIX	4-7	1

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
`; got != want {
		t.Errorf("wires mismatch (-want +got)\n%s", cmp.Diff(want, got))
	}
	if m.Distance(0, 1) != 21 || m.GPUs[1].BusID != "0000:9b:00.0" || m.GPUs[0].Name != "GH100 [H100 SXM5 80GB]" || m.GPUWire(0, 1).GBps != 450 {
		t.Errorf("distance %d GPUs %+v", m.Distance(0, 1), m.GPUs)
	}
	for _, text := range []string{"", "<topology>", `<topology><object type="PU" os_index="x"/></topology>`,
		`<topology><object type="NUMANode" os_index="0" cpuset="0xzz"/></topology>`} {
		if _, err := Hwloc(strings.NewReader(text)); err == nil {
			t.Errorf("Hwloc(%q) is accepted", text)
		} else if _, ok := errors.AsType[*ParseError](err); !ok {
			t.Errorf("Hwloc(%q) = %v, want a ParseError", text, err)
		}
	}
}

func TestNormalBusID(t *testing.T) {
	for in, want := range map[string]string{
		"00000000:3D:00.0": "0000:3d:00.0", "0000:3d:00.0": "0000:3d:00.0", "00010000:01:00.0": "10000:01:00.0", "": "",
	} {
		if got := NormalBusID(in); got != want {
			t.Errorf("NormalBusID(%q) = %q, want %q", in, got, want)
		}
	}
}
