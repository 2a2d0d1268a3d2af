package qos

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-sched/berth/gres"
)

// A Job is what limits look at in a job. The zero value of every field but
// Assoc and TRES is usable. Checks and charges do not keep it nor its slices.
type Job struct {
	Assoc   AssocID // 0: none, then only QOS limits apply
	QOS     QOSID   // the job's own; 0: none
	PartQOS QOSID   // that of the partition looked at; 0: none

	// TRES is what the limits compare, of the ledger's schema. Before nodes are
	// chosen it is the least that the job asks for in all, the number of nodes
	// in gres.Node. Afterwards it is the allocation for CPUs, memory, nodes and
	// billing, and still the request for GRES: an untyped request for a GPU is
	// not measured by a limit on one type.
	TRES gres.Vector
	// Alloc is what Charge books if it differs from TRES: the allocation, in
	// which a GPU that was asked for without a type counts under its type too.
	// Default: TRES.
	Alloc gres.Vector
	// Nodes are the allocated nodes, each once, in any order. Default: none,
	// which is right before nodes are chosen.
	Nodes []int32
	// Limit is the time limit. 0 says that there is none: at submission limits
	// may give one, later it counts as Unlimited.
	Limit time.Duration
	// Tasks is the number of array tasks; it counts at submission alone.
	// Default: 1.
	Tasks int64
	// Billing is what a second of the job is worth before UsageFactor, not
	// truncated: the price of its TRES in its partition. Default: 0.
	Billing float64
	// Fairshare is the fair-share factor of the association, in [0, 1], for
	// UsageThreshold.
	Fairshare float64
	// AdminLimit says that an administrator set the time limit, and bit k of
	// AdminTRES that he set the amount of kind k: limits no longer apply to them.
	AdminLimit bool
	AdminTRES  []uint64
}

func (j *Job) tasks() int64 { return max(j.Tasks, 1) }

// A ChargeID is the number of a running job's entry in the books; 0 is none.
// It is given again some time after Uncharge.
type ChargeID int32

// charge is a running job in the books. Its amounts stand in books.holds.
type charge struct {
	assoc   AssocID
	qos     [2]QOSID // job QOS and partition QOS, 0 where there is none or the same
	factor  float64  // UsageFactor of the job QOS when it started
	billing float64
	left    time.Duration // of its time limit
	nodes   []int32
	live    bool
}

// maxSeconds is the time that an unlimited job is taken to need: what Slurm's
// largest time limit is in seconds.
const maxSeconds = math.MaxUint32 * 60

// secondsOf returns a time limit in seconds, rounded up.
func secondsOf(limit time.Duration) int64 {
	if limit == Unlimited {
		return maxSeconds
	}
	sec := int64(limit / time.Second)
	if limit%time.Second > 0 {
		sec++
	}
	return sec
}

// committed returns amount · seconds · factor, rounded down: what a job may
// still take. It is a function of its arguments alone, so that what was added
// can be taken away again.
func committed(amount, sec int64, factor float64) int64 {
	n := gres.SatMul(amount, sec)
	if factor == 1 || n == 0 {
		return n
	}
	x := float64(float64(n) * factor)
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}

// rowOf returns the counters of an association, making them if need be.
func (l *Ledger) rowOf(id AssocID) int32 {
	a := &l.assocs[id]
	if a.row == 0 {
		a.row = l.books.newRow()
		l.track(a.row, hasNodes(a.own, GrpTRES))
	}
	return a.row
}

func (l *Ledger) rowOfQOS(id QOSID) int32 {
	q := &l.qos[id]
	if q.row == 0 {
		q.row = l.books.newRow()
		l.books.rows[q.row].flat = q.attr.Flags&NoDecay != 0
		l.track(q.row, hasNodes(&q.set, GrpTRES))
	}
	return q.row
}

func (l *Ledger) rowOfPair(q QOSID, of int32, account bool) int32 {
	key := pairKey(q, of, account)
	if r := l.books.pairs.get(key); r != 0 {
		return r
	}
	r := l.books.newRow()
	l.books.pairs.put(key, r)
	m := MaxTRESPerUser
	if account {
		m = MaxTRESPerAccount
	}
	l.track(r, hasNodes(&l.qos[q].set, m))
	return r
}

func hasNodes(s *limits, m Limit) bool {
	if s == nil {
		return false
	}
	_, ok := s.slot(m, gres.Node)
	return ok
}

// rowsOf lists in scratch the rows that a job of assoc in the two QOS counts
// in: first the association and those above, then the QOS, then users and
// accounts in them; plain is the number of the first two sorts, which have
// history. Rows are made if need be.
func (l *Ledger) rowsOf(assoc AssocID, qos [2]QOSID) (rows []int32, plain int) {
	rows = l.books.scratch.rows[:0]
	for a := assoc; a != 0; a = l.assocs[a].parent {
		rows = append(rows, l.rowOf(a))
	}
	for _, q := range qos {
		if q != 0 {
			rows = append(rows, l.rowOfQOS(q))
		}
	}
	plain = len(rows)
	if assoc != 0 {
		a := &l.assocs[assoc]
		for _, q := range qos {
			if q == 0 {
				continue
			}
			rows = append(rows, l.rowOfPair(q, int32(a.account), true))
			if a.user != 0 {
				rows = append(rows, l.rowOfPair(q, int32(a.user), false))
			}
		}
	}
	l.books.scratch.rows = rows
	return rows, plain
}

// both returns the job's two QOS, each once.
func (j *Job) both() [2]QOSID {
	if j.PartQOS == j.QOS {
		return [2]QOSID{j.QOS, 0}
	}
	return [2]QOSID{j.QOS, j.PartQOS}
}

// Charge books a job that starts: one running job, what it holds, its nodes,
// and what it may still take until its time limit. It counts for the
// association and all above it, for both QOS, and for its user and account in
// each. The entry stays until [Ledger.Uncharge]. It allocates only where an
// owner, a node or an entry is new.
func (l *Ledger) Charge(j *Job) ChargeID {
	b := &l.books
	id := b.newCharge()
	c := &b.charges[id]
	c.assoc, c.qos, c.factor, c.billing, c.live = j.Assoc, j.both(), 1, j.Billing, true
	if j.QOS != 0 {
		c.factor = l.quality(j.QOS).attr.UsageFactor
	}
	c.left = j.Limit
	if j.Limit <= 0 {
		c.left = Unlimited
	}
	c.nodes = append(c.nodes[:0], j.Nodes...)
	hold := j.Alloc
	if hold == nil {
		hold = j.TRES
	}
	copyVector(b.held(id), hold)
	l.post(id, 1)
	b.log = append(b.log, entry{op: opCharge, id: int32(id)})
	return id
}

// Uncharge takes a running job out of the books: every counter is as if it had
// never started, but for the usage that was accrued. It panics if id is not
// charged.
func (l *Ledger) Uncharge(id ChargeID) {
	l.charged(id)
	l.unpost(id)
	l.books.dead = append(l.books.dead, id)
	l.books.log = append(l.books.log, entry{op: opUncharge, id: int32(id)})
}

func (l *Ledger) unpost(id ChargeID) {
	l.post(id, -1)
	l.books.charges[id].live = false
}

func (l *Ledger) charged(id ChargeID) *charge {
	if !l.Charged(id) {
		panic("qos: no such charge")
	}
	return &l.books.charges[id]
}

// Charged reports whether id is the entry of a running job.
func (l *Ledger) Charged(id ChargeID) bool {
	return id > 0 && int(id) < len(l.books.charges) && l.books.charges[id].live
}

// held returns what a charge holds.
func (b *books) held(id ChargeID) gres.Vector {
	return b.holds[int(id)*b.k : int(id+1)*b.k]
}

// newCharge returns the free entry of the lowest number, to be filled: which one
// it is depends on what is charged alone, not on how it came to be.
func (b *books) newCharge() ChargeID {
	for w := b.lowIdle; w < len(b.idle); w++ {
		if set := b.idle[w]; set != 0 {
			b.lowIdle = w
			b.idle[w] &= set - 1
			return ChargeID(w<<6 + bits.TrailingZeros64(set))
		}
	}
	b.lowIdle = len(b.idle)
	id := ChargeID(len(b.charges))
	b.charges = append(b.charges, charge{})
	for range b.k {
		b.holds = append(b.holds, 0)
	}
	return id
}

// freeCharge gives an entry back.
func (b *books) freeCharge(id ChargeID) {
	w := int(id >> 6)
	for w >= len(b.idle) {
		b.idle = append(b.idle, 0)
	}
	b.idle[w] |= 1 << (id & 63)
	b.lowIdle = min(b.lowIdle, w)
}

// post adds a charge to all counters, or takes it away.
func (l *Ledger) post(id ChargeID, sign int64) {
	b := &l.books
	c := &b.charges[id]
	hold, sec := b.held(id), secondsOf(c.left)
	for k, n := range hold {
		b.scratch.need[k] = committed(n, sec, c.factor)
	}
	rows, _ := l.rowsOf(c.assoc, c.qos)
	for _, r := range rows {
		b.rows[r].running += sign
		use, commit := b.useOf(r), b.commitOf(r)
		for k, n := range hold {
			if n == 0 {
				continue
			}
			if k != int(gres.Node) {
				use[k] += sign * n
			}
			commit[k] = commit[k].plus(wideOf(b.scratch.need[k]), sign)
		}
		b.addNodes(r, c.nodes, hold[gres.Node], sign)
	}
}

// ChargeSubmit books a submitted job, with all its array tasks, until
// [Ledger.UnchargeSubmit] with equal arguments. A job that lists several
// partitions gives all their QOS in parts; each is charged once. parts nil
// stands for j.PartQOS.
func (l *Ledger) ChargeSubmit(j *Job, parts []QOSID) {
	l.submit(j, parts, opSubmit, j.tasks())
}

// UnchargeSubmit takes back [Ledger.ChargeSubmit], wholly or, by j.Tasks, for
// some of the tasks.
func (l *Ledger) UnchargeSubmit(j *Job, parts []QOSID) {
	l.submit(j, parts, opSubmit, -j.tasks())
}

// ChargeAccrue books tasks of a pending job that earn age;
// [Ledger.UnchargeAccrue] takes them back.
func (l *Ledger) ChargeAccrue(j *Job) { l.submit(j, nil, opAccruing, j.tasks()) }

// UnchargeAccrue is the opposite of [Ledger.ChargeAccrue].
func (l *Ledger) UnchargeAccrue(j *Job) { l.submit(j, nil, opAccruing, -j.tasks()) }

func (l *Ledger) submit(j *Job, parts []QOSID, op opcode, n int64) {
	l.count(entry{op: op, id: int32(j.Assoc), n: n}, true)
	if j.QOS != 0 {
		l.count(entry{op: op, id: int32(j.Assoc), qos: j.QOS, n: n}, true)
	}
	if parts == nil {
		if q := j.PartQOS; q != 0 && q != j.QOS {
			l.count(entry{op: op, id: int32(j.Assoc), qos: q, n: n}, true)
		}
		return
	}
	for i, q := range parts {
		if q == 0 || q == j.QOS || slices.Contains(parts[:i], q) {
			continue
		}
		l.count(entry{op: op, id: int32(j.Assoc), qos: q, n: n}, true)
	}
}

// count adds e.n submitted or accruing jobs to an association and all above
// it, or to a QOS and the user and account in it.
func (l *Ledger) count(e entry, logged bool) {
	var rows []int32
	if e.qos == 0 {
		rows, _ = l.rowsOf(AssocID(e.id), [2]QOSID{})
	} else {
		rows = append(l.books.scratch.rows[:0], l.rowOfQOS(e.qos))
		if e.id != 0 {
			a := &l.assocs[e.id]
			rows = append(rows, l.rowOfPair(e.qos, int32(a.account), true))
			if a.user != 0 {
				rows = append(rows, l.rowOfPair(e.qos, int32(a.user), false))
			}
		}
	}
	for _, r := range rows {
		if e.op == opSubmit {
			l.books.rows[r].submitted += e.n
		} else {
			l.books.rows[r].accruing += e.n
		}
	}
	if logged {
		l.books.log = append(l.books.log, e)
	}
}
