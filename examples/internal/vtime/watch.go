package vtime

import (
	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/scheduler"
)

// readEach is how many waiting jobs' reasons are read at an instant, on
// average: a long queue is read in full at some instants only.
const readEach = 64

// sample notes the state of the cluster after an instant.
func (d *driver) sample() {
	d.s.View(func(v scheduler.View) {
		m := v.Metrics()
		s := outcome.Sample{At: int64(d.now), GPUMilli: m.GPUMilliUsed, MilliCPU: m.CPUMilliUsed, Nodes: m.NodesUsed,
			Pending: m.Pending, Running: m.Running}
		if n := len(d.samples); n > 0 && d.samples[n-1].At == s.At {
			d.samples[n-1] = s
		} else {
			d.samples = append(d.samples, s)
		}
		d.observe(v)
		d.unread++
		if d.unread*readEach >= m.Pending {
			d.unread = 0
			for id := range v.Queue() {
				d.read(v, int32(id)-1)
			}
			return
		}
		for _, i := range d.fresh {
			d.read(v, i)
		}
	})
}

// read notes why a job waits.
func (d *driver) read(v scheduler.View, i int32) {
	j := &d.jobs[i]
	if view, ok := v.Job(d.in.Jobs[i].Spec.ID); ok && j.status == pending && view.Reason != j.reason {
		d.waits(j, view.Reason)
	}
}

// waits books the time since the last change of reason and begins the next
// one. Time before the first reason was read counts for that one.
func (d *driver) waits(j *state, next scheduler.Reason) {
	if j.reason != scheduler.ReasonNone {
		if t := int64(d.now - j.since); t > 0 {
			book(&j.out, j.reason.String(), t)
		}
		j.since = d.now
	}
	j.reason = next
}

func book(j *outcome.Job, reason string, t int64) {
	for k := range j.Waits {
		if j.Waits[k].Reason == reason {
			j.Waits[k].Time += t
			return
		}
	}
	j.Waits = append(j.Waits, outcome.Wait{Reason: reason, Time: t})
}
