package scheduler

import "github.com/berth-sched/berth/qos"

// limitReasonName returns the name of a limit reason of package qos.
func limitReasonName(r Reason) string { return qos.Reason(r).String() }

// limitReasonByName is the inverse of limitReasonName.
func limitReasonByName(name string) (Reason, bool) {
	r, ok := qos.ParseReason(name)
	return Reason(r), ok
}
