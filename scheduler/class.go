package scheduler

import (
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A classKey says what a record asks. Records with equal keys share a class,
// and with it what is known about where they fit.
type classKey struct {
	part int32
	req  gres.Request
	fit  fitKey
}

// A fitKey is the part of a class key that concerns the choice of nodes.
type fitKey struct {
	min, want, max         int32
	sizes                  string
	list, exclude, feature string
	preferred              bool // feature is --prefer: tried now, never waited for
	contiguous, spread     bool
	segment                int32
	spreadSeg, consolidate bool
	switches               int32
	switchWait             time.Duration
	arbitrary, unitsAlone  bool
	levels                 string
}

// A class is a request made ready for one partition. Rows are reference
// counted and reused.
type class struct {
	key        classKey
	serial     uint64 // never used again
	refs       int32
	pool       gres.ClassID
	req        gres.Request
	nodes      *topology.NodeSet // that it may use: the partition's, by features and lists
	all        bool              // nodes are all of the partition's
	list       *topology.NodeSet // -w
	required   *topology.NodeSet // of list, those that are evaluated first
	wish       *featureWish      // alternatives and counts of features; nil without
	min, max   int32
	partNodes  int
	one        bool // takes one node
	wantsGPU   bool
	follow     bool // nodes are evaluated as they are taken
	inTurn     bool // what a node gives depends on those taken before it
	parted     bool // comes in segments
	runs       bool // it fits an idle cluster
	unitsAlone bool // wants its topology units to itself
	shares     bool // may hold cores that others hold
	overMem    bool // asks more memory than a limit allows
	firstPass  gres.Pass
	fit        topology.Request // without sets and columns
	levels     *levelFit        // nil without
	tres       []int64          // what it asks at least, by kind of the schema

	fails       [2]failure  // outside and inside of reservations
	verdict     resvVerdict // whether reservations alone keep it waiting
	asked       uint64      // number of the pass, and of withdrawals, for which servable says
	askedGone   uint64      // whether the nodes that are there could serve it if idle
	servable    bool
	futileResv  int32
	futileAt    uint64        // change up to which it is known to fail now beside the plans, see planner.logBase
	futileLimit time.Duration // for at least so long
	leastLimit  time.Duration // of the records that have asked so
	memo        searchMemo    // of victims
}

// A classTable interns classes.
type classTable struct {
	rows   []class
	serial uint64 // last given
	free   []int32
	ids    map[classKey]int32 // looked up, never ranged over
}

// intern returns the class of key, making it if it is new. Its reference count
// is not raised.
func (e *engine) internClass(key *classKey, build func(*class)) int32 {
	t := &e.classes
	if id, ok := t.ids[*key]; ok {
		return id
	}
	var id int32
	if n := len(t.free); n > 0 {
		id = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		id = int32(len(t.rows))
		t.rows = append(t.rows, class{})
	}
	c := &t.rows[id]
	t.serial++
	*c = class{key: *key, serial: t.serial, req: key.req, leastLimit: Infinite}
	build(c)
	c.pool = e.pool.AddClass(&c.req)
	t.ids[*key] = id
	return id
}

// holdClasses counts a reference to each class.
func (e *engine) holdClasses(ids []int32) {
	for _, id := range ids {
		e.classes.rows[id].refs++
	}
}

// dropClasses takes back the references of job row r.
func (e *engine) dropClasses(r int32) {
	for _, id := range e.jobs.rows[r].classes {
		e.releaseClass(id)
	}
}

// releaseClass takes one reference back; a class without any goes, unless it
// is cheap to keep: the last few stay for the next job of their kind.
func (e *engine) releaseClass(id int32) {
	c := &e.classes.rows[id]
	if c.refs--; c.refs > 0 {
		return
	}
	e.freeClass(id)
}

func (e *engine) freeClass(id int32) {
	c := &e.classes.rows[id]
	e.pool.DropClass(c.pool)
	delete(e.classes.ids, c.key)
	*c = class{}
	e.classes.free = append(e.classes.free, id)
}
