package sbatch_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/berth-sched/berth/scheduler/sbatch"
)

// A script's directives and a command line make one specification; the command
// line wins.
func ExampleParse() {
	s, err := sbatch.Parse(sbatch.Input{
		Args:   []string{"-t", "30:00", "train.sh", "--epochs=3"},
		Script: "#!/bin/bash\n#SBATCH -N2 --gpus-per-node=h100:4\n#SBATCH --mem=0 --time=2:00:00\nsrun python train.py\n",
		Now:    time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := s.Components[0].Spec
	fmt.Println(spec.Name, spec.MinNodes, spec.GPUsPerNode, spec.Mem, spec.TimeLimit, s.Arguments)

	_, err = sbatch.Parse(sbatch.Input{Args: []string{"-c4", "--gpus=1", "--cpus-per-gpu=8", "x"}})
	fmt.Println(errors.Is(err, sbatch.ConflictCPUs))
	fmt.Println(err)
	// Output:
	// train.sh 2 h100:4 all 30m0s [--epochs=3]
	// true
	// sbatch: parse "--cpus-per-gpu=8" at argument 3: --cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive
}
