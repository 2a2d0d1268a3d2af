package gres

import (
	"strings"
	"testing"
)

func TestResourceNames(t *testing.T) {
	for _, c := range []struct{ resource, name, typ string }{
		{"nvidia.com/gpu", "gpu", ""},
		{"nvidia.com/mig-1g.10gb", "gpu", "1g.10gb"},
		{"nvidia.com/mig-1g.10gb.me", "gpu", "1g.10gb+me"},
		{"nvidia.com/gpu.shared", "gpu.shared", ""},
		{"amd.com/gpu", "gpu", ""},
		{"example.com/nic", "nic", ""},
	} {
		name, typ, ok := ParseResourceName(c.resource)
		if !ok || name != c.name || typ != c.typ {
			t.Errorf("ParseResourceName(%q) = %q, %q, %v", c.resource, name, typ, ok)
		}
		domain, _, _ := strings.Cut(c.resource, "/")
		if got := string(AppendResourceName(nil, domain, name, typ)); got != c.resource {
			t.Errorf("AppendResourceName = %q, want %q", got, c.resource)
		}
	}
	for _, bad := range []string{"", "gpu", "/gpu", "nvidia.com/", "nvidia.com/mig-", "a/b/c"} {
		if _, _, ok := ParseResourceName(bad); ok {
			t.Errorf("ParseResourceName(%q) is ok", bad)
		}
	}
	if got := string(AppendResourceName(nil, "nvidia.com", "gpu", "h100")); got != "nvidia.com/gpu" {
		t.Errorf("a whole device of a type is %q", got)
	}
}

// TestStrategySingle places requests without a type on nodes where every
// device has one profile.
func TestStrategySingle(t *testing.T) {
	table := NewDeviceTable()
	m := partitionModel(t, "H100-80GB")
	var types []TypeID
	for _, p := range m.Profiles {
		types = append(types, table.InternType(p.Name))
	}
	plain, _ := table.TypeID("2g.20gb")
	s, err := NewShape(ShapeConfig{MilliCPU: 64_000, MemMiB: 1 << 20, Groups: []GroupConfig{
		{Name: NameGPU, Devices: make([]DeviceConfig, 2), Partition: m, Profiles: types, Plain: plain},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := uniformPool(t, 1, s)
	v, c := []ViewID{p.AddView(allWords(1))}, p.AddClass(migRequest(0, 1))
	var g Grant
	n := 0
	for ; p.PlaceOne(c, PassAny, v, nil, &g) == 0; n++ {
		if g.Devices[0].Type != plain {
			t.Fatalf("an instance of %s is given", table.Type(g.Devices[0].Type))
		}
		p.Take(0, &g)
	}
	if n != 6 {
		t.Errorf("%d instances on two devices, want 6", n)
	}
}
