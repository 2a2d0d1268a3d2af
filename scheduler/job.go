package scheduler

import (
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// flag bits of a job beside its state.
type jobFlags uint16

const (
	flagUnconfirmed jobFlags = 1 << iota // start decided, not reported yet
	flagEnding                           // told to end, not ended yet
	flagRequeue                          // goes back to the queue when it has ended
	flagHeldUser
	flagHeldAdmin
	flagFixedPrio // an operator set the priority
	flagCancel    // cancelled by its user while running
	flagQueued    // has records in the queue
	flagOver      // is over, its nodes are not clean yet
	flagUnstarted // ended without having started
	flagAway      // gone for the length of a trial of preemption
)

// A nodeGrant is what a job holds on one node.
type nodeGrant struct {
	node  topology.NodeID
	grant gres.Grant
}

// A job is a row of the job table. Rows are reused; gen tells a record whether
// the row is still the job that it was made for.
type job struct {
	id    JobID
	gen   uint32
	qgen  uint32 // generation of its queue records
	state JobState
	flags jobFlags

	reason    Reason
	partIdx   int16    // index in parts and classes: the one it runs in, or the first
	prio      uint32   // the headline: in the first of its partitions
	prios     []uint32 // in each of several partitions; else empty
	user      int32    // interned user name
	submit    Time
	since     Time // when the last thing that kept it from being eligible went: a dependency or a hold
	begin     Time // earliest start
	firstTry  Time // when a topology was first asked for few switches; Never before
	eligible  Time // since when it earns age; Never if it does not
	start     Time // when it started, or is planned to; Never unknown
	end       Time // limit of a running job, plan's end, or when it ended
	limit     time.Duration
	seq       uint64 // open decision, 0 none
	restarts  int32
	records   int16    // in the queue
	firstPair int16    // pair of its first record
	endState  JobState // state to take when Ended arrives
	endWhy    Reason
	closing   Time // since when it is told to end or is completing, and 1; 0 is not
	evict     eviction
	stopped   Time        // since when it is suspended for another job
	lent      []nodeGrant // cores that others have meanwhile
	turn      uint64      // place in the line of those who take turns
	shareRow  int16       // row of its partition that it lies in, from 1; 0 shares none

	// These are never written in place, as forks share them; see change.
	parts   []int32  // partitions it may run in, in its order
	classes []int32  // class of each
	spec    *JobSpec // what it asks; what is its own is in own alone
	own     *jobOwn

	alloc  []nodeGrant
	common bool // forks share what alloc leads to: see ownAlloc

	qoses   []qos.QOSID // that it lists, if several
	steps   *jobSteps   // nil without
	plan    int32       // number of its first plan + 1, 0 none
	resv    int32       // reservation that it runs in, 0 for none
	resvEnd Time        // when that one ends; Never if it need not heed it

	depend     dependState
	dependants int32 // first term of others that is on this job + 1, 0 none

	acct     jobAccount
	licenses licenseUse
}

func (j *job) running() bool { return j.state == StateRunning || j.state == StateSuspended }

// A jobTable owns the rows.
type jobTable struct {
	rows []job
	free []int32
	ids  idTable
	// ended lists rows of ended jobs in the order in which they may be
	// forgotten.
	ended []int32
	none  *JobSpec // of rows without a job
	mine  *jobOwn  // theirs
	asks  askTable
}

// find returns the row of id, -1 if there is none.
func (t *jobTable) find(id JobID) int32 { return t.ids.find(id) }

// add returns a row for id with everything but its memory reset.
func (t *jobTable) add(id JobID) int32 {
	var r int32
	if n := len(t.free); n > 0 {
		r = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		r = int32(len(t.rows))
		t.rows = append(t.rows, job{})
	}
	j := &t.rows[r]
	j.emptyAlloc()
	*j = job{id: id, spec: t.none, own: t.mine, firstTry: Never, resvEnd: Never, gen: j.gen + 1, qgen: j.qgen + 1, alloc: j.alloc, prios: j.prios[:0], qoses: j.qoses[:0]}
	t.ids.add(id, r)
	return r
}

// drop forgets a row.
func (t *jobTable) drop(r int32) {
	j := &t.rows[r]
	t.ids.remove(j.id)
	j.id, j.gen, j.state, j.spec, j.own = 0, j.gen+1, StateNone, t.none, t.mine
	t.free = append(t.free, r)
}
