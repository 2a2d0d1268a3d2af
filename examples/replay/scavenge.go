package main

import "github.com/berth-sched/berth/scheduler"

// The QOS of jobs whose place others may take, and of those.
const (
	scavenger = "scavenger"
	regular   = "regular"
)

// scavengers lets regular jobs preempt scavengers, which are requeued and rank
// below.
func (o *options) scavengers(cfg *scheduler.Config) {
	if o.scavenge <= 0 {
		return
	}
	cfg.QOS = []scheduler.QOSSpec{{Name: scavenger}, {Name: regular, Priority: 1, Preempt: []string{scavenger}}}
	p := &cfg.Parameters
	p.Preempt.Type, p.Preempt.Mode = "qos", "REQUEUE"
	p.Priority.QOS = 1000
}

// qosOf spreads scavengers evenly over the jobs.
func qosOf(i int, part float64) string {
	if int(float64(i+1)*part) > int(float64(i)*part) {
		return scavenger
	}
	return regular
}
