package gres

import "math/bits"

// A nodeBits is a set of nodes as words with two summary levels: a bit of s1
// says that a word of w is not zero, a bit of s2 the same of s1. The lowest
// member of a set of 262,144 nodes is found in three steps.
type nodeBits struct {
	w, s1, s2 []uint64
}

// nodeBitsWords returns the words that a set of n nodes takes.
func nodeBitsWords(n int) int {
	w := (n + 63) / 64
	s1 := (w + 63) / 64
	return w + s1 + (s1+63)/64
}

// nodeBitsOf lays an empty set of n nodes into arena, which is
// nodeBitsWords(n) zero words long.
func nodeBitsOf(n int, arena []uint64) nodeBits {
	w := (n + 63) / 64
	s1 := (w + 63) / 64
	return nodeBits{arena[:w:w], arena[w : w+s1 : w+s1], arena[w+s1:]}
}

func (b *nodeBits) has(i int32) bool { return b.w[i>>6]>>(i&63)&1 != 0 }

func (b *nodeBits) set(i int32) {
	b.w[i>>6] |= 1 << (i & 63)
	b.s1[i>>12] |= 1 << (i >> 6 & 63)
	b.s2[i>>18] |= 1 << (i >> 12 & 63)
}

func (b *nodeBits) clear(i int32) {
	w := &b.w[i>>6]
	if *w &^= 1 << (i & 63); *w != 0 {
		return
	}
	s := &b.s1[i>>12]
	if *s &^= 1 << (i >> 6 & 63); *s != 0 {
		return
	}
	b.s2[i>>18] &^= 1 << (i >> 12 & 63)
}

func (b *nodeBits) put(i int32, on bool) {
	if on {
		b.set(i)
	} else {
		b.clear(i)
	}
}

// first returns the lowest member, −1 if the set is empty.
func (b *nodeBits) first() int32 {
	for k, x := range b.s2 {
		if x != 0 {
			i := k<<6 | bits.TrailingZeros64(x)
			i = i<<6 | bits.TrailingZeros64(b.s1[i])
			return int32(i<<6 | bits.TrailingZeros64(b.w[i]))
		}
	}
	return -1
}

// nextIn returns the lowest member that is at least from and in within, −1 if
// there is none. A nil within holds every node.
func (b *nodeBits) nextIn(from int32, within []uint64) int32 {
	if from >= int32(len(b.w))<<6 {
		return -1
	}
	w := int(from >> 6)
	x := b.w[w] &^ (1<<(from&63) - 1)
	for {
		if within != nil {
			x &= within[w]
		}
		if x != 0 {
			return int32(w<<6 | bits.TrailingZeros64(x))
		}
		if w = b.nextWord(w + 1); w < 0 {
			return -1
		}
		x = b.w[w]
	}
}

// nextWord returns the index of the first word of w from i on that is not
// zero, −1 if there is none.
func (b *nodeBits) nextWord(i int) int {
	if i >= len(b.w) {
		return -1
	}
	s := i >> 6
	x := b.s1[s] &^ (1<<(i&63) - 1)
	if x == 0 {
		if s++; s >= len(b.s1) {
			return -1
		}
		t := s >> 6
		y := b.s2[t] &^ (1<<(s&63) - 1)
		for y == 0 {
			if t++; t >= len(b.s2) {
				return -1
			}
			y = b.s2[t]
		}
		s = t<<6 | bits.TrailingZeros64(y)
		x = b.s1[s]
	}
	return s<<6 | bits.TrailingZeros64(x)
}

// summarise computes the summaries from w.
func (b *nodeBits) summarise() {
	summariseInto(b.s1, b.w)
	summariseInto(b.s2, b.s1)
}

func summariseInto(dst, src []uint64) {
	clear(dst)
	for i, x := range src {
		if x != 0 {
			dst[i>>6] |= 1 << (i & 63)
		}
	}
}
