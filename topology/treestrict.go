package topology

import (
	"math"
	"math/bits"
	"slices"
)

// fitStrict is the tree fit of the profile Best: the lowest switch that can hold
// the job, of several the one whose nodes are lighter, then the one with the
// least slack, then the first in file order; in it the fewest leaves.
func (s *Scratch) fitStrict() verdict {
	t := s.f.top
	r := s.req
	for shrink := 0; ; shrink++ {
		s.restart(s.want - shrink)
		if shrink == 0 {
			s.countTree()
		}
		v := s.strictDomain()
		if v != fits {
			return v
		}
		leaves := s.leavesUsed()
		if r.Switches <= 0 || leaves <= int(r.Switches) || r.Waited >= SwitchLimit(r.SwitchWait, r.MaxSwitchWait) {
			return fits
		}
		if s.want-shrink <= s.min || r.GPUs > 0 {
			return s.refuse(Refusal{Rule: RuleSwitches, Unit: s.top, Lack: LackUnits, Need: int64(leaves), Have: int64(r.Switches)})
		}
		s.res.Steps += int64(t.base)
	}
}

// strictDomain tries switch after switch, the best first.
func (s *Scratch) strictDomain() verdict {
	t := s.f.top
	s.tried = sized(s.tried, t.base)
	clear(s.tried)
	need := NoUnit
	if s.required {
		if need = s.commonSwitch(); need == NoUnit {
			return s.refuse(Refusal{Rule: RuleConfig, Unit: NoUnit, Lack: LackNodes, Need: int64(countBits(s.need)), Have: int64(countAnd(s.need, t.covered))})
		}
	}
	target := s.reachable(need)
	if target < s.min {
		return s.strictTooFew(need)
	}
	if s.rem > target {
		s.rem = target
	}
	first := Refusal{}
	for {
		u := s.nextDomain(need, target)
		if u == NoUnit {
			if s.why = first; first.Rule == RuleNone {
				s.strictNoCPUs(need, target)
			}
			return stop
		}
		s.tried[u] = true
		if s.fillDomain(u, target) {
			return fits
		}
		if first.Rule == RuleNone {
			first = s.why
		}
	}
}

// commonSwitch returns the lowest switch above all required nodes, or NoUnit.
func (s *Scratch) commonSwitch() UnitID {
	t := s.f.top
	u := NoUnit
	for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
		v := t.unitOf[id]
		if v == NoUnit {
			return NoUnit
		}
		if u == NoUnit {
			u = v
			continue
		}
		for u != v {
			if u == NoUnit || v == NoUnit {
				return NoUnit
			}
			if t.tree.depth[u] >= t.tree.depth[v] {
				u = t.units[u].parent
			} else {
				v = t.units[v].parent
			}
		}
	}
	return u
}

// above reports whether switch u is v or above it.
func (t *Topology) above(u, v UnitID) bool {
	for ; v != NoUnit; v = t.units[v].parent {
		if u == v {
			return true
		}
	}
	return false
}

// reachable returns how many nodes of the target one tree has.
func (s *Scratch) reachable(need UnitID) int {
	t := s.f.top
	best := 0
	for u := range t.units {
		if t.units[u].parent == NoUnit && (need == NoUnit || t.above(UnitID(u), need)) {
			best = max(best, int(s.count[u]))
		}
	}
	return min(best, s.rem)
}

func (s *Scratch) strictTooFew(need UnitID) verdict {
	t := s.f.top
	why := Refusal{Rule: RuleNoFit, Unit: NoUnit, Lack: LackNodes, Need: int64(s.min)}
	for u := range t.units {
		if have := int64(s.count[u]); have > why.Have && (need == NoUnit || t.above(UnitID(u), need)) {
			why.Have, why.Unit = have, UnitID(u)
		}
	}
	return s.refuse(why)
}

// strictNoCPUs records which switch with target candidates has the most CPUs.
func (s *Scratch) strictNoCPUs(need UnitID, target int) {
	t := s.f.top
	why := Refusal{Rule: RuleNoFit, Unit: NoUnit, Lack: LackCPUs, Need: s.cpuRem, Have: -1}
	for u := range t.units {
		if int(s.count[u]) < target || need != NoUnit && !t.above(UnitID(u), need) {
			continue
		}
		if have := s.cpusBelow(UnitID(u)); have > why.Have {
			why.Have, why.Unit = have, UnitID(u)
		}
	}
	s.refuse(why)
}

// nextDomain returns the best switch not tried yet that has target candidates
// and the CPUs, or NoUnit.
func (s *Scratch) nextDomain(need UnitID, target int) UnitID {
	t := s.f.top
	best, bestHeavy := NoUnit, int64(0)
	s.res.Steps += int64(t.base)
	for i := range t.units {
		u := UnitID(i)
		n := s.count[u]
		if s.tried[u] || int(n) < target || need != NoUnit && !t.above(u, need) || !s.cpusFit(u, n) {
			continue
		}
		if best != NoUnit && t.units[u].level > t.units[best].level {
			continue
		}
		heavy := int64(0)
		if !s.uniform() {
			heavy = s.domainWeight(u, target)
		}
		if best == NoUnit || t.units[u].level < t.units[best].level || heavy < bestHeavy || heavy == bestHeavy && n < s.count[best] {
			best, bestHeavy = u, heavy
		}
	}
	return best
}

// domainWeight returns the weight of the heaviest of the target lightest
// candidates below u.
func (s *Scratch) domainWeight(u UnitID, target int) int64 {
	t := s.f.top
	s.light = s.light[:0]
	for _, l := range t.tree.leavesOf(u) {
		sp := &t.spans[l]
		for id := sp.next(s.elig, 0); id != NoNode; id = sp.next(s.elig, id+1) {
			s.light = append(s.light, s.req.Weights[id])
		}
	}
	s.res.Steps += int64(len(s.light))
	if len(s.light) == 0 {
		return 0
	}
	slices.Sort(s.light)
	return s.light[min(max(target, 1), len(s.light))-1]
}

// fillDomain takes nodes below switch u, in as few leaves as can be.
func (s *Scratch) fillDomain(u UnitID, target int) bool {
	t := s.f.top
	s.top = u
	want := s.want
	s.restart(target)
	s.want = want
	s.keepTop()
	if !s.uniform() {
		s.lighten(s.cand, s.domainWeight(u, max(target, s.min)))
		for i, x := range s.elig { // heavier nodes come back if CPUs are short
			s.pool[i] = x & s.under[i] &^ s.cand[i]
		}
	}
	if !s.takeNeed() {
		return false
	}
	s.clearMarks()
	for id := nextBit(s.sel, 0); id != NoNode; id = nextBit(s.sel, id+1) {
		s.markLeaf(t.unitOf[id])
	}
	s.fewestLeaves(u)
	if !s.done() && !s.uniform() {
		for i, x := range s.pool {
			s.cand[i] |= x &^ s.sel[i]
		}
		s.fewestLeaves(u)
	}
	if s.met() {
		return true
	}
	s.short(dropHinted, 0, 0, 0)
	s.why.Unit = u
	return false
}

// fewestLeaves takes nodes below u until done: first of the leaves in use, then
// the smallest leaf that finishes the job, or else the largest; of equals the
// nearest to the leaves in use, then the first. Consecutive leaves of one parent
// are equally near, so one of each such group stands for it.
func (s *Scratch) fewestLeaves(u UnitID) {
	t := s.f.top
	tr := t.tree
	s.pooled = sized(s.pooled, t.base)
	clear(s.pooled)
	s.fullest = sized(s.fullest, len(tr.groups))
	s.heap = s.heap[:0] // the groups
	for _, l := range tr.leavesOf(u) {
		if s.pooled[l] = int32(t.spans[l].count(s.cand)); s.marked[l] {
			s.drainLeaf(l)
		}
		if g := tr.groupOf[tr.leafAt[l]]; len(s.heap) == 0 || s.heap[len(s.heap)-1] != g {
			s.heap = append(s.heap, g)
		}
	}
	for _, g := range s.heap {
		s.fullest[g] = s.fullestOf(g, s.pooled)
	}
	s.res.Steps += int64(len(tr.leavesOf(u)))
	for s.maxRem > 0 && !s.done() {
		best, bestFar, bestFits := NoUnit, int64(math.MaxInt64), false
		for _, g := range s.heap {
			l := s.fullest[g]
			if l == NoUnit {
				continue
			}
			ok := false
			if int(s.pooled[l]) >= s.rem {
				if f := s.smallestLeaf(g); f != NoUnit {
					l, ok = f, true
				}
			}
			far := int64(0)
			if s.marks > 0 {
				far = s.far(l)
			}
			if best == NoUnit || s.betterLeaf(l, best, ok, bestFits, far, bestFar) {
				best, bestFar, bestFits = l, far, ok
			}
		}
		s.res.Steps += int64(len(s.heap))
		if best == NoUnit {
			return
		}
		s.drainLeaf(best)
		s.markLeaf(best)
		g := tr.groupOf[tr.leafAt[best]]
		s.fullest[g] = s.fullestOf(g, s.pooled)
	}
}

// betterLeaf reports whether leaf a displaces the earlier leaf b.
func (s *Scratch) betterLeaf(a, b UnitID, aFits, bFits bool, aFar, bFar int64) bool {
	x, y := s.pooled[a], s.pooled[b]
	switch {
	case aFits != bFits:
		return aFits
	case x != y:
		return (x < y) == aFits
	}
	return aFar < bFar
}

// smallestLeaf returns the leaf of group g with the fewest candidates that can
// finish the job, the first on ties, or NoUnit.
func (s *Scratch) smallestLeaf(g int32) UnitID {
	t := s.f.top
	best := NoUnit
	for _, l := range t.tree.leaves[t.tree.groups[g].lo:t.tree.groups[g].hi] {
		n := s.pooled[l]
		if s.marked[l] || int(n) < s.rem || best != NoUnit && n >= s.pooled[best] {
			continue
		}
		if s.cpuRem <= int64(n)*s.leastCPUs() || s.cpuRem <= s.cpuSum(&t.spans[l], s.cand) {
			best = l
		}
	}
	s.res.Steps += int64(t.tree.groups[g].hi - t.tree.groups[g].lo)
	return best
}

// packOne takes the single node of the profile Best: of the lightest class the
// one on which the least is left over, GPUs before CPUs, then in the unit with
// the fewest idle nodes, then the lowest. It reports whether there is one.
func (s *Scratch) packOne() bool {
	t := s.f.top
	if t.unitOf != nil {
		s.idlePerUnit()
	}
	clear(s.hint) // nodes that could not be arranged
	for {
		best := NoNode
		for id := s.nextOne(0); id != NoNode; id = s.nextOne(id + 1) {
			if !hasBit(s.hint, id) && (best == NoNode || s.betterOne(id, best)) {
				best = id
			}
		}
		if best == NoNode {
			return false
		}
		if s.takeOne(best) {
			return true
		}
		setBit(s.hint, best)
	}
}

// betterOne reports whether node a is better than the lower node b.
func (s *Scratch) betterOne(a, b NodeID) bool {
	r := s.req
	if r.Weights != nil {
		if x, y := r.Weights[a]>>8, r.Weights[b]>>8; x != y {
			return x < y
		}
	}
	if s.gpus != nil && s.gpus[a] != s.gpus[b] {
		return s.gpus[a] < s.gpus[b]
	}
	if s.cpus[a] != s.cpus[b] {
		return s.cpus[a] < s.cpus[b]
	}
	t := s.f.top
	if t.unitOf == nil || t.unitOf[a] == t.unitOf[b] {
		return false
	}
	return s.idleOf(t.unitOf[a]) < s.idleOf(t.unitOf[b])
}

// idleOf returns the idle nodes of unit u; a node in no unit hurts none.
func (s *Scratch) idleOf(u UnitID) int32 {
	if u == NoUnit {
		return 0
	}
	return s.count[u]
}

// idlePerUnit counts the eligible nodes of every unit that run nothing.
func (s *Scratch) idlePerUnit() {
	t := s.f.top
	s.count = sized(s.count, t.base)
	clear(s.count)
	for i, x := range s.base {
		if s.req.Busy != nil {
			x &^= s.req.Busy.Words()[i]
		}
		for ; x != 0; x &= x - 1 {
			if u := t.unitOf[i<<6+bits.TrailingZeros64(x)]; u != NoUnit {
				s.count[u]++
			}
		}
	}
	s.res.Steps += int64(s.n)
}
