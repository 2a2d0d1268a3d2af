package bind

import (
	"strings"
	"testing"

	"github.com/berth-sched/berth/topology"
)

func spellMasks(m *Masks) string {
	var all []string
	for _, mask := range m.Tasks() {
		all = append(all, string(topology.AppendCPUList(nil, mask)))
	}
	return strings.Join(all, " ")
}

// TestLayCPUs has the cases 35 to 37 of specification bind.md and its text.
func TestLayCPUs(t *testing.T) {
	e := CPUShape{Sockets: 2, Cores: 4, Threads: 1}
	a := CPUShape{Sockets: 2, Cores: 4, Threads: 2}
	b := CPUShape{Sockets: 2, Cores: 4, Threads: 2, Schedulable: 1}
	numa := CPUShape{Sockets: 2, Cores: 4, Threads: 1, MemoryNode: []int32{0, 0, 1, 1, 2, 2, 3, 3}}
	for _, c := range []struct {
		name  string
		s     CPUShape
		alloc string
		req   CPURequest
		bind  string
		want  string
	}{
		{"35 cyclic", e, "0-7", CPURequest{Tasks: 4}, "threads", "0 4 1 5"},
		{"35 block", e, "0-7", CPURequest{Tasks: 4, Distribution: SocketBlock}, "threads", "0 1 2 3"},
		{"default block", e, "0-7", CPURequest{Tasks: 4, BlockByDefault: true}, "threads", "0 1 2 3"},
		{"block c=2", e, "0-7", CPURequest{Tasks: 4, CPUsPerTask: 2, Distribution: SocketBlock}, "threads", "0-1 2-3 4-5 6-7"},
		{"cyclic c=2", e, "0-7", CPURequest{Tasks: 4, CPUsPerTask: 2}, "threads", "0-1 4-5 2-3 6-7"},
		{"36 fcyclic c=2", e, "0-7", CPURequest{Tasks: 4, CPUsPerTask: 2, Distribution: SocketFCyclic}, "threads", "0,4 1,5 2,6 3,7"},
		{"37 whole cores", a, "0-15", CPURequest{Tasks: 8}, "", "0-1 8-9 2-3 10-11 4-5 12-13 6-7 14-15"},
		{"whole sockets", a, "0-15", CPURequest{Tasks: 2}, "", "0-7 8-15"},
		{"all threads", a, "0-3", CPURequest{Tasks: 4}, "", "0 1 2 3"},
		{"no match", e, "0-7", CPURequest{Tasks: 3}, "", "0-7 0-7 0-7"},
		{"autobind", e, "0-7", CPURequest{Tasks: 3, AutoBind: WidthCores}, "", "0 4 1"},
		{"none", e, "0-3", CPURequest{Tasks: 2}, "none", "0-3 0-3"},
		{"cores of one thread", b, "0-15", CPURequest{Tasks: 8}, "", "0-1 8-9 2-3 10-11 4-5 12-13 6-7 14-15"},
		{"sockets, part allocated", e, "0-2,4-6", CPURequest{Tasks: 3}, "sockets", "0-2 4-6 0-2"},
		{"ldoms", numa, "0-7", CPURequest{Tasks: 4}, "ldoms", "0-1 4-5 0-1 4-5"},
		{"ntasks-per-core", a, "0-15", CPURequest{Tasks: 4, TasksPerCore: 1, Distribution: SocketBlock}, "threads", "0 2 4 6"},
		{"ntasks-per-socket", e, "0-7", CPURequest{Tasks: 4, TasksPerSocket: 2, Distribution: SocketBlock}, "threads", "0 1 4 5"},
		{"ntasks-per-socket, again", e, "0-7", CPURequest{Tasks: 3, TasksPerSocket: 1, Distribution: SocketBlock}, "threads", "0 4 0"},
		{"threads-per-core", a, "0-15", CPURequest{Tasks: 4, ThreadsPerCore: 1, Distribution: SocketBlock}, "threads", "0 2 4 6"},
		{"c shrinks", e, "0-7", CPURequest{Tasks: 3, CPUsPerTask: 4, Distribution: SocketBlock}, "threads", "0-1 2-3 4-5"},
		{"too few", e, "0-1", CPURequest{Tasks: 3}, "threads", "More processors requested than permitted"},
		{"overcommit", e, "0-1", CPURequest{Tasks: 3, Overcommit: true}, "threads", "0-1 0-1 0-1"},
		{"map", e, "0-7", CPURequest{Tasks: 3}, "map_cpu:7,2", "7 2 7"},
		{"map outside", e, "0-3", CPURequest{Tasks: 3}, "map_cpu:7", "CPU binding outside of job step allocation"},
		{"mask", e, "0-7", CPURequest{Tasks: 2}, "mask_cpu:0x3,c0", "0-1 6-7"},
		{"rank_ldom", numa, "0-7", CPURequest{Tasks: 5, WholeNode: true}, "rank_ldom", "0-1 2-3 4-5 6-7 0-1"},
		{"rank_ldom, part", numa, "0-6", CPURequest{Tasks: 2}, "rank_ldom", "Unable to satisfy cpu bind request"},
		{"map_ldom", numa, "0-7", CPURequest{Tasks: 2, WholeNode: true}, "map_ldom:3,0", "6-7 0-1"},
		{"mask_ldom", numa, "0-7", CPURequest{Tasks: 2, WholeNode: true}, "mask_ldom:3,0x8", "0-3 6-7"},
		{"socket used up", e, "0,4-7", CPURequest{Tasks: 5}, "threads", "0 4 5 6 7"},
		{"fewer places", e, "0-4", CPURequest{Tasks: 2, CPUsPerTask: 2}, "threads", "0-1 2,4"},
	} {
		if c.bind != "" {
			var err error
			if c.req.Bind, err = ParseCPUBind(c.bind); err != nil {
				t.Fatal(err)
			}
		}
		var l CPULayer
		var m Masks
		got := ""
		if why := l.Lay(&m, &c.s, cpuBits(c.alloc), &c.req); why != Accepted {
			got = why.String()
		} else {
			got = spellMasks(&m)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseCPUBind(t *testing.T) {
	for text, want := range map[string]string{
		"verbose":               "verbose",
		"quiet,cores":           "quiet,cores",
		"Verbose,map_cpu:0,2*2": "verbose,map_cpu:0,2*2",
		"mask_cpu:f,f0":         "mask_cpu:0xf,0xf0",
		"rank_ldom":             "rank_ldom",
		"threads":               "threads",
		"mask_ldom:1*2":         "mask_ldom:0x1*2",
	} {
		b, err := ParseCPUBind(text)
		if got := string(b.Append(nil)); err != nil || got != want {
			t.Errorf("ParseCPUBind(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for text, at := range map[string]int{"": 0, "foo": 0, "cores:1": 5, "map_cpu": 7, "map_cpu:x": 8, "verbose,quiet": 8} {
		_, err := ParseCPUBind(text)
		if e, ok := err.(*ParseError); !ok || e.Offset != at {
			t.Errorf("ParseCPUBind(%q) = %v, want an error at %d", text, err, at)
		}
	}
}

func TestAppendMachine(t *testing.T) {
	// Hyperthreads of core k are k and k+4 to the kernel.
	machine := []int32{0, 4, 1, 5, 2, 6, 3, 7}
	got := AppendMachine(nil, cpuBits("0-3"), machine)
	if s := string(topology.AppendCPUList(nil, got)); s != "0-1,4-5" {
		t.Errorf("AppendMachine = %s, want 0-1,4-5", s)
	}
}
