package gres

import (
	"encoding/binary"
	"errors"
	"fmt"
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
