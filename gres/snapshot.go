package gres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrSnapshot says that bytes are not a snapshot of such a pool.
var ErrSnapshot = errors.New("not a snapshot of this pool")

// AppendSnapshot appends what is in use and which nodes are available. Shapes
// are written as their numbers: the restoring pool has the same ones. States
// are written once each, in the order of their first node.
func (p *Pool) AppendSnapshot(dst []byte) []byte {
	number := make([]int32, len(p.states.meta))
	var order []int32
	for _, id := range p.state {
		if id != noState && number[id] == 0 {
			order = append(order, id)
			number[id] = int32(len(order))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.state)))
	dst = binary.AppendUvarint(dst, uint64(len(order)))
	for _, id := range order {
		m := &p.states.meta[id]
		dst = binary.AppendUvarint(dst, uint64(m.shape))
		for _, w := range p.states.row(id, p.shapes[m.shape].RowLen()) {
			dst = binary.AppendUvarint(dst, w)
		}
	}
	for n, id := range p.state {
		v := uint64(0)
		if id != noState {
			v = uint64(number[id]) << 1
			if p.up.has(int32(n)) {
				v |= 1
			}
		}
		dst = binary.AppendUvarint(dst, v)
	}
	return binary.LittleEndian.AppendUint64(dst, p.hash)
}

// Restore reads what [Pool.AppendSnapshot] wrote into p, which has the same
// shapes, and returns the bytes that follow. Views and classes stay. It ends
// all marks. After an error p is as it was.
func (p *Pool) Restore(src []byte) (rest []byte, err error) {
	r := snapshotReader{src: src}
	n, states := r.count(1<<31-1), r.count(1<<31-1)
	shapes := make([]int32, 0, min(states, len(src)))
	var rows []uint64
	for range states {
		sh := r.count(len(p.shapes) - 1)
		if r.bad {
			break
		}
		shapes = append(shapes, int32(sh))
		for range p.shapes[sh].RowLen() {
			rows = append(rows, r.uvarint())
		}
	}
	nodes := make([]uint64, 0, min(n, len(src)))
	for range n {
		v := r.uvarint()
		if r.bad || v>>1 > uint64(states) {
			r.bad = true
			break
		}
		nodes = append(nodes, v)
	}
	if r.bad || len(r.src) < 8 {
		return nil, fmt.Errorf("gres: restore pool: %w", ErrSnapshot)
	}
	want := binary.LittleEndian.Uint64(r.src)
	if hashOf(shapes, rows, nodes, p.shapes) != want {
		return nil, fmt.Errorf("gres: restore pool: %w", ErrSnapshot)
	}
	p.load(shapes, rows, nodes)
	return r.src[8:], nil
}

// load replaces the nodes of p.
func (p *Pool) load(shapes []int32, rows, nodes []uint64) {
	p.Resize(0)
	p.Resize(len(nodes))
	offs := rowOffsets(shapes, p.shapes)
	for n, v := range nodes {
		if v>>1 == 0 {
			continue
		}
		k := v>>1 - 1
		p.moveTo(int32(n), p.intern(shapes[k], rows[offs[k]:offs[k+1]]))
		if v&1 != 0 {
			p.flip(int32(n))
		}
	}
	p.Forget()
}

// hashOf returns the hash of a pool with the given nodes.
func hashOf(shapes []int32, rows, nodes []uint64, all []*Shape) uint64 {
	offs := rowOffsets(shapes, all)
	var h uint64
	for n, v := range nodes {
		if v>>1 == 0 {
			continue
		}
		k := v>>1 - 1
		h += mix(hashRow(shapes[k], rows[offs[k]:offs[k+1]]) ^ uint64(n)*0x9e3779b97f4a7c15)
		if v&1 != 0 {
			h += availHash(int32(n))
		}
	}
	return h
}

func rowOffsets(shapes []int32, all []*Shape) []int {
	offs := make([]int, 1, len(shapes)+1)
	for _, sh := range shapes {
		offs = append(offs, offs[len(offs)-1]+all[sh].RowLen())
	}
	return offs
}

type snapshotReader struct {
	src []byte
	bad bool
}

func (r *snapshotReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// count reads a number of at most most; the loops over it end early if bytes
// run out.
func (r *snapshotReader) count(most int) int {
	v := r.uvarint()
	if most < 0 || v > uint64(most) {
		r.bad = true
		return 0
	}
	return int(v)
}

// Fork returns an independent copy of p with the same views and classes;
// shapes, which do not change, are shared. Marks of p do not apply to it.
// O(nodes · keys), and what is remembered of classes is not copied.
func (p *Pool) Fork() *Pool {
	q := *p
	q.shapes = slices.Clone(p.shapes)
	q.states = p.states.clone()
	q.index = p.index.clone(len(p.state))
	q.state = slices.Clone(p.state)
	q.up = p.up.clone()
	q.log = nil
	for _, r := range p.log {
		if r.old >= 0 {
			q.states.drop(r.old)
		}
	}
	for id, n := range p.held {
		for ; n > 0; n-- {
			q.states.drop(int32(id)) // holds are the original's callers'
		}
	}
	q.held = nil
	q.ring = slices.Clone(p.ring)
	q.views = slices.Clone(p.views)
	for i := range q.views {
		q.views[i].bits = p.views[i].bits.clone()
	}
	q.classes = slices.Clone(p.classes)
	for i := range q.classes {
		q.classes[i].screens = slices.Clone(p.classes[i].screens)
		q.classes[i].slots = make([]slotRef, 0, 4)
	}
	q.memo = memo{}
	q.memo.size(len(p.state))
	q.slots.init(len(p.state))
	q.row = make([]uint64, len(p.row))
	q.grants.size(p.coreWords)
	q.column, q.scratch = nil, Scratch{}
	return &q
}

func (b *nodeBits) clone() nodeBits {
	return nodeBits{slices.Clone(b.w), slices.Clone(b.s1), slices.Clone(b.s2)}
}

func (t *interner) clone() interner {
	c := *t
	c.rows, c.meta = slices.Clone(t.rows), slices.Clone(t.meta)
	c.levels, c.table = slices.Clone(t.levels), slices.Clone(t.table)
	return c
}

func (x *index) clone(nodes int) index {
	c := *x
	c.keys = slices.Clone(x.keys)
	c.parts = slices.Clone(x.parts)
	for i := range c.keys {
		c.keys[i].levels = slices.Clone(c.keys[i].levels)
	}
	words := nodeBitsWords(nodes)
	for i := range c.keys {
		sets := make([]nodeBits, len(x.keys[i].sets))
		arena := make([]uint64, words*len(sets))
		for l := range sets {
			sets[l] = nodeBitsOf(nodes, arena[l*words:(l+1)*words])
			copy(sets[l].w, x.keys[i].sets[l].w)
			copy(sets[l].s1, x.keys[i].sets[l].s1)
			copy(sets[l].s2, x.keys[i].sets[l].s2)
		}
		c.keys[i].sets = sets
	}
	return c
}
