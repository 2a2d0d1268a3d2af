package priority

import (
	"testing"
	"time"
)

// sameAsRank compares every factor with a full ranking.
func sameAsRank(t *testing.T, live *LiveTree, tree *Tree, usage []float64) {
	t.Helper()
	want := make([]float64, len(usage))
	NewFairTree(tree, AsShipped).Rank(want, usage)
	for i := range want {
		if got := live.Factor(int32(i)); got != want[i] {
			t.Fatalf("Factor(%d) = %v, want %v", i, got, want[i])
		}
	}
}

// TestLiveManyNearTies: one ratio written with more pairs of share and usage than
// are compared one by one.
func TestLiveManyNearTies(t *testing.T) {
	tree := &Tree{Parent: []int32{-1, 0, 0}, User: make([]bool, 3), Shares: []uint32{1, 1, 1}}
	usage := make([]float64, 3)
	for i := range 60 {
		tree.Parent, tree.User = append(tree.Parent, int32(1+i%2)), append(tree.User, true)
		tree.Shares, usage = append(tree.Shares, 1<<(i/2)), append(usage, 0)
		charge(tree, usage, i+3, float64(int64(3)<<(i/2)))
	}
	live := NewLiveTree(tree, AsShipped, usage)
	sameAsRank(t, live, tree, usage)
	for i := 3; i < len(usage); i += 5 {
		charge(tree, usage, i, float64(i))
		live.Update(usage, int32(i))
		sameAsRank(t, live, tree, usage)
	}
}

// TestLiveEmptyAccounts: ties with accounts that have no users, at the very
// beginning of the walk and below.
func TestLiveEmptyAccounts(t *testing.T) {
	//   root: E (no users), A{F (no users), B{u, v}}, C{w}
	tree := &Tree{Parent: []int32{-1, 0, 0, 2, 2, 0, 4, 4, 5}, User: []bool{6: true, 7: true, 8: true}, Shares: []uint32{1, 1, 1, 1, 1, 1, 1, 1, 1}}
	usage := make([]float64, 9)
	live := NewLiveTree(tree, AsShipped, usage)
	sameAsRank(t, live, tree, usage)
	for _, row := range []int{8, 6, 8, 7} {
		charge(tree, usage, row, 100)
		live.Update(usage, int32(row))
		sameAsRank(t, live, tree, usage)
	}
}

// TestLiveOddUsage: books in which an account has less than is below it.
func TestLiveOddUsage(t *testing.T) {
	tree := &Tree{Parent: []int32{-1, 0, 0, 1, 1, 2}, User: []bool{3: true, 4: true, 5: true}, Shares: []uint32{1, 1, 2, 1, 3, 1}}
	usage := []float64{0, 0, 5, 7, 8, 5}
	live := NewLiveTree(tree, AsShipped, usage)
	sameAsRank(t, live, tree, usage)
	usage[0], usage[1] = 3, 2
	live.Update(usage, 3)
	sameAsRank(t, live, tree, usage)
}

// TestFreeRows: rows below nobody and below users are not in the tree.
func TestFreeRows(t *testing.T) {
	tree := &Tree{Parent: []int32{-1, 0, -1, 1, 0}, User: []bool{1: true, 3: true, 4: true}, Shares: []uint32{1, 1, 1, 1, 2}}
	usage := []float64{10, 5, 99, 99, 5}
	got := make([]float64, 5)
	f := NewFairTree(tree, AsShipped)
	f.Rank(got, usage)
	if f.Users() != 2 || (got[1] != .5 || got[2] != 0 || got[3] != 0 || got[4] != 1) {
		t.Errorf("%d users, factors %v", f.Users(), got)
	}
	sameAsRank(t, NewLiveTree(tree, AsShipped, usage), tree, usage)
}

func TestAverage(t *testing.T) {
	if got := (Decay{HalfLife: time.Hour}).Average(3600); got < .6931 || got > .6932 {
		t.Errorf("Average = %v, want ln 2", got)
	}
	if got := (Decay{}).Average(3600); got != 3600 {
		t.Errorf("Average without a half-life = %v, want 3600", got)
	}
	// Steady use of 5 points averages to 5 points.
	d := Decay{HalfLife: time.Hour, Exact: true}
	if got := d.Average(d.Charge(5, 100*time.Hour)); got < 4.999999 || got > 5.000001 {
		t.Errorf("Average of steady use = %v, want 5", got)
	}
}
