package gres

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// migShape returns a node with counts of CPUs and gpus partitioned devices,
// and the types of the profiles.
func migShape(t testing.TB, table *DeviceTable, model string, gpus int) (*Shape, []TypeID) {
	t.Helper()
	m := partitionModel(t, model)
	var types []TypeID
	for _, p := range m.Profiles {
		types = append(types, table.InternType(p.Name))
	}
	s, err := NewShape(ShapeConfig{Sockets: 1, CoresPerSocket: 64, MemMiB: 1 << 20, Groups: []GroupConfig{
		{Name: NameGPU, Devices: make([]DeviceConfig, gpus), Partition: m, Profiles: types},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, types
}

func migRequest(typ TypeID, n int64) *Request {
	r := &Request{Tasks: 1, TasksKnown: Given, CPUsPerTask: 1, MinCPUs: 1, MinNodes: 1, MaxNodes: 1, Mem: MemPerNode, MemMiB: 16, Flags: ConsumeMem}
	r.SetNeeds(Need{Name: NameGPU, Type: typ, PerNode: n})
	return r
}

func TestInstancesInPool(t *testing.T) {
	table := NewDeviceTable()
	s, types := migShape(t, table, "A100-40GB", 2)
	p := uniformPool(t, 1, s)
	views := []ViewID{p.AddView(allWords(1))}
	var g Grant
	show := func() string { return string(s.AppendNodeUsed(nil, table, p.Row(0))) }
	var held []Grant
	for _, c := range []struct {
		profile string
		n       int64
		grant   string
		recut   bool
		used    string
	}{
		{"3g.20gb", 1, "gpu:3g.20gb:1(IDX:0@4)", true, "gpu:3g.20gb:1(IDX:0@4)"},
		{"4g.20gb", 1, "gpu:4g.20gb:1(IDX:0@0)", true, "gpu:3g.20gb:1(IDX:0@4),gpu:4g.20gb:1(IDX:0@0)"},
		{"1g.5gb", 2, "gpu:1g.5gb:2(IDX:1@6,1@4)", true, "gpu:1g.5gb:2(IDX:1@4,1@6),gpu:3g.20gb:1(IDX:0@4),gpu:4g.20gb:1(IDX:0@0)"},
		{"7g.40gb", 1, "", false, ""},
	} {
		typ, _ := table.TypeID(c.profile)
		n := p.PlaceOne(p.AddClass(migRequest(typ, c.n)), PassAny, views, nil, &g)
		if c.grant == "" {
			if n >= 0 {
				t.Errorf("%s fits on a device that is in use: %+v", c.profile, g)
			}
			continue
		}
		if got := string(s.AppendGRES(nil, table, &g)); n != 0 || got != c.grant || g.Recuts() != c.recut {
			t.Fatalf("%s is %q, recut %v, want %q, %v", c.profile, got, g.Recuts(), c.grant, c.recut)
		}
		if err := s.CheckGrant(p.Row(0), &g); err != nil {
			t.Error(err)
		}
		p.Take(0, &g)
		if err := s.CheckGrant(p.Row(0), &g); err == nil {
			t.Errorf("CheckGrant lets %s be taken twice", c.profile)
		}
		if got := show(); got != c.used {
			t.Errorf("in use is %q, want %q", got, c.used)
		}
		p.Check()
		held = append(held, Grant{})
		held[len(held)-1].CopyFrom(&g)
	}
	// An instance that ends stays and is used again without a cut.
	p.Give(0, &held[0])
	typ, _ := table.TypeID("3g.20gb")
	if n := p.PlaceOne(p.AddClass(migRequest(typ, 1)), PassAny, views, nil, &g); n != 0 || g.Recuts() {
		t.Errorf("an idle instance is not used again: %+v", g)
	}
	// An untyped request does not say what it wants.
	if n := p.PlaceOne(p.AddClass(migRequest(0, 1)), PassAny, views, nil, &g); n >= 0 {
		t.Error("an untyped request fits")
	}
	_ = types
}

func TestInstancesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewDeviceTable()
		tb := &testing.T{}
		s, types := migShape(tb, table, rapid.SampledFrom([]string{"A100-40GB", "A30", "B200-180GB"}).Draw(t, "model"), 2)
		m := s.GroupPartition(0)
		p := uniformPool(tb, 2, s)
		views := []ViewID{p.AddView(allWords(2))}
		var classes []ClassID
		for _, typ := range types {
			classes = append(classes, p.AddClass(migRequest(typ, 1)), p.AddClass(migRequest(typ, 2)))
		}
		whole := migRequest(types[0], 0)
		whole.NumNeeds, whole.Flags = 0, whole.Flags|WholeNode
		whole.MaxNodes = 1
		wholeClass := p.AddClass(whole)
		type job struct {
			node int32
			g    Grant
		}
		var jobs []job
		t.Repeat(map[string]func(*rapid.T){
			"place": func(t *rapid.T) {
				var g Grant
				c := rapid.SampledFrom(classes).Draw(t, "class")
				n := p.PlaceOne(c, PassAny, views, nil, &g)
				if n < 0 {
					// Then no node has room for so many.
					d := p.Request(c).Needs[0]
					for i := range int32(2) {
						if s.FreeDevices(p.Row(i), 0, d.Type) >= d.PerNode {
							t.Fatalf("%d of %s do not fit on node %d with %d free", d.PerNode, table.Type(d.Type), i, s.FreeDevices(p.Row(i), 0, d.Type))
						}
					}
					return
				}
				if err := s.CheckGrant(p.Row(n), &g); err != nil {
					t.Fatal(err)
				}
				text := s.AppendGRES(nil, table, &g)
				back, err := s.ParseGRES(nil, table, string(text))
				for i := range back {
					back[i].Recut = g.Devices[i].Recut
				}
				if err != nil || !slices.Equal(back, g.Devices) {
					t.Fatalf("%s is read as %+v, %v; was %+v", text, back, err, g.Devices)
				}
				p.Take(n, &g)
				jobs = append(jobs, job{n, g})
			},
			"end": func(t *rapid.T) {
				if len(jobs) == 0 {
					return
				}
				k := rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
				p.Give(jobs[k].node, &jobs[k].g)
				jobs = slices.Delete(jobs, k, k+1)
			},
			"try": func(t *rapid.T) {
				h, mark := p.Hash(), p.Mark()
				var g Grant
				if n := p.PlaceOne(rapid.SampledFrom(classes).Draw(t, "class"), PassAny, views, nil, &g); n >= 0 {
					p.Take(n, &g)
				}
				p.Rollback(mark)
				if p.Hash() != h {
					t.Fatal("a rollback leaves a trace")
				}
			},
			"": func(t *rapid.T) {
				p.Check()
				for n := range int32(2) {
					var cover [2][8]int
					busy := false
					for _, j := range jobs {
						if j.node != n {
							continue
						}
						busy = true
						for _, d := range j.g.Devices {
							k := s.groups[0].profile(d.Type)
							for i := range m.Profiles[k].Memory {
								cover[d.Device][int(d.Start)+i]++
							}
							if s.PartitionState(p.Row(n), 0, int(d.Device)).at(int(d.Start)) != k+1 {
								t.Fatalf("instance of a running job is gone: %+v", d)
							}
						}
					}
					for d := range cover {
						if !m.valid(s.PartitionState(p.Row(n), 0, d)) {
							t.Fatalf("device %d is cut into %x", d, p.Row(n))
						}
						for i, c := range cover[d] {
							if c > 1 {
								t.Fatalf("slice %d of device %d is held %d times", i, d, c)
							}
						}
					}
					var g Grant
					if p.ArrangeOne(wholeClass, PassAny, n, &g) == busy {
						t.Fatalf("whole node %d: fits is not %v", n, !busy)
					}
				}
			},
		})
	})
}

func TestPartitionConfig(t *testing.T) {
	m := partitionModel(t, "A30")
	good := GroupConfig{Name: NameGPU, Devices: make([]DeviceConfig, 1), Partition: m, Profiles: []TypeID{1, 2, 3, 4}}
	for name, change := range map[string]func(*GroupConfig){
		"no devices":  func(g *GroupConfig) { g.Devices = nil },
		"few types":   func(g *GroupConfig) { g.Profiles = g.Profiles[:2] },
		"equal types": func(g *GroupConfig) { g.Profiles = []TypeID{1, 1, 2, 3} },
		"divisible":   func(g *GroupConfig) { g.Flags = Divisible },
		"too large": func(g *GroupConfig) {
			g.Partition = &PartitionModel{MemorySlices: 4, ComputeSlices: 4, Profiles: slices.Clone(m.Profiles)}
			g.Partition.Profiles[3].Memory = 5
		},
	} {
		g := good
		change(&g)
		if _, err := NewShape(ShapeConfig{MilliCPU: 1000, Groups: []GroupConfig{g}}); err == nil {
			t.Errorf("%s: NewShape succeeded", name)
		}
	}
	if _, err := NewShape(ShapeConfig{MilliCPU: 1000, Groups: []GroupConfig{good}}); err != nil {
		t.Error(err)
	}
}

func TestUnionOfPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := partitionModel(&testing.T{}, "A100-80GB")
		draw := func(what string) PartitionState {
			w := PartitionState(0)
			for range rapid.IntRange(0, 6).Draw(t, what) {
				if _, p, ok := m.Place([]PartitionState{w}, rapid.IntRange(0, 6).Draw(t, "profile")); ok {
					w, _ = m.Take(w, p)
				}
			}
			return w
		}
		a, b := draw("a"), draw("b")
		u := m.union(a, b)
		for k := range m.Profiles {
			for s := range 8 {
				if m.fits(u, k, s) && (!m.fits(a, k, s) || !m.fits(b, k, s)) {
					t.Fatalf("profile %d at %d fits on the union %x of %x and %x, but not on both", k, s, uint64(u), uint64(a), uint64(b))
				}
			}
		}
	})
}
