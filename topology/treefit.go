package topology

import (
	"math"
	"math/bits"
)

// fitTree chooses nodes under the switches of a tree (spec 2.6, 2.7), and lowers
// the target while --switches asks for fewer leaves than were used.
func (s *Scratch) fitTree() verdict {
	s.restart(s.want)
	s.countTree()
	if s.required && !s.takeNeed() {
		return stop
	}
	if !s.topSwitch() {
		return stop
	}
	shrink := 0
	for {
		v := s.fillTree(shrink)
		if v != fits {
			return v
		}
		leaves := s.leavesUsed()
		r := s.req
		if s.f.opt.Dragonfly && r.Switches > 1 || r.Switches <= 0 || leaves <= int(r.Switches) {
			return fits
		}
		if r.Waited >= SwitchLimit(r.SwitchWait, r.MaxSwitchWait) {
			return fits
		}
		if shrink++; s.want-shrink < s.min || r.GPUs > 0 {
			return s.refuse(Refusal{Rule: RuleSwitches, Unit: s.top, Lack: LackUnits, Need: int64(leaves), Have: int64(r.Switches)})
		}
		s.restart(s.want - shrink)
		s.countTree()
		if s.required && !s.takeNeed() {
			return stop
		}
		s.keepTop()
	}
}

// countTree counts the candidates below every switch and finds the lightest
// weight below each.
func (s *Scratch) countTree() {
	t := s.f.top
	s.count = sized(s.count, t.base)
	clear(s.count)
	s.cpuBelow = s.cpuBelow[:0]
	for _, l := range t.tree.leaves {
		s.count[l] = int32(t.spans[l].count(s.cand))
	}
	s.sumUp(s.count)
	s.res.Steps += int64(len(s.cand) + t.base)
}

// sumUp adds the values of the leaves to all switches above them.
func (s *Scratch) sumUp(v []int32) {
	t := s.f.top
	for i := len(t.tree.order) - 1; i >= 0; i-- {
		u := t.tree.order[i]
		if p := t.units[u].parent; p != NoUnit {
			v[p] += v[u]
		}
	}
}

// cpus of all eligible nodes below switch u; worked out when first asked.
func (s *Scratch) cpusBelow(u UnitID) int64 {
	t := s.f.top
	if len(s.cpuBelow) == 0 {
		s.cpuBelow = sized(s.cpuBelow, t.base)
		clear(s.cpuBelow)
		for _, l := range t.tree.leaves {
			s.cpuBelow[l] = s.cpuSum(&t.spans[l], s.elig)
		}
		for i := len(t.tree.order) - 1; i >= 0; i-- {
			v := t.tree.order[i]
			if p := t.units[v].parent; p != NoUnit {
				s.cpuBelow[p] += s.cpuBelow[v]
			}
		}
	}
	return s.cpuBelow[u]
}

// cpusFit reports whether the nodes below u, n of them candidates, have the CPUs
// still wanted.
func (s *Scratch) cpusFit(u UnitID, n int32) bool {
	return s.cpuRem <= int64(n)*s.leastCPUs() || s.cpuRem <= s.cpusBelow(u)
}

// topSwitch chooses the switch under which everything happens and drops all
// nodes outside it.
func (s *Scratch) topSwitch() bool {
	t := s.f.top
	s.top = NoUnit
	switch {
	case s.required:
		s.markAll(s.need)
		for u := range t.units {
			if s.marked[u] && (s.top == NoUnit || t.units[u].level > t.units[s.top].level) {
				s.top = UnitID(u)
			}
		}
	case s.f.opt.Dragonfly:
		for u := range t.units {
			if s.count[u] > 0 && (s.top == NoUnit || t.units[u].level > t.units[s.top].level) {
				s.top = UnitID(u)
			}
		}
	default:
		s.scanTop()
	}
	if s.top == NoUnit {
		return s.noTop()
	}
	s.keepTop()
	if s.required {
		for i, x := range s.need {
			if x&^s.under[i] != 0 {
				s.refuse(Refusal{Rule: RuleConfig, Unit: s.top, Lack: LackNodes, Need: int64(countBits(s.need)), Have: int64(countAnd(s.need, s.under))})
				return false
			}
		}
	}
	return true
}

// noTop records which switch comes nearest.
func (s *Scratch) noTop() bool {
	t := s.f.top
	why := Refusal{Rule: RuleNoFit, Unit: NoUnit, Lack: LackNodes, Need: int64(s.needed())}
	if s.required { // they are on no switch
		why.Rule, why.Need = RuleConfig, int64(countBits(s.need))
		s.refuse(why)
		return false
	}
	for u := range t.units {
		if have := int64(s.count[u]); have > why.Have {
			why.Have, why.Unit = have, UnitID(u)
		}
	}
	if why.Have >= why.Need {
		need := why.Need
		why.Lack, why.Need, why.Have = LackCPUs, s.cpuRem, -1
		for u := range t.units {
			if have := s.cpusBelow(UnitID(u)); int64(s.count[u]) >= need && have > why.Have {
				why.Have, why.Unit = have, UnitID(u)
			}
		}
	}
	s.refuse(why)
	return false
}

// scanTop finds the top switch without required nodes: the last in file order of
// the highest level, with the lightest node, that has enough nodes and CPUs.
func (s *Scratch) scanTop() {
	t := s.f.top
	if !s.uniform() {
		s.light = sized(s.light, t.base)
		for u := range s.light {
			s.light[u] = math.MaxInt64
		}
		for i, x := range s.cand {
			for ; x != 0; x &= x - 1 {
				id := i<<6 + bits.TrailingZeros64(x)
				if u := t.unitOf[id]; u != NoUnit {
					s.light[u] = min(s.light[u], s.req.Weights[id])
				}
			}
		}
		for i := len(t.tree.order) - 1; i >= 0; i-- {
			u := t.tree.order[i]
			if p := t.units[u].parent; p != NoUnit {
				s.light[p] = min(s.light[p], s.light[u])
			}
		}
		s.res.Steps += int64(s.n)
	}
	for u := range t.units {
		n := s.count[u]
		if n == 0 || int(n) < s.needed() || !s.cpusFit(UnitID(u), n) {
			continue
		}
		if s.top != NoUnit && (t.units[u].level < t.units[s.top].level || !s.uniform() && s.light[u] > s.light[s.top]) {
			continue
		}
		s.top = UnitID(u)
	}
	s.res.Steps += int64(t.base)
}

// keepTop drops the candidates outside the top switch; under then holds
// all nodes below it.
func (s *Scratch) keepTop() {
	t := s.f.top
	if leaves := t.tree.leavesOf(s.top); len(leaves) == len(t.tree.leaves) {
		copy(s.under, t.covered)
	} else {
		clear(s.under)
		for _, l := range leaves {
			t.spans[l].add(s.under)
		}
		s.res.Steps += int64(len(leaves))
	}
	for i, x := range s.under {
		s.cand[i] &= x
	}
}

// markAll marks every switch that holds a node of w.
func (s *Scratch) markAll(w []uint64) {
	t := s.f.top
	s.clearMarks()
	for id := nextBit(w, 0); id != NoNode; id = nextBit(w, id+1) {
		s.markLeaf(t.unitOf[id])
	}
}

// clearMarks unmarks all switches.
func (s *Scratch) clearMarks() {
	t := s.f.top
	s.marked = sized(s.marked, t.base)
	s.below = sized(s.below, t.base)
	clear(s.marked)
	clear(s.below)
	s.marks = 0
}

// markLeaf marks a leaf and all switches above it.
func (s *Scratch) markLeaf(l UnitID) {
	for u := l; u != NoUnit && !s.marked[u]; u = s.f.top.units[u].parent {
		s.mark(u)
	}
}

// mark marks one switch: below[u] counts the marked switches from u downwards.
func (s *Scratch) mark(u UnitID) {
	s.marked[u] = true
	s.marks++
	for ; u != NoUnit; u = s.f.top.units[u].parent {
		s.below[u]++
	}
}

// far ranks switches by the sum of their hop distances from all marked ones: it
// is that sum less what is the same for all switches of a tree. A marked switch
// m and u are depth(m) + depth(u) - 2·depth(c) hops apart, c being the lowest
// switch above both; and depth(c) is the number of switches but the root that are
// above both.
func (s *Scratch) far(u UnitID) int64 {
	t := s.f.top
	d := int64(t.tree.depth[u]) * int64(s.marks)
	for v := u; t.units[v].parent != NoUnit; v = t.units[v].parent {
		d -= 2 * int64(s.below[v])
	}
	return d
}

// fillTree takes nodes below the top switch (spec 2.6, steps 3 to 6).
func (s *Scratch) fillTree(shrink int) verdict {
	if s.required {
		s.markAll(s.need)
	} else {
		s.clearMarks()
	}
	start := s.required
	if s.done() {
		return fits
	}
	if s.uniform() {
		if have := countBits(s.cand); have < s.minRem {
			return s.underMin(int64(have))
		}
	} else {
		limit, ok := s.classify(s.cand, s.f.opt.Dragonfly)
		if !ok {
			return s.underMin(int64(countBits(s.cand)))
		}
		forced, full := s.forceTree(limit)
		if full && !s.done() {
			return s.treeShort()
		}
		start = start || forced
		if s.done() {
			return fits
		}
	}
	if start || !s.uniform() { // the candidates are others than those counted
		s.recount()
	}
	if s.f.opt.Dragonfly {
		return s.fillDragonfly()
	}
	if start {
		s.drainMarked()
	}
	s.leafLoop()
	if s.met() {
		return fits
	}
	return s.treeShort()
}

// underMin says that the nodes below the top switch do not make the minimum.
func (s *Scratch) underMin(have int64) verdict {
	v := s.short(dropSet, have, 0, 0)
	s.why.Unit = s.top
	if s.f.opt.Dragonfly {
		return stop
	}
	copy(s.hint, s.under)
	return v
}

// treeShort says what the nodes below the top switch lack.
func (s *Scratch) treeShort() verdict {
	v := s.short(dropHinted, 0, 0, 0)
	s.why.Unit = s.top
	copy(s.hint, s.sel)
	return v
}

// forceTree takes the candidates lighter than limit and marks their switches;
// full says that the maximum of nodes was reached.
func (s *Scratch) forceTree(limit int64) (forced, full bool) {
	for id := nextBit(s.cand, 0); id != NoNode; id = nextBit(s.cand, id+1) {
		if s.req.Weights[id] >= limit {
			continue
		}
		if s.maxRem <= 0 {
			return forced, true
		}
		if s.take(id) {
			forced = true
			s.markLeaf(s.f.top.unitOf[id])
		}
	}
	return forced, s.maxRem <= 0
}

// recount counts the candidates that are left below every switch.
func (s *Scratch) recount() {
	t := s.f.top
	leaves := t.tree.leavesOf(s.top)
	clear(s.count)
	for _, l := range leaves {
		s.count[l] = int32(t.spans[l].count(s.cand))
	}
	s.sumUp(s.count)
	s.res.Steps += int64(len(s.cand) + t.base)
}

// drainMarked takes the candidates of marked leaves in file order.
func (s *Scratch) drainMarked() {
	t := s.f.top
	total := int32(0)
	for _, l := range t.tree.leavesOf(s.top) {
		if !s.marked[l] || s.count[l] == 0 {
			continue
		}
		n := s.drainLeaf(l)
		total += n
		if s.f.opt.Defects { // what earlier leaves gave is subtracted again
			n = total
		}
		s.subtract(l, n)
		if s.done() || s.maxRem <= 0 {
			return
		}
	}
}

// drainLeaf takes the candidates of leaf l, ascending, until done, and returns
// how many it took.
func (s *Scratch) drainLeaf(l UnitID) int32 {
	sp := &s.f.top.spans[l]
	n := int32(0)
	for id := sp.next(s.cand, 0); id != NoNode && s.maxRem > 0 && !s.done(); id = sp.next(s.cand, id+1) {
		if s.take(id) {
			n++
		}
	}
	return n
}

// subtract lowers the counts of leaf l and of all switches above it.
func (s *Scratch) subtract(l UnitID, n int32) {
	for u := l; u != NoUnit; u = s.f.top.units[u].parent {
		s.count[u] -= n
	}
}

// leavesUsed counts the leaves that hold a chosen node.
func (s *Scratch) leavesUsed() int {
	n := 0
	last := NoUnit
	s.stamp++
	s.groups = sized(s.groups, s.f.top.base+1)
	for _, id := range s.order {
		l := s.f.top.unitOf[id]
		if l == last || l == NoUnit {
			continue
		}
		if last = l; s.groups[l] != s.stamp {
			s.groups[l] = s.stamp
			n++
		}
	}
	return n
}
