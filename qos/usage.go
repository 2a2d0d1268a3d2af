package qos

import (
	"math"
	"time"

	"github.com/berth-sched/berth/gres"
)

// Accrue books what a running job used during elapsed, and takes elapsed off
// what it may still use of its time limit. decayed is the same time in seconds
// as it counts at the end of it, older seconds less: elapsed in seconds without
// decay, Δ·d^Δ as Slurm approximates it, or the integral of the decay. It is
// multiplied by the UsageFactor the job started with; QOS with NoDecay get
// elapsed instead. See package priority for the formulas.
//
// What is booked is rounded to 2^-20 seconds once, and summed exactly: the order
// in which jobs are accrued does not matter. It panics if id is not charged.
//
// Source: spec/priority.md 5.2.
func (l *Ledger) Accrue(id ChargeID, elapsed time.Duration, decayed float64) {
	b := &l.books
	c := l.charged(id)
	b.log = append(b.log, entry{op: opUse, id: int32(id), x: elapsed.Seconds(), y: decayed})
	l.use(id, elapsed.Seconds(), decayed, 1)
	if c.left != Unlimited && c.left > 0 {
		l.SetLeft(id, max(c.left-elapsed, 0))
	}
}

// use adds the usage of a charge to history, or takes it away.
func (l *Ledger) use(id ChargeID, elapsed, decayed float64, sign int64) {
	b := &l.books
	c := &b.charges[id]
	if c.factor == 0 {
		return
	}
	b.stepTo(id, float64(decayed*c.factor)/b.scale)
	flat := false
	rows, plain := l.rowsOf(c.assoc, c.qos)
	for pass := range 2 {
		for _, r := range rows[:plain] {
			if b.rows[r].flat != (pass == 1) {
				flat = flat || b.rows[r].flat
				continue
			}
			h := b.needHistory(r)
			for i, n := range b.scratch.step {
				h[i] = h[i].plus(n, sign)
			}
		}
		if !flat {
			return
		}
		b.stepTo(id, float64(elapsed*c.factor))
	}
}

// stepTo stores in scratch what a charge uses in sec seconds: per kind, billing
// and wall.
func (b *books) stepTo(id ChargeID, sec float64) {
	for k, n := range b.held(id) {
		b.scratch.step[k] = fixed(float64(sec * float64(n)))
	}
	b.scratch.step[b.k] = fixed(float64(sec * b.charges[id].billing))
	b.scratch.step[b.k+1] = fixed(sec)
}

// Left returns what a running job has left of its time limit.
func (l *Ledger) Left(id ChargeID) time.Duration { return l.charged(id).left }

// SetLeft changes what a running job has left of its time limit, and what is
// committed to it with it: after its limit was changed, for example.
func (l *Ledger) SetLeft(id ChargeID, left time.Duration) {
	c := l.charged(id)
	l.books.log = append(l.books.log, entry{op: opLeft, id: int32(id), n: int64(c.left)})
	l.setLeft(id, int64(left))
}

func (l *Ledger) setLeft(id ChargeID, left int64) {
	b := &l.books
	c := &b.charges[id]
	was, now := secondsOf(c.left), secondsOf(time.Duration(left))
	c.left = time.Duration(left)
	if was == now {
		return
	}
	hold := b.held(id)
	for k, n := range hold {
		b.scratch.need[k] = committed(n, now, c.factor) - committed(n, was, c.factor)
	}
	rows, _ := l.rowsOf(c.assoc, c.qos)
	for _, r := range rows {
		commit := b.commitOf(r)
		for k, n := range b.scratch.need {
			commit[k] = commit[k].add(wideOf(n))
		}
	}
}

// SetBilling changes what a second of a running job is worth from now on, after
// the weights of its partition changed. It panics if id is not charged.
func (l *Ledger) SetBilling(id ChargeID, perSecond float64) {
	l.configure()
	l.charged(id).billing = perSecond
}

// Decay multiplies all usage that decays by factor, in (0, 1], at a cost that
// does not depend on how much there is. Factors below the smallest normal
// float64 count as that.
//
// Source: spec/priority.md 5.3.
func (l *Ledger) Decay(factor float64) {
	b := &l.books
	b.log = append(b.log, entry{op: opScale, x: b.scale})
	b.scale = max(float64(b.scale*factor), 0x1p-1000)
}

// ResetUsage zeroes the usage of everyone, also of QOS that do not decay.
//
// Source: spec/priority.md 5.4, PriorityUsageResetPeriod.
func (l *Ledger) ResetUsage() {
	l.configure()
	clear(l.books.hist)
	l.books.scale = 1
}

// ResetAssoc zeroes the usage of an association and of all below it, and takes
// it off the accounts above. Slurm: RawUsage=0.
func (l *Ledger) ResetAssoc(id AssocID) {
	top := l.at(id)
	l.configure()
	for up := top.parent; up != 0; up = l.assocs[up].parent {
		l.books.moveHistory(top.row, l.assocs[up].row, -1)
	}
	for a := id; a != 0; a = l.nextBelow(a, id) {
		clear(l.books.history(l.assocs[a].row))
	}
}

// ResetQOS zeroes the usage of a QOS. Slurm: RawUsage=0.
func (l *Ledger) ResetQOS(id QOSID) {
	l.configure()
	clear(l.books.history(l.quality(id).row))
}

// nextBelow walks the tree below top in preorder; 0 at the end.
func (l *Ledger) nextBelow(a, top AssocID) AssocID {
	if l.assocs[a].first != 0 {
		return l.assocs[a].first
	}
	for a != top {
		if l.assocs[a].next != 0 {
			return l.assocs[a].next
		}
		a = l.assocs[a].parent
	}
	return 0
}

// AddUsage adds usage from elsewhere, as a restored cluster has it, to an
// association and all above it: billing seconds, wall seconds and TRES seconds,
// which may be nil. Values may be negative.
func (l *Ledger) AddUsage(id AssocID, billing, wall float64, tres []float64) {
	l.at(id)
	l.configure()
	for ; id != 0; id = l.assocs[id].parent {
		l.books.addHistory(l.rowOf(id), billing, wall, tres)
	}
}

// AddQOSUsage is [Ledger.AddUsage] for a QOS.
func (l *Ledger) AddQOSUsage(id QOSID, billing, wall float64, tres []float64) {
	l.quality(id)
	l.configure()
	l.books.addHistory(l.rowOfQOS(id), billing, wall, tres)
}

func (b *books) addHistory(r int32, billing, wall float64, tres []float64) {
	scale := b.scale
	if b.rows[r].flat {
		scale = 1
	}
	h := b.needHistory(r)
	for k, x := range tres {
		h[k] = h[k].add(fixed(x / scale))
	}
	h[b.k] = h[b.k].add(fixed(billing / scale))
	h[b.k+1] = h[b.k+1].add(fixed(wall / scale))
}

// Usage returns the decayed usage of an association and all below it, in
// billing seconds. Slurm: RawUsage.
func (l *Ledger) Usage(id AssocID) float64 { return l.books.seconds(l.at(id).row, l.kinds) }

// UsageOf returns the decayed usage of one kind in its own unit times seconds.
func (l *Ledger) UsageOf(id AssocID, k gres.Kind) float64 {
	return l.books.seconds(l.at(id).row, int(k))
}

// Wall returns the decayed wall time of an association in seconds, UsageFactor
// applied. Slurm: GrpWall's counter.
func (l *Ledger) Wall(id AssocID) float64 { return l.books.seconds(l.at(id).row, l.kinds+1) }

// QOSUsage returns the usage of a QOS in billing seconds, as [Ledger.Usage].
func (l *Ledger) QOSUsage(id QOSID) float64 { return l.books.seconds(l.quality(id).row, l.kinds) }

// QOSUsageOf returns the usage of one kind in a QOS, as [Ledger.UsageOf].
func (l *Ledger) QOSUsageOf(id QOSID, k gres.Kind) float64 {
	return l.books.seconds(l.quality(id).row, int(k))
}

// QOSWall returns the wall time of a QOS in seconds, as [Ledger.Wall].
func (l *Ledger) QOSWall(id QOSID) float64 { return l.books.seconds(l.quality(id).row, l.kinds+1) }

// Counters are what an owner of limits has at this moment.
type Counters struct {
	Submitted int64 // jobs pending and running, tasks singly
	Running   int64 // jobs running
	Accruing  int64 // pending jobs that earn age
	// Use is what its running jobs hold. Nodes are counted once each if the
	// owner has a node limit, else once per job. Valid until the next call that
	// changes the books.
	Use gres.Vector
}

// Counters returns the counters of an association.
func (l *Ledger) Counters(id AssocID) Counters { return l.books.counters(l.at(id).row) }

// QOSCounters returns the counters of a QOS.
func (l *Ledger) QOSCounters(id QOSID) Counters { return l.books.counters(l.quality(id).row) }

// UserCounters returns the counters of a user within a QOS.
func (l *Ledger) UserCounters(q QOSID, u UserID) Counters {
	return l.books.counters(l.books.pairs.get(pairKey(q, int32(u), false)))
}

// AccountCounters returns the counters of an account, without those below it,
// within a QOS.
func (l *Ledger) AccountCounters(q QOSID, a AccountID) Counters {
	return l.books.counters(l.books.pairs.get(pairKey(q, int32(a), true)))
}

func (b *books) counters(r int32) Counters {
	w := &b.rows[r]
	return Counters{w.submitted, w.running, w.accruing, b.useOf(r)}
}

// Committed returns the seconds of a kind that running jobs of an association
// may still take, UsageFactor applied. Slurm: GrpTRESRunMins' counter times 60.
func (l *Ledger) Committed(id AssocID, k gres.Kind) int64 {
	return l.books.commitOf(l.at(id).row)[k].clamp()
}

// QOSCommitted is [Ledger.Committed] for a QOS.
func (l *Ledger) QOSCommitted(id QOSID, k gres.Kind) int64 {
	return l.books.commitOf(l.quality(id).row)[k].clamp()
}

// Columns is the account tree as fair-share formulas take it: one entry per
// association in preorder, so that a parent stands before its children and
// siblings stand in the order in which they were added.
type Columns struct {
	Assoc  []AssocID // which association it is
	Parent []int32   // the entry of the parent, -1 for the root at 0
	Shares []uint32  // raw shares; SharesParent for Fairshare=parent
	User   []bool    // the association of a user
	Usage  []float64 // decayed usage in billing seconds, that of all below included
}

// ColumnsTo stores the whole tree in c, reusing its slices.
func (l *Ledger) ColumnsTo(c *Columns) {
	c.Assoc, c.Parent, c.Shares = c.Assoc[:0], c.Parent[:0], c.Shares[:0]
	c.User, c.Usage = c.User[:0], c.Usage[:0]
	parent := int32(-1) // the entry of the parent of id
	for id := Root; id != 0; {
		a := &l.assocs[id]
		self := int32(len(c.Assoc))
		c.Assoc = append(c.Assoc, id)
		c.Parent = append(c.Parent, parent)
		c.Shares = append(c.Shares, a.shares)
		c.User = append(c.User, a.user != 0)
		c.Usage = append(c.Usage, l.books.seconds(a.row, l.kinds))
		if a.first != 0 {
			id, parent = a.first, self
			continue
		}
		for id != Root && l.assocs[id].next == 0 {
			id = l.assocs[id].parent
			if id != Root {
				parent = c.Parent[parent]
			}
		}
		if id == Root {
			return
		}
		id = l.assocs[id].next
	}
}

// minutesOf returns seconds as minutes, rounded up.
func minutesOf(sec int64) int64 {
	if sec > math.MaxInt64-59 {
		return math.MaxInt64 / 60
	}
	return (sec + 59) / 60
}
