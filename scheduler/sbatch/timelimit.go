package sbatch

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth/qos"
)

// parseTime reads a time in Slurm's forms, exact to the second.
func parseTime(v string) (time.Duration, error) {
	d, err := qos.ParseTimeLimit(v)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrValue, err)
	}
	return d, nil
}

// parseLimit reads a time limit and rounds it up to minutes; 0 is no limit at
// all, as with sbatch.
func parseLimit(v string) (time.Duration, error) {
	d, err := parseTime(v)
	if err != nil {
		return 0, err
	}
	if d = qos.RoundMinutes(d); d == 0 {
		d = qos.Unlimited
	}
	return d, nil
}
