package topology

// leafLoop takes leaf after leaf until done or nothing is taken.
func (s *Scratch) leafLoop() {
	for s.maxRem > 0 && !s.done() {
		l := s.pickLeaf()
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
	}
}

// pickLeaf chooses an unmarked leaf with candidates: in file order a later leaf
// displaces the best so far if it is nearer to the marked switches and fits, or
// as near and compares better. NoUnit if there is none.
func (s *Scratch) pickLeaf() UnitID {
	t := s.f.top
	best, bestFar := NoUnit, int64(0)
	for _, l := range t.tree.leavesOf(s.top) {
		if s.marked[l] || s.count[l] <= 0 {
			continue
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
	s.res.Steps += int64(len(t.tree.leavesOf(s.top)))
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
