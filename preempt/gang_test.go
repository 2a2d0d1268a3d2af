package preempt

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// coresOf makes jobs that hold cores of one node, as masks.
func coresOf(masks ...uint64) *Cores {
	h := &Cores{First: []int32{0}, Words: 1}
	for _, m := range masks {
		h.Word, h.Mask = append(h.Word, 0), append(h.Mask, m)
		h.First = append(h.First, int32(len(h.Word)))
	}
	return h
}

func active(on []bool) (out []int32) {
	for j, yes := range on {
		if yes {
			out = append(out, int32(j))
		}
	}
	return out
}

// Three jobs of two cores on four, and one of all four, take turns.
func TestGangTurns(t *testing.T) {
	var g Gang
	h := coresOf(0b0011, 0b1100, 0b0011, 0b1111)
	list, on := []int32{0, 1, 2, 3}, make([]bool, 4)
	g.Choose(on, nil, list, h)
	for i, want := range [][]int32{{0, 1}, {1, 2}, {3}, {0, 1}, {1, 2}, {3}} {
		if got := active(on); !slices.Equal(got, want) {
			t.Fatalf("slice %d: %v, want %v; list %v", i, got, want, list)
		}
		g.Rotate(list, on)
		g.Choose(on, nil, list, h)
	}
}

// A job of a higher tier is active whatever it overlaps, and those it overlaps
// wait until it goes.
func TestGangShadow(t *testing.T) {
	var g Gang
	h := coresOf(0b0011, 0b1100, 0b0110, 0b0001)
	on := make([]bool, 4)
	g.Choose(on, []int32{2}, []int32{0, 1, 3}, h)
	if got := active(on); !slices.Equal(got, []int32{2, 3}) {
		t.Error(got)
	}
	g.Choose(on, nil, []int32{0, 1, 3}, h)
	if got := active(on); !slices.Equal(got, []int32{0, 1}) {
		t.Error(got)
	}
}

// Nobody overlaps anybody who is active, nobody could be added, and everybody has
// a turn within as many slices as there are jobs.
func TestGangLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "jobs")
		h := &Cores{First: []int32{0}, Words: 2}
		for range n {
			for w := range int32(2) {
				if m := rapid.Uint64Range(0, 15).Draw(t, "mask"); m != 0 {
					h.Word, h.Mask = append(h.Word, w), append(h.Mask, m)
				}
			}
			h.First = append(h.First, int32(len(h.Word)))
		}
		overlap := func(a, b int32) bool {
			for i := h.First[a]; i < h.First[a+1]; i++ {
				for k := h.First[b]; k < h.First[b+1]; k++ {
					if h.Word[i] == h.Word[k] && h.Mask[i]&h.Mask[k] != 0 {
						return true
					}
				}
			}
			return false
		}
		var g Gang
		list, on, had := all(n), make([]bool, n), make([]bool, n)
		for range n {
			g.Choose(on, nil, list, h)
			for a := range int32(n) {
				had[a] = had[a] || on[a]
				free := true
				for b := range int32(n) {
					if a != b && on[b] && overlap(a, b) {
						if free = false; on[a] {
							t.Fatalf("%d and %d are active together", a, b)
						}
					}
				}
				if free && !on[a] {
					t.Fatalf("%d could be active", a)
				}
			}
			g.Rotate(list, on)
		}
		if slices.Contains(had, false) {
			t.Fatalf("in %d slices only %v had a turn", n, active(had))
		}
		slices.Sort(list)
		if !slices.Equal(list, all(n)) {
			t.Fatalf("the list is %v", list)
		}
	})
}
