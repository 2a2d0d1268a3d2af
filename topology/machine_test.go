package topology

import (
	"errors"
	"strings"
	"testing"
)

func pairMachine() Machine {
	self, pix := Wire{}, Wire{Class: PathPIX}
	return Machine{
		Memory:   []MachineMemory{{ID: 0, Distance: []int32{10, 21}}, {ID: 1, Distance: []int32{21, 10}}},
		GPUs:     []MachineGPU{{Memory: 0}, {Memory: 1}},
		GPUWires: []Wire{self, pix, pix, self},
		NICs:     []MachineNIC{{Name: "mlx5_0"}},
		NICWires: []Wire{{Class: PathPXB}, {Class: PathSys}},
	}
}

func TestMachineValidate(t *testing.T) {
	m := pairMachine()
	if err := m.Validate(); err != nil {
		t.Fatalf("Validate() = %v, want nil", err)
	}
	if got := m.NICWire(1, 0).Class; got != PathSys {
		t.Errorf("NICWire(1, 0) = %v, want SYS", got)
	}
	for name, breakIt := range map[string]func(*Machine){
		"differ":    func(m *Machine) { m.GPUWires[1].Class = PathSys },
		"class X":   func(m *Machine) { m.GPUWires[1].Class, m.GPUWires[2].Class = PathSelf, PathSelf },
		"position":  func(m *Machine) { m.GPUs[0].Memory = 2 },
		"want 4":    func(m *Machine) { m.GPUWires = nil },
		"distances": func(m *Machine) { m.Memory[0].Distance = []int32{10} },
		"rise":      func(m *Machine) { m.CPUs = []MachineCPU{{ID: 1}, {ID: 1}} },
	} {
		m := pairMachine()
		breakIt(&m)
		err := m.Validate()
		if !errors.Is(err, ErrMachine) || !strings.Contains(err.Error(), name) {
			t.Errorf("Validate() = %v, want one that says %q", err, name)
		}
	}
}

func TestMachineDistance(t *testing.T) {
	m := pairMachine()
	for _, c := range []struct{ a, b, want int32 }{{0, 0, 10}, {0, 1, 21}, {-1, 1, 10}} {
		if got := m.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	m.Memory[0].Distance = nil
	if got := m.Distance(0, 1); got != 20 {
		t.Errorf("Distance without a table = %d, want 20", got)
	}
}

func TestWireBandwidthFallsWithClass(t *testing.T) {
	last := Wire{Class: PathNVLink}.Bandwidth() + 1
	for p := PathNVLink; p <= PathNone; p++ {
		if b := (Wire{Class: p}).Bandwidth(); b >= last {
			t.Errorf("%v: bandwidth %d is not below %d", p, b, last)
		} else {
			last = b
		}
	}
}

func TestAppendCPUList(t *testing.T) {
	for want, words := range map[string][]uint64{
		"":            nil,
		"0-3,8":       {0x10f},
		"63-64,127":   {1 << 63, 1 | 1<<63},
		"0-63":        {^uint64(0)},
		"1,3,128-130": {0xa, 0, 7},
	} {
		if got := string(AppendCPUList(nil, words)); got != want {
			t.Errorf("AppendCPUList(%x) = %q, want %q", words, got, want)
		}
	}
}
