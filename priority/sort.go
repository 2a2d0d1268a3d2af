package priority

import (
	"cmp"
	"math"
	"math/bits"
)

// insertionMax is the longest run that is sorted by insertion; it was measured
// to be where buckets start to win.
const insertionMax = 32

// bucketBits bounds the buckets of one pass, so that their ends stay in the
// first cache.
const bucketBits = 11

// sortPlaced sorts from, which must come in ascending order of entries, by hi,
// then lo, then entry, into s, which is as long. It is a radix sort from the top
// that looks at the digits in which the keys differ: one pass puts them into
// about as many buckets as there are keys, and each bucket is sorted alike. It
// takes O(n) steps for n keys, a pass for every bucketBits bits at worst, and
// allocates nothing.
func sortPlaced(s, from []placed) {
	if len(s) <= insertionMax {
		copy(s, from)
		insertionSort(s)
		return
	}
	d := digitOf(from)
	var ends [1<<bucketBits + 2]int32
	for i := range from {
		ends[d.of(&from[i])]++
	}
	at := int32(0)
	for i, n := range ends[:d.last+1] {
		ends[i] = at
		at += n
	}
	for i := range from {
		b := d.of(&from[i])
		s[ends[b]] = from[i]
		ends[b]++
	}
	at = 0
	for _, end := range ends[:d.last+1] {
		if run := s[at:end]; len(run) > 1 && !allTie(run) {
			copy(from[at:end], run)
			sortPlaced(run, from[at:end])
		}
		at = end
	}
}

// digit is the part of a key that one pass looks at. Entries without usage come
// into the first bucket and those without a share into the last: they are far
// from all others and would spoil the range.
type digit struct {
	lo    uint64 // least hi
	shift uint8
	byLo  bool // all have one hi: look at lo
	last  uint64
}

const (
	placedInf  = 0 // hi of an entry without usage
	placedZero = math.MaxUint64
)

func digitOf(s []placed) digit {
	lo, hi := uint64(math.MaxUint64), uint64(0)
	for i := range s {
		if h := s[i].hi; h != placedInf && h != placedZero {
			lo, hi = min(lo, h), max(hi, h)
		}
	}
	if lo >= hi {
		return digit{byLo: true, last: 1<<bucketBits + 1}
	}
	n := bits.Len(uint(min(len(s), 1<<bucketBits-1)))
	return digit{lo: lo, shift: uint8(max(bits.Len64(hi-lo)-n, 0)), last: 1<<n + 1}
}

// of is the bucket of p.
func (d *digit) of(p *placed) uint64 {
	switch {
	case p.hi == placedInf:
		return 0
	case p.hi == placedZero:
		return d.last
	case d.byLo:
		return uint64(p.lo) + 1
	}
	return (p.hi-d.lo)>>d.shift + 1
}

// allTie reports whether all keys of s are the same.
func allTie(s []placed) bool {
	for _, p := range s[1:] {
		if !p.tiesWith(s[0]) {
			return false
		}
	}
	return true
}

func insertionSort(s []placed) {
	for i := 1; i < len(s); i++ {
		p := s[i]
		j := i
		for ; j > 0 && comparePlaced(s[j-1], p) > 0; j-- {
			s[j] = s[j-1]
		}
		s[j] = p
	}
}

func comparePlaced(p, q placed) int {
	if p.hi != q.hi {
		return cmp.Compare(p.hi, q.hi)
	}
	return cmp.Or(cmp.Compare(p.lo, q.lo), cmp.Compare(p.ent, q.ent))
}
