package priority

import (
	"math"
	"testing"
)

// TestWorkedClassic runs the worked values of the specification's section 3.
func TestWorkedClassic(t *testing.T) {
	type row struct {
		name, above     string
		share           uint32
		usage           float64
		norm, effective float64
		factor          float64
		user            bool
	}
	rows := []row{
		{"A", "", 40, 0, .266667, .214286, .572929, false}, {"B", "A", 30, 0, .2, .184524, .527550, false}, {"user1", "B", 1, 20, .2, .184524, .527550, true},
		{"C", "A", 10, 0, .066667, .142857, .226431, false}, {"user2", "C", 1, 25, .033333, .130952, .065672, true}, {"user3", "C", 1, 0, .033333, .071429, .226431, true},
		{"D", "", 60, 0, .4, .119048, .813594, false}, {"E", "D", 25, 0, .166667, .119048, .609507, false}, {"user4", "E", 1, 25, .166667, .119048, .609507, true},
		{"F", "D", 35, 0, .233333, .069444, .813594, false}, {"user5", "F", 1, 0, .233333, .069444, .813594, true},
		{"G", "", 0, 0, 0, .142857, 0, false}, {"user6", "G", 1, 30, 0, .142857, 0, true},
		{"H", "", 50, 0, .333333, .523810, .336475, false}, {"user7", "H", SharesParent, 0, .333333, .523810, .336475, true},
		{"user8", "H", 40, 20, .078431, .196078, .176777, true}, {"user9", "H", 50, 25, .098039, .238095, .185749, true},
		{"P", "H", SharesParent, 0, .333333, .523810, .336475, false}, {"user10", "P", 30, 10, .058824, .131653, .211966, true},
		{"user11", "P", 50, 55, .098039, .338936, .091053, true},
	}
	tree := &Tree{Parent: []int32{-1}, User: []bool{false}, Shares: []uint32{1}}
	at := map[string]int32{"": 0}
	for i, r := range rows {
		at[r.name] = int32(i + 1)
		tree.Parent, tree.User, tree.Shares = append(tree.Parent, at[r.above]), append(tree.User, r.user), append(tree.Shares, r.share)
	}
	usage := make([]float64, len(rows)+1)
	for i, r := range rows {
		charge(tree, usage, i+1, r.usage)
	}
	c := NewClassic(tree, 0, false)
	factor := make([]float64, len(usage))
	c.Rank(factor, usage)
	for i, r := range rows {
		s := c.AppendShares(nil, []int32{int32(i + 1)}, usage, factor)[0]
		for _, v := range [][2]float64{{s.Norm, r.norm}, {s.Effective, r.effective}, {factor[i+1], r.factor}} {
			if math.Abs(v[0]-v[1]) > 1e-6 {
				t.Errorf("%s has norm %f, effective %f, factor %f; want %f, %f, %f", r.name, s.Norm, s.Effective, factor[i+1], r.norm, r.effective, r.factor)
				break
			}
		}
	}
}

// TestClassicAlone runs the smallest worked cases: four equal users.
func TestClassicAlone(t *testing.T) {
	tree := &Tree{Parent: []int32{-1, 0, 0, 0, 0}, User: []bool{false, true, true, true, true}, Shares: []uint32{1, 1, 1, 1, 1}}
	for _, tt := range []struct {
		used float64
		damp uint32
		want float64
	}{{25, 1, .5}, {50, 1, .25}, {50, 2, .5}, {0, 1, 1}} {
		f := make([]float64, 5)
		NewClassic(tree, tt.damp, false).Rank(f, []float64{100, tt.used, 100 - tt.used, 0, 0})
		if f[1] != tt.want {
			t.Errorf("used %v of 100, damped by %d: %v, want %v", tt.used, tt.damp, f[1], tt.want)
		}
	}
}

// TestObliviousDepth: with DEPTH_OBLIVIOUS a level that holds one account alone
// changes nothing.
func TestObliviousDepth(t *testing.T) {
	flat := &Tree{Parent: []int32{-1, 0, 0, 1, 1, 2}, User: []bool{false, false, false, true, true, true}, Shares: []uint32{1, 3, 1, 1, 2, 1}}
	deep := &Tree{Parent: []int32{-1, 0, 0, 6, 6, 2, 1}, User: []bool{false, false, false, true, true, true, false}, Shares: []uint32{1, 3, 1, 1, 2, 1, 5}}
	a, b := make([]float64, 6), make([]float64, 7)
	NewClassic(flat, 1, true).Rank(a, []float64{100, 60, 40, 25, 35, 40})
	NewClassic(deep, 1, true).Rank(b, []float64{100, 60, 40, 25, 35, 40, 60})
	for i := 3; i < 6; i++ {
		if math.Abs(a[i]-b[i]) > 1e-14 {
			t.Errorf("row %d: %v in the flat tree, %v in the deep one", i, a[i], b[i])
		}
	}
}
