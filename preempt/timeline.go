package preempt

import "time"

// Signals of a victim's timeline, by Linux' numbers.
const (
	SignalKill  = 9
	SignalTerm  = 15
	SignalCont  = 18
	SignalStop  = 19
	SignalPause = 20 // SIGTSTP
)

// A Target says which processes of a job a signal reaches.
type Target uint8

// The targets.
const (
	// ToSteps: processes that the job launched as steps.
	ToSteps Target = iota
	// ToBatch: the batch shell alone.
	ToBatch
	// ToAll: every process of the job.
	ToAll
)

// A Notice is one signal that a victim gets.
type Notice struct {
	// After is the time since the choice.
	After time.Duration
	// Signal is its number.
	Signal int32
	// Target says who gets it.
	Target Target
}

// A UserSignal is the signal that a job asked to get before its end. Slurm:
// --signal.
type UserSignal struct {
	// Signal is its number; 0 none.
	Signal int32
	// Batch sends it to the batch shell instead of the steps.
	Batch bool
	// Sent says that the job has got it already.
	Sent bool
}

// First is the signal that a victim gets at the choice, and who gets it: SIGTERM
// to the steps, or with send_user_signal the job's own, unless it has got it.
func (p *Parameters) First(u *UserSignal) (int32, Target) {
	if p.SendUserSignal && u.Signal > 0 && !u.Sent {
		if u.Batch {
			return u.Signal, ToBatch
		}
		return u.Signal, ToSteps
	}
	return SignalTerm, ToSteps
}

// AppendTimeline appends the signals of a victim in order of time (spec: preempt
// 7). With a grace the steps get a first notice at the choice, and the batch
// shell none; when it is over, or at once, the kill sequence follows, whether the
// job is queued again or not. A suspended job stops in two steps. A job that ends
// in between gets no more.
func (p *Parameters) AppendTimeline(dst []Notice, mode Mode, grace, killWait time.Duration, u *UserSignal) []Notice {
	switch mode {
	case ModeOff:
		return dst
	case ModeSuspend:
		return append(dst, Notice{0, SignalPause, ToSteps}, Notice{p.SuspendGrace, SignalStop, ToSteps})
	}
	if grace > 0 {
		signal, to := p.First(u)
		dst = append(dst, Notice{0, SignalCont, to}, Notice{0, signal, to})
	}
	return append(dst, Notice{grace, SignalCont, ToAll}, Notice{grace, SignalTerm, ToAll}, Notice{grace + killWait, SignalKill, ToAll})
}
