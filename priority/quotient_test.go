package priority

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// drawPositive draws a positive finite number, subnormal ones too.
func drawPositive(rt *rapid.T, name string) float64 {
	b := rapid.Uint64Range(1, 0x7fefffffffffffff).Draw(rt, name)
	if rapid.Bool().Draw(rt, name+" is near 1") {
		return 1 + float64(b%64)*0x1p-52
	}
	return math.Float64frombits(b)
}

// TestQuotient compares with big numbers of 64 bits.
func TestQuotient(t *testing.T) {
	long := func(x float64) *big.Float { return new(big.Float).SetPrec(64).SetFloat64(x) }
	value := func(n num) *big.Float {
		f := new(big.Float).SetPrec(64).SetUint64(n.mant)
		return f.SetMantExp(f, int(n.exp)-63)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s, u, p := rapid.Float64Range(0x1p-53, 1).Draw(rt, "share"), drawPositive(rt, "usage"), drawPositive(rt, "above")
		if value(split(u)).Cmp(long(u)) != 0 {
			rt.Fatalf("split(%v) = %+v", u, split(u))
		}
		low := long(0).Quo(long(u), long(p))
		want := long(0).Quo(long(s), low)
		got := split(s).over(split(u).over(split(p)))
		if value(got).Cmp(want) != 0 {
			rt.Fatalf("%v/(%v/%v) = %v, want %v", s, u, p, value(got), want)
		}
		if w, _ := want.Float64(); got.float() != w && w > 0x1p-1000 {
			rt.Fatalf("float = %v, want %v", got.float(), w)
		}
		if e := want.MantExp(nil); e > -1000 && e < 2500 {
			k := levelKey(s, u, split(p))
			if w, _ := want.Float64(); k.float() != w && w > 0x1p-1000 {
				rt.Fatalf("key of %v stands for %v", want, k.float())
			}
			other := levelKey(s, math.Nextafter(u, math.Inf(1)), split(p))
			otherWant := long(0).Quo(long(s), long(0).Quo(long(math.Nextafter(u, math.Inf(1))), long(p)))
			if k.cmp(other) != want.Cmp(otherWant) || (k.apart(other) == 0) != (k == other) {
				rt.Fatalf("keys %v and %v compare as %d and are %d apart", k, other, k.cmp(other), k.apart(other))
			}
		}
	})
}

func TestKeyEnds(t *testing.T) {
	huge, tiny := num{mant: 1 << 63, exp: 1 << 20}.key(), num{mant: 1 << 63, exp: -1 << 20}.key()
	inf, zero := levelKey(parentUser, 1, split(1)), levelKey(0, 1, split(1))
	order := []key{zero, tiny, levelKey(1, 1, split(1)), huge, inf}
	for i := 1; i < len(order); i++ {
		if order[i].cmp(order[i-1]) != 1 || order[i].apart(order[i-1]) < nearKeys {
			t.Errorf("keys %v and %v are not far apart", order[i-1], order[i])
		}
	}
	if !math.IsInf(inf.float(), 1) || zero.float() != 0 || levelKey(.5, 0, split(1)) != inf || levelKey(.5, 1, num{}) != inf {
		t.Error("no usage is not infinite, or no share not 0")
	}
	for _, u := range []float64{math.NaN(), -1, math.Inf(-1), 0} {
		if cleanUsage(u) != 0 {
			t.Errorf("cleanUsage(%v) = %v", u, cleanUsage(u))
		}
	}
	if cleanUsage(math.Inf(1)) != math.MaxFloat64 {
		t.Error("infinite usage")
	}
}
