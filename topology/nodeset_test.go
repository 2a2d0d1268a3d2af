package topology

import (
	"testing"

	"pgregory.net/rapid"
)

// propNodeSet compares a NodeSet with a map over random sequences.
func propNodeSet(t *rapid.T) {
	n := rapid.IntRange(0, 200).Draw(t, "nodes")
	var s, o NodeSet
	s.Init(n)
	o.Init(n)
	model, other := map[NodeID]bool{}, map[NodeID]bool{}
	node := rapid.Custom(func(t *rapid.T) NodeID { return NodeID(rapid.IntRange(0, max(n-1, 0)).Draw(t, "node")) })
	some := func(name string, f func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			if n == 0 {
				return
			}
			f(t)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"add":    some("add", func(t *rapid.T) { id := node.Draw(t, "id"); s.Add(id); model[id] = true }),
		"remove": some("remove", func(t *rapid.T) { id := node.Draw(t, "id"); s.Remove(id); delete(model, id) }),
		"add range": some("range", func(t *rapid.T) {
			a, b := node.Draw(t, "a"), node.Draw(t, "b")
			lo, hi := min(a, b), max(a, b)+1
			o.AddRange(lo, hi)
			for id := lo; id < hi; id++ {
				other[id] = true
			}
		}),
		"and": func(*rapid.T) {
			s.And(&o)
			for id := range model {
				if !other[id] {
					delete(model, id)
				}
			}
		},
		"or": func(*rapid.T) {
			s.Or(&o)
			for id := range other {
				model[id] = true
			}
		},
		"and not": func(*rapid.T) {
			s.AndNot(&o)
			for id := range other {
				delete(model, id)
			}
		},
		"clear other": func(*rapid.T) { o.Clear(); clear(other) },
		"fill": func(*rapid.T) {
			s.AddAll()
			for i := range n {
				model[NodeID(i)] = true
			}
		},
		"": func(t *rapid.T) {
			count, both := 0, 0
			prev := NoNode
			for id := range s.All() {
				if !model[id] || id <= prev {
					t.Fatalf("All yields %d after %d, model has %v", id, prev, model[id])
				}
				prev = id
				count++
			}
			for id := range model {
				if other[id] {
					both++
				}
			}
			if count != len(model) || s.Count() != count || s.Empty() != (count == 0) || len(s.AppendIDs(nil)) != count {
				t.Fatalf("count %d, Count %d, Empty %v, model %d", count, s.Count(), s.Empty(), len(model))
			}
			if s.CountAnd(&o) != both || s.Intersects(&o) != (both > 0) || o.Contains(&s) != (both == count) {
				t.Fatalf("CountAnd %d, Intersects %v, Contains %v; model %d of %d", s.CountAnd(&o), s.Intersects(&o), o.Contains(&s), both, count)
			}
			for i := range n {
				id := NodeID(i)
				if s.Has(id) != model[id] {
					t.Fatalf("Has(%d) = %v", id, s.Has(id))
				}
				lo, hi := NoNode, NoNode
				for m := range model {
					if m >= id && (lo == NoNode || m < lo) {
						lo = m
					}
					if m <= id && m > hi {
						hi = m
					}
				}
				if s.Next(id) != lo || prevBit(s.Words(), id) != hi {
					t.Fatalf("Next(%d) = %d, want %d; prevBit %d, want %d", id, s.Next(id), lo, prevBit(s.Words(), id), hi)
				}
			}
			for id := range o.All() {
				if got, want := countRange(s.Words(), id/2, id), 0; true {
					for m := range model {
						if m >= id/2 && m < id {
							want++
						}
					}
					if got != want {
						t.Fatalf("countRange(%d, %d) = %d, want %d", id/2, id, got, want)
					}
				}
			}
			c := s.Clone()
			if !c.Equal(&s) {
				t.Fatalf("clone differs")
			}
			for id := range o.All() {
				lo := id / 3
				clearRange(c.Words(), lo, id)
				for m := lo; m < id; m++ {
					if c.Has(m) {
						t.Fatalf("clearRange(%d, %d) left %d", lo, id, m)
					}
				}
			}
		},
	})
}

func TestNodeSetModel(t *testing.T) { rapid.Check(t, propNodeSet) }

func TestNodeSetPanicsOnSlips(t *testing.T) {
	var s, o NodeSet
	s.Init(10)
	o.Init(11)
	for name, f := range map[string]func(){
		"Add outside":        func() { s.Add(10) },
		"Has negative":       func() { s.Has(-1) },
		"other cluster":      func() { s.Or(&o) },
		"range outside":      func() { s.AddRange(3, 11) },
		"InitWords too long": func() { s.InitWords(3, make([]uint64, 2)) },
		"InitWords tail":     func() { s.InitWords(3, []uint64{8}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
