package gres

import "slices"

// A StateID is the number of a state that a node of a [Pool] is in, or could be
// in: a shape and a row of use. Equal states have equal numbers. A number is
// valid while a node is in the state or somebody holds it.
type StateID int32

// A Digest says in eight small numbers what is free in a state: CPUs, memory,
// whether it is idle, and devices of the first names and types of the pool. Of
// a class it says what it takes on any node, bounded from below. So a state whose
// digest does not cover that of a class is no use to it; one that does may
// still refuse.
type Digest uint64

const (
	digestGuard  = 0x8080808080808080
	digestMost   = 127
	digestMemory = 1 // field of memory; 0 is CPUs, 2 idle, then keys of the index
	digestFields = 8
)

// Covers reports whether each number of d is at least that of ask.
func (d Digest) Covers(ask Digest) bool {
	return ((uint64(d)|digestGuard)-uint64(ask))&digestGuard == digestGuard
}

// digestField returns the field of a key of the index, −1 if it has none.
func digestField(key int) int {
	switch {
	case key == 0:
		return 0
	case key+1 < digestFields:
		return key + 1
	}
	return -1
}

// digestLevel cuts a level of a key with so many levels to what a field holds.
func digestLevel(level, levels int) uint64 {
	for ; levels > digestMost; levels >>= 1 {
		level >>= 1
	}
	return uint64(level)
}

// StateOf returns the state that node is in. It panics if the node is not
// there.
func (p *Pool) StateOf(node int32) StateID {
	id := p.state[node]
	if id == noState {
		panic("gres: node is not there")
	}
	return StateID(id)
}

// HoldRow returns the state of a node of the given shape with the given use,
// and holds it until [Pool.DropState]. row must not alias the pool. It does not
// allocate once there is room for as many states as are held at once.
func (p *Pool) HoldRow(shape ShapeID, row []uint64) StateID {
	id := p.intern(int32(shape), row)
	p.noteHeld(id, 1)
	return StateID(id)
}

// HoldState holds a state once more.
func (p *Pool) HoldState(id StateID) {
	p.states.hold(int32(id))
	p.noteHeld(int32(id), 1)
}

// DropState takes one hold back. What is remembered of the state stays until
// its room is needed.
func (p *Pool) DropState(id StateID) {
	p.noteHeld(int32(id), -1)
	p.states.drop(int32(id))
}

// noteHeld counts the holds of callers apart from those of nodes, for Check.
func (p *Pool) noteHeld(id, by int32) {
	if n := len(p.states.meta); len(p.held) < n {
		p.held = append(p.held, make([]int32, max(n, p.states.room)+n/4-len(p.held))...)
	}
	p.held[id] += by
}

// StateRow returns a state as [Evaluate] takes it. It aliases the pool: valid
// until its next change or hold.
func (p *Pool) StateRow(id StateID) NodeRow { return p.stateRow(int32(id)) }

// FitState returns what a request of class c could get on a node in a state, of
// which need nodes are still required, from memory or newly evaluated.
func (p *Pool) FitState(c ClassID, pass Pass, need int32, id StateID) NodeFit {
	return *p.fit(&p.classes[c], pass, need, int32(id))
}

// ArrangeState stores in g what a request of class c for one node gets on a node
// in a state, and reports whether it fits there.
func (p *Pool) ArrangeState(c ClassID, pass Pass, id StateID, g *Grant) bool {
	return p.arrange(&p.classes[c], pass, int32(id), g)
}

// Digest returns the digest of a state. Digests of different states compare as
// long as no shape is added.
func (p *Pool) Digest(id StateID) Digest {
	sh := p.shapes[p.states.meta[id].shape]
	d := p.memoryField(max(sh.FreeMem(p.states.row(int32(id), sh.RowLen())), 0))
	for k, level := range p.states.level(int32(id)) {
		f := digestField(k)
		if f < 0 {
			break
		}
		d |= digestLevel(int(level), len(p.index.keys[k].levels)) << (8 * f)
	}
	return Digest(d)
}

// memoryField is the field of an amount of memory, in parts of the largest
// node's.
func (p *Pool) memoryField(mib int64) uint64 {
	if p.memMost == 0 {
		for _, s := range p.shapes {
			p.memMost = max(p.memMost, s.MemMiB(), 1)
		}
	}
	return uint64(min(mib, p.memMost)*digestMost/p.memMost) << (8 * digestMemory)
}

// Ask returns what a class takes of any node, and whether any shape of the pool
// has it.
func (p *Pool) Ask(c ClassID) (Digest, bool) {
	cl := &p.classes[c]
	var d uint64
	if r := &cl.req; r.Has(ConsumeMem) && !r.Has(WholeNode) && (r.Mem == MemPerNode || r.Mem == MemPerCPU) && r.MemMiB > 0 {
		d = p.memoryField(r.MemMiB)
	}
	for _, s := range cl.screens {
		if s.key < 0 {
			return 0, false
		}
		f := digestField(s.key)
		if f < 0 {
			continue
		}
		v := digestLevel(s.level, len(p.index.keys[s.key].levels))
		if at := 8 * f; d>>at&digestMost < v {
			d = d&^(digestMost<<at) | v<<at
		}
	}
	return Digest(d), true
}

// Coarse returns a digest that d covers, and that few digests share: devices
// above eight are cut to a power of two, CPUs and memory to half of the largest node or
// none.
func (p *Pool) Coarse(d Digest) Digest {
	var out uint64
	for f := range digestFields {
		v := uint64(d) >> (8 * f) & digestMost
		switch {
		case f == digestMemory || f == 0:
			top := uint64(digestMost)
			if f == 0 {
				top = digestLevel(len(p.index.keys[0].levels), len(p.index.keys[0].levels))
			}
			if half := (top + 1) / 2; v >= half {
				v = half
			} else {
				v = 0
			}
		default:
			for v > 8 && v&(v-1) != 0 {
				v &= v - 1
			}
		}
		out |= v << (8 * f)
	}
	return Digest(out)
}

// ReserveStates makes room for n states beside those of nodes.
func (p *Pool) ReserveStates(n int) {
	p.states.reserve(len(p.state) + len(p.state)/4 + 1024 + n)
	p.held = slices.Grow(p.held, max(p.states.room-len(p.held), 0))
	p.held = p.held[:max(len(p.held), p.states.room)]
}
