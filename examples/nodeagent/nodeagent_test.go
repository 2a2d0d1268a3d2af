package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
	"github.com/berth-sched/berth/examples/nodeagent/testctl"
)

// The test binary is the agent, the supervisor of a step and what tasks run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "task", "stepd", "visible":
			os.Exit(dispatch(os.Args[1:]))
		case "agent":
			os.Exit(dispatch(os.Args[2:]))
		case "act":
			os.Exit(act(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// act is a task's program.
func act(args []string) int {
	switch args[0] {
	case "show": // directory: the environment and the visible devices
		for _, v := range os.Environ() {
			fmt.Println(v)
		}
		fmt.Print(visible(args[1]))
	case "hook": // a container runtime's place
		fmt.Println("hooked", strings.Join(args[1:], " "))
		return refuse(126, syscall.Exec(args[1], args[1:], os.Environ()))
	case "cpus": // the CPUs that it may use
		var set [128]uint64
		syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, 1024, uintptr(unsafe.Pointer(&set)))
		fmt.Printf("%s\n", cgroupsv2.AppendList(nil, set[:]))
	case "exit":
		n, _ := strconv.Atoi(args[1])
		return n
	case "mark": // file, milliseconds: a line, and a while
		f, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil {
			_, err = f.WriteString("ran\n")
		}
		ms, _ := strconv.Atoi(args[2])
		time.Sleep(time.Duration(ms) * time.Millisecond)
		if err != nil {
			return refuse(1, err)
		}
	case "sleep":
		fmt.Println("asleep")
		time.Sleep(time.Hour)
	case "child": // a child that outlives its parent
		c := exec.Command("/proc/self/exe", "act", "sleep")
		if err := c.Start(); err != nil {
			return refuse(1, err)
		}
		fmt.Println("uid", os.Getuid(), "gid", os.Getgid())
	case "eat": // MiB
		n, _ := strconv.Atoi(args[1])
		var hold [][]byte
		for range n {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hold = append(hold, b)
		}
		fmt.Println(len(hold))
	}
	return 0
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("VMTEST") == "1" {
		t.Fatal("the guest lacks: " + why)
	}
	t.Skip(why)
}

// A bench is a controller, and one agent of it that can be killed.
type bench struct {
	t     *testing.T
	ctl   *testctl.Controller
	srv   *httptest.Server
	tree  *cgroupsv2.Tree
	self  string
	state string
	fake  string
	out   string
	args  []string
	agent *exec.Cmd
	next  uint16
}

const nodeName = "gpu001"

// newBench makes a delegated directory and the rest; extra are arguments of
// the agent.
func newBench(t *testing.T, conf string, extra ...string) *bench {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs root")
	}
	r, err := cgroupsv2.Detect(os.DirFS("/"))
	if err != nil || r.Mount == "" {
		missing(t, "no cgroup2 mount")
	}
	dir := filepath.Join(r.Mount, fmt.Sprintf("berth-agent-%s-%d", strings.NewReplacer("/", "-", "=", "-").Replace(t.Name()), os.Getpid()))
	top, err := cgroupsv2.Open(r.Mount)
	if err != nil {
		missing(t, err.Error())
	}
	c, _, err := cgroupsv2.ParseConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	if need := c.Controllers(&cgroupsv2.Node{TracksMemory: true}); len(need) > 0 {
		if err := top.Apply([]cgroupsv2.Op{{Kind: cgroupsv2.OpEnable, Path: ".", Controllers: need}}); err != nil {
			missing(t, err.Error())
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, state: t.TempDir(), fake: t.TempDir(), out: t.TempDir()}
	t.Cleanup(func() {
		b.kill()
		g := top.Group(filepath.Base(dir))
		g.Kill()
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := g.Remove(ctx); err != nil {
			t.Error(err)
		}
		top.Close()
	})
	os.Chmod(b.out, 0o777)
	for d := b.out; d != "/" && d != os.TempDir(); d = filepath.Dir(d) { // other users' tasks write there
		os.Chmod(d, 0o777)
	}
	if b.tree, err = cgroupsv2.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.tree.Close() })
	b.self, err = os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.ctl = &testctl.Controller{AfterMS: 20, Registered: protocol.Registered{CgroupConf: conf, TracksMemory: true}}
	b.srv = httptest.NewServer(b.ctl)
	t.Cleanup(b.srv.Close)
	b.args = append([]string{"agent", "-node", nodeName, "-controller", b.srv.URL, "-state", b.state, "-cgroup", dir,
		"-fake-gpus", "8", "-fake-dir", b.fake}, extra...)
	b.start()
	return b
}

func (b *bench) start() {
	b.t.Helper()
	b.agent = exec.Command(b.self, b.args...)
	b.agent.Stderr = os.Stderr
	if err := b.agent.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// kill ends the agent, and nothing else, without a warning.
func (b *bench) kill() {
	if b.agent != nil {
		b.agent.Process.Kill()
		b.agent.Wait()
		b.agent = nil
	}
}

// launch makes a step of tasks on this node.
func (b *bench) launch(step int32, tasks int, argv ...string) protocol.Launch {
	b.next++
	l := protocol.Launch{Key: protocol.Key{SLUID: cgroupsv2.NewSLUID(2, 1000, b.next).String(), Step: step}, Place: bind.PlaceTask,
		Job:     bind.JobEnv{ID: uint64(b.next), Name: "job", NodeList: nodeName, CPUsPerNode: []int32{1}, TasksPerNode: []int32{int32(tasks)}},
		StepEnv: bind.StepEnv{ID: step, NodeList: nodeName, Tasks: int32(tasks), TasksPerNode: []int32{int32(tasks)}},
		CPUBind: "none", CPUs: "0", StepCPUs: "0", Argv: append([]string{b.self, "act"}, argv...), Dir: b.out, KillWaitMS: 200}
	if step == -5 {
		l.Place = bind.PlaceBatch
	}
	for rank := range tasks {
		l.Tasks = append(l.Tasks, protocol.Task{Rank: int32(rank)})
	}
	return l
}

// until waits for a step to come so far.
func (b *bench) until(k protocol.Key, what string, ok func(s protocol.Status, gone bool) bool) protocol.Status {
	b.t.Helper()
	var s protocol.Status
	var gone bool
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if s, gone = b.ctl.Status(k); ok(s, gone) {
			return s
		}
	}
	b.t.Fatalf("%v is not %s: %+v %v, gone %v", k, what, s.State, s.Tasks, gone)
	return s
}

// ended waits until the controller has the end and the node has forgotten.
func (b *bench) ended(k protocol.Key) protocol.Status {
	b.t.Helper()
	return b.until(k, "ended", func(s protocol.Status, gone bool) bool { return gone })
}

func (b *bench) do(l protocol.Launch) protocol.Status {
	b.t.Helper()
	b.ctl.Submit(nodeName, l)
	return b.ended(l.Key)
}

func (b *bench) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.out, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// says waits until a file has some text: the program is so far.
func (b *bench) says(name, text string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got, _ := os.ReadFile(filepath.Join(b.out, name)); strings.Contains(string(got), text) {
			return
		}
	}
	b.t.Fatalf("%s does not say %q", name, text)
}

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

// Outcomes: exit codes, signals, what is left behind, output files, users.
func TestOutcomes(t *testing.T) {
	b := newBench(t, "", "-hook", "")
	l := b.launch(0, 3, "exit", "7")
	l.Stdout = "%x-%j.%t"
	if s := b.do(l); len(s.Tasks) != 3 || s.Tasks[0].Exit != 7 || s.Error != "" || s.Started == 0 || s.Ended < s.Started {
		t.Errorf("%#v", s)
	}
	b.read("job-1.2")

	l = b.launch(0, 1)
	l.Argv = []string{"no-such-program"}
	if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Exit != 127 || !strings.Contains(b.read("slurm-2.out"), "not found") {
		t.Errorf("%#v", s)
	}

	// A child that outlives its task goes with the step; the user is the user.
	l = b.launch(-5, 1)
	program, err := os.ReadFile(b.self)
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(b.out, "program") // where that user may run it
	if err := os.WriteFile(open, program, 0o755); err != nil {
		t.Fatal(err)
	}
	l.Argv, l.UID, l.GID = []string{open, "act", "child"}, 65534, 65534
	l.Job.Array = &bind.ArrayEnv{JobID: 40, Task: 3, Count: 4, Max: 3, Step: 1}
	if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Exit != 0 {
		t.Errorf("%#v %s", s, b.read("slurm-40_3.out"))
	}
	if got := b.read("slurm-40_3.out"); !strings.Contains(got, "uid 65534 gid 65534") {
		t.Error(got)
	}

	// One that fails takes the others along.
	l = b.launch(0, 2, "sleep")
	l.KillOnBadExit = true
	b.ctl.Submit(nodeName, l)
	b.says("slurm-4.out", "asleep\nasleep\n")
	b.ctl.Signal(l.Key, int(syscall.SIGHUP), true)
	if s := b.ended(l.Key); len(s.Tasks) != 2 || s.Tasks[0].Signal != int(syscall.SIGHUP) && s.Tasks[1].Signal != int(syscall.SIGHUP) || s.Signal != 1 {
		t.Errorf("%#v", s)
	}

	l = b.launch(0, 1, "sleep")
	b.ctl.Submit(nodeName, l)
	b.until(l.Key, "running", func(s protocol.Status, _ bool) bool { return s.State == protocol.Running })
	b.ctl.Kill(l.Key)
	if s := b.ended(l.Key); !s.Killed {
		t.Errorf("%#v", s)
	}

	l = b.launch(0, 1, "sleep")
	l.Timed = []protocol.TimedSignal{{At: time.Now().UnixMilli() + 300, Signal: int(syscall.SIGINT)}}
	if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Signal != int(syscall.SIGINT) || s.Timeup {
		t.Errorf("%#v", s)
	}

	l = b.launch(0, 1, "sleep")
	l.Deadline = time.Now().UnixMilli() + 300
	if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Signal != int(syscall.SIGTERM) || !s.Timeup {
		t.Errorf("%#v", s)
	}

	// What the node cannot do is told, and leaves nothing.
	l = b.launch(0, 1, "exit", "0")
	l.GPUs = []int32{8}
	if s := b.do(l); !strings.Contains(s.Error, "GPU 8: the node has 8") {
		t.Errorf("%#v", s)
	}
	if jobs, err := b.tree.Jobs(); err != nil || len(jobs) > 0 {
		t.Error(jobs, err)
	}
}

// A batch script, and the place of a container runtime.
func TestScriptAndHook(t *testing.T) {
	b := newBench(t, "")
	b.kill()
	b.args = append(b.args, "-hook", b.self+" act hook")
	b.start()
	l := b.launch(-5, 1)
	l.Script, l.Argv = "#!"+b.self+" visible\n", nil // its interpreter gets the script's path
	if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Exit != 0 {
		t.Errorf("%#v", s)
	}
	if got := b.read("slurm-1.out"); !strings.Contains(got, "hooked /") || !strings.Contains(got, "/script") {
		t.Error(got)
	}
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
		gpus   []int32
		bind   string
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
			job: bind.JobEnv{ID: 4, CPUsPerNode: []int32{64, 64}, TasksPerNode: []int32{4, 4}, NodeList: "gpu[001-002]"}, tasks: 4, gpus: []int32{0, 1, 4, 5}, bind: "per_task:1", output: "r04-%t",
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
	for _, conf := range []string{"", "ConstrainDevices=yes"} {
		t.Run(conf, func(t *testing.T) {
			b := newBench(t, conf)
			os.Mkdir(filepath.Join(b.out, "logs"), 0o777)
			var launches []protocol.Launch
			for _, r := range recipes {
				l := b.launch(r.step, r.tasks, "show", b.fake)
				l.Place, l.Job, l.Options, l.CPUsOnNode = r.place, r.job, r.opt, r.cpus
				l.GPUs, l.StepGPUs, l.BatchGPUs, l.GPUBind, l.Stdout = r.gpus, r.gpus, r.gpus, r.bind, r.output
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
						visible = r.gpus[rank : rank+1]
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

// On a machine with all controllers: cores are bound inside the fence, and a
// step that takes too much memory is told as such.
func TestCoresAndMemory(t *testing.T) {
	b := newBench(t, "ConstrainCores=yes ConstrainRAMSpace=yes ConstrainSwapSpace=yes MinRAMSpace=20")
	l := b.launch(0, 2)
	l.CPUBind, l.CPUs, l.StepCPUs, l.CPUsPerTask, l.Memory, l.StepMemory = "cores", "2-7", "2-5", 2, 200, 200
	l.Argv, l.Stdout = []string{b.self, "act", "cpus"}, "cpus-%t"
	if s := b.do(l); len(s.Tasks) != 2 || s.Tasks[0].Exit != 0 || s.Error != "" {
		t.Errorf("%#v", s)
	}
	var cpus strings.Builder
	for _, name := range []string{"cpus-0", "cpus-1"} {
		cpus.WriteString(b.read(name))
	}
	if cpus.String() != "2-3\n4-5\n" {
		t.Errorf("tasks may use %q", cpus.String())
	}
	l = b.launch(0, 2, "eat", "400")
	l.Memory, l.StepMemory, l.OOMKillStep = 80, 60, true
	if s := b.do(l); len(s.Tasks) != 2 || s.Tasks[0].Signal != int(syscall.SIGKILL) || s.OOM < 1 {
		t.Errorf("%#v", s)
	}
	l = b.launch(0, 1, "exit", "0")
	l.CPUs, l.StepCPUs = "0-3", "6"
	if s := b.do(l); !strings.Contains(s.Error, cgroupsv2.ErrNotGranted.Error()) {
		t.Errorf("%#v", s)
	}
}

// As a service with Delegate=yes: the agent starts inside of the group that it
// may use, makes room by moving into a leaf, and does so again after a restart.
func TestOwnDelegatedGroup(t *testing.T) {
	r, err := cgroupsv2.Detect(os.DirFS("/"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		missing(t, err.Error())
	}
	b := newBench(t, "ConstrainRAMSpace=yes")
	b.kill()
	i := slices.Index(b.args, "-cgroup")
	b.args = slices.Delete(b.args, i, i+2)
	for n, inside := range []string{".", "system"} {
		b.agent = exec.Command(b.self, b.args...)
		b.agent.Stderr = os.Stderr
		if err := b.tree.Group(inside).Start(b.agent); err != nil {
			t.Fatal(err)
		}
		l := b.launch(0, 1, "exit", strconv.Itoa(n))
		l.Memory, l.StepMemory = 100, 100
		if s := b.do(l); len(s.Tasks) != 1 || s.Tasks[0].Exit != n {
			t.Errorf("%#v", s)
		}
		if pids, err := b.tree.Group("system").Pids(); err != nil || !slices.Contains(pids, b.agent.Process.Pid) {
			t.Error(pids, err)
		}
		b.kill()
	}
}

func TestPatterns(t *testing.T) {
	l := &protocol.Launch{Key: protocol.Key{Step: 2}, Job: bind.JobEnv{ID: 128, Name: "lr", User: "tu001"}, NodeID: 3, Tasks: []protocol.Task{{Rank: 6}, {Rank: 7}}}
	array := *l
	array.Job.Array = &bind.ArrayEnv{JobID: 120, Task: 5}
	for _, c := range []struct {
		l             *protocol.Launch
		pattern, want string
	}{
		{l, "%x-%j.out", "lr-128.out"}, {l, "job%4j-%J-%s-%N-%n", "job0128-128.2-2-gpu001-3"}, {l, "%t%u%%%q%", "7tu001%%q%"},
		{&array, "logs/%x_%A_%a.out", "logs/lr_120_5.out"}, {l, "%a", "4294967294"}, {l, `a\%j`, "a%j"}, {l, "%3t", "007"},
	} {
		if got := expand(c.pattern, c.l, "gpu001.site.example", 1); got != c.want {
			t.Errorf("%q: %q, want %q", c.pattern, got, c.want)
		}
	}
}

// All of this again in a guest with cgroup v2 alone; see package cgroupsv2.
func TestInGuest(t *testing.T) {
	if os.Getenv("VMTEST") == "1" {
		return
	}
	if os.Getenv("BERTH_VM") != "1" {
		t.Skip("BERTH_VM=1 runs this package's tests in a QEMU guest with cgroup v2 alone")
	}
	out, err := exec.Command("sh", "../../cgroupsv2/testdata/vmtest/run.sh", ".", "-v", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"TestOutcomes", "TestScriptAndHook", "TestRecipes", "TestCoresAndMemory", "TestOwnDelegatedGroup", "TestKilledAgentLosesNothing", "TestLostSupervisor"} {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass in the guest\n%s", name, out)
		}
	}
}
