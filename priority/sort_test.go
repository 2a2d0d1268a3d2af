package priority

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortPlaced compares the radix sort with a sort by comparison, on keys that
// are spread, crowded, equal, or crowded around a few far values.
func TestSortPlaced(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	kinds := map[string]func() (uint64, uint32){
		"spread":       func() (uint64, uint32) { return r.Uint64(), r.Uint32N(1 << 11) },
		"crowded":      func() (uint64, uint32) { return 1<<60 + r.Uint64N(50), r.Uint32N(1 << 11) },
		"equal":        func() (uint64, uint32) { return 1 << 60, 7 },
		"one high":     func() (uint64, uint32) { return 1 << 60, r.Uint32N(3) },
		"special":      func() (uint64, uint32) { return []uint64{placedInf, placedZero, 9}[r.IntN(3)], 0 },
		"only special": func() (uint64, uint32) { return []uint64{placedInf, placedZero}[r.IntN(2)], 0 },
		"powers":       func() (uint64, uint32) { return 1 << r.IntN(64), r.Uint32N(2) },
		"two crowds":   func() (uint64, uint32) { return uint64(r.IntN(2))<<62 + 5 + r.Uint64N(3), r.Uint32N(1 << 11) },
	}
	for name, key := range kinds {
		for _, n := range []int{0, 1, 2, insertionMax, insertionMax + 1, 300, 5000} {
			s := make([]placed, n)
			for i := range s {
				s[i].hi, s[i].lo = key()
				s[i].ent = int32(i)
			}
			want := slices.Clone(s)
			slices.SortFunc(want, comparePlaced)
			got := make([]placed, n)
			sortPlaced(got, s)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d keys: not in order", name, n)
			}
		}
	}
}

// TestLiveSteps: a level a hundred times as large has trees about twice as high,
// so a change costs about twice the steps.
func TestLiveSteps(t *testing.T) {
	height := func(users int) int {
		tree := &Tree{Parent: make([]int32, users+1), User: make([]bool, users+1), Shares: make([]uint32, users+1)}
		usage := make([]float64, users+1)
		r := rand.New(rand.NewPCG(1, 2))
		for i := 1; i <= users; i++ {
			tree.User[i], tree.Shares[i] = true, 1+r.Uint32N(9)
			charge(tree, usage, i, float64(r.Uint32N(1e6)))
		}
		live := NewLiveTree(tree, AsShipped, usage)
		for range users {
			row := 1 + r.IntN(users)
			charge(tree, usage, row, float64(r.Uint32N(1e6)))
			live.Update(usage, int32(row))
		}
		most := 0
		for e := range live.t.nodes {
			n := 0
			for at := int32(e); at >= 0; at = live.t.nodes[at].up {
				n++
			}
			most = max(most, n)
		}
		return most
	}
	small, large := height(300), height(30000)
	if small > 30 || large > 60 {
		t.Errorf("paths of up to %d nodes with 300 users, %d with 30,000", small, large)
	}
}

func TestOrder(t *testing.T) {
	rows := []int32{0, 1, 2, 3, 4}
	Order(rows, []uint32{5, 9, 5, 5, 9}, []int64{10, 20, 5, 10, 20}, []uint64{7, 3, 8, 6, 2})
	if want := []int32{4, 1, 2, 3, 0}; !slices.Equal(rows, want) {
		t.Errorf("Order = %v, want %v", rows, want)
	}
}
