package gres

import (
	"slices"
	"testing"
)

func FuzzGRES(f *testing.F) {
	tab, s := hgx(f)
	for _, t := range []string{"", "gpu:h100:3(IDX:0-1,4)", "gpu:h100:0(IDX:),lic(CNT:3)", "shard:6(5/16,1/16)", "gpu(IDX:9)", "lic(CNT:-1)", "gpu:h100:1(IDX:0"} {
		f.Add(t)
	}
	f.Fuzz(func(t *testing.T, text string) {
		devs, err := s.ParseGRES(nil, tab, text)
		if err != nil {
			if pe := err.(*ParseError); pe.Offset < 0 || pe.Offset > len(text) {
				t.Fatalf("offset %d of %q", pe.Offset, text)
			}
			return
		}
		g := Grant{Devices: devs}
		out := string(s.AppendGRES(nil, tab, &g))
		again, err := s.ParseGRES(nil, tab, out)
		if err != nil {
			t.Fatalf("%q written as %q: %v", text, out, err)
		}
		if !slices.Equal(dropEmpty(devs), dropEmpty(again)) {
			t.Fatalf("%q written as %q: %v became %v", text, out, devs, again)
		}
	})
}

// dropEmpty leaves out mentions without units and joins entries that repeat a
// device or a count, which one listing does not tell apart.
func dropEmpty(devs []DeviceGrant) []DeviceGrant {
	var out []DeviceGrant
	for _, d := range devs {
		if d.Units == 0 {
			continue
		}
		k := slices.IndexFunc(out, func(o DeviceGrant) bool {
			return o.Group == d.Group && o.Type == d.Type && o.Device == d.Device
		})
		if k < 0 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b DeviceGrant) int {
		if a.Group != b.Group {
			return int(a.Group) - int(b.Group)
		}
		if a.Type != b.Type {
			return int(a.Type) - int(b.Type)
		}
		return int(a.Device) - int(b.Device)
	})
	for i := range out {
		out[i].Units = min(out[i].Units, 1)
	}
	return out
}

func FuzzCPUIDs(f *testing.F) {
	s, err := NewShape(ShapeConfig{Sockets: 2, CoresPerSocket: 40, Threads: 2})
	if err != nil {
		f.Fatal(err)
	}
	for _, t := range []string{"", "0-3,8", "159", "3-1", "160", "1,", "0-159"} {
		f.Add(t)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, b := make([]uint64, s.CoreWords()), make([]uint64, s.CoreWords())
		if s.ParseCPUIDs(a, text) != nil {
			return
		}
		out := string(s.AppendCPUIDs(nil, a))
		if err := s.ParseCPUIDs(b, out); err != nil || !slices.Equal(a, b) {
			t.Fatalf("%q written as %q: %v, %v", text, out, b, err)
		}
	})
}

func FuzzAsks(f *testing.F) {
	for _, t := range []string{"", "gpu", "gpu:2", "gpu:a100:2", "gpu:", ":", "none", "gpu=3,gres/lic:2", "gpu:2k", "gres=2", "gres/gres:2", "cpu=2,gres/gpu:1", "mem=1", "license/foo:1"} {
		f.Add(t)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, per := range []Per{PerJob, PerNode} {
			asks, err := ParseAsks(nil, per, "gres", text)
			checkAsks(t, text, asks, err)
			asks, err = ParseGPUs(nil, per, "gpus", text)
			checkAsks(t, text, asks, err)
		}
		asks, cpus, err := ParseTRESPerTask(nil, text)
		checkAsks(t, text, asks, err)
		if cpus < 0 {
			t.Fatalf("%q: %d CPUs", text, cpus)
		}
		if _, err := ParseNodeGRES(text); err != nil && err.Error() == "" {
			t.Fatal("empty error")
		}
		if _, err := ParseGRESFlags(text); err != nil {
			slurmText(err)
		}
		CheckGPUBind(text)
		CheckGPUFreq(text)
		CheckTRESBind(text)
	})
}

func checkAsks(t *testing.T, text string, asks []Ask, err error) {
	t.Helper()
	if err != nil {
		if pe, ok := err.(*ParseError); ok && (pe.Offset < 0 || pe.Offset > len(text)) {
			t.Fatalf("offset %d of %q", pe.Offset, text)
		}
		return
	}
	for _, a := range asks {
		if a.Count < 1 {
			t.Fatalf("%q: %+v", text, a)
		}
		// Written as gres/NAME:TYPE:COUNT it reads the same; without the prefix
		// a kind called gres would be taken for one.
		line := "gres/" + a.Name
		if a.Type != "" {
			line += ":" + a.Type
		}
		again, err := ParseAsks(nil, a.Per, a.Option, string(AppendCount([]byte(line+":"), a.Count)))
		if err != nil || len(again) != 1 || again[0].Count != a.Count {
			t.Fatalf("%q: %+v written as %q: %+v, %v", text, a, line, again, err)
		}
	}
}
