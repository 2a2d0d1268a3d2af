package topology

import (
	"math"
	"math/bits"
)

// weighted runs the variants of flat that go weight class by weight class:
// spread, busy-first, least-loaded and serial-at-end (spec 2.5).
func (s *Scratch) weighted(w way) verdict {
	s.restart(s.want)
	if w == waySpread && s.req.GPUs <= 0 && s.max < s.n {
		s.rem = s.max
	}
	if w != waySpread && s.req.Tasks > 0 {
		s.maxRem = min(s.maxRem, max(int(s.req.Tasks), s.min))
	}
	if !s.takeNeed() {
		return stop
	}
	if w == waySpread {
		return s.spread()
	}
	for class, ok := s.nextClass(math.MinInt64, true); ok && s.maxRem > 0 && !s.done(); class, ok = s.nextClass(class, false) {
		switch w {
		case wayLLN:
			s.leastLoaded(class)
		case wayBusy:
			s.upward(class, s.req.Busy, true)
			s.upward(class, s.req.Busy, false)
		default:
			s.downward(class)
		}
	}
	if s.met() {
		return fits
	}
	return s.short(dropWeakest, 0, 0, 0)
}

// nextClass returns the lightest weight of a candidate above class, or of all
// candidates.
func (s *Scratch) nextClass(class int64, first bool) (int64, bool) {
	if s.uniform() {
		return 0, first && anyBit(s.cand)
	}
	next, found := int64(math.MaxInt64), false
	for i, x := range s.cand {
		for ; x != 0; x &= x - 1 {
			if w := s.req.Weights[i<<6+bits.TrailingZeros64(x)]; (first || w > class) && w <= next {
				next, found = w, true
			}
		}
	}
	s.res.Steps += int64(s.n)
	return next, found
}

func (s *Scratch) weight(id NodeID) int64 {
	if s.req.Weights == nil {
		return 0
	}
	return s.req.Weights[id]
}

// upward takes candidates of a class ascending, those in busy or those outside.
func (s *Scratch) upward(class int64, busy *NodeSet, in bool) {
	for id := nextBit(s.cand, 0); id != NoNode && s.maxRem > 0 && !s.done(); id = nextBit(s.cand, id+1) {
		if s.weight(id) == class && (busy != nil && busy.Has(id)) == in {
			s.take(id)
		}
	}
}

// downward takes candidates of a class descending.
func (s *Scratch) downward(class int64) {
	for id := prevBit(s.cand, NodeID(s.n-1)); id != NoNode && s.maxRem > 0 && !s.done(); id = prevBit(s.cand, id-1) {
		if s.weight(id) == class {
			s.take(id)
		}
	}
}

// leastLoaded takes the candidates of a class by the share of their CPUs
// that is free, the greatest first, the lowest node on ties.
func (s *Scratch) leastLoaded(class int64) {
	total, free := s.req.TotalCPUs, s.req.FreeCPUs
	s.heap = s.heap[:0]
	for i, x := range s.cand {
		for ; x != 0; x &= x - 1 {
			if id := NodeID(i<<6 + bits.TrailingZeros64(x)); s.weight(id) == class {
				s.heap = append(s.heap, int32(id))
			}
		}
	}
	before := func(a, b int32) bool {
		x, y := int64(free[a])*int64(max(total[b], 1)), int64(free[b])*int64(max(total[a], 1))
		return x > y || x == y && a < b
	}
	sink := func(i int) {
		h := s.heap
		for {
			c := 2*i + 1
			if c >= len(h) {
				return
			}
			if c+1 < len(h) && before(h[c+1], h[c]) {
				c++
			}
			if !before(h[c], h[i]) {
				return
			}
			h[i], h[c] = h[c], h[i]
			i = c
		}
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		sink(i)
	}
	s.res.Steps += int64(s.n)
	for len(s.heap) > 0 && s.maxRem > 0 && !s.done() {
		s.take(NodeID(s.heap[0]))
		last := len(s.heap) - 1
		s.heap[0] = s.heap[last]
		s.heap = s.heap[:last]
		sink(0)
		s.res.Steps++
	}
}

// spread takes one task's CPUs on as many nodes as wanted, lightest first, then
// adds CPUs in turn until there are enough.
func (s *Scratch) spread() verdict {
	per := int64(max(s.req.TaskCPUs, 1))
	for class, ok := s.nextClass(math.MinInt64, true); ok && s.maxRem > 0 && s.rem > 0; class, ok = s.nextClass(class, false) {
		for id := nextBit(s.cand, 0); id != NoNode && s.maxRem > 0 && s.rem > 0; id = nextBit(s.cand, id+1) {
			if s.weight(id) == class {
				s.takeSome(id, per)
			}
		}
	}
	for more := true; more && s.cpuRem > 0; {
		more = false
		for _, id := range s.order {
			room := min(int64(s.cpus[id])-int64(s.grant[id]), per, s.cpuRem)
			if s.cpuRem <= 0 {
				break
			}
			if room > 0 {
				s.grant[id] += int32(room)
				s.cpuRem -= room
				more = true
			}
		}
		s.res.Steps += int64(len(s.order))
	}
	if s.met() {
		return fits
	}
	return s.short(dropWeakest, 0, 0, 0)
}

// takeSome takes a node with at most room CPUs of it.
func (s *Scratch) takeSome(id NodeID, room int64) bool {
	if s.req.WholeNode {
		return s.take(id)
	}
	keep := s.budget
	reserve := int64(max(s.req.ReserveCPUs, 1)) * int64(max(s.minRem-1, 0))
	s.budget = min(s.budget, room+reserve)
	ok := s.take(id)
	s.budget = keep
	if ok {
		s.budget -= int64(s.grant[id])
	}
	return ok
}
