package gres

import "math"

// A Vector holds one amount per kind of a [Schema], in its order and of its
// length. Amounts are in the unit of the kind. All arithmetic saturates at the
// ends of int64 instead of wrapping.
//
// In functions on vectors a slice that is written is named dst. They panic if
// lengths differ, which means that two schemas met.
type Vector []int64

// Unlimited is the amount that is never used up: "no limit". Adding to it or
// taking from it leaves it.
const Unlimited = math.MaxInt64

const badLen = "gres: vectors of different length"

// SatAdd returns a + b, held at the ends of int64; Unlimited if either is.
// It is associative among amounts that are not negative.
func SatAdd(a, b int64) int64 {
	if a == Unlimited || b == Unlimited {
		return Unlimited
	}
	c := a + b
	// The sum of two numbers of one sign has the other sign only on overflow.
	if (a^c)&(b^c) < 0 {
		if a < 0 {
			return math.MinInt64
		}
		return Unlimited
	}
	return c
}

// SatSub returns a − b, held at the ends of int64; Unlimited if a is.
func SatSub(a, b int64) int64 {
	if a == Unlimited {
		return Unlimited
	}
	c := a - b
	if (a^b)&(a^c) < 0 {
		if a < 0 {
			return math.MinInt64
		}
		return Unlimited
	}
	return c
}

// SatMul returns a · b, held at the ends of int64. Zero times Unlimited is 0.
func SatMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	c := a * b
	if c/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64) {
		return c
	}
	if (a < 0) != (b < 0) {
		return math.MinInt64
	}
	return Unlimited
}

// Add stores dst[i] + s[i] in dst[i].
func Add(dst, s Vector) { AddTo(dst, dst, s) }

// AddTo stores s[i] + t[i] in dst[i] and returns dst.
func AddTo(dst, s, t Vector) Vector {
	if len(dst) != len(s) || len(dst) != len(t) {
		panic(badLen)
	}
	for i, v := range s {
		dst[i] = SatAdd(v, t[i])
	}
	return dst
}

// Sub stores dst[i] − s[i] in dst[i].
func Sub(dst, s Vector) { SubTo(dst, dst, s) }

// SubTo stores s[i] − t[i] in dst[i] and returns dst.
func SubTo(dst, s, t Vector) Vector {
	if len(dst) != len(s) || len(dst) != len(t) {
		panic(badLen)
	}
	for i, v := range s {
		dst[i] = SatSub(v, t[i])
	}
	return dst
}

// AddScaled stores dst[i] + α·s[i] in dst[i].
func AddScaled(dst Vector, alpha int64, s Vector) {
	if len(dst) != len(s) {
		panic(badLen)
	}
	for i, v := range s {
		dst[i] = SatAdd(dst[i], SatMul(alpha, v))
	}
}

// MaxTo stores max(s[i], t[i]) in dst[i] and returns dst.
func MaxTo(dst, s, t Vector) Vector {
	if len(dst) != len(s) || len(dst) != len(t) {
		panic(badLen)
	}
	for i, v := range s {
		dst[i] = max(v, t[i])
	}
	return dst
}

// MinTo stores min(s[i], t[i]) in dst[i] and returns dst.
func MinTo(dst, s, t Vector) Vector {
	if len(dst) != len(s) || len(dst) != len(t) {
		panic(badLen)
	}
	for i, v := range s {
		dst[i] = min(v, t[i])
	}
	return dst
}

// Fill stores a in every element of dst.
func Fill(dst Vector, a int64) {
	for i := range dst {
		dst[i] = a
	}
}

// Fits reports whether need[i] ≤ free[i] for every kind.
func Fits(need, free Vector) bool {
	if len(need) != len(free) {
		panic(badLen)
	}
	for i, v := range need {
		if v > free[i] {
			return false
		}
	}
	return true
}

// FirstOver returns the lowest kind with need > limit, the order in which
// Slurm looks for the limit that holds a job back; ok is false if none is.
func FirstOver(need, limit Vector) (_ Kind, ok bool) {
	if len(need) != len(limit) {
		panic(badLen)
	}
	for i, v := range need {
		if v > limit[i] {
			return Kind(i), true
		}
	}
	return 0, false
}

// IsZero reports whether every amount is 0.
func (v Vector) IsZero() bool {
	for _, a := range v {
		if a != 0 {
			return false
		}
	}
	return true
}
