package outcome

import "math/bits"

// An amount is a sum of products of quantity and time: thousandths of a device
// times microseconds leave int64 in a large cluster within days.
type amount struct{ hi, lo uint64 }

// add adds n·t; neither may be negative.
func (a *amount) add(n, t int64) {
	hi, lo := bits.Mul64(uint64(n), uint64(t))
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, lo, 0)
	a.hi, _ = bits.Add64(a.hi, hi, carry)
}

// less reports whether a < b.
func (a amount) less(b amount) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// units returns a in whole units times seconds.
func (a amount) units() float64 {
	const scale = 1000 * Second
	q, r := bits.Div64(a.hi%scale, a.lo, scale)
	return float64(a.hi/scale)*0x1p64 + float64(q) + float64(r)/scale
}
