package priority

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHigherAccountWins is Fair Tree's guarantee: where one sibling's level
// fair-share is above another's, every user at or below it has a strictly
// larger factor. As shipped there is one way round it: an account without users
// ties with the next one, whose first user then has the rank of whoever was
// ranked before both.
func TestHigherAccountWins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree, usage := drawTree(rt, 60)
		for _, ties := range []TieMode{AsShipped, Documented} {
			f := NewFairTree(tree, ties)
			factor, level := make([]float64, len(usage)), make([]float64, len(usage))
			f.Rank(factor, usage)
			f.LevelFS(level, usage)
			v := &f.lv
			low, high := lowHigh(v, factor)
			strict := ties == Documented || slices.Min(append(v.users, 1)) > 0
			for l := range v.owner {
				for a := v.start[l]; a < v.start[l+1]; a++ {
					for b := v.start[l]; b < v.start[l+1]; b++ {
						if level[v.row[a]] > level[v.row[b]]*(1+1e-12) && (low[a] < high[b] || strict && low[a] == high[b]) {
							rt.Fatalf("mode %d: rows %d and %d of one level have level fair-shares %v > %v but factors %v <= %v",
								ties, v.row[a], v.row[b], level[v.row[a]], level[v.row[b]], low[a], high[b])
						}
					}
				}
			}
		}
	})
}

// lowHigh is the least and the greatest factor at or below each entry.
func lowHigh(v *levels, factor []float64) (low, high []float64) {
	low, high = fill(low, len(v.row), math.Inf(1)), fill(high, len(v.row), math.Inf(-1))
	for e := len(v.row) - 1; e >= 0; e-- {
		if v.kids[e] < 0 {
			low[e], high[e] = factor[v.row[e]], factor[v.row[e]]
		}
		if up := v.ownerEnt[v.of[e]]; up >= 0 {
			low[up], high[up] = min(low[up], low[e]), max(high[up], high[e])
		}
	}
	return low, high
}

// TestScalingChangesNothing: factors depend on ratios of usage alone.
func TestScalingChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree, usage := drawTree(rt, 60)
		for i := range usage {
			usage[i] = 0
		}
		for i, u := range tree.User {
			if u {
				charge(tree, usage, i, float64(rapid.IntRange(0, 100000).Draw(rt, "usage")))
			}
		}
		by := float64(rapid.IntRange(1, 1e6).Draw(rt, "by")) * math.Ldexp(1, rapid.IntRange(-60, 60).Draw(rt, "power"))
		scaled := make([]float64, len(usage))
		for i, u := range usage {
			scaled[i] = u * by // exact: both have few bits
		}
		for _, ties := range []TieMode{AsShipped, Documented} {
			a, b := make([]float64, len(usage)), make([]float64, len(usage))
			f := NewFairTree(tree, ties)
			f.Rank(a, usage)
			f.Rank(b, scaled)
			for i := range a {
				if a[i] != b[i] {
					rt.Fatalf("mode %d: row %d has %v, scaled by %v %v", ties, i, a[i], by, b[i])
				}
			}
		}
	})
}

// TestModesAgreeWithoutTies: where nothing ties, both modes and a plain sort agree.
func TestModesAgreeWithoutTies(t *testing.T) {
	tree, usage := benchTree(3000)
	for i := range usage {
		if tree.User[i] {
			charge(tree, usage, i, 1+float64(i)*math.Pi)
		}
	}
	a, b, c := make([]float64, len(usage)), make([]float64, len(usage)), make([]float64, len(usage))
	NewFairTree(tree, AsShipped).Rank(a, usage)
	NewFairTree(tree, Documented).Rank(b, usage)
	sortEverything(c, tree, usage)
	for i := range a {
		if a[i] != b[i] || a[i] != c[i] {
			t.Fatalf("row %d: %v, %v, %v", i, a[i], b[i], c[i])
		}
	}
}

// TestAccrualIsAdditive: with the exact integral one step or many give the same
// books, wherever the period is cut.
func TestAccrualIsAdditive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := Decay{Exact: true, HalfLife: time.Duration(rapid.Int64Range(0, int64(30*day)).Draw(rt, "half-life"))}
		points := rapid.Float64Range(0, 1e6).Draw(rt, "points")
		start := rapid.Float64Range(0, 1e12).Draw(rt, "start")
		var whole time.Duration
		books := start
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			step := time.Duration(rapid.Int64Range(1, int64(6*time.Hour)).Draw(rt, "step"))
			books = books*d.Keep(step) + d.Charge(points, step)
			whole += step
		}
		if want := start*d.Keep(whole) + d.Charge(points, whole); math.Abs(books-want) > 1e-11*want+1e-290 {
			rt.Fatalf("in steps %v, at once %v", books, want)
		}
	})
}

// TestDecayCommutesWithCharging: to charge two jobs and then let time pass gives
// the books of each alone, added; and of each decayed before it is added.
func TestDecayCommutesWithCharging(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := Decay{Exact: rapid.Bool().Draw(rt, "exact"), HalfLife: time.Duration(rapid.Int64Range(0, int64(30*day)).Draw(rt, "half-life"))}
		parent := []int32{-1, 0, 1}
		job := func(name string) *Charges {
			return &Charges{Assoc: []int32{rapid.Int32Range(0, 2).Draw(rt, name)}, Points: []float64{rapid.Float64Range(0, 1e6).Draw(rt, name)},
				Factor: []float64{rapid.Float64Range(0, 3).Draw(rt, name)}, For: []time.Duration{time.Duration(rapid.Int64Range(0, int64(day)).Draw(rt, name))}}
		}
		a, b := job("a"), job("b")
		pass := time.Duration(rapid.Int64Range(0, int64(day)).Draw(rt, "pass"))
		var together, alone, other [3]float64
		d.Add(together[:], parent, a)
		d.Add(together[:], parent, b)
		d.Fade(together[:], pass)
		d.Add(alone[:], parent, a)
		d.Fade(alone[:], pass)
		d.Add(other[:], parent, b)
		d.Fade(other[:], pass)
		for i := range together {
			if want := alone[i] + other[i]; math.Abs(together[i]-want) > 1e-12*want+1e-290 {
				rt.Fatalf("row %d: together %v, apart %v", i, together[i], want)
			}
		}
		if together[0] < together[1] || together[1] < together[2] {
			rt.Fatalf("an account has less than what is below it: %v", together)
		}
	})
}

// TestSlurmDecay: in whole seconds, two passes decay as one of both lengths.
func TestSlurmDecay(t *testing.T) {
	for _, tt := range []struct {
		half, after time.Duration
		want        float64
	}{
		{7 * day, 300 * time.Second, .99965631}, {7 * day, day, .90574266}, {7 * day, 7 * day, .50007340}, {7 * day, 14 * day, .25007340},
		{time.Hour, 300 * time.Second, .94388064}, {time.Hour, time.Hour, .50004024}, {0, day, 1}, {time.Second / 2, day, smallestNormal},
	} {
		d := Decay{HalfLife: tt.half}
		if got := d.Keep(tt.after); math.Abs(got-tt.want) > 5.1e-9 {
			t.Errorf("half-life %v: Keep(%v) = %v, want %v", tt.half, tt.after, got, tt.want)
		}
		half := tt.after / 2
		if got := d.Keep(half) * d.Keep(tt.after-half); math.Abs(got-d.Keep(tt.after)) > 1e-15 {
			t.Errorf("half-life %v: two halves of %v keep %v", tt.half, tt.after, got)
		}
	}
	// Cases 46 and 47: four points, UsageFactor 2.5, five minutes.
	if got := (Decay{HalfLife: DefaultHalfLife}).Charge(4*2.5, 300*time.Second); math.Abs(got-2998.97) > .005 {
		t.Errorf("Charge = %v, want 2998.97", got)
	}
	if got := (Decay{}).Charge(4*2.5, 300*time.Second); got != 3000 {
		t.Errorf("Charge without decay = %v, want 3000", got)
	}
}

// TestPowers compares with the standard library and with long multiplication.
func TestPowers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(-1000, 1000).Draw(rt, "x")
		if got, want := exp2(x), math.Exp2(x); math.Abs(got-want) > 1e-15*want {
			rt.Fatalf("exp2(%v) = %v, want %v", x, got, want)
		}
		y := rapid.Float64Range(1e-300, 1e300).Draw(rt, "y")
		if got, want := log(y), math.Log(y); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			rt.Fatalf("log(%v) = %v, want %v", y, got, want)
		}
		z, n := 1-rapid.Float64Range(0, 1e-5).Draw(rt, "z"), rapid.IntRange(0, 5000).Draw(rt, "n")
		want := big.NewFloat(1).SetPrec(300)
		for range n {
			want.Mul(want, big.NewFloat(z))
		}
		if w, _ := want.Float64(); powInt(z, int64(n)) != w {
			rt.Fatalf("powInt(%v, %d) = %v, want %v", z, n, powInt(z, int64(n)), w)
		}
	})
	if exp2(-2000) != 0 || !math.IsInf(exp2(2000), 1) || !math.IsNaN(exp2(math.NaN())) {
		t.Error("exp2 at its ends")
	}
}
