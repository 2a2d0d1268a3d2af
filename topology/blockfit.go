package topology

import (
	"math"
	"math/bits"
)

// A blockPart is what the block fitter knows about the part (the job or one of
// its segments) that it is placing.
type blockPart struct {
	size   int // nodes of the part
	width  int // base blocks of a candidate block; all of them if no level is high enough
	group  int // log2 of the base blocks of a low group
	limit  int // low groups that the part may touch
	active bool
	whole  bool // no enforced level is high enough
	lo, hi int  // the block chosen: base blocks lo to hi-1
}

// level works out the levels of a part of size nodes (spec 2.8).
func (bl *block) level(size, blocks int) blockPart {
	p := blockPart{size: size}
	b := (int64(size) + bl.baseSize - 1) / bl.baseSize
	k := bits.Len64(uint64(b) - 1) // ceil(log2 b)
	if k > 0 {
		if low := bl.levels & (1<<k - 1); low != 0 {
			p.group = bits.Len32(low) - 1
		}
	}
	per := bl.baseSize << p.group
	p.limit = int((int64(size) + per - 1) / per)
	if high := bl.levels >> k; k <= maxLevel && high != 0 {
		up := k + bits.TrailingZeros32(high)
		p.width = 1 << up
		p.active = p.width != p.limit<<p.group
	} else {
		p.width, p.active, p.whole = max(blocks, 1), blocks != p.limit<<p.group, true
	}
	return p
}

// soften lets a part of size nodes touch more base blocks than it must, within
// the smallest enforced aggregate that has as many.
func (bl *block) soften(size, more, blocks int) blockPart {
	n := int((int64(size)+bl.baseSize-1)/bl.baseSize) + more
	p := blockPart{size: size, limit: n, active: true, width: max(blocks, 1), whole: true}
	k := bits.Len64(uint64(n) - 1)
	if high := bl.levels >> k; k <= maxLevel && high != 0 {
		p.width, p.whole = 1<<(k+bits.TrailingZeros32(high)), false
	}
	return p
}

// parts splits the request into segments: k parts of size nodes.
func (s *Scratch) parts() (k, size int, ok bool) {
	seg := int(s.req.Segment)
	if seg <= 0 || seg > s.min {
		return 1, s.min, true
	}
	if s.min%seg != 0 {
		s.refuse(Refusal{Rule: RuleConfig, Unit: NoUnit, Lack: LackUnits, Need: int64(seg), Have: int64(s.min % seg)})
		return 0, 0, false
	}
	return s.min / seg, seg, true
}

// partTally sets the tally for one of k parts of size nodes; what does not divide
// goes to the first parts.
func (s *Scratch) partTally(all tally, part, k, size int) {
	s.tally = all
	if k > 1 {
		s.rem, s.minRem, s.maxRem = size, size, all.maxRem/k
		s.cpuRem, s.budget, s.gpuRem = share(all.cpuRem, part, k), share(all.budget, part, k), share(all.gpuRem, part, k)
	}
}

// share returns what part of k equal parts gets of n.
func share(n int64, part, k int) int64 {
	x := n / int64(k)
	if int64(part) < n%int64(k) {
		x++
	}
	return x
}

// needMany handles required nodes of a request in k > 1 parts, or of one that
// must lie in one window: the list must name all nodes, and they become the
// eligible ones.
func (s *Scratch) needMany() bool {
	if n := countBits(s.need); n < s.min {
		s.refuse(Refusal{Rule: RuleConfig, Unit: NoUnit, Lack: LackNodes, Need: int64(s.min), Have: int64(n)})
		return false
	}
	for i, x := range s.need {
		s.cand[i] &= x
	}
	return true
}

// fitBlock places all parts in blocks.
func (s *Scratch) fitBlock() verdict {
	t := s.f.top
	s.restart(s.min)
	for i, x := range t.covered {
		s.cand[i] &= x
	}
	k, size, ok := s.parts()
	if !ok {
		return stop
	}
	one := s.required && k == 1
	if s.required && k > 1 && !s.needMany() {
		return stop
	}
	s.nparts = k
	s.countBlocks()
	var area blockPart // the aggregate that holds all segments
	if k > 1 && s.req.Consolidate {
		area = s.consolidated(k, size)
	}
	all := s.tally
	for part := range k {
		s.partTally(all, part, k, size)
		if part > 0 {
			s.lightest()
		}
		p := t.block.level(size, t.block.blocks)
		v := s.placeBlock(&p, part, k, one, &area)
		if v != fits {
			return s.partFailed(v, part, k, &area)
		}
		if k > 1 {
			s.closePart(&p, part)
		}
	}
	return fits
}

// consolidated returns the level of the aggregate that must hold all k segments.
func (s *Scratch) consolidated(k, size int) blockPart {
	bl := s.f.top.block
	n := s.min
	if s.req.SpreadSegments {
		n = (size + int(bl.baseSize) - 1) / int(bl.baseSize) * int(bl.baseSize) * k
	}
	area := bl.level(n, bl.blocks)
	area.size = s.min
	return area
}

// partFailed turns the verdict of a part into that of the fit.
func (s *Scratch) partFailed(v verdict, part, k int, area *blockPart) verdict {
	s.why.Part = int32(part)
	if s.why.Rule.Permanent() {
		return stop
	}
	if area.hi > 0 { // the aggregate for all segments has been chosen
		clear(s.hint)
		for b := area.lo; b < area.hi; b++ {
			s.f.top.spans[b].add(s.hint)
		}
		for i, x := range s.elig {
			s.hint[i] &= x
		}
		return dropSet
	}
	if v == dropHinted || part > 0 && k > 1 && !anyBit(s.cand) {
		copy(s.hint, s.sel)
		return dropHinted
	}
	return v
}

// closePart notes the nodes of a segment, and takes the blocks it touched away
// from later ones if segments are spread.
func (s *Scratch) closePart(p *blockPart, part int) {
	t := s.f.top
	for _, id := range s.order[part*p.size:] {
		s.part[id] = int32(part)
		if u := t.unitOf[id]; s.req.SpreadSegments && s.count[u] > 0 {
			t.spans[u].drop(s.cand)
			s.count[u] = 0
		}
	}
}

// countBlocks counts the candidates of every base block and finds the lightest
// weight in each.
func (s *Scratch) countBlocks() {
	t := s.f.top
	s.count = sized(s.count, t.base)
	for b := range s.count {
		s.count[b] = int32(t.spans[b].count(s.cand))
	}
	s.res.Steps += int64(len(s.cand) + t.base)
	s.lightest()
}

// lightest finds the lightest weight among the candidates of each base block.
func (s *Scratch) lightest() {
	if s.uniform() {
		return
	}
	t := s.f.top
	s.light = sized(s.light, t.base)
	for b := range s.light {
		s.light[b] = math.MaxInt64
	}
	for i, x := range s.cand {
		for ; x != 0; x &= x - 1 {
			id := i<<6 + bits.TrailingZeros64(x)
			u := t.unitOf[id]
			s.light[u] = min(s.light[u], s.req.Weights[id])
		}
	}
	s.res.Steps += int64(s.n)
}

// placeBlock places one part: chooses a block and takes nodes in it.
func (s *Scratch) placeBlock(p *blockPart, part, k int, need bool, area *blockPart) verdict {
	before := len(s.order)
	if !need && len(s.f.opt.Slots) > 0 && s.f.opt.Profile == ProfileBest && s.chooseBySlots(p, k, area) {
		return s.give(p)
	}
	for soft := 0; ; soft++ {
		if need {
			if !s.needBlock(p) {
				return stop
			}
			break
		}
		if s.chooseBlock(p, k, area) {
			break
		}
		if soft >= int(s.req.SoftUnits) {
			return stop
		}
		*p = s.f.top.block.soften(p.size, soft+1, s.f.top.base)
	}
	if k > 1 && s.req.Consolidate && area.hi == 0 {
		s.enter(area, p.lo)
	}
	s.stamp++
	s.groups = sized(s.groups, s.f.top.base+1)
	left := p.limit
	if need {
		v, n := s.needGroups(p, left)
		if v != fits {
			return v
		}
		left = n
	}
	return s.fillBlock(p, left, before)
}

// enter cuts the candidates to the aggregate of the area that holds base block b.
func (s *Scratch) enter(area *blockPart, b int) {
	t := s.f.top
	area.lo = b / area.width * area.width
	area.hi = min(area.lo+area.width, t.base)
	for u := range t.base {
		if (u < area.lo || u >= area.hi) && s.count[u] > 0 {
			t.spans[u].drop(s.cand)
			s.count[u] = 0
		}
	}
}

// needBlock makes the block of p the first that holds a required node, which
// must hold all of them.
func (s *Scratch) needBlock(p *blockPart) bool {
	t := s.f.top
	first := t.base
	outside := false
	for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
		if u := t.unitOf[id]; u == NoUnit {
			outside = true
		} else {
			first = min(first, int(u))
		}
	}
	if !outside {
		p.lo = first / p.width * p.width
		p.hi = min(p.lo+p.width, t.base)
		in := 0
		for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
			if u := int(t.unitOf[id]); u >= p.lo && u < p.hi {
				in++
			}
		}
		if want := countBits(s.need); in < want {
			s.refuse(Refusal{Rule: RuleRequiredUnit, Unit: t.blockUnit(p.lo, p.hi), Lack: LackNodes, Need: int64(want), Have: int64(in)})
			return false
		}
		return true
	}
	s.refuse(Refusal{Rule: RuleRequiredUnit, Unit: NoUnit, Lack: LackNodes, Need: int64(countBits(s.need)), Have: int64(countAnd(s.need, t.covered))})
	return false
}

// chooseBlock makes the block of p the best that is large enough: the one with
// the lightest node, then with the fewest candidates, then the highest.
func (s *Scratch) chooseBlock(p *blockPart, k int, area *blockPart) bool {
	t := s.f.top
	best, bestFree, bestLight := -1, 0, int64(0)
	near, nearAt := -1, -1
	nearCPUs := int64(-1)
	blocks := (t.base + p.width - 1) / p.width
	seen, open := -1, true // the aggregate looked at last, and whether it is large enough
	for i := range blocks {
		lo, hi := i*p.width, min((i+1)*p.width, t.base)
		if k > 1 && s.req.Consolidate && area.hi == 0 {
			if a := lo / area.width; a != seen {
				seen, open = a, s.freeIn(a*area.width, min((a+1)*area.width, t.base)) >= area.size
			}
			if !open {
				continue
			}
		}
		free := s.freeIn(lo, hi)
		reach := free
		if p.active && free >= s.rem {
			reach = s.reach(p, lo, hi)
		}
		if reach > near {
			near = reach
			if nearCPUs < 0 {
				nearAt = i
			}
		}
		if reach < s.rem {
			continue
		}
		if !s.cpusIn(lo, hi, free) {
			if have := s.cpuTotal(lo, hi); have > nearCPUs {
				nearCPUs, nearAt = have, i
			}
			continue
		}
		light := int64(0)
		if !s.uniform() {
			light = int64(math.MaxInt64)
			for _, w := range s.light[lo:hi] {
				light = min(light, w)
			}
		}
		if best < 0 || light < bestLight || light == bestLight && free <= bestFree {
			best, bestFree, bestLight = i, free, light
		}
	}
	s.res.Steps += int64(t.base)
	if best >= 0 {
		p.lo, p.hi = best*p.width, min((best+1)*p.width, t.base)
		return true
	}
	why := Refusal{Rule: RuleNoFit, Unit: NoUnit, Lack: LackNodes, Need: int64(s.rem), Have: int64(max(near, 0))}
	if nearAt >= 0 {
		why.Unit = t.blockUnit(nearAt*p.width, min((nearAt+1)*p.width, t.base))
	}
	if k > 1 {
		why.Rule = RuleSegment
	}
	if nearCPUs >= 0 {
		why.Lack, why.Need, why.Have = LackCPUs, s.cpuRem, nearCPUs
	}
	s.refuse(why)
	return false
}

// freeIn returns the candidates of base blocks lo to hi-1.
func (s *Scratch) freeIn(lo, hi int) int {
	n := 0
	for _, c := range s.count[lo:hi] {
		n += int(c)
	}
	return n
}

// reach returns how many candidates of base blocks lo to hi-1 lie in the best
// groups that the limit of p allows.
func (s *Scratch) reach(p *blockPart, lo, hi int) int {
	width := 1 << p.group
	if s.f.opt.Defects && p.whole { // the remainder past the last whole group is overlooked
		hi = lo + (hi-lo)/width*width
	}
	s.heap = s.heap[:0]
	for b := lo; b < hi; b += width {
		s.heap = append(s.heap, int32(s.freeIn(b, min(b+width, hi))))
	}
	return topSum(s.heap, p.limit)
}

// cpusIn reports whether base blocks lo to hi-1, with free candidates, have the
// CPUs that are wanted.
func (s *Scratch) cpusIn(lo, hi, free int) bool {
	return s.cpuRem <= int64(free)*s.leastCPUs() || s.cpuRem <= s.cpuTotal(lo, hi)
}

func (s *Scratch) cpuTotal(lo, hi int) int64 {
	sum := int64(0)
	for b := lo; b < hi; b++ {
		sum += s.cpuSum(&s.f.top.spans[b], s.cand)
	}
	return sum
}

// leastCPUs is a lower bound of the usable CPUs of any candidate.
func (s *Scratch) leastCPUs() int64 {
	if s.req.Sifted {
		return int64(max(s.req.NodeCPUs, 1))
	}
	return 1
}

// blockUnit returns the unit of base blocks lo to hi-1: a base block, or the
// aggregate that is listed for it, or NoUnit.
func (t *Topology) blockUnit(lo, hi int) UnitID {
	if hi-lo == 1 {
		return UnitID(lo)
	}
	for i := range t.block.aggs {
		if a := &t.block.aggs[i]; int(a.first) == lo && int(a.last) == hi {
			return UnitID(t.block.blocks + i)
		}
	}
	return NoUnit
}

// topSum returns the sum of the n largest values of v, which it reorders.
func topSum(v []int32, n int) int {
	if n < len(v) {
		lo, hi := 0, len(v)-1
		for lo < hi { // move the n largest to the front
			pivot := v[(lo+hi)/2]
			i, j := lo, hi
			for i <= j {
				for v[i] > pivot {
					i++
				}
				for v[j] < pivot {
					j--
				}
				if i <= j {
					v[i], v[j] = v[j], v[i]
					i++
					j--
				}
			}
			switch {
			case n-1 <= j:
				hi = j
			case n-1 >= i:
				lo = i
			default:
				lo = hi
			}
		}
		v = v[:n]
	}
	sum := 0
	for _, x := range v {
		sum += int(x)
	}
	return sum
}

// sized returns v with length n, reusing its memory.
func sized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}
