package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
	"github.com/berth-sched/berth/examples/nodeagent/testctl"
)

// tryMain runs one step on this machine: a controller, an agent and files that
// stand for GPUs, all for the length of the step, in a cgroup of its own.
func tryMain(args []string) error {
	f := flag.NewFlagSet("nodeagent try", flag.ContinueOnError)
	tasks := f.Int("tasks", 1, "number of tasks")
	gpus := f.String("gpus", "", "numbers of the GPUs that the step holds, as 0,1,4-5")
	fake := f.Int("fake-gpus", 8, "GPUs of the node")
	gpuBind := f.String("gpu-bind", "", "as srun's --gpu-bind")
	conf := f.String("conf", "ConstrainDevices=yes", "text of cgroup.conf")
	if err := f.Parse(args); err != nil {
		return err
	}
	words, err := cgroupsv2.ParseList(*gpus)
	if err != nil {
		return err
	}
	r, err := cgroupsv2.Detect(os.DirFS("/"))
	if err != nil {
		return err
	}
	if r.Mount == "" {
		return cgroupsv2.ErrNotUnified
	}
	tmp, err := os.MkdirTemp("", "nodeagent")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	group := filepath.Join(r.Mount, "nodeagent-try-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	defer os.Remove(group)
	l := protocol.Launch{Key: protocol.Key{SLUID: cgroupsv2.NewSLUID(2, uint64(time.Now().UnixMilli()), 0).String()}, Place: bind.PlaceTask,
		Job:     bind.JobEnv{ID: 1, Name: "try", NodeList: "node", CPUsPerNode: []int32{1}, TasksPerNode: []int32{int32(*tasks)}},
		StepEnv: bind.StepEnv{NodeList: "node", Tasks: int32(*tasks), TasksPerNode: []int32{int32(*tasks)}},
		CPUBind: "none", CPUsOnNode: 1, GPUBind: *gpuBind, Argv: f.Args(), Env: []string{"FAKE_GPUS=" + filepath.Join(tmp, "dev")},
		Dir: tmp, Stdout: "out.%t"}
	for n := range int32(len(words) * 64) {
		if words[n/64]>>(n%64)&1 != 0 {
			l.GPUs = append(l.GPUs, n)
		}
	}
	l.StepGPUs, l.BatchGPUs = l.GPUs, l.GPUs
	for rank := range *tasks {
		l.Tasks = append(l.Tasks, protocol.Task{Rank: int32(rank)})
	}
	return tryStep(l, *conf, *fake, tmp, group)
}

// tryStep runs the step and prints what its tasks said.
func tryStep(l protocol.Launch, conf string, fake int, tmp, group string) error {
	ctl := &testctl.Controller{AfterMS: 20, Registered: protocol.Registered{CgroupConf: conf, TracksMemory: true}}
	ctl.Submit("node", l)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: ctl}
	go srv.Serve(ln)
	defer srv.Shutdown(context.Background())
	c := exec.Command("/proc/self/exe", "-node", "node", "-controller", "http://"+ln.Addr().String(), "-state", filepath.Join(tmp, "state"),
		"-cgroup", group, "-fake-gpus", strconv.Itoa(fake), "-fake-dir", filepath.Join(tmp, "dev"))
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the agent ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
		s, gone := ctl.Status("node", l.Key)
		if !gone {
			continue
		}
		c.Process.Kill()
		<-ended
		for _, t := range l.Tasks {
			out, _ := os.ReadFile(filepath.Join(tmp, "out."+strconv.Itoa(int(t.Rank))))
			fmt.Printf("task %d:\n%s", t.Rank, out)
		}
		fmt.Printf("ends: %+v, out of memory: %d %s\n", s.Tasks, s.OOM, s.Error)
		return nil
	}
}
