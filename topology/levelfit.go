package topology

// Fit finds places for req and reports whether it did. It is a function of req
// and lv alone; ws and res are the caller's and grow to the cluster once. Cost:
// O(nodes + domains), and O(picks · log) for what is chosen; with Each and a level
// above the nodes, where nothing more is asked than slices, O(nodes/64 + domains
// of that level and below). It panics if a column is not of the cluster's length.
//
// Source: spec/topology.md 3.1 to 3.3.
func (lv *Levels) Fit(ws *LevelScratch, req *LevelRequest, res *LevelResult) bool {
	ws.begin(lv, req, res)
	if !ws.valid() {
		return ws.refuseLevel(RuleConfig, 0, NoLevel, 0)
	}
	if ws.lazy = ws.mayWait(); ws.lazy {
		ws.countDomains()
	} else {
		ws.count()
	}
	if req.Balanced && req.Must == NoLevel && !req.Leader && ws.balance() {
		return ws.finish()
	}
	if !ws.search() {
		return false
	}
	return ws.finish()
}

// begin binds the scratch and grows it.
func (ws *LevelScratch) begin(lv *Levels, req *LevelRequest, res *LevelResult) {
	if req.Each <= 0 && len(req.Capacity) != lv.n || req.WithLeader != nil && len(req.WithLeader) != lv.n ||
		req.Eligible != nil && req.Eligible.Len() != lv.n || req.Occupied != nil && req.Occupied.Len() != lv.n ||
		req.LeaderFits != nil && req.LeaderFits.Len() != lv.n {
		panic("topology: column is not of the levels' cluster")
	}
	if ws.lv != lv {
		ws.lv = lv
		ws.levels = make([]levelColumns, len(lv.levels))
		for l := range ws.levels {
			n := lv.size(l)
			ws.levels[l] = levelColumns{make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]bool, n)}
		}
		ws.nodeUnits, ws.nodeLost = ws.levels[len(ws.levels)-1].units, ws.levels[len(ws.levels)-1].unitsLost
	}
	ws.req, ws.res = req, res
	ws.lo, ws.hi = 0, int32(len(lv.nodeAt))
	*res = LevelResult{Nodes: res.Nodes[:0], Members: res.Members[:0], Leader: NoNode, Level: NoLevel, NearLevel: NoLevel}
}

// valid checks the request and puts it in normal form.
func (ws *LevelScratch) valid() bool {
	r, lv := ws.req, ws.lv
	last := lv.Len() - 1
	if r.Count < 1 || len(r.Slices) > MaxSlices || r.Must > last || r.Want > last || r.Must < NoLevel || r.Want < NoLevel ||
		r.Must != NoLevel && r.Want != NoLevel && r.Want < r.Must || r.Exclusive > last || r.Leader && r.LeaderFits == nil {
		return false
	}
	ws.nl = copy(ws.layers[:], r.Slices)
	size, level := r.Count, NoLevel
	for _, s := range r.Slices {
		if s.Size < 1 || size%s.Size != 0 || s.Level <= level || s.Level > last {
			return false
		}
		size, level = s.Size, s.Level
	}
	if ws.nl > 0 && (ws.layers[0].Level < r.Must || ws.layers[0].Level < r.Want) {
		return false // a slice cannot be wider than the domain it lies in
	}
	if ws.nl == 0 { // members are slices of one at the level of nodes
		ws.layers[0], ws.nl = Slice{Level: last, Size: 1}, 1
	}
	ws.fill = r.Fill
	if ws.fill == FillDefault {
		ws.fill = FillBestFit
		if r.Want == NoLevel && r.Must == NoLevel {
			ws.fill = FillLeastFree
		}
	}
	return true
}

// unit returns the size of the units in which level l counts: that of the first
// layer that ends at l or below, 1 past the last.
func (ws *LevelScratch) unit(l int) int32 {
	for _, s := range ws.layers[:ws.nl] {
		if l <= s.Level {
			return s.Size
		}
	}
	return 1
}

// ends reports whether a layer ends at level l.
func (ws *LevelScratch) ends(l int) bool {
	for _, s := range ws.layers[:ws.nl] {
		if l == s.Level {
			return true
		}
	}
	return false
}

// count works out bottom up what every domain holds.
func (ws *LevelScratch) count() {
	lv := ws.lv
	last := lv.Len() - 1
	ws.countNodes()
	for l := last; l >= 0; l-- {
		if l < last {
			ws.sumChildren(l)
		}
		ws.toUnits(l)
	}
	ws.counted = 0
	ws.countBroken(last)
}

// toUnits turns the members of the domains of level l into units where a layer
// ends there; of the nodes always.
func (ws *LevelScratch) toUnits(l int) {
	c, last := &ws.levels[l], ws.lv.Len()-1
	unit := ws.unit(l)
	if l == last && unit == 1 {
		c.units, c.unitsLost = c.members, c.membersLost // the same numbers
	} else if ws.ends(l) || l == last {
		if l == last {
			c.units, c.unitsLost = ws.nodeUnits, ws.nodeLost
		}
		for d, m := range c.members {
			c.units[d] = m / unit
			if ws.req.Leader && c.lead[d] {
				c.unitsLost[d] = c.units[d] - (m-c.membersLost[d])/unit
			}
		}
	}
	ws.res.Steps += int64(len(c.members))
}

// countBroken works out the members that do not make whole slices; those of level
// l are all there are.
func (ws *LevelScratch) countBroken(l int) {
	if !ws.req.Leader && ws.layers[0].Size == 1 {
		return
	}
	all := int64(0)
	for _, m := range ws.levels[l].members {
		all += int64(m)
	}
	whole := int64(0)
	for _, u := range ws.levels[0].units {
		whole += int64(u) * int64(ws.unit(0))
	}
	ws.res.Broken = all - whole
}

// countNodes fills the level of nodes.
func (ws *LevelScratch) countNodes() {
	lv, r := ws.lv, ws.req
	c := &ws.levels[lv.Len()-1]
	ws.masked = ws.masked[:0]
	ws.res.Outside, ws.res.Owned = 0, 0
	if r.Each > 0 {
		ws.countEach(c)
	} else if lv.plain && r.Eligible == nil {
		for i, x := range r.Capacity[:len(c.members)] {
			c.members[i] = max(x, 0)
		}
	} else {
		for i, id := range lv.nodeAt {
			c.members[i] = 0
			if r.Eligible == nil || r.Eligible.Has(id) {
				c.members[i] = max(r.Capacity[id], 0)
			} else {
				ws.res.Outside += int64(max(r.Capacity[id], 0))
			}
		}
	}
	if r.Each <= 0 && len(lv.nodeAt) < lv.n {
		for id, x := range r.Capacity {
			if lv.at[id] < 0 {
				ws.res.Outside += int64(max(x, 0))
			}
		}
	}
	if r.Exclusive >= 0 && r.Occupied != nil {
		ws.dropOccupied(c)
	}
	clear(c.members[:ws.lo])
	clear(c.members[ws.hi:])
	if ws.without != nil {
		for id := range ws.without.All() {
			if d := lv.at[id]; d >= 0 {
				c.members[d] = 0
				ws.masked = append(ws.masked, d)
			}
		}
	}
	if r.Leader {
		for i, id := range lv.nodeAt {
			c.lead[i] = r.LeaderFits.Has(id) && (r.Eligible == nil || r.Eligible.Has(id)) && int32(i) >= ws.lo && int32(i) < ws.hi
			c.membersLost[i] = 0
			if c.lead[i] && r.WithLeader != nil {
				c.membersLost[i] = max(c.members[i]-max(r.WithLeader[id], 0), 0)
			}
		}
		for _, i := range ws.masked {
			c.lead[i] = false
		}
	}
}

// dropOccupied takes the nodes of domains that others own out of the count.
func (ws *LevelScratch) dropOccupied(c *levelColumns) {
	lv := ws.lv
	for id := ws.req.Occupied.First(); id != NoNode; id = ws.req.Occupied.Next(id + 1) {
		d := lv.DomainOf(ws.req.Exclusive, id)
		if d < 0 {
			continue
		}
		lo, hi := lv.leaves(ws.req.Exclusive, d)
		for i := lo; i < hi; i++ {
			if c.members[i] >= 0 {
				ws.res.Owned += int64(c.members[i])
				c.members[i] = -1 // counted once
				ws.masked = append(ws.masked, i)
			}
		}
	}
	for _, i := range ws.masked {
		c.members[i] = 0
	}
}

// sumChildren fills members, units and leader columns of level l from the level
// below.
func (ws *LevelScratch) sumChildren(l int) {
	lv := ws.lv
	first := lv.levels[l].first
	c, k := &ws.levels[l], &ws.levels[l+1]
	unit := ws.unit(l + 1)
	same := !ws.ends(l)                           // then both levels count in the same unit
	whole := unit > 1 && l+1 > ws.layers[0].Level // a nested layer keeps only whole slices
	for d := range c.members {
		lo, hi := first[d], first[d+1]
		units, members := sum(k.units[lo:hi]), int32(0)
		switch {
		case whole:
			members = units * unit
		case unit == 1:
			members = units
		default:
			members = sum(k.members[lo:hi])
		}
		c.members[d] = members
		if same {
			c.units[d] = units
		}
		if ws.req.Leader {
			ws.sumLeader(c, k, d, lo, hi, whole, unit, same)
		}
	}
}

func sum(v []int32) int32 {
	n := int32(0)
	for _, x := range v {
		n += x
	}
	return n
}

// sumLeader works out the least that the leader costs domain d: what it costs the
// child that loses least.
func (ws *LevelScratch) sumLeader(c, k *levelColumns, d int, lo, hi int32, whole bool, unit int32, same bool) {
	c.lead[d] = false
	for i := lo; i < hi; i++ {
		if !k.lead[i] {
			continue
		}
		lost := k.membersLost[i]
		if whole {
			lost = k.unitsLost[i] * unit
		}
		if !c.lead[d] || lost < c.membersLost[d] {
			c.membersLost[d] = lost
		}
		if same && (!c.lead[d] || k.unitsLost[i] < c.unitsLost[d]) {
			c.unitsLost[d] = k.unitsLost[i]
		}
		c.lead[d] = true
	}
}

// room returns the units that domain d of level l holds, beside the leader if it
// is to have it; -1 if it cannot have it.
func (ws *LevelScratch) room(l int, d int32, leader bool) int32 {
	c := &ws.levels[l]
	if !leader {
		return c.units[d]
	}
	if !c.lead[d] {
		return -1
	}
	return c.units[d] - c.unitsLost[d]
}

// search chooses the domains to begin with and descends from them.
func (ws *LevelScratch) search() bool {
	r := ws.req
	need := r.Count / ws.layers[0].Size
	from, to := r.Want, r.Must
	if from == NoLevel {
		from = to
	}
	if from == NoLevel { // unconstrained: slices from the top, members anywhere
		l := 0
		if len(r.Slices) == 0 && !r.Leader {
			l = ws.lv.Len() - 1
		}
		ws.countTo(l)
		ws.allOf(l)
		return ws.descend(l, need)
	}
	for l := from; l >= max(to, 0); l-- {
		ws.countTo(l)
		if d := ws.singleOf(l, need, r.Leader); d >= 0 {
			ws.pool = append(ws.pool[:0], d)
			return ws.descend(l, need)
		}
	}
	if to != NoLevel {
		return ws.refuseLevel(RuleNoFit, need, to, to)
	}
	ws.countTo(0)
	ws.allOf(0)
	return ws.descend(0, need)
}

// allOf puts all domains of level l into the pool.
func (ws *LevelScratch) allOf(l int) {
	n := ws.lv.size(l)
	ws.pool = sized(ws.pool, n)
	for d := range ws.pool {
		ws.pool[d] = int32(d)
	}
}

// refuseLevel records why nothing fits: the domain of level l with the most room
// is the nearest.
func (ws *LevelScratch) refuseLevel(rule Rule, need int32, l, report int) bool {
	res := ws.res
	res.Rule, res.Need = rule, need
	if rule == RuleConfig || rule == RuleRequired {
		return false // nothing was counted
	}
	if l == NoLevel {
		ws.countTo(0)
		for d := range ws.levels[0].units {
			res.Have += ws.levels[0].units[d]
		}
		return false
	}
	res.NearLevel = report
	res.Have = -1
	for d, x := range ws.levels[l].units {
		if ws.req.Leader {
			x = ws.room(l, int32(d), true)
		}
		if x > res.Have {
			res.Have, res.NearDomain = x, int32(d)
		}
	}
	res.Have = max(res.Have, 0)
	return false
}

// finish puts what the nodes are given into the result.
func (ws *LevelScratch) finish() bool {
	lv, res := ws.lv, ws.res
	last := lv.Len() - 1
	c := &ws.levels[last]
	top := NoLevel
	var common [MaxLevels + 1]int32
	for i, d := range ws.chosen {
		id := lv.nodeAt[d]
		if i == 0 {
			for l, k := last, d; l >= 0; l-- {
				common[l] = k
				if l > 0 {
					k = lv.levels[l].parent[k]
				}
			}
			top = last
		}
		for top >= 0 && lv.DomainOf(top, id) != common[top] {
			top--
		}
		res.Nodes = append(res.Nodes, id)
	}
	res.Level = top
	if top >= 0 {
		res.Domain = common[top]
	}
	sortNodes(res.Nodes)
	for _, id := range res.Nodes {
		res.Members = append(res.Members, c.give[lv.at[id]])
	}
	return true
}
