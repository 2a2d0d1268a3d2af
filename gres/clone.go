package gres

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Fork returns an independent copy of p with the same views, classes and holds:
// what is done to one is not seen in the other, and equal calls give equal
// answers. Shapes, which do not change, are shared. The copy has no marks:
// everything up to now is final in it. O(nodes · keys).
func (p *Pool) Fork() *Pool {
	c := *p
	c.shapes = slices.Clone(p.shapes)
	c.states = p.states.clone()
	c.index = p.index.clone()
	c.state, c.up = slices.Clone(p.state), p.up.clone()
	c.log, c.ring = slices.Clone(p.log), slices.Clone(p.ring)
	c.views = slices.Clone(p.views)
	for i := range c.views {
		c.views[i].bits = p.views[i].bits.clone()
	}
	c.classes = slices.Clone(p.classes)
	for i := range c.classes {
		k := &c.classes[i]
		k.screens, k.slots = slices.Clone(k.screens), append(make([]slotRef, 0, max(4, len(k.slots))), k.slots...)
	}
	c.memo.entries, c.grants.entries = nil, nil // they fill again
	c.slots = p.slots.clone()
	c.held = slices.Clone(p.held)
	c.row = make([]uint64, len(p.row))
	c.column, c.epoch = make([]columnState, len(p.column)), 0
	c.scratch, c.after, c.chosen, c.grant = Scratch{}, NodeFit{}, [1]Chosen{}, [1]Grant{}
	c.Forget()
	return &c
}

func (t *interner) clone() interner {
	c := *t
	c.rows, c.meta, c.levels = cloneRoom(t.rows), cloneRoom(t.meta), cloneRoom(t.levels)
	c.table = slices.Clone(t.table)
	return c
}

// cloneRoom copies s with its capacity, which was sized for what is to come.
func cloneRoom[T any](s []T) []T { return append(make([]T, 0, cap(s)), s...) }

func (b *nodeBits) clone() nodeBits {
	arena := make([]uint64, 0, len(b.w)+len(b.s1)+len(b.s2))
	arena = append(append(append(arena, b.w...), b.s1...), b.s2...)
	w, s := len(b.w), len(b.w)+len(b.s1)
	return nodeBits{arena[:w:w], arena[w:s:s], arena[s:]}
}

func (x *index) clone() index {
	c := *x
	c.keys = slices.Clone(x.keys)
	for i := range c.keys {
		k := &c.keys[i]
		k.levels, k.sets = slices.Clone(k.levels), slices.Clone(k.sets)
		for l := range k.sets {
			k.sets[l] = x.keys[i].sets[l].clone()
		}
	}
	c.parts = slices.Clone(x.parts)
	for i := range c.parts {
		c.parts[i] = slices.Clone(x.parts[i])
	}
	return c
}

func (t *slotTable) clone() slotTable {
	c := *t
	c.slots, c.spare = slices.Clone(t.slots), slices.Clone(t.spare)
	for i := range c.slots {
		c.slots[i].bits = t.slots[i].bits.clone()
	}
	return c
}

// Clone returns an independent copy of r.
func (r *CoreRows) Clone() *CoreRows {
	c := &CoreRows{off: slices.Clone(r.off), words: slices.Clone(r.words), used: slices.Clone(r.used)}
	for i := range c.words {
		c.words[i] = slices.Clone(r.words[i])
	}
	return c
}

// Clone returns an independent copy of t.
func (t *DeviceTable) Clone() *DeviceTable {
	return &DeviceTable{
		names: slices.Clone(t.names), types: slices.Clone(t.types), nameID: maps.Clone(t.nameID), typeID: maps.Clone(t.typeID),
	}
}

// Clone returns an independent copy of l. Type lists of shapes are shared, as
// they are never written.
func (l *Learner) Clone() Learner {
	c := *l
	c.shapes = slices.Clone(l.shapes)
	return c
}

// Clone returns a placer that chooses in pool, a copy of pl's own, as pl does.
// Scores are computed anew when they are asked for.
func (pl *Placer) Clone(pool *Pool) *Placer {
	c := &Placer{
		pool: pool, policy: pl.policy, work: pl.work, maxCPU: pl.maxCPU, maxGPU: pl.maxGPU, hand: pl.hand, kinds: slices.Clone(pl.kinds),
		forms: make([]formUse, len(pl.work.forms)),
	}
	draws := *pl.draws
	c.draws = &draws
	c.rnd = rand.New(c.draws)
	return c
}

// Clone returns an independent copy of s, for a copy of its job.
func (s *Steps) Clone() *Steps {
	c := *s
	c.nodes = slices.Clone(s.nodes)
	for i := range c.nodes {
		n := &c.nodes[i]
		n.cores, n.free, n.devices = slices.Clone(n.cores), slices.Clone(n.free), slices.Clone(n.devices)
	}
	c.classes = slices.Clone(s.classes)
	for i := range c.classes {
		c.classes[i].ids = slices.Clone(s.classes[i].ids)
	}
	c.byReq, c.running = maps.Clone(s.byReq), maps.Clone(s.running)
	c.records, c.spare = slices.Clone(s.records), slices.Clone(s.spare)
	for i := range c.records {
		g := &c.records[i].grant
		g.Nodes, g.Tasks, g.Grants = slices.Clone(g.Nodes), slices.Clone(g.Tasks), cloneGrants(g.Grants)
	}
	c.fits = make([]int32, len(s.nodes))
	return &c
}

func cloneGrants(list []Grant) []Grant {
	out := make([]Grant, len(list))
	for i := range list {
		out[i].CopyFrom(&list[i])
	}
	return out
}
