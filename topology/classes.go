package topology

import (
	"math"
	"math/bits"
)

// classify adds weight classes of the nodes of pool in ascending order until
// what is still wanted is covered, removes the heavier nodes from pool, and
// returns the weight of the last class added. Nodes lighter than that are
// forced. ok is false if all nodes of pool do not make the minimum. With
// untilMin the minimum of nodes is enough to stop (Dragonfly).
func (s *Scratch) classify(pool []uint64, untilMin bool) (limit int64, ok bool) {
	w := s.req.Weights
	want := s.rem
	if untilMin {
		want = s.needed()
	}
	count, cpus, gpus := 0, int64(0), int64(0)
	limit = math.MinInt64
	for first := true; ; first = false {
		next, more := int64(math.MaxInt64), false
		for i, x := range pool {
			for ; x != 0; x &= x - 1 {
				if v := w[i<<6+bits.TrailingZeros64(x)]; v <= next && (first || v > limit) {
					next, more = v, true
				}
			}
		}
		s.res.Steps += int64(s.n)
		if !more {
			return limit, count >= s.minRem
		}
		limit = next
		n := 0
		for i, x := range pool {
			for ; x != 0; x &= x - 1 {
				id := i<<6 + bits.TrailingZeros64(x)
				if w[id] != limit {
					continue
				}
				n++
				cpus += int64(s.cpus[id])
				if s.gpus != nil {
					gpus += int64(s.gpus[id])
				}
			}
		}
		count += n
		if count >= want && cpus >= s.cpuRem && gpus >= s.gpuRem {
			s.lighten(pool, limit)
			return limit, true
		}
	}
}

// lighten removes the nodes heavier than limit from pool.
func (s *Scratch) lighten(pool []uint64, limit int64) {
	for i, x := range pool {
		for y := x; y != 0; y &= y - 1 {
			if s.req.Weights[i<<6+bits.TrailingZeros64(y)] > limit {
				x &^= y & -y
			}
		}
		pool[i] = x
	}
}

// uniform reports whether weights do not order the nodes at all.
func (s *Scratch) uniform() bool { return s.req.Weights == nil }

// cpuSum returns the CPUs of the nodes of w in the span.
func (s *Scratch) cpuSum(sp *span, w []uint64) int64 {
	sum := int64(0)
	for id := sp.next(w, 0); id != NoNode; id = sp.next(w, id+1) {
		sum += int64(s.cpus[id])
	}
	s.res.Steps += int64(sp.size)
	return sum
}
