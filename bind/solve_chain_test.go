package bind

import (
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestChainIsTheTable compares the branch and bound with the table of subsets:
// wires without any order, places that take some GPUs only, many equal costs.
func TestChainIsTheTable(t *testing.T) {
	most := 11
	if os.Getenv("BERTH_DEEP") != "" {
		most = maxExact
	}
	rapid.Check(t, func(t *rapid.T) {
		var o orderSearch
		o.n = rapid.IntRange(2, most).Draw(t, "GPUs")
		kinds := rapid.Uint32Range(1, 6).Draw(t, "classes")
		spread := rapid.Uint32Range(0, 40).Draw(t, "bandwidths")
		o.link = make([]uint32, o.n*o.n)
		for a := range o.n {
			for b := range a {
				wire := rapid.Uint32Range(0, kinds-1).Draw(t, "class")<<linkShift + 100 + rapid.Uint32Range(0, spread).Draw(t, "bandwidth")
				o.link[a*o.n+b], o.link[b*o.n+a] = wire, wire
			}
		}
		// Some order is always allowed.
		order := rapid.Permutation(all32(o.n)).Draw(t, "allowed")
		free := rapid.IntRange(0, 2).Draw(t, "bound")
		for p := range o.n {
			o.can[p] = all(o.n)
			if free > 0 {
				o.can[p] = 1<<order[p] | rapid.Uint64().Draw(t, "can")&all(o.n)
			}
			if free > 1 {
				o.can[p] &= 1<<order[p] | rapid.Uint64().Draw(t, "can")
			}
		}
		o.exact()
		want := slices.Clone(o.seq[:o.n])
		if !o.branch.solve(&o) {
			if o.n <= 11 {
				t.Fatalf("gave up")
			}
			return // what many places forbid is the table's
		}
		if got := o.seq[:o.n]; !slices.Equal(got, want) {
			t.Fatalf("%v costs %d, want %v", got, o.cost(), want)
		}
	})
}

func all32(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
