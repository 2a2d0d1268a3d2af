package gres

import "slices"

// A ShapeID is the number of a shape in a [Pool], in the order of
// [Pool.AddShape].
type ShapeID int32

// NoShape is the shape of a node that is not there.
const NoShape ShapeID = -1

// A Pool holds what is in use on every node of a cluster: the one truth from
// which all placement is decided. Nodes are dense indices from 0 in the
// caller's node order (Slurm's), which breaks all ties.
//
// Nodes of equal hardware share a [Shape]; nodes of equal use share a state,
// which is kept once. So what a request could get is computed per state, not
// per node, and remembered.
//
// Every change of use is logged until [Pool.Forget], and [Pool.Rollback] takes
// changes back. A Pool is made by [NewPool]; it is not safe for concurrent
// use.
type Pool struct {
	shapes    []*Shape
	coreWords int // of the largest shape
	states    interner
	index     index
	state     []int32  // by node, noState if the node is not there
	up        nodeBits // nodes that are there and available
	hash      uint64   // sum over nodes of nodeHash

	log []logRecord

	ring []int32 // the nodes that changed last, change c at c mod len
	seq  uint64  // changes so far

	builds   uint64 // times the index was laid out
	views    []view
	classes  []class
	classUID uint64 // last given
	memo     memo
	grants   grantMemo
	slots    slotTable
	held     []int32 // by state: holds of callers
	memMost  int64   // of the largest shape; 0 not known

	row     []uint64      // scratch
	column  []columnState // scratch by state
	epoch   uint32        // of column
	scratch Scratch
	after   NodeFit // of the last fitAfter
	chosen  [1]Chosen
	grant   [1]Grant
}

// A view is a set of nodes in which one-node requests look.
type view struct {
	bits    nodeBits
	version uint64
	used    bool
}

// ringLen is how many changes a candidate set can be behind before it is
// rebuilt.
const ringLen = 1 << 12

// NewPool returns a pool of n nodes that are not there yet; see
// [Pool.SetNode].
func NewPool(n int) *Pool {
	p := &Pool{ring: make([]int32, ringLen)}
	p.states.init(1, 1)
	p.index.init()
	p.Resize(n)
	return p
}

// Len returns the number of nodes, those that are not there included.
func (p *Pool) Len() int { return len(p.state) }

// Resize sets the number of nodes. New ones are not there yet; ones that fall
// away are removed first. It allocates, and ends all marks. O(nodes · keys).
func (p *Pool) Resize(n int) {
	p.Forget()
	for i := n; i < len(p.state); i++ {
		p.RemoveNode(int32(i))
	}
	old := p.up
	p.up = nodeBitsOf(n, make([]uint64, nodeBitsWords(n)))
	p.state = slices.Grow(p.state[:min(n, len(p.state))], max(n-len(p.state), 0))
	for len(p.state) < n {
		p.state = append(p.state, noState)
	}
	for i := range min(n, len(old.w)<<6) {
		if old.has(int32(i)) {
			p.up.set(int32(i))
		}
	}
	p.states.reserve(n + n/4 + 1024)
	p.memo.size(n)
	for i := range p.views {
		v := &p.views[i]
		w := v.bits.w
		v.bits = nodeBitsOf(n, make([]uint64, nodeBitsWords(n)))
		copy(v.bits.w, w)
		trimTail(v.bits.w, n)
		v.bits.summarise()
	}
	p.rebuild()
}

// trimTail clears the bits of w from n on.
func trimTail(w []uint64, n int) {
	if n&63 != 0 && len(w) > n>>6 {
		w[n>>6] &= 1<<(n&63) - 1
	}
}

// rebuild lays out the index and drops the candidate sets.
func (p *Pool) rebuild() {
	p.builds++
	p.slots.init(len(p.state))
	for i := range p.classes {
		c := &p.classes[i]
		c.slots = c.slots[:0]
		if c.uid != 0 {
			p.screen(c)
		}
	}
	p.index.build(len(p.state))
	for id := range p.states.meta {
		m := &p.states.meta[id]
		s := p.shapes[m.shape]
		p.index.fill(p.states.level(int32(id)), m.shape, s, p.states.row(int32(id), s.RowLen()))
	}
	for n, id := range p.state {
		if id != noState {
			p.index.move(int32(n), nil, p.states.level(id))
		}
	}
}

// AddShape adds a shape and returns its number; an equal one that is there
// already serves for both. It allocates and ends all marks; if s brings device names or
// types that no shape had, it takes O(nodes).
func (p *Pool) AddShape(s *Shape) ShapeID {
	if i := slices.IndexFunc(p.shapes, s.equal); i >= 0 {
		return ShapeID(i)
	}
	p.Forget()
	p.memMost = 0
	p.shapes = append(p.shapes, s)
	grown := p.index.addShape(s)
	if s.RowLen() > p.states.stride || len(p.index.keys) > p.states.nlev {
		p.states.widen(max(s.RowLen(), p.states.stride), len(p.index.keys))
	}
	p.row = make([]uint64, p.states.stride)
	if s.coreWords > p.coreWords || len(p.shapes) == 1 {
		p.coreWords = s.coreWords
		p.grants.size(p.coreWords)
	}
	if grown {
		p.rebuild()
	}
	return ShapeID(len(p.shapes) - 1)
}

// NumShapes returns the number of shapes added.
func (p *Pool) NumShapes() int { return len(p.shapes) }

// ShapeAt returns the shape numbered id. It panics if there is none.
func (p *Pool) ShapeAt(id ShapeID) *Shape { return p.shapes[id] }

// SetNode says that node has the given shape, is idle and available. A node
// that was there before loses its use: the caller books again with
// [Pool.Take] what still runs. It ends all marks.
func (p *Pool) SetNode(node int32, shape ShapeID) {
	p.Forget()
	row := p.row[:p.shapes[shape].RowLen()]
	clear(row)
	p.moveTo(node, p.intern(int32(shape), row))
	if !p.up.has(node) {
		p.flip(node)
	}
	p.Forget()
}

// RemoveNode says that node is not there any more. Its index stays free for
// another. It ends all marks.
func (p *Pool) RemoveNode(node int32) {
	p.Forget()
	old := p.state[node]
	if old == noState {
		return
	}
	if p.up.has(node) {
		p.hash -= availHash(node)
		p.up.clear(node)
	}
	p.index.move(node, p.states.level(old), nil)
	p.hash -= p.nodeHash(node, old)
	p.state[node] = noState
	p.states.drop(old)
	p.touch(node)
}

// SetAvailable says whether node may get new work (not down, drained or
// powered off). It is logged like a change of use. A node that is not there
// stays unavailable.
func (p *Pool) SetAvailable(node int32, on bool) {
	if p.state[node] == noState || p.up.has(node) == on {
		return
	}
	p.log = append(p.log, logRecord{node: node, old: availFlip})
	p.flip(node)
}

// flip turns the availability of node.
func (p *Pool) flip(node int32) {
	if p.up.has(node) {
		p.up.clear(node)
		p.hash -= availHash(node)
	} else {
		p.up.set(node)
		p.hash += availHash(node)
	}
	p.touch(node)
}

// Available reports whether node is there and may get new work.
func (p *Pool) Available(node int32) bool { return p.up.has(node) }

// AvailableWords returns the available nodes as words in node order. They
// alias the pool: valid until its next change, not to be written.
func (p *Pool) AvailableWords() []uint64 { return p.up.w }

// Shape returns the shape of node, nil if it is not there.
func (p *Pool) Shape(node int32) *Shape {
	if id := p.state[node]; id != noState {
		return p.shapes[p.states.meta[id].shape]
	}
	return nil
}

// ShapeID returns the number of the shape of node, [NoShape] if it is not
// there.
func (p *Pool) ShapeID(node int32) ShapeID {
	if id := p.state[node]; id != noState {
		return ShapeID(p.states.meta[id].shape)
	}
	return NoShape
}

// Row returns what is in use on node, in the layout of its shape; nil if it is
// not there. It aliases the pool: valid until its next change, not to be
// written.
func (p *Pool) Row(node int32) []uint64 {
	id := p.state[node]
	if id == noState {
		return nil
	}
	return p.states.row(id, p.shapes[p.states.meta[id].shape].RowLen())
}

// Take books g on node. The grant comes from a placement, or was proven by
// [Shape.CheckGrant]; Take does not look. O(row + devices); it does not
// allocate in steady state. It panics if node is not there.
func (p *Pool) Take(node int32, g *Grant) {
	s, row := p.open(node)
	s.Take(row, g)
	p.store(node, row)
}

// Give takes g off node: the exact inverse of [Pool.Take].
func (p *Pool) Give(node int32, g *Grant) {
	s, row := p.open(node)
	s.Give(row, g)
	p.store(node, row)
}

// SetUsedCores stores the cores in use on node, for nodes whose jobs share
// cores.
func (p *Pool) SetUsedCores(node int32, cores []uint64) {
	s, row := p.open(node)
	s.SetUsedCores(row, cores)
	p.store(node, row)
}

// SetRow stores a whole row of use.
func (p *Pool) SetRow(node int32, use []uint64) {
	_, row := p.open(node)
	copy(row, use)
	p.store(node, row)
}

// open copies the row of node into scratch.
func (p *Pool) open(node int32) (*Shape, []uint64) {
	id := p.state[node]
	if id == noState {
		panic("gres: node is not there")
	}
	s := p.shapes[p.states.meta[id].shape]
	row := p.row[:s.RowLen()]
	copy(row, p.states.row(id, len(row)))
	return s, row
}

// store makes row the use of node.
func (p *Pool) store(node int32, row []uint64) {
	p.moveTo(node, p.intern(p.states.meta[p.state[node]].shape, row))
}

func (p *Pool) intern(shape int32, row []uint64) int32 {
	id, fresh := p.states.intern(shape, row)
	if fresh {
		p.index.fill(p.states.level(id), shape, p.shapes[shape], row)
	}
	return id
}

// moveTo puts node in state id, whose reference passes to it; that of the old
// state passes to the log.
func (p *Pool) moveTo(node, id int32) {
	old := p.state[node]
	p.log = append(p.log, logRecord{node: node, old: old})
	p.place(node, old, id)
}

// place does what follows from a node's change of state. It is its own
// inverse with old and id exchanged.
func (p *Pool) place(node, old, id int32) {
	p.state[node] = id
	now := p.states.level(id)
	if old == noState {
		p.index.move(node, nil, now)
	} else {
		p.index.move(node, p.states.level(old), now)
		p.hash -= p.nodeHash(node, old)
	}
	p.hash += p.nodeHash(node, id)
	p.touch(node)
}

// touch notes that node changed, for the candidate sets.
func (p *Pool) touch(node int32) {
	p.ring[p.seq&(ringLen-1)] = node
	p.seq++
}

// Hash returns a number that depends on the use and availability of every
// node and on nothing else: equal before a try and after its rollback.
func (p *Pool) Hash() uint64 { return p.hash }

func (p *Pool) nodeHash(node, id int32) uint64 {
	return mix(p.states.meta[id].hash ^ uint64(node)*0x9e3779b97f4a7c15)
}

func availHash(node int32) uint64 { return mix(^uint64(node)) }
