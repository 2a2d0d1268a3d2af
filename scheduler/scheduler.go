package scheduler

import (
	"math"
	"time"
)

// Time is an instant in microseconds since the Unix epoch. The embedding
// program supplies it; nothing in this module reads a clock.
type Time int64

// Never is the instant that does not come: the end of a job without a limit.
const Never Time = math.MaxInt64

// Infinite is the duration without end: a time limit of UNLIMITED.
const Infinite time.Duration = math.MaxInt64

// Seconds returns the instant s seconds after the Unix epoch.
func Seconds(s int64) Time { return Time(s * 1e6) }

// Add returns t+d, rounded to microseconds. Never and Infinite absorb.
func (t Time) Add(d time.Duration) Time {
	if t == Never || d == Infinite {
		return Never
	}
	us := Time(d / time.Microsecond)
	if us > 0 && t > Never-us {
		return Never
	}
	return t + us
}

// Sub returns t−u; it is Infinite if t is Never or the difference exceeds 292
// years.
func (t Time) Sub(u Time) time.Duration {
	us := int64(t) - int64(u)
	if t == Never || us > int64(math.MaxInt64/time.Microsecond) {
		return Infinite
	}
	return time.Duration(us) * time.Microsecond
}

// JobID names a job. The embedding program gives the id; 0 is none, and an id
// is never used again while the scheduler remembers the job.
type JobID uint64

// Scheduler is what an embedding program drives. Implementations are
// deterministic: equal calls in equal order give equal results, byte for byte.
// They are not safe for concurrent use (see scheduler/locked).
//
// The interface is frozen. Interfaces that programs implement are never
// widened: what is added later comes as a second interface to detect.
type Scheduler interface {
	// Apply books a fact that became known at now. Either the event takes
	// effect, or the error says why and nothing changed. now must not be
	// older than that of the last call (ErrTime). Apply may allocate: tables
	// grow here, never in the start phase of Pass.
	Apply(now Time, ev Event) error

	// Pass makes one scheduling pass and appends its decisions to dst. What
	// it decides is already charged in the books; the program carries the
	// decisions out in their order and reports each outcome as an event with
	// the same Seq. Decision.Nodes alias the node table and the pass's
	// scratch: valid until the next call of Pass. An older now is taken as
	// that of the last call.
	Pass(now Time, dst []Decision) []Decision

	// Wake returns the earliest instant at which Pass could decide
	// differently although no event arrived; ok is false if there is none.
	Wake() (at Time, ok bool)

	// Explain says why a job waits (or what it holds): data first, text by
	// the methods of Explanation. It changes nothing.
	Explain(job JobID) (Explanation, error)

	// Forecast says what would happen to these jobs if they were submitted
	// now. It changes nothing.
	Forecast(specs []JobSpec) ([]Forecast, error)

	// View calls read with a read-only view of the books, valid inside the
	// call.
	View(read func(View))

	// Fork returns an independent copy for plans that outlive a call.
	Fork() (Scheduler, error)

	// AppendSnapshot appends the whole state to dst. A scheduler made from it
	// by Restore decides exactly as this one does.
	AppendSnapshot(dst []byte) ([]byte, error)
}
