package wiring

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/topology"
)

func FuzzTopo(f *testing.F) {
	f.Add(pairTopo)
	f.Add("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\tX\t0-63,100\t3\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Topo(text)
		if err != nil {
			return
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, n := range m.NICs {
			if strings.ContainsAny(n.Name, "\n\r\t\x1b") || strings.TrimSpace(n.Name) != n.Name || n.Name == "" {
				return // names that the text form cannot hold
			}
		}
		out := string(AppendTopo(nil, m))
		again, err := Topo(out)
		if err != nil {
			t.Fatalf("read again: %v\n%s", err, out)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("mismatch (-want +got)\n%s", diff)
		}
	})
}

func FuzzList(f *testing.F) {
	f.Add("GPU 0: A (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := List(text)
		if err != nil {
			return
		}
		again, err := List(string(AppendList(nil, all)))
		if diff := cmp.Diff(all, again); err != nil || diff != "" {
			t.Fatalf("read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("uuid, memory.used [MiB]\nGPU-1, 5 MiB\n")
	f.Fuzz(func(t *testing.T, text string) {
		if table, err := Query(text); err == nil {
			table.GPUs()
		}
	})
}

func FuzzHwloc(f *testing.F) {
	f.Add(`<topology version="2.0"><object type="Package"><object type="NUMANode" os_index="0" cpuset="0x3"/>` +
		`<object type="Core"><object type="PU" os_index="1"/></object><object type="Bridge" gp_index="1"><object type="PCIDev" ` +
		`gp_index="2" pci_busid="0000:18:00.0" pci_type="0302 [10de:1]"/></object></object>` +
		`<distances2 type="NUMANode" indexing="os"><indexes>0</indexes><u64values>10</u64values></distances2></topology>`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Hwloc(strings.NewReader(text))
		if err == nil && m.Validate() != nil {
			t.Fatal("accepted an inconsistent machine")
		}
	})
}

// FuzzSysfs puts any text into one file of a good tree.
func FuzzSysfs(f *testing.F) {
	f.Add("devices/system/cpu/online", "0-3")
	f.Add("devices/system/node/node0/distance", "10")
	f.Add("bus/pci/devices/0000:19:00.0", "nowhere")
	f.Fuzz(func(t *testing.T, file, text string) {
		tree := sysTree()
		old, ok := tree[file]
		if !ok {
			return
		}
		tree[file] = &fstest.MapFile{Data: []byte(text), Mode: old.Mode}
		m, err := Sysfs(tree)
		if err == nil && m.Validate() != nil {
			t.Fatal("accepted an inconsistent machine")
		}
	})
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := ParseCPUList(text)
		if err != nil {
			return
		}
		again, err := ParseCPUList(string(topology.AppendCPUList(nil, words)))
		if diff := cmp.Diff(words, again); err != nil || diff != "" {
			t.Fatalf("read again: %v (-want +got)\n%s", err, diff)
		}
	})
}
