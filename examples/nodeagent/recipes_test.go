package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// facts checks NAME=value and !NAME against lines of output.
func facts(t *testing.T, what, output, want string) {
	t.Helper()
	lines := strings.Split(output, "\n")
	for fact := range strings.FieldsSeq(want) {
		if name, no := strings.CutPrefix(fact, "!"); no {
			if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+"=") }) {
				t.Errorf("%s: %s is set", what, name)
			}
		} else if !slices.Contains(lines, fact) {
			t.Errorf("%s: no %s", what, fact)
		}
	}
}

func sees(output string) (gpus []string) {
	for l := range strings.Lines(output) {
		if g, ok := strings.CutPrefix(strings.TrimSpace(l), "GPU "); ok {
			gpus = append(gpus, g)
		}
	}
	return gpus
}

func span(from, to int32) (s []int32) {
	for i := from; i <= to; i++ {
		s = append(s, i)
	}
	return s
}

// The commands of the worked recipes, with nvidia-smi -L replaced by a listing
// of what can be opened: allocations as they were seen, environment as it must
// be, without and with the fence around devices.
func TestRecipes(t *testing.T) {
	type recipe struct {
		name   string
		opt    bind.OptionEnv
		step   int32
		place  bind.Place
		cpus   int32
		job    bind.JobEnv
		tasks  int
		held   []int32 // GPUs of the job; nil if gpus, those of the step, are all
		gpus   []int32
		bind   string
		per    int // GPUs of a task under bind
		output string
		file   string
		want   []string // by rank
	}
	recipes := []recipe{
		{name: "R01 batch", opt: bind.OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 65536, GPUs: "1"}, step: -5, place: bind.PlaceBatch, cpus: 8,
			job: bind.JobEnv{ID: 1, Name: "finetune-1gpu", CPUsPerNode: []int32{8}, TasksPerNode: []int32{1}}, tasks: 1, gpus: []int32{0}, output: "%x-%j.out", file: "finetune-1gpu-1.out",
			want: []string{"SLURM_GPUS=1 SLURM_GPUS_ON_NODE=1 SLURM_CPUS_PER_GPU=8 SLURM_MEM_PER_GPU=65536 SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=0 SLURM_NTASKS=1 SLURM_CPUS_ON_NODE=8 !SLURM_CPUS_PER_TASK !SLURM_STEP_GPUS SLURM_STEP_ID=-5"}},
		{name: "R02 batch", opt: bind.OptionEnv{Tasks: 1, TasksPerNode: 1, CPUsPerTask: 32, TRESPerTask: "cpu=32", MemPerNode: 262144, GPUsPerNode: "4"}, step: -5, place: bind.PlaceBatch, cpus: 32,
			job: bind.JobEnv{ID: 2, CPUsPerNode: []int32{32}, TasksPerNode: []int32{1}}, tasks: 1, gpus: span(0, 3),
			want: []string{"SLURM_GPUS_ON_NODE=4 SLURM_GPUS_PER_NODE=4 SLURM_CPUS_PER_TASK=32 SLURM_MEM_PER_NODE=262144 SLURM_NTASKS=1 SLURM_NTASKS_PER_NODE=1 SLURM_TRES_PER_TASK=cpu=32 CUDA_VISIBLE_DEVICES=0,1,2,3 !SLURM_GPUS"}},
		{name: "R03 task", opt: bind.OptionEnv{Tasks: 4, TasksPerNode: 1, CPUsPerTask: 96, TRESPerTask: "cpu=96", GPUsPerNode: "8"}, place: bind.PlaceTask, cpus: 96,
			job: bind.JobEnv{ID: 3, CPUsPerNode: []int32{112, 112, 112, 112}, TasksPerNode: []int32{1, 1, 1, 1}, NodeList: "gpu[001-004]"}, tasks: 1, gpus: span(0, 7),
			want: []string{"SLURM_JOB_NODELIST=gpu[001-004] SLURM_JOB_NUM_NODES=4 SLURM_TASKS_PER_NODE=1(x4) SLURM_JOB_CPUS_PER_NODE=112(x4) SLURM_CPUS_ON_NODE=96 SLURM_GPUS_ON_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 !SLURM_MEM_PER_NODE SLURM_NTASKS=4"}},
		{name: "R04 tasks", opt: bind.OptionEnv{Tasks: 8, TasksPerNode: 4, CPUsPerTask: 16, TRESPerTask: "cpu=16,gres/gpu=1", MemPerGPU: 122880, TRESBind: "gres/gpu:per_task:1"}, place: bind.PlaceTask, cpus: 64,
			job: bind.JobEnv{ID: 4, CPUsPerNode: []int32{64, 64}, TasksPerNode: []int32{4, 4}, NodeList: "gpu[001-002]"}, tasks: 4, gpus: []int32{0, 1, 4, 5}, bind: "per_task:1", per: 1, output: "r04-%t",
			want: []string{
				"SLURM_STEP_GPUS=0 SLURM_JOB_GPUS=0,1,4,5 SLURM_GTIDS=0,1,2,3 SLURM_PROCID=0 SLURM_LOCALID=0 !SLURM_GPUS !SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK=cpu=16,gres/gpu=1 SLURM_TRES_BIND=gres/gpu:per_task:1",
				"SLURM_STEP_GPUS=1 SLURM_LOCALID=1", "SLURM_STEP_GPUS=4 SLURM_LOCALID=2 SLURM_TASKS_PER_NODE=4(x2)", "SLURM_STEP_GPUS=5 SLURM_LOCALID=3 SLURM_JOB_GPUS=0,1,4,5"}},
		{name: "R05 batch", opt: bind.OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 49152, GPUs: "1"}, step: -5, place: bind.PlaceBatch, cpus: 8,
			job: bind.JobEnv{ID: 12, Name: "lr-sweep", CPUsPerNode: []int32{8}, TasksPerNode: []int32{1}, Array: &bind.ArrayEnv{JobID: 5, Task: 7, Count: 24, Max: 23, Step: 1}}, tasks: 1, gpus: []int32{3}, output: "logs/%x_%A_%a.out", file: "logs/lr-sweep_5_7.out",
			want: []string{"SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=24 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=23 SLURM_ARRAY_TASK_STEP=1"}},
		{name: "R06 shell", opt: bind.OptionEnv{CPUsPerGPU: 8, MemPerGPU: 32768, GPUs: "1"}, step: -6, place: bind.PlaceInteractive, cpus: 8,
			job: bind.JobEnv{ID: 31, Name: "interactive", CPUsPerNode: []int32{8}, TasksPerNode: []int32{8}}, tasks: 1, gpus: []int32{0},
			want: []string{"SLURM_STEP_ID=-6 SLURM_JOB_NAME=interactive SLURM_JOB_GPUS=0 CUDA_VISIBLE_DEVICES=0 !SLURM_STEP_GPUS SLURM_TASKS_PER_NODE=8"}},
		{name: "R06b task", opt: bind.OptionEnv{Tasks: 1, CPUsPerGPU: 8, MemPerGPU: 32768, GPUs: "1"}, place: bind.PlaceTask, cpus: 8,
			job: bind.JobEnv{ID: 32, Name: "sh", CPUsPerNode: []int32{8}, TasksPerNode: []int32{1}}, tasks: 1, gpus: []int32{0},
			want: []string{"SLURM_STEP_GPUS=0 !SLURM_JOB_GPUS SLURM_NTASKS=1 SLURM_STEP_ID=0"}},
	}
	ray := bind.OptionEnv{Tasks: 4, TasksPerNode: 1, CPUsPerTask: 32, TRESPerTask: "cpu=32,gres/gpu=4", TRESBind: "gres/gpu:per_task:4"}
	rayJob := bind.JobEnv{ID: 41, Name: "ray", CPUsPerNode: []int32{112, 112, 112, 112}, TasksPerNode: []int32{1, 1, 1, 1}, NodeList: "gpu[001-004]", Exclusive: "NODE"}
	recipes = append(recipes,
		recipe{name: "R08 batch", opt: bind.OptionEnv{Tasks: 1, TasksPerNode: 1, GPUsPerNode: "4"}, step: -5, place: bind.PlaceBatch, cpus: 112,
			job: bind.JobEnv{ID: 40, Name: "parsl", CPUsPerNode: []int32{112}, TasksPerNode: []int32{1}}, tasks: 1, gpus: span(0, 7),
			want: []string{"SLURM_GPUS_ON_NODE=8 SLURM_GPUS_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 SLURM_JOB_CPUS_PER_NODE=112 SLURM_CPUS_ON_NODE=112"}},
		recipe{name: "R09 batch", opt: ray, step: -5, place: bind.PlaceBatch, cpus: 112, job: rayJob, tasks: 1, gpus: span(0, 7), output: "ray-batch",
			want: []string{"SLURM_JOB_GPUS=0,1,2,3,4,5,6,7 SLURM_GPUS_ON_NODE=8 SLURM_CPUS_PER_TASK=32 SLURM_NTASKS=4 SLURM_CPUS_ON_NODE=112 !SLURM_GPUS_PER_TASK !SLURM_STEP_GPUS"}},
		recipe{name: "R09 task", opt: ray, place: bind.PlaceTask, cpus: 32, job: rayJob, tasks: 1, held: span(0, 7), gpus: span(0, 3), bind: "per_task:4", per: 4, output: "ray-task",
			want: []string{"SLURM_STEP_GPUS=0,1,2,3 SLURM_GPUS_ON_NODE=4 SLURM_CPUS_PER_TASK=32 SLURM_CPUS_ON_NODE=32 SLURM_TRES_BIND=gres/gpu:per_task:4 !SLURM_GPUS_PER_TASK"}},
	)
	for _, conf := range []string{"", "ConstrainDevices=yes"} {
		t.Run(conf, func(t *testing.T) {
			b := newBench(t, conf)
			os.Mkdir(filepath.Join(b.out, "logs"), 0o777)
			var launches []protocol.Launch
			for _, r := range recipes {
				l := b.launch(r.step, r.tasks, "show", b.fake)
				l.Place, l.Job, l.Options, l.CPUsOnNode = r.place, r.job, r.opt, r.cpus
				l.GPUs, l.StepGPUs, l.GPUBind, l.Stdout = r.gpus, r.gpus, r.bind, r.output
				if r.held != nil {
					l.GPUs = r.held
				}
				l.BatchGPUs = l.GPUs
				if l.Job.NodeList == "" {
					l.Job.NodeList = nodeName
				}
				if r.name == "R06b task" {
					l.BatchGPUs = nil
				}
				l.StepEnv.NodeList, l.StepEnv.TasksPerNode, l.StepEnv.Tasks = l.Job.NodeList, l.Job.TasksPerNode, 0
				for _, n := range l.Job.TasksPerNode {
					l.StepEnv.Tasks += n
				}
				b.ctl.Submit(nodeName, l)
				launches = append(launches, l)
			}
			for i, r := range recipes {
				l := launches[i]
				s := b.ended(l.Key)
				if len(s.Tasks) != r.tasks || s.Tasks[0].Exit != 0 || s.Error != "" {
					t.Fatalf("%s: %#v", r.name, s)
				}
				for rank, want := range r.want {
					file := r.file
					if file == "" {
						file = expand(cmpOr(r.output, "slurm-%j.out"), &l, nodeName, rank)
					}
					out := b.read(file)
					visible := r.gpus
					if r.bind != "" {
						visible = r.gpus[rank*r.per : (rank+1)*r.per]
					}
					may := span(0, 7)
					if conf != "" { // the fence is closed: numbers count from 0 among what can be opened
						may = visible
						want = strings.NewReplacer("CUDA_VISIBLE_DEVICES=", "!X_").Replace(want)
						want += " CUDA_VISIBLE_DEVICES=" + string(bind.AppendList(nil, span(0, int32(len(visible)-1))))
					} else {
						want += " CUDA_VISIBLE_DEVICES=" + string(bind.AppendList(nil, visible))
					}
					facts(t, r.name+" rank "+strconv.Itoa(rank), out, want+" SLURMD_NODENAME="+nodeName)
					if got, want := strings.Join(sees(out), ","), string(bind.AppendList(nil, may)); got != want {
						t.Errorf("%s rank %d can open %s, want %s", r.name, rank, got, want)
					}
					if !strings.Contains(out, "SLURM_TASK_PID=") {
						t.Errorf("%s: no SLURM_TASK_PID", r.name)
					}
				}
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
