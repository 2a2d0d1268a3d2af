package topology

import "math/bits"

// A SlotWeight says what it is worth to keep room for one more part of some
// size: the weights of what a block placement of the profile Best maximises.
type SlotWeight struct {
	// Nodes is the size of the part, at least 1.
	Nodes int32
	// Weight is the worth of each such part that could still be placed.
	Weight int64
}

// slotLimit bounds the steps of the optimal placement in one block; larger
// problems are placed as Compat places them.
const slotLimit = 1 << 24

// A slotCell is the best worth of what a stretch of base blocks keeps when it
// gives some nodes from some low groups, and how many of both its first half
// gives.
type slotCell struct {
	worth int64
	nodes int32
	group int32
}

// never is the worth of what cannot be.
const never = -1 << 60

// worthOf returns what free nodes in a block of 2^level base blocks are worth.
func (s *Scratch) worthOf(level int, free int) int64 {
	sum := int64(0)
	for i, w := range s.f.opt.Slots {
		if s.slotLevel[i] == level && w.Nodes > 0 {
			sum += w.Weight * int64(free/int(w.Nodes))
		}
	}
	return sum
}

// slotLevels works out at which level parts of each size lie; maxLevel+1 is the
// whole topology.
func (s *Scratch) slotLevels() {
	bl := s.f.top.block
	s.slotLevel = s.slotLevel[:0]
	for _, w := range s.f.opt.Slots {
		p := bl.level(int(max(w.Nodes, 1)), s.f.top.base)
		level := bits.TrailingZeros(uint(p.width))
		if p.whole {
			level = maxLevel + 1
		}
		s.slotLevel = append(s.slotLevel, level)
	}
}

// chooseBySlots makes the block of p the one in which the part leaves the most
// worth, ties as Compat orders them, and puts into giving how many nodes each of
// its base blocks gives. It reports false if Compat is to choose.
func (s *Scratch) chooseBySlots(p *blockPart, k int, area *blockPart) bool {
	t := s.f.top
	if k > 1 && s.req.Consolidate && area.hi == 0 || !s.uniform() {
		return false
	}
	if n, m := p.size+1, p.groupsMax()+1; n > 1<<12 || m > 1<<8 || p.width*n*n*m*m > slotLimit {
		return false
	}
	s.slotLevels()
	s.giving = sized(s.giving, t.base)
	best, bestWorth, bestFree := -1, int64(0), 0
	for i := range (t.base + p.width - 1) / p.width {
		lo, hi := i*p.width, min((i+1)*p.width, t.base)
		free := s.freeIn(lo, hi)
		if free < s.rem || !s.cpusIn(lo, hi, free) || p.active && s.reach(p, lo, hi) < s.rem {
			continue
		}
		q := *p
		q.lo, q.hi = lo, hi
		worth := s.slotTable(&q) + s.worthAround(&q)
		if best < 0 || worth > bestWorth || worth == bestWorth && free <= bestFree {
			best, bestWorth, bestFree = i, worth, free
		}
	}
	if best < 0 {
		return false
	}
	p.lo, p.hi = best*p.width, min((best+1)*p.width, t.base)
	inside := s.slotTable(p)
	s.simulateFill(p)
	if s.worthInside(p) < inside {
		s.slotTable(p)
		s.unfold(p)
	}
	return true
}

// groupsMax bounds the low groups that a table tells apart.
func (p *blockPart) groupsMax() int {
	if p.active {
		return p.limit
	}
	return 0
}

// worthAround is the change of worth of the block itself and of all around it
// when the part is taken, less what lies inside is worth as it is.
func (s *Scratch) worthAround(p *blockPart) int64 {
	t := s.f.top
	sum := -s.worthBefore(p)
	for level := p.inner(); level <= maxLevel+1; level++ {
		width := t.base
		if level <= maxLevel {
			width = 1 << level
		}
		lo := p.lo / width * width
		free := s.freeIn(lo, min(lo+width, t.base))
		sum += s.worthOf(level, free-s.rem) - s.worthOf(level, free)
	}
	return sum
}

// inner returns the number of levels that lie inside the block of p.
func (p *blockPart) inner() int {
	if p.whole {
		return maxLevel + 1
	}
	return bits.TrailingZeros(uint(p.width))
}

// worthBefore is the worth of what lies inside the block as it is.
func (s *Scratch) worthBefore(p *blockPart) int64 {
	sum := int64(0)
	for level := range p.inner() {
		width := 1 << level
		for lo := p.lo; lo < p.hi; lo += width {
			sum += s.worthOf(level, s.freeIn(lo, min(lo+width, p.hi)))
		}
	}
	return sum
}

// worthInside is the worth of what lies inside the block after giving.
func (s *Scratch) worthInside(p *blockPart) int64 {
	sum := int64(0)
	for level := range p.inner() {
		width := 1 << level
		for lo := p.lo; lo < p.hi; lo += width {
			free := 0
			for b := lo; b < min(lo+width, p.hi); b++ {
				free += int(s.count[b] - s.giving[b])
			}
			sum += s.worthOf(level, free)
		}
	}
	return sum
}

// simulateFill puts into giving what Compat would take of each base block.
func (s *Scratch) simulateFill(p *blockPart) {
	s.stamp++
	s.groups = sized(s.groups, s.f.top.base+1)
	s.countPool(p, s.cand)
	clear(s.giving[p.lo:p.hi])
	keep, left := s.rem, p.limit
	for s.rem > 0 {
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
		n := min(int(s.pooled[b]), s.rem)
		s.giving[b] = int32(n)
		s.rem -= n
		s.pooled[b] = 0
	}
	if s.rem > 0 { // Compat would stall
		clear(s.giving[p.lo:p.hi])
	}
	s.rem = keep
}

// slotTable fills the table of the block of p and returns the best worth inside.
//
// Stretches of 2^j base blocks, aligned, are nodes of a binary tree; the table of
// a stretch has a row for each number of low groups in use (one row if they do
// not count) and a column for each number of nodes given.
func (s *Scratch) slotTable(p *blockPart) int64 {
	s.cells, s.tables = s.cells[:0], s.tables[:0]
	levels := bits.Len(uint(p.hi - p.lo - 1))
	s.slotNode(p, levels, p.lo)
	root := s.tables[len(s.tables)-1]
	best := int64(never)
	for m := range p.groupsMax() + 1 {
		best = max(best, s.cell(root, m, s.rem).worth)
	}
	return best
}

// A slotTableAt is where the table of a stretch lies in cells.
type slotTableAt struct {
	at, width   int32 // width is one more than the nodes it can give
	left, right int32 // tables of its halves, or -1
	base        int32 // the base block of a leaf
}

func (s *Scratch) cell(t slotTableAt, m, x int) *slotCell {
	if x < 0 || x >= int(t.width) {
		return &noCell
	}
	return &s.cells[int(t.at)+m*int(t.width)+x]
}

var noCell = slotCell{worth: never}

// slotNode appends the table of the stretch of 2^level base blocks at lo and
// returns its index; -1 for a stretch past the end.
func (s *Scratch) slotNode(p *blockPart, level, lo int) int32 {
	if lo >= p.hi {
		return -1
	}
	left, right := int32(-1), int32(-1)
	free := 0
	if level > 0 {
		left = s.slotNode(p, level-1, lo)
		right = s.slotNode(p, level-1, lo+1<<(level-1))
		free = s.freeIn(lo, min(lo+1<<level, p.hi))
	} else {
		free = int(s.count[lo])
	}
	rows := p.groupsMax() + 1
	t := slotTableAt{at: int32(len(s.cells)), width: int32(min(free, s.rem)) + 1, left: left, right: right, base: int32(lo)}
	for range rows * int(t.width) {
		s.cells = append(s.cells, slotCell{worth: never})
	}
	for x := range int(t.width) {
		own := int64(0)
		if level < p.inner() {
			own = s.worthOf(level, free-x)
		}
		s.fillCells(p, t, level, x, own)
	}
	s.tables = append(s.tables, t)
	s.res.Steps += int64(rows) * int64(t.width)
	return int32(len(s.tables) - 1)
}

// fillCells fills column x of table t; own is the worth of the stretch itself.
func (s *Scratch) fillCells(p *blockPart, t slotTableAt, level, x int, own int64) {
	rows := p.groupsMax() + 1
	for m := range rows {
		c := s.cell(t, m, x)
		switch {
		case level == 0:
			if m == p.uses(level, x) {
				c.worth = own
			}
			continue
		case t.right < 0:
			row := m
			if level <= p.group {
				if m != p.uses(level, x) {
					continue
				}
				row = 0
			}
			if sub := s.cell(s.tables[t.left], row, x); sub.worth > never {
				*c = slotCell{worth: sub.worth + own, nodes: int32(x), group: int32(row)}
			}
			continue
		}
		s.splitCell(p, t, level, m, x, own, c)
	}
}

// uses returns how many low groups a stretch of 2^level base blocks inside one
// group counts as when it gives x nodes.
func (p *blockPart) uses(level, x int) int {
	if !p.active || level != p.group || x == 0 {
		return 0
	}
	return 1
}

// splitCell finds the best way for the halves of t to give x nodes from m groups.
func (s *Scratch) splitCell(p *blockPart, t slotTableAt, level, m, x int, own int64, c *slotCell) {
	l, r := s.tables[t.left], s.tables[t.right]
	most := m
	if level <= p.group { // halves inside one group do not count groups themselves
		if m != p.uses(level, x) {
			return
		}
		most, m = 0, 0
	}
	for a := max(0, x-int(r.width)+1); a <= min(x, int(l.width)-1); a++ {
		for g := 0; g <= most; g++ {
			lc, rc := s.cell(l, g, a), s.cell(r, m-g, x-a)
			if lc.worth == never || rc.worth == never {
				continue
			}
			// Of equals the later half gives more, as Compat prefers high blocks.
			if w := lc.worth + rc.worth + own; w > c.worth {
				*c = slotCell{worth: w, nodes: int32(a), group: int32(g)}
			}
		}
	}
}

// unfold puts the best giving of the table into giving.
func (s *Scratch) unfold(p *blockPart) {
	clear(s.giving[p.lo:p.hi])
	root := len(s.tables) - 1
	best := 0
	for m := range p.groupsMax() + 1 {
		if s.cell(s.tables[root], m, s.rem).worth > s.cell(s.tables[root], best, s.rem).worth {
			best = m
		}
	}
	s.unfoldNode(p, int32(root), bits.Len(uint(p.hi-p.lo-1)), best, s.rem)
}

func (s *Scratch) unfoldNode(p *blockPart, table int32, level, m, x int) {
	t := s.tables[table]
	if level == 0 {
		s.giving[t.base] = int32(x)
		return
	}
	c := *s.cell(t, m, x)
	if level <= p.group {
		m = 0
	}
	s.unfoldNode(p, t.left, level-1, int(c.group), int(c.nodes))
	if t.right >= 0 {
		s.unfoldNode(p, t.right, level-1, m-int(c.group), x-int(c.nodes))
	}
}

// give takes from each base block of p what giving says.
func (s *Scratch) give(p *blockPart) verdict {
	t := s.f.top
	for b := p.lo; b < p.hi; b++ {
		left := s.giving[b]
		sp := &t.spans[b]
		for id := sp.next(s.cand, 0); id != NoNode && left > 0 && s.maxRem > 0; id = sp.next(s.cand, id+1) {
			if s.takeIn(id) {
				left--
			}
		}
	}
	if s.met() {
		return fits
	}
	return s.blockShort(dropHinted, p)
}
