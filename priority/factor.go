package priority

import "time"

// NoLimit is the time limit of a job that may run for ever.
const NoLimit = time.Duration(1<<63 - 1)

// infiniteMinutes is what an unlimited time limit counts in the size factor:
// Slurm's INFINITE as a 32-bit number of minutes.
const infiniteMinutes = 1<<32 - 1

// ageFactor is the age factor of a job that has earned age for d: d/most in
// whole seconds, within [0, 1]. Source: spec priority 1.3.
func ageFactor(d time.Duration, most float64) float64 {
	return min(max(float64(d/time.Second)/most, 0), 1)
}

// sizeRule is how large a job is: one of Slurm's four variants.
type sizeRule struct {
	nodes, cpus float64 // of the cluster
	small       bool    // PriorityFavorSmall
	timed       bool    // SMALL_RELATIVE_TO_TIME
}

// factor is the size factor of a job of n nodes and c CPUs (0: not known) with
// the given time limit, within [0, 1]. Source: spec priority 1.5.
func (r *sizeRule) factor(n, c int32, limit time.Duration) float64 {
	switch {
	case r.nodes <= 0 || r.cpus <= 0:
		return 0
	case r.timed:
		return clamp01(r.timedFactor(float64(n), float64(c), limit))
	case r.small:
		return r.smallFactor(n, c)
	}
	return r.largeFactor(n, c)
}

func (r *sizeRule) largeFactor(n, c int32) float64 {
	f := float64(n) / r.nodes
	if c != 0 {
		f = (f + float64(c)/r.cpus) / 2
	}
	return min(max(f, 0), 1)
}

// smallFactor is the factor with PriorityFavorSmall. What a job asks for beyond
// the cluster's CPUs counts as all of them; Slurm wraps around there and gives
// the job 1.
func (r *sizeRule) smallFactor(n, c int32) float64 {
	f := max(r.nodes-float64(n), 0) / r.nodes
	if c != 0 {
		f = (f + max(r.cpus-float64(c), 0)/r.cpus) / 2
	}
	return min(max(f, 0), 1)
}

func (r *sizeRule) timedFactor(n, c float64, limit time.Duration) float64 {
	t := float64(infiniteMinutes)
	if limit != NoLimit {
		t = float64(limit / time.Minute)
	}
	f := max(float64(n*r.cpus)/r.nodes, c) / t / r.cpus
	if r.small {
		return 1 - f
	}
	return f
}

// clamp01 brings f into [0, 1]; what is no number is 0.
func clamp01(f float64) float64 {
	switch {
	case f >= 1:
		return 1
	case f > 0:
		return f
	}
	return 0
}

// whole brings a sum to a priority: at least 1, at most 4294967295, the rest
// cut off. Source: spec priority 1.
func whole(p float64) uint32 {
	switch {
	case p >= Ceiling:
		return Ceiling
	case p >= 1:
		return uint32(p)
	}
	return 1
}
