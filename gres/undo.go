package gres

// A logRecord is one change: the state that node had, or that its
// availability was turned. It holds a reference to the state.
type logRecord struct {
	node int32
	old  int32
}

// availFlip in a logRecord marks a turn of availability.
const availFlip = -2

// Mark returns a point to which [Pool.Rollback] can return. Marks may be
// nested; they are valid until Forget, or a rollback to an earlier one.
func (p *Pool) Mark() int { return len(p.log) }

// Rollback undoes all changes since mark, newest first. It cannot fail: use,
// availability, index and hash are what they were.
func (p *Pool) Rollback(mark int) {
	for i := len(p.log) - 1; i >= mark; i-- {
		r := p.log[i]
		if r.old == availFlip {
			p.flip(r.node)
			continue
		}
		cur := p.state[r.node]
		p.place(r.node, cur, r.old)
		p.states.drop(cur)
	}
	p.log = p.log[:mark]
}

// Forget makes all changes so far final and ends all marks. Call it when a
// decision is committed, or the log grows.
func (p *Pool) Forget() {
	for _, r := range p.log {
		if r.old >= 0 {
			p.states.drop(r.old)
		}
	}
	p.log = p.log[:0]
}
