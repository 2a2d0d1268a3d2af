package qos

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/berth-sched/berth/gres"
)

// RestoreLedger returns the ledger whose [Ledger.AppendSnapshot] appended data.
// It decides exactly as that one. s must have the same kinds. Any other bytes
// give an error that is ErrSnapshot.
func RestoreLedger(s *gres.Schema, data []byte) (*Ledger, error) {
	r := reader{buf: data}
	if v := r.byte(); v != snapshotVersion {
		return nil, fmt.Errorf("qos: restore: version %d: %w", v, ErrSnapshot)
	}
	if n := r.count(1); n != s.Len() {
		return nil, fmt.Errorf("qos: restore: %d kinds: %w", n, ErrSnapshot)
	}
	for k := range s.Len() {
		if name := r.text(); name != s.Name(gres.Kind(k)) {
			return nil, fmt.Errorf("qos: restore: kind %q: %w", name, ErrSnapshot)
		}
	}
	l, err := New(Config{Schema: s, Enforce: Enforce(r.int())})
	if err != nil {
		return nil, err
	}
	r.vector(l.total)
	for _, n := range []*names{&l.accounts, &l.users, &l.parts} {
		r.names(n)
	}
	r.qualities(l)
	r.tree(l)
	if r.bad {
		return nil, fmt.Errorf("qos: restore: %w", ErrSnapshot)
	}
	r.books(l)
	if r.bad || len(r.buf) != 0 {
		return nil, fmt.Errorf("qos: restore: %w", ErrSnapshot)
	}
	l.configure()
	return l, nil
}

// reader is the opposite of writer. After the first fault bad is set and
// everything reads as zero.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) fail() {
	r.bad, r.buf = true, nil
}

func (r *reader) byte() byte {
	if len(r.buf) == 0 {
		r.fail()
		return 0
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *reader) bool() bool { return r.byte() == 1 }

func (r *reader) int() int64 {
	n, size := binary.Varint(r.buf)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint()) }

// count reads a number of things of at least size bytes each.
func (r *reader) count(size int) int {
	n := r.int()
	if n < 0 || n > int64(len(r.buf)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

// below reads a number in [0, n).
func (r *reader) below(n int) int32 {
	i := r.int()
	if i < 0 || i >= int64(n) {
		r.fail()
		return 0
	}
	return int32(i)
}

func (r *reader) text() string {
	n := r.uint()
	if n > uint64(len(r.buf)) {
		r.fail()
		return ""
	}
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

func (r *reader) vector(v gres.Vector) {
	for k := range v {
		v[k] = r.int()
	}
}

func (r *reader) wides(v []wide) {
	for i := range v {
		v[i] = wide{r.int(), r.uint()}
	}
}

func (r *reader) names(n *names) {
	n.init()
	count := r.count(1)
	for i := range count {
		name := r.text()
		if i > 0 && n.add(name) != int32(i) || i == 0 && name != "" {
			r.fail()
		}
	}
	if count == 0 {
		r.fail()
	}
}

func (r *reader) ids(qualities int) []QOSID {
	n := r.count(1)
	var list []QOSID
	for range n {
		list = append(list, QOSID(r.below(qualities)))
	}
	return list
}

func (r *reader) limits(l *Ledger) *limits {
	set, famSet := r.uint(), r.uint()
	if set>>numLimits != 0 || famSet>>families != 0 {
		r.fail()
		return nil
	}
	s := &limits{}
	for m := range numLimits {
		if set>>m&1 != 0 && (m.HasTRES() || m == NoLimit) {
			r.fail()
		} else if set>>m&1 != 0 {
			s.setNumber(m, r.int())
		}
	}
	for f := range families {
		if famSet>>f&1 != 0 {
			v := l.schema.NewVector()
			r.vector(v)
			s.setVector(Limit(f+1), v)
		}
	}
	if s.empty() {
		return nil
	}
	return s
}

func (r *reader) qualities(l *Ledger) {
	n := r.count(1)
	l.qos = make([]quality, max(n, 1))
	clear(l.qosByID)
	for i := range n {
		q := &l.qos[i]
		if q.live = r.bool(); !q.live {
			continue
		}
		q.name = r.text()
		a := &q.attr
		a.Flags, a.Priority = Flags(r.uint()), uint32(r.uint())
		a.UsageFactor, a.LimitFactor = r.float(), r.float()
		a.GraceTime, a.PreemptExemptTime = time.Duration(r.int()), time.Duration(r.int())
		a.PreemptMode, a.Preempt = r.text(), r.ids(n)
		if s := r.limits(l); s != nil {
			q.set = *s
		}
		if r.bool() {
			q.of = l.schema.NewVector()
			r.vector(q.of)
		}
		q.part = r.bool()
		if i == 0 || q.name == "" || l.qosByID[q.name] != 0 || !(a.UsageFactor >= 0) || !(a.LimitFactor >= 0) {
			r.fail()
		}
		l.qosByID[q.name] = QOSID(i)
		q.compile(l.total)
	}
}

func (r *reader) tree(l *Ledger) {
	n := r.count(1)
	if n < 2 {
		r.fail()
		return
	}
	l.assocs = make([]assoc, n)
	clear(l.byKey)
	l.accountOf = make([]AssocID, len(l.accounts.list))
	l.userHead = make([]AssocID, len(l.users.list))
	for i := 1; i < n; i++ {
		a := &l.assocs[i]
		if a.live = r.bool(); !a.live {
			continue
		}
		a.parent, a.first, a.last = AssocID(r.below(n)), AssocID(r.below(n)), AssocID(r.below(n))
		a.next, a.prev = AssocID(r.below(n)), AssocID(r.below(n))
		a.account = AccountID(r.below(len(l.accounts.list)))
		a.user, a.part = UserID(r.below(len(l.users.list))), r.below(len(l.parts.list))
		a.nextOfUser = AssocID(r.below(n))
		a.defQOS = QOSID(r.below(len(l.qos)))
		a.shares, a.priority, a.hasPriority = uint32(r.uint()), uint32(r.uint()), r.bool()
		a.own = r.limits(l)
		if r.bool() {
			a.access = &access{own: r.bool(), list: r.ids(len(l.qos)), plus: r.ids(len(l.qos)), minus: r.ids(len(l.qos))}
		}
		if a.account == 0 || l.byKey[a.key()] != 0 {
			r.fail()
			return
		}
		l.byKey[a.key()] = AssocID(i)
		if a.user == 0 {
			l.accountOf[a.account] = AssocID(i)
		}
	}
	free := r.count(1)
	l.freeAssocs = nil
	for range free {
		l.freeAssocs = append(l.freeAssocs, AssocID(r.below(n)))
	}
	if !r.bad && !l.link() {
		r.fail()
	}
}

// link checks that the rows read are one tree with consistent lists, finds the
// heads of users' lists and hands limits down.
func (l *Ledger) link() bool {
	seen, live := 0, 0
	for i := 1; i < len(l.assocs); i++ {
		if l.assocs[i].live {
			live++
		}
	}
	// A walk in preorder that meets each row once, with every back link right,
	// proves a tree.
	for id := Root; id != 0; {
		a := &l.assocs[id]
		if seen++; seen > live || !a.live || a.first == 0 != (a.last == 0) || a.user != 0 && a.first != 0 {
			return false
		}
		if a.first != 0 && (l.assocs[a.first].parent != id || l.assocs[a.first].prev != 0) ||
			a.next != 0 && (l.assocs[a.next].parent != a.parent || l.assocs[a.next].prev != id) ||
			a.next == 0 && id != Root && l.assocs[a.parent].last != id {
			return false
		}
		id = l.nextBelow(id, Root)
	}
	if seen != live || l.assocs[Root].parent != 0 || l.assocs[Root].next != 0 || l.assocs[Root].user != 0 {
		return false
	}
	return l.linkUsers() && l.freeRows() == len(l.assocs)-1-live
}

// linkUsers finds the head of each user's list: the row no other one names.
func (l *Ledger) linkUsers() bool {
	named := make([]bool, len(l.assocs))
	for i := 1; i < len(l.assocs); i++ {
		if next := l.assocs[i].nextOfUser; next != 0 {
			if named[next] || !l.assocs[next].live || l.assocs[next].user != l.assocs[i].user || l.assocs[i].user == 0 {
				return false
			}
			named[next] = true
		}
	}
	reached, users := 0, 0
	for i := 1; i < len(l.assocs); i++ {
		a := &l.assocs[i]
		if a.user == 0 {
			continue
		}
		users++
		if !named[i] {
			if l.userHead[a.user] != 0 {
				return false
			}
			l.userHead[a.user] = AssocID(i)
			for id := AssocID(i); id != 0; id = l.assocs[id].nextOfUser {
				reached++
			}
		}
	}
	l.hand(Root)
	return reached == users
}

// freeRows counts the free rows listed, each once; -1 if a live one is among them.
func (l *Ledger) freeRows() int {
	seen := make([]bool, len(l.assocs))
	for _, id := range l.freeAssocs {
		if id == 0 || l.assocs[id].live || seen[id] {
			return -1
		}
		seen[id] = true
	}
	return len(l.freeAssocs)
}

func (r *reader) books(l *Ledger) {
	b := &l.books
	*b = books{}
	b.init(l.kinds)
	if b.scale = r.float(); !(b.scale > 0 && b.scale <= 1e300) {
		r.fail()
		return
	}
	for i := range l.assocs {
		r.row(l, func() int32 { return l.rowOf(AssocID(i)) }, l.assocs[i].live)
	}
	for i := range l.qos {
		r.row(l, func() int32 { return l.rowOfQOS(QOSID(i)) }, l.qos[i].live)
	}
	for range r.count(3) {
		key := r.uint()
		q, of := key>>33, int32(key>>1)
		names := len(l.users.list)
		if key&1 != 0 {
			names = len(l.accounts.list)
		}
		if q >= uint64(len(l.qos)) || !l.qos[q].live || of <= 0 || int(of) >= names {
			r.fail()
			return
		}
		row := l.rowOfPair(QOSID(q), of, key&1 != 0)
		b.rows[row].submitted, b.rows[row].accruing = r.int(), r.int()
	}
	for range r.count(8 + l.kinds) {
		r.charge(l)
		if r.bad {
			return
		}
	}
}

// row reads the counters of an owner; its row is made if there are any.
func (r *reader) row(l *Ledger, of func() int32, live bool) {
	submitted, accruing, has := r.int(), r.int(), r.bool()
	if submitted == 0 && accruing == 0 && !has {
		return
	}
	if !live {
		r.fail()
		return
	}
	i := of()
	l.books.rows[i].submitted, l.books.rows[i].accruing = submitted, accruing
	if has {
		r.wides(l.books.needHistory(i))
	}
}

func (r *reader) charge(l *Ledger) {
	b := &l.books
	id := int(r.int())
	// Numbers rise, and gaps are bounded by what a snapshot of this size held.
	if id < len(b.charges) || id > len(b.charges)+1<<20 {
		r.fail()
		return
	}
	for len(b.charges) <= id {
		if n := len(b.charges); n < id {
			b.freeCharge(ChargeID(n))
		}
		b.charges = append(b.charges, charge{})
		for range b.k {
			b.holds = append(b.holds, 0)
		}
	}
	c := &b.charges[id]
	c.assoc = AssocID(r.below(len(l.assocs)))
	c.qos = [2]QOSID{QOSID(r.below(len(l.qos))), QOSID(r.below(len(l.qos)))}
	c.factor, c.billing, c.left = r.float(), r.float(), time.Duration(r.int())
	for range r.count(1) {
		c.nodes = append(c.nodes, r.below(math.MaxInt32))
	}
	r.vector(b.held(ChargeID(id)))
	if c.assoc != 0 && !l.assocs[c.assoc].live || !(c.factor >= 0) {
		r.fail()
	}
	for _, q := range c.qos {
		if q != 0 && !l.qos[q].live {
			r.fail()
		}
	}
	if !r.bad {
		c.live = true
		l.post(ChargeID(id), 1)
	}
}
