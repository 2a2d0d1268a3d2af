package sbatch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// at is the clock of the tests.
var at = time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)

func parse(t testing.TB, in sbatch.Input) *sbatch.Submission {
	t.Helper()
	in.Now = at
	s, err := sbatch.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept makes a list of kept options out of name, value pairs.
func kept(pairs ...string) []scheduler.KeptOption {
	var out []scheduler.KeptOption
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, scheduler.KeptOption{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

const day = 24 * time.Hour

// TestRecipes reads the recipes and the submissions of portals and workflow
// managers as they are written, and wants the specification word for word.
func TestRecipes(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   sbatch.Input
		want scheduler.JobSpec
	}{
		{"R01 one GPU", sbatch.Input{Script: "#!/bin/bash\n#SBATCH --job-name=finetune-1gpu\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus=1\n" +
			"#SBATCH --cpus-per-gpu=8\n#SBATCH --mem-per-gpu=64G\n#SBATCH --time=04:00:00\n#SBATCH --output=%x-%j.out\nsrun python finetune.py\n"},
			scheduler.JobSpec{Name: "finetune-1gpu", MinNodes: 1, MaxNodes: 1, Tasks: 1, GPUs: "1", CPUsPerGPU: 8, Mem: scheduler.MemPerGPU, MemMiB: 65536,
				TimeLimit: 4 * time.Hour, Kept: kept("output", "%x-%j.out")}},
		{"R02 one node, torchrun", sbatch.Input{Args: words("-N1 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=32 --mem=256G -t 12:00:00 run.sh")},
			scheduler.JobSpec{Name: "run.sh", MinNodes: 1, MaxNodes: 1, TasksPerNode: 1, GPUsPerNode: "4", CPUsPerTask: 32, Mem: scheduler.MemPerNode, MemMiB: 262144, TimeLimit: 12 * time.Hour}},
		{"R03 four nodes, torchrun", sbatch.Input{Args: words("-N4 --ntasks-per-node=1 --gpus-per-node=8 --cpus-per-task=96 --mem=0 --exclusive -t 24:00:00 dir/run.sh")},
			scheduler.JobSpec{Name: "run.sh", MinNodes: 4, MaxNodes: 4, TasksPerNode: 1, GPUsPerNode: "8", CPUsPerTask: 96, Mem: scheduler.MemAll, Exclusive: scheduler.ExclusiveNode, TimeLimit: day}},
		{"R04 rank per GPU", sbatch.Input{Args: words("-N2 -n8 --ntasks-per-node=4 --gpus-per-task=1 --cpus-per-task=16 --mem-per-gpu=120G -t 08:00:00 a")},
			scheduler.JobSpec{Name: "a", MinNodes: 2, MaxNodes: 2, Tasks: 8, TasksPerNode: 4, GPUsPerTask: "1", CPUsPerTask: 16, Mem: scheduler.MemPerGPU, MemMiB: 122880, TimeLimit: 8 * time.Hour}},
		{"R05 array sweep", sbatch.Input{Args: words("--array=0-23%6 -n1 --gpus=1 --cpus-per-gpu=8 --mem-per-gpu=48G -t 02:00:00 -o logs/%x_%A_%a.out lr-sweep")},
			scheduler.JobSpec{Name: "lr-sweep", Array: "0-23%6", Tasks: 1, GPUs: "1", CPUsPerGPU: 8, Mem: scheduler.MemPerGPU, MemMiB: 49152, TimeLimit: 2 * time.Hour,
				Kept: kept("output", "logs/%x_%A_%a.out")}},
		{"R06 interactive", sbatch.Input{Command: sbatch.Salloc, Args: words("-p gpu-interactive --gpus=1 --cpus-per-gpu=8 --mem-per-gpu=32G -t 01:00:00")},
			scheduler.JobSpec{Name: "interactive", Partitions: []string{"gpu-interactive"}, GPUs: "1", CPUsPerGPU: 8, Mem: scheduler.MemPerGPU, MemMiB: 32768, TimeLimit: time.Hour}},
		{"R06b srun with a terminal", sbatch.Input{Command: sbatch.Srun, Args: words("-p gpu --gpus=1 -t 10 --pty sh")},
			scheduler.JobSpec{Name: "sh", Partitions: []string{"gpu"}, GPUs: "1", TimeLimit: 10 * time.Minute, Kept: kept("pty", "")}},
		{"R08 Parsl block", sbatch.Input{Args: words("-N1 -t 240 --ntasks-per-node=1 --exclusive --gpus-per-node=4 block.sh")},
			scheduler.JobSpec{Name: "block.sh", MinNodes: 1, MaxNodes: 1, TasksPerNode: 1, GPUsPerNode: "4", Exclusive: scheduler.ExclusiveNode, TimeLimit: 4 * time.Hour}},
		{"R09 and W08 Ray", sbatch.Input{Args: words("-N4 --exclusive --tasks-per-node=1 --cpus-per-task=32 --gpus-per-task=4 ray.sh")},
			scheduler.JobSpec{Name: "ray.sh", MinNodes: 4, MaxNodes: 4, TasksPerNode: 1, CPUsPerTask: 32, GPUsPerTask: "4", Exclusive: scheduler.ExclusiveNode}},
		{"W01 portal", sbatch.Input{Script: "#!/bin/sh\nsleep 1\n",
			Args: words("-p gpu-interactive -t 01:00:00 --export NONE --gpus=1 --cpus-per-gpu=8 --mem-per-gpu=32G --parsable")},
			scheduler.JobSpec{Name: "sbatch", Partitions: []string{"gpu-interactive"}, TimeLimit: time.Hour, GPUs: "1", CPUsPerGPU: 8, Mem: scheduler.MemPerGPU, MemMiB: 32768,
				Kept: kept("export", "NONE", "parsable", "")}},
		{"W02 menu: 1 slice", sbatch.Input{Script: "#!/bin/sh\n", Args: words("-p shared -q interactive --gres=shard:16 -c 4 --mem=16G -t 4:00:00")},
			scheduler.JobSpec{Name: "sbatch", Partitions: []string{"shared"}, QOS: []string{"interactive"}, GRES: "shard:16", CPUsPerTask: 4, Mem: scheduler.MemPerNode,
				MemMiB: 16384, TimeLimit: 4 * time.Hour}},
		{"W02 menu: 1 GPU", sbatch.Input{Script: "#!/bin/sh\n", Args: words("-p gpu-interactive -q interactive --gpus=1 --cpus-per-gpu=8 --mem-per-gpu=32G -t 4:00:00")},
			scheduler.JobSpec{Name: "sbatch", Partitions: []string{"gpu-interactive"}, QOS: []string{"interactive"}, GPUs: "1", CPUsPerGPU: 8, Mem: scheduler.MemPerGPU,
				MemMiB: 32768, TimeLimit: 4 * time.Hour}},
		{"W02 menu: 4 GPUs", sbatch.Input{Script: "#!/bin/sh\n", Args: words("-p gpu -q gpu-normal -N1 --gpus-per-node=4 --cpus-per-gpu=8 --mem-per-gpu=64G -t 4:00:00")},
			scheduler.JobSpec{Name: "sbatch", Partitions: []string{"gpu"}, QOS: []string{"gpu-normal"}, MinNodes: 1, MaxNodes: 1, GPUsPerNode: "4", CPUsPerGPU: 8,
				Mem: scheduler.MemPerGPU, MemMiB: 65536, TimeLimit: 4 * time.Hour}},
		{"W09 Ray in shared nodes", sbatch.Input{Args: words("-N2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-task=1 --mem-per-gpu=32G ray.sh")},
			scheduler.JobSpec{Name: "ray.sh", MinNodes: 2, MaxNodes: 2, TasksPerNode: 1, CPUsPerTask: 8, GPUsPerTask: "1", Mem: scheduler.MemPerGPU, MemMiB: 32768}},
		{"W03 Nextflow", sbatch.Input{Args: []string{".command.run"}, Script: "#!/bin/bash\n#SBATCH -J nf-train_(sample_1)\n#SBATCH -o /scratch/ab/.command.log\n#SBATCH --no-requeue\n" +
			"#SBATCH --signal B:USR2@30\n#SBATCH -t 01:00:00\n#SBATCH --mem 8192M\n#SBATCH -p gpu\n#SBATCH --gpus=1 --cpus-per-gpu=8\n# NEXTFLOW TASK\nset -e\n"},
			scheduler.JobSpec{Name: "nf-train_(sample_1)", Requeue: -1, Signal: 12, SignalBefore: 30 * time.Second, SignalFlags: "B", TimeLimit: time.Hour,
				Mem: scheduler.MemPerNode, MemMiB: 8192, Partitions: []string{"gpu"}, GPUs: "1", CPUsPerGPU: 8, Kept: kept("output", "/scratch/ab/.command.log")}},
		{"W04 Nextflow array", sbatch.Input{Args: []string{"x"}, Script: "#!/bin/bash\n#SBATCH --array 0-9\n#SBATCH -o /dev/null\n"},
			scheduler.JobSpec{Name: "x", Array: "0-9", Kept: kept("output", "/dev/null")}},
		{"W05 Snakemake 8", sbatch.Input{Args: []string{"--parsable", "--job-name", "run1", "--output", "o", "--export=ALL", "--comment", "rule_train", "-A", "lab", "-p", "gpu",
			"-t", "60", "--mem", "8000", "--ntasks=1", "--gpus=h100:2", "--cpus-per-gpu=8", "-D", "/w", `--wrap=python -m snakemake`}},
			scheduler.JobSpec{Name: "run1", Comment: "rule_train", Account: "lab", Partitions: []string{"gpu"}, TimeLimit: time.Hour, Mem: scheduler.MemPerNode, MemMiB: 8000, Tasks: 1,
				GPUs: "h100:2", CPUsPerGPU: 8, Kept: kept("parsable", "", "output", "o", "export", "ALL", "chdir", "/w", "wrap", "python -m snakemake")}},
		{"W06 Snakemake 7", sbatch.Input{Args: []string{"-J", "n", "-o", "log", "--export=ALL", "-p", "gpu", "-t", "30", "--mem", "2000", "--cpus-per-task=8", "--gpus=1", "-D", ".", "--wrap=x"}},
			scheduler.JobSpec{Name: "n", Partitions: []string{"gpu"}, TimeLimit: 30 * time.Minute, Mem: scheduler.MemPerNode, MemMiB: 2000, CPUsPerTask: 8, GPUs: "1",
				Kept: kept("output", "log", "export", "ALL", "chdir", ".", "wrap", "x")}},
		{"W07 Parsl", sbatch.Input{Args: []string{"b"}, Script: "#!/bin/bash\n#SBATCH --job-name=parsl.b\n#SBATCH --output=o\n#SBATCH --error=e\n#SBATCH --nodes=1\n#SBATCH --time=240\n" +
			"#SBATCH --ntasks-per-node=1\n#SBATCH --exclusive\n#SBATCH --partition=gpu\n#SBATCH --account=mylab\n#SBATCH --gpus-per-node=4\n"},
			scheduler.JobSpec{Name: "parsl.b", MinNodes: 1, MaxNodes: 1, TimeLimit: 4 * time.Hour, TasksPerNode: 1, Exclusive: scheduler.ExclusiveNode, Partitions: []string{"gpu"},
				Account: "mylab", GPUsPerNode: "4", Kept: kept("output", "o", "error", "e")}},
		{"W10 container plug-in", sbatch.Input{Command: sbatch.Srun, Args: words("-N4 --gpus-per-node=8 --container-image=nvcr.io#nvidia/pytorch:24.01 --container-mounts /a:/b --no-container-mount-home train")},
			scheduler.JobSpec{Name: "train", MinNodes: 4, MaxNodes: 4, GPUsPerNode: "8",
				Kept: kept("container-image", "nvcr.io#nvidia/pytorch:24.01", "container-mounts", "/a:/b", "no-container-mount-home", "")}},
		{"submitit", sbatch.Input{Args: []string{"s.sh"}, Script: "#!/bin/bash\n# Parameters\n#SBATCH --array=0-9%4\n#SBATCH --comment='two words'\n#SBATCH --cpus-per-task=4\n#SBATCH --mem=8GB\n" +
			"#SBATCH --open-mode=append\n#SBATCH --signal=USR2@90\n#SBATCH --wckey=submitit\n\n# command\nsrun x\n"},
			scheduler.JobSpec{Name: "s.sh", Array: "0-9%4", Comment: "two words", CPUsPerTask: 4, Mem: scheduler.MemPerNode, MemMiB: 8192, Signal: 12, SignalBefore: 90 * time.Second,
				WCKey: "submitit", Kept: kept("open-mode", "append")}},
		{"dask-jobqueue", sbatch.Input{Script: "#!/usr/bin/env bash\n\n#SBATCH -J dask-worker\n#SBATCH -e /l/dask-%J.err\n#SBATCH -n 1\n#SBATCH -N 1\n#SBATCH --cpus-per-task=4\n#SBATCH --mem=14G\n#SBATCH -t 00:30:00\n"},
			scheduler.JobSpec{Name: "dask-worker", Tasks: 1, MinNodes: 1, MaxNodes: 1, CPUsPerTask: 4, Mem: scheduler.MemPerNode, MemMiB: 14336, TimeLimit: 30 * time.Minute, Kept: kept("error", "/l/dask-%J.err")}},
		{"Q14 all memory", sbatch.Input{Args: words("-N4 --mem=0 x")}, scheduler.JobSpec{Name: "x", MinNodes: 4, MaxNodes: 4, Mem: scheduler.MemAll}},
		{"Q14 per CPU", sbatch.Input{Args: words("--mem-per-cpu=0 x")}, scheduler.JobSpec{Name: "x", Mem: scheduler.MemAll}},
		{"Q16 five ways to ask for GPUs", sbatch.Input{Args: words("--gres=gpu:h100:2 --gpus=4 --gpus-per-socket=1 --gpus-per-task=h100:1 --sockets-per-node=2 x")},
			scheduler.JobSpec{Name: "x", GRES: "gpu:h100:2", GPUs: "4", GPUsPerSocket: "1", GPUsPerTask: "h100:1", SocketsPerNode: 2}},
		{"Q17", sbatch.Input{Args: words("-N16 --array=1,3-9:2 --time-min=10 -t 1:00:00 --signal=R:10@300 --requeue --segment=8 --switches=2@10:00 --exclusive=topo x")},
			scheduler.JobSpec{Name: "x", MinNodes: 16, MaxNodes: 16, Array: "1,3-9:2", TimeMin: 10 * time.Minute, TimeLimit: time.Hour, Signal: 10, SignalBefore: 300 * time.Second, SignalFlags: "R",
				Requeue: 1, Segment: 8, Switches: 2, SwitchWait: 10 * time.Minute, Exclusive: scheduler.ExclusiveTopo}},
		{"OnDemand", sbatch.Input{Script: "#!/bin/sh\n", Args: words("-H --no-requeue -D /home -J sys/dashboard -o out --reservation r1,r2 --priority 5 --begin 2026-12-01T08:00:00 -A acct -t 02:00:00 -a 1-3 --qos q -d after:1:2,afterok:3 --export A,B --parsable")},
			scheduler.JobSpec{Name: "sys/dashboard", Hold: true, Requeue: -1, Reservations: []string{"r1", "r2"}, Priority: 5,
				Begin: scheduler.Time(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC).UnixMicro()), Account: "acct", TimeLimit: 2 * time.Hour, Array: "1-3", QOS: []string{"q"},
				Dependency: "after:1:2,afterok:3", Kept: kept("chdir", "/home", "output", "out", "export", "A,B", "parsable", "")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := parse(t, tt.in)
			if len(s.Components) != 1 {
				t.Fatalf("%d components", len(s.Components))
			}
			if d := cmp.Diff(tt.want, s.Components[0].Spec); d != "" {
				t.Errorf("mismatch (-want +got)\n%s", d)
			}
		})
	}
}

// words cuts a command line at blanks.
func words(s string) []string { return strings.Fields(s) }

// TestHetJob is recipe R07: two components, --mem of the first is inherited.
func TestHetJob(t *testing.T) {
	const body = "#!/bin/bash\n#SBATCH -J pair -A lab\n#SBATCH -p cpu -N4 --ntasks-per-node=64 --mem=100G -t 6:00:00\n#SBATCH hetjob\n" +
		"#SBATCH -p gpu -N1 -n1 --gpus=4 --cpus-per-gpu=16 -t 6:00:00\nsrun --het-group=1 x\n"
	want := []scheduler.JobSpec{
		{Name: "pair", Account: "lab", Partitions: []string{"cpu"}, MinNodes: 4, MaxNodes: 4, TasksPerNode: 64, Mem: scheduler.MemPerNode, MemMiB: 102400, TimeLimit: 6 * time.Hour},
		{Name: "pair", Account: "lab", Component: 1, Partitions: []string{"gpu"}, MinNodes: 1, MaxNodes: 1, Tasks: 1, GPUs: "4", CPUsPerGPU: 16,
			Mem: scheduler.MemPerNode, MemMiB: 102400, TimeLimit: 6 * time.Hour},
	}
	if d := cmp.Diff(want, parse(t, sbatch.Input{Script: body}).Specs()); d != "" {
		t.Errorf("script: mismatch (-want +got)\n%s", d)
	}
	args := words("-J pair -A lab -p cpu -N4 --ntasks-per-node=64 --mem=100G -t 6:00:00 : -p gpu -N1 -n1 --gpus=4 --cpus-per-gpu=16 run.sh")
	if d := cmp.Diff(want, parse(t, sbatch.Input{Args: args}).Specs()); d != "" {
		t.Errorf("command line: mismatch (-want +got)\n%s", d)
	}
	// What a component says itself beats what it inherits.
	s := parse(t, sbatch.Input{Args: words("--mem=100G -n1 : --mem-per-cpu=2G -n4 x")})
	if got := s.Components[1].Spec; got.Mem != scheduler.MemPerCPU || got.MemMiB != 2048 || got.Tasks != 4 {
		t.Errorf("second component: %+v", got)
	}
	_, err := sbatch.Parse(sbatch.Input{Args: words("-a 1-3 -n1 : -n4 x"), Now: at})
	if !errors.Is(err, sbatch.ConflictArrayHet) {
		t.Errorf("array of a het job: %v", err)
	}
}

// TestRefusedByCommand are the pairs that sbatch itself refuses, with its text.
func TestRefusedByCommand(t *testing.T) {
	for _, tt := range []struct {
		args string
		want sbatch.Conflict
	}{
		{"-c 4 --gpus=1 --cpus-per-gpu=8 x", sbatch.ConflictCPUs},                  // Q04
		{"--tres-per-task=cpu=4 --gpus=1 --cpus-per-gpu=8 x", sbatch.ConflictCPUs}, // Q04
		{"--mem-per-gpu=8G --mem=1000 x", sbatch.ConflictMem},                      // Q05
		{"--mem-per-cpu=8G --mem=1000 x", sbatch.ConflictMem},
		{"--gres=gpu:1 --gpus-per-node=1 x", sbatch.ConflictGPUsPerNode}, // Q06
		{"--gres=nic:1,gpu --gpus-per-node=1 x", sbatch.ConflictGPUsPerNode},
		{"--ntasks-per-gpu=1 --gpus-per-task=1 x", sbatch.ConflictGPUsPerTask},
		{"--ntasks-per-gpu=1 --gpus-per-socket=1 x", sbatch.ConflictGPUsPerSocket},
		{"--ntasks-per-gpu=1 --ntasks-per-node=1 x", sbatch.ConflictTasksPerNode},
		{"--ntasks-per-gpu=1 --tres-per-task=gres/gpu:1 x", sbatch.ConflictTRESTasksGPU},
		{"--tres-per-task=cpu:2 -c2 x", sbatch.ConflictTRESCPU},
		{"--tres-per-task=gres/gpu=1 --gpus-per-task=1 x", sbatch.ConflictTRESGPU},
		{"--gres-flags=enforce-binding,disable-binding x", sbatch.ConflictBinding},
		{"--gres-flags=one-task-per-sharing,multiple-tasks-per-sharing x", sbatch.ConflictSharingTasks},
		{"--exclusive -s x", sbatch.ConflictOversubscribe},
		{"-S1 --thread-spec=1 x", sbatch.ConflictSpec},
		{"--gres=shard:1 --gpu-freq=low x", sbatch.ConflictSharedFreq},
		{"--spread-segments --consolidate-segments --segment=1 x", sbatch.ConflictSegments},
		{"--wrap=hostname x", sbatch.ConflictScriptWrap},
	} {
		_, err := sbatch.Parse(sbatch.Input{Args: words(tt.args), Now: at})
		var e *sbatch.Error
		if !errors.As(err, &e) || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
	for _, ok := range []string{"--gres=nic:1 --gpus-per-node=1 x", "--tres-per-task=gres/gpu=1 -c2 -n1 x", "--gres=gpu:1 --gpus=2 x"} {
		if _, err := sbatch.Parse(sbatch.Input{Args: words(ok), Now: at}); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}
