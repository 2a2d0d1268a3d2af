package topology_test

import (
	"math/rand/v2"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// What is in the way of the next part is the cheapest set of holders there is, if
// nodes have one holder; with several it is irredundant.
func TestRoomEqualsBruteForce(t *testing.T) {
	for i := range cases() {
		r := rand.New(rand.NewPCG(31, uint64(i)))
		w := randomBlocks(r)
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		var free topology.NodeSet
		free.Init(w.n)
		free.AddAll()
		shared := r.IntN(3) == 0
		var holders []topology.Holder
		for range r.IntN(7) {
			h := topology.Holder{Cost: int64(r.IntN(5)), Ends: r.IntN(3) == 0}
			for range 1 + r.IntN(3) {
				id := topology.NodeID(r.IntN(w.n))
				again := false
				for _, other := range h.Nodes {
					again = again || other == id
				}
				if !again && (shared || free.Has(id)) {
					h.Nodes = append(h.Nodes, id)
					free.Remove(id)
				}
			}
			holders = append(holders, h)
		}
		q := topology.RoomQuery{Level: 0, Size: int32(1 + r.IntN(5))}
		got := top.AppendRoom(nil, []topology.RoomQuery{q}, &free, holders)[0]
		// count returns the parts that fit if the holders of gone were gone.
		count := func(gone func(int) bool) (parts, inNext int) {
			for u := range spanOfBlocks(top) {
				k := 0
				for n := range w.n {
					if top.UnitOf(topology.NodeID(n)) != topology.UnitID(u) {
						continue
					}
					ok := true
					for h := range holders {
						for _, id := range holders[h].Nodes {
							ok = ok && (id != topology.NodeID(n) || gone(h))
						}
					}
					if ok {
						k++
					}
				}
				parts += k / int(q.Size)
				if int32(u) == got.Next.Unit {
					inNext = k / int(q.Size)
				}
			}
			return parts, inNext
		}
		if now, _ := count(func(int) bool { return false }); now != got.Now {
			t.Fatalf("case %d: now %d, want %d", i, got.Now, now)
		}
		if ended, _ := count(func(h int) bool { return holders[h].Ends }); ended != got.Ended {
			t.Fatalf("case %d: ended %d, want %d", i, got.Ended, ended)
		}
		best, found := int64(0), false
		for set := range 1 << len(holders) {
			cost := int64(0)
			for h := range holders {
				if set>>h&1 != 0 {
					cost += holders[h].Cost
				}
			}
			if parts, _ := count(func(h int) bool { return set>>h&1 != 0 }); parts > got.Now && (!found || cost < best) {
				best, found = cost, true
			}
		}
		has := len(got.Next.Holders) > 0
		if has != found {
			t.Fatalf("case %d: obstacle %+v, brute force %v %d", i, got.Next, found, best)
		}
		if !has {
			continue
		}
		without := func(skip int) int {
			_, parts := count(func(h int) bool {
				for _, x := range got.Next.Holders {
					if int(x) == h && h != skip {
						return true
					}
				}
				return false
			})
			return parts
		}
		_, before := count(func(int) bool { return false })
		if without(-1) <= before {
			t.Fatalf("case %d: %v does not make room", i, got.Next.Holders)
		}
		for _, h := range got.Next.Holders {
			if shared && without(int(h)) > before {
				t.Fatalf("case %d: %d of %v is needless", i, h, got.Next.Holders)
			}
		}
		if !shared && got.Next.Cost != best {
			t.Fatalf("case %d: cost %d, want %d: %+v", i, got.Next.Cost, best, got.Next)
		}
	}
}

// spanOfBlocks returns as many places as top has base blocks.
func spanOfBlocks(top *topology.Topology) []struct{} {
	n := 0
	for u := range top.Units() {
		if top.Unit(topology.UnitID(u)).Level == 0 {
			n++
		}
	}
	return make([]struct{}, n)
}
