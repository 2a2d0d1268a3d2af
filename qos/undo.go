package qos

// opcode says what an entry of the log did.
type opcode uint8

const (
	opCharge opcode = iota
	opUncharge
	opSubmit
	opAccruing
	opUse
	opLeft
	opScale
)

// entry is one step in the log of what may be taken back. The rows of the books
// are integers derived from charges, so a step is undone by its opposite; what
// is not an integer is stored as it was.
type entry struct {
	op   opcode
	qos  QOSID
	id   int32 // association or charge
	n    int64
	x, y float64
}

// Mark returns a point to which [Ledger.Rollback] can return. Marks nest.
func (l *Ledger) Mark() int { return l.books.base + len(l.books.log) }

// Rollback undoes every charge, submission and accrual since mark, the newest
// first. It does not fail and does not allocate. It panics if mark was
// forgotten, which every change of configuration does too.
func (l *Ledger) Rollback(mark int) {
	b := &l.books
	if mark < b.base || mark > b.base+len(b.log) {
		panic("qos: rollback to a forgotten mark")
	}
	for len(b.log) > mark-b.base {
		e := b.log[len(b.log)-1]
		b.log = b.log[:len(b.log)-1]
		l.undo(e)
	}
}

func (l *Ledger) undo(e entry) {
	b := &l.books
	switch e.op {
	case opCharge:
		l.unpost(ChargeID(e.id))
		b.freeCharge(ChargeID(e.id))
	case opUncharge:
		b.dead = b.dead[:len(b.dead)-1]
		b.charges[e.id].live = true
		l.post(ChargeID(e.id), 1)
	case opSubmit, opAccruing:
		e.n = -e.n
		l.count(e, false)
	case opUse:
		l.use(ChargeID(e.id), e.x, e.y, -1)
	case opLeft:
		l.setLeft(ChargeID(e.id), e.n)
	case opScale:
		b.scale = e.x
	}
}

// Forget commits everything up to now: what was done can no longer be taken
// back, and the memory of the log and of ended charges is used again. Call it
// at the end of a pass or event.
func (l *Ledger) Forget() {
	b := &l.books
	b.base += len(b.log)
	b.log = b.log[:0]
	for _, id := range b.dead {
		b.freeCharge(id)
	}
	b.dead = b.dead[:0]
	if b.scale < 1.0/(1<<40) {
		b.renormalise()
	}
	if checking {
		l.check()
	}
}

// configure begins a change of configuration. Marks end there.
func (l *Ledger) configure() {
	l.books.base++
	l.Forget()
}
