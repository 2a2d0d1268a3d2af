package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/topology"
)

// The engine is the Scheduler that New returns. Its fields fall into what is
// configured, the books, and scratch; the books are what a snapshot holds and
// what check verifies.
type engine struct {
	cfg Config
	reg *Registry
	par Parameters // effective: defaults filled in

	// Nodes, in node order; index is topology.NodeID.
	names   *topology.Names
	nodes   []node
	there   topology.NodeSet // places that have a node
	up      topology.NodeSet // nodes that take jobs
	devices *gres.DeviceTable
	pool    *gres.Pool
	schema  *gres.Schema

	parts      []partition
	partByKey  map[string]int32
	defPart    int32
	topos      []topo
	topologies *topology.Topologies
	unroll     int32 // TopoMaxSizeUnroll, 0 off
	classes    classTable
	users      nameTable
	owners     nameTable // of devices with a scope
	scopes     []nameScope
	licenses   licenses
	acct       *accounting                  // nil without accounts and QOS
	features   map[string]*topology.NodeSet // looked up, never ranged over
	weighted   bool                         // nodes differ in weight
	sharing    bool                         // jobs of a partition may share cores
	totalCPUs  []int32                      // of each node

	// The books.
	now          Time
	seq          uint64
	jobs         jobTable
	queue        queue
	rank         ranker
	orders       []pendingOrder // running jobs that must end
	stepping     []stepRow      // jobs whose waiting steps may run now
	plans        planner
	slurm        slurmPlanner
	resv         resvTable
	held         topology.NodeSet // nodes in units that running jobs have to themselves
	busy         topology.NodeSet // scratch of keepUnits
	holders      int              // jobs that have units to themselves
	holding      []int32          // their rows
	apart        int              // running jobs that keep others off their nodes
	freed        uint64           // rises whenever something is freed or allowed
	arrivals     uint64           // rises whenever a job comes or changes
	passNo       uint64
	nextCal      Time // next computation of priorities
	nextSwitch   Time // when a job has waited long enough for few switches
	nextBF       Time // next planning pass
	nextFull     Time // next start phase that tests all records
	leftOver     bool // the last start phase ended before it had
	counts       Metrics
	coreWords    int           // of the widest shape
	types        []gres.TypeID // of a snapshot that is read, as they are here
	reading      bool          // a snapshot is read
	trackedKinds []gres.Kind
	timers       timers
	pre          preempter
	depends      dependTable
	placement    placement
	closings     []closing  // jobs that complete, first come first, if others wait for them
	part         gres.Grant // scratch: cores lent and taken back

	try scratch
}

// A node is what the scheduler knows of a node beside its resources.
type node struct {
	spec   int32 // index in cfg.Nodes
	state  NodeState
	reason string
	jobs   []int32 // rows of the jobs on it, in order of start
}

// A partition is a PartitionSpec made ready.
type partition struct {
	spec     PartitionSpec
	nodes    topology.NodeSet
	tier     uint16
	factor   uint32
	topo     int32
	views    []gres.ViewID     // nodes of one weight each, lightest first
	cpus     int64             // of all its nodes
	billing  *priority.Billing // nil is a point a CPU
	failedIn uint64            // number of the pass in which a waiting job blocked the rest
	rows     int               // jobs that may hold a core at once
	askShare bool              // only those may that ask
	share    *gres.CoreRows    // nil with one row
	testedIn uint64            // number of the pass that tested counts for
	tested   int32
}

// effective returns p with defaults filled in for the profile.
func (p Parameters) effective(profile Profile) Parameters {
	slurm := profile == ProfileSlurm
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&p.KillWait, 30*time.Second)
	def(&p.Queue.FullInterval, time.Minute)
	def(&p.MinJobAge, 300*time.Second)
	def(&p.MessageTimeout, 10*time.Second)
	def(&p.Priority.MaxAge, 7*24*time.Hour)
	def(&p.Priority.DecayHalfLife, 7*24*time.Hour)
	def(&p.Priority.CalcPeriod, 5*time.Minute)
	def(&p.Preempt.TimeSlice, 30*time.Second)
	def(&p.Select.MaxSwitchWait, 300*time.Second)
	if slurm {
		def(&p.Plan.Window, 24*time.Hour)
		def(&p.Plan.Resolution, time.Minute)
		def(&p.Plan.Interval, 30*time.Second)
		def(&p.RequeueDelay, 121*time.Second)
		if p.Plan.MaxTest == 0 {
			p.Plan.MaxTest = 500
		}
		if p.Plan.MaxSlots == 0 {
			p.Plan.MaxSlots = p.Plan.MaxTest
		}
		if p.MaxRequeue == 0 {
			p.MaxRequeue = 5
		}
		p.StepPassing = true
	} else {
		def(&p.Preempt.Settle, defaultSettle)
		def(&p.Plan.Window, Infinite)
		def(&p.Plan.Resolution, time.Microsecond)
	}
	if p.Plan.MaxArrayPlans == 0 {
		p.Plan.MaxArrayPlans = 20
	}
	if p.MaxArraySize == 0 {
		p.MaxArraySize = 1001
	}
	if p.MaxDependDepth == 0 {
		p.MaxDependDepth = math.MaxInt32
		if slurm {
			p.MaxDependDepth = 10
		}
	}
	if p.Select.Unit == "" {
		p.Select.Unit = "CR_Core"
	}
	return p
}

// A nameTable numbers names from 0 in order of arrival.
type nameTable struct {
	ids   map[string]int32 // looked up, never ranged over
	names []string
}

func (t *nameTable) intern(s string) int32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	if t.ids == nil {
		t.ids = make(map[string]int32)
	}
	id := int32(len(t.names))
	t.ids[s] = id
	t.names = append(t.names, s)
	return id
}

// timers hold what happens at an instant without an event.
type timers struct {
	limits    timerHeap // end of running jobs' limits
	begins    timerHeap // begin times of pending jobs
	deadlines timerHeap // when pending jobs can no longer meet theirs
}

// A timerHeap is a binary heap of (at, row, gen). Stale entries are dropped
// when they come to the top.
type timerHeap struct{ items []timer }

type timer struct {
	at  Time
	row int32
	gen uint32
	id  JobID
}

func (t timer) before(u timer) bool {
	if t.at != u.at {
		return t.at < u.at
	}
	return t.id < u.id
}

// reserve makes room for n timers.
func (h *timerHeap) reserve(n int) { h.items = slices.Grow(h.items, max(n-len(h.items), 0)) }

func (h *timerHeap) push(t timer) {
	h.items = append(h.items, t)
	i := len(h.items) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !h.items[i].before(h.items[p]) {
			break
		}
		h.items[i], h.items[p] = h.items[p], h.items[i]
		i = p
	}
}

func (h *timerHeap) pop() {
	n := len(h.items) - 1
	h.items[0] = h.items[n]
	h.items = h.items[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return
		}
		if c+1 < n && h.items[c+1].before(h.items[c]) {
			c++
		}
		if !h.items[c].before(h.items[i]) {
			return
		}
		h.items[i], h.items[c] = h.items[c], h.items[i]
		i = c
	}
}

// A pendingOrder is a running job that the next pass tells to end.
type pendingOrder struct {
	row int32
	gen uint32
	op  Op
}
