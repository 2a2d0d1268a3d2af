package topology

import (
	"math"
	"math/bits"
)

// mayWait reports whether the counts of single nodes can wait until nodes are
// chosen from: the request is for domains above them, and says nothing of single
// nodes but what they take.
func (ws *LevelScratch) mayWait() bool {
	r, last := ws.req, ws.lv.Len()-1
	if last == 0 || r.Leader || r.Balanced || r.Exclusive >= 0 && r.Occupied != nil || ws.unit(last) != 1 {
		return false
	}
	if r.Want == NoLevel && r.Must == NoLevel {
		return len(r.Slices) > 0 // else the nodes are one pool
	}
	return max(r.Want, r.Must) < last
}

// countDomains counts the level above the nodes, and where slices may break all
// levels.
func (ws *LevelScratch) countDomains() {
	l := ws.lv.Len() - 2
	ws.res.Outside, ws.res.Owned = 0, 0
	c := &ws.levels[l]
	if ws.req.Each > 0 {
		ws.eachDomain(c)
	} else {
		ws.sumDomains(c)
	}
	if ws.ends(l) {
		ws.toUnits(l)
	}
	nodes := &ws.levels[l+1]
	nodes.units, nodes.unitsLost = nodes.members, nodes.membersLost
	ws.counted = l
	if ws.layers[0].Size > 1 {
		ws.countTo(0)
		ws.countBroken(l)
	}
}

// countTo counts the levels up to l that are not counted yet.
func (ws *LevelScratch) countTo(l int) {
	for ws.counted > l {
		ws.counted--
		ws.sumChildren(ws.counted)
		ws.toUnits(ws.counted)
	}
}

// eachDomain counts the members of the domains above the nodes if every eligible
// node takes the same.
func (ws *LevelScratch) eachDomain(c *levelColumns) {
	lv, r := ws.lv, ws.req
	first := lv.levels[lv.Len()-2].first
	if r.Eligible == nil {
		for d := range c.members {
			n := r.Each * (first[d+1] - first[d])
			c.members[d], c.units[d] = n, n
		}
		ws.res.Outside = int64(r.Each) * int64(lv.n-len(lv.nodeAt))
		return
	}
	words := r.Eligible.Words()
	units, in := c.units[:len(c.members)], int32(0)
	for d := range c.members {
		b := &lv.bits[d]
		n := int32(0)
		switch {
		case b.mask != 0:
			n = int32(bits.OnesCount64(words[b.word] & b.mask))
		case b.start != NoNode:
			n = int32(countRange(words, b.start, b.start+NodeID(first[d+1]-first[d])))
		default:
			for _, id := range lv.nodeAt[first[d]:first[d+1]] {
				n += int32(words[id>>6] >> (uint(id) & 63) & 1)
			}
		}
		in += n
		c.members[d], units[d] = r.Each*n, r.Each*n
	}
	if len(lv.nodeAt) < lv.n {
		ws.res.Outside = int64(r.Each) * int64(countBits(words)-int(in))
	}
	ws.res.Steps += int64(len(words) + len(c.members))
}

// sumDomains adds up what the nodes of each domain above them take.
func (ws *LevelScratch) sumDomains(c *levelColumns) {
	lv, r := ws.lv, ws.req
	first := lv.levels[lv.Len()-2].first
	for d := range c.members {
		n := int32(0)
		switch at := lv.bits[d].start; {
		case at != NoNode && r.Eligible == nil:
			for _, x := range r.Capacity[at : at+NodeID(first[d+1]-first[d])] {
				n += max(x, 0)
			}
		default:
			for _, id := range lv.nodeAt[first[d]:first[d+1]] {
				if x := max(r.Capacity[id], 0); r.Eligible == nil || r.Eligible.Has(id) {
					n += x
				} else {
					ws.res.Outside += int64(x)
				}
			}
		}
		c.members[d], c.units[d] = n, n
	}
	if len(lv.nodeAt) < lv.n {
		for id, x := range r.Capacity {
			if lv.at[id] < 0 {
				ws.res.Outside += int64(max(x, 0))
			}
		}
	}
	ws.res.Steps += int64(lv.n)
}

// countEach fills the level of nodes if every eligible node takes the same.
func (ws *LevelScratch) countEach(c *levelColumns) {
	lv, r := ws.lv, ws.req
	in := 0
	for i, id := range lv.nodeAt {
		c.members[i] = 0
		if r.Eligible == nil || r.Eligible.Has(id) {
			c.members[i] = r.Each
			in++
		}
	}
	all := lv.n
	if r.Eligible != nil {
		all = r.Eligible.Count()
	}
	ws.res.Outside = int64(r.Each) * int64(all-in)
}

// fillPool works out what the nodes of the pool take, if it is one of nodes and
// they have waited.
func (ws *LevelScratch) fillPool(l int) {
	if !ws.lazy || l < ws.lv.Len()-1 {
		return
	}
	r, c := ws.req, &ws.levels[l]
	for _, d := range ws.pool {
		id := ws.lv.nodeAt[d]
		switch {
		case r.Eligible != nil && !r.Eligible.Has(id):
			c.members[d] = 0
		case r.Each > 0:
			c.members[d] = r.Each
		default:
			c.members[d] = max(r.Capacity[id], 0)
		}
	}
	ws.res.Steps += int64(len(ws.pool))
}

// singleOf is single for the pool of all domains of level l.
func (ws *LevelScratch) singleOf(l int, need int32, leader bool) int32 {
	if leader || ws.fill == FillMostFree {
		ws.allOf(l)
		return ws.single(l, need, leader)
	}
	c := &ws.levels[l]
	best, least := int32(-1), int32(math.MaxInt32)
	for d, u := range c.units {
		if u < need || u > least || u == least && best >= 0 && c.members[d] >= c.members[best] {
			continue
		}
		best, least = int32(d), u
	}
	ws.res.Steps += int64(len(c.units))
	return best
}
