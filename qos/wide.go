package qos

import (
	"math"
	"math/bits"
)

// A wide is a signed integer of 128 bits. Sums of amount × seconds over a
// cluster and a year do not fit in 64 bits, and floats would not give back on
// subtraction what was added.
type wide struct {
	hi int64
	lo uint64
}

// fracBits is the number of binary places behind the point of history, where a
// wide counts units of 2^-20 second.
const fracBits = 20

func wideOf(n int64) wide { return wide{n >> 63, uint64(n)} }

func (a wide) add(b wide) wide {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	return wide{a.hi + b.hi + int64(c), lo}
}

func (a wide) sub(b wide) wide {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	return wide{a.hi - b.hi - int64(c), lo}
}

// less reports a < b.
func (a wide) less(b wide) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

func (a wide) isZero() bool { return a.hi == 0 && a.lo == 0 }

// mul returns the product of two amounts that are not negative.
func mulWide(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return wide{int64(hi), lo}
}

// clamp returns a as int64, held at its ends.
func (a wide) clamp() int64 {
	if a.hi == int64(a.lo)>>63 {
		return int64(a.lo)
	}
	if a.hi < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// fixed returns x·2^20 rounded to the nearest unit, ties to even. x is finite
// and below 2^100.
func fixed(x float64) wide {
	neg := x < 0
	x = math.RoundToEven(math.Ldexp(math.Abs(x), fracBits))
	frac, exp := math.Frexp(x)
	if frac == 0 {
		return wide{}
	}
	m := uint64(math.Ldexp(frac, 53)) // x = m · 2^(exp−53), exact
	var w wide
	switch s := exp - 53; {
	case s <= 0:
		w = wide{0, m >> -s}
	case s < 64:
		w = wide{int64(m >> (64 - s)), m << s}
	default:
		w = wide{int64(m << (s - 64)), 0}
	}
	if neg {
		return wide{}.sub(w)
	}
	return w
}

// unfixed returns a·2^-20 as the nearest float64.
func (a wide) unfixed() float64 {
	neg := a.hi < 0
	if neg {
		a = wide{}.sub(a)
	}
	x := a.mag()
	if neg {
		return -x
	}
	return x
}

// mag is unfixed for a ≥ 0. Of a number above 64 bits the low bits are folded
// into one sticky bit, so that the only rounding is the last one.
func (a wide) mag() float64 {
	if a.hi == 0 {
		return math.Ldexp(float64(a.lo), -fracBits)
	}
	n := bits.LeadingZeros64(uint64(a.hi))
	top := uint64(a.hi)<<n | a.lo>>(64-n)
	if a.lo<<n != 0 {
		top |= 1
	}
	return math.Ldexp(float64(top), 64-n-fracBits)
}
