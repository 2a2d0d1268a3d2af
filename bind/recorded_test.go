package bind_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/bind"
)

// A recordedTask is what one task of a step saw.
type recordedTask struct {
	Procid  int    `json:"procid"`
	Nodeid  int    `json:"nodeid"`
	Localid int    `json:"localid"`
	Node    string `json:"node"`
	CUDA    string `json:"cuda_visible_devices"`
	Step    string `json:"step_gpus"`
	Job     string `json:"job_gpus"`
	GPUs    string `json:"gpus_on_node"`
	CPUs    string `json:"cpus_on_node"`
	PerNode string `json:"tasks_per_node"`
	Tasks   string `json:"ntasks"`
	GTIDs   string `json:"gtids"`
}

// A recordedStep is how one srun went.
type recordedStep struct {
	RC     json.RawMessage `json:"rc,omitempty"`
	Tasks  []recordedTask  `json:"tasks,omitempty"`
	Stderr []string        `json:"stderr,omitempty"`
}

type recordedCase struct {
	ID     string
	Kind   string
	Args   []string
	Alloc  []string
	Steps  [][]string
	Expect json.RawMessage
}

// TestRecordedGPUBind lays out and binds the steps recorded from a Slurm
// 26.05.3 and compares what each task sees.
func TestRecordedGPUBind(t *testing.T) {
	agree, all := 0, 0
	for _, name := range []string{"cores", "nocores", "typed"} {
		text, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Files map[string]string
			Cases []recordedCase
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		cl := parseCluster(t, file.Files["slurm.conf"], file.Files["gres.conf"])
		for _, c := range file.Cases {
			all++
			want := wantSteps(t, c)
			if diff := cmp.Diff(want, runCase(t, cl, c)); diff != "" {
				t.Errorf("%s %s %v %v %v: mismatch (-want +got)\n%s", name, c.ID, c.Alloc, c.Args, c.Steps, diff)
				continue
			}
			agree++
		}
	}
	t.Logf("recorded gpu-bind: %d of %d agree", agree, all)
}

// wantSteps reads the answer: one step, or a list.
func wantSteps(t *testing.T, c recordedCase) []recordedStep {
	t.Helper()
	steps := []recordedStep{{}}
	var err error
	if strings.Contains(c.Kind, "parallel") {
		err = json.Unmarshal(c.Expect, &steps)
	} else {
		err = json.Unmarshal(c.Expect, &steps[0])
	}
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	for i := range steps {
		if steps[i].RC == nil {
			steps[i].RC = json.RawMessage("0")
		}
	}
	return steps
}

// A parallel step is started while the earlier ones live; one that must wait
// for them is planned again with all of them over.
func runCase(t *testing.T, cl *testCluster, c recordedCase) []recordedStep {
	t.Helper()
	alloc := c.Alloc
	sruns := [][]string{c.Args}
	if c.Kind == "srun" {
		alloc = c.Args
	}
	if c.Steps != nil {
		sruns = c.Steps
	}
	job, ok := parseArgs(cl, alloc)
	if !ok {
		return []recordedStep{refused("255", "error: Invalid --gpu-bind argument: "+job.bindText)}
	}
	nodes := cl.allocate(&job)
	var steps []recordedStep
	for _, args := range sruns {
		req := job
		if c.Kind != "srun" {
			own, ok := parseArgs(cl, args)
			if !ok {
				return []recordedStep{refused("255", "error: Invalid --gpu-bind argument: "+own.bindText)}
			}
			req = inherit(own, &job)
		}
		steps = append(steps, runStep(t, cl, &req, nodes))
	}
	return steps
}

func refused(rc, text string) recordedStep {
	return recordedStep{RC: json.RawMessage(rc), Stderr: []string{text}}
}

func runStep(t *testing.T, cl *testCluster, req *options, nodes []*testAlloc) recordedStep {
	t.Helper()
	in := cl.stepNodes(req, nodes)
	var plan bind.Step
	var layer bind.Layer
	sr := req.step()
	why := layer.Plan(&plan, &sr, in)
	if why == bind.RefusedWait {
		for _, nd := range nodes {
			clear(nd.cpuHeld)
			clear(nd.gpuHeld)
		}
		in = cl.stepNodes(req, nodes)
		why = layer.Plan(&plan, &sr, in)
	}
	if why != bind.Accepted {
		return refused("1", "error: Unable to create step for N: "+why.String())
	}
	b := req.binding()
	got := recordedStep{RC: json.RawMessage("0"), Tasks: make([]recordedTask, len(plan.Layout.Node))}
	for i := range int(plan.Nodes) {
		nd := nodes[int(plan.First)+i]
		d := bind.Devices{Job: nd.gpus}
		for _, p := range plan.Devices(i) {
			d.Index = append(d.Index, nd.gpus[p])
			d.Near = append(d.Near, cl.near[nd.gpus[p]])
			nd.gpuHeld[p] = true
		}
		for k := range int(plan.CPUs[i]) {
			nd.holdCPU(k)
		}
		var bound bind.Bound
		var binder bind.Binder
		binder.Bind(&bound, &b, &d, make([][]uint64, plan.Layout.Tasks[i]))
		ranks := plan.Layout.AppendRanks(nil, i)
		for k, rank := range ranks {
			gpus := ""
			if len(d.Index) > 0 {
				gpus = strconv.Itoa(len(d.Index))
			}
			got.Tasks[rank] = recordedTask{
				Procid: int(rank), Nodeid: i, Localid: k, Node: nd.name,
				CUDA: joinInts(d.AppendVisible(nil, bound.Task(k))), Step: joinInts(d.AppendGlobal(nil, bound.Task(k))),
				GPUs: gpus, CPUs: strconv.Itoa(int(plan.CPUs[i])),
				PerNode: string(bind.AppendCounts(nil, plan.Layout.Tasks)),
				Tasks:   strconv.Itoa(len(plan.Layout.Node)), GTIDs: joinInts(ranks),
			}
		}
	}
	return got
}

func joinInts(s []int32) string {
	var words []string
	for _, n := range s {
		words = append(words, strconv.Itoa(int(n)))
	}
	return strings.Join(words, ",")
}

// Options, as much of them as the recorded cases use.
type options struct {
	n, N, c         int32
	exact, overlap  bool
	none            bool
	job, node, task []bind.TypedCount
	tasksPerGPU     int32
	dist            bind.Distribution
	bind            *bind.Binding
	bindText        string
	overcommit      bool
}

func parseArgs(cl *testCluster, args []string) (o options, ok bool) {
	for i := 0; i < len(args); i++ {
		key, val, hasVal := strings.Cut(args[i], "=")
		if !strings.HasPrefix(key, "--") {
			key, val = args[i][:2], args[i][2:]
			hasVal = val != ""
		}
		if !hasVal && slices.Contains([]string{"-m", "-n", "-N", "-c"}, key) {
			i++
			val = args[i]
		}
		switch key {
		case "-n", "--ntasks":
			o.n = atoi(val)
		case "-N", "--nodes":
			o.N = atoi(val)
		case "-c", "--cpus-per-task":
			o.c = atoi(val)
		case "-m", "--distribution":
			o.dist = parseDist(val)
		case "-O", "--overcommit":
			o.overcommit = true
		case "--exact":
			o.exact = true
		case "--overlap":
			o.overlap = true
		case "--gres":
			o.none = val == "none"
			o.node = cl.counts(strings.TrimPrefix(val, "gpu:"), !o.none)
		case "--gpus-per-node":
			o.node = cl.counts(val, true)
		case "--gpus":
			o.job = cl.counts(val, true)
		case "--gpus-per-task":
			o.task = cl.counts(val, true)
		case "--ntasks-per-gpu":
			o.tasksPerGPU = atoi(val)
		case "--tres-per-task":
			for item := range strings.SplitSeq(val, ",") {
				if v, ok := strings.CutPrefix(item, "cpu"); ok {
					o.c = atoi(v[1:])
				} else if v, ok := strings.CutPrefix(item, "gres/gpu"); ok {
					o.task = append(o.task, cl.counts(v[1:], true)...)
				}
			}
		case "--gpu-bind":
			b, err := bind.ParseGPUBind(val)
			o.bindText = val
			if err != nil {
				return o, false
			}
			o.bind = &b
		}
	}
	return o, true
}

func atoi(s string) int32 {
	n, _ := strconv.Atoi(s)
	return int32(n)
}

func parseDist(s string) bind.Distribution {
	first, rest, _ := strings.Cut(s, ":")
	var d bind.Distribution
	if p, ok := strings.CutPrefix(first, "plane="); ok {
		d.Spread, d.Plane = bind.SpreadPlane, atoi(p)
	} else if first == "cyclic" {
		d.Spread = bind.SpreadCyclic
	}
	d.Socket = map[string]bind.InSocket{"block": bind.SocketBlock, "cyclic": bind.SocketCyclic, "fcyclic": bind.SocketFCyclic}[rest]
	return d
}

// inherit fills what srun reads from its allocation's environment: an option
// about GPUs on the command line beats all of them there.
func inherit(own options, job *options) options {
	if own.n == 0 && own.N == 0 {
		own.n = job.n
	}
	if own.c == 0 {
		own.c = job.c
	}
	if own.none || own.job != nil || own.node != nil || own.task != nil || own.tasksPerGPU > 0 {
		return own
	}
	own.job, own.task, own.tasksPerGPU = job.job, job.task, job.tasksPerGPU
	if own.bind == nil {
		own.bind = job.bind
	}
	return own
}

func (o *options) step() bind.StepRequest {
	return bind.StepRequest{Tasks: o.n, MinNodes: o.N, CPUsPerTask: o.c, Exact: o.exact, Overlap: o.overlap,
		Overcommit: o.overcommit, Distribution: o.dist, NoDevices: o.none, Job: o.job, Node: o.node, Task: o.task,
		TasksPerGPU: o.tasksPerGPU}
}

func (o *options) binding() bind.Binding {
	if o.bind != nil {
		return *o.bind
	}
	return bind.ImpliedBinding(sum(o.task), o.tasksPerGPU)
}

func sum(counts []bind.TypedCount) (n int32) {
	for _, c := range counts {
		n += c.Count
	}
	return n
}
