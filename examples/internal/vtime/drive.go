package vtime

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/scheduler"
)

// A Job is one job of the input. Ids rise from 1 in order of submission.
type Job struct {
	Spec    scheduler.JobSpec
	Name    string // for people
	Submit  scheduler.Time
	Runtime time.Duration // scheduler.Infinite: until its limit
	// Where says where the job was read, for errors.
	Where string
}

// Input is what to drive.
type Input struct {
	Scheduler scheduler.Scheduler
	Jobs      []Job // in order of Submit; Jobs[i].Spec.ID = i+1
	Nodes     []outcome.Node
	// Counts says that nodes are described by counts alone: their devices are
	// held in thousandths.
	Counts bool
	// LeaveOut leaves out a job that the scheduler refuses, instead of giving
	// up.
	LeaveOut bool
	// ShareEach is the time between two looks at what accounts have used; 0:
	// none.
	ShareEach time.Duration
	// Look, if not nil, is called once: after the last instant that is not after
	// LookAt.
	Look   func(scheduler.View)
	LookAt scheduler.Time
	// Progress, if not nil, is told how many jobs have ended.
	Progress func(ended int, now scheduler.Time)
}

// A RefusedError says that the scheduler did not take a job.
type RefusedError struct {
	Job *Job
	Err error
}

// Error names the job as its log does; the scheduler's number of it, which
// says nothing to the reader, is cut off.
func (e *RefusedError) Error() string {
	why := e.Err.Error()
	if _, rest, ok := strings.Cut(why, fmt.Sprintf(" job %d: ", e.Job.Spec.ID)); ok {
		why = rest
	}
	return fmt.Sprintf("%s: job %s: %s", e.Job.Where, e.Job.Name, why)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// A StuckError says that a job waits and nothing can happen any more.
type StuckError struct {
	Job    *Job
	Reason scheduler.Reason
	Others int // that wait too
}

func (e *StuckError) Error() string {
	s := fmt.Sprintf("%s: job %s waits for ever: %s", e.Job.Where, e.Job.Name, e.Reason)
	if e.Others > 0 {
		s += fmt.Sprintf(" (and %d more)", e.Others)
	}
	return s
}

// Drive runs the input to its end. The run lists every job that was taken;
// refused ones are counted in its notes if LeaveOut is set.
func Drive(in Input) (*outcome.Run, error) {
	d := &driver{
		in: in, s: in.Scheduler,
		jobs:  make([]state, len(in.Jobs)),
		nodes: make(map[string]int32, len(in.Nodes)),
	}
	for i := range in.Nodes {
		d.nodes[in.Nodes[i].Name] = int32(i)
	}
	for d.ended < len(d.in.Jobs) {
		at, ok := d.next()
		if !ok {
			return nil, d.stuck()
		}
		if d.in.Look != nil && at > d.in.LookAt {
			d.look()
		}
		if err := d.instant(at); err != nil {
			return nil, err
		}
	}
	d.look()
	return d.run(), nil
}

// state is what the driver knows of one job.
type state struct {
	out    outcome.Job
	status status
	seq    uint32          // of its present stay; a stale end does not count
	taker  scheduler.JobID // whom it makes room for
	left   time.Duration
	since  scheduler.Time // start of the stay, or of the present reason
	reason scheduler.Reason
}

type status uint8

const (
	coming status = iota
	pending
	running
	suspended
	over
	refused
)

// maxLone is how many wakes in a row may pass with nothing else to come.
const maxLone = 1000

type driver struct {
	in        Input
	s         scheduler.Scheduler
	jobs      []state
	nodes     map[string]int32
	ends      heap
	arrived   int
	ended     int // refused ones count
	refused   int
	now       scheduler.Time
	decisions []scheduler.Decision
	allocs    []scheduler.NodeAlloc
	samples   []outcome.Sample
	passes    int
	freed     bool    // something was given back since the last pass
	lone      int     // wakes in a row with nothing running or to come
	fresh     []int32 // jobs that came into the queue at this instant
	seen      watch
	unread    int // instants since all reasons were read
}

// next is the next instant at which something happens.
func (d *driver) next() (at scheduler.Time, ok bool) {
	if d.arrived < len(d.in.Jobs) {
		at, ok = d.in.Jobs[d.arrived].Submit, true
	}
	if len(d.ends) > 0 && (!ok || d.ends[0].at < at) {
		at, ok = d.ends[0].at, true
	}
	// With nothing running and nothing to come, waking may still start a job
	// (its begin time), but not for ever.
	if w, some := d.s.Wake(); some && (!ok && d.lone < maxLone || ok && w < at) {
		if !ok {
			d.lone++
		}
		at, ok = w, true
	}
	return max(at, d.now), ok
}

// instant tells what happens at one instant and carries out what is decided.
func (d *driver) instant(at scheduler.Time) error {
	d.now = at
	d.fresh = d.fresh[:0]
	for len(d.ends) > 0 && d.ends[0].at <= at {
		e := d.ends.pop()
		if j := &d.jobs[e.job]; j.status == running && j.seq == e.seq {
			if err := d.end(e.job, scheduler.JobEnd{}); err != nil {
				return err
			}
		}
	}
	for d.arrived < len(d.in.Jobs) && d.in.Jobs[d.arrived].Submit <= at {
		if err := d.arrive(int32(d.arrived)); err != nil {
			return err
		}
		d.arrived++
	}
	for {
		d.freed = false
		d.decisions = d.s.Pass(at, d.decisions[:0])
		d.passes++
		if err := d.carryOut(); err != nil {
			return err
		}
		if !d.freed {
			break // else what was given back may serve another job now
		}
	}
	d.sample()
	if d.in.Progress != nil {
		d.in.Progress(d.ended, d.now)
	}
	return nil
}

func (d *driver) arrive(i int32) error {
	in, j := &d.in.Jobs[i], &d.jobs[i]
	j.out = outcome.Job{ID: uint64(in.Spec.ID), Name: in.Name, User: in.Spec.User, Account: in.Spec.Account,
		Submit: int64(in.Submit)}
	if err := d.s.Apply(d.now, scheduler.Submit(&in.Spec)); err != nil {
		if !d.in.LeaveOut {
			return &RefusedError{in, err}
		}
		j.status = refused
		d.refused++
		d.ended++
		return nil
	}
	d.queue(i)
	return nil
}

// queue notes that a job waits from now on.
func (d *driver) queue(i int32) {
	j := &d.jobs[i]
	j.status, j.left, j.since, j.reason = pending, d.in.Jobs[i].Runtime, d.now, scheduler.ReasonNone
	d.fresh = append(d.fresh, i)
}

// carryOut does what the scheduler decided, at once, and reports back.
func (d *driver) carryOut() error {
	for k := range d.decisions {
		dec := &d.decisions[k]
		i := int32(dec.Job) - 1
		var err error
		switch dec.Op {
		case scheduler.OpStart:
			err = d.start(i, dec)
		case scheduler.OpPreempt:
			d.jobs[i].taker = dec.For
		case scheduler.OpKill, scheduler.OpRequeue:
			if dec.Reason == scheduler.ReasonPreempted {
				d.jobs[i].taker = dec.For
			}
			err = d.end(i, scheduler.JobEnd{Signal: sigterm})
		case scheduler.OpSuspend:
			d.jobs[i].taker = dec.For
			d.suspend(i)
		case scheduler.OpResume:
			d.resume(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sigterm ends jobs that must go.
const sigterm = 15

func (d *driver) start(i int32, dec *scheduler.Decision) error {
	j := &d.jobs[i]
	d.waits(j, scheduler.ReasonNone)
	d.lone = 0
	stay := outcome.Stay{Start: int64(d.now), Backfill: dec.Backfill}
	d.s.View(func(v scheduler.View) { d.allocs = v.AppendAlloc(d.allocs[:0], dec.Job) })
	for _, a := range d.allocs {
		n, ok := d.nodes[a.Node]
		if !ok {
			return fmt.Errorf("vtime: job %s: starts on %q, which is no node", j.out.Name, a.Node)
		}
		p := outcome.Place{Node: n, MilliCPU: a.CPUMilli}
		if p.MilliCPU == 0 {
			p.MilliCPU = a.CPUs * 1000
		}
		for _, dev := range a.Devices {
			if dev.Name == "gpu" {
				p.Devices = append(p.Devices, outcome.Device{Index: dev.Index, Milli: d.milli(dev.Units)})
			}
		}
		stay.Places = append(stay.Places, p)
	}
	j.out.Stays = append(j.out.Stays, stay)
	j.out.Partition, j.out.QOS = dec.Partition, dec.QOS
	if dec.Limit != scheduler.Infinite {
		j.out.Limit = int64(dec.Limit / time.Microsecond)
	}
	j.status = running
	j.taker = 0
	d.runOn(i)
	if err := d.s.Apply(d.now, scheduler.Started(dec)); err != nil {
		return fmt.Errorf("vtime: job %s: report its start: %w", j.out.Name, err)
	}
	return nil
}

// milli is the units of a device in thousandths.
func (d *driver) milli(units int64) int64 {
	if d.in.Counts {
		return units
	}
	return units * 1000
}

// runOn sets the end of a job that runs from now.
func (d *driver) runOn(i int32) {
	j := &d.jobs[i]
	j.seq++
	j.since = d.now
	if j.left != scheduler.Infinite {
		d.ends.push(end{at: d.now.Add(j.left), job: i, seq: j.seq})
	}
}

// end reports that a running job is gone.
func (d *driver) end(i int32, how scheduler.JobEnd) error {
	j := &d.jobs[i]
	if j.status != running && j.status != suspended {
		return nil
	}
	j.seq++
	stay := &j.out.Stays[len(j.out.Stays)-1]
	stay.End = int64(d.now)
	if j.status == suspended {
		j.out.Pauses[len(j.out.Pauses)-1].End = int64(d.now)
	} else if how.Signal != 0 && j.taker != 0 {
		stay.Evicted, stay.For = true, uint64(j.taker)
	}
	id := d.in.Jobs[i].Spec.ID
	if err := d.s.Apply(d.now, scheduler.Ended(id, how)); err != nil {
		return fmt.Errorf("vtime: job %s: report its end: %w", j.out.Name, err)
	}
	d.freed = true
	var view scheduler.JobView
	d.s.View(func(v scheduler.View) { view, _ = v.Job(id) })
	if view.State == scheduler.StatePending { // queued again
		d.queue(i)
		return nil
	}
	j.status = over
	j.out.State = view.State.String()
	d.ended++
	return nil
}

func (d *driver) suspend(i int32) {
	j := &d.jobs[i]
	if j.left != scheduler.Infinite {
		j.left -= d.now.Sub(j.since)
	}
	j.seq++
	j.status = suspended
	j.out.Pauses = append(j.out.Pauses, outcome.Pause{Start: int64(d.now), For: uint64(j.taker)})
}

func (d *driver) resume(i int32) {
	j := &d.jobs[i]
	j.status, j.taker = running, 0
	if n := len(j.out.Pauses); n > 0 {
		j.out.Pauses[n-1].End = int64(d.now)
	}
	d.runOn(i)
}

func (d *driver) stuck() error {
	e := &StuckError{Others: -1}
	for i := range d.jobs {
		if s := d.jobs[i].status; s == over || s == refused {
			continue
		}
		e.Others++
		if e.Job != nil {
			continue
		}
		e.Job = &d.in.Jobs[i]
		d.s.View(func(v scheduler.View) {
			view, _ := v.Job(e.Job.Spec.ID)
			e.Reason = view.Reason
		})
	}
	return e
}

func (d *driver) run() *outcome.Run {
	r := &outcome.Run{Nodes: d.in.Nodes, Samples: d.samples, Passes: d.passes, Reservations: d.seen.reservations, Shares: d.seen.shares}
	for i := range d.jobs {
		if d.jobs[i].status == over {
			r.Jobs = append(r.Jobs, d.jobs[i].out)
		}
	}
	if d.refused > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d jobs that this cluster can never run were left out.", d.refused))
	}
	return r
}
