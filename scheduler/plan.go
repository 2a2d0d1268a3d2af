package scheduler

import (
	"slices"
	"time"

	"github.com/berth-sched/berth/topology"
)

// Promise says what a plan is worth to the job that it is for. A plan only ever
// moves to an earlier start, unless a job overruns its limit, a node fails, a
// reservation is made, changed or removed or takes other nodes (REPLACE), or what
// the mode adds. That a reservation begins, ends or repeats moves none.
type Promise uint8

// The promises. In both a job of lower rank never delays a plan.
const (
	// PromiseBestEffort: a plan makes room for a job of higher rank that comes
	// later, or rises in rank, or for which there was no place before, as for one
	// that waits for its reservation.
	PromiseBestEffort Promise = iota
	// PromiseKept: a plan makes room for nobody.
	PromiseKept
	promises
)

var promiseNames = [promises]string{PromiseBestEffort: "best-effort", PromiseKept: "kept"}

// String returns the name of p.
func (p Promise) String() string { return enumName(promiseNames[:], uint8(p)) }

// MarshalText returns the name of p.
func (p Promise) MarshalText() ([]byte, error) { return enumText(promiseNames[:], uint8(p)) }

// UnmarshalText accepts a name that MarshalText gives.
func (p *Promise) UnmarshalText(b []byte) error {
	v, err := enumParse("promise", promiseNames[:], b)
	if err == nil {
		*p = Promise(v)
	}
	return err
}

// A plan is a promise to a record: its job holds these grants over [start,
// end), and nothing of lower rank may take them then. A plan without grants
// holds nothing: it notes that the record could start at start, which is beyond
// the window, or Never.
type plan struct {
	row        int32 // of the job, -1 if the entry is free
	pair       int16
	pick       int16 // alternative of its licences
	resv       int32 // reservation of the record, 0 for none
	next       int32 // the job's next plan + 1, 0 none
	limit      time.Duration
	start, end Time
	grants     []nodeGrant
	serial     uint64 // rises with making
	checked    int    // changes of the log that it has been compared with
	now        int    // those that it has been compared with for a start at this instant
	pos        int32  // of the record in the queue of this pass
	why        Reason // for which the record waits
	booked     bool   // in the calendars
	broken     bool   // what runs is in its way
	kind       kind
}

// A planner is what the scheduler knows of the future. Profile Slurm makes its
// plans anew in each planning pass. Profile Best keeps them: a calendar of every
// node holds what runs, until its limit, and what is planned.
type planner struct {
	all  []plan
	n    int
	ends []ending // profile Slurm: ascending
	seen planSeen

	// Profile Best.
	free      []int32          // entries of all
	serial    uint64           // last given
	live      int              // plans that are booked
	on        [][]int32        // by node: its booked plans
	nodes     topology.NodeSet // nodes with booked plans
	noted     uint64           // rises as engine.freed for changes that are noted by node
	seenNoted uint64           // noted at the last planning pass
	open      bool             // the first planning pass has been
	vacant    topology.NodeSet // nodes on which something has become free since the last planning pass

	cal    []calendar // by node; nil before the first plan
	nextAt []Time     // by node: when its calendar turns
	weight []uint32   // of each node
	stale  topology.NodeSet
	stales []topology.NodeID // the same, in order of change
	broken []int32

	bounds    boundTable
	find      planSearch
	searching bool
	left      int64 // steps left for moving plans
	inPass    bool
	own       topology.NodeSet // nodes whose bounds do not count in a search
	owned     []topology.NodeID
	aside     []int32 // plans that are out of the calendars while another record of their job is tried
	only      topology.NodeSet
	spots     topology.NodeSet  // of choosePlace and onlyReady
	log       []topology.NodeID // see changes
	changes
	logBase      uint64  // changes before the log; more if something has changed that is not noted by node
	first        Time    // no search takes a start before
	order        []int32 // booked plans in order of the queue
	fill         []filler
	skip         int32   // row of the job whose plans do not count, -1 none
	turned       uint64  // changes of reservations that plans have been compared with
	lifts        []int32 // plans below the record at hand that are out of the calendars
	lifted       bool    // plans below the record at hand have made room
	moved        bool    // this sweep changed something
	licensed     []licenseTurn
	licenseStale bool
	units        [][]unitFuture // by pool and unit; nil before the first is asked for
	apart        int            // booked plans that keep others off their nodes
	alone        []int32        // booked plans that have their topology units to themselves
	holds        []unitHold     // of those and of running jobs
	holdsKnown   bool
	shared       []int32          // scratch of breakShared
	running      bool             // guards look at what runs alone
	some, unit   topology.NodeSet // scratch; the units that used is about
	used         []unitSpan
	usedKnown    bool
	turns        []turn
	row          []uint64
	kept         []int32 // of closeChanges
}

// planSeen tells whether anything changed since the last planning pass.
type planSeen struct {
	freed, seq, arrivals uint64
	valid                bool
}

func (p *planner) init(nodes int) {
	p.on = make([][]int32, nodes)
	for _, s := range []*topology.NodeSet{&p.nodes, &p.vacant, &p.stale, &p.own, &p.only, &p.spots, &p.some, &p.unit} {
		s.Init(nodes)
	}
	p.skip = -1
	p.round, p.nextRound = wholeQueue, Never
}

// clear forgets all plans and keeps their memory (profile Slurm).
func (p *planner) clear() {
	p.n = 0
	p.ends = p.ends[:0]
}

// add makes room for one more plan (profile Slurm).
func (p *planner) add() *plan {
	if p.n == len(p.all) {
		p.all = append(p.all, plan{})
	}
	p.n++
	x := &p.all[p.n-1]
	x.grants = x.grants[:0]
	return x
}

// newPlan returns an entry for a record of profile Best.
func (e *engine) newPlan(rec record) int32 {
	p := &e.plans
	var id int32
	if n := len(p.free); n > 0 {
		id = p.free[n-1]
		p.free = p.free[:n-1]
	} else {
		id = int32(len(p.all))
		p.all = append(p.all, plan{})
		p.n = len(p.all)
		p.free = slices.Grow(p.free, p.n)
	}
	p.serial++
	j := &e.jobs.rows[rec.row]
	x := &p.all[id]
	*x = plan{row: rec.row, pair: rec.pair, resv: rec.resv, next: j.plan, start: Never, end: Never, grants: x.grants[:0], serial: p.serial}
	j.plan = id + 1
	return id
}

// planOf returns the number of a record's plan, -1 if it has none.
func (e *engine) planOf(rec *record) int32 {
	for id := e.jobs.rows[rec.row].plan - 1; id >= 0; id = e.plans.all[id].next - 1 {
		if x := &e.plans.all[id]; x.pair == rec.pair && x.resv == rec.resv {
			return id
		}
	}
	return -1
}

// vacate notes that something on a node has become free, or may have.
func (p *planner) vacate(n topology.NodeID) {
	if !p.open {
		return
	}
	p.vacant.Add(n)
	p.touch(n)
	if p.inPass {
		p.log = append(p.log, n)
	}
}

// dropPlans forgets the plans of a job. It may be called outside a pass: the
// calendars follow in the next.
func (e *engine) dropPlans(r int32) {
	for e.jobs.rows[r].plan > 0 {
		e.dropPlan(e.jobs.rows[r].plan - 1)
	}
}

// dropPlan forgets a plan.
func (e *engine) dropPlan(id int32) {
	p := &e.plans
	x := &p.all[id]
	if x.booked {
		for i := range x.grants {
			p.vacate(x.grants[i].node)
		}
		e.noteAround(&e.jobs.rows[x.row], x.pair, x.grants)
		e.unlist(id)
	} else if p.inPass {
		e.leave(x)
	}
	at := &e.jobs.rows[x.row].plan
	for *at-1 != id {
		at = &p.all[*at-1].next
	}
	*at = x.next
	x.row, x.grants = -1, x.grants[:0]
	p.free = append(p.free, id)
}

// forgetPlans drops all plans.
func (e *engine) forgetPlans() {
	for id := range e.plans.all[:e.plans.n] {
		if e.cfg.Profile == ProfileBest && e.plans.all[id].row >= 0 {
			e.dropPlan(int32(id))
		}
	}
}

// list puts a plan on its nodes' lists; unlist takes it off.
func (e *engine) list(id int32) {
	p := &e.plans
	x := &p.all[id]
	for i := range x.grants {
		n := x.grants[i].node
		p.on[n] = append(p.on[n], id)
		p.nodes.Add(n)
	}
	x.booked, p.licenseStale = true, true
	e.notePlan(id, 1)
	p.live++
}

func (e *engine) unlist(id int32) {
	p := &e.plans
	x := &p.all[id]
	for i := range x.grants {
		n := x.grants[i].node
		l := p.on[n]
		at := slices.Index(l, id)
		l[at] = l[len(l)-1]
		if p.on[n] = l[:len(l)-1]; len(l) == 1 {
			p.nodes.Remove(n)
		}
	}
	x.booked, p.licenseStale = false, true
	e.notePlan(id, -1)
	p.live--
}

// planPhase walks the queue once more: each job is tried now against the plans,
// and those of the first Depth jobs that do not fit get one.
func (e *engine) planPhase(dst []Decision) []Decision {
	par := &e.par.Plan
	if e.counts.Pending == 0 {
		return dst
	}
	if par.Mode == PlanNone {
		if e.cfg.Profile == ProfileSlurm {
			e.builtinPlan()
		}
		return dst
	}
	if e.closingUntil() > 0 {
		return dst
	}
	if e.slurm.round.open && !par.Continue && e.plans.seen != (planSeen{e.freed, e.seq, e.arrivals, true}) {
		e.slurm.round.open = false
	}
	if par.Interval > 0 {
		if e.now < e.nextBF && !e.slurm.round.open {
			return dst
		}
		e.nextBF = e.now.Add(par.Interval)
	}
	if e.cfg.Profile == ProfileSlurm {
		return e.slurmPlan(dst)
	}
	return e.bestPlan(dst)
}
