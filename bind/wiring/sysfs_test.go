package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/topology"
)

// sysTree is a machine of two sockets with two cores of two threads each, and
// two PCIe switches on the first root bus of each socket: GPU, GPU and NIC
// under the first, a GPU under each other.
func sysTree() fstest.MapFS {
	t := fstest.MapFS{}
	file := func(name, text string) { t[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	link := func(name, to string) { t[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777} }
	file("devices/system/cpu/online", "0-7")
	for cpu := range 8 {
		dir := fmt.Sprintf("devices/system/cpu/cpu%d/topology/", cpu)
		file(dir+"core_cpus_list", fmt.Sprintf("%d,%d", cpu%4, cpu%4+4))
		file(dir+"physical_package_id", fmt.Sprint(cpu%4/2*3))
		file(dir+"core_id", fmt.Sprint(cpu%2))
	}
	file("devices/system/node/online", "0-1")
	for node := range 2 {
		dir := fmt.Sprintf("devices/system/node/node%d/", node)
		file(dir+"cpulist", []string{"0-1,4-5", "2-3,6-7"}[node])
		file(dir+"distance", []string{"10 21", "21 10"}[node])
		file(dir+"meminfo", fmt.Sprintf("Node %d MemTotal:       1048576 kB\nNode %d MemFree:        1 kB", node, node))
	}
	device := func(path, vendor, class string, node int) {
		addr := path[strings.LastIndexByte(path, '/')+1:]
		dir := "bus/pci/devices/" + addr
		link(dir, "../../../devices/"+path)
		file("devices/"+path+"/vendor", "0x"+vendor)
		file("devices/"+path+"/class", "0x"+class)
		file("devices/"+path+"/numa_node", fmt.Sprint(node))
		file("devices/"+path+"/local_cpulist", []string{"0-7", "0-1,4-5", "2-3,6-7"}[node+1])
	}
	up0 := "pci0000:16/0000:16:01.0/0000:17:00.0/"
	up1 := "pci0000:96/0000:96:01.0/0000:97:00.0/"
	device(up0+"0000:18:00.0/0000:19:00.0", "10de", "030200", 0)
	device(up0+"0000:18:01.0/0000:1a:00.0", "10de", "030200", 0)
	device(up0+"0000:18:02.0/0000:1b:00.0", "15b3", "020700", 0)
	device("pci0000:16/0000:16:02.0/0000:20:00.0", "10de", "030200", 0)
	device(up1+"0000:98:00.0/0000:99:00.0", "1002", "120000", 1)
	device("pci0000:00/0000:00:1f.0", "1a03", "030000", -1) // a BMC's graphics
	device("pci0000:00/0000:00:03.0", "1af4", "020000", -1)
	link("class/infiniband/mlx5_0", "../../devices/"+up0+"0000:18:02.0/0000:1b:00.0/infiniband/mlx5_0")
	link("class/net/ib0", "../../devices/"+up0+"0000:18:02.0/0000:1b:00.0/net/ib0")
	link("class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0")
	link("class/net/lo", "../../devices/virtual/net/lo")
	file("class/net/bonding_masters", "")
	return t
}

func TestSysfs(t *testing.T) {
	m, err := Sysfs(sysTree())
	if err != nil {
		t.Fatal(err)
	}
	var cpus []string
	for _, c := range m.CPUs {
		cpus = append(cpus, fmt.Sprintf("%d:s%dc%dn%d", c.ID, c.Socket, c.Core, c.Memory))
	}
	if got, want := strings.Join(cpus, " "), "0:s0c0n0 1:s0c1n0 2:s1c2n1 3:s1c3n1 4:s0c0n0 5:s0c1n0 6:s1c2n1 7:s1c3n1"; got != want {
		t.Errorf("CPUs %s, want %s", got, want)
	}
	want := []topology.MachineMemory{
		{ID: 0, CPUs: []uint64{0x33}, Bytes: 1 << 30, Distance: []int32{10, 21}},
		{ID: 1, CPUs: []uint64{0xcc}, Bytes: 1 << 30, Distance: []int32{21, 10}},
	}
	if diff := cmp.Diff(want, m.Memory); diff != "" {
		t.Errorf("memory mismatch (-want +got)\n%s", diff)
	}
	if got, want := string(AppendTopo(nil, m)), `	GPU0	GPU1	GPU2	GPU3	NIC0	NIC1	CPU Affinity	NUMA Affinity
GPU0	X	PIX	PHB	SYS	NODE	PIX	0-1,4-5	0
GPU1	PIX	X	PHB	SYS	NODE	PIX	0-1,4-5	0
GPU2	PHB	PHB	X	SYS	NODE	PHB	0-1,4-5	0
GPU3	SYS	SYS	SYS	X	NODE	SYS	2-3,6-7	1

NIC Legend:

  NIC0: eth0
  NIC1: mlx5_0
`; got != want {
		t.Errorf("wires mismatch (-want +got)\n%s", cmp.Diff(want, got))
	}
	var seats []string
	for _, g := range m.GPUs {
		seats = append(seats, fmt.Sprintf("%s sw%d", g.BusID, g.Switch))
	}
	if got, want := strings.Join(seats, ", "), "0000:19:00.0 sw0, 0000:1a:00.0 sw0, 0000:20:00.0 sw-1, 0000:99:00.0 sw1"; got != want {
		t.Errorf("GPUs %s, want %s", got, want)
	}
}

func TestSysfsWithoutNUMA(t *testing.T) {
	tree := sysTree()
	for name := range tree {
		if strings.HasPrefix(name, "devices/system/node") {
			delete(tree, name)
		}
	}
	m, err := Sysfs(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Memory) != 1 || m.GPUs[0].Memory != 0 || m.CPUs[7].Memory != 0 {
		t.Errorf("memory %v, GPU %v", m.Memory, m.GPUs[0])
	}
}

func TestSysfsErrors(t *testing.T) {
	for file, text := range map[string]string{
		"devices/system/cpu/online":                            "0-x",
		"devices/system/node/node0/distance":                   "10 y",
		"devices/system/cpu/cpu3/topology/core_cpus_list":      "99999",
		"devices/system/node/node1/meminfo":                    "Node 1 MemTotal: lots kB",
		"devices/system/cpu/cpu0/topology/physical_package_id": "two",
	} {
		tree := sysTree()
		tree[file] = &fstest.MapFile{Data: []byte(text)}
		_, err := Sysfs(tree)
		e, ok := errors.AsType[*ParseError](err)
		if !ok || e.File != file {
			t.Errorf("Sysfs with %s = %q: %v, want an error that names the file", file, text, err)
		}
	}
	if _, err := Sysfs(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Sysfs of nothing = %v, want one that wraps fs.ErrNotExist", err)
	}
}

// TestSysfsHere reads the machine that runs the test.
func TestSysfsHere(t *testing.T) {
	if _, err := os.Stat("/sys/devices/system/cpu/online"); err != nil {
		t.Skip("no /sys here")
	}
	m, err := Sysfs(os.DirFS("/sys"))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.CPUs) == 0 {
		t.Errorf("no CPUs found")
	}
}
