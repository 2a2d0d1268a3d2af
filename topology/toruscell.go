package topology

import (
	"math"
	"math/bits"
)

// A cellGrid is the first placement of a single cell in a torus whose nodes are
// consecutive, in a form that is looked at word by word: from word on, cover are
// the nodes at its anchors; head and tail mask the first and last of these words.
type cellGrid struct {
	word       int32
	head, tail uint64
	cover      []uint64
	lo         NodeID
	rank       []int32  // anchor of node lo+n
	nodes      []NodeID // by anchor
	larger     []anchor // of the next larger placement
}

// layGrids lays out the toruses that have a placement of one cell, unless one
// of them cannot be.
func (tr *torus) layGrids() {
	for u := range tr.units {
		tu := &tr.units[u]
		if len(tu.shapes) == 0 || tu.shapes[0].volume != 1 {
			continue
		}
		g := tu.grid()
		if g == nil {
			tr.grids = nil
			return
		}
		tr.grids = append(tr.grids, g)
	}
}

// grid lays out the cells of a torus, nil if its nodes are not consecutive.
func (tu *torusUnit) grid() *cellGrid {
	lo, hi, n := NoNode, NoNode, 0
	for _, id := range tu.cells {
		if id == NoNode {
			continue
		}
		if n == 0 {
			lo, hi = id, id
		}
		lo, hi, n = min(lo, id), max(hi, id), n+1
	}
	if n == 0 || int(hi-lo)+1 != n {
		return nil
	}
	sh := &tu.shapes[0] // shapes are sorted by volume
	first, last, head, tail := rangeMasks(lo, hi+1)
	g := &cellGrid{word: int32(first), head: head, tail: tail, cover: make([]uint64, last-first+1), lo: lo, rank: make([]int32, n)}
	if sh.larger >= 0 {
		g.larger = tu.shapes[sh.larger].anchors
	}
	for i := range sh.anchors {
		id := NoNode
		if a := &sh.anchors[i]; len(a.word) > 0 {
			id = NodeID(int(a.word[0])<<6 + bits.TrailingZeros64(a.mask[0]))
			g.rank[id-lo] = int32(i)
			setBit(g.cover, id-NodeID(g.word)<<6)
		}
		g.nodes = append(g.nodes, id)
	}
	return g
}

// oneCell is the fit of a job of one node in toruses where nothing orders the
// nodes but the toruses: the node that fitTorus takes at its first try, found
// without a copy of the sets. Where that node will not do, known is false, and the
// long way says what then, unless no node at all has what is wanted.
func (s *Scratch) oneCell() (ok, known bool) {
	r, t := s.req, s.f.top
	if !r.Sifted || s.required || !s.uniform() || r.Arbitrary || r.WholeNode && r.MaxCPUs > 0 || r.RelaxedCPUs != nil || r.RelaxedGPUs != nil {
		return false, false
	}
	if len(t.torus.grids) == 0 {
		return false, false
	}
	id := s.cheapCell(s.emptiest(t.torus.grids))
	if id == NoNode {
		return false, false
	}
	s.column(true)
	s.res.Fits++
	s.forgetOne()
	s.why = Refusal{Unit: NoUnit}
	if !s.grantNode(id) {
		s.res.Fits--
		return false, false
	}
	if s.met() {
		return true, true
	}
	s.short(dropHinted, 0, 0, 0)
	if s.beyond() && s.mostCPUs > 0 && (r.GPUs <= 0 || s.mostGPUs > 0) {
		return false, s.hopeless(wayUnits)
	}
	s.res.Fits--
	return false, false
}

// emptiest returns the grid with the fewest eligible nodes but not none, the first
// on ties; any if all have none.
func (s *Scratch) emptiest(grids []*cellGrid) *cellGrid {
	at, best := grids[0], math.MaxInt
	for _, g := range grids {
		w := s.base[g.word : int(g.word)+len(g.cover)]
		n, rest := 0, w
		for ; len(rest) >= 8; rest = rest[8:] { // as countBits does, without a call
			x := (*[8]uint64)(rest)
			n += bits.OnesCount64(x[0]) + bits.OnesCount64(x[1]) + bits.OnesCount64(x[2]) + bits.OnesCount64(x[3]) +
				bits.OnesCount64(x[4]) + bits.OnesCount64(x[5]) + bits.OnesCount64(x[6]) + bits.OnesCount64(x[7])
		}
		for _, x := range rest {
			n += bits.OnesCount64(x)
		}
		if g.head&g.tail != ^uint64(0) {
			n -= bits.OnesCount64(w[0]&^g.head) + bits.OnesCount64(w[len(w)-1]&^g.tail)
		}
		if n > 0 && n < best {
			at, best = g, n
		}
	}
	s.res.Steps += int64(len(s.base))
	return at
}

// cheapCell returns the eligible cell of g that lies in the fewest free boxes of
// the next larger placement, the first by anchor on ties; NoNode if there is none.
func (s *Scratch) cheapCell(g *cellGrid) NodeID {
	n, planes := len(g.cover), bits.Len(uint(len(g.larger)))
	s.torusCells = sized(s.torusCells, (2+planes)*n)
	left, hit, count := s.torusCells[:n], s.torusCells[n:2*n], s.torusCells[2*n:]
	any := uint64(0)
	for i, x := range g.cover {
		left[i] = x & s.base[int(g.word)+i]
		any |= left[i]
	}
	if any == 0 {
		return NoNode
	}
	if len(g.larger) > 0 {
		clear(hit)
		s.bigFree = sized(s.bigFree, len(g.larger))
		for i := range g.larger {
			a := &g.larger[i]
			if s.bigFree[i] = a.free(s.base); s.bigFree[i] {
				for j, w := range a.word {
					hit[w-g.word] |= a.mask[j]
				}
			}
		}
		s.res.Steps += int64(len(g.larger))
		if !without(left, hit) {
			s.leastHit(g, left, count)
		}
	}
	return s.firstAnchor(g, left)
}

// without takes the bits of b out of a, but leaves a as it is and returns false if
// none would be left.
func without(a, b []uint64) bool {
	any := uint64(0)
	for i, x := range a {
		any |= x &^ b[i]
	}
	if any == 0 {
		return false
	}
	for i := range a {
		a[i] &^= b[i]
	}
	return true
}

// leastHit leaves of the cells those that the fewest free larger boxes hold. The
// boxes are added up for all cells of a word at once, in planes of count, one for
// each binary digit.
func (s *Scratch) leastHit(g *cellGrid, left, count []uint64) {
	n := len(left)
	clear(count)
	for i := range g.larger {
		if !s.bigFree[i] {
			continue
		}
		a := &g.larger[i]
		for j, w := range a.word {
			c := a.mask[j]
			for p := int(w - g.word); c != 0; p += n {
				count[p], c = count[p]^c, count[p]&c
			}
		}
		s.res.Steps += int64(len(a.word))
	}
	for p := len(count) - n; p >= 0; p -= n {
		without(left, count[p:p+n])
	}
}

// firstAnchor returns the node of left whose anchor comes first.
func (s *Scratch) firstAnchor(g *cellGrid, left []uint64) NodeID {
	base := NodeID(g.word) << 6
	if n := countBits(left); n*n > len(g.nodes) { // then the anchors tell soon
		for i, id := range g.nodes {
			if id != NoNode && hasBit(left, id-base) {
				s.res.Steps += int64(i)
				return id
			}
		}
	}
	best, at := int32(math.MaxInt32), NoNode
	for id := nextBit(left, 0); id != NoNode; id = nextBit(left, id+1) {
		if k := g.rank[base+id-g.lo]; k < best {
			best, at = k, base+id
		}
		s.res.Steps++
	}
	return at
}
