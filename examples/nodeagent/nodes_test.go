package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// Recipe R07, a heterogeneous job: its script runs on the first node of the
// first component and knows both; a step of the second runs on that one's node;
// a step of both has a task on each.
func TestHetJob(t *testing.T) {
	gpu := newBench(t, "ConstrainDevices=yes")
	cpu := gpu.beside("cpu01")
	opts := [2]bind.OptionEnv{{Tasks: 256, TasksPerNode: 64}, {Tasks: 1, GPUs: "4", CPUsPerGPU: 16}}
	jobs := [2]bind.JobEnv{
		{ID: 29, Name: "het", Partition: "cpu", NodeList: "cpu[01-04]", CPUsPerNode: []int32{64, 64, 64, 64}, TasksPerNode: []int32{64, 64, 64, 64}},
		{ID: 30, Name: "het", Partition: "gpu", NodeList: "gpu001", CPUsPerNode: []int32{64}, TasksPerNode: []int32{1}},
	}
	het := []bind.HetEnv{{Job: &jobs[0], Options: &opts[0]}, {Job: &jobs[1], Options: &opts[1]}}
	part := func(component int, step int32, tasks ...int32) protocol.Launch {
		l := gpu.launch(step, len(tasks), "show", gpu.fake)
		l.Job, l.Options = jobs[component], opts[component]
		l.Job.ID, l.Job.Het = 29, het // steps of all components go by the leader's number
		l.StepEnv.NodeList, l.CPUsOnNode = l.Job.NodeList, 64
		for i, rank := range tasks {
			l.Tasks[i].Rank = rank
		}
		if component == 1 {
			l.GPUs, l.StepGPUs = []int32{0, 1, 4, 5}, []int32{0, 1, 4, 5}
		}
		return l
	}
	run := func(b *bench, file string, l protocol.Launch) string {
		l.Stdout = file
		b.ctl.Submit(b.name, l)
		if s := b.ended(l.Key); len(s.Tasks) != 1 || s.Tasks[0].Exit != 0 || s.Error != "" {
			t.Fatalf("%s: %#v", file, s)
		}
		return b.read(file)
	}
	out := run(cpu, "script", part(0, -5, 0))
	facts(t, "script", out, "SLURM_HET_SIZE=2 SLURM_PACK_SIZE=2 SLURM_JOB_ID=29 SLURM_JOB_NODELIST_HET_GROUP_0=cpu[01-04] SLURM_JOB_NODELIST_HET_GROUP_1=gpu001 SLURM_JOB_ID_HET_GROUP_1=30 SLURM_GPUS_HET_GROUP_1=4 SLURM_TASKS_PER_NODE_HET_GROUP_0=64(x4) SLURM_JOB_NODELIST_PACK_GROUP_1=gpu001 SLURMD_NODENAME=cpu01 !CUDA_VISIBLE_DEVICES")
	if got := sees(out); got != nil {
		t.Errorf("the script can open %v", got)
	}

	l := part(1, 0, 0)
	l.StepEnv = bind.StepEnv{NodeList: "gpu001", Tasks: 1, TasksPerNode: []int32{1}}
	out = run(gpu, "step", l)
	facts(t, "step of the second component", out, "SLURM_JOB_NODELIST=gpu001 SLURM_JOB_ID=29 SLURM_STEP_GPUS=0,1,4,5 CUDA_VISIBLE_DEVICES=0,1,2,3 SLURM_NTASKS=1 SLURM_PROCID=0 SLURMD_NODENAME=gpu001")
	if got := fmt.Sprint(sees(out)); got != "[0 1 4 5]" {
		t.Errorf("the step can open %s", got)
	}

	both := [2]protocol.Launch{part(0, 1, 0), part(1, 1, 1)}
	both[1].Key = both[0].Key
	for i, b := range []*bench{cpu, gpu} {
		both[i].StepEnv = bind.StepEnv{ID: 1, NodeList: "cpu01,gpu001", Tasks: 2, TasksPerNode: []int32{1, 1}}
		both[i].NodeID, both[i].Stdout = int32(i), "both-%t"
		b.ctl.Submit(b.name, both[i])
	}
	for i, b := range []*bench{cpu, gpu} {
		if s := b.ended(both[i].Key); len(s.Tasks) != 1 || s.Tasks[0] != (protocol.TaskEnd{Rank: int32(i)}) {
			t.Fatalf("%#v", s)
		}
		facts(t, "step of both", b.read(fmt.Sprintf("both-%d", i)), fmt.Sprintf("SLURM_PROCID=%d SLURM_NODEID=%d SLURM_NTASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_JOB_ID=29 SLURMD_NODENAME=%s", i, i, b.name))
	}
}

// One task that fails takes along those of the other nodes, and a step without
// the option goes on.
func TestBadExitOnOtherNode(t *testing.T) {
	one := newBench(t, "")
	two := one.beside("gpu002")
	for _, kill := range []bool{true, false} {
		var parts [2]protocol.Launch
		for i, b := range []*bench{one, two} {
			parts[i] = one.launch(0, 1, "sleep")
			if i == 1 {
				parts[i].Key = parts[0].Key
			}
			parts[i].StepEnv = bind.StepEnv{NodeList: "gpu[001-002]", Tasks: 2, TasksPerNode: []int32{1, 1}}
			parts[i].Tasks[0].Rank, parts[i].NodeID = int32(i), int32(i)
			parts[i].KillOnBadExit, parts[i].Stdout = kill, fmt.Sprintf("bad-%v-%%n", kill)
			b.ctl.Submit(b.name, parts[i])
		}
		one.says(fmt.Sprintf("bad-%v-0", kill), "asleep")
		one.says(fmt.Sprintf("bad-%v-1", kill), "asleep")
		pids, err := two.tree.Group(parts[0].SLUID + "/step_0/user").Pids()
		if err != nil || len(pids) == 0 {
			t.Fatal(pids, err)
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGABRT)
		}
		if s := two.ended(parts[0].Key); len(s.Tasks) != 1 || s.Tasks[0].Rank != 1 || s.Tasks[0].Exit == 0 && s.Tasks[0].Signal == 0 {
			t.Errorf("%#v", s)
		}
		if !kill {
			if s, _ := one.ctl.Status(one.name, parts[0].Key); s.State != protocol.Running || len(s.Tasks) != 0 {
				t.Errorf("without the option: %#v", s)
			}
			one.ctl.Kill(parts[0].Key)
		}
		if s := one.ended(parts[0].Key); len(s.Tasks) != 1 || s.Tasks[0] != (protocol.TaskEnd{Signal: int(syscall.SIGKILL)}) || !s.Killed {
			t.Errorf("the other node's part: %#v", s)
		}
		for _, b := range []*bench{one, two} {
			if jobs, err := b.tree.Jobs(); err != nil || len(jobs) > 0 {
				t.Error(b.name, jobs, err)
			}
		}
	}
}
