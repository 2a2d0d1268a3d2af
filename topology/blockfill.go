package topology

import "math"

// needGroups takes the required nodes of the part and counts the low groups they
// use up.
func (s *Scratch) needGroups(p *blockPart, left int) (verdict, int) {
	t := s.f.top
	if p.active {
		for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
			if g := int(t.unitOf[id]) >> p.group; s.groups[g] != s.stamp {
				s.groups[g] = s.stamp
				left--
			}
		}
		if left < 0 {
			return s.refuse(Refusal{Rule: RuleConfig, Unit: t.blockUnit(p.lo, p.hi), Lack: LackGroups, Need: int64(p.limit - left), Have: int64(p.limit)}), 0
		}
	}
	for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
		if s.maxRem <= 0 || !s.takeIn(id) {
			return s.refuse(Refusal{Rule: RuleRequired, Unit: t.unitOf[id], Lack: LackNodes, Need: 1}), 0
		}
	}
	return fits, left
}

// takeIn takes node id and keeps the count of its base block.
func (s *Scratch) takeIn(id NodeID) bool {
	s.count[s.f.top.unitOf[id]]--
	return s.take(id)
}

// fillBlock takes nodes in the block of p, which may still touch left low groups
// that are not in use.
func (s *Scratch) fillBlock(p *blockPart, left, before int) verdict {
	t := s.f.top
	pool := s.cand
	forced := false
	limit := int64(math.MinInt64)
	if !s.uniform() {
		pool = s.pool
		clear(pool)
		for b := p.lo; b < p.hi; b++ {
			t.spans[b].add(pool)
		}
		for i, x := range s.cand {
			pool[i] &= x
		}
		var ok bool
		if limit, ok = s.classify(pool, false); !ok {
			return s.blockShort(dropWeakest, p)
		}
		if s.done() {
			return fits
		}
		var v verdict
		if v, left, forced = s.forceBlock(p, pool, limit, left); v != fits {
			return v
		}
	} else if s.freeIn(p.lo, p.hi) < s.minRem {
		return s.blockShort(dropWeakest, p)
	}
	if s.done() {
		return fits
	}
	if s.required && (p.active || s.f.opt.Profile == ProfileBest) || forced {
		s.touchedFirst(p, pool, before)
	}
	s.countPool(p, pool)
	for s.maxRem > 0 && !s.done() {
		b := s.pickBase(p)
		if b < 0 {
			break
		}
		if g := b >> p.group; p.active && s.groups[g] != s.stamp {
			if left == 0 {
				break
			}
			left--
			s.groups[g] = s.stamp
		}
		s.drain(b, pool)
		s.pooled[b] = 0
	}
	if s.met() {
		return fits
	}
	return s.blockShort(dropHinted, p)
}

// blockShort records what the chosen block lacks.
func (s *Scratch) blockShort(v verdict, p *blockPart) verdict {
	v = s.short(v, int64(s.freeIn(p.lo, p.hi)), 0, 0)
	s.why.Unit = s.f.top.blockUnit(p.lo, p.hi)
	if s.why.Lack == LackNodes && s.why.Have >= s.why.Need {
		s.why.Lack, s.why.Need, s.why.Have = LackGroups, int64(p.limit)+1, int64(p.limit)
	}
	return v
}

// forceBlock takes the nodes of pool lighter than limit, which use up low groups.
func (s *Scratch) forceBlock(p *blockPart, pool []uint64, limit int64, left int) (_ verdict, _ int, forced bool) {
	t := s.f.top
	for id := nextBit(pool, 0); id != NoNode; id = nextBit(pool, id+1) {
		if s.req.Weights[id] >= limit {
			continue
		}
		if s.maxRem <= 0 {
			return s.blockShort(dropHinted, p), left, forced
		}
		clearBit(pool, id)
		if g := int(t.unitOf[id]) >> p.group; p.active && s.groups[g] != s.stamp {
			s.groups[g] = s.stamp
			if left--; left < 0 {
				return s.fail(dropWeakest, Refusal{Rule: RuleWeight, Unit: t.blockUnit(p.lo, p.hi), Lack: LackGroups, Need: int64(p.limit) + 1, Have: int64(p.limit)}), left, forced
			}
		}
		if s.takeIn(id) {
			forced = true
		}
	}
	return fits, left, forced
}

// touchedFirst takes the candidates of base blocks that already hold nodes of
// the part.
func (s *Scratch) touchedFirst(p *blockPart, pool []uint64, before int) {
	t := s.f.top
	s.bases = sized(s.bases, t.base)
	for _, id := range s.order[before:] {
		s.bases[t.unitOf[id]] = true
	}
	for b := p.lo; b < p.hi; b++ {
		if s.bases[b] {
			s.bases[b] = false
			s.drain(b, pool)
		}
	}
}

// drain takes the candidates of base block b, ascending, until done.
func (s *Scratch) drain(b int, pool []uint64) {
	sp := &s.f.top.spans[b]
	for id := sp.next(pool, 0); id != NoNode && s.maxRem > 0 && !s.done(); id = sp.next(pool, id+1) {
		if hasBit(s.cand, id) {
			s.takeIn(id)
		}
	}
}

// countPool counts what is left in the pool: pooled by base block, grouped by
// low group. Base blocks that were touched count nothing any more.
func (s *Scratch) countPool(p *blockPart, pool []uint64) {
	t := s.f.top
	s.pooled = sized(s.pooled, t.base)
	s.grouped = sized(s.grouped, t.base+1)
	for b := p.lo; b < p.hi; b++ {
		n := s.count[b]
		if !s.uniform() {
			n = 0
			sp := &t.spans[b]
			for id := sp.next(pool, 0); id != NoNode; id = sp.next(pool, id+1) {
				if hasBit(s.cand, id) {
					n++
				}
			}
		}
		s.pooled[b] = n
		if b == p.lo || b>>p.group != (b-1)>>p.group {
			s.grouped[b>>p.group] = 0
		}
		s.grouped[b>>p.group] += n
	}
	s.res.Steps += int64(p.hi - p.lo)
}

// pickBase returns the best base block with candidates, or -1 (spec 2.8).
func (s *Scratch) pickBase(p *blockPart) int {
	best := -1
	s.res.Steps += int64(p.hi - p.lo)
	for b := p.lo; b < p.hi; b++ {
		if s.pooled[b] > 0 && (best < 0 || s.betterBase(p, b, best)) {
			best = b
		}
	}
	return best
}

// betterBase reports whether base block c, which is higher than b, displaces it.
func (s *Scratch) betterBase(p *blockPart, c, b int) bool {
	r := int32(min(s.rem, math.MaxInt32))
	if p.active && c>>p.group != b>>p.group {
		gc, gb := c>>p.group, b>>p.group
		if used := s.groups[gc] == s.stamp; used != (s.groups[gb] == s.stamp) {
			return used
		}
		if d := fitOrder(s.grouped[gc], s.grouped[gb], r); d != 0 {
			return d < 0
		}
	}
	return fitOrder(s.pooled[c], s.pooled[b], r) <= 0
}

// fitOrder is negative if a unit of a candidates is to be preferred to one of b
// for r nodes: the smallest that suffices, else the largest.
func fitOrder(a, b, r int32) int {
	switch {
	case a == b:
		return 0
	case a >= r && b >= r:
		return int(a - b)
	}
	return int(b - a) // the larger one suffices, or neither does
}
