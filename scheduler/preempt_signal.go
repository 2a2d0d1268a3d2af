package scheduler

import (
	"strings"
	"time"

	"github.com/berth-sched/berth/preempt"
)

// userSignal is the signal that a job asked to get before its end.
func (e *engine) userSignal(j *job) preempt.UserSignal {
	return preempt.UserSignal{
		Signal: j.spec.Signal, Batch: strings.Contains(j.spec.SignalFlags, "B"), Sent: j.end.Sub(e.now) <= j.spec.SignalBefore,
	}
}

// spell appends the signals that a job gets between now and the end of a decision
// about it, as decisions of their own (PreemptParameters.Signals). With a grace
// they are those of the notice: the kill sequence comes with the decision that ends
// the job.
func (e *engine) spell(dst []Decision, r int32, mode preempt.Mode, u *preempt.UserSignal, grace time.Duration) []Decision {
	p := &e.pre
	if !e.par.Preempt.Signals {
		return dst
	}
	p.notices = p.rule.Parameters.AppendTimeline(p.notices[:0], mode, grace, e.par.KillWait, u)
	for i := range p.notices {
		n := &p.notices[i]
		if grace > 0 && n.After > 0 {
			break
		}
		dst = e.signal(dst, r, n.Signal, n.After, n.Target)
	}
	return dst
}

// signal appends one signal that is due after a while.
func (e *engine) signal(dst []Decision, r int32, number int32, after time.Duration, to preempt.Target) []Decision {
	dst = e.decide(dst, r, OpSignal)
	d := &dst[len(dst)-1]
	d.At, d.Signal = e.now.Add(after), number
	d.Batch, d.Steps = to != preempt.ToSteps, to != preempt.ToBatch
	return dst
}
