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
		return (w == wayUnits || w == wayTree) && s.hopelessUnits()
	}
	s.why = why
	return true
}

// most returns the largest sums of CPUs and of GPUs that s.max nodes of set have.
func (s *Scratch) most(set []uint64) (cpus, gpus int64) {
	if s.max == 1 && s.mostCPUs > 0 && (s.req.GPUs <= 0 || s.gpus == nil || s.mostGPUs > 0) {
		return int64(s.mostCPUs), int64(s.mostGPUs) // set is all that was eligible
	}
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

// hopelessUnits reports whether no single unit that the job must lie in has the
// CPUs or GPUs of one part: candidate blocks, rings, toruses, trees.
func (s *Scratch) hopelessUnits() bool {
	t := s.f.top
	if t.kind == KindTree {
		return s.hopelessIn(len(t.units), 1, 0, func(u int) bool { return t.units[u].parent == NoUnit })
	}
	k, size := 1, s.min
	if seg := int(s.req.Segment); seg > 0 && seg <= s.min {
		k, size = s.min/seg, seg
	}
	if t.kind != KindBlock {
		s.short1(k)
		return s.hopelessIn(t.base, 1, size, nil)
	}
	if s.req.SoftUnits > 0 {
		return false
	}
	s.short1(k)
	p := t.block.level(size, t.base)
	return s.hopelessIn((t.base+p.width-1)/p.width, p.width, s.max/k, nil)
}

// short1 sets what one of k parts wants at least.
func (s *Scratch) short1(k int) {
	s.tally.cpuRem, s.tally.gpuRem = s.minCPUs/int64(k), s.req.GPUs/int64(k)
}

// hopelessIn looks at n groups of width base units each, of which nodes give what
// they have; 0 nodes are the job's maximum.
func (s *Scratch) hopelessIn(n, width, nodes int, want func(int) bool) bool {
	t := s.f.top
	cpus, gpus := s.cpuRem, s.gpuRem
	if t.kind == KindTree {
		cpus, gpus = s.minCPUs, s.req.GPUs
	}
	if nodes == 0 {
		nodes = s.max
	}
	best := Refusal{Rule: s.why.Rule, Unit: NoUnit, Part: s.why.Part, Have: -1}
	for g := range n {
		if want != nil && !want(g) {
			continue
		}
		c, h := s.mostIn(g, width, nodes, s.cpus), int64(0)
		if gpus > 0 && s.gpus != nil {
			h = s.mostIn(g, width, nodes, s.gpus)
		}
		switch {
		case c >= cpus && h >= gpus:
			return false
		case c < cpus && best.Lack != LackGPUs && c >= best.Have:
			best.Lack, best.Need, best.Have, best.Unit = LackCPUs, cpus, c, s.groupUnit(g, width)
		case c >= cpus && (best.Lack != LackGPUs || h >= best.Have):
			best.Lack, best.Need, best.Have, best.Unit = LackGPUs, gpus, h, s.groupUnit(g, width)
		}
	}
	if best.Have >= 0 {
		s.why = best
	}
	return true
}

func (s *Scratch) groupUnit(g, width int) UnitID {
	if s.f.top.kind == KindBlock {
		return s.f.top.blockUnit(g*width, min((g+1)*width, s.f.top.base))
	}
	return UnitID(g)
}

// mostIn returns the sum of the n largest values of col over the eligible nodes of
// a group of width base units, or below a switch.
func (s *Scratch) mostIn(g, width, n int, col []int32) int64 {
	t := s.f.top
	s.heap = s.heap[:0]
	if t.kind == KindTree {
		for _, l := range t.tree.leavesOf(UnitID(g)) {
			s.gather(&t.spans[l], col)
		}
	} else {
		for b := g * width; b < min((g+1)*width, t.base); b++ {
			s.gather(&t.spans[b], col)
		}
	}
	s.res.Steps += int64(len(s.heap))
	return int64(topSum(s.heap, n))
}

// gather appends col of the eligible nodes of a span to heap.
func (s *Scratch) gather(sp *span, col []int32) {
	for id := sp.next(s.elig, 0); id != NoNode; id = sp.next(s.elig, id+1) {
		s.heap = append(s.heap, col[id])
	}
}
