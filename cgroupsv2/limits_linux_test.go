package cgroupsv2

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// What only a machine without version 1 controllers can show.

func everything() Conf {
	c := DefaultConf()
	c.ConstrainCores, c.ConstrainRAM, c.ConstrainSwap, c.MinRAM = true, true, true, 1
	return c
}

func list(t *testing.T, text string) []uint64 {
	t.Helper()
	w, err := ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A task cannot leave its cores, and its memory comes from its nodes.
func TestTaskStaysOnItsCores(t *testing.T) {
	tree := open(t, "cpuset", "memory")
	online := ask(t, tree.Group("."), "cpus", "0-1023")
	if online != "ok 0-7" {
		missing(t, "8 CPUs, there are "+online)
	}
	c := everything()
	n := Node{RealMemory: 400, TracksMemory: true, Mems: list(t, "1")}
	j := Job{SLUID: 1, CPUs: list(t, "4-7"), Memory: 200}
	s := Step{CPUs: list(t, "5,7"), Memory: 100, Tasks: []Task{{}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	g := tree.Group(c.TaskPath(&j, 0, 0))
	for asked, want := range map[string]string{"0-1023": "ok 5,7", "5": "ok 5", "0-3": "EINVAL 5,7"} {
		if got := ask(t, g, "cpus", asked); got != want {
			t.Errorf("asked for %s: %s, want %s", asked, got, want)
		}
	}
	p := begin(t, g, "eat", "24")
	if p.line() != "full" {
		t.Fatal("no memory")
	}
	text, err := tree.k.read(g.Path() + "/memory.numa_stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "anon "); ok && (!strings.HasPrefix(rest, "N0=0 ") || strings.HasSuffix(rest, "N1=0\n")) {
			t.Errorf("memory of other nodes: %s", line)
		}
	}
	cpus, err := g.CPUs()
	if err != nil || !equalSets(cpus, s.CPUs) {
		t.Error(cpus, err)
	}
	// What the job does not have is refused, and nothing is left of the try.
	s.ID, s.CPUs = 1, list(t, "0-1")
	err = tree.Apply(c.AppendStart(nil, &n, &j, &s))
	if !errors.Is(err, ErrNotGranted) || tree.Group(c.StepPath(&j, 1)).Exists() {
		t.Errorf("cores of another job: %v", err)
	}
	if s.CPUs = list(t, "4999"); tree.Apply(c.AppendStart(nil, &n, &j, &s)) == nil {
		t.Error("a CPU that no machine has was granted")
	}
	// A core that goes away and comes back.
	hot := "/sys/devices/system/cpu/cpu7/online"
	if os.Getenv("VMTEST") != "1" {
		return
	}
	for _, step := range []struct{ state, want string }{{"0", "5"}, {"1", "5,7"}} {
		if err := os.WriteFile(hot, []byte(step.state), 0); err != nil {
			t.Fatal(err)
		}
		if cpus, err := g.CPUs(); err != nil || string(AppendList(nil, cpus)) != step.want {
			t.Errorf("after %s to cpu7/online: %s %v", step.state, AppendList(nil, cpus), err)
		}
	}
}

// A task that takes too much dies, alone: its sibling and its job live on.
func TestTaskDiesAloneAtItsLimit(t *testing.T) {
	tree := open(t, "memory")
	c := everything()
	c.ConstrainCores = false
	n := Node{RealMemory: 400, TracksMemory: true}
	j := Job{SLUID: 1, Memory: 150}
	s := Step{Memory: 150, Tasks: []Task{{Rank: 0, Memory: 40}, {Rank: 1}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	sibling := begin(t, tree.Group(c.TaskPath(&j, 0, 1)), "eat", "16")
	if sibling.line() != "full" {
		t.Fatal("sibling")
	}
	task := tree.Group(c.TaskPath(&j, 0, 0))
	base, err := task.Events()
	if err != nil {
		t.Fatal(err)
	}
	if p := begin(t, task, "eat", "90"); p.line() != "" || !p.killed() {
		t.Error("the task lived")
	}
	e, err := task.Events()
	if e = e.Sub(base); err != nil || e.OOMKill != 1 || e.Max == 0 || e.Populated {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := tree.Group(c.UserPath(&j, 0)).Events(); err != nil || e.OOMKill != 1 || !e.Populated {
		t.Errorf("step: %+v %v", e, err)
	}
	if st, err := task.Stats(); err != nil || st.MemoryPeak < 30<<20 || st.UserMicros+st.SystemMicros == 0 {
		t.Errorf("%+v %v", st, err)
	}
	sibling.in.Close()
	if err := sibling.Wait(); err != nil {
		t.Errorf("the sibling: %v", err)
	}
}

// With OOMKillStep all of the step go, and the job's other step stays.
func TestStepDiesWhole(t *testing.T) {
	tree := open(t, "memory")
	c := everything()
	c.ConstrainCores = false
	n := Node{RealMemory: 400, TracksMemory: true}
	j := Job{SLUID: 1, Memory: 200}
	s := Step{Memory: 60, OOMKill: true, Tasks: []Task{{Rank: 0}, {Rank: 1}}}
	other := Step{ID: 1, Memory: 60, Tasks: []Task{{}}}
	apply(t, tree, c.AppendStart(c.AppendStart(nil, &n, &j, &s), &n, &j, &other)...)
	sibling := begin(t, tree.Group(c.TaskPath(&j, 0, 1)), "wait")
	stays := begin(t, tree.Group(c.TaskPath(&j, 1, 0)), "wait")
	sibling.line()
	stays.line()
	if p := begin(t, tree.Group(c.TaskPath(&j, 0, 0)), "eat", "100"); !p.killed() || !sibling.killed() {
		t.Error("somebody of the step lived")
	}
	if e, err := tree.Group(c.UserPath(&j, 0)).Events(); err != nil || e.OOMKill < 2 || e.OOMGroupKill != 1 {
		t.Errorf("%+v %v", e, err)
	}
	stays.in.Close()
	if err := stays.Wait(); err != nil {
		t.Error("the other step:", err)
	}
}

// Swap lets a process live beyond its memory, as far as it is given.
func TestSwap(t *testing.T) {
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Count(string(text), "\n") < 2 {
		missing(t, "swap")
	}
	tree := open(t, "memory")
	c := everything()
	c.ConstrainCores, c.AllowedSwap = false, 100
	n := Node{RealMemory: 400, TracksMemory: true}
	j := Job{SLUID: 1, Memory: 40}
	s := Step{Memory: 40, Tasks: []Task{{}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	g := tree.Group(c.TaskPath(&j, 0, 0))
	p := begin(t, g, "eat", "56")
	if p.line() != "full" {
		t.Fatal("killed though there is swap")
	}
	if st, err := g.Stats(); err != nil || st.Swap < 8<<20 || st.Memory > 41<<20 {
		t.Errorf("%+v %v", st, err)
	}
}

// Shrinking a running job: harmless is done, harmful is told before, and done
// all the same when asked: the kernel kills.
func TestShrinkRunningJob(t *testing.T) {
	tree := open(t, "memory")
	c := everything()
	c.ConstrainCores = false
	n := Node{RealMemory: 400, TracksMemory: true}
	j := Job{SLUID: 1, Memory: 150}
	s := Step{Memory: 150, Tasks: []Task{{}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	g := tree.Group(c.TaskPath(&j, 0, 0))
	p := begin(t, g, "eat", "60")
	if p.line() != "full" {
		t.Fatal("no memory")
	}
	resize := func(mib int64) []Op {
		ops, err := c.AppendResize(nil, &n, &j, []Step{s}, mib)
		if err != nil {
			t.Fatal(err)
		}
		return ops
	}
	soft := resize(100)
	if err := tree.Shrinks(soft); err != nil {
		t.Fatal(err)
	}
	apply(t, tree, soft...)
	if got, err := tree.number(c.JobPath(&j) + "/memory.max"); err != nil || got != 100<<20 {
		t.Error(got, err)
	}
	hard := resize(20)
	if e, ok := errors.AsType[*ShrinkError](tree.Shrinks(hard)); !ok || e.Use < 60<<20 || e.Max != 20<<20 || e.Path != c.JobPath(&j) {
		t.Fatal(e)
	}
	apply(t, tree, hard...)
	if !p.killed() {
		t.Error("not killed")
	}
	if e, err := g.Events(); err != nil || e.OOMKill != 1 {
		t.Errorf("%+v %v", e, err)
	}
}

// Processes stay in leaves; a service makes room by moving into one.
func TestOnlyLeavesHoldProcesses(t *testing.T) {
	tree := open(t, "memory")
	apply(t, tree, Op{Kind: OpEnable, Path: ".", Controllers: []string{"memory"}}, Op{Kind: OpMkdir, Path: "unit"})
	unit := tree.Group("unit")
	p := begin(t, unit, "wait")
	p.line()
	give := Op{Kind: OpEnable, Path: "unit", Controllers: []string{"memory"}}
	if err := tree.Apply([]Op{give}); !errors.Is(err, ErrInside) || !errors.Is(err, syscall.EBUSY) {
		t.Fatal(err)
	}
	if n, err := unit.Vacate("system"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	apply(t, tree, give)
	c := command("wait")
	if err := unit.Start(c); !errors.Is(err, ErrInside) {
		t.Errorf("start above leaves: %v", err)
	}
	if err := unit.Adopt(p.Process.Pid); !errors.Is(err, ErrInside) {
		t.Errorf("adopt above leaves: %v", err)
	}
	err := tree.Apply([]Op{{Kind: OpEnable, Path: "unit", Controllers: []string{"cpuset"}}})
	if e, ok := errors.AsType[*ControllerError](err); !ok || e.Name != "cpuset" {
		t.Errorf("missing controller: %v", err)
	}
	err = tree.Apply([]Op{{Kind: OpWrite, Path: "unit", File: "cpuset.cpus", Value: "0"}})
	if e, ok := errors.AsType[*ControllerError](err); !ok || e.Name != "cpuset" {
		t.Errorf("limit without its controller: %v", err)
	}
}

func TestThreadsAreCounted(t *testing.T) {
	tree := open(t, "pids")
	n := Node{PIDs: 40}
	c := DefaultConf()
	j, s := Job{SLUID: 1}, Step{Tasks: []Task{{}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	if got := ask(t, tree.Group(c.TaskPath(&j, 0, 0)), "open", zero, "0"); got != "ok" {
		t.Error(got)
	}
	if got, err := tree.number(c.JobPath(&j) + "/pids.max"); err != nil || got != 40 {
		t.Error(got, err)
	}
}
