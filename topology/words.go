package topology

import "math/bits"

// The loops below work on bare words, as the fitters' scratch holds them.

func hasBit(w []uint64, id NodeID) bool { return w[id>>6]>>(uint(id)&63)&1 != 0 }

func setBit(w []uint64, id NodeID) { w[id>>6] |= 1 << (uint(id) & 63) }

func clearBit(w []uint64, id NodeID) { w[id>>6] &^= 1 << (uint(id) & 63) }

// nextBit returns the lowest set bit that is at least id, or NoNode.
func nextBit(w []uint64, id NodeID) NodeID {
	i := int(id >> 6)
	if i >= len(w) {
		return NoNode
	}
	if x := w[i] >> (uint(id) & 63); x != 0 {
		return id + NodeID(bits.TrailingZeros64(x))
	}
	for i++; i < len(w); i++ {
		if w[i] != 0 {
			return NodeID(i<<6 + bits.TrailingZeros64(w[i]))
		}
	}
	return NoNode
}

// prevBit returns the highest set bit that is at most id, or NoNode.
func prevBit(w []uint64, id NodeID) NodeID {
	if id < 0 {
		return NoNode
	}
	i := int(id >> 6)
	if i >= len(w) {
		i = len(w) - 1
		id = NodeID(i<<6 + 63)
	}
	if i < 0 {
		return NoNode
	}
	if x := w[i] << (63 - uint(id)&63); x != 0 {
		return id - NodeID(bits.LeadingZeros64(x))
	}
	for i--; i >= 0; i-- {
		if w[i] != 0 {
			return NodeID(i<<6 + 63 - bits.LeadingZeros64(w[i]))
		}
	}
	return NoNode
}

// rangeMasks returns the words first and last that lo to hi-1 touch and the
// masks of their bits; lo < hi.
func rangeMasks(lo, hi NodeID) (first, last int, head, tail uint64) {
	last = int(hi-1) >> 6
	return int(lo) >> 6, last, ^uint64(0) << (uint(lo) & 63), ^uint64(0) >> (63 - uint(hi-1)&63)
}

// setRange sets the bits lo to hi-1.
func setRange(w []uint64, lo, hi NodeID) {
	if lo >= hi {
		return
	}
	a, b, head, tail := rangeMasks(lo, hi)
	if a == b {
		w[a] |= head & tail
		return
	}
	w[a] |= head
	for i := a + 1; i < b; i++ {
		w[i] = ^uint64(0)
	}
	w[b] |= tail
}

// clearRange clears the bits lo to hi-1.
func clearRange(w []uint64, lo, hi NodeID) {
	if lo >= hi {
		return
	}
	a, b, head, tail := rangeMasks(lo, hi)
	if a == b {
		w[a] &^= head & tail
		return
	}
	w[a] &^= head
	clear(w[a+1 : b])
	w[b] &^= tail
}

// countRange counts the set bits among lo to hi-1.
func countRange(w []uint64, lo, hi NodeID) int {
	if lo >= hi {
		return 0
	}
	a, b, head, tail := rangeMasks(lo, hi)
	if a == b {
		return bits.OnesCount64(w[a] & head & tail)
	}
	if head&tail == ^uint64(0) {
		return countBits(w[a : b+1])
	}
	return bits.OnesCount64(w[a]&head) + bits.OnesCount64(w[b]&tail) + countBits(w[a+1:b])
}

// countBits counts the set bits.
func countBits(w []uint64) int {
	n := 0
	for ; len(w) >= 8; w = w[8:] {
		x := (*[8]uint64)(w)
		n += bits.OnesCount64(x[0]) + bits.OnesCount64(x[1]) + bits.OnesCount64(x[2]) + bits.OnesCount64(x[3]) +
			bits.OnesCount64(x[4]) + bits.OnesCount64(x[5]) + bits.OnesCount64(x[6]) + bits.OnesCount64(x[7])
	}
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return n
}

// countUpTo counts the set bits, but may stop as soon as there are most.
func countUpTo(w []uint64, most int) int {
	n := 0
	for _, x := range w {
		if n >= most {
			break
		}
		n += bits.OnesCount64(x)
	}
	return n
}

// within reports whether every bit of a is in w.
func within(w, a []uint64) bool {
	for i, x := range a {
		if x&^w[i] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether a and b have a bit in common.
func meets(a, b []uint64) bool {
	for i, x := range a {
		if x&b[i] != 0 {
			return true
		}
	}
	return false
}

func anyBit(w []uint64) bool {
	for _, x := range w {
		if x != 0 {
			return true
		}
	}
	return false
}

func appendBits(dst []NodeID, w []uint64) []NodeID {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			dst = append(dst, NodeID(i<<6+bits.TrailingZeros64(x)))
		}
	}
	return dst
}
