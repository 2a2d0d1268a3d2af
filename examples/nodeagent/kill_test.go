package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// look compares, at the agent's first message after a start, the group tree,
// the agent's store and what the controller handed out. The agent is waiting
// for its answer meanwhile, so nothing moves but the steps themselves.
func (b *bench) look(m *protocol.Sync, submitted map[protocol.Key]bool) error {
	keys, err := store{b.state}.keys()
	if err != nil {
		return err
	}
	told := map[string]protocol.State{}
	for _, s := range m.Steps {
		told[s.Key.String()] = s.State
		if !submitted[s.Key] {
			return fmt.Errorf("%v was never handed out", s.Key)
		}
	}
	for _, k := range keys {
		if _, ok := told[k.String()]; !ok {
			return fmt.Errorf("%v is in the store and was not told", k)
		}
	}
	if len(keys) != len(told) {
		return fmt.Errorf("told %v, stored %v", told, keys)
	}
	// What the controller heard before is not taken back.
	far := map[protocol.State]int{protocol.Accepted: 1, protocol.Running: 2, protocol.Ended: 3}
	for k := range submitted {
		last, gone := b.ctl.Status(b.name, k)
		now, listed := told[k.String()]
		switch {
		case gone && listed:
			return fmt.Errorf("%v was released and is %s again", k, now)
		case !listed && far[last.State] > 0 && last.State != protocol.Ended:
			return fmt.Errorf("%v was %s and is lost", k, last.State)
		case listed && far[now] < far[last.State]:
			return fmt.Errorf("%v was %s and is %s", k, last.State, now)
		}
	}
	jobs, err := b.tree.Jobs()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, j := range jobs {
		if len(j.Steps) == 0 {
			return fmt.Errorf("group %s is left without a step", j.Name)
		}
		for _, s := range j.Steps {
			name := j.Name + "." + strconv.Itoa(int(s))
			if have[name] = true; told[name] == "" || told[name] == protocol.Ended {
				return fmt.Errorf("group of %s is left, state %q", name, told[name])
			}
		}
	}
	for name, state := range told {
		if state != protocol.Ended && !have[name] {
			return fmt.Errorf("%s is %s and has no group", name, state)
		}
	}
	return nil
}

// The agent is killed without a warning at 50 points: each job runs once, none
// is lost, no group is left, and after each start all sides agree.
func TestKilledAgentLosesNothing(t *testing.T) {
	const kills = 50
	perKill, within, conf := 2, 60*time.Millisecond, "ConstrainDevices=yes"
	if os.Getenv("VMTEST") == "1" { // much slower, and all controllers are there
		perKill, within, conf = 1, 900*time.Millisecond, "ConstrainDevices=yes ConstrainCores=yes ConstrainRAMSpace=yes"
	}
	b := newBench(t, conf)
	b.kill()
	submitted := map[protocol.Key]bool{}
	type seen struct{ err error }
	first := make(chan seen, 1)
	looking := make(chan bool, 1)
	b.ctl.Watch(func(m *protocol.Sync) {
		select {
		case <-looking:
			first <- seen{b.look(m, submitted)}
		default:
		}
	})
	var all []protocol.Key
	seed := uint64(1)
	random := func(within time.Duration) time.Duration {
		seed = seed*6364136223846793005 + 1442695040888963407
		return time.Duration(seed>>33) % within
	}
	for point := range kills {
		if point%5 == 4 { // somewhere on its way up
			b.start()
			time.Sleep(random(within))
			b.kill()
		}
		for i := range perKill {
			l := b.launch(int32(i), 1, "mark", filepath.Join(b.out, fmt.Sprintf("mark-%d-%d", point, i)), strconv.Itoa(10*(point%7)))
			l.GPUs, l.StepGPUs = []int32{int32(point % 8)}, []int32{int32(point % 8)}
			l.Stdout = "out-" + l.Key.String()
			submitted[l.Key] = true
			all = append(all, l.Key)
			b.ctl.Submit(nodeName, l)
		}
		looking <- true
		b.start()
		select {
		case s := <-first:
			if s.err != nil {
				t.Fatalf("point %d: %v", point, s.err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("point %d: the agent does not speak", point)
		}
		time.Sleep(random(within))
		b.kill()
	}
	b.start()
	for _, k := range all {
		if s := b.ended(k); len(s.Tasks) != 1 || s.Tasks[0] != (protocol.TaskEnd{}) || s.Error != "" {
			t.Errorf("%#v", s)
		}
	}
	for point := range kills {
		for i := range perKill {
			if got := b.read(fmt.Sprintf("mark-%d-%d", point, i)); got != "ran\n" {
				t.Errorf("job %d.%d ran %d times", point, i, strings.Count(got, "\n"))
			}
		}
	}
	if jobs, err := b.tree.Jobs(); err != nil || len(jobs) > 0 {
		t.Error(jobs, err)
	}
	if keys, err := (store{b.state}).keys(); err != nil || len(keys) > 0 {
		t.Error(keys, err)
	}
}

// An agent that was killed while it started a supervisor leaves its lock to that
// process until exec closes it: the next agent waits for it.
func TestLockOfKilledAgent(t *testing.T) {
	b := newBench(t, "")
	b.kill()
	held, err := lockWithin(filepath.Join(b.state, agentLock), time.Second)
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	b.start()
	time.Sleep(300 * time.Millisecond)
	held.Close()
	if s := b.do(b.launch(0, 1, "exit", "0")); len(s.Tasks) != 1 || s.Tasks[0] != (protocol.TaskEnd{}) {
		t.Errorf("%#v", s)
	}
}

// A supervisor that is killed loses its step, not the node: the step is told
// as lost, its tasks go, and a step that was never started is not started twice.
func TestLostSupervisor(t *testing.T) {
	b := newBench(t, "")
	l := b.launch(0, 1, "sleep")
	b.ctl.Submit(nodeName, l)
	b.says("slurm-1.out", "asleep")
	pids, err := b.tree.Group(l.SLUID + "/step_0/slurm").Pids()
	if err != nil || len(pids) != 1 {
		t.Fatal(pids, err)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := b.ended(l.Key); !strings.Contains(s.Error, "supervisor") {
		t.Errorf("%#v", s)
	}
	if jobs, err := b.tree.Jobs(); err != nil || len(jobs) > 0 {
		t.Error(jobs, err)
	}
}
