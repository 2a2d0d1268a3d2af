//go:build linux && cgo && (amd64 || arm64)

package nvml_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/nvml"
	"github.com/berth-sched/berth/nvml/nvmltest"
	"github.com/berth-sched/berth/topology"
)

// twoSockets has 64 cores of one thread, 32 a socket and NUMA node.
func twoSockets(perSocket int32) *topology.Machine {
	m := &topology.Machine{Memory: []topology.MachineMemory{{ID: 0}, {ID: 1}}}
	for c := range 2 * perSocket {
		m.CPUs = append(m.CPUs, topology.MachineCPU{ID: c, Core: c, Socket: c / perSocket, Memory: c / perSocket})
	}
	return m
}

func openFake(t *testing.T, so, machine string) *nvml.Library {
	t.Helper()
	nvmltest.Use(t, machine)
	l, err := nvml.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestDiscoverGolden walks the whole path: a library is loaded, asked, and its
// devices become records. Commands:
//
//	snapshot machine=NAME [driver=old]   what the library says
//	discover machine=NAME [driver=old]   the records; input lines are mig-minors
//	wiring machine=NAME                  the machine that the solver reads
func TestDiscoverGolden(t *testing.T) {
	libs := map[bool]string{false: nvmltest.Library(t, false), true: nvmltest.Library(t, true)}
	datadriven.Walk(t, "testdata/discover", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name, driver string
			d.ScanArgs(t, "machine", &name)
			d.MaybeScanArgs(t, "driver", &driver)
			l := openFake(t, libs[driver == "old"], nvmltest.Machine(t, name))
			s, err := l.Snapshot()
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			switch d.Cmd {
			case "snapshot":
				return spellSnapshot(s)
			case "discover":
				minors, err := nvml.ParseMIGMinors(d.Input)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				recs, probs := nvml.Discover(s, nvml.Options{Machine: twoSockets(32), Minors: minors})
				return spellRecords(recs, probs)
			case "wiring":
				m := nvml.Machine(twoSockets(32), s)
				if err := m.Validate(); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return spellWires(m)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func spellSnapshot(s *nvml.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "driver %s, library %s\n", s.Driver, s.Library)
	for i := range s.Devices {
		d := &s.Devices[i]
		fmt.Fprintf(&b, "%d %s %s %s minor %d %d MiB cpus %s nodes %x\n", d.Index, d.Name, d.UUID, d.BusID, d.Minor, d.Memory>>20,
			topology.AppendCPUList(nil, d.CPUs), d.MemoryNodes)
		kinds := map[nvml.RemoteKind]int{}
		for _, l := range d.Links {
			kinds[l.Kind]++
		}
		if len(d.Links) > 0 {
			fmt.Fprintf(&b, "  lanes: %d to GPUs, %d to switches, %d unknown\n", kinds[nvml.RemoteGPU], kinds[nvml.RemoteSwitch], kinds[nvml.RemoteUnknown])
		}
		if d.Ancestor != nil {
			fmt.Fprintf(&b, "  ancestors %v p2p %v\n", d.Ancestor, d.P2P)
		}
		if d.MIG.Supported {
			fmt.Fprintf(&b, "  MIG now %v, next %v\n", d.MIG.Current, d.MIG.Pending)
		}
		for _, in := range d.Instances {
			fmt.Fprintf(&b, "  instance %d gi%d/ci%d %s %s %d/%d slices %d MB\n", in.Index, in.GPUInstance, in.ComputeInst, in.Name, in.UUID, in.ComputeSlices, in.GPUSlices, in.MemoryMB)
		}
		if d.Fabric.State > 0 {
			fmt.Fprintf(&b, "  fabric %s clique %d state %d\n", d.Fabric.Cluster, d.Fabric.Clique, d.Fabric.State)
		}
		if d.Err != nil {
			fmt.Fprintf(&b, "  %v\n", d.Err)
		}
	}
	return b.String()
}

func spellRecords(recs []gres.Record, probs []nvml.Problem) string {
	var b strings.Builder
	for _, r := range recs {
		fmt.Fprintf(&b, "%s files %s cores %s links %v id %s", r.Type, strings.Join(r.Files, ","), topology.AppendCPUList(nil, r.Cores), r.Links, r.UUID)
		if r.Flags&gres.RecordEnvUUID != 0 {
			b.WriteString(" by id")
		}
		b.WriteByte('\n')
	}
	for _, p := range probs {
		fmt.Fprintf(&b, "problem: %v\n", p)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func spellWires(m *topology.Machine) string {
	var b strings.Builder
	for i := range m.GPUs {
		fmt.Fprintf(&b, "%-44s node %2d ", m.GPUs[i].UUID, m.GPUs[i].Memory)
		for j := range m.GPUs {
			w := m.GPUWire(i, j)
			text := w.Class.String()
			if w.Class == topology.PathNVLink {
				text = fmt.Sprintf("NV%d", w.Lanes)
			}
			fmt.Fprintf(&b, "%5s", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestOpenErrors(t *testing.T) {
	_, err := nvml.Open(filepath.Join(t.TempDir(), "libnvidia-ml.so.1"))
	if !errors.Is(err, nvml.ErrNoLibrary) || !strings.Contains(err.Error(), "cannot open shared object") {
		t.Errorf("Open of nothing = %v, want one that wraps ErrNoLibrary and has the loader's text", err)
	}
	so := nvmltest.Library(t, false)
	for code, want := range map[int]error{9: nvml.ErrNoDriver, 18: nvml.VersionMismatch} {
		nvmltest.Use(t, fmt.Sprintf("init %d\n", code))
		if _, err := nvml.Open(so); !errors.Is(err, want) {
			t.Errorf("Open with init code %d = %v, want %v", code, err, want)
		}
	}
}

// TestNoGPUs tells a driver without devices from no driver.
func TestNoGPUs(t *testing.T) {
	l := openFake(t, nvmltest.Library(t, false), "driver 550.54.15\n")
	s, err := l.Snapshot()
	if err != nil || len(s.Devices) != 0 || s.Driver != "550.54.15" {
		t.Errorf("Snapshot = %+v, %v", s, err)
	}
}

func TestHealth(t *testing.T) {
	l := openFake(t, nvmltest.Library(t, false), nvmltest.Machine(t, "health"))
	hs, err := l.AppendHealth(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hs {
		got = append(got, fmt.Sprintf("%d %v lost=%d ecc=%d pages=%v rows=%v failed=%v xid=%d", h.Index, h.OK(), h.Lost, h.ECCErrors, h.PagesPending, h.RowsPending, h.RowsFailed, h.XID))
	}
	want := []string{
		"0 true lost=0 ecc=0 pages=false rows=false failed=false xid=0",
		"1 false lost=0 ecc=3 pages=false rows=false failed=false xid=0",
		"2 false lost=0 ecc=0 pages=true rows=false failed=false xid=0",
		"3 false lost=0 ecc=0 pages=false rows=true failed=true xid=0",
		"4 false lost=0 ecc=0 pages=false rows=false failed=false xid=79",
		"5 false lost=15 ecc=0 pages=false rows=false failed=false xid=0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got)\n%s", diff)
	}
	// An XID is told once.
	if hs, _ = l.AppendHealth(hs[:0]); hs[4].XID != 0 {
		t.Errorf("second reading: XID %d, want 0", hs[4].XID)
	}
}

func TestWatch(t *testing.T) {
	l := openFake(t, nvmltest.Library(t, false), nvmltest.Machine(t, "health"))
	tick := make(chan time.Time, 2)
	tick <- time.Time{}
	tick <- time.Time{}
	close(tick)
	var seen [][]nvml.Change
	if err := nvml.Watch(context.Background(), tick, l, func(c []nvml.Change) { seen = append(seen, c) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || len(seen[0]) != 5 || seen[0][0].New.Index != 1 {
		t.Errorf("Watch reported %v, want five bad devices once", seen)
	}
}

func TestClocks(t *testing.T) {
	for _, old := range []bool{false, true} {
		l := openFake(t, nvmltest.Library(t, old), nvmltest.Machine(t, "h100x8"))
		memory, graphics, err := l.Clocks(0)
		if err != nil || cmp.Diff(memory, []uint32{2619, 1593}) != "" || cmp.Diff(graphics, [][]uint32{{1980, 1965, 1950}, {1200, 1100}}) != "" {
			t.Errorf("old=%v: Clocks = %v, %v, %v", old, memory, graphics, err)
		}
		if err := l.SetClocks(0, 1593, 1100); err != nil {
			t.Errorf("old=%v: %v", old, err)
		}
		if err := l.ResetClocks(0); err != nil {
			t.Errorf("old=%v: %v", old, err)
		}
		if _, _, err := l.Clocks(1); !errors.Is(err, nvml.NotSupported) {
			t.Errorf("old=%v: Clocks of a device without = %v", old, err)
		}
		if err := l.SetClocks(77, 1, 1); err == nil {
			t.Errorf("old=%v: a device that is not there has clocks", old)
		}
	}
}

// TestLayoutAgainstHeader needs NVIDIA's nvml.h, which is not ours to keep:
// BERTH_NVML_HEADER names its folder, such as pkg/nvml of go-nvml.
func TestLayoutAgainstHeader(t *testing.T) {
	dir := os.Getenv("BERTH_NVML_HEADER")
	if dir == "" {
		t.Skip("BERTH_NVML_HEADER is not set")
	}
	nvmltest.CheckLayout(t, dir)
}
