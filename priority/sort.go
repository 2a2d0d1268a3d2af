package priority

import "cmp"

// insertionMax is the longest run that is sorted by insertion; it was measured
// to be where a radix sort with its counters starts to win.
const insertionMax = 48

// sortPlaced sorts s by hi, then lo, then entry. It must come in ascending
// order of entries, and spare must be as long. It allocates nothing.
func sortPlaced(s, spare []placed) {
	if len(s) <= insertionMax {
		insertionSort(s)
		return
	}
	radixSort(s, spare, func(p placed) uint64 { return p.hi })
	// Runs of equal hi are sorted by lo; they are in order of entries.
	for i := 0; i < len(s); {
		j, same := i+1, true
		for ; j < len(s) && s[j].hi == s[i].hi; j++ {
			same = same && s[j].lo == s[i].lo
		}
		switch run := s[i:j]; {
		case same:
		case len(run) <= insertionMax:
			insertionSort(run)
		default:
			radixSort(run, spare, func(p placed) uint64 { return uint64(p.lo) })
		}
		i = j
	}
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

// radixSort sorts s by digit of key, stably: bytes from the lowest, those in
// which no two differ left out.
func radixSort(s, spare []placed, key func(placed) uint64) {
	var counts [8][256]int32
	for _, p := range s {
		k := key(p)
		for d := range counts {
			counts[d][byte(k>>(8*d))]++
		}
	}
	a, b := s, spare[:len(s)]
	first := key(s[0])
	for d := range counts {
		c := &counts[d]
		if int(c[byte(first>>(8*d))]) == len(s) {
			continue
		}
		at := int32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for _, p := range a {
			i := byte(key(p) >> (8 * d))
			b[c[i]] = p
			c[i]++
		}
		a, b = b, a
	}
	if &a[0] != &s[0] {
		copy(s, a)
	}
}
