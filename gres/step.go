package gres

import (
	"cmp"
	"slices"
)

// A StepFlags value holds a step's yes-or-no properties.
type StepFlags uint8

const (
	// StepOverlap shares CPUs, memory and devices with other steps (srun
	// --overlap): it sees the whole allocation and takes nothing from it.
	StepOverlap StepFlags = 1 << iota
	// StepWhole takes all CPUs of the job on its nodes (srun without --exact).
	StepWhole
	// StepImmediate does not wait (srun --immediate).
	StepImmediate
	// StepPack fills node after node instead of spreading tasks evenly
	// (CR_PACK_NODES).
	StepPack
	// StepNoDevices takes no device (srun --gres=none). Without it and
	// without needs a step takes all devices of the job on its nodes.
	StepNoDevices
)

// A StepRequest is what a step asks of its job's allocation. It is comparable:
// equal requests form a class in the queue.
//
// Source: srun(1), spec/gres.md 14.
type StepRequest struct {
	// Tasks, at least 1 (0 counts as 1), and CPUs of each (0 counts as 1).
	Tasks, CPUsPerTask int32
	// MinNodes and MaxNodes; 0 is one node a task, at most all of the job, and
	// as many as the job has.
	MinNodes, MaxNodes int32
	// MemMiB on each node; 0 takes none for itself.
	MemMiB int64
	// Needs[:NumNeeds] are the devices asked, by job, node or task.
	Needs    [MaxNeeds]Need
	NumNeeds uint8
	Flags    StepFlags
}

// A StepReason says why a step does not run; 0 is that it does.
type StepReason uint8

const (
	StepRuns StepReason = iota
	// StepBusy: what it needs is in use by other steps. It waits.
	StepBusy
	// StepBehind: an earlier step waits and may not be passed. It waits.
	StepBehind
	// StepNodes: the job has fewer nodes.
	StepNodes
	// StepTooManyCPUs: the job has fewer CPUs.
	StepTooManyCPUs
	// StepMemory: the job has less memory on its nodes.
	StepMemory
	// StepDevices: more devices of a node or task than the job has there.
	StepDevices
	// StepInvalidDevices: devices that the job has not, or more in all.
	StepInvalidDevices
	numStepReasons
)

var stepReasonTexts = [numStepReasons]string{
	"None", "Requested nodes are busy", "Priority", "Requested node configuration is not available",
	"More processors requested than permitted", "Memory required by task is not available",
	"Insufficient GRES available in allocation", "Invalid generic resource (gres) specification",
}

// String returns Slurm's text.
func (r StepReason) String() string {
	if r < numStepReasons {
		return stepReasonTexts[r]
	}
	return "StepReason?"
}

// Waits reports whether a step with reason r runs once others have ended;
// other reasons than StepRuns are final.
func (r StepReason) Waits() bool { return r == StepBusy || r == StepBehind }

// A StepNode is a node of a job: its hardware and what the job holds there.
type StepNode struct {
	Shape *Shape
	Grant *Grant
}

// A StepGrant is what a step holds. It is valid until the step ends.
type StepGrant struct {
	// Nodes are positions in the job's node list, ascending, with the tasks on
	// each and what they hold.
	Nodes, Tasks []int32
	Grants       []Grant
}

// Steps is a job's allocation as its steps see it: what is free of it, and the
// queue of steps that wait (srun --async may put thousands there). It is made
// by [NewSteps].
//
// The queue is first in, first out. If Passing is set, a step may start before
// earlier ones that do not fit at the moment, as Slurm's independent sruns do.
// Steps that overlap take nothing from others and wait for nobody.
// Steps that ask alike share a class: when one does not fit, none of them is
// tried until a step has ended. A start takes steps for the classes that wait
// and the nodes that it passes over, not for the queue's length.
type Steps struct {
	// Passing lets steps start before earlier ones that do not fit.
	Passing bool

	nodes   []stepNode
	classes []stepClass
	byReq   map[StepRequest]int32 // looked up on submission only
	next    uint64                // ticket of the next submission
	running map[uint32]int32      // step number to record
	records []stepRecord
	spare   []int32 // records not in use
	queued  int

	fits  []int32 // scratch: tasks that fit, by node
	looks int     // nodes looked at, which tests count
}

// A stepNode is a node with what is free of the job's part.
type stepNode struct {
	shape         *Shape
	cores, free   []uint64
	all, freeCPUs int32
	mem, freeMem  int64
	devices       []stepDevice
}

// A stepDevice is one entry of the job's grant.
type stepDevice struct {
	grant DeviceGrant
	free  int64
}

// A stepClass is the queue of equal requests.
type stepClass struct {
	req    StepRequest
	ids    []stepTicket // waiting, from head on
	head   int
	cursor int32 // no node before it fits one more task
	failed bool  // does not fit until something ends
	ever   StepReason
}

type stepTicket struct {
	ticket uint64
	id     uint32
}

type stepRecord struct {
	grant StepGrant
	flags StepFlags
}

// NewSteps returns the allocation of a job on nodes, in node order. The grants
// are copied.
func NewSteps(nodes []StepNode) *Steps {
	s := &Steps{byReq: map[StepRequest]int32{}, running: map[uint32]int32{}, fits: make([]int32, len(nodes))}
	for i := range nodes {
		n, g := &nodes[i], nodes[i].Grant
		k := stepNode{shape: n.Shape, mem: g.MemMiB, freeMem: g.MemMiB}
		k.cores = append([]uint64(nil), g.Cores...)
		k.free = append([]uint64(nil), g.Cores...)
		if n.Shape.sockets > 0 {
			k.all = int32(countRange(k.cores, 0, n.Shape.cores) * n.Shape.threads)
		} else {
			k.all = int32(g.MilliCPU / 1000)
		}
		k.freeCPUs = k.all
		for _, d := range g.Devices {
			if d.Units > 0 {
				k.devices = append(k.devices, stepDevice{d, d.Units})
			}
		}
		s.nodes = append(s.nodes, k)
	}
	return s
}

// Waiting returns the number of steps in the queue.
func (s *Steps) Waiting() int { return s.queued }

// Running returns the number of steps that run.
func (s *Steps) Running() int { return len(s.running) }

// Grant returns what running step id holds; ok is false if it does not run.
func (s *Steps) Grant(id uint32) (_ *StepGrant, ok bool) {
	r, ok := s.running[id]
	if !ok {
		return nil, false
	}
	return &s.records[r].grant, true
}

// normal returns r with its defaults filled in.
func (s *Steps) normal(r *StepRequest) StepRequest {
	q := *r
	q.Tasks, q.CPUsPerTask = max(q.Tasks, 1), max(q.CPUsPerTask, 1)
	all := int32(len(s.nodes))
	if q.MinNodes == 0 {
		q.MinNodes = min(q.Tasks, all)
	}
	if q.MaxNodes == 0 {
		q.MaxNodes = max(all, q.MinNodes)
	}
	q.Tasks = max(q.Tasks, q.MinNodes)
	return q
}

// Submit puts a step in the queue; id is not in use. A final reason says that
// it can never run in this allocation, and it is not queued. StepBusy is
// returned for StepImmediate if it does not fit at once: it is not queued
// either. Otherwise the result is StepRuns: the step will come out of
// [Steps.Next].
func (s *Steps) Submit(id uint32, r *StepRequest) StepReason {
	q := s.normal(r)
	k, ok := s.byReq[q]
	if !ok {
		k = int32(len(s.classes))
		s.classes = append(s.classes, stepClass{req: q, ever: s.ever(&q)})
		s.byReq[q] = k
	}
	c := &s.classes[k]
	if c.ever != StepRuns {
		return c.ever
	}
	if q.Flags&StepImmediate != 0 && (!s.Passing && s.queued > 0 && q.Flags&StepOverlap == 0 || !s.fitsNow(c)) {
		return StepBusy
	}
	s.next++
	c.ids = append(c.ids, stepTicket{s.next, id})
	s.queued++
	return StepRuns
}

// Cancel takes a waiting step out of the queue and reports whether it was
// there. O(queue).
func (s *Steps) Cancel(id uint32) bool {
	for k := range s.classes {
		c := &s.classes[k]
		for i := c.head; i < len(c.ids); i++ {
			if c.ids[i].id == id {
				c.ids = append(c.ids[:i], c.ids[i+1:]...)
				s.queued--
				return true
			}
		}
	}
	return false
}

// Next starts the next step that can run now, and returns its number and what
// it holds; ok is false if none can. It does not allocate in steady state.
func (s *Steps) Next() (id uint32, _ *StepGrant, ok bool) {
	for s.queued > 0 {
		k := s.front()
		if k < 0 {
			return 0, nil, false
		}
		c := &s.classes[k]
		if !s.fitsNow(c) {
			c.failed = true
			continue
		}
		id := c.ids[c.head].id
		if c.head++; c.head > len(c.ids)/2 {
			c.ids = c.ids[:copy(c.ids, c.ids[c.head:])]
			c.head = 0
		}
		s.queued--
		return id, s.start(id, c), true
	}
	return 0, nil, false
}

// front returns the class whose first step is the earliest that may be tried,
// −1 if there is none.
func (s *Steps) front() int {
	best := -1
	for k := range s.classes {
		c := &s.classes[k]
		if c.head == len(c.ids) || s.Passing && c.failed {
			continue
		}
		if c.req.Flags&StepOverlap != 0 {
			return k // takes nothing from anybody
		}
		if best < 0 || c.ids[c.head].ticket < s.classes[best].ids[s.classes[best].head].ticket {
			best = k
		}
	}
	if best >= 0 && s.classes[best].failed {
		return -1 // first in, first out
	}
	return best
}

// Why says why a waiting step of the given class does not run; StepRuns if
// nothing holds it.
func (s *Steps) Why(id uint32) StepReason {
	for k := range s.classes {
		c := &s.classes[k]
		for _, t := range c.ids[c.head:] {
			if t.id != id {
				continue
			}
			if s.Passing || c.req.Flags&StepOverlap != 0 || s.front() == k && c.ids[c.head].id == id {
				if s.fitsNow(c) {
					return StepRuns
				}
				return StepBusy
			}
			if !s.Passing && s.earliest() != t.ticket {
				return StepBehind
			}
			return StepBusy
		}
	}
	return StepRuns
}

// AppendWaiting appends the numbers of the waiting steps, the first in the queue
// first. O(queue · log).
func (s *Steps) AppendWaiting(dst []uint32) []uint32 {
	var all []stepTicket
	for k := range s.classes {
		c := &s.classes[k]
		all = append(all, c.ids[c.head:]...)
	}
	slices.SortFunc(all, func(a, b stepTicket) int { return cmp.Compare(a.ticket, b.ticket) })
	for _, t := range all {
		dst = append(dst, t.id)
	}
	return dst
}

// AppendRunning appends the numbers of the running steps, ascending.
func (s *Steps) AppendRunning(dst []uint32) []uint32 {
	from := len(dst)
	for id := range s.running {
		dst = append(dst, id)
	}
	slices.Sort(dst[from:])
	return dst
}

// Adopt books a step that runs already with what g says, which is copied, and
// reports whether that is free; if not, nothing changes. Only flags of r count.
func (s *Steps) Adopt(id uint32, r *StepRequest, g *StepGrant) bool {
	if _, ok := s.running[id]; ok || len(g.Nodes) == 0 || len(g.Tasks) != len(g.Nodes) || len(g.Grants) != len(g.Nodes) {
		return false
	}
	for i, n := range g.Nodes {
		if n < 0 || int(n) >= len(s.nodes) || i > 0 && n <= g.Nodes[i-1] || !s.nodes[n].has(&g.Grants[i], r.Flags&StepOverlap != 0) {
			return false
		}
	}
	rec := stepRecord{flags: r.Flags, grant: StepGrant{Nodes: slices.Clone(g.Nodes), Tasks: slices.Clone(g.Tasks), Grants: make([]Grant, len(g.Grants))}}
	for i, n := range g.Nodes {
		rec.grant.Grants[i].CopyFrom(&g.Grants[i])
		if r.Flags&StepOverlap == 0 {
			s.nodes[n].book(&g.Grants[i], 1)
		}
	}
	s.running[id] = int32(len(s.records))
	s.records = append(s.records, rec)
	return true
}

// has reports whether the node has g free, or with overlap at all.
func (n *stepNode) has(g *Grant, overlap bool) bool {
	cores, cpus, mem := n.free, n.freeCPUs, n.freeMem
	if overlap {
		cores, cpus, mem = n.cores, n.all, n.mem
	}
	if len(g.Cores) != len(cores) || g.CPUs < 0 || g.CPUs > int64(cpus) || g.MemMiB < 0 || g.MemMiB > mem {
		return false
	}
	for w, c := range g.Cores {
		if c&^cores[w] != 0 {
			return false
		}
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		k := n.entry(d)
		if k < 0 || d.Units < 1 || d.Units > n.devices[k].grant.Units || !overlap && d.Units > n.devices[k].free ||
			slices.ContainsFunc(g.Devices[:i], func(e DeviceGrant) bool { return n.entry(&e) == k }) {
			return false
		}
	}
	return true
}

// earliest returns the ticket of the first step in the queue.
func (s *Steps) earliest() uint64 {
	first := s.next + 1
	for k := range s.classes {
		if c := &s.classes[k]; c.head < len(c.ids) {
			first = min(first, c.ids[c.head].ticket)
		}
	}
	return first
}

// End ends step id, whose part is free again, and reports whether it ran.
func (s *Steps) End(id uint32) bool {
	r, ok := s.running[id]
	if !ok {
		return false
	}
	delete(s.running, id)
	rec := &s.records[r]
	if rec.flags&StepOverlap == 0 {
		for i, n := range rec.grant.Nodes {
			s.nodes[n].give(&rec.grant.Grants[i])
			for k := range s.classes {
				s.classes[k].cursor = min(s.classes[k].cursor, n)
			}
		}
		for k := range s.classes {
			s.classes[k].failed = false
		}
	}
	s.spare = append(s.spare, r)
	return true
}
