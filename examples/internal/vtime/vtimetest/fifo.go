// Package vtimetest has a scheduler for tests that a glance shows to be right:
// strict first come first served, whole devices, lowest nodes first. It knows
// nothing of partitions and priorities.
package vtimetest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// FIFO implements what package vtime uses of a scheduler.
type FIFO struct {
	scheduler.Scheduler // panics for the rest
	nodes               []node
	jobs                map[scheduler.JobID]*job
	queue               []scheduler.JobID
	now                 scheduler.Time
	seq                 uint64
	ended               uint64
	// Preempt, if not 0, requeues this job once at its second.
	Preempt  scheduler.JobID
	Sabotage bool // charge nothing, to be caught
}

type node struct {
	name string
	cpu  int64
	used int64
	gpus []scheduler.JobID
	jobs int
}

type job struct {
	spec   scheduler.JobSpec
	state  scheduler.JobState
	start  scheduler.Time
	allocs []scheduler.NodeAlloc
}

// New returns a scheduler of n equal nodes named n000, n001, ….
func New(n int, cpus, gpus int64) *FIFO {
	f := &FIFO{jobs: make(map[scheduler.JobID]*job)}
	for i := range n {
		f.nodes = append(f.nodes, node{name: fmt.Sprintf("n%03d", i), cpu: cpus, gpus: make([]scheduler.JobID, gpus)})
	}
	return f
}

// Apply knows submission, start and end.
func (f *FIFO) Apply(now scheduler.Time, ev scheduler.Event) error {
	if now < f.now {
		return scheduler.ErrTime
	}
	f.now = now
	switch ev.Kind {
	case scheduler.EventJobSubmit:
		if gpus, cpus, nodes := asks(ev.Submit); nodes > int64(len(f.nodes)) || gpus > int64(len(f.nodes[0].gpus)) || cpus > f.nodes[0].cpu {
			return scheduler.ErrNeverRuns
		}
		f.jobs[ev.Job] = &job{spec: *ev.Submit, state: scheduler.StatePending}
		f.queue = append(f.queue, ev.Job)
	case scheduler.EventJobStarted:
	case scheduler.EventJobEnded:
		f.end(ev.Job, ev.End)
	default:
		return errors.ErrUnsupported
	}
	return nil
}

// asks returns GPUs and CPUs of each node, and the number of nodes.
func asks(s *scheduler.JobSpec) (gpus, cpus, nodes int64) {
	gpus, _ = strconv.ParseInt(s.GPUsPerNode, 10, 64)
	nodes = int64(max(s.MinNodes, 1))
	cpus = (int64(max(s.Tasks, 1))*int64(max(s.CPUsPerTask, 1)) + nodes - 1) / nodes
	return gpus, cpus, nodes
}

func (f *FIFO) end(id scheduler.JobID, how *scheduler.JobEnd) {
	j := f.jobs[id]
	for _, a := range j.allocs {
		n := f.node(a.Node)
		n.used -= a.CPUs
		n.jobs--
		for i := range n.gpus {
			if n.gpus[i] == id {
				n.gpus[i] = 0
			}
		}
	}
	j.allocs = nil
	switch {
	case id == f.Preempt:
		f.Preempt = 0
		j.state = scheduler.StatePending
		f.queue = append(f.queue, id)
		return
	case how.Signal != 0:
		j.state = scheduler.StateTimeout
	default:
		j.state = scheduler.StateCompleted
	}
	f.ended++
}

func (f *FIFO) node(name string) *node {
	i := slices.IndexFunc(f.nodes, func(n node) bool { return n.name == name })
	return &f.nodes[i]
}

// Pass starts from the front of the queue until a job does not fit, and ends
// jobs at their limit.
func (f *FIFO) Pass(now scheduler.Time, dst []scheduler.Decision) []scheduler.Decision {
	f.now = now
	for _, j := range f.running() {
		switch {
		case j.spec.ID == f.Preempt && now >= j.start.Add(time.Second):
			dst = append(dst, scheduler.Decision{Seq: f.next(), Op: scheduler.OpRequeue, Job: j.spec.ID})
		case j.spec.TimeLimit > 0 && now >= j.start.Add(j.spec.TimeLimit):
			dst = append(dst, scheduler.Decision{Seq: f.next(), Op: scheduler.OpKill, Job: j.spec.ID})
		}
	}
	for len(f.queue) > 0 {
		j := f.jobs[f.queue[0]]
		if !f.place(j) {
			break
		}
		f.queue = f.queue[1:]
		j.state, j.start = scheduler.StateRunning, now
		d := scheduler.Decision{Seq: f.next(), Op: scheduler.OpStart, Job: j.spec.ID, At: now, Limit: scheduler.Infinite, Partition: "all"}
		for _, a := range j.allocs {
			d.Nodes = append(d.Nodes, a.Node)
		}
		dst = append(dst, d)
	}
	return dst
}

func (f *FIFO) next() uint64 { f.seq++; return f.seq }

func (f *FIFO) running() []*job {
	var dst []*job
	for _, j := range f.jobs {
		if j.state == scheduler.StateRunning {
			dst = append(dst, j)
		}
	}
	slices.SortFunc(dst, func(a, b *job) int { return cmp.Compare(a.spec.ID, b.spec.ID) })
	return dst
}

func (f *FIFO) place(j *job) bool {
	gpus, cpus, nodes := asks(&j.spec)
	var on []*node
	for i := range f.nodes {
		n := &f.nodes[i]
		free := int64(0)
		for _, owner := range n.gpus {
			if owner == 0 {
				free++
			}
		}
		if free >= gpus && n.cpu-n.used >= cpus && int64(len(on)) < nodes {
			on = append(on, n)
		}
	}
	if int64(len(on)) < nodes {
		return false
	}
	for _, n := range on {
		a := scheduler.NodeAlloc{Node: n.name, CPUs: cpus}
		for i := range n.gpus {
			if n.gpus[i] == 0 && int64(len(a.Devices)) < gpus {
				a.Devices = append(a.Devices, scheduler.DeviceAlloc{Name: "gpu", Index: int32(i), Units: 1})
				if !f.Sabotage {
					n.gpus[i] = j.spec.ID
				}
			}
		}
		n.used += cpus
		n.jobs++
		j.allocs = append(j.allocs, a)
	}
	return true
}

// Wake is the next limit.
func (f *FIFO) Wake() (at scheduler.Time, ok bool) {
	for _, j := range f.running() {
		end := scheduler.Never
		if j.spec.TimeLimit > 0 {
			end = j.start.Add(j.spec.TimeLimit)
		}
		if j.spec.ID == f.Preempt {
			end = min(end, j.start.Add(time.Second))
		}
		if end != scheduler.Never && (!ok || end < at) {
			at, ok = end, true
		}
	}
	return at, ok
}

// View shows what package vtime reads.
func (f *FIFO) View(read func(scheduler.View)) { read(view{f: f}) }

type view struct {
	scheduler.View
	f *FIFO
}

func (v view) Reservations() iter.Seq[scheduler.ReservationSpec] {
	return func(func(scheduler.ReservationSpec) bool) {}
}

func (v view) Job(id scheduler.JobID) (scheduler.JobView, bool) {
	j, ok := v.f.jobs[id]
	if !ok {
		return scheduler.JobView{}, false
	}
	r := scheduler.ReasonPriority
	if len(v.f.queue) > 0 && v.f.queue[0] == id {
		r = scheduler.ReasonResources
	}
	return scheduler.JobView{ID: id, State: j.state, Reason: r}, true
}

func (v view) AppendAlloc(dst []scheduler.NodeAlloc, id scheduler.JobID) []scheduler.NodeAlloc {
	return append(dst, v.f.jobs[id].allocs...)
}

func (v view) Queue() iter.Seq[scheduler.JobID] { return slices.Values(v.f.queue) }

func (v view) Metrics() scheduler.Metrics {
	m := scheduler.Metrics{Now: v.f.now, Pending: len(v.f.queue), Ended: v.f.ended, Running: len(v.f.running()), Nodes: len(v.f.nodes)}
	for i := range v.f.nodes {
		n := &v.f.nodes[i]
		m.CPUMilliUsed += n.used * 1000
		if n.jobs > 0 {
			m.NodesUsed++
		}
		for _, owner := range n.gpus {
			if owner != 0 {
				m.GPUMilliUsed += 1000
			}
		}
	}
	return m
}
