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
	s := float64(d / time.Second)
	switch {
	case s <= 0:
		return 0
	case s < most:
		return s / most
	}
	return 1
}

// sizeRule is how large a job is: one of Slurm's four variants.
type sizeRule struct {
	nodes, cpus float64 // of the cluster
	small       bool    // PriorityFavorSmall
	timed       bool    // SMALL_RELATIVE_TO_TIME
}

// factor is the size factor of a job of n nodes and c CPUs (0: not known) with
// the given time limit, within [0, 1]. Source: spec priority 1.5.
//
// A small-favouring factor of a job that asks for more than the cluster has
// counts that part as 0; Slurm wraps around there and gives 1.
func (r *sizeRule) factor(n, c int32, limit time.Duration) float64 {
	if r.nodes <= 0 || r.cpus <= 0 {
		return 0
	}
	fn, fc := float64(n), float64(c)
	if r.timed {
		return clamp01(r.timedFactor(fn, fc, limit))
	}
	if r.small {
		fn = max(r.nodes-fn, 0)
		if c != 0 {
			fc = max(r.cpus-fc, 0)
		}
	}
	if c == 0 {
		return clamp01(fn / r.nodes)
	}
	return clamp01((fn/r.nodes + fc/r.cpus) / 2)
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
