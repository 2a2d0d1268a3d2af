package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/berth-sched/berth/cgroupsv2"
)

// ownGroupBench is a node whose agent finds its group by itself.
func ownGroupBench(t *testing.T) *bench {
	t.Helper()
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
	return b
}

// startIn starts the agent as systemd does: inside of a group.
func (b *bench) startIn(inside string) error {
	b.agent = exec.Command(b.self, b.args...)
	b.agent.Stderr = os.Stderr
	err := b.tree.Group(inside).Start(b.agent)
	if err != nil {
		b.agent = nil
	}
	return err
}

// As a service with Delegate=yes and DelegateSubgroup=system: the agent moves
// into the leaf if it is not there, jobs live beside it, and live on when the
// service is started again. Without the subgroup that start fails.
func TestOwnDelegatedGroup(t *testing.T) {
	b := ownGroupBench(t)
	if err := b.startIn("."); err != nil {
		t.Fatal(err)
	}
	l := b.launch(0, 1, "sleep")
	l.Memory, l.StepMemory = 100, 100
	b.ctl.Submit(b.name, l)
	b.says("slurm-1.out", "asleep")
	if pids, err := b.tree.Group(supervised).Pids(); err != nil || !slices.Contains(pids, b.agent.Process.Pid) {
		t.Error(pids, err)
	}
	b.kill()

	if err := b.startIn("."); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a start outside of the subgroup while jobs run: %v", err)
	}
	if err := b.startIn(supervised); err != nil {
		t.Fatal(err)
	}
	m := b.launch(0, 1, "exit", "3")
	m.Memory, m.StepMemory = 100, 100
	if s := b.do(m); len(s.Tasks) != 1 || s.Tasks[0].Exit != 3 {
		t.Errorf("%#v", s)
	}
	b.ctl.Kill(l.Key)
	if s := b.ended(l.Key); !s.Killed || len(s.Tasks) != 1 || s.Tasks[0].Signal != int(syscall.SIGKILL) || s.Error != "" {
		t.Errorf("the job of before the restart: %#v", s)
	}
}

// In a scope of its own the delegated group has a placeholder, which the agent
// puts aside.
func TestScope(t *testing.T) {
	b := newBench(t, "ConstrainDevices=yes")
	b.kill()
	sleeper := exec.Command(b.self, "act", "sleep")
	if err := b.tree.Group(".").Start(sleeper); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	b.start()
	if s := b.do(b.launch(0, 1, "exit", "0")); len(s.Tasks) != 1 || s.Tasks[0].Exit != 0 || s.Error != "" {
		t.Errorf("%#v", s)
	}
	if pids, err := b.tree.Group(supervised).Pids(); err != nil || !slices.Contains(pids, sleeper.Process.Pid) {
		t.Error(pids, err)
	}
}
