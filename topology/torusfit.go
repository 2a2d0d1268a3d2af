package topology

import (
	"math"
	"math/bits"
	"slices"
)

// A spot is a candidate place in a torus.
type spot struct {
	unit, shape, anchor int32
	free                int32 // eligible nodes of the torus
	weight              int64 // the heaviest node in it
	cost                int32 // larger shapes it would destroy; -1 not known yet
}

// fitTorus places every part on an anchor of a placement of its size (spec
// 2.10).
func (s *Scratch) fitTorus() verdict {
	t := s.f.top
	s.restart(s.min)
	for i, x := range t.covered {
		s.cand[i] &= x
	}
	k, size, ok := s.parts()
	if !ok || s.required && k > 1 && !s.needMany() {
		return stop
	}
	s.nparts = k
	if !t.torus.has(size) {
		return s.refuse(Refusal{Rule: RuleConfig, Unit: NoUnit, Lack: LackNodes, Need: int64(size), Have: t.torus.nearest(size)})
	}
	all := s.tally
	clash := false
	for part := range k {
		s.partTally(all, part, k, size)
		at, v := s.chooseSpot(size, k, part)
		if v != fits {
			s.why.Part = int32(part)
			if part > 0 && clash {
				copy(s.hint, s.sel)
				return dropHinted
			}
			return v
		}
		sh := &t.torus.units[at.unit].shapes[at.shape]
		if part == 0 {
			clash = sh.clash
		}
		if v := s.takeBox(sh, at, part); v != fits {
			return v
		}
	}
	if k > 1 {
		s.settle(all)
	}
	if s.met() {
		return fits
	}
	copy(s.hint, s.sel)
	return s.short(dropHinted, 0, 0, 0)
}

// settle works out what is still wanted of the whole job after its parts.
func (s *Scratch) settle(all tally) {
	s.tally = all
	for _, id := range s.order {
		s.rem--
		s.minRem--
		s.maxRem--
		s.cpuRem -= int64(s.grant[id])
		if s.req.GPUs > 0 {
			s.gpuRem -= int64(s.ggrant[id])
		}
	}
}

// has reports whether some torus has a placement of volume size.
func (tr *torus) has(size int) bool {
	for u := range tr.units {
		for i := range tr.units[u].shapes {
			if int(tr.units[u].shapes[i].volume) == size {
				return true
			}
		}
	}
	return false
}

// nearest returns the largest volume of a placement that is below size, else 0.
func (tr *torus) nearest(size int) int64 {
	best := int64(0)
	for u := range tr.units {
		for i := range tr.units[u].shapes {
			if v := int64(tr.units[u].shapes[i].volume); v < int64(size) {
				best = max(best, v)
			}
		}
	}
	return best
}

// takeBox takes the nodes of a spot, ascending.
func (s *Scratch) takeBox(sh *shape, at spot, part int) verdict {
	a := &sh.anchors[at.anchor]
	for i, w := range a.word {
		for x := a.mask[i]; x != 0; x &= x - 1 {
			id := NodeID(int(w)<<6 + bits.TrailingZeros64(x))
			if s.maxRem <= 0 || !s.take(id) {
				copy(s.hint, s.sel)
				setBit(s.hint, id)
				return s.fail(dropHinted, Refusal{Rule: RuleShort, Unit: UnitID(at.unit), Lack: LackNodes, Need: int64(sh.volume), Have: int64(sh.volume) - 1, Part: int32(part)})
			}
			s.part[id] = int32(part)
		}
	}
	return fits
}

// chooseSpot finds the best anchor of volume size.
func (s *Scratch) chooseSpot(size, k, part int) (spot, verdict) {
	t := s.f.top
	best := spot{unit: -1}
	need := s.required && k == 1
	near, nearUnit := 0, NoUnit
	s.byFree = s.byFree[:0]
	for u := range t.torus.units {
		free := t.spans[u].count(s.cand)
		if free > near {
			near, nearUnit = free, UnitID(u)
		}
		if free >= size {
			s.byFree = append(s.byFree, uint64(free)<<32|uint64(u))
		}
		s.res.Steps += 1 + int64(t.spans[u].size)/64
	}
	if s.uniform() { // then the torus with the fewest free nodes decides
		slices.Sort(s.byFree)
	}
	for _, key := range s.byFree {
		u := int32(key)
		if s.uniform() && best.unit >= 0 {
			break
		}
		tu := &t.torus.units[u]
		s.costly = -1
		for i := range tu.shapes {
			if sh := &tu.shapes[i]; int(sh.volume) == size {
				s.scanShape(&best, spot{unit: u, shape: int32(i), free: int32(key >> 32), cost: -1}, sh, need)
			}
		}
	}
	if best.unit >= 0 {
		return best, fits
	}
	rule := RuleNoFit
	if k > 1 {
		rule = RuleSegment
	}
	why := Refusal{Rule: rule, Unit: nearUnit, Lack: LackNodes, Need: int64(size), Have: int64(near), Part: int32(part)}
	if near >= size { // nodes enough, but no box of them
		why.Lack, why.Need, why.Have = LackUnits, 1, 0
	}
	return best, s.refuse(why)
}

// scanShape offers all free anchors of a shape to best.
func (s *Scratch) scanShape(best *spot, c spot, sh *shape, need bool) {
	steps, looked := 0, len(sh.anchors)
	for a := range sh.anchors {
		box := &sh.anchors[a]
		if !box.free(s.cand) || need && !box.contains(s.need) {
			continue
		}
		steps += len(box.word)
		c.anchor, c.cost, c.weight = int32(a), -1, 0
		if !s.uniform() {
			c.weight = s.heaviest(box)
		}
		if best.unit < 0 || s.betterSpot(&c, best) {
			*best = c
		}
		if s.uniform() {
			if s.price(best); best.cost == 0 {
				looked = a + 1
				break // no later one can be better
			}
		}
	}
	s.res.Steps += int64(looked + steps)
}

func (s *Scratch) heaviest(box *anchor) int64 {
	w := int64(math.MinInt64)
	for i, at := range box.word {
		for x := box.mask[i]; x != 0; x &= x - 1 {
			w = max(w, s.req.Weights[int(at)<<6+bits.TrailingZeros64(x)])
		}
	}
	return w
}

// betterSpot reports whether c displaces b: lighter, then, on the same shape,
// destroying fewer larger shapes, then in the torus with fewer free nodes.
func (s *Scratch) betterSpot(c, b *spot) bool {
	if c.weight != b.weight {
		return c.weight < b.weight
	}
	if c.unit == b.unit && c.shape == b.shape {
		s.price(b)
		if s.price(c); c.cost != b.cost {
			return c.cost < b.cost
		}
	}
	return c.free < b.free
}

// price works out how many free anchors of the next larger shape the spot
// overlaps.
func (s *Scratch) price(c *spot) {
	if c.cost >= 0 {
		return
	}
	tu := &s.f.top.torus.units[c.unit]
	sh := &tu.shapes[c.shape]
	c.cost = 0
	if sh.larger < 0 {
		return
	}
	big := &tu.shapes[sh.larger]
	s.markFree(c.unit, sh.larger, big)
	// The overlapped anchors are a product of positions along the axes.
	nz := len(big.axis[2])
	ny := len(big.axis[1])
	at := [3]int32{}
	rest := int(c.anchor)
	for axis := 2; axis >= 0; axis-- {
		n := len(sh.axis[axis])
		at[axis] = sh.axis[axis][rest%n]
		rest /= n
	}
	for i, x := range big.axis[0] {
		if !touch(at[0], sh.dims.X, x, big.dims.X, tu.dims.X) {
			continue
		}
		for j, y := range big.axis[1] {
			if !touch(at[1], sh.dims.Y, y, big.dims.Y, tu.dims.Y) {
				continue
			}
			for k, z := range big.axis[2] {
				if s.bigFree[(i*ny+j)*nz+k] && touch(at[2], sh.dims.Z, z, big.dims.Z, tu.dims.Z) {
					c.cost++
				}
			}
		}
	}
}

// touch reports whether the stretches of da positions from a and of db from b
// overlap on a circle of n.
func touch(a, da, b, db, n int32) bool {
	return (b-a+n)%n < da || (a-b+n)%n < db
}

// markFree notes in bigFree which anchors of a larger shape are wholly eligible.
func (s *Scratch) markFree(unit, index int32, big *shape) {
	if s.costly == index && s.costlyUnit == unit {
		return
	}
	s.costly, s.costlyUnit = index, unit
	s.bigFree = sized(s.bigFree, len(big.anchors))
	for i := range big.anchors {
		s.bigFree[i] = big.anchors[i].free(s.cand)
	}
	s.res.Steps += int64(len(big.anchors))
}
