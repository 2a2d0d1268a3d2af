package priority

import "cmp"

// A node is an entry in the ordered tree of its level: a treap, whose shape
// depends on what is in it and not on how it came there. One cache line.
//
// The order is by share over own usage, as a key of 64 bits, descending; then
// by share; then by entry. A level's usage is the same for all of it, so this
// is the order of the level fair-shares but for last places. Entries of one
// share and one key have one usage, because a key has more bits than a usage:
// they are neighbours, a block, and tie whatever the level's usage is.
type node struct {
	hi    uint64 // key of share over own usage
	share float64
	usage float64 // decayed, cleaned
	lo    uint32
	users int32 // at or below the entry
	// Users and entries of the left subtree.
	leftUsers, leftEntries int32
	left, right, up        int32
	_                      [3]int32
}

// spot is a place in the order of a level.
type spot struct {
	hi           uint64
	lo           uint32
	ent          int32
	share, usage float64
}

// spot is where n would stand if it were entry ent.
func (n *node) spot(ent int32) spot {
	return spot{hi: n.hi, lo: n.lo, ent: ent, share: n.share, usage: n.usage}
}

func (s spot) key() key { return key{hi: s.hi, lo: uint16(s.lo)} }

// before reports whether s comes before t.
func (s spot) before(t spot) bool {
	switch {
	case s.hi != t.hi:
		return s.hi > t.hi
	case s.lo != t.lo:
		return s.lo > t.lo
	case s.share != t.share:
		return s.share < t.share
	}
	return s.ent < t.ent
}

// ahead counts what stands before a place: users at or below the entries, and
// entries.
type ahead struct{ users, entries int32 }

func (a ahead) plus(b ahead) ahead  { return ahead{a.users + b.users, a.entries + b.entries} }
func (a ahead) minus(b ahead) ahead { return ahead{a.users - b.users, a.entries - b.entries} }

// rankOf makes the shape of the treap: a fixed scrambling of the entry.
func rankOf(ent int32) uint32 {
	x := uint32(ent) * 0x9e3779b1
	x ^= x >> 15
	x *= 0x85ebca77
	return x ^ x>>13
}

// treaps are the trees of all levels.
type treaps struct {
	nodes []node  // by entry
	roots []int32 // by level
}

// grow builds the tree of level l from its entries in order, in linear time.
// The two buffers have an element for every entry; grow uses those of the
// level.
func (t *treaps) grow(l int, order []placed, users, entries []int32) {
	last := int32(-1)
	var before ahead
	for _, p := range order {
		e := p.ent
		n := &t.nodes[e]
		n.left, n.right, n.up = -1, -1, last
		for n.up >= 0 && rankOf(n.up) < rankOf(e) {
			n.left, n.up = n.up, t.nodes[n.up].up
		}
		// What stands before the whole subtree of e.
		users[e], entries[e] = before.users, before.entries
		if c := n.left; c >= 0 {
			t.nodes[c].up = e
			users[e], entries[e] = users[c], entries[c]
		}
		n.leftUsers, n.leftEntries = before.users-users[e], before.entries-entries[e]
		if n.up >= 0 {
			t.nodes[n.up].right = e
		}
		before.users, before.entries = before.users+n.users, before.entries+1
		last = e
	}
	t.roots[l] = -1
	for ; last >= 0; last = t.nodes[last].up {
		t.roots[l] = last
	}
}

// ahead counts what stands before s in level l.
func (t *treaps) ahead(l int32, s spot) ahead {
	var a ahead
	for e := t.roots[l]; e >= 0; {
		n := &t.nodes[e]
		if !n.spot(e).before(s) {
			e = n.left
			continue
		}
		a.users, a.entries = a.users+n.leftUsers+n.users, a.entries+n.leftEntries+1
		e = n.right
	}
	return a
}

// aheadOf counts what stands before entry e in its level.
func (t *treaps) aheadOf(e int32) ahead {
	a := ahead{t.nodes[e].leftUsers, t.nodes[e].leftEntries}
	for up := t.nodes[e].up; up >= 0; e, up = up, t.nodes[up].up {
		if n := &t.nodes[up]; n.right == e {
			a.users, a.entries = a.users+n.leftUsers+n.users, a.entries+n.leftEntries+1
		}
	}
	return a
}

// at returns the entry before which i entries stand in level l; -1 for none.
func (t *treaps) at(l, i int32) int32 {
	for e := t.roots[l]; e >= 0; {
		n := &t.nodes[e]
		switch cmp.Compare(i, n.leftEntries) {
		case -1:
			e = n.left
		case 0:
			return e
		default:
			i -= n.leftEntries + 1
			e = n.right
		}
	}
	return -1
}

// previous returns the entry before e in its level, next the one after; -1 for
// none.
func (t *treaps) previous(e int32) int32 {
	if l := t.nodes[e].left; l >= 0 {
		for t.nodes[l].right >= 0 {
			l = t.nodes[l].right
		}
		return l
	}
	up := t.nodes[e].up
	for up >= 0 && t.nodes[up].left == e {
		e, up = up, t.nodes[up].up
	}
	return up
}

func (t *treaps) next(e int32) int32 {
	if r := t.nodes[e].right; r >= 0 {
		for t.nodes[r].left >= 0 {
			r = t.nodes[r].left
		}
		return r
	}
	up := t.nodes[e].up
	for up >= 0 && t.nodes[up].right == e {
		e, up = up, t.nodes[up].up
	}
	return up
}

// insert puts e, whose key is set, into the tree of level l.
func (t *treaps) insert(l, e int32) {
	n := &t.nodes[e]
	n.left, n.right, n.up = -1, -1, -1
	n.leftUsers, n.leftEntries = 0, 0
	s := n.spot(e)
	for at := t.roots[l]; at >= 0; {
		n.up = at
		m := &t.nodes[at]
		if s.before(m.spot(at)) {
			m.leftUsers, m.leftEntries = m.leftUsers+n.users, m.leftEntries+1
			if at = m.left; at < 0 {
				m.left = e
			}
		} else if at = m.right; at < 0 {
			m.right = e
		}
	}
	if n.up < 0 {
		t.roots[l] = e
	}
	for n.up >= 0 && rankOf(n.up) < rankOf(e) {
		t.lift(l, e)
	}
}

// remove takes e out of the tree of level l.
func (t *treaps) remove(l, e int32) {
	n := &t.nodes[e]
	for n.left >= 0 || n.right >= 0 {
		c := n.left
		if c < 0 || n.right >= 0 && rankOf(n.right) > rankOf(c) {
			c = n.right
		}
		t.lift(l, c)
	}
	for at, up := e, n.up; up >= 0; at, up = up, t.nodes[up].up {
		if m := &t.nodes[up]; m.left == at {
			m.leftUsers, m.leftEntries = m.leftUsers-n.users, m.leftEntries-1
		}
	}
	t.replace(l, e, -1)
}

// replace puts c where e hangs.
func (t *treaps) replace(l, e, c int32) {
	switch up := t.nodes[e].up; {
	case up < 0:
		t.roots[l] = c
	case t.nodes[up].left == e:
		t.nodes[up].left = c
	default:
		t.nodes[up].right = c
	}
}

// lift turns the tree so that e and the node above it change places.
func (t *treaps) lift(l, e int32) {
	n := &t.nodes[e]
	p := n.up
	m := &t.nodes[p]
	t.replace(l, p, e)
	n.up, m.up = m.up, e
	var moved int32
	if m.left == e {
		moved, m.left, n.right = n.right, n.right, p
		m.leftUsers -= n.leftUsers + n.users
		m.leftEntries -= n.leftEntries + 1
	} else {
		moved, m.right, n.left = n.left, n.left, p
		n.leftUsers += m.leftUsers + m.users
		n.leftEntries += m.leftEntries + 1
	}
	if moved >= 0 {
		t.nodes[moved].up = p
	}
}

// check panics if the tree of level l is not a treap in order with right sums.
// It is called with the build tag invariants only, and for small levels.
func (t *treaps) check(l int32) {
	i := int32(0)
	for e, last := t.at(l, 0), int32(-1); e >= 0; last, e = e, t.next(e) {
		n := &t.nodes[e]
		switch {
		case last >= 0 && !t.nodes[last].spot(last).before(n.spot(e)):
			panic("priority: entries of a level out of order")
		case n.up >= 0 && rankOf(n.up) < rankOf(e):
			panic("priority: a node above one of higher rank")
		case t.aheadOf(e) != t.ahead(l, n.spot(e)) || t.aheadOf(e).entries != i:
			panic("priority: sums of a level differ")
		}
		i++
	}
}
