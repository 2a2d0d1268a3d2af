package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// A stepd looks after one step: it starts its tasks, waits for them and writes
// down how they ended. It is a process of its own in the step's slurm group,
// so the agent may come and go; of two that are started for a step, one works.
type stepd struct {
	store  store
	key    protocol.Key
	plan   *plan
	user   cgroupsv2.Group
	tree   *cgroupsv2.Tree
	status protocol.Status
	timer  *time.Timer
	todo   []protocol.TimedSignal // rising by time
}

// A leaving is a task's end.
type leaving struct {
	local int
	state *os.ProcessState
}

// stepdMain supervises the step whose directory is given.
func stepdMain(dir, name string) int {
	s := stepd{store: store{dir}}
	id, step, _ := strings.Cut(name, ".")
	s.key.SLUID = id
	if _, err := fmt.Sscan(step, &s.key.Step); err != nil {
		return refuse(1, err)
	}
	// The agent may hold it for an instant, to see that nobody does.
	held, err := lockWithin(s.store.path(s.key, lockFile), time.Second)
	if err != nil {
		return refuse(1, err)
	}
	if held == nil {
		return 0 // another looks after the step
	}
	defer held.Close()
	first, err := once(s.store.path(s.key, startedFile))
	if err != nil {
		return refuse(1, err)
	}
	if !first {
		return 0 // another looked after the step: it must not run again
	}
	s.status = protocol.Status{Key: s.key, State: protocol.Running, Started: now()}
	if err := s.run(); err != nil {
		s.status.Error = err.Error()
	}
	if err := s.end(); err != nil {
		return refuse(1, err)
	}
	return 0
}

func now() int64 { return time.Now().UnixMilli() }

// run starts the tasks and waits for all of them.
func (s *stepd) run() error {
	o, err := s.store.order(s.key)
	if err != nil {
		return err
	}
	if s.plan, err = work(o); err != nil {
		return err
	}
	if s.tree, err = cgroupsv2.Open(o.Tree); err != nil {
		return err
	}
	s.user = s.tree.Group(o.Conf.UserPath(&s.plan.job, s.plan.step.ID))
	if err := save(s.store.path(s.key, statusFile), &s.status); err != nil {
		return err
	}
	s.todo = slices.Clone(o.Launch.Timed)
	slices.SortStableFunc(s.todo, func(a, b protocol.TimedSignal) int { return int(a.At - b.At) })
	ends := make(chan leaving)
	running := 0
	for local := range o.Launch.Tasks {
		if s.store.has(s.key, killFile) {
			break
		}
		if err = s.begin(local, ends); err != nil {
			_, kill := s.user.Kill()
			err = errors.Join(err, kill)
			break
		}
		running++
	}
	if s.store.has(s.key, killFile) { // it may have come between the last look and the start
		_, kill := s.user.Kill()
		err = errors.Join(err, kill)
	}
	return errors.Join(err, s.wait(ends, running))
}

// begin starts a task in its group.
func (s *stepd) begin(local int, ends chan<- leaving) error {
	o := s.plan.order
	l := &o.Launch
	spec := taskSpec{Argv: l.Argv, Env: s.plan.environ(local), Dir: l.Dir, CPUs: s.plan.masks[local]}
	if l.Script != "" {
		spec.Argv = append([]string{s.store.path(s.key, scriptFile)}, l.Argv...)
	}
	spec.Argv = append(slices.Clone(o.Hook), spec.Argv...)
	out := l.Stdout
	if out == "" {
		if out = "slurm-%j.out"; l.Job.Array != nil {
			out = "slurm-%A_%a.out"
		}
	}
	for to, pattern := range map[*string]string{&spec.Stdin: l.Stdin, &spec.Stdout: out, &spec.Stderr: l.Stderr} {
		*to = expand(pattern, l, o.Node, local)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	c := exec.Command("/proc/self/exe", "task")
	c.ExtraFiles = []*os.File{r}
	c.Env = []string{"GOMAXPROCS=1"}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 && l.UID != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: l.UID, Gid: l.GID}
	}
	group := s.tree.Group(o.Conf.TaskPath(&s.plan.job, s.plan.step.ID, l.Tasks[local].Rank))
	if err := group.Start(c); err != nil {
		w.Close()
		return fmt.Errorf("nodeagent: start task %d: %w", l.Tasks[local].Rank, err)
	}
	go func() {
		json.NewEncoder(w).Encode(&spec) // a reader that is gone shows in how the process ends
		w.Close()
		c.Wait()
		ends <- leaving{local, c.ProcessState}
	}()
	return nil
}

// wait waits for the tasks, gives the signals that were decided with the
// start, and holds the step to its deadline.
func (s *stepd) wait(ends <-chan leaving, running int) error {
	l := &s.plan.order.Launch
	var errs []error
	killAt := int64(0)
	s.timer = time.NewTimer(s.next(l, killAt))
	defer s.timer.Stop()
	for running > 0 {
		select {
		case e := <-ends:
			running--
			end := protocol.TaskEnd{Rank: l.Tasks[e.local].Rank}
			if ws := e.state.Sys().(syscall.WaitStatus); ws.Signaled() {
				end.Signal = int(ws.Signal())
			} else {
				end.Exit = ws.ExitStatus()
			}
			s.status.Tasks = append(s.status.Tasks, end)
			errs = append(errs, save(s.store.path(s.key, statusFile), &s.status))
			if l.KillOnBadExit && (end.Exit != 0 || end.Signal != 0) {
				_, err := s.user.Kill()
				errs = append(errs, err)
			}
		case <-s.timer.C:
			at := now()
			for len(s.todo) > 0 && s.todo[0].At <= at {
				errs = append(errs, s.give(s.todo[0].Signal, s.todo[0].Leaders))
				s.todo = s.todo[1:]
			}
			if killAt > 0 && killAt <= at {
				_, err := s.user.Kill()
				errs = append(errs, err)
				killAt = at + 1000
			}
			if l.Deadline > 0 && l.Deadline <= at && !s.status.Timeup {
				s.status.Timeup = true
				errs = append(errs, s.give(int(syscall.SIGTERM), false), s.give(int(syscall.SIGCONT), false))
				killAt = at + max(l.KillWaitMS, 1)
			}
			s.timer.Reset(s.next(l, killAt))
		}
	}
	return errors.Join(errs...)
}

// next returns how long to sleep.
func (s *stepd) next(l *protocol.Launch, killAt int64) time.Duration {
	at := now() + int64(time.Hour/time.Millisecond)
	if len(s.todo) > 0 {
		at = min(at, s.todo[0].At)
	}
	if l.Deadline > 0 && !s.status.Timeup {
		at = min(at, l.Deadline)
	}
	if killAt > 0 {
		at = min(at, killAt)
	}
	return max(time.Duration(at-now())*time.Millisecond, 0)
}

// give sends a signal to the step's processes, or to those alone that were
// started as tasks.
func (s *stepd) give(sig int, leaders bool) error {
	return give(s.user, sig, leaders)
}

// give sends a signal to a step. A task's own process is the first of its
// group: the one whose parent is outside, found as the leader of a session.
func give(user cgroupsv2.Group, sig int, leaders bool) error {
	if !leaders {
		_, err := user.Signal(syscall.Signal(sig))
		return err
	}
	pids, err := user.Pids()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// after the name: state, parent, group, session
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 4 || slices.Contains(pids, atoi(fields[1])) || fields[3] != fmt.Sprint(pid) {
			continue
		}
		if err := syscall.Kill(pid, syscall.Signal(sig)); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}

func atoi(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

// end ends what the tasks left behind, reads what the kernel counted, and
// writes the step's end down.
func (s *stepd) end() error {
	if s.tree != nil && s.user.Exists() {
		errs := []error{s.clean()}
		e, err := s.user.Events()
		s.status.OOM = e.OOMKill
		if err = errors.Join(append(errs, err)...); err != nil {
			s.status.Error = strings.TrimSpace(s.status.Error + "\n" + err.Error())
		}
	}
	s.status.Killed = s.store.has(s.key, killFile)
	s.status.State, s.status.Ended = protocol.Ended, now()
	return save(s.store.path(s.key, statusFile), &s.status)
}

func (s *stepd) clean() error {
	if _, err := s.user.Kill(); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	_, err := s.user.Wait(ctx, cgroupsv2.Empty)
	return err
}
