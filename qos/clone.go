package qos

import (
	"maps"
	"slices"
)

// Clone returns an independent copy of the books: what is done to one is not
// seen in the other. Marks of l do not hold for the copy. It costs O(size of
// the books); limits that are set are shared, as they are never changed in
// place.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.total = slices.Clone(l.total)
	c.accounts, c.users, c.parts = l.accounts.clone(), l.users.clone(), l.parts.clone()
	c.assocs = slices.Clone(l.assocs)
	c.freeAssocs = slices.Clone(l.freeAssocs)
	c.byKey = maps.Clone(l.byKey)
	c.accountOf, c.userHead = slices.Clone(l.accountOf), slices.Clone(l.userHead)
	c.qos = slices.Clone(l.qos)
	c.qosByID = maps.Clone(l.qosByID)
	c.books = l.books.clone()
	return &c
}

func (n *names) clone() names { return names{slices.Clone(n.list), maps.Clone(n.index)} }

func (b *books) clone() books {
	c := *b
	c.rows, c.use, c.commit, c.hist = slices.Clone(b.rows), slices.Clone(b.use), slices.Clone(b.commit), slices.Clone(b.hist)
	c.free, c.idle, c.dead = slices.Clone(b.free), slices.Clone(b.idle), slices.Clone(b.dead)
	c.refs = slices.Clone(b.refs)
	for i := range c.refs {
		c.refs[i].node, c.refs[i].count = slices.Clone(b.refs[i].node), slices.Clone(b.refs[i].count)
	}
	c.pairs.keys, c.pairs.rows = slices.Clone(b.pairs.keys), slices.Clone(b.pairs.rows)
	c.charges, c.holds = slices.Clone(b.charges), slices.Clone(b.holds)
	total := 0
	for i := range b.charges {
		total += len(b.charges[i].nodes)
	}
	nodes := make([]int32, 0, total)
	for i := range c.charges {
		at := len(nodes)
		nodes = append(nodes, b.charges[i].nodes...)
		// The capacity ends with the slice: a longer list later gets its own.
		c.charges[i].nodes = nodes[at:len(nodes):len(nodes)]
	}
	c.log = nil
	c.base = b.base + len(b.log) + 1
	c.scratch.rows = make([]int32, 0, cap(b.scratch.rows))
	c.scratch.need, c.scratch.step = make([]int64, b.k), make([]wide, b.k+2)
	if len(c.dead) > 0 {
		for _, id := range c.dead {
			c.freeCharge(id)
		}
		c.dead = nil
	}
	return c
}
