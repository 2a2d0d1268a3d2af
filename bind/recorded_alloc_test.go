package bind_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-sched/berth/bind"
)

// A testCluster is the recorded machines: equal nodes with nothing on them.
// It allocates as specifications gres.md 10, 11 and cores.md 3, 4 say, as far
// as one job on idle nodes without links needs it.
type testCluster struct {
	names          []string
	sockets, cores int // cores per socket
	gpus           int
	typ            []int32 // by device; nil without types
	near           [][]uint64
	types          map[string]int32
	tracked        bool
}

// A testAlloc is what the job holds on a node.
type testAlloc struct {
	name    string
	cpus    []int // ascending
	gpus    []int32
	cpuHeld []bool
	gpuHeld []bool
}

func (a *testAlloc) holdCPU(k int) {
	for i := range a.cpuHeld {
		if !a.cpuHeld[i] {
			if k == 0 {
				a.cpuHeld[i] = true
				return
			}
			k--
		}
	}
}

func parseCluster(t *testing.T, slurmConf, gresConf string) *testCluster {
	t.Helper()
	cl := &testCluster{types: map[string]int32{}}
	for line := range strings.SplitSeq(slurmConf, "\n") {
		if !strings.HasPrefix(line, "NodeName=") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			key, val, _ := strings.Cut(word, "=")
			switch key {
			case "NodeName":
				prefix, span, _ := strings.Cut(strings.TrimSuffix(val, "]"), "[")
				for _, i := range parseSpan(span) {
					cl.names = append(cl.names, prefix+strconv.Itoa(i))
				}
			case "SocketsPerBoard":
				cl.sockets = int(atoi(val))
			case "CoresPerSocket":
				cl.cores = int(atoi(val))
			}
		}
	}
	for line := range strings.SplitSeq(gresConf, "\n") {
		var near []uint64
		typ, files := int32(-1), 0
		for word := range strings.FieldsSeq(line) {
			key, val, _ := strings.Cut(word, "=")
			switch key {
			case "Cores":
				cl.tracked = true
				near = []uint64{0}
				for _, i := range parseSpan(val) {
					near[0] |= 1 << i
				}
			case "Type":
				cl.tracked = true
				if _, ok := cl.types[val]; !ok {
					cl.types[val] = int32(len(cl.types))
				}
				typ = cl.types[val]
			case "File":
				_, span, _ := strings.Cut(strings.TrimSuffix(val, "]"), "[")
				files = len(parseSpan(span))
			}
		}
		for range files {
			cl.near = append(cl.near, near)
			cl.typ = append(cl.typ, typ)
			cl.gpus++
		}
	}
	return cl
}

func parseSpan(s string) (all []int) {
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		for i := atoi(lo); i <= atoi(hi); i++ {
			all = append(all, int(i))
		}
	}
	return all
}

func (cl *testCluster) counts(s string, asked bool) []bind.TypedCount {
	var all []bind.TypedCount
	for part := range strings.SplitSeq(s, ",") {
		typ, n := int32(-1), part
		if name, count, ok := strings.Cut(strings.TrimPrefix(part, "gpu:"), ":"); ok {
			if id, known := cl.types[name]; known {
				typ, n = id, count
			}
		} else {
			n = strings.TrimPrefix(part, "gpu:")
		}
		if asked {
			all = append(all, bind.TypedCount{Type: typ, Count: atoi(n)})
		}
	}
	return all
}

// derive fills the numbers that follow from others (gres.md 7.3).
func (o *options) derive() (n, nodes, perJob int32) {
	n, perJob = o.n, sum(o.job)
	perTask, g := sum(o.task), o.tasksPerGPU
	switch {
	case g > 0 && perJob > 0:
		n = perJob * g
	case g > 0 && n > 0:
		perJob = n / g
	case perTask > 0 && perJob > 0:
		n = perJob / perTask
	}
	if n == 0 {
		n = max(o.N, 1)
	}
	if perTask > 0 {
		perJob = n * perTask
	}
	return n, o.N, perJob
}

// allocate gives the job its nodes; the recorded jobs all fit.
func (cl *testCluster) allocate(o *options) []*testAlloc {
	n, fixed, perJob := o.derive()
	c := max(o.c, 1)
	left := n
	granted := int32(0)
	var nodes []*testAlloc
	for i := 0; left > 0 && i < len(cl.names); i++ {
		later := max(fixed-int32(i)-1, 0)
		room, gpus := cl.room(o, n, c, perJob, max(fixed-1, 0))
		tasks := min(room, left-later)
		a := &testAlloc{name: cl.names[i]}
		cores := cl.candidates(int(room*c), int(gpus))
		a.cpus = cyclic(cores, int(tasks*c), int(c), cl)
		switch {
		case sum(o.node) > 0:
			gpus = sum(o.node)
		case sum(o.task) > 0:
			gpus = tasks * sum(o.task)
		case perJob > 0:
			gpus = min(gpus, perJob-granted)
		}
		a.gpus = cl.devices(o, a.cpus, int(gpus), int(c), int(tasks))
		granted += gpus
		a.cpuHeld, a.gpuHeld = make([]bool, len(a.cpus)), make([]bool, len(a.gpus))
		nodes = append(nodes, a)
		left -= tasks
	}
	return nodes
}

// room returns the tasks and GPUs that an idle node offers; all nodes are asked
// before any is taken (gres.md 8, 10, 11.1).
func (cl *testCluster) room(o *options, n, c, perJob, others int32) (tasks, gpus int32) {
	tasks = min(int32(cl.sockets*cl.cores)/c, n)
	gpus = sum(o.node)
	if t := sum(o.task); t > 0 {
		gpus = min(int32(cl.gpus), tasks*t)
		return min(tasks, gpus/t), gpus
	}
	if perJob == 0 {
		return tasks, gpus
	}
	gpus = min(int32(cl.gpus), perJob-others)
	per := int32(0)
	if o.tasksPerGPU > 0 {
		per = o.tasksPerGPU
	} else if n%perJob == 0 {
		per = n / perJob
	}
	if per > 0 {
		tasks = min(tasks, gpus*per)
	}
	return tasks, gpus
}

// candidates are the cores that stay when need CPUs and gpus devices are
// asked of an idle node, by socket (gres.md 10, steps 2 to 7).
func (cl *testCluster) candidates(need, gpus int) [][]int {
	by := make([][]int, cl.sockets)
	for s := range by {
		for k := range cl.cores {
			by[s] = append(by[s], s*cl.cores+k)
		}
	}
	if gpus == 0 {
		return by
	}
	required := make([]bool, cl.sockets)
	have, all := 0, 0
	for s := range by {
		here := 0
		for _, near := range cl.near {
			if near == nil {
				required[s] = true
			} else if near[0]>>(s*cl.cores)&1 == 1 {
				here++
			}
		}
		if have < gpus && here > 0 {
			required[s] = true
		}
		have += here
		if required[s] {
			all += cl.cores
		}
	}
	for s := range by {
		// The first pass drops sockets without a chosen device, the second
		// only what is too much.
		if !required[s] {
			keep := 0
			if all < need {
				keep = need - all
			}
			by[s] = by[s][:keep]
		}
	}
	for total(by) > need {
		most := 0
		for s := range by {
			if required[s] && (!required[most] || len(by[s]) > len(by[most])) {
				most = s
			}
		}
		by[most] = by[most][:len(by[most])-1]
	}
	return by
}

func total(by [][]int) (n int) {
	for _, s := range by {
		n += len(s)
	}
	return n
}

// cyclic takes need of the candidate cores (cores.md 4.2).
func cyclic(by [][]int, need, c int, cl *testCluster) (cpus []int) {
	if c > 1 {
		for s := range by {
			for len(by[s]) >= c && need >= c {
				cpus = append(cpus, by[s][:c]...)
				by[s] = by[s][c:]
				need -= c
			}
		}
	}
	for s := 0; need > 0 && total(by) > 0; s = (s + 1) % cl.sockets {
		if len(by[s]) > 0 {
			cpus = append(cpus, by[s][0])
			by[s] = by[s][1:]
			need--
		}
	}
	slices.Sort(cpus)
	return cpus
}

// devices chooses the job's GPUs on a node (gres.md 11.1, 11.4).
func (cl *testCluster) devices(o *options, cpus []int, gpus, c, tasks int) []int32 {
	chosen := make([]bool, cl.gpus)
	got := 0
	takeFrom := func(pool func(dev int) bool, most int) {
		for dev := range cl.gpus {
			if most > 0 && got < gpus && !chosen[dev] && pool(dev) {
				chosen[dev] = true
				got++
				most--
			}
		}
	}
	on := func(s int) (n int) {
		for _, cpu := range cpus {
			if cpu/cl.cores == s {
				n++
			}
		}
		return n
	}
	inSocket := func(s int) func(int) bool {
		return func(dev int) bool { return cl.near[dev] != nil && cl.near[dev][0]>>(s*cl.cores)&1 == 1 }
	}
	if cl.tracked && len(cpus) > 0 {
		for s := range cl.sockets {
			share := on(s) * gpus / len(cpus)
			if t := int(sum(o.task)); t > 0 {
				share = min((on(s)+c-1)/c, tasks) * t
				tasks -= share / t
			}
			takeFrom(inSocket(s), share)
		}
		takeFrom(func(dev int) bool { return cl.near[dev] == nil }, gpus)
		for s := range cl.sockets {
			if on(s) > 0 {
				takeFrom(inSocket(s), gpus)
			}
		}
	}
	takeFrom(func(int) bool { return true }, gpus)
	var list []int32
	for dev, ok := range chosen {
		if ok {
			list = append(list, int32(dev))
		}
	}
	return list
}

// stepNodes describes the allocation to a step: an exact step takes the
// lowest CPUs that no other holds.
func (cl *testCluster) stepNodes(req *options, nodes []*testAlloc) []bind.StepNode {
	var in []bind.StepNode
	for _, a := range nodes {
		nd := bind.StepNode{CPUs: int32(len(a.cpus)), Devices: a.gpus, Busy: slices.Clone(a.gpuHeld)}
		cores := uint64(0)
		want := len(a.cpus)
		if req.exact {
			want = int(max(req.n, 1) * max(req.c, 1))
		}
		for i, cpu := range a.cpus {
			if a.cpuHeld[i] {
				nd.Held++
			} else if want > 0 {
				cores |= 1 << cpu
				want--
			}
		}
		for _, dev := range a.gpus {
			nd.Type = append(nd.Type, cl.typ[dev])
			near := cl.near[dev]
			nd.Near = append(nd.Near, near == nil || near[0]&cores != 0)
		}
		in = append(in, nd)
	}
	return in
}
