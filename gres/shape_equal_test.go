package gres

import "testing"

// TestAddShapeEqual: nodes described one by one share a shape if their hardware
// is equal, whatever part of it differs else.
func TestAddShapeEqual(t *testing.T) {
	gpus := func(n int, typ TypeID) []GroupConfig {
		g := GroupConfig{Name: NameGPU, Flags: Tracked}
		for range n {
			g.Devices = append(g.Devices, DeviceConfig{Type: typ, Cores: []uint64{3}})
		}
		return []GroupConfig{g}
	}
	model, ok := PartitionModelByName("A100-40GB")
	if !ok {
		t.Fatal("no such model")
	}
	cut := func(name string) []GroupConfig {
		m := *model
		m.Name = name
		g := GroupConfig{Name: NameGPU, Devices: make([]DeviceConfig, 2), Partition: &m}
		for i := range m.Profiles {
			g.Profiles = append(g.Profiles, TypeID(i+1))
		}
		return []GroupConfig{g}
	}
	configs := []ShapeConfig{
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 101},
		{Sockets: 4, CoresPerSocket: 2, MemMiB: 100},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, RealMemMiB: 120},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, SpecCores: []int{3}},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, SpecCores: []int{2}},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Threads: 2},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Threads: 2, CPUs: 8},
		{MilliCPU: 8000, MemMiB: 100},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Groups: gpus(4, 0)},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Groups: gpus(4, 2)},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Groups: gpus(8, 2)},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Groups: cut("a")},
		{Sockets: 2, CoresPerSocket: 4, MemMiB: 100, Groups: cut("b")},
	}
	p := NewPool(4)
	for round := range 2 {
		for i := range configs {
			s, err := NewShape(configs[i])
			if err != nil {
				t.Fatal(err)
			}
			if got := p.AddShape(s); int(got) != i {
				t.Errorf("round %d: shape %d is numbered %d", round, i, got)
			}
		}
	}
	if p.NumShapes() != len(configs) {
		t.Errorf("%d shapes, want %d", p.NumShapes(), len(configs))
	}
}
