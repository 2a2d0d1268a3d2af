package topology

import (
	"math/bits"
	"slices"
)

// hopeless reports whether the counts prove that no subset of the nodes left can
// serve the request, so that the retry loop need not try. It looks at what holds
// for every subset: at most max nodes give at most the CPUs and GPUs of the max
// largest ones.
func (s *Scratch) hopeless(w way) bool {
	cpus, gpus := s.most(s.elig)
	why := Refusal{Rule: s.why.Rule, Unit: s.why.Unit, Part: s.why.Part}
	switch {
	case cpus < s.minCPUs:
		why.Lack, why.Need, why.Have = LackCPUs, s.minCPUs, cpus
	case gpus < s.req.GPUs:
		why.Lack, why.Need, why.Have = LackGPUs, s.req.GPUs, gpus
	default:
		return false
	}
	s.why = why
	return true
}

// most returns the largest sums of CPUs and of GPUs that s.max nodes of set have.
func (s *Scratch) most(set []uint64) (cpus, gpus int64) {
	cpus = s.mostOf(set, s.cpus)
	if s.req.GPUs > 0 && s.gpus != nil {
		gpus = s.mostOf(set, s.gpus)
	}
	s.res.Steps += int64(s.n)
	return cpus, gpus
}

// histSize is the largest value plus one that mostOf counts; nodes with more
// CPUs or GPUs are sorted instead.
const histSize = 4096

// mostOf returns the sum of the s.max largest values of col over set.
func (s *Scratch) mostOf(set []uint64, col []int32) int64 {
	sum, count, least, most := int64(0), 0, int32(1<<31-1), int32(0)
	for i, x := range set {
		for ; x != 0; x &= x - 1 {
			v := col[i<<6+bits.TrailingZeros64(x)]
			sum += int64(v)
			count++
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case count <= s.max:
		return sum
	case least == most:
		return int64(s.max) * int64(most)
	}
	if s.hist == nil {
		s.hist = make([]int32, histSize)
	}
	clear(s.hist)
	for i, x := range set {
		for ; x != 0; x &= x - 1 {
			if v := col[i<<6+bits.TrailingZeros64(x)]; v > 0 && v < histSize {
				s.hist[v]++
			}
		}
	}
	left := int64(s.max)
	sum = 0
	if most >= histSize {
		s.weak = s.weak[:0]
		for i, x := range set {
			for ; x != 0; x &= x - 1 {
				if v := col[i<<6+bits.TrailingZeros64(x)]; v >= histSize {
					s.weak = append(s.weak, uint64(v))
				}
			}
		}
		slices.Sort(s.weak)
		for i := len(s.weak) - 1; i >= 0 && left > 0; i-- {
			sum += int64(s.weak[i])
			left--
		}
	}
	for v := histSize - 1; v > 0 && left > 0; v-- {
		n := min(left, int64(s.hist[v]))
		sum += n * int64(v)
		left -= n
	}
	return sum
}
