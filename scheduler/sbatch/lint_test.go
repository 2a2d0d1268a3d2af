package sbatch_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// lintConf is the cluster of the linter's tests: gpu places by blocks, cpu is
// flat.
const lintConf = `
GresTypes=gpu
AccountingStorageTRES=gres/gpu
PreemptType=preempt/qos
PreemptMode=REQUEUE
NodeName=gpu[001-032] Gres=gpu:h100:8 RealMemory=1900000 Sockets=2 CoresPerSocket=56
NodeName=cpu[01-08] RealMemory=250000 Sockets=2 CoresPerSocket=32
PartitionName=gpu Nodes=gpu[001-032] MaxTime=2-0 DefaultTime=1:00:00 Topology=racks
PartitionName=shared Nodes=gpu[001-032] MaxTime=1-0 DefaultTime=1:00:00
PartitionName=cpu Nodes=cpu[01-08] Default=YES MaxTime=7-0 DefaultTime=1:00:00
PartitionName=long Nodes=cpu[01-08] MaxTime=7-0
`

const lintTopology = `
- topology: default
  flat: true
- topology: racks
  block:
    block_sizes: [8, 16, 32]
    blocks:
      - {block: b1, nodes: "gpu[001-008]"}
      - {block: b2, nodes: "gpu[009-016]"}
      - {block: b3, nodes: "gpu[017-024]"}
      - {block: b4, nodes: "gpu[025-032]"}
`

func lintConfig(t testing.TB) scheduler.Config {
	t.Helper()
	cfg, _, _, err := slurmconf.Load(fstest.MapFS{
		"slurm.conf":    {Data: []byte(lintConf)},
		"topology.yaml": {Data: []byte(lintTopology)},
		"sacctmgr":      {Data: []byte("add qos low\nadd qos high preempt=low\n")},
	}, slurmconf.Options{Accounts: []string{"sacctmgr"}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func script(lines ...string) string { return "#!/bin/sh\n" + strings.Join(lines, "\n") + "\n" }

// TestLintRules has for each rule a script that triggers it and one that does
// not. line 0 is the options as a whole.
func TestLintRules(t *testing.T) {
	cfg := lintConfig(t)
	for _, tt := range []struct {
		rule      string
		sev       sbatch.Severity
		line      int
		bad, good string
	}{
		{"job-range-block", sbatch.Info, 3, script("#SBATCH -p gpu", "#SBATCH -N 8-16", "srun x"), script("#SBATCH -p gpu -N 8", "srun x")},
		{"job-nodelist-block", sbatch.Warn, 3, script("#SBATCH -p gpu", "#SBATCH -w gpu001", "srun x"), script("#SBATCH -p gpu -x gpu001", "srun x")},
		{"job-segment", sbatch.Bad, 2, script("#SBATCH -N8 --segment=3", "srun x"), script("#SBATCH -N16 --segment=8", "srun x")},
		{"job-switch-wait", sbatch.Info, 2, script("#SBATCH --switches=2@10:00", "srun x"), script("#SBATCH --switches=2@5:00", "srun x")},
		{"job-switch-wait", sbatch.Info, 2, script("#SBATCH -p gpu --switches=1", "srun x"), script("#SBATCH --switches=1", "srun x")},
		{"array-throttle", sbatch.Info, 2, script("#SBATCH -p shared -a 0-100", "srun x"), script("#SBATCH -p shared -a 0-100%8", "srun x")},
		{"array-throttle", sbatch.Info, 2, script("#SBATCH -p shared -a 0-100", "srun x"), script("#SBATCH -p cpu -a 0-100", "srun x")},
		{"array-max", sbatch.Bad, 2, script("#SBATCH --array=1001", "srun x"), script("#SBATCH --array=0-1000", "srun x")},
		{"job-no-time", sbatch.Info, 0, script("#SBATCH -p long", "srun x"), script("#SBATCH -p long -t 10", "srun x")},
		{"job-no-time", sbatch.Info, 0, script("#SBATCH -p long", "srun x"), script("#SBATCH -p cpu", "srun x")},
		{"job-signal-batch", sbatch.Warn, 2, script("#SBATCH --signal=USR1@300", "python train.py"), script("#SBATCH --signal=USR1@300", "srun python train.py")},
		{"job-signal-batch", sbatch.Warn, 2, script("#SBATCH --signal=USR1@300", "trap save USR1", "srun x &", "wait"), script("#SBATCH --signal=B:USR1@300", "trap save USR1", "srun x &", "wait")},
		{"job-requeue-nockpt", sbatch.Info, 0, script("#SBATCH --qos=low", "srun x"), script("#SBATCH --qos=low --signal=B:TERM", "srun x")},
		{"job-requeue-nockpt", sbatch.Info, 0, script("#SBATCH --qos=low", "srun x"), script("#SBATCH --qos=high", "srun x")},
		{"job-cuda-set", sbatch.Warn, 2, script("export CUDA_VISIBLE_DEVICES=0,1,2,3"), script("echo $CUDA_VISIBLE_DEVICES", "# CUDA_VISIBLE_DEVICES=0")},
		{"job-gpus-per-task-var", sbatch.Warn, 2, script("echo $SLURM_GPUS_PER_TASK"), script("echo $SLURM_GPUS_ON_NODE")},
		{"job-exclusive-gpus", sbatch.Info, 2, script("#SBATCH -p shared -N1 --exclusive --gpus-per-node=4", "srun x"), script("#SBATCH -p shared -N1 --exclusive --gpus-per-node=8", "srun x")},
		{"job-cpg-and-c", sbatch.Bad, 2, script("#SBATCH -c 4 --gpus=1 --cpus-per-gpu=8"), script("#SBATCH --gpus=1 --cpus-per-gpu=8")},
		{"job-gpus-on-node-multi", sbatch.Info, 3, script("#SBATCH -N2 --gpus=12", "torchrun --nproc-per-node=$SLURM_GPUS_ON_NODE"), script("#SBATCH -N2 --gpus-per-node=6", "torchrun --nproc-per-node=$SLURM_GPUS_ON_NODE")},
		{"job-late-directive", sbatch.Warn, 3, script("echo a", "#SBATCH -n 4"), script("#SBATCH -n 4", "echo a")},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			find := func(text string) (sbatch.Finding, bool) {
				out, err := sbatch.Lint(sbatch.Input{Script: text, Now: time.Unix(0, 0)}, &cfg)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range out {
					if f.Rule == tt.rule {
						return f, true
					}
				}
				return sbatch.Finding{}, false
			}
			f, ok := find(tt.bad)
			if !ok || f.Severity != tt.sev || f.Line != tt.line || f.Text == "" || f.Cost == "" {
				t.Errorf("finding %v, %v; want one at line %d", f, ok, tt.line)
			}
			t.Log(f)
			if f, ok := find(tt.good); ok {
				t.Errorf("found where it must be silent: %v", f)
			}
		})
	}
}

// TestLintBadOption keeps what the text shows beside an option that cannot be
// read.
func TestLintBadOption(t *testing.T) {
	cfg := lintConfig(t)
	out, err := sbatch.Lint(sbatch.Input{Script: script("#SBATCH --nonsense", "export CUDA_VISIBLE_DEVICES=0")}, &cfg)
	if err == nil || len(out) != 1 || out[0].Rule != "job-cuda-set" {
		t.Errorf("Lint = %v, %v", out, err)
	}
}
