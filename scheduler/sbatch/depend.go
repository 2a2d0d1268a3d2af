package sbatch

import (
	"errors"

	"github.com/berth-sched/berth/scheduler"
)

// A Dependency is what a job waits for; the grammar is the scheduler's.
type Dependency = scheduler.Dependency

// ParseDependency is [scheduler.ParseDependency] with errors of this package:
// [*GrammarError].
//
// Source: sbatch(1), --dependency.
func ParseDependency(text string) (Dependency, error) {
	d, err := scheduler.ParseDependency(text)
	if e, ok := errors.AsType[*scheduler.DependencyError](err); ok {
		return d, &GrammarError{"dependency", e.Text, e.Offset, e.Why}
	}
	return d, err
}
