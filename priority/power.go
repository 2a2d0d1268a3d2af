package priority

import "math"

// Powers and logarithms whose bits do not depend on the machine: plain
// additions, multiplications and divisions, no product fused into a sum but
// where math.FMA says so.

// double is a number as the sum of two float64, the second less than half a
// last place of the first: some 106 bits.
type double struct{ hi, lo float64 }

// times returns a·b to about 100 bits.
func (a double) times(b double) double {
	p := float64(a.hi * b.hi)
	e := math.FMA(a.hi, b.hi, -p)
	e += float64(a.hi*b.lo) + float64(a.lo*b.hi)
	s := p + e
	return double{s, e - (s - p)}
}

// powInt returns x to the n for 0 <= x <= 1 by repeated squaring, right to the
// last place or next to it.
func powInt(x float64, n int64) float64 {
	r, sq := double{hi: 1}, double{hi: x}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r = r.times(sq)
		}
		sq = sq.times(sq)
	}
	return r.hi
}

// exp2 returns 2 to the x, to a few last places.
func exp2(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 1100:
		return math.Inf(1)
	case x < -1100:
		return 0
	}
	k := math.Floor(x + .5)
	y := float64((x - k) * math.Ln2) // within ln(2)/2 of 0
	sum := 1.0
	for i := 18; i > 0; i-- {
		sum = 1 + float64(sum*y)/float64(i)
	}
	return math.Ldexp(sum, int(k))
}

// log returns the natural logarithm of a positive finite x, to a few last
// places.
func log(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = f*2, e-1
	}
	// ln f = 2 artanh s, |s| < 0.172.
	s := (f - 1) / (f + 1)
	q := float64(s * s)
	sum := 0.0
	for i := 25; i > 0; i -= 2 {
		sum = 1/float64(i) + float64(sum*q)
	}
	return float64(float64(e)*math.Ln2) + float64(2*float64(s*sum))
}
