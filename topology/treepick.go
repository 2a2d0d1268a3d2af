package topology

// leafLoop takes leaf after leaf until done or nothing is taken.
func (s *Scratch) leafLoop() {
	tr := s.f.top.tree
	groups := tr.groupsOf(s.top)
	s.fullest = sized(s.fullest, len(tr.groups))
	for _, g := range groups {
		s.fullest[g] = s.fullestOf(g, s.count)
	}
	s.res.Steps += int64(len(tr.leavesOf(s.top)))
	for s.maxRem > 0 && !s.done() {
		l := s.pickLeaf(groups)
		if l == NoUnit {
			return
		}
		n := s.drainLeaf(l)
		if n == 0 {
			return
		}
		s.subtract(l, n)
		if !s.marked[l] {
			s.mark(l)
		}
		g := tr.groupOf[tr.leafAt[l]]
		s.fullest[g] = s.fullestOf(g, s.count)
		s.res.Steps += int64(tr.groups[g].hi - tr.groups[g].lo)
	}
}

// fullestOf returns the unmarked leaf of group g with the most candidates, the
// first on ties; NoUnit if it has none.
func (s *Scratch) fullestOf(g int32, count []int32) UnitID {
	tr := s.f.top.tree
	best := NoUnit
	for _, l := range tr.leaves[tr.groups[g].lo:tr.groups[g].hi] {
		if count[l] > 0 && !s.marked[l] && (best == NoUnit || count[l] > count[best]) {
			best = l
		}
	}
	return best
}

// pickLeaf chooses an unmarked leaf with candidates: in file order a later leaf
// displaces the best so far if it is nearer to the marked switches and fits, or
// as near and compares better. NoUnit if there is none.
//
// Consecutive leaves of one parent are looked at as one. They are equally far,
// and as long as none of them fits they compare alike with any leaf elsewhere,
// for the climb begins with their parent; among themselves the fullest wins, or
// the least full of those that fit. So the winner of the group displaces the best
// leaf so far if any of the group would, and then it is what the scan of all
// leaves would have ended with.
func (s *Scratch) pickLeaf(groups []int32) UnitID {
	best, bestFar := NoUnit, int64(0)
	for _, g := range groups {
		l := s.fullest[g]
		if l == NoUnit {
			continue
		}
		if int(s.count[l]) >= s.rem {
			l = s.bestOf(g)
		}
		far := int64(0)
		if s.marks > 0 {
			far = s.far(l)
		}
		if best == NoUnit {
			best, bestFar = l, far
			continue
		}
		if far > bestFar {
			continue
		}
		if better, ok := s.compareLeaves(l, best); far < bestFar && ok || far == bestFar && better {
			best, bestFar = l, far
		}
	}
	s.res.Steps += int64(len(groups))
	return best
}

// bestOf returns the unmarked leaf of group g that compares best, the first on
// ties.
func (s *Scratch) bestOf(g int32) UnitID {
	tr := s.f.top.tree
	best := NoUnit
	for _, l := range tr.leaves[tr.groups[g].lo:tr.groups[g].hi] {
		if s.count[l] <= 0 || s.marked[l] {
			continue
		}
		if best == NoUnit {
			best = l
			continue
		}
		if better, _ := s.compareLeaves(l, best); better {
			best = l
		}
	}
	s.res.Steps += int64(tr.groups[g].hi - tr.groups[g].lo)
	return best
}

// fitsBelow reports whether the candidates below switch u can finish the job.
func (s *Scratch) fitsBelow(u UnitID) bool {
	n := s.count[u]
	return int(n) >= s.rem && s.cpusFit(u, n)
}

// compareLeaves climbs from leaves i and j until one fits or they meet. better
// says that i is to be preferred, iFits that i fits where the climb ended.
func (s *Scratch) compareLeaves(i, j UnitID) (better, iFits bool) {
	t := s.f.top
	for {
		fi, fj := s.fitsBelow(i), s.fitsBelow(j)
		switch {
		case fi && fj:
			if s.count[i] != s.count[j] {
				return s.count[i] < s.count[j], true
			}
		case fi || fj:
			return fi, fi
		default:
			if pi, pj := t.units[i].parent, t.units[j].parent; pi != pj && pi != NoUnit && pj != NoUnit {
				i, j = pi, pj
				continue
			}
		}
		if s.count[i] != s.count[j] {
			return s.count[i] > s.count[j], fi
		}
		return t.units[i].level < t.units[j].level, fi
	}
}

// fillDragonfly takes nodes leaf by leaf in turn (spec 2.7).
func (s *Scratch) fillDragonfly() verdict {
	t := s.f.top
	leaves := t.tree.leavesOf(s.top)
	only, marked := NoUnit, 0
	for _, l := range leaves {
		if s.marked[l] {
			only = l
			marked++
		}
	}
	if marked == 0 {
		for _, l := range leaves {
			if s.count[l] > 0 && (only == NoUnit || s.count[l] > s.count[only]) {
				only = l
			}
		}
		marked = 1
	}
	if marked == 1 && only != NoUnit && int(s.count[only]) >= s.needed() && s.cpusFit(only, s.count[only]) {
		s.drainLeaf(only)
	}
	s.res.Steps += int64(len(leaves))
	s.roundRobin(leaves)
	if s.met() {
		return fits
	}
	return s.treeShort()
}

// roundRobin takes one node per leaf and round.
func (s *Scratch) roundRobin(leaves []UnitID) {
	t := s.f.top
	s.cursor = sized(s.cursor, t.base)
	for _, l := range leaves {
		s.cursor[l] = 0
	}
	for took := true; took; {
		took = false
		for _, l := range leaves {
			for s.cursor[l] != NoNode {
				if s.done() || s.maxRem <= 0 {
					return
				}
				id := t.spans[l].next(s.cand, s.cursor[l])
				if id == NoNode {
					s.cursor[l] = NoNode
					break
				}
				s.cursor[l] = id + 1
				if s.take(id) {
					took = true
					break
				}
			}
		}
		s.res.Steps += int64(len(leaves))
	}
}
