package gres

import "slices"

// noState is the state of a node that is not there.
const noState = -1

// An interner keeps each distinct state of a node once: its shape and its row
// of use. Nodes, and log records that may be rolled back, hold ids and count
// as references. A state without a reference stays findable, with what is
// remembered about it, until its place is needed: the one unreferenced longest
// goes first.
type interner struct {
	stride int      // words of a row, of the longest shape
	rows   []uint64 // stride words by id
	meta   []stateMeta
	levels []uint8 // nlev bytes by id, see index
	nlev   int

	table  []int32 // open addressing: id+1, 0 is empty; length a power of two
	room   int     // ids to have before unreferenced ones are recycled
	serial uint64  // last serial number given

	oldest, newest int32 // list of the unreferenced, −1 if empty
}

type stateMeta struct {
	hash       uint64 // of shape and row
	serial     uint64 // never reused, so memories of a recycled id do not apply
	shape      int32
	refs       int32
	prev, next int32 // in the list of the unreferenced
}

func (t *interner) init(stride, nlev int) {
	*t = interner{stride: stride, nlev: nlev, oldest: -1, newest: -1, table: make([]int32, 64)}
}

// reserve makes room for n states, so that interning no more than that many
// referenced states does not allocate.
func (t *interner) reserve(n int) {
	if n <= t.room {
		return
	}
	t.room = n
	t.rows = slices.Grow(t.rows, n*t.stride-len(t.rows))
	t.meta = slices.Grow(t.meta, n-len(t.meta))
	t.levels = slices.Grow(t.levels, n*t.nlev-len(t.levels))
	t.rehash(n)
}

// rehash sizes the table so that n ids fill at most half of it.
func (t *interner) rehash(n int) {
	size := len(t.table)
	for size < 2*n {
		size *= 2
	}
	if size == len(t.table) {
		return
	}
	t.table = make([]int32, size)
	for id := range t.meta {
		t.insert(int32(id))
	}
}

func (t *interner) insert(id int32) {
	mask := uint64(len(t.table) - 1)
	i := t.meta[id].hash & mask
	for t.table[i] != 0 {
		i = (i + 1) & mask
	}
	t.table[i] = id + 1
}

// row returns the row of id; it is valid until the next call of intern.
func (t *interner) row(id int32, words int) []uint64 {
	o := int(id) * t.stride
	return t.rows[o : o+words : o+words]
}

// level returns the index levels of id.
func (t *interner) level(id int32) []uint8 {
	o := int(id) * t.nlev
	return t.levels[o : o+t.nlev : o+t.nlev]
}

// intern returns the id of the state, with one reference more, and whether it
// is new, in which case its levels are to be filled. row must not alias the
// interner's own.
func (t *interner) intern(shape int32, row []uint64) (id int32, fresh bool) {
	h := hashRow(shape, row)
	mask := uint64(len(t.table) - 1)
	for i := h & mask; t.table[i] != 0; i = (i + 1) & mask {
		id := t.table[i] - 1
		if m := &t.meta[id]; m.hash == h && m.shape == shape && slices.Equal(row, t.row(id, len(row))) {
			t.hold(id)
			return id, false
		}
	}
	id = t.place()
	t.serial++
	t.meta[id] = stateMeta{hash: h, serial: t.serial, shape: shape, refs: 1, prev: -1, next: -1}
	copy(t.row(id, len(row)), row)
	t.insert(id)
	return id, true
}

// place returns an id to use: a recycled one if there are room or more.
func (t *interner) place() int32 {
	if len(t.meta) >= t.room && t.oldest >= 0 {
		id := t.oldest
		t.unlink(id)
		t.remove(id)
		return id
	}
	id := int32(len(t.meta))
	t.rehash(int(id) + 1)
	t.meta = append(t.meta, stateMeta{})
	t.rows = appendZeros(t.rows, t.stride)
	t.levels = appendZeros(t.levels, t.nlev)
	return id
}

func appendZeros[T any](s []T, n int) []T {
	var zero T
	for range n {
		s = append(s, zero)
	}
	return s
}

// widen changes the room for a row and for levels, as longer shapes and more
// index keys come. The levels of all states are to be filled anew.
func (t *interner) widen(stride, nlev int) {
	n := len(t.meta)
	rows := make([]uint64, n*stride, max(n, t.room)*stride)
	for id := range n {
		copy(rows[id*stride:(id+1)*stride], t.rows[id*t.stride:(id+1)*t.stride])
	}
	t.rows, t.stride = rows, stride
	t.levels, t.nlev = make([]uint8, n*nlev, max(n, t.room)*nlev), nlev
}

// remove takes id out of the table, closing the gap that it leaves.
func (t *interner) remove(id int32) {
	mask := uint64(len(t.table) - 1)
	i := t.meta[id].hash & mask
	for t.table[i] != id+1 {
		i = (i + 1) & mask
	}
	for j := i; ; {
		t.table[i] = 0
		for {
			j = (j + 1) & mask
			if t.table[j] == 0 {
				return
			}
			// The entry at j may move to i only if its home is not after i.
			home := t.meta[t.table[j]-1].hash & mask
			if (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		t.table[i] = t.table[j]
		i = j
	}
}

// hold adds a reference.
func (t *interner) hold(id int32) {
	if t.meta[id].refs == 0 {
		t.unlink(id)
	}
	t.meta[id].refs++
}

// drop takes a reference away.
func (t *interner) drop(id int32) {
	m := &t.meta[id]
	if m.refs--; m.refs > 0 {
		return
	}
	m.prev, m.next = t.newest, -1
	if t.newest >= 0 {
		t.meta[t.newest].next = id
	} else {
		t.oldest = id
	}
	t.newest = id
}

func (t *interner) unlink(id int32) {
	m := &t.meta[id]
	if m.prev >= 0 {
		t.meta[m.prev].next = m.next
	} else {
		t.oldest = m.next
	}
	if m.next >= 0 {
		t.meta[m.next].prev = m.prev
	} else {
		t.newest = m.prev
	}
	m.prev, m.next = -1, -1
}

// mix is the finaliser of splitmix64: every bit of x reaches every bit of the
// result.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func hashRow(shape int32, row []uint64) uint64 {
	h := uint64(shape)*0x9e3779b97f4a7c15 + 1
	for _, w := range row {
		h = mix(h ^ w*0x9e3779b97f4a7c15)
	}
	return h
}
