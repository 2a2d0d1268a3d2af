package topology

import "slices"

// An Assignment is where the members of a group are.
type Assignment struct {
	// Nodes are the nodes, ascending, and Members[i] the members on Nodes[i].
	Nodes   []NodeID
	Members []int32
	// Leader is the node of the leader, or NoNode.
	Leader NodeID
}

// Replace moves what cur has on failed nodes elsewhere, node by node in order, and
// leaves all else where it is; res becomes the whole new assignment. Capacity in
// req is what nodes could take beside what they hold. Members of a broken slice
// stay in its domain, else all stay in the domain of level Must, else they come as
// near as they can from level Want upwards.
//
// It refuses with RuleRequired if a node that is kept is in no domain any more:
// then the whole group must be placed anew. Failed nodes get nothing.
//
// Source: spec/topology.md 3.1, node replacement.
func (lv *Levels) Replace(ws *LevelScratch, req *LevelRequest, cur *Assignment, failed *NodeSet, res *LevelResult) bool {
	ws.begin(lv, req, res)
	if failed.Len() != lv.n {
		panic("topology: node set is not of the levels' cluster")
	}
	if !ws.valid() {
		return ws.refuseLevel(RuleConfig, 0, NoLevel, 0)
	}
	ws.hold(cur)
	for i, id := range cur.Nodes {
		if lv.at[id] < 0 && !failed.Has(id) || cur.Members[i] < 0 {
			return ws.refuseLevel(RuleRequired, req.Count, NoLevel, 0)
		}
	}
	leader := cur.Leader
	for id := failed.First(); id != NoNode; id = failed.Next(id + 1) {
		n := ws.held(id)
		ws.setHeld(id, 0)
		lead := id == leader
		if lead {
			ws.leaderAt = NoNode
		}
		if n == 0 && !lead {
			continue
		}
		at, ok := ws.more(n, lead, id, failed)
		if !ok {
			return false
		}
		if lead {
			leader, ws.leaderAt = at, at
		}
	}
	return ws.settled(leader)
}

// Grow adds more members to cur without moving any, in the domain of level Must
// if there is one, else as near as they can be from level Want upwards; res
// becomes the whole new assignment. Capacity in req is what nodes could take
// beside what they hold. more must be whole outermost slices.
func (lv *Levels) Grow(ws *LevelScratch, req *LevelRequest, cur *Assignment, more int32, res *LevelResult) bool {
	ws.begin(lv, req, res)
	if !ws.valid() || more < 1 || more%ws.layers[0].Size != 0 {
		return ws.refuseLevel(RuleConfig, 0, NoLevel, 0)
	}
	ws.hold(cur)
	if _, ok := ws.more(more, false, NoNode, nil); !ok {
		return false
	}
	return ws.settled(cur.Leader)
}

// Shrink takes fewer members away from cur: whole outermost slices, from the
// domains that hold the fewest first, widest level first, so that domains become
// empty; of equals from the last. res becomes the assignment that is left.
func (lv *Levels) Shrink(ws *LevelScratch, req *LevelRequest, cur *Assignment, fewer int32, res *LevelResult) bool {
	ws.begin(lv, req, res)
	total := int32(0)
	for _, m := range cur.Members {
		total += m
	}
	if !ws.valid() || fewer < 0 || fewer > total || fewer%ws.layers[0].Size != 0 {
		return ws.refuseLevel(RuleConfig, 0, NoLevel, 0)
	}
	ws.hold(cur)
	slices.SortFunc(ws.kept, func(a, b int32) int { return int(lv.at[lv.nodeAt[a]] - lv.at[lv.nodeAt[b]]) })
	ws.release(0, 0, int32(len(ws.kept)), fewer)
	return ws.settled(cur.Leader)
}

// hold notes what the nodes of cur hold: give at the level of nodes, the domains
// themselves in kept.
func (ws *LevelScratch) hold(cur *Assignment) {
	c := &ws.levels[ws.lv.Len()-1]
	ws.kept = ws.kept[:0]
	ws.leaderAt = cur.Leader
	ws.holds = sized(ws.holds, len(c.give))
	clear(ws.holds)
	for i, id := range cur.Nodes {
		if d := ws.lv.at[id]; d >= 0 {
			ws.holds[d] = cur.Members[i]
			ws.kept = append(ws.kept, d)
		}
	}
}

func (ws *LevelScratch) held(id NodeID) int32 {
	if d := ws.lv.at[id]; d >= 0 {
		return ws.holds[d]
	}
	return 0
}

func (ws *LevelScratch) setHeld(id NodeID, n int32) {
	if d := ws.lv.at[id]; d >= 0 {
		ws.holds[d] = n
	}
}

// more places n more members, and the leader if lead, near the kept ones: inside
// the domain of node from whose slice they break, else where Must and Want say.
// It returns the leader's node.
func (ws *LevelScratch) more(n int32, lead bool, from NodeID, failed *NodeSet) (leader NodeID, ok bool) {
	lv, r := ws.lv, *ws.req
	req := ws.req
	var layers [MaxSlices]Slice
	nl := 0
	search, to := NoLevel, NoLevel
	for _, s := range r.Slices {
		if n%s.Size != 0 {
			search, to = s.Level, s.Level // a broken slice: the innermost counts
		} else {
			layers[nl] = s
			nl++
		}
	}
	anchor := from
	if search == NoLevel {
		search, to = r.Want, r.Must
		if search == NoLevel {
			search = to
		}
		anchor = NoNode
		for _, d := range ws.kept {
			if ws.holds[d] > 0 {
				anchor = lv.nodeAt[d]
				break
			}
		}
		if anchor == NoNode && ws.leaderAt != NoNode {
			anchor = ws.leaderAt
		}
	}
	ws.sub = r
	ws.sub.Count, ws.sub.Leader, ws.sub.Slices, ws.sub.Balanced = n, lead, nil, false
	ws.req = &ws.sub
	defer func() { ws.req = req }()
	ws.keepLayers(layers[:nl])
	if nl > 0 {
		ws.sub.Slices = ws.layers[:nl]
	}
	if anchor == NoNode { // nothing is kept: anywhere the request allows
		return ws.placeMore(n, lead, failed, true)
	}
	for l := search; ; l-- {
		ws.lo, ws.hi = 0, int32(len(lv.nodeAt))
		if l >= 0 && lv.at[anchor] >= 0 {
			ws.lo, ws.hi = lv.leaves(l, lv.DomainOf(l, anchor))
		}
		if leader, ok = ws.placeMore(n, lead, failed, false); ok || l < 0 || to != NoLevel && l <= to {
			return leader, ok
		}
	}
}

// keepLayers puts the layers that whole slices are left of into force.
func (ws *LevelScratch) keepLayers(layers []Slice) {
	ws.nl = copy(ws.layers[:], layers)
	if ws.nl == 0 {
		ws.layers[0], ws.nl = Slice{Level: ws.lv.Len() - 1, Size: 1}, 1
	}
}

// placeMore places n members in the nodes lo to hi-1, or afresh in all, and adds
// them to what nodes hold.
func (ws *LevelScratch) placeMore(n int32, lead bool, failed *NodeSet, afresh bool) (NodeID, bool) {
	lv := ws.lv
	last := lv.Len() - 1
	ws.without = failed
	ws.count()
	ws.without = nil
	if ws.fill = ws.sub.Fill; ws.fill == FillDefault {
		ws.fill = FillBestFit
	}
	ws.res.Leader = NoNode
	if afresh {
		if !ws.search() {
			return NoNode, false
		}
	} else if ws.allOf(0); !ws.descend(0, n/ws.layers[0].Size) {
		return NoNode, false
	}
	ws.res.Rule, ws.res.Have, ws.res.Need = RuleNone, 0, 0
	c := &ws.levels[last]
	for _, d := range ws.chosen {
		if ws.holds[d] == 0 && !slices.Contains(ws.kept, d) {
			ws.kept = append(ws.kept, d)
		}
		ws.holds[d] += c.give[d]
	}
	return ws.res.Leader, true
}

// release takes n members from the kept domains kept[lo:hi], which lie in one
// domain above level l.
func (ws *LevelScratch) release(l int, lo, hi, n int32) {
	lv := ws.lv
	if n == 0 || lo >= hi {
		return
	}
	if l == lv.Len()-1 {
		ws.releaseNodes(lo, hi, n)
		return
	}
	for n > 0 {
		// The domain of level l with the fewest members left, the last on ties.
		best, from, to := int32(0), int32(0), int32(0)
		for i := lo; i < hi; {
			d := lv.DomainOf(l, lv.nodeAt[ws.kept[i]])
			sum, j := int32(0), i
			for ; j < hi && lv.DomainOf(l, lv.nodeAt[ws.kept[j]]) == d; j++ {
				sum += ws.holds[ws.kept[j]]
			}
			if sum > 0 && (best == 0 || sum <= best) {
				best, from, to = sum, i, j
			}
			i = j
		}
		if best == 0 {
			return
		}
		k := min(best, n)
		ws.release(l+1, from, to, k)
		n -= k
	}
}

// releaseNodes takes n members from nodes, those with the fewest first, the last
// on ties.
func (ws *LevelScratch) releaseNodes(lo, hi, n int32) {
	for n > 0 {
		best := int32(-1)
		for _, d := range ws.kept[lo:hi] {
			if ws.holds[d] > 0 && (best < 0 || ws.holds[d] <= ws.holds[best]) {
				best = d
			}
		}
		if best < 0 {
			return
		}
		k := min(ws.holds[best], n)
		ws.holds[best] -= k
		n -= k
	}
}

// settled puts what nodes hold into the result.
func (ws *LevelScratch) settled(leader NodeID) bool {
	lv, res := ws.lv, ws.res
	c := &ws.levels[lv.Len()-1]
	ws.chosen = ws.chosen[:0]
	if leader != NoNode && lv.at[leader] >= 0 && ws.holds[lv.at[leader]] == 0 {
		c.give[lv.at[leader]] = 0
		ws.chosen = append(ws.chosen, lv.at[leader])
	}
	for _, d := range ws.kept {
		if ws.holds[d] > 0 {
			c.give[d] = ws.holds[d]
			ws.chosen = append(ws.chosen, d)
		}
	}
	ok := ws.finish()
	res.Leader = leader
	return ok
}
