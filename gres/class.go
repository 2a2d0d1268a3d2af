package gres

// A ClassID is the number of a request class in a [Pool].
type ClassID int32

// A class is one form of request: all that ask the same share what is
// remembered about it.
type class struct {
	req     Request
	uid     uint64 // never reused; 0 if the class is dropped
	screens []screen
	slots   []slotRef
}

// A screen is a condition that every node must meet on which the request can
// run: at least so much free of a key.
type screen struct {
	key   int
	level int // the set is levels[level-1] or more; −1 no node has the key
}

// A slotRef finds the candidate set of a class in a view.
type slotRef struct {
	view ViewID
	pass Pass
	slot int32
}

// AddClass adds a class of requests equal to r, which is copied, and returns
// its number. It may allocate; call it when a job comes, not in a pass.
func (p *Pool) AddClass(r *Request) ClassID {
	id := ClassID(-1)
	for i := range p.classes {
		if p.classes[i].uid == 0 {
			id = ClassID(i)
			break
		}
	}
	if id < 0 {
		id = ClassID(len(p.classes))
		p.classes = append(p.classes, class{})
	}
	p.classUID++
	c := &p.classes[id]
	c.req, c.uid = *r, p.classUID
	p.screen(c)
	if cap(c.slots) < 4 {
		c.slots = make([]slotRef, 0, 4)
	}
	return id
}

// DropClass forgets a class; its number may be given again.
func (p *Pool) DropClass(id ClassID) {
	c := &p.classes[id]
	for _, s := range c.slots {
		p.slots.free(s.slot)
	}
	*c = class{slots: c.slots[:0], screens: c.screens[:0]}
}

// Request returns the request of a class. It aliases the pool; do not change
// it.
func (p *Pool) Request(id ClassID) *Request { return &p.classes[id].req }

// screen computes the screens of c from its request: bounds from below of
// what it takes on any node, so that a node outside cannot fit.
func (p *Pool) screen(c *class) {
	r := &c.req
	c.screens = c.screens[:0]
	one := r.MaxNodes == 1
	if r.Has(WholeNode) && !r.Has(SharesCores) {
		c.require(&p.index, 0, idleType, false, 1)
	}
	if !r.Has(SharesCores) {
		n := int64(max(r.NodeCPUs, 1))
		if one && !r.Has(Overcommit) {
			n = max(n, int64(r.MinCPUs))
			if r.TasksKnown == Given {
				n = max(n, int64(r.Tasks)*int64(r.perTask()))
			}
		}
		n *= 1000
		if r.MilliCPU > 0 {
			n = min(n, r.MilliCPU)
		}
		c.require(&p.index, 0, 0, false, n)
	}
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		tasks := int64(1)
		if one && r.TasksKnown == Given {
			tasks = max(int64(r.Tasks), 1)
		}
		// One socket's devices do, whatever the number of sockets: a node that
		// has no more may pass evaluation (spec: gres 8, step 6).
		n := max(d.PerNode, d.PerSocket, d.PerTask*tasks, min(d.PerJob, 1))
		if one {
			n = max(n, d.PerJob)
		}
		switch {
		case n == 0:
		case d.Milli > 0:
			c.require(&p.index, d.Name, d.Type, true, d.Milli)
		case (d.Name == NameShard || d.Name == NameMPS) && !r.Has(MultipleSharing):
			c.require(&p.index, d.Name, d.Type, true, n)
		default:
			c.require(&p.index, d.Name, d.Type, false, n)
		}
	}
}

// require adds the screen for a need of n.
func (c *class) require(x *index, name NameID, typ TypeID, single bool, n int64) {
	k := x.find(name, typ, single)
	if k < 0 {
		c.screens = append(c.screens, screen{-1, 0})
		return
	}
	if l := x.keys[k].levelOf(n); l > 0 {
		c.screens = append(c.screens, screen{k, l})
	}
}

// passes reports whether node meets all screens.
func (c *class) passes(x *index, node int32) bool {
	for _, s := range c.screens {
		if s.key < 0 || !x.keys[s.key].sets[s.level-1].has(node) {
			return false
		}
	}
	return true
}
