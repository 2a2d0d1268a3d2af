package qos

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/berth-sched/berth/gres"
)

// ErrSnapshot says that bytes are no snapshot of this version, or of another
// schema.
var ErrSnapshot = errors.New("not a snapshot of this version and schema")

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 1

// AppendSnapshot appends the whole books as bytes that [RestoreLedger] reads.
// Equal books give equal bytes, however they came to be: rows that were made
// and emptied again do not show, so it also serves to compare states. Open
// marks are not part of it.
func (l *Ledger) AppendSnapshot(dst []byte) []byte {
	w := writer{append(dst, snapshotVersion)}
	w.int(int64(l.kinds))
	for k := range l.kinds {
		w.text(l.schema.Name(gres.Kind(k)))
	}
	w.int(int64(l.enforce))
	w.vector(l.total)
	for _, n := range []*names{&l.accounts, &l.users, &l.parts} {
		w.int(int64(len(n.list)))
		for _, name := range n.list {
			w.text(name)
		}
	}
	w.int(int64(len(l.qos)))
	for i := range l.qos {
		w.quality(&l.qos[i])
	}
	w.tree(l)
	w.books(l)
	return w.buf
}

// writer appends numbers as varints and texts with their length.
type writer struct{ buf []byte }

func (w *writer) int(n int64)     { w.buf = binary.AppendVarint(w.buf, n) }
func (w *writer) uint(n uint64)   { w.buf = binary.AppendUvarint(w.buf, n) }
func (w *writer) float(x float64) { w.uint(math.Float64bits(x)) }

func (w *writer) bool(b bool) {
	if b {
		w.buf = append(w.buf, 1)
		return
	}
	w.buf = append(w.buf, 0)
}

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) vector(v gres.Vector) {
	for _, n := range v {
		w.int(n)
	}
}

func (w *writer) wides(v []wide) {
	for _, n := range v {
		w.int(n.hi)
		w.uint(n.lo)
	}
}

func (w *writer) ids(list []QOSID) {
	w.int(int64(len(list)))
	for _, q := range list {
		w.int(int64(q))
	}
}

func (w *writer) limits(s *limits) {
	if s == nil {
		s = &limits{}
	}
	w.uint(uint64(s.set))
	w.uint(uint64(s.famSet))
	for m := range numLimits {
		if s.has(m) {
			w.int(s.num[m])
		}
	}
	for _, f := range s.fam {
		if f != nil {
			w.vector(f.val)
		}
	}
}

func (w *writer) quality(q *quality) {
	w.bool(q.live)
	if !q.live {
		return
	}
	w.text(q.name)
	a := &q.attr
	w.uint(uint64(a.Flags))
	w.uint(uint64(a.Priority))
	w.float(a.UsageFactor)
	w.float(a.LimitFactor)
	w.int(int64(a.GraceTime))
	w.int(int64(a.PreemptExemptTime))
	w.text(a.PreemptMode)
	w.ids(a.Preempt)
	w.limits(&q.set)
	w.bool(q.of != nil)
	w.vector(q.of)
	w.bool(q.part)
}

// tree writes the associations by number, free ones as such, and after them the
// order of children, as that is not the order of numbers.
func (w *writer) tree(l *Ledger) {
	w.int(int64(len(l.assocs)))
	for i := 1; i < len(l.assocs); i++ {
		a := &l.assocs[i]
		w.bool(a.live)
		if !a.live {
			continue
		}
		for _, n := range []int32{int32(a.parent), int32(a.first), int32(a.last), int32(a.next), int32(a.prev),
			int32(a.account), int32(a.user), a.part, int32(a.nextOfUser), int32(a.defQOS)} {
			w.int(int64(n))
		}
		w.uint(uint64(a.shares))
		w.uint(uint64(a.priority))
		w.bool(a.hasPriority)
		w.limits(a.own)
		w.bool(a.access != nil)
		if a.access != nil {
			w.bool(a.access.own)
			w.ids(a.access.list)
			w.ids(a.access.plus)
			w.ids(a.access.minus)
		}
	}
	w.int(int64(len(l.freeAssocs)))
	for _, id := range l.freeAssocs {
		w.int(int64(id))
	}
}

// books writes what cannot be derived from charges: submitted and accruing
// jobs, history and the charges themselves.
func (w *writer) books(l *Ledger) {
	b := &l.books
	w.float(b.scale)
	for i := range l.assocs {
		w.row(b, l.assocs[i].row)
	}
	for i := range l.qos {
		w.row(b, l.qos[i].row)
	}
	var keys []uint64
	for i, key := range b.pairs.keys {
		if r := b.pairs.rows[i]; key != 0 && (b.rows[r].submitted != 0 || b.rows[r].accruing != 0) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	w.int(int64(len(keys)))
	for _, key := range keys {
		r := b.pairs.get(key)
		w.uint(key)
		w.int(b.rows[r].submitted)
		w.int(b.rows[r].accruing)
	}
	live := 0
	for i := range b.charges {
		if b.charges[i].live {
			live++
		}
	}
	w.int(int64(live))
	for i := range b.charges {
		c := &b.charges[i]
		if !c.live {
			continue
		}
		w.int(int64(i))
		w.int(int64(c.assoc))
		w.int(int64(c.qos[0]))
		w.int(int64(c.qos[1]))
		w.float(c.factor)
		w.float(c.billing)
		w.int(int64(c.left))
		w.int(int64(len(c.nodes)))
		for _, n := range c.nodes {
			w.int(int64(n))
		}
		w.vector(b.held(ChargeID(i)))
	}
}

// row writes the counters of an owner: a zero row like no row.
func (w *writer) row(b *books, r int32) {
	w.int(b.rows[r].submitted)
	w.int(b.rows[r].accruing)
	h := b.history(r)
	if !slices.ContainsFunc(h, func(n wide) bool { return !n.isZero() }) {
		h = nil
	}
	w.bool(h != nil)
	w.wides(h)
}
