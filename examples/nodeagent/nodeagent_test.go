package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
	url   string
	conf  string
	name  string // the node's
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

// newBench makes a controller and a node; extra are arguments of the agent.
func newBench(t *testing.T, conf string, extra ...string) *bench {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs root")
	}
	b := &bench{t: t, conf: conf, out: t.TempDir()}
	os.Chmod(b.out, 0o777)
	for d := b.out; d != "/" && d != os.TempDir(); d = filepath.Dir(d) { // other users' tasks write there
		os.Chmod(d, 0o777)
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	b.ctl = &testctl.Controller{AfterMS: 20, Registered: protocol.Registered{CgroupConf: conf, TracksMemory: true}}
	srv := httptest.NewServer(b.ctl)
	t.Cleanup(srv.Close)
	b.url = srv.URL
	return b.beside(nodeName, extra...)
}

// beside makes another node of the same controller, whose tasks share the
// directory for output.
func (b *bench) beside(name string, extra ...string) *bench {
	t := b.t
	t.Helper()
	r, err := cgroupsv2.Detect(os.DirFS("/"))
	if err != nil || r.Mount == "" {
		missing(t, "no cgroup2 mount")
	}
	dir := filepath.Join(r.Mount, fmt.Sprintf("berth-agent-%s-%s-%d", strings.NewReplacer("/", "-", "=", "-").Replace(t.Name()), name, os.Getpid()))
	top, err := cgroupsv2.Open(r.Mount)
	if err != nil {
		missing(t, err.Error())
	}
	c, _, err := cgroupsv2.ParseConf(b.conf)
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
	n := *b
	n.name, n.state, n.fake, n.agent = name, t.TempDir(), t.TempDir(), nil
	t.Cleanup(func() {
		n.kill()
		g := top.Group(filepath.Base(dir))
		g.Kill()
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := g.Remove(ctx); err != nil {
			t.Error(err)
		}
		top.Close()
	})
	if n.tree, err = cgroupsv2.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.tree.Close() })
	n.args = append([]string{"agent", "-node", name, "-controller", b.url, "-state", n.state, "-cgroup", dir,
		"-fake-gpus", "8", "-fake-dir", n.fake}, extra...)
	n.start()
	return &n
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
		Job:     bind.JobEnv{ID: uint64(b.next), Name: "job", NodeList: b.name, CPUsPerNode: []int32{1}, TasksPerNode: []int32{int32(tasks)}},
		StepEnv: bind.StepEnv{ID: step, NodeList: b.name, Tasks: int32(tasks), TasksPerNode: []int32{int32(tasks)}},
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
		if s, gone = b.ctl.Status(b.name, k); ok(s, gone) {
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
	b.ctl.Submit(b.name, l)
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
	for _, name := range []string{"TestOutcomes", "TestScriptAndHook", "TestRecipes", "TestHetJob", "TestBadExitOnOtherNode", "TestCoresAndMemory", "TestOwnDelegatedGroup", "TestScope", "TestKilledAgentLosesNothing", "TestLostSupervisor"} {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass in the guest\n%s", name, out)
		}
	}
}
