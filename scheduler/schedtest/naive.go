package schedtest

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// A NaiveJob is a job as the twin knows it: whole nodes, or CPUs and GPUs of
// one node.
type NaiveJob struct {
	// ID, and Submit, the order in which jobs are tried.
	ID scheduler.JobID
	// Submit is when it came.
	Submit scheduler.Time
	// Prio ranks it, higher first.
	Prio int64
	// Nodes is the number of whole nodes; 0 for a part of one node.
	Nodes int
	// CPUs and GPUs of the one node.
	CPUs, GPUs int
	// Limit is its time limit.
	Limit time.Duration

	start scheduler.Time // of its plan, or when it started
	on    []int
	gone  bool // it has started
}

// Naive is a scheduler that is slow and obvious: equal nodes with CPUs and
// GPUs that are counted, jobs tried in order of priority, submission and id,
// always on the lowest-numbered nodes that do. The first Depth jobs that do not
// fit get a plan (0: all), and a later job may start only if every plan still
// holds. With Strict the first that does not fit stops the rest.
type Naive struct {
	// Nodes of CPUs and GPUs each.
	Nodes, CPUs, GPUs int
	// Depth is the number of plans, 0 for all.
	Depth int
	// Strict switches plans off.
	Strict bool

	pending, running []*NaiveJob
}

// A NaiveStart is a decision of the twin.
type NaiveStart struct {
	// Job that starts.
	Job scheduler.JobID
	// On are the numbers of its nodes, ascending.
	On []int
}

// Submit queues a job.
func (n *Naive) Submit(j NaiveJob) { n.pending = append(n.pending, &j) }

// End frees what a job holds.
func (n *Naive) End(id scheduler.JobID) {
	n.running = slices.DeleteFunc(n.running, func(j *NaiveJob) bool { return j.ID == id })
}

// Pass returns what starts now.
func (n *Naive) Pass(now scheduler.Time) []NaiveStart {
	slices.SortFunc(n.pending, func(a, b *NaiveJob) int {
		switch {
		case a.Prio != b.Prio:
			return int(b.Prio - a.Prio)
		case a.Submit != b.Submit:
			return int(a.Submit - b.Submit)
		}
		return int(a.ID) - int(b.ID)
	})
	if n.Strict {
		return n.strict(now)
	}
	var out []NaiveStart
	for changed := true; changed; {
		changed = false
		var left []*NaiveJob
		held := 0
		for k, j := range n.pending {
			var plans []*NaiveJob
			for i, o := range n.pending {
				if i != k && o.on != nil && !o.gone {
					plans = append(plans, o)
				}
			}
			start, on := n.earliest(j, now, plans)
			switch {
			case on != nil && start <= now:
				o := *j
				o.start, o.on = now, on
				n.running = append(n.running, &o)
				out = append(out, NaiveStart{j.ID, on})
				changed, j.gone = true, true
				continue
			case j.on == nil && n.Depth > 0 && held == n.Depth:
			case on != nil && (j.on == nil || start != j.start || !slices.Equal(on, j.on)):
				j.start, j.on = start, on
				changed = true
			}
			if j.on != nil {
				held++
			}
			left = append(left, j)
		}
		n.pending = left
	}
	return out
}

// strict starts jobs until one does not fit.
func (n *Naive) strict(now scheduler.Time) []NaiveStart {
	var out []NaiveStart
	for len(n.pending) > 0 {
		j := n.pending[0]
		on := n.fit(j, now, now, nil)
		if on == nil {
			break
		}
		j.start, j.on = now, on
		n.running = append(n.running, j)
		out = append(out, NaiveStart{j.ID, on})
		n.pending = n.pending[1:]
	}
	return out
}

// earliest finds the earliest instant at which j fits beside what runs and the
// plans of others, not after its own: it can only be now, or one at which
// something ends.
func (n *Naive) earliest(j *NaiveJob, now scheduler.Time, plans []*NaiveJob) (scheduler.Time, []int) {
	times := []scheduler.Time{now}
	for _, o := range append(slices.Clone(n.running), plans...) {
		if end := n.end(o, now); end != scheduler.Never {
			times = append(times, end)
		}
	}
	if j.on != nil {
		times = append(times, j.start)
	}
	slices.Sort(times)
	for _, t := range times {
		if j.on != nil && t > j.start {
			break
		}
		if on := n.fit(j, now, t, plans); on != nil {
			return t, on
		}
	}
	return scheduler.Never, nil
}

// end is when o is expected to be gone; a job over its limit, a moment from now.
func (n *Naive) end(o *NaiveJob, now scheduler.Time) scheduler.Time {
	return max(o.start.Add(o.Limit), now+1)
}

// fit returns the lowest nodes on which j fits over [t, t+limit), nil if there
// are too few.
func (n *Naive) fit(j *NaiveJob, now, t scheduler.Time, plans []*NaiveJob) []int {
	var on []int
	want := max(j.Nodes, 1)
	for node := 0; node < n.Nodes && len(on) < want; node++ {
		if n.free(j, node, now, t, plans) {
			on = append(on, node)
		}
	}
	if len(on) < want {
		return nil
	}
	return on
}

// free reports whether node can take j's share at every instant of
// [t, t+limit) at which something else begins or t itself.
func (n *Naive) free(j *NaiveJob, node int, now, t scheduler.Time, plans []*NaiveJob) bool {
	end := t.Add(j.Limit)
	others := append(slices.Clone(n.running), plans...)
	at := []scheduler.Time{t}
	for _, o := range others {
		if o.start > t && o.start < end {
			at = append(at, o.start)
		}
	}
	for _, x := range at {
		cpus, gpus := n.CPUs, n.GPUs
		for _, o := range others {
			if !slices.Contains(o.on, node) || o.start > x || n.end(o, now) <= x {
				continue
			}
			if o.Nodes > 0 || j.Nodes > 0 {
				return false
			}
			cpus -= o.CPUs
			gpus -= o.GPUs
		}
		if j.CPUs > cpus || j.GPUs > gpus {
			return false
		}
	}
	return true
}
