package topology

import (
	"math"
	"math/bits"
)

// A window is a candidate stretch of a ring: size positions from start on.
type window struct {
	ring, start int32
	free        int32 // eligible nodes of the ring
	weight      int64 // the heaviest node in it
}

// fitRing places every part in a window of a ring of its own (spec 2.9).
func (s *Scratch) fitRing() verdict {
	t := s.f.top
	s.restart(s.min)
	for i, x := range t.covered {
		s.cand[i] &= x
	}
	k, size, ok := s.parts()
	if !ok || s.required && !s.needMany() {
		return stop
	}
	s.nparts = k
	if v := s.chooseWindows(k, size); v != fits {
		return v
	}
	for part := range s.windows {
		w := &s.windows[part]
		ids := t.ring.nodes[w.ring]
		for i := range size {
			id := ids[(int(w.start)+i)%len(ids)]
			if s.maxRem <= 0 || !s.take(id) {
				copy(s.hint, s.sel)
				setBit(s.hint, id)
				return s.fail(dropHinted, Refusal{Rule: RuleShort, Unit: UnitID(w.ring), Lack: LackNodes, Need: int64(size), Have: int64(i), Part: int32(part)})
			}
			s.part[id] = int32(part)
		}
	}
	if s.met() {
		return fits
	}
	copy(s.hint, s.sel)
	v := s.short(dropHinted, 0, 0, 0)
	s.why.Unit = UnitID(s.windows[len(s.windows)-1].ring)
	return v
}

// chooseWindows finds the best window of each ring and keeps the k best of them
// in windows.
func (s *Scratch) chooseWindows(k, size int) verdict {
	t := s.f.top
	s.windows = s.windows[:0]
	nearUnit, gpuShort := NoUnit, int64(-1)
	found := 0
	for u := range t.ring.nodes {
		mask := s.ringMask(u)
		if bits.OnesCount16(mask) < size {
			continue
		}
		starts := windowStarts(mask, len(t.ring.nodes[u]), size)
		if starts == 0 {
			continue
		}
		w, ok, gpus := s.bestWindow(u, starts, size, k)
		if !ok {
			if gpus > gpuShort {
				gpuShort, nearUnit = gpus, UnitID(u)
			}
			continue
		}
		w.free = int32(bits.OnesCount16(mask))
		found++
		s.offerWindow(w, k)
	}
	s.res.Steps += int64(t.base) + int64(len(s.cand))
	if len(s.windows) == k {
		return fits
	}
	near := 0
	if found == 0 && gpuShort < 0 {
		near, nearUnit = s.nearestRing(size)
	}
	switch {
	case found > 0: // segments want a ring each
		return s.refuse(Refusal{Rule: RuleSegment, Unit: NoUnit, Lack: LackUnits, Need: int64(k), Have: int64(found), Part: int32(found)})
	case gpuShort >= 0:
		return s.refuse(Refusal{Rule: RuleNoFit, Unit: nearUnit, Lack: LackGPUs, Need: s.gpuRem, Have: gpuShort})
	case k > 1:
		return s.refuse(Refusal{Rule: RuleSegment, Unit: nearUnit, Lack: LackNodes, Need: int64(size), Have: int64(near)})
	}
	return s.refuse(Refusal{Rule: RuleNoFit, Unit: nearUnit, Lack: LackNodes, Need: int64(size), Have: int64(near)})
}

// ringMask returns the candidates of ring u by position.
func (s *Scratch) ringMask(u int) uint16 {
	r := s.f.top.ring
	n := len(r.nodes[u])
	if first := r.straight[u]; first != NoNode {
		w, off := int(first>>6), uint(first)&63
		x := s.cand[w] >> off
		if int(off)+n > 64 {
			x |= s.cand[w+1] << (64 - off)
		}
		return uint16(x & (1<<n - 1))
	}
	m := uint16(0)
	for p, id := range r.nodes[u] {
		m |= uint16(s.cand[id>>6]>>(uint(id)&63)&1) << p
	}
	return m
}

// windowStarts returns the positions of a ring of n from which size positions in
// turn are in mask, wrapping around; of a whole ring only position 0.
func windowStarts(mask uint16, n, size int) uint16 {
	full := uint16(1<<n - 1)
	if size > n {
		return 0
	}
	if size == n {
		if mask == full {
			return 1
		}
		return 0
	}
	// ok holds the starts of windows of length have; join two of them until the
	// length is size.
	ok, have := mask, 1
	for have < size {
		step := min(have, size-have)
		ok &= (ok>>step | ok<<(n-step)) & full
		have += step
	}
	return ok
}

// nearestRing returns the longest stretch of candidates in any ring.
func (s *Scratch) nearestRing(size int) (near int, unit UnitID) {
	unit = NoUnit
	for u, ids := range s.f.top.ring.nodes {
		mask := s.ringMask(u)
		if bits.OnesCount16(mask) <= near {
			continue
		}
		if run := longestRun(mask, len(ids)); run > near {
			near, unit = run, UnitID(u)
		}
		if near >= size-1 {
			break
		}
	}
	return near, unit
}

// longestRun returns the length of the longest stretch of mask in a ring of n.
func longestRun(mask uint16, n int) int {
	run := 0
	for run < n && windowStarts(mask, n, run+1) != 0 {
		run++
	}
	return run
}

// bestWindow returns the lightest of the windows of ring u, the first on ties.
// Only a job in one part looks for the GPUs here; gpus is the most any window
// has.
func (s *Scratch) bestWindow(u int, starts uint16, size, k int) (w window, ok bool, gpus int64) {
	ids := s.f.top.ring.nodes[u]
	w = window{ring: int32(u), weight: math.MaxInt64}
	plain := s.uniform() && (k > 1 || s.gpuRem <= 0)
	for ; starts != 0; starts &= starts - 1 {
		start := bits.TrailingZeros16(starts)
		if plain {
			return window{ring: int32(u), start: int32(start)}, true, 0
		}
		heavy, have := int64(math.MinInt64), int64(0)
		for i := range size {
			id := ids[(start+i)%len(ids)]
			if !s.uniform() {
				heavy = max(heavy, s.req.Weights[id])
			}
			if s.gpus != nil {
				have += int64(s.gpus[id])
			}
		}
		gpus = max(gpus, have)
		if k == 1 && have < s.gpuRem {
			continue
		}
		if !ok || heavy < w.weight {
			w.start, w.weight, ok = int32(start), heavy, true
		}
	}
	s.res.Steps += int64(size)
	return w, ok, gpus
}

// worse reports whether window a is strictly worse than b.
func (a *window) worse(b *window) bool {
	if a.weight != b.weight {
		return a.weight > b.weight
	}
	return a.free > b.free
}

// offerWindow puts w into windows, a heap of the k best with the worst at its
// root. When it is full a strictly better one replaces the root, so that of
// equally bad ones the root goes, which need not be the last.
func (s *Scratch) offerWindow(w window, k int) {
	h := s.windows
	if len(h) < k {
		h = append(h, w)
		for i := len(h) - 1; i > 0; {
			p := (i - 1) / 2
			if !h[i].worse(&h[p]) {
				break
			}
			h[i], h[p] = h[p], h[i]
			i = p
		}
		s.windows = h
		return
	}
	if !h[0].worse(&w) {
		return
	}
	h[0] = w
	for i := 0; ; {
		c := 2*i + 1
		if c >= k {
			return
		}
		if c+1 < k && h[c+1].worse(&h[c]) {
			c++
		}
		if !h[c].worse(&h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
