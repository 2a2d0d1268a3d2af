package priority

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRankEqualsTwin(t *testing.T) {
	for name, ties := range map[string]TieMode{"as shipped": AsShipped, "documented": Documented} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tree, usage := drawTree(rt, 60)
				want := slowFactors(tree, usage, ties)
				got := make([]float64, len(usage))
				NewFairTree(tree, ties).Rank(got, usage)
				if d := cmp.Diff(want, got); d != "" {
					rt.Fatalf("Rank(%+v, %v) mismatch (-want +got):\n%s", tree, usage, d)
				}
				mixed, moved, at := shuffled(rt, tree, usage)
				other := make([]float64, len(usage))
				NewFairTree(mixed, ties).Rank(other, moved)
				for i, r := range at {
					if got[i] != other[r] {
						rt.Fatalf("row %d has %v, renumbered %v", i, got[i], other[r])
					}
				}
			})
		})
	}
}

// TestLiveEqualsRank: after any sequence of changes, any question, every factor
// is what a full ranking gives.
func TestLiveEqualsRank(t *testing.T) {
	for name, ties := range map[string]TieMode{"as shipped": AsShipped, "documented": Documented} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tree, usage := drawTree(rt, 80)
				var users []int
				for i, u := range tree.User {
					if u {
						users = append(users, i)
					}
				}
				live, full := NewLiveTree(tree, ties, usage), NewFairTree(tree, ties)
				want := make([]float64, len(usage))
				steps := 1
				if len(users) > 0 {
					steps = rapid.IntRange(1, 12).Draw(rt, "steps")
				}
				for range steps {
					if len(users) > 0 {
						row := rapid.SampledFrom(users).Draw(rt, "row")
						charge(tree, usage, row, drawUsage(rt))
						if rapid.IntRange(0, 9).Draw(rt, "forgive") == 0 {
							charge(tree, usage, row, -usage[row])
						}
						live.Update(usage, int32(row))
					}
					if rapid.Bool().Draw(rt, "ask nothing") {
						continue
					}
					full.Rank(want, usage)
					for i := range want {
						if got := live.Factor(int32(i)); got != want[i] {
							rt.Fatalf("Factor(%d) = %v, want %v\ntree %+v\nusage %v", i, got, want[i], tree, usage)
						}
					}
				}
			})
		})
	}
}

// TestWorkedTrees runs the trees of the specification's section 2.6.
func TestWorkedTrees(t *testing.T) {
	const parent = SharesParent
	type row struct {
		name, above string
		share       uint32
		usage       float64
		want        float64 // as shipped; 0 for an account
		doc         float64 // as documented, if not the same
	}
	trees := map[string][]row{
		"X1 tied accounts": {{"A", "", 1, 0, 0, 0}, {"B", "", 1, 0, 0, 0},
			{"a1", "A", 1, 100, 1, 1}, {"a2", "A", 1, 300, .75, .25}, {"b1", "B", 1, 200, .75, .75}, {"b2", "B", 1, 200, .75, .75}},
		"X1 the other way round": {{"B", "", 1, 0, 0, 0}, {"A", "", 1, 0, 0, 0},
			{"a1", "A", 1, 100, 1, 1}, {"a2", "A", 1, 300, .25, .25}, {"b1", "B", 1, 200, 1, .75}, {"b2", "B", 1, 200, 1, .75}},
		"X2 a user ties with an account": {{"r1", "", 1, 200, 1, 1}, {"A", "", 1, 0, 0, 0},
			{"a1", "A", 1, 50, .5, .5}, {"a2", "A", 3, 150, .25, .5}, {"a3", "A", 1, 0, 1, 1}},
		"X3 zero shares": {{"N", "", 1, 0, 0, 0}, {"n1", "N", 1, 0, 1, 1}, {"A", "", 1, 0, 0, 0},
			{"u1", "A", 1, 0, 5. / 6, 5. / 6}, {"u2", "A", 1, 50, 4. / 6, 4. / 6}, {"z1", "A", 0, 0, .5, .5}, {"z2", "A", 0, 10, .5, .5},
			{"Z", "", 0, 0, 0, 0}, {"zz1", "Z", 1, 40, 1. / 6, 1. / 6}},
		"X5 an account with parent shares": {{"A", "", parent, 0, 0, 0}, {"B", "", 2, 0, 0, 0},
			{"a1", "A", 1, 100, .6, .6}, {"a2", "A", 3, 100, .8, .8}, {"a3", "A", parent, 40, 1, 1}, {"b1", "B", 1, 50, .6, .6}, {"b2", "B", 1, 150, .2, .2}},
		"X6 the documentation's tree": {{"A", "", 40, 0, 0, 0}, {"B", "A", 30, 0, 0, 0}, {"C", "A", 10, 0, 0, 0}, {"D", "", 60, 0, 0, 0},
			{"E", "D", 25, 0, 0, 0}, {"F", "D", 35, 0, 0, 0}, {"G", "", 0, 0, 0, 0},
			{"U1", "B", 1, 20, 4. / 6, 4. / 6}, {"U2", "C", 1, 25, 2. / 6, 2. / 6}, {"U3", "C", 1, 0, .5, .5}, {"U4", "E", 1, 25, 5. / 6, 5. / 6},
			{"U5", "F", 1, 0, 1, 1}, {"U6", "G", 1, 30, 1. / 6, 1. / 6}},
		"X7 a user in two accounts": {{"A", "", 2, 0, 0, 0}, {"B", "", 1, 0, 0, 0},
			{"alice@A", "A", 1, 100, 1, 1}, {"bob", "A", 1, 100, 1, 1}, {"alice@B", "B", 1, 300, .25, .25}, {"carol", "B", 1, 0, .5, .5}},
		"equal ratios, different sizes": {{"A", "", 3, 0, 0, 0}, {"B", "", 1, 0, 0, 0}, {"a", "A", 1, 300, 1, 1}, {"b", "B", 1, 100, 1, 1}},
		"a single user":                 {{"u", "", 1, 7, 1, 1}},
	}
	for name, rows := range trees {
		t.Run(name, func(t *testing.T) {
			tree := &Tree{Parent: []int32{-1}, User: []bool{false}, Shares: []uint32{1}}
			for _, r := range rows {
				above := 1 + slices.IndexFunc(rows, func(o row) bool { return o.name == r.above })
				tree.Parent = append(tree.Parent, int32(above))
				tree.User = append(tree.User, r.want > 0)
				tree.Shares = append(tree.Shares, r.share)
			}
			usage := make([]float64, len(tree.Parent))
			for i, r := range rows {
				charge(tree, usage, i+1, r.usage)
			}
			for _, ties := range []TieMode{AsShipped, Documented} {
				got := make([]float64, len(usage))
				NewFairTree(tree, ties).Rank(got, usage)
				for i, r := range rows {
					want := r.want
					if ties == Documented {
						want = r.doc
					}
					if got[i+1] != want {
						t.Errorf("mode %d: %s has %v, want %v", ties, r.name, got[i+1], want)
					}
				}
			}
		})
	}
}
