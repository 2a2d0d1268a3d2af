package bind

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustGPUBind(t testing.TB, text string) Binding {
	t.Helper()
	b, err := ParseGPUBind(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cpuBits reads a list such as 0-3,8 into bits; "" is nil, not bound.
func cpuBits(list string) []uint64 {
	if list == "" {
		return nil
	}
	words := make([]uint64, 2)
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ok := strings.Cut(part, "-")
		if !ok {
			hi = lo
		}
		a, _ := strconv.Atoi(lo)
		b, _ := strconv.Atoi(hi)
		for i := a; i <= b; i++ {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words
}

// spell writes the devices of every task: 0,1 / 2,3, with ! for a fault.
func spell(bound *Bound, list func(pos []int32) []int32) string {
	var all []string
	for k := range bound.Tasks() {
		s := string(AppendList(nil, list(bound.Task(k))))
		if bound.Fault(k) != FaultNone {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, " / ")
}

// TestBindSpecCases are the cases 1 to 25 of specification bind.md: node P has
// sockets of cores 0-7 and 8-15, GPUs 0,1 near the first and 2,3 near the
// second. Global indices, then visible ones.
func TestBindSpecCases(t *testing.T) {
	p := [][]uint64{cpuBits("0-7"), cpuBits("0-7"), cpuBits("8-15"), cpuBits("8-15")}
	all := Devices{Index: []int32{0, 1, 2, 3}, Near: p}
	bare := Devices{Index: []int32{0, 1, 2, 3}}
	fenced := Devices{Index: []int32{0, 1, 2, 3}, Near: p, Constrained: true}
	sharing := Devices{Index: []int32{0, 1}, Near: p[:2], Constrained: true, TaskSharing: true}
	upper := Devices{Index: []int32{2, 3}, Near: p[2:], Constrained: true}
	part := Devices{Index: []int32{3}, Job: []int32{1, 3}, Constrained: true}
	for _, c := range []struct {
		name, bind string
		d          Devices
		tasks      []string
		global     string
		visible    string
	}{
		{"1 no binding", "none", all, []string{"", "", "", ""}, "0,1,2,3 / 0,1,2,3 / 0,1,2,3 / 0,1,2,3", ""},
		{"2 single:1", "single:1", all, []string{"", "", "", ""}, "0 / 1 / 2 / 3", ""},
		{"3 single:2", "single:2", all, []string{"", "", "", ""}, "0 / 0 / 1 / 1", ""},
		{"4 per_task:1", "per_task:1", all, []string{"", "", "", ""}, "0 / 1 / 2 / 3", ""},
		{"5 map", "map:0,1", all, []string{"", "", "", ""}, "0 / 1 / 0 / 1", ""},
		{"6 map repeats", "map:0*2,3*2", all, []string{"", "", "", ""}, "0 / 0 / 3 / 3", ""},
		{"7 mask", "mask:0x3,0xc", all, []string{"", "", "", ""}, "0,1 / 2,3 / 0,1 / 2,3", ""},
		{"8 map outside", "map:7", all, []string{"", "", "", ""}, "0! / 0! / 0! / 0!", ""},
		{"9 map of devices not held", "map:2,3", Devices{Index: []int32{0, 1}}, []string{"", ""}, "0! / 0!", ""},
		{"10 closest", "closest", all, []string{"0-3", "8-11"}, "0,1 / 2,3", ""},
		{"11 single, part of a socket", "single:1", all, []string{"8-11", "0-3"}, "2 / 0", ""},
		{"12 single, subsets", "single:1", all, []string{"0-7", "0-7", "8-15"}, "0 / 1 / 2", ""},
		{"13 single, socket full", "single:1", all, []string{"0-7", "0-7", "0-7"}, "0 / 1 / 2", ""},
		{"14 single, all full", "single:1", all, []string{"", "", "", "", ""}, "0 / 1 / 2 / 3 / 0", ""},
		{"15 per_task by socket", "per_task:2", all, []string{"8-15", "0-7"}, "2,3 / 0,1", ""},
		{"16 per_task, one socket", "per_task:2", all, []string{"0-7", "0-7"}, "0,1 / 2,3", ""},
		{"17 closest without affinity", "closest", bare, []string{"0-3", "8-11"}, "0,1,2,3 / 0,1,2,3", ""},
		{"closest, none near", "closest", Devices{Index: []int32{2, 3}, Near: p[2:]}, []string{"0-3"}, "2,3", ""},
		{"22 fenced single", "single:1", fenced, []string{"", "", "", ""}, "0 / 1 / 2 / 3", "0 / 0 / 0 / 0"},
		{"23 fenced per_task:2", "per_task:2", fenced, []string{"", ""}, "0,1 / 2,3", "0,1 / 0,1"},
		{"24 task sharing", "per_task:1", sharing, []string{"", ""}, "0 / 1", "0 / 1"},
		{"25 fenced map", "map:0,1", upper, []string{"", ""}, "2 / 3", "0 / 0"},
		{"H05 fenced map in the job", "map:1,0", part, []string{"", ""}, "3 / 3!", "0 / 0!"},
		{"fenced closest", "closest", fenced, []string{"8-15"}, "2,3", "0,1"},
		{"H01 single:2, 8 tasks", "single:2", all, []string{"", "", "", "", "", "", "", ""}, "0 / 0 / 1 / 1 / 2 / 2 / 3 / 3", ""},
		{"H02 map repeats", "map:0*4,1*4", all, []string{"", "", "", "", "", "", "", ""}, "0 / 0 / 0 / 0 / 1 / 1 / 1 / 1", ""},
		{"mask is hexadecimal", "mask:10,f", Devices{Index: []int32{0, 4}}, []string{"", ""}, "4 / 0", ""},
		{"mask outside", "mask:0x30", all, []string{""}, "0!", ""},
		{"per_task used up", "per_task:1", Devices{Index: []int32{0, 1}}, []string{"", "", "", ""}, "0 / 1 / 0! / 0!", ""},
		{"empty map", "map:", all, []string{""}, "0!", ""},
		{"no devices", "single:1", Devices{}, []string{"", ""}, " / ", ""},
	} {
		var masks [][]uint64
		for _, m := range c.tasks {
			masks = append(masks, cpuBits(m))
		}
		b := mustGPUBind(t, c.bind)
		var r Binder
		var bound Bound
		r.Bind(&bound, &b, &c.d, masks)
		got := spell(&bound, func(pos []int32) []int32 { return c.d.AppendGlobal(nil, pos) })
		if got != c.global {
			t.Errorf("%s: global %q, want %q", c.name, got, c.global)
		}
		if c.visible == "" {
			c.visible = c.global
		}
		got = spell(&bound, func(pos []int32) []int32 { return c.d.AppendVisible(nil, pos) })
		if got != c.visible {
			t.Errorf("%s: visible %q, want %q", c.name, got, c.visible)
		}
	}
}

func TestBindSharedUnits(t *testing.T) {
	near := [][]uint64{cpuBits("0-7"), cpuBits("8-15"), cpuBits("8-15")}
	for _, c := range []struct {
		units []int64
		n     string
		tasks []string
		want  string
	}{
		{[]int64{4, 4, 4}, "per_task:4", []string{"8-15", "8-15", "8-15"}, "1 / 2 / 0"},
		{[]int64{4, 2, 2}, "per_task:4", []string{"8-15"}, "0"},
		{[]int64{3, 2, 2}, "per_task:4", []string{"8-15"}, "1,2"},
		{[]int64{3, 2, 1}, "per_task:4", []string{"0-7", "0-7"}, "0,1 / 1,2"},
		{[]int64{8, 0, 0}, "per_task:2", []string{"", "", "", "", ""}, "0 / 0 / 0 / 0 / 0!"},
	} {
		d := Devices{Index: []int32{0, 1, 2}, Near: near, Units: c.units}
		var masks [][]uint64
		for _, m := range c.tasks {
			masks = append(masks, cpuBits(m))
		}
		b := mustGPUBind(t, c.n)
		var r Binder
		var bound Bound
		r.Bind(&bound, &b, &d, masks)
		if got := spell(&bound, func(pos []int32) []int32 { return d.AppendGlobal(nil, pos) }); got != c.want {
			t.Errorf("%s of %v for %v = %q, want %q", c.n, c.units, c.tasks, got, c.want)
		}
	}
}

func TestParseGPUBind(t *testing.T) {
	for text, want := range map[string]string{
		"none":                   "none",
		"closest":                "closest",
		"verbose":                "verbose,none",
		"verbose,per_task:1":     "verbose,per_task:1",
		"Verbose,Closest":        "verbose,closest",
		"single:0":               "single:0",
		"map:":                   "map:",
		"map_gpu:0,1*2":          "map:0,1*2",
		"mask:f,0x10*3":          "mask:0xf,0x10*3",
		"mask_gpu:0XFf":          "mask:0xff",
		"mask:0x1" + zeros(16):   "mask:0x1" + zeros(16),
		"mask:0000000000000000f": "mask:0xf",
	} {
		b, err := ParseGPUBind(text)
		if got := string(b.Append(nil)); err != nil || got != want {
			t.Errorf("ParseGPUBind(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]struct {
		at    int
		cause error
	}{
		"foo":             {0, ErrType},
		"":                {0, ErrType},
		"verbose,foo":     {8, ErrType},
		"closest:1":       {7, ErrSyntax},
		"single":          {6, ErrSyntax},
		"single:x":        {7, ErrSyntax},
		"per_task:0":      {9, ErrRange},
		"per_task:":       {9, ErrSyntax},
		"map":             {3, ErrSyntax},
		"map:1,":          {6, ErrSyntax},
		"map:1,x":         {6, ErrSyntax},
		"map:1*0":         {6, ErrRange},
		"mask:g":          {5, ErrSyntax},
		"mask:0x":         {7, ErrSyntax},
		"map:99999999999": {4, ErrRange},
	} {
		_, err := ParseGPUBind(text)
		e, ok := err.(*ParseError)
		if !ok || e.Offset != want.at || e.Err != want.cause || e.Text != text {
			t.Errorf("ParseGPUBind(%q) = %v, want %v at %d", text, err, want.cause, want.at)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

func TestParseTRESBind(t *testing.T) {
	text := "gres/gpu:verbose,closest+gres/nic:per_task:1+gres/shard:none"
	all, err := ParseTRESBind(text)
	if got := string(AppendTRESBind(nil, all)); err != nil || got != text {
		t.Errorf("ParseTRESBind(%q) = %q, %v", text, got, err)
	}
	for text, want := range map[string]struct {
		at    int
		cause error
	}{
		"gpu:closest":                    {0, ErrSyntax},
		"gres/gpu":                       {0, ErrSyntax},
		"gres/shard:closest":             {11, ErrShared},
		"gres/gpu:none+gres/mps:map:0":   {23, ErrShared},
		"gres/gpu:none+":                 {14, ErrSyntax},
		"gres/gpu:single:1+gres/nic:foo": {27, ErrType},
		"":                               {0, ErrSyntax},
	} {
		_, err := ParseTRESBind(text)
		e, ok := err.(*ParseError)
		if !ok || e.Offset != want.at || e.Err != want.cause || e.Text != text {
			t.Errorf("ParseTRESBind(%q) = %v, want %v at %d", text, err, want.cause, want.at)
		}
	}
}

func TestImpliedBinding(t *testing.T) {
	for _, c := range []struct {
		perTask, perGPU int32
		want            string
	}{{0, 0, "none"}, {2, 0, "per_task:2"}, {0, 2, "single:2"}} {
		b := ImpliedBinding(c.perTask, c.perGPU)
		if got := string(b.Append(nil)); got != c.want {
			t.Errorf("ImpliedBinding(%d, %d) = %q, want %q", c.perTask, c.perGPU, got, c.want)
		}
	}
}

// TestPlanSpecCases are the cases about steps: 18 to 21, 29, 32 to 34.
func TestPlanSpecCases(t *testing.T) {
	gpus := func(n int32) []TypedCount { return []TypedCount{{Type: -1, Count: n}} }
	node := func(cpus int32, devs ...int32) StepNode { return StepNode{CPUs: cpus, Devices: devs} }
	busy := node(3, 0, 1)
	busy.Held, busy.Busy = 2, []bool{true, true}
	half := busy
	half.Busy = []bool{true, false}
	typed := node(8, 0, 1, 2, 3)
	typed.Type = []int32{0, 0, 1, 1}
	for _, c := range []struct {
		name  string
		req   StepRequest
		nodes []StepNode
		why   Refusal
		tasks []int32
		devs  [][]int32
	}{
		{"18 per task", StepRequest{Tasks: 2, Task: gpus(1)}, []StepNode{node(2, 0, 1)}, Accepted, []int32{2}, [][]int32{{0, 1}}},
		{"19 two tasks a GPU", StepRequest{Tasks: 4, TasksPerGPU: 2}, []StepNode{node(4, 0, 1)}, Accepted, []int32{4}, [][]int32{{0, 1}}},
		{"20 two of four tasks", StepRequest{Tasks: 2, TasksPerGPU: 2}, []StepNode{node(4, 0, 1)}, Accepted, []int32{2}, [][]int32{{0}}},
		{"29 no devices", StepRequest{Tasks: 1, NoDevices: true}, []StepNode{node(4, 0, 1)}, Accepted, []int32{1}, [][]int32{{}}},
		{"32 typed per task", StepRequest{Tasks: 2, Task: []TypedCount{{0, 1}, {1, 1}}}, []StepNode{typed}, Accepted, []int32{2}, [][]int32{{0, 1, 2, 3}}},
		{"33 overlap", StepRequest{Tasks: 1, Node: gpus(1), Overlap: true}, []StepNode{busy}, Accepted, []int32{1}, [][]int32{{0}}},
		{"33 no overlap", StepRequest{Tasks: 1, Node: gpus(1)}, []StepNode{busy}, RefusedWait, nil, nil},
		{"34 third step waits", StepRequest{Tasks: 1, Exact: true, Node: gpus(1)}, []StepNode{busy}, RefusedWait, nil, nil},
		{"34 second step runs", StepRequest{Tasks: 1, Exact: true, Node: gpus(1)}, []StepNode{half}, Accepted, []int32{1}, [][]int32{{1}}},
		{"more than the job has", StepRequest{Tasks: 1, Job: gpus(5)}, []StepNode{node(4, 0, 1, 2, 3)}, RefusedGRES, nil, nil},
		{"wrong type", StepRequest{Tasks: 1, Node: []TypedCount{{2, 1}}}, []StepNode{typed}, RefusedGRES, nil, nil},
		{"untyped of typed", StepRequest{Tasks: 1, Node: gpus(3)}, []StepNode{typed}, Accepted, []int32{1}, [][]int32{{0, 1, 2}}},
		{"typed", StepRequest{Tasks: 1, Node: []TypedCount{{1, 1}}}, []StepNode{typed}, Accepted, []int32{1}, [][]int32{{2}}},
		{"one task, too much", StepRequest{Tasks: 1, Task: gpus(3)}, []StepNode{node(4, 0, 1)}, RefusedTaskGRES, nil, nil},
		{"too many tasks", StepRequest{Tasks: 5, TasksPerGPU: 1}, []StepNode{node(4, 0, 1)}, RefusedCPUs, nil, nil},
		{"too many nodes", StepRequest{Tasks: 5, MinNodes: 2}, []StepNode{node(4)}, RefusedNodes, nil, nil},
		{"first node full", StepRequest{Tasks: 1, MinNodes: 1, Exact: true, Node: gpus(1)}, []StepNode{busy, node(2, 3)}, Accepted, []int32{1}, [][]int32{{0}}},
		{"overcommit", StepRequest{Tasks: 5, Overcommit: true}, []StepNode{node(1), node(1)}, Accepted, []int32{4, 1}, [][]int32{{}, {}}},
	} {
		var l Layer
		var s Step
		why := l.Plan(&s, &c.req, c.nodes)
		if why != c.why {
			t.Errorf("%s: Plan = %v, want %v", c.name, why, c.why)
			continue
		}
		if why != Accepted {
			continue
		}
		devs := [][]int32{}
		for i := range int(s.Nodes) {
			devs = append(devs, append([]int32{}, s.Devices(i)...))
		}
		if !slices.Equal(s.Layout.Tasks, c.tasks) || cmp.Diff(devs, c.devs) != "" {
			t.Errorf("%s: tasks %v devices %v, want %v %v", c.name, s.Layout.Tasks, devs, c.tasks, c.devs)
		}
	}
}

func TestLayoutSpreads(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int32
		room []int32
		d    Distribution
		over bool
		want string
	}{
		{"block", 4, []int32{3, 1}, Distribution{}, false, "0,1,2 | 3"},
		{"block, one each", 3, []int32{4, 4, 4}, Distribution{}, false, "0 | 1 | 2"},
		{"cyclic", 5, []int32{2, 4}, Distribution{Spread: SpreadCyclic}, false, "0,2 | 1,3,4"},
		{"plane", 6, []int32{5, 1}, Distribution{Spread: SpreadPlane, Plane: 2}, false, "0,1,3,4,5 | 2"},
		{"plane rounds", 8, []int32{8, 8}, Distribution{Spread: SpreadPlane, Plane: 3}, false, "0,1,2,6,7 | 3,4,5"},
		{"arbitrary", 3, []int32{1, 2}, Distribution{Spread: SpreadArbitrary}, false, "0 | 1,2"},
		{"too many", 3, []int32{1, 1}, Distribution{}, false, "refused"},
		{"overcommit block", 5, []int32{1, 1}, Distribution{}, true, "0,1,2 | 3,4"},
		{"overcommit cyclic", 5, []int32{1, 1}, Distribution{Spread: SpreadCyclic}, true, "0,2,4 | 1,3"},
	} {
		var l Layout
		got := "refused"
		if l.Lay(c.n, c.room, c.d, c.over) {
			var parts []string
			for i := range c.room {
				parts = append(parts, string(AppendList(nil, l.AppendRanks(nil, i))))
			}
			got = strings.Join(parts, " | ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAppendCounts(t *testing.T) {
	for want, in := range map[string][]int32{"": nil, "4": {4}, "4(x2)": {4, 4}, "72(x2),36": {72, 72, 36}, "4,1": {4, 1}} {
		if got := string(AppendCounts(nil, in)); got != want {
			t.Errorf("AppendCounts(%v) = %q, want %q", in, got, want)
		}
	}
}
