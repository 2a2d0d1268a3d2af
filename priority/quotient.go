package priority

import (
	"math"
	"math/bits"
)

// A num is a positive number with a mantissa of 64 bits, or 0: the value is
// mant times 2 to the power exp-63, and the top bit of mant is set. It is what
// a long double holds on the machines that Slurm runs on.
type num struct {
	mant uint64 // 0 only for 0
	exp  int32
}

// split returns f, which must be a positive finite number or 0, exactly.
func split(f float64) num {
	b := math.Float64bits(f)
	e, m := int32(b>>52), b&(1<<52-1)
	if e == 0 {
		if m == 0 {
			return num{}
		}
		z := bits.LeadingZeros64(m)
		return num{mant: m << z, exp: int32(63-1074) - int32(z)}
	}
	return num{mant: 1<<63 | m<<11, exp: e - 1023}
}

// over returns a/b rounded to 64 bits, half to even, as a division of long
// doubles is. b must not be 0.
func (a num) over(b num) num {
	if a.mant == 0 {
		return num{}
	}
	hi, lo, e := a.mant>>1, a.mant<<63, a.exp-b.exp
	if a.mant < b.mant {
		hi, lo, e = a.mant, 0, e-1
	}
	q, r := bits.Div64(hi, lo, b.mant)
	// r < b, and 2r may pass 64 bits: compare r with b-r instead.
	if up := b.mant - r; r > up || r == up && q&1 != 0 {
		if q++; q == 0 {
			return num{mant: 1 << 63, exp: e + 1}
		}
	}
	return num{mant: q, exp: e}
}

// float returns the float64 nearest to a.
func (a num) float() float64 {
	return math.Ldexp(float64(a.mant), int(a.exp)-63)
}

// A key is a level fair-share that compares as an integer: the exponent, moved
// up by keyBias, and the 63 bits of the mantissa below its leading 1, packed
// from the top. hi has the exponent and 52 bits, lo the other 11.
type key struct {
	hi uint64
	lo uint16
}

const (
	// keyBias makes every exponent that a quotient of a share and a usage can
	// have positive: shares lie in [2^-64, 1], usages in [2^-1074, 2^1024],
	// and so S/u and S/(u/p) in [2^-1088, 2^2099].
	keyBias = 1200
	keyMax  = 4094
	lowMask = 1<<11 - 1
	infHi   = math.MaxUint64
)

func (a num) key() key {
	if a.mant == 0 {
		return key{}
	}
	e := a.exp + keyBias
	switch {
	case e < 1:
		return key{hi: 1 << 52}
	case e > keyMax:
		return key{hi: keyMax<<52 | 1<<52 - 1, lo: 0}
	}
	return key{hi: uint64(e)<<52 | a.mant<<1>>12, lo: uint16(a.mant & lowMask)}
}

// cmp compares a and b as numbers.
func (a key) cmp(b key) int {
	switch {
	case a == b:
		return 0
	case a.hi > b.hi || a.hi == b.hi && a.lo > b.lo:
		return 1
	}
	return -1
}

// apart returns by how many steps of the last place a and b differ, or a large
// number.
func (a key) apart(b key) uint64 {
	if a.cmp(b) < 0 {
		a, b = b, a
	}
	d := a.hi - b.hi
	if d >= 1<<50 {
		return 1 << 61
	}
	return d<<11 + uint64(a.lo) - uint64(b.lo)
}

// float is the level fair-share as a float64: +Inf for no usage.
func (a key) float() float64 {
	switch a.hi {
	case infHi:
		return math.Inf(1)
	case 0:
		return 0
	}
	m := 1<<63 | a.hi&(1<<52-1)<<11 | uint64(a.lo)
	return num{mant: m, exp: int32(a.hi>>52) - keyBias}.float()
}

// parentUser marks, where a share stands, a user whose share is its parent's.
const parentUser = -1

// levelKey is the level fair-share of an association with normalised share s
// and the given usage below a parent of usage p: S/U with U = usage/p, both
// quotients rounded to 64 bits. Source: spec priority 2.2.
func levelKey(s, usage float64, p num) key {
	switch {
	case s == 0:
		return key{}
	case s < 0 || usage == 0 || p.mant == 0:
		return key{hi: infHi, lo: lowMask}
	}
	return split(s).over(split(usage).over(p)).key()
}

// cleanUsage is u as usage counts: no number and less than nothing are 0.
func cleanUsage(u float64) float64 {
	if !(u > 0) {
		return 0
	}
	return min(u, math.MaxFloat64)
}
