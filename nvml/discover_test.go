package nvml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// nodeN is N of specification nvml.md: 16 cores, two sockets, and with two
// threads the machine's CPUs c and c+16 are core c.
func nodeN(threads int32) *topology.Machine {
	m := &topology.Machine{}
	for id := range 16 * threads {
		m.CPUs = append(m.CPUs, topology.MachineCPU{ID: id, Core: id % 16, Socket: id % 16 / 8, Memory: -1})
	}
	return m
}

func plain(i int, name string) Device {
	return Device{Index: i, Name: name, UUID: fmt.Sprintf("GPU-%d", i), BusID: fmt.Sprintf("0000:%02x:00.0", 16+i), Minor: i}
}

func lanes(bus string, kind RemoteKind, n int) (ls []Link) {
	for i := range n {
		ls = append(ls, Link{Lane: i, BusID: bus, Kind: kind})
	}
	return ls
}

// TestDiscoverTypes are the cases 1 to 3.
func TestDiscoverTypes(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA A100-SXM4-40GB": "nvidia_a100-sxm4-40gb",
		"Tesla K20m":            "tesla_k20m",
		"NVIDIA H100 80GB HBM3": "nvidia_h100_80gb_hbm3",
	} {
		recs, probs := Discover(&Snapshot{Devices: []Device{plain(0, name)}}, Options{})
		if len(probs) > 0 || len(recs) != 1 || recs[0].Type != want {
			t.Errorf("%q: %+v %v, want type %q", name, recs, probs, want)
		}
	}
}

// TestDiscoverOrder is case 4: files go by minor numbers, the index by PCI
// order, after the merge too.
func TestDiscoverOrder(t *testing.T) {
	a, b := plain(0, "k80"), plain(1, "k80")
	a.Minor, b.Minor = 1, 0
	recs, _ := Discover(&Snapshot{Devices: []Device{a, b}}, Options{})
	merged, probs := gres.MergeNode([]gres.ConfGRES{{Name: "gpu", Count: 2}}, nil, recs, true)
	if len(probs) > 0 || len(merged) != 2 || merged[0].Files[0] != "/dev/nvidia1" || merged[1].Files[0] != "/dev/nvidia0" {
		t.Errorf("merged %+v %v, want nvidia1 before nvidia0", merged, probs)
	}
}

// TestDiscoverCores are the cases 5 to 8.
func TestDiscoverCores(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads int32
		cpus    []uint64
		known   bool
		enabled []uint64
		want    []uint64
		fatal   bool
	}{
		{"5 cores", 1, []uint64{0xff}, true, nil, []uint64{0xff}, false},
		{"6 threads", 2, []uint64{0xff00ff}, true, nil, []uint64{0xff}, false},
		{"7 not told", 1, nil, false, nil, nil, false},
		{"8 empty", 1, nil, true, nil, nil, true},
		{"not for jobs", 1, []uint64{0xff}, true, []uint64{0xfffe}, []uint64{0xfe}, false},
	} {
		d := plain(0, "a100")
		d.CPUs, d.CPUKnown = c.cpus, c.known
		recs, probs := Discover(&Snapshot{Devices: []Device{d}}, Options{Machine: nodeN(c.threads), CPUs: c.enabled})
		if diff := cmp.Diff(c.want, recs[0].Cores); diff != "" {
			t.Errorf("%s: mismatch (-want +got)\n%s", c.name, diff)
		}
		if fatal := len(probs) > 0 && probs[0].Fatal(); fatal != c.fatal {
			t.Errorf("%s: problems %v", c.name, probs)
		}
	}
}

// TestDiscoverLinks are the cases 9 to 12.
func TestDiscoverLinks(t *testing.T) {
	s := &Snapshot{}
	for i := range 4 {
		d := plain(i, "v100")
		d.Links = lanes(fmt.Sprintf("0000:%02x:00.0", 16+(i^1)), RemoteGPU, 4)
		s.Devices = append(s.Devices, d)
	}
	recs, _ := Discover(s, Options{})
	want := [][]int32{{-1, 4, 0, 0}, {4, -1, 0, 0}, {0, 0, -1, 4}, {0, 0, 4, -1}}
	for i := range recs {
		if diff := cmp.Diff(want[i], recs[i].Links); diff != "" {
			t.Errorf("GPU %d: mismatch (-want +got)\n%s", i, diff)
		}
		s.Devices[i].Links = lanes("0000:05:00.0", RemoteSwitch, 18)
	}
	if recs, _ = Discover(s, Options{}); cmp.Diff([]int32{0, 0, -1, 0}, recs[2].Links) != "" {
		t.Errorf("behind a switch: %v, want zeros", recs[2].Links)
	}
}

// TestDiscoverLost are the cases 13 to 15: what is left leads to a drain.
func TestDiscoverLost(t *testing.T) {
	s := &Snapshot{}
	for i := range 4 {
		s.Devices = append(s.Devices, plain(i, "a30"))
	}
	s.Devices[1].Err = GPUIsLost
	recs, probs := Discover(s, Options{})
	if len(recs) != 3 || len(probs) != 1 || !errors.Is(probs[0], GPUIsLost) {
		t.Fatalf("Discover = %d records, %v", len(recs), probs)
	}
	conf := []gres.ConfGRES{{Name: "gpu", Count: 4}}
	merged, _ := gres.MergeNode(conf, nil, recs, true)
	node := gres.NodeConf{Name: "n", GRES: conf, Types: []string{"gpu"}, Shape: gres.ShapeConfig{Sockets: 1, CoresPerSocket: 1}}
	_, mp := node.Groups(gres.NewDeviceTable(), merged)
	if len(mp) == 0 || !strings.Contains(mp[0].Reason(), "gres/gpu count reported lower than configured (3 < 4)") {
		t.Errorf("the controller says %v", mp)
	}
	s.Devices[1].Err, s.Devices[0].Minor = nil, -1
	if recs, probs = Discover(s, Options{}); len(recs) != 3 || !errors.Is(probs[0], ErrNoMinor) {
		t.Errorf("without a minor number: %d records, %v", len(recs), probs)
	}
}

// TestDiscoverMIG are the cases 16 to 22.
func TestDiscoverMIG(t *testing.T) {
	minors, err := ParseMIGMinors("gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\ngpu0/gi2/access 21\ngpu0/gi2/ci0/access 22\n")
	if err != nil {
		t.Fatal(err)
	}
	d := plain(0, "NVIDIA A100-SXM4-40GB")
	d.MIG = MIGState{Supported: true, Current: true}
	d.Instances = []Instance{
		{GPUInstance: 1, Name: "NVIDIA A100-SXM4-40GB MIG 3g.20gb", UUID: "MIG-x"},
		{GPUInstance: 2, Name: "no profile", UUID: "MIG-y", GPUSlices: 2, ComputeSlices: 1, MemoryMB: 9856},
	}
	for driver, ids := range map[string][2]string{
		"470.42.01": {"MIG-x", "MIG-y"},
		"535.1":     {"MIG-x", "MIG-y"},
		"460.32":    {"MIG-GPU-0/1/0", "MIG-GPU-0/2/0"},
		"470.42":    {"MIG-GPU-0/1/0", "MIG-GPU-0/2/0"},
	} {
		recs, probs := Discover(&Snapshot{Driver: driver, Devices: []Device{d}}, Options{Minors: minors})
		if len(recs) != 2 || len(probs) > 0 {
			t.Fatalf("driver %s: %+v %v", driver, recs, probs)
		}
		if recs[0].Type != "nvidia_a100_3g.20gb" || recs[1].Type != "nvidia_a100_1c.2g.10gb" || recs[0].Links != nil || !recs[0].Multiple {
			t.Errorf("records %+v", recs)
		}
		if got := strings.Join(recs[0].Files, ","); got != "/dev/nvidia0,/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap13" {
			t.Errorf("files %s", got)
		}
		if recs[0].UUID != ids[0] || recs[1].UUID != ids[1] || recs[0].Flags&gres.RecordEnvUUID == 0 {
			t.Errorf("driver %s: ids %q %q, want %v", driver, recs[0].UUID, recs[1].UUID, ids)
		}
	}
	for name, change := range map[string]func(*Device){
		"21 no instances": func(d *Device) { d.Instances = nil },
		"22 pending only": func(d *Device) { d.MIG.Current, d.MIG.Pending = false, true },
	} {
		d := d
		change(&d)
		recs, probs := Discover(&Snapshot{Devices: []Device{d}}, Options{Minors: minors})
		if len(recs) != 1 || recs[0].Type != "nvidia_a100-sxm4-40gb" || (len(probs) == 1) != strings.HasPrefix(name, "21") {
			t.Errorf("%s: %+v %v", name, recs, probs)
		}
	}
}

// TestDiscoverMerge are the cases 23 to 28: detected devices meet a
// configuration.
func TestDiscoverMerge(t *testing.T) {
	detect := func(names ...string) []gres.Record {
		s := &Snapshot{}
		for i, n := range names {
			s.Devices = append(s.Devices, plain(i, n))
		}
		recs, _ := Discover(s, Options{})
		return recs
	}
	spell := func(recs []gres.Record) string {
		var all []string
		for _, r := range recs {
			all = append(all, fmt.Sprintf("%s=%s", r.Type, strings.TrimPrefix(r.Files[0], "/dev/nvidia")))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name, conf string
		lines      []gres.Record
		detected   []gres.Record
		want       string
	}{
		{"23 prefix of each other", "gpu:k20m:1,gpu:k20m1:1", nil, detect("Tesla K20m1", "Tesla K20m"), "k20m1=0 k20m=1"},
		{"24 more than asked", "gpu:p100:1", nil, detect("P100", "P100", "P100", "P100", "P100", "P100"), "p100=0"},
		{"25 substrings", "gpu:k20:2,gpu:k20m:2", nil, detect("k20m", "k20m", "k20m", "k20", "k20"), "k20m=0 k20m=1 k20=2 k20=3"},
		{"26 no types", "gpu:4", nil, detect("a", "b", "c", "d"), "=0 =1 =2 =3"},
		{"28 an extra file", "gpu:2", []gres.Record{{Name: "gpu", Count: 1, Files: []string{"/dev/nvidia9"}}}, detect("a"), "=9"},
	} {
		conf, err := gres.ParseNodeGRES(c.conf)
		if err != nil {
			t.Fatal(err)
		}
		merged, _ := gres.MergeNode(conf, c.lines, c.detected, true)
		if got := spell(merged); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func procTree() fstest.MapFS {
	info := func(model, uuid, minor, excluded string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("Model: \t\t " + model + "\nIRQ:   \t\t 33\nGPU UUID: \t " + uuid +
			"\nBus Location: \t 0000:xx:00.0\nDevice Minor: \t " + minor + "\nGPU Excluded:\t " + excluded + "\n")}
	}
	return fstest.MapFS{
		"driver/nvidia/version":                       {Data: []byte("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\n")},
		"driver/nvidia/gpus/0000:18:00.0/information": info("NVIDIA H100 80GB HBM3", "GPU-1", "1", "No"),
		"driver/nvidia/gpus/0000:2a:00.0/information": info("NVIDIA H100 80GB HBM3", "GPU-????????-????", "0", "No"),
		"driver/nvidia/gpus/0000:3a:00.0/information": info("NVIDIA H100 80GB HBM3", "GPU-3", "2", "Yes"),
	}
}

// TestKernel is the source "nvidia", and case 29: what full uses without the
// library.
func TestKernel(t *testing.T) {
	sys := fstest.MapFS{
		"bus/pci/devices/0000:18:00.0/local_cpulist": {Data: []byte("0-7\n")},
		"bus/pci/devices/0000:18:00.0/numa_node":     {Data: []byte("0\n")},
		"bus/pci/devices/0000:2a:00.0/numa_node":     {Data: []byte("-1\n")},
	}
	s, used, err := Detect(DetectFull, absentLibrary{}, Kernel{Proc: procTree(), Sys: sys})
	if err != nil || used != "nvidia" || len(s.Devices) != 2 || s.Driver != "550.54.15" {
		t.Fatalf("Detect = %+v, %q, %v", s, used, err)
	}
	recs, probs := Discover(s, Options{Machine: nodeN(1)})
	if len(probs) > 0 || recs[0].Files[0] != "/dev/nvidia1" || recs[1].Files[0] != "/dev/nvidia0" ||
		cmp.Diff([]uint64{0xff}, recs[0].Cores) != "" || recs[1].Cores != nil || recs[1].UUID != "" {
		t.Errorf("records %+v %v", recs, probs)
	}
	if _, err := (Kernel{Proc: fstest.MapFS{}, Sys: sys}).Snapshot(); !errors.Is(err, ErrNoDriver) {
		t.Errorf("without a driver: %v, want ErrNoDriver", err)
	}
	empty := fstest.MapFS{"driver/nvidia/gpus": {Mode: 0o755 | 1<<31}}
	if s, err := (Kernel{Proc: empty, Sys: sys}).Snapshot(); err != nil || len(s.Devices) != 0 {
		t.Errorf("without GPUs: %v %v, want no devices", s, err)
	}
	bad := procTree()
	bad["driver/nvidia/gpus/0000:18:00.0/information"] = &fstest.MapFile{Data: []byte("Device Minor: many\n")}
	if _, err := (Kernel{Proc: bad, Sys: sys}).Snapshot(); !errors.Is(err, ErrSyntax) {
		t.Errorf("a bad minor number: %v", err)
	}
}

// absentLibrary is NVML on a machine without it.
type absentLibrary struct{}

func (absentLibrary) Name() string { return "nvml" }
func (absentLibrary) Snapshot() (*Snapshot, error) {
	return nil, fmt.Errorf("dlopen: %w", ErrNoLibrary)
}

// ownSource is a maker's library that a program brings.
type ownSource struct {
	name string
	err  error
}

func (o ownSource) Name() string { return o.name }
func (o ownSource) Snapshot() (*Snapshot, error) {
	return &Snapshot{Devices: []Device{plain(0, o.name)}}, o.err
}

func TestDetect(t *testing.T) {
	boom := errors.New("boom")
	oneapi, nrt := ownSource{"oneapi", nil}, ownSource{"nrt", nil}
	for _, c := range []struct {
		text    string
		sources []Source
		used    string
		err     error
	}{
		{"full", []Source{nrt, oneapi, absentLibrary{}}, "oneapi", nil},
		{"NRT", []Source{nrt, oneapi}, "nrt", nil},
		{"nvml", []Source{absentLibrary{}, nrt}, "", nil},
		{"off", []Source{nrt}, "", nil},
		{"oneapi,nrt", []Source{nrt, ownSource{"oneapi", boom}}, "nrt", nil},
		{"oneapi", []Source{ownSource{"oneapi", boom}}, "", boom},
	} {
		a, err := ParseAutoDetect(c.text)
		if err != nil {
			t.Fatal(err)
		}
		s, used, err := Detect(a, c.sources...)
		if used != c.used || !errors.Is(err, c.err) || (len(s.Devices) > 0) != (c.used != "") {
			t.Errorf("Detect(%v) = %d devices, %q, %v, want %q, %v", a, len(s.Devices), used, err, c.used, c.err)
		}
	}
	if _, err := ParseAutoDetect("cuda"); !errors.Is(err, ErrAutoDetect) {
		t.Errorf("ParseAutoDetect(cuda) = %v", err)
	}
	// Case 30: off on the node beats the global value.
	for _, c := range []struct {
		local []AutoDetect
		want  AutoDetect
		err   error
	}{{nil, DetectNVML, nil}, {[]AutoDetect{DetectOff, DetectOff}, DetectOff, nil}, {[]AutoDetect{DetectOff, DetectNVML}, 0, ErrAutoDetectConflict}} {
		if a, err := NodeAutoDetect(DetectNVML, c.local); a != c.want || err != c.err {
			t.Errorf("NodeAutoDetect(%v) = %v, %v, want %v, %v", c.local, a, err, c.want, c.err)
		}
	}
	if a, _ := ParseAutoDetect("NVML,rsmi"); a.String() != "nvml,rsmi" {
		t.Errorf("String = %q", a.String())
	}
}

func TestAMD(t *testing.T) {
	sys := fstest.MapFS{}
	file := func(name, text string) { sys[name] = &fstest.MapFile{Data: []byte(text)} }
	node := func(i int, text string) { file(fmt.Sprintf("%s/%d/properties", kfdNodes, i), text) }
	node(0, "cpu_cores_count 64\nsimd_count 0\n")
	node(1, "simd_count 1216\nvendor_id 4098\nlocation_id 34048\ndomain 0\ndrm_render_minor 129\n")
	node(2, "simd_count 1216\nvendor_id 4098\nlocation_id 1280\ndomain 0\ndrm_render_minor 128\n")
	file(kfdNodes+"/1/name", "ip discovery\n")
	file(kfdNodes+"/1/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\n")
	file(kfdNodes+"/1/io_links/1/properties", "type 11\nnode_from 1\nnode_to 2\n")
	file(kfdNodes+"/2/io_links/1/properties", "type 11\nnode_from 2\nnode_to 1\n")
	file("bus/pci/devices/0000:05:00.0/product_name", "AMD Instinct MI300X\n")
	file("bus/pci/devices/0000:05:00.0/unique_id", "91c1e2a\n")
	file("bus/pci/devices/0000:05:00.0/mem_info_vram_total", "206141652992\n")
	file("bus/pci/devices/0000:05:00.0/local_cpulist", "0-7\n")
	file("module/amdgpu/version", "6.7.0\n")
	s, used, err := Detect(DetectRSMI, AMD{sys})
	if err != nil || used != "rsmi" {
		t.Fatalf("Detect = %q, %v", used, err)
	}
	recs, probs := Discover(s, Options{Machine: nodeN(1), Flags: gres.RecordEnvAMD})
	want := []gres.Record{
		{Name: "gpu", Type: "amd_instinct_mi300x", Count: 1, Files: []string{"/dev/dri/renderD128"}, Cores: []uint64{0xff}, Links: []int32{-1, 1}, Flags: gres.RecordEnvAMD, Detected: true, UUID: "GPU-91c1e2a"},
		{Name: "gpu", Type: "ip_discovery", Count: 1, Files: []string{"/dev/dri/renderD129"}, Links: []int32{1, -1}, Flags: gres.RecordEnvAMD, Detected: true},
	}
	if diff := cmp.Diff(want, recs); diff != "" || len(probs) > 0 || s.Devices[0].Memory>>30 != 191 || s.Driver != "6.7.0" {
		t.Errorf("mismatch (-want +got)\n%s%v %+v", diff, probs, s)
	}
	if _, err := (AMD{fstest.MapFS{}}).Snapshot(); !errors.Is(err, ErrNoDriver) {
		t.Errorf("without a driver: %v", err)
	}
}

func TestParseEmulation(t *testing.T) {
	recs, err := ParseEmulation("# two\n(null)|16|0-7|-1,2|/dev/nvidia0\ntesla|16|(null)|(null)|/dev/nvidia1|GPU-9|nvidia_gpu_env\n")
	want := []gres.Record{
		{Name: "gpu", Count: 1, Files: []string{"/dev/nvidia0"}, Cores: []uint64{0xff}, Links: []int32{-1, 2}, Detected: true},
		{Name: "gpu", Type: "tesla", Count: 1, Files: []string{"/dev/nvidia1"}, Flags: gres.RecordEnvNVIDIA, Detected: true, UUID: "GPU-9"},
	}
	if diff := cmp.Diff(want, recs); err != nil || diff != "" {
		t.Errorf("ParseEmulation: %v (-want +got)\n%s", err, diff)
	}
	for _, text := range []string{"a|b", "a|16|x|(null)|f", "a|16|0|z|f", "a|1|0|(null)|f|u|no_gpu_env,amd_gpu_env"} {
		if _, err := ParseEmulation(text); err == nil {
			t.Errorf("ParseEmulation(%q) is accepted", text)
		} else if _, ok := errors.AsType[*ParseError](err); !ok {
			t.Errorf("ParseEmulation(%q) = %v, want a ParseError", text, err)
		}
	}
}

func TestMachineAndFallen(t *testing.T) {
	m := &topology.Machine{
		Memory: []topology.MachineMemory{{ID: 0}},
		GPUs:   []topology.MachineGPU{{BusID: "0000:10:00.0", Switch: 4, Memory: 0}, {BusID: "0000:11:00.0", Switch: 4, Memory: 0}, {BusID: "0000:99:00.0", Memory: -1, Switch: -1}},
		NICs:   []topology.MachineNIC{{Name: "mlx5_0", Memory: -1}},
	}
	for i := range 3 {
		for j := range 3 {
			w := topology.Wire{Class: topology.PathPIX}
			if i == j {
				w = topology.Wire{}
			}
			m.GPUWires = append(m.GPUWires, w)
		}
		m.NICWires = append(m.NICWires, topology.Wire{Class: topology.PathPXB})
	}
	s := &Snapshot{Devices: []Device{plain(0, "a"), plain(1, "b")}}
	out := Machine(m, s)
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(out.GPUs) != 2 || out.GPUs[1].UUID != "GPU-1" || out.GPUs[1].Switch != 4 || out.GPUWire(0, 1).Class != topology.PathPIX || out.NICWire(1, 0).Class != topology.PathPXB {
		t.Errorf("machine %+v", out)
	}
	if got := AppendFallen(nil, m, s); cmp.Diff([]string{"0000:99:00.0"}, got) != "" {
		t.Errorf("fallen %v", got)
	}
	s.Devices[1].Err = GPUIsLost
	if got := AppendFallen(nil, m, s); len(got) != 2 {
		t.Errorf("fallen %v, want the lost one too", got)
	}
}

func TestAppendChanges(t *testing.T) {
	ok, bad := Health{Index: 0}, Health{Index: 0, ECCErrors: 1}
	for name, c := range map[string]struct {
		before, after []Health
		want          int
	}{
		"first reading, well":  {nil, []Health{ok}, 0},
		"first reading, fault": {nil, []Health{bad}, 1},
		"nothing new":          {[]Health{bad}, []Health{bad}, 0},
		"a fault":              {[]Health{ok}, []Health{bad}, 1},
		"gone":                 {[]Health{bad}, nil, 1},
	} {
		if got := AppendChanges(nil, c.before, c.after); len(got) != c.want {
			t.Errorf("%s: %v, want %d changes", name, got, c.want)
		}
	}
	for xid, want := range map[uint64]bool{0: true, 31: true, 79: false} {
		if h := (Health{XID: xid}); h.OK() != want {
			t.Errorf("XID %d: OK = %v", xid, h.OK())
		}
	}
}

func TestReturn(t *testing.T) {
	for r := range Return(30) {
		if !strings.HasPrefix(r.Error(), "nvml: ") {
			t.Errorf("%d: %q", r, r.Error())
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", DriverNotLoaded), ErrNoDriver) || errors.Is(GPUIsLost, ErrNoDriver) {
		t.Error("ErrNoDriver matches the wrong results")
	}
}

func ExampleDiscover() {
	s := &Snapshot{Devices: []Device{{Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-5f", Minor: 2, CPUs: []uint64{0xff}, CPUKnown: true}}}
	recs, _ := Discover(s, Options{Machine: nodeN(1)})
	fmt.Println(recs[0].Type, recs[0].Files[0], string(topology.AppendCPUList(nil, recs[0].Cores)))
	// Output: nvidia_h100_80gb_hbm3 /dev/nvidia2 0-7
}
