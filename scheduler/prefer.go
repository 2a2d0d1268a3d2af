package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
)

// A job that prefers features has two records a partition: the first, with the
// preferred expression in place of the required one, is tried now and never
// waited for; it neither blocks, preempts nor gets a plan (spec: cores 8.5). Its
// pairs are therefore even.

// A featureAsk is what one of a job's records asks of features.
type featureAsk struct {
	wish      *featureWish // nil: nothing
	text      string
	preferred bool
}

// featureAsks returns what the records of a job ask in turn: what it prefers, if
// anything, and what it requires.
func (e *engine) featureAsks(s *JobSpec) ([]featureAsk, error) {
	var asks []featureAsk
	if s.Prefer != "" {
		w, err := e.featureWish(s.Prefer, e.par.Queue.IgnorePreferValidation)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPrefer, err)
		}
		asks = append(asks, featureAsk{w, s.Prefer, true})
	}
	plain := featureAsk{text: s.Constraint}
	if s.Constraint != "" {
		var err error
		if plain.wish, err = e.featureWish(s.Constraint, e.par.Queue.IgnoreConstraintValidation); err != nil {
			return nil, err
		}
	}
	return append(asks, plain), nil
}

// picks is the number of nodes that counts of features ask for.
func (a *featureAsk) picks() int32 {
	if a.wish == nil {
		return 0
	}
	return a.wish.picks
}

// raise makes the least number of nodes what the counts ask for.
func (a *featureAsk) raise(o *gres.Options) error {
	n := a.picks()
	if n == 0 {
		return nil
	}
	if o.MaxNodes > 0 && o.MaxNodes < n {
		return fmt.Errorf("features ask for %d nodes, %d allowed: %w", n, o.MaxNodes, ErrNeverRuns)
	}
	o.MinNodes = max(o.MinNodes, n)
	return nil
}

// twice repeats each part: the record that prefers comes first.
func twice(parts []int32) []int32 {
	out := make([]int32, 0, 2*len(parts))
	for _, p := range parts {
		out = append(out, p, p)
	}
	return out
}

// prefers reports whether a record asks what its job only prefers.
func (e *engine) prefers(j *job, pair int16) bool { return j.spec.Prefer != "" && pair%2 == 0 }

// firstPlain is the first pair that asks what the job requires.
func firstPlain(s *JobSpec) int {
	if s.Prefer != "" {
		return 1
	}
	return 0
}

// plainPair is the first pair of a job that may wait.
func (e *engine) plainPair(j *job) int16 {
	if e.prefers(j, j.firstPair) {
		return j.firstPair + 1
	}
	return j.firstPair
}

// splitPairs returns pairs of partition and class, those that prefer apart.
func splitPairs(s *JobSpec, parts, classes []int32) (plain, preferred [2][]int32) {
	if s.Prefer == "" {
		return [2][]int32{parts, classes}, preferred
	}
	for i := range parts {
		to := &plain
		if i%2 == 0 {
			to = &preferred
		}
		to[0], to[1] = append(to[0], parts[i]), append(to[1], classes[i])
	}
	return plain, preferred
}

// lacksFeatures reports whether too few nodes of its partition have the features
// that a class asks for.
func (c *class) lacksFeatures() bool { return c.nodes.Count() < int(c.min) }

// admit refuses a job that no partition of its list takes, or that none could
// ever run: as it asks, and as it prefers.
func (e *engine) admit(s *JobSpec, parts, classes []int32) error {
	plain, preferred := splitPairs(s, parts, classes)
	err := e.admitPairs(s, plain[0], plain[1])
	if err == nil && len(preferred[0]) > 0 && !e.par.Queue.IgnorePreferValidation {
		err = e.admitPairs(s, preferred[0], preferred[1])
	}
	return err
}
