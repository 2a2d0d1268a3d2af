package bind

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func baseJob(id uint64, name, nodes string, cpus, tasks []int32) *JobEnv {
	return &JobEnv{
		ID: id, SLUID: "s235M8KTM0PA00", Name: name, Account: "mylab", Partition: "gpu", QOS: "normal",
		Cluster: "r1", User: "tu001", UID: 40001, GID: 40001, Start: 1_800_000_000, End: 1_800_014_400,
		NodeList: nodes, CPUsPerNode: cpus, TasksPerNode: tasks, SubmitDir: "/home/tu001", SubmitHost: "login1",
		TopologyAddr: "gpu001", TopologyPattern: "node", Exclusive: "NO", Oversubscribe: "NO", Umask: "0022",
	}
}

func span(lo, hi int32) (s []int32) {
	for i := lo; i <= hi; i++ {
		s = append(s, i)
	}
	return s
}

func rep(n int32, times int) (s []int32) {
	for range times {
		s = append(s, n)
	}
	return s
}

// A recipe of the seed cases: how its processes are launched on a node.
type recipe struct {
	job   *JobEnv
	opt   OptionEnv
	step  StepEnv
	node  func(place Place, node int) NodeEnv
	bind  Binding
	near  [][]uint64 // by GPU
	tasks []int32    // of the step by node
}

func gpuNode(cpusBatch, cpusStep int32, gpus []int32) func(Place, int) NodeEnv {
	return func(place Place, node int) NodeEnv {
		n := NodeEnv{Name: fmt.Sprintf("gpu%03d", node+1), ID: int32(node), CPUs: cpusStep, GPUs: int32(len(gpus)),
			JobGPUs: gpus, Devices: &Devices{Index: gpus}, Flags: EnvNVIDIA}
		if place != PlaceTask {
			n.CPUs = cpusBatch
		}
		return n
	}
}

func recipes() map[string]*recipe {
	r := map[string]*recipe{}
	r["R01"] = &recipe{job: baseJob(1, "finetune-1gpu", "gpu001", []int32{8}, []int32{1}),
		opt:  OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 65536, GPUs: "1"},
		node: gpuNode(8, 8, []int32{0}), tasks: []int32{1}}
	r["R02"] = &recipe{job: baseJob(2, "torchrun", "gpu001", []int32{32}, []int32{1}),
		opt:  OptionEnv{Tasks: 1, TasksPerNode: 1, CPUsPerTask: 32, TRESPerTask: "cpu=32", MemPerNode: 262144, GPUsPerNode: "4"},
		node: gpuNode(32, 32, span(0, 3)), tasks: []int32{1}}
	r["R03"] = &recipe{job: baseJob(3, "torchrun4", "gpu[001-004]", rep(112, 4), rep(1, 4)),
		opt:  OptionEnv{Tasks: 4, TasksPerNode: 1, CPUsPerTask: 96, TRESPerTask: "cpu=96", GPUsPerNode: "8"},
		node: gpuNode(112, 96, span(0, 7)), tasks: rep(1, 4)}
	r["R03"].job.Exclusive = "NODE"
	r["R04"] = &recipe{job: baseJob(4, "mpi", "gpu[001-002]", rep(64, 2), rep(4, 2)),
		opt: OptionEnv{Tasks: 8, TasksPerNode: 4, CPUsPerTask: 16, TRESPerTask: "cpu=16,gres/gpu=1", MemPerGPU: 122880,
			TRESBind: "gres/gpu:per_task:1"},
		node: gpuNode(64, 64, []int32{0, 1, 4, 5}), tasks: rep(4, 2), bind: ImpliedBinding(1, 0),
		near: [][]uint64{cpuBits("0-55"), cpuBits("0-55"), cpuBits("56-111"), cpuBits("56-111")}}
	r["R05"] = &recipe{job: baseJob(12, "lr-sweep", "gpu001", []int32{8}, []int32{1}),
		opt:  OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 49152, GPUs: "1"},
		node: gpuNode(8, 8, []int32{3}), tasks: []int32{1}}
	r["R05"].job.Array = &ArrayEnv{JobID: 5, Task: 7, Count: 24, Min: 0, Max: 23, Step: 1}
	r["R06"] = &recipe{job: baseJob(31, "interactive", "gpu001", []int32{8}, []int32{8}),
		opt:  OptionEnv{CPUsPerGPU: 8, MemPerGPU: 32768, GPUs: "1"},
		node: gpuNode(8, 8, []int32{0}), tasks: []int32{1}}
	r["R06"].job.Group = "tu001"
	r["R06b"] = &recipe{job: baseJob(32, "sh", "gpu001", []int32{8}, []int32{1}),
		opt: OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 32768, GPUs: "1"}, tasks: []int32{1},
		node: func(place Place, node int) NodeEnv {
			n := gpuNode(8, 8, []int32{0})(place, node)
			n.JobGPUs = nil
			return n
		}}
	cpu := baseJob(29, "het", "cpu[01-04]", rep(64, 4), rep(64, 4))
	cpu.Partition = "cpu"
	gpu := baseJob(30, "het", "gpu001", []int32{64}, []int32{1})
	gpuOpt := OptionEnv{Tasks: 1, CPUsPerGPU: 16, GPUs: "4"}
	cpuOpt := OptionEnv{Tasks: 256, TasksPerNode: 64}
	cpu.Het = []HetEnv{{Job: cpu, Options: &cpuOpt}, {Job: gpu, Options: &gpuOpt}}
	r["R07"] = &recipe{job: cpu, opt: cpuOpt, tasks: rep(64, 4), node: func(place Place, node int) NodeEnv {
		return NodeEnv{Name: fmt.Sprintf("cpu%02d", node+1), ID: int32(node), CPUs: 64}
	}}
	r["R08"] = &recipe{job: baseJob(40, "parsl", "gpu001", []int32{112}, []int32{1}),
		opt:  OptionEnv{Tasks: 1, TasksPerNode: 1, GPUsPerNode: "4"},
		node: gpuNode(112, 112, span(0, 7)), tasks: []int32{1}}
	r["R09"] = &recipe{job: baseJob(41, "ray", "gpu[001-004]", rep(112, 4), rep(1, 4)),
		opt: OptionEnv{Tasks: 4, TasksPerNode: 1, CPUsPerTask: 32, TRESPerTask: "cpu=32,gres/gpu=4", TRESBind: "gres/gpu:per_task:4"},
		node: func(place Place, node int) NodeEnv {
			if place == PlaceTask {
				n := gpuNode(112, 32, span(0, 3))(place, node)
				n.JobGPUs = span(0, 7)
				return n
			}
			return gpuNode(112, 32, span(0, 7))(place, node)
		}, tasks: rep(1, 4), bind: ImpliedBinding(4, 0)}
	r["MPS"] = &recipe{job: baseJob(50, "mps", "gpu001", []int32{1}, []int32{1}), opt: OptionEnv{Tasks: 1},
		tasks: []int32{1}, node: func(place Place, node int) NodeEnv {
			n := gpuNode(1, 1, []int32{2})(place, node)
			n.GPUs, n.JobGPUs, n.MPSPercent = 0, nil, MPSPercent(50, 100)
			return n
		}}
	r["MIG"] = &recipe{job: baseJob(51, "mig", "gpu001", []int32{1}, []int32{1}), opt: OptionEnv{Tasks: 1},
		tasks: []int32{1}, node: func(place Place, node int) NodeEnv {
			n := gpuNode(1, 1, []int32{0, 3})(place, node)
			n.Flags, n.UUID = EnvNVIDIA|EnvUUID, []string{"MIG-a", "MIG-b"}
			return n
		}}
	r["ALL"] = &recipe{job: baseJob(52, "all", "gpu001", []int32{4}, []int32{2}),
		opt: OptionEnv{Tasks: 2, TasksPerCore: 1, TasksPerSocket: 2, TasksPerGPU: 1, MemPerCPU: 500, GPUsPerSocket: "1",
			GPUBind: "verbose,closest", GPUFreq: "high", SegmentSize: 2, Dependency: "afterok:1", Licenses: "matlab:1",
			Distribution: "plane", PlaneSize: 2, ThreadsPerCore: 1, Overcommit: true, ExportEnv: "NONE", Network: "ib",
			Profile: "Task", Container: "/oci", MemBind: MemBinding{Type: "local"}},
		step: StepEnv{CPUBind: &CPUBinding{Type: CPUMap, Verbose: true, Map: []MapRun{{ID: 0, Times: 1}, {ID: 4, Times: 1}}},
			MemBind: MemBinding{Type: "map_mem", List: "0,1", Verbose: true}, LaunchIP: "192.0.2.1", CommHost: "login1", CommPort: 40000, Port: 40001},
		tasks: []int32{2}, bind: Binding{Mode: ModeSingle, N: 1}, node: func(place Place, node int) NodeEnv {
			n := gpuNode(4, 4, []int32{2, 5})(place, node)
			n.Flags, n.Devices.Constrained, n.Shards, n.JobNICs, n.NICs = EnvAll, true, 8, []int32{0, 1}, []int32{0, 1}
			return n
		}}
	all := r["ALL"].job
	all.Reservation, all.RestartCount, all.OOMKillStep, all.PrioProcess = "maint", 2, true, 5
	return r
}

// launch makes the process number at (a task's rank, or none) of a recipe.
func (r *recipe) launch(place Place, rank int32) *Launch {
	l := &Launch{Place: place, Job: r.job, Options: &r.opt}
	step := r.step
	var lay Layout
	lay.Lay(sumOf(r.tasks), r.tasks, Distribution{}, false)
	step.NodeList, step.TasksPerNode, step.Tasks = r.job.NodeList, r.tasks, sumOf(r.tasks)
	at := 0
	if place != PlaceBatch {
		l.Step = &step
	}
	if place == PlaceTask {
		at = int(lay.Node[rank])
	}
	n := r.node(place, at)
	l.Node = &n
	if place != PlaceTask {
		return l
	}
	n.Ranks = lay.AppendRanks(nil, at)
	l.Task = &TaskEnv{Rank: rank, Local: lay.Local[rank], PID: 4242}
	if n.Devices != nil {
		n.Devices.Near = r.near
		var b Binder
		var bound Bound
		masks := make([][]uint64, len(n.Ranks))
		b.Bind(&bound, &r.bind, n.Devices, masks)
		l.Task.Visible = bound.Task(int(l.Task.Local))
	}
	return l
}

func sumOf(s []int32) (n int32) {
	for _, v := range s {
		n += v
	}
	return n
}

func envLines(block []byte) string {
	return strings.TrimSuffix(string(bytes.ReplaceAll(block, []byte{0}, []byte{'\n'})), "\n")
}

// TestEnvGolden has the whole environment of every recipe.
func TestEnvGolden(t *testing.T) {
	all := recipes()
	datadriven.Walk(t, "testdata/env", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "recipe", &name)
			r := all[name]
			if r == nil {
				d.Fatalf(t, "no recipe %q", name)
			}
			switch d.Cmd {
			case "batch":
				return envLines(AppendEnv(nil, r.launch(PlaceBatch, 0)))
			case "interactive":
				return envLines(AppendEnv(nil, r.launch(PlaceInteractive, 0)))
			case "task":
				var rank int
				d.ScanArgs(t, "rank", &rank)
				return envLines(AppendEnv(nil, r.launch(PlaceTask, int32(rank))))
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// TestEnvRecipeFacts are the facts that the seed cases state about the
// recipes; a name with ! must not be set.
func TestEnvRecipeFacts(t *testing.T) {
	all := recipes()
	for _, c := range []struct {
		recipe string
		place  Place
		rank   int32
		facts  string
	}{
		{"R01", PlaceBatch, 0, "SLURM_GPUS=1 SLURM_GPUS_ON_NODE=1 SLURM_CPUS_PER_GPU=8 SLURM_MEM_PER_GPU=65536 SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=0 SLURM_NTASKS=1 SLURM_CPUS_ON_NODE=8 !SLURM_CPUS_PER_TASK !SLURM_STEP_GPUS SLURM_STEP_ID=-5 SLURM_PROCID=0"},
		{"R01", PlaceTask, 0, "CUDA_VISIBLE_DEVICES=0 SLURM_STEP_GPUS=0 SLURM_STEP_ID=0"},
		{"R02", PlaceBatch, 0, "SLURM_GPUS_ON_NODE=4 SLURM_GPUS_PER_NODE=4 SLURM_CPUS_PER_TASK=32 SLURM_MEM_PER_NODE=262144 SLURM_NTASKS=1 SLURM_NTASKS_PER_NODE=1 SLURM_TRES_PER_TASK=cpu=32 CUDA_VISIBLE_DEVICES=0,1,2,3 !SLURM_GPUS"},
		{"R03", PlaceBatch, 0, "SLURM_JOB_NODELIST=gpu[001-004] SLURM_JOB_NUM_NODES=4 SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=1(x4) SLURM_JOB_CPUS_PER_NODE=112(x4) SLURM_CPUS_ON_NODE=112 SLURM_GPUS_ON_NODE=8 !SLURM_MEM_PER_NODE"},
		{"R03", PlaceTask, 2, "SLURM_CPUS_ON_NODE=96 SLURM_PROCID=2 SLURM_NODEID=2 SLURM_LOCALID=0 SLURM_GTIDS=2 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 SLURMD_NODENAME=gpu003"},
		{"R04", PlaceBatch, 0, "SLURM_TRES_PER_TASK=cpu=16,gres/gpu=1 SLURM_TRES_BIND=gres/gpu:per_task:1 SLURM_TASKS_PER_NODE=4(x2) SLURM_GPUS_ON_NODE=4 !SLURM_GPUS !SLURM_GPUS_PER_TASK"},
		{"R04", PlaceTask, 0, "SLURM_STEP_GPUS=0 CUDA_VISIBLE_DEVICES=0 SLURM_JOB_GPUS=0,1,4,5 SLURM_GTIDS=0,1,2,3"},
		{"R04", PlaceTask, 2, "SLURM_STEP_GPUS=4 CUDA_VISIBLE_DEVICES=4 SLURM_LOCALID=2"},
		{"R04", PlaceTask, 7, "SLURM_STEP_GPUS=5 CUDA_VISIBLE_DEVICES=5 SLURM_GTIDS=4,5,6,7 SLURM_LOCALID=3 SLURM_NODEID=1"},
		{"R05", PlaceBatch, 0, "SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=24 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=23 SLURM_ARRAY_TASK_STEP=1"},
		{"R06", PlaceInteractive, 0, "SLURM_STEP_ID=-6 SLURM_JOB_NAME=interactive SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=0 !SLURM_STEP_GPUS SLURM_TASKS_PER_NODE=8"},
		{"R06b", PlaceTask, 0, "SLURM_STEP_GPUS=0 !SLURM_JOB_GPUS SLURM_NTASKS=1 SLURM_STEP_ID=0"},
		{"R07", PlaceBatch, 0, "SLURM_HET_SIZE=2 SLURM_PACK_SIZE=2 SLURM_JOB_NODELIST_HET_GROUP_0=cpu[01-04] SLURM_JOB_NODELIST_HET_GROUP_1=gpu001 SLURM_GPUS_HET_GROUP_1=4 SLURM_TASKS_PER_NODE_HET_GROUP_0=64(x4) SLURM_JOB_NODELIST_PACK_GROUP_1=gpu001 !CUDA_VISIBLE_DEVICES"},
		{"R08", PlaceBatch, 0, "SLURM_GPUS_ON_NODE=8 SLURM_GPUS_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"},
		{"R09", PlaceBatch, 0, "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 !SLURM_GPUS_PER_TASK"},
		{"R09", PlaceTask, 1, "CUDA_VISIBLE_DEVICES=0,1,2,3 SLURM_GPUS_ON_NODE=4 SLURM_CPUS_PER_TASK=32"},
		{"MPS", PlaceTask, 0, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 CUDA_VISIBLE_DEVICES=2"},
		{"MIG", PlaceTask, 0, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b SLURM_STEP_GPUS=0,3 !ROCR_VISIBLE_DEVICES"},
		{"ALL", PlaceTask, 1, "CUDA_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0 ZE_AFFINITY_MASK=0 GPU_DEVICE_ORDINAL=0 SLURM_STEP_GPUS=5 SLURM_STEP_NICS=0,1 OMPI_MCA_btl_openib_if_include=mlx4_0,mlx4_1 SLURM_CPU_BIND_LIST=0,4"},
		{"ALL", PlaceBatch, 0, "CUDA_VISIBLE_DEVICES=0,1 SLURM_JOB_GPUS=2,5 SLURM_JOB_NICS=0,1 !SLURM_STEP_NICS"},
	} {
		lines := strings.Split(envLines(AppendEnv(nil, all[c.recipe].launch(c.place, c.rank))), "\n")
		have := map[string]string{}
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			if _, twice := have[name]; twice {
				t.Errorf("%s: %s is set twice", c.recipe, name)
			}
			have[name] = value
		}
		for fact := range strings.FieldsSeq(c.facts) {
			if name, no := strings.CutPrefix(fact, "!"); no {
				if v, ok := have[name]; ok {
					t.Errorf("%s place %d: %s=%s is set", c.recipe, c.place, name, v)
				}
				continue
			}
			name, want, _ := strings.Cut(fact, "=")
			if got, ok := have[name]; !ok || got != want {
				t.Errorf("%s place %d rank %d: %s=%q, want %q", c.recipe, c.place, c.rank, name, got, want)
			}
		}
	}
}

func TestMPSPercent(t *testing.T) {
	for _, c := range []struct {
		units, capacity int64
		want            int32
	}{{50, 100, 50}, {150, 200, 75}, {1, 200, 1}, {1, 0, 0}} {
		if got := MPSPercent(c.units, c.capacity); got != c.want {
			t.Errorf("MPSPercent(%d, %d) = %d, want %d", c.units, c.capacity, got, c.want)
		}
	}
}

func ExampleAppendEnv() {
	job := &JobEnv{ID: 7, NodeList: "gpu1", CPUsPerNode: []int32{2}, TasksPerNode: []int32{1}}
	node := &NodeEnv{Name: "gpu1", CPUs: 2, GPUs: 1, Devices: &Devices{Index: []int32{3}}, Flags: EnvNVIDIA}
	step := &StepEnv{NodeList: "gpu1", Tasks: 1, TasksPerNode: []int32{1}}
	block := AppendEnv(nil, &Launch{Place: PlaceTask, Job: job, Step: step, Node: node, Task: &TaskEnv{Visible: []int32{0}}})
	for v := range strings.SplitSeq(string(block), "\x00") {
		if strings.Contains(v, "VISIBLE") || strings.HasPrefix(v, "SLURM_STEP_GPUS") {
			fmt.Println(v)
		}
	}
	// Output:
	// SLURM_STEP_GPUS=3
	// CUDA_VISIBLE_DEVICES=3
}
