package topology

import "slices"

func sortNodes(ids []NodeID) { slices.Sort(ids) }

// before reports whether domain a of level l comes before b in the order of fill.
func (ws *LevelScratch) before(l int, a, b int32) bool {
	c := &ws.levels[l]
	if c.units[a] != c.units[b] {
		return (c.units[a] < c.units[b]) == (ws.fill == FillLeastFree)
	}
	if c.members[a] != c.members[b] {
		return c.members[a] < c.members[b]
	}
	return a < b
}

// single returns the domain of the pool that holds need units alone, or -1: the
// one with the fewest units that suffice, with FillMostFree the one with the
// most.
func (ws *LevelScratch) single(l int, need int32, leader bool) int32 {
	best := int32(-1)
	c := &ws.levels[l]
	for _, d := range ws.pool {
		if ws.room(l, d, leader) < need {
			continue
		}
		switch {
		case best < 0:
		case ws.fill == FillMostFree:
			if !ws.before(l, d, best) {
				continue
			}
		case c.units[d] != c.units[best]:
			if c.units[d] > c.units[best] {
				continue
			}
		case !ws.before(l, d, best):
			continue
		}
		best = d
	}
	ws.res.Steps += int64(len(ws.pool))
	return best
}

// choose spreads need units over domains of the pool, puts the chosen ones into
// chosen and what they give into give, and returns the domain of the leader, or
// -1; ok is false if the pool is too small.
func (ws *LevelScratch) choose(l int, need int32, leader bool) (lead int32, ok bool) {
	c := &ws.levels[l]
	ws.chosen = ws.chosen[:0]
	lead = -1
	if d := ws.single(l, need, leader); d >= 0 {
		c.give[d] = need
		ws.chosen = append(ws.chosen, d)
		if leader {
			lead = d
		}
		return lead, true
	}
	total := int64(0)
	for _, d := range ws.pool {
		total += int64(c.units[d])
	}
	if total < int64(need) {
		return -1, false
	}
	if leader {
		if lead = ws.leaderDomain(l, int64(need), total); lead < 0 {
			return -1, false
		}
		n := min(ws.room(l, lead, true), need)
		c.give[lead] = n
		need -= n
		ws.chosen = append(ws.chosen, lead)
	}
	ws.takeInOrder(l, need, lead)
	return lead, true
}

// leaderDomain returns the first domain in order that can have the leader while
// the pool still holds need units, or -1.
func (ws *LevelScratch) leaderDomain(l int, need, total int64) int32 {
	c := &ws.levels[l]
	best := int32(-1)
	for _, d := range ws.pool {
		if c.lead[d] && total-int64(c.unitsLost[d]) >= need && (best < 0 || ws.before(l, d, best)) {
			best = d
		}
	}
	return best
}

// takeInOrder takes domains of the pool but skip in order until need units are
// given. FillBestFit looks, as soon as the next one could finish, for the
// smallest that can.
func (ws *LevelScratch) takeInOrder(l int, need, skip int32) {
	c := &ws.levels[l]
	ws.firstOf(l, need, skip)
	for _, d := range ws.heap {
		if need <= 0 {
			return
		}
		if ws.fill == FillBestFit && c.units[d] >= need {
			d = ws.smallestFinish(l, need, skip, d)
		}
		n := min(c.units[d], need)
		c.give[d] = n
		ws.chosen = append(ws.chosen, d)
		need -= n
	}
}

// smallestFinish returns the domain of the pool with the fewest units of those
// with need units or more, the first on ties; those before next in order have
// been chosen.
func (ws *LevelScratch) smallestFinish(l int, need, skip, next int32) int32 {
	c := &ws.levels[l]
	best := next
	for _, d := range ws.pool {
		if d == skip || c.units[d] < need || ws.before(l, d, next) {
			continue
		}
		if c.units[d] < c.units[best] || c.units[d] == c.units[best] && ws.before(l, d, best) {
			best = d
		}
	}
	ws.res.Steps += int64(len(ws.pool))
	return best
}

// firstOf puts the first domains of the pool into heap, in order; as each gives a
// unit or more, need of them are enough.
func (ws *LevelScratch) firstOf(l int, need, skip int32) {
	c := &ws.levels[l]
	ws.heap = ws.heap[:0]
	room := int(max(need, 0))
	for _, d := range ws.pool {
		switch {
		case d == skip || c.units[d] == 0 || room == 0:
		case len(ws.heap) < room:
			ws.heap = append(ws.heap, d)
			if len(ws.heap) == room {
				for i := room/2 - 1; i >= 0; i-- {
					ws.sinkLast(l, i)
				}
			}
		case ws.before(l, d, ws.heap[0]):
			ws.heap[0] = d
			ws.sinkLast(l, 0)
		}
	}
	slices.SortFunc(ws.heap, func(a, b int32) int {
		if ws.before(l, a, b) {
			return -1
		}
		return 1
	})
	ws.res.Steps += int64(len(ws.pool))
}

// sinkLast moves heap[i] down a heap with the last domain in order at its root.
func (ws *LevelScratch) sinkLast(l, i int) {
	h := ws.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && ws.before(l, h[c], h[c+1]) {
			c++
		}
		if !ws.before(l, h[i], h[c]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// descend spreads need units over the pool of level l and goes down to the nodes:
// down to the level of the outermost slices the children of all chosen domains
// are one pool, below each domain spreads what it was given over its own
// children.
func (ws *LevelScratch) descend(l int, need int32) bool {
	outer := ws.layers[0].Level
	lead, ok := ws.choose(l, need, ws.req.Leader)
	if !ok {
		return ws.refuseLevel(RuleCount, need, NoLevel, NoLevel)
	}
	for ; l < outer; l++ {
		ws.childrenOf(l)
		if lead, ok = ws.choose(l+1, need, ws.req.Leader); !ok {
			return ws.refuseLevel(RuleCount, need, NoLevel, NoLevel)
		}
	}
	for ; l < ws.lv.Len()-1; l++ {
		if lead, ok = ws.spread(l, lead); !ok {
			return ws.refuseLevel(RuleCount, need, NoLevel, NoLevel)
		}
	}
	if ws.req.Leader && lead >= 0 {
		ws.res.Leader = ws.lv.nodeAt[lead]
	}
	ws.toMembers()
	return true
}

// toMembers turns what the chosen nodes give from units into members.
func (ws *LevelScratch) toMembers() {
	last := ws.lv.Len() - 1
	if unit := ws.unit(last); unit > 1 {
		for _, d := range ws.chosen {
			ws.levels[last].give[d] *= unit
		}
	}
}

// childrenOf makes the children of the chosen domains of level l the pool.
func (ws *LevelScratch) childrenOf(l int) {
	first := ws.lv.levels[l].first
	ws.pool = ws.pool[:0]
	for _, d := range ws.chosen {
		for i := first[d]; i < first[d+1]; i++ {
			ws.pool = append(ws.pool, i)
		}
	}
	slices.Sort(ws.pool)
	ws.fillPool(l + 1)
}

// spread lets each chosen domain of level l give what it has to its children;
// the one with the leader passes it on.
func (ws *LevelScratch) spread(l int, lead int32) (below int32, ok bool) {
	c := &ws.levels[l]
	first := ws.lv.levels[l].first
	ratio := ws.unit(l) / ws.unit(l+1)
	ws.given = append(ws.given[:0], ws.chosen...)
	ws.row = ws.row[:0]
	below = -1
	for _, d := range ws.given {
		ws.pool = ws.pool[:0]
		for i := first[d]; i < first[d+1]; i++ {
			ws.pool = append(ws.pool, i)
		}
		ws.fillPool(l + 1)
		leader := ws.req.Leader && d == lead
		if c.give[d] == 0 && !leader {
			continue
		}
		sub, ok := ws.choose(l+1, c.give[d]*ratio, leader)
		if !ok {
			return -1, false
		}
		if leader {
			below = sub
		}
		for _, i := range ws.chosen {
			ws.row = append(ws.row, int64(i))
		}
	}
	ws.chosen = ws.chosen[:0]
	for _, i := range ws.row {
		ws.chosen = append(ws.chosen, int32(i))
	}
	return below, true
}
