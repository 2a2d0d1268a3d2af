package gres

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hgx returns a table and a node of 2×8 cores with four GPUs on each socket,
// sharded in 16 units each, and a count of licences.
func hgx(t testing.TB) (*DeviceTable, *Shape) {
	t.Helper()
	tab := NewDeviceTable()
	lic := tab.InternName("lic")
	h100 := tab.InternType("h100")
	c := ShapeConfig{Sockets: 2, CoresPerSocket: 8, MemMiB: 64000}
	var gpus, shards []DeviceConfig
	for i := range 8 {
		gpus = append(gpus, DeviceConfig{Type: h100, Cores: []uint64{0xff << (i / 4 * 8)}})
		shards = append(shards, DeviceConfig{Units: 16})
	}
	c.Groups = []GroupConfig{
		{Name: NameGPU, Devices: gpus, Flags: Tracked},
		{Name: NameShard, Devices: shards, Over: NameGPU, Flags: Tracked},
		{Name: lic, Count: 10},
	}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	return tab, s
}

func TestShapeProblemsAreReportedTogether(t *testing.T) {
	_, err := NewShape(ShapeConfig{
		Sockets: 2, CoresPerSocket: 4, CPUs: 11, Boards: 3, MemMiB: -1, SpecCores: []int{8},
		Groups: []GroupConfig{{}, {Name: NameShard, Over: NameGPU}, {Name: NameGPU, Devices: []DeviceConfig{{Cores: []uint64{1 << 8}}}}},
	})
	if err == nil {
		t.Fatal("NewShape accepted nonsense")
	}
	for _, want := range []string{"11 CPUs", "3 boards", "negative memory", "specialised core 8", "group 0: no name", "group 1: shares", "group 2: device 0: core 8"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

func TestSpecCoresGoFromTheLastDown(t *testing.T) {
	for _, c := range []struct {
		count int
		first bool
		want  []int
	}{
		{2, false, []int{7, 3}}, {3, false, []int{7, 3, 6}}, {3, true, []int{0, 4, 1}},
	} {
		got := AppendSpecCores(nil, 2, 4, c.count, c.first)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("AppendSpecCores(2, 4, %d, %v) mismatch (-want +got):\n%s", c.count, c.first, d)
		}
	}
}

func TestRestrictedCoresAreTheLowestOfTheSocket(t *testing.T) {
	c := ShapeConfig{Sockets: 2, CoresPerSocket: 8, RestrictedPerGPU: 2}
	var gpus []DeviceConfig
	for i := range 4 {
		gpus = append(gpus, DeviceConfig{Cores: []uint64{0xff << (i / 2 * 8)}})
	}
	c.Groups = []GroupConfig{{Name: NameGPU, Devices: gpus, Flags: Tracked}}
	s, err := NewShape(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.AppendCPUIDs(nil, s.restricted)); got != "0-3,8-11" {
		t.Errorf("restricted cores %s, want 0-3,8-11", got)
	}
}

func TestTakeAndGiveAreInverse(t *testing.T) {
	tab, s := hgx(t)
	row := make([]uint64, s.RowLen())
	book := func(cpus, gres string, mem int64) *Grant {
		t.Helper()
		g := &Grant{}
		g.Reset(s.CoreWords())
		g.MemMiB = mem
		if err := s.ParseCPUIDs(g.Cores, cpus); err != nil {
			t.Fatal(err)
		}
		var err error
		if g.Devices, err = s.ParseGRES(nil, tab, gres); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckGrant(row, g); err != nil {
			t.Fatal(err)
		}
		if got := string(s.AppendCPUIDs(nil, g.Cores)); got != cpus {
			t.Errorf("CPU ids %q came back as %q", cpus, got)
		}
		if got := string(s.AppendGRES(nil, tab, g)); got != gres {
			t.Errorf("GRES %q came back as %q", gres, got)
		}
		s.Take(row, g)
		return g
	}
	a := book("0-3,8", "gpu:h100:3(IDX:0-1,4)", 1000)
	b := book("4", "shard:9(0/16,0/16,9/16,0/16,0/16,0/16,0/16,0/16),lic(CNT:3)", 500)
	book("9-10", "shard:7(0/16,0/16,7/16,0/16,0/16,0/16,0/16,0/16)", 0)
	if got, want := string(s.AppendNodeUsed(nil, tab, row)), "gpu:h100:3(IDX:0-1,4),shard:h100:16(-/16,-/16,16/16,0/16,-/16,0/16,0/16,0/16),lic:3"; got != want {
		t.Errorf("node used %s, want %s", got, want)
	}
	if got, want := string(s.AppendNodeGRES(nil, tab)), "gpu:h100:8(S:0-1),shard:h100:128(S:0-1),lic:10"; got != want {
		t.Errorf("node GRES %s, want %s", got, want)
	}
	if free := s.FreeDevices(row, 0, 0); free != 4 {
		t.Errorf("free GPUs %d, want 4: a GPU with shards in use is not free", free)
	}
	if free := s.FreeUnits(row, 1, 0); free != 0 {
		t.Errorf("free shards of a GPU taken whole: %d, want 0", free)
	}
	if err := s.CheckGrant(row, a); err == nil {
		t.Error("CheckGrant let a grant be booked twice")
	}
	s.Give(row, a)
	s.Give(row, b)
	if s.Idle(row) || s.FreeDevices(row, 0, 0) != 7 || s.FreeMem(row) != 64000 || s.FreeCores(row) != 14 {
		t.Error("wrong use after giving back")
	}
}
