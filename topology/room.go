package topology

import (
	"cmp"
	"slices"
)

// A Holder keeps nodes from being free: a running job, or a node that is down.
type Holder struct {
	// Nodes are the nodes that it holds. A node is free once all its holders are
	// gone.
	Nodes []NodeID
	// Cost is what it costs to be rid of it, at least 0: node seconds left, the
	// loss of a requeue.
	Cost int64
	// Ends says that it is to end: the jobs of a plan, of a maintenance.
	Ends bool
}

// A RoomQuery asks for room for parts of Size nodes inside single units of Level:
// the levels of [Unit], or of [Levels].
type RoomQuery struct {
	Level int
	Size  int32
}

// Room says how much room there is for parts of one size.
type Room struct {
	RoomQuery
	// Units is the number of units of the level, Large of those that have Size
	// nodes at all, Free the free nodes in all of them.
	Units, Large int
	Free         int
	// Now is how many parts fit now, inside single units; Ended how many would fit
	// if the holders that end were gone.
	Now, Ended int
	// Next is what is in the way of one part more than Now.
	Next Obstacle
}

// Stranded returns the share of the free nodes that no part of the size can use.
func (r *Room) Stranded() float64 {
	if r.Free == 0 {
		return 0
	}
	return 1 - float64(int64(r.Now)*int64(r.Size))/float64(r.Free)
}

// An Obstacle is the cheapest way to room for one more part.
type Obstacle struct {
	// Unit is the unit where it is cheapest: a UnitID, or a domain of the level;
	// -1 if no unit can ever have one more.
	Unit int32
	// Free is the number of free nodes in it, Lack how many more are needed for
	// the next part.
	Free, Lack int
	// Holders are the indices of the holders to be rid of, ascending, and Cost the
	// sum of their costs.
	Holders []int32
	Cost    int64
}

// AppendRoom appends a Room for each query. free are the nodes that are free now;
// holders keep the others. Units of a level are base blocks, rings, toruses or
// leaves at 0, aggregates of 2^k base blocks at k (a remainder included), switches
// at their level.
//
// What is in the way is exact if no node has two holders, else nearly: then the
// cheapest holders per node are taken and those that turn out needless dropped.
// Ties go to fewer holders, then the lower unit. Cost: O(units · (nodes +
// holders) · size) a query; it allocates.
func (t *Topology) AppendRoom(dst []Room, queries []RoomQuery, free *NodeSet, holders []Holder) []Room {
	for _, q := range queries {
		var ids []int32
		var units [][]NodeID
		if t.kind == KindFlat {
			var all NodeSet
			all.Init(t.nodes)
			all.AddAll()
			ids, units = []int32{int32(NoUnit)}, [][]NodeID{all.AppendIDs(nil)}
		}
		t.unitsOf(q.Level, func(id UnitID, nodes []NodeID) {
			ids, units = append(ids, int32(id)), append(units, nodes)
		})
		dst = append(dst, roomIn(q, t.nodes, ids, units, free, holders))
	}
	return dst
}

// unitsOf calls f for every unit of a level with its nodes.
func (t *Topology) unitsOf(level int, f func(UnitID, []NodeID)) {
	if t.kind != KindBlock {
		for u := range t.units {
			if int(t.units[u].level) == level {
				f(UnitID(u), t.AppendUnit(nil, UnitID(u)))
			}
		}
		return
	}
	if level < 0 || level > maxLevel {
		return
	}
	for lo := 0; lo < t.base; lo += 1 << level {
		hi := min(lo+1<<level, t.base)
		var nodes []NodeID
		for b := lo; b < hi; b++ {
			nodes = t.AppendUnit(nodes, UnitID(b))
		}
		f(t.blockUnit(lo, hi), nodes)
	}
}

// AppendRoom appends a Room for each query; see [Topology.AppendRoom]. The unit of
// an obstacle is a domain of the level.
func (lv *Levels) AppendRoom(dst []Room, queries []RoomQuery, free *NodeSet, holders []Holder) []Room {
	for _, q := range queries {
		var ids []int32
		var units [][]NodeID
		if q.Level >= 0 && q.Level < lv.Len() {
			for d := range int32(lv.size(q.Level)) {
				lo, hi := lv.leaves(q.Level, d)
				ids, units = append(ids, d), append(units, lv.nodeAt[lo:hi])
			}
		}
		dst = append(dst, roomIn(q, lv.n, ids, units, free, holders))
	}
	return dst
}

// roomIn works out the room in units.
func roomIn(q RoomQuery, n int, ids []int32, units [][]NodeID, free *NodeSet, holders []Holder) Room {
	r := Room{RoomQuery: q, Units: len(units), Next: Obstacle{Unit: -1}}
	if q.Size < 1 {
		return r
	}
	by := holdersByNode(n, holders)
	for i, nodes := range units {
		now, ended := 0, 0
		for _, id := range nodes {
			if free.Has(id) {
				now++
				ended++
			} else if by.ends(id, holders) {
				ended++
			}
		}
		r.Free += now
		r.Now += now / int(q.Size)
		r.Ended += ended / int(q.Size)
		if len(nodes) >= int(q.Size) {
			r.Large++
		}
		lack := (now/int(q.Size)+1)*int(q.Size) - now
		if now+lack > len(nodes) {
			continue
		}
		o := Obstacle{Unit: ids[i], Free: now, Lack: lack}
		if by.clear(&o, nodes, free, holders) && (r.Next.Unit < 0 && r.Next.Lack == 0 || o.better(&r.Next)) {
			r.Next = o
		}
	}
	return r
}

// better reports whether o is cheaper than p.
func (o *Obstacle) better(p *Obstacle) bool {
	return cmp.Or(cmp.Compare(o.Cost, p.Cost), len(o.Holders)-len(p.Holders)) < 0
}

// nodeHolders lists the holders of each node: of[first[n]:first[n+1]].
type nodeHolders struct{ first, of []int32 }

func holdersByNode(n int, holders []Holder) nodeHolders {
	h := nodeHolders{first: make([]int32, n+1)}
	for i := range holders {
		for _, id := range holders[i].Nodes {
			h.first[id+1]++
		}
	}
	for i := range n {
		h.first[i+1] += h.first[i]
	}
	h.of = make([]int32, h.first[n])
	at := slices.Clone(h.first)
	for i := range holders {
		for _, id := range holders[i].Nodes {
			h.of[at[id]] = int32(i)
			at[id]++
		}
	}
	return h
}

func (h *nodeHolders) at(id NodeID) []int32 { return h.of[h.first[id]:h.first[id+1]] }

// ends reports whether all holders of a node end, and there are some.
func (h *nodeHolders) ends(id NodeID, holders []Holder) bool {
	of := h.at(id)
	for _, i := range of {
		if !holders[i].Ends {
			return false
		}
	}
	return len(of) > 0
}

// clear finds the cheapest holders whose end frees o.Lack nodes of a unit, and
// reports whether there are enough.
func (h *nodeHolders) clear(o *Obstacle, nodes []NodeID, free *NodeSet, holders []Holder) bool {
	gain := map[int32]int{} // nodes of the unit that a holder holds alone
	var who []int32
	shared := false
	for _, id := range nodes {
		of := h.at(id)
		if free.Has(id) || len(of) == 0 {
			continue
		}
		shared = shared || len(of) > 1
		for _, i := range of {
			if gain[i] == 0 {
				who = append(who, i)
			}
			gain[i]++
		}
	}
	slices.Sort(who)
	if shared {
		return h.clearShared(o, nodes, free, holders, who)
	}
	return cheapestCover(o, who, gain, holders)
}

// cheapestCover solves the covering knapsack: cost[k] is the least cost to free k
// nodes, of equal costs with the fewest holders.
func cheapestCover(o *Obstacle, who []int32, gain map[int32]int, holders []Holder) bool {
	type best struct {
		cost  int64
		count int
	}
	never := best{cost: 1<<63 - 1}
	lack := o.Lack
	table := make([][]best, len(who)+1)
	table[0] = slices.Repeat([]best{never}, lack+1)
	table[0][0] = best{}
	for i, w := range who {
		row := slices.Clone(table[i])
		for k := 1; k <= lack; k++ {
			from := table[i][max(k-gain[w], 0)]
			if from == never {
				continue
			}
			with := best{from.cost + max(holders[w].Cost, 0), from.count + 1}
			if with.cost < row[k].cost || with.cost == row[k].cost && with.count < row[k].count || row[k] == never {
				row[k] = with
			}
		}
		table[i+1] = row
	}
	if table[len(who)][lack] == never {
		return false
	}
	o.Cost = table[len(who)][lack].cost
	for i, k := len(who), lack; i > 0 && k > 0; i-- {
		if table[i][k] != table[i-1][k] {
			o.Holders = append(o.Holders, who[i-1])
			k = max(k-gain[who[i-1]], 0)
		}
	}
	slices.Sort(o.Holders)
	return true
}

// clearShared frees nodes with several holders: the node whose holders cost least
// next, then the needless ones are dropped, the dearest first.
func (h *nodeHolders) clearShared(o *Obstacle, nodes []NodeID, free *NodeSet, holders []Holder, who []int32) bool {
	gone := map[int32]bool{}
	freed := func() int {
		n := 0
		for _, id := range nodes {
			of := h.at(id)
			if !free.Has(id) && len(of) > 0 && !slices.ContainsFunc(of, func(i int32) bool { return !gone[i] }) {
				n++
			}
		}
		return n
	}
	for freed() < o.Lack {
		best, bestCost := NoNode, int64(0)
		for _, id := range nodes {
			if free.Has(id) || len(h.at(id)) == 0 {
				continue
			}
			cost, held := int64(0), false
			for _, i := range h.at(id) {
				if !gone[i] {
					cost += max(holders[i].Cost, 0)
					held = true
				}
			}
			if held && (best == NoNode || cost < bestCost) {
				best, bestCost = id, cost
			}
		}
		if best == NoNode {
			return false
		}
		for _, i := range h.at(best) {
			gone[i] = true
		}
	}
	order := slices.Clone(who)
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(holders[b].Cost, holders[a].Cost), int(b-a))
	})
	for _, i := range order {
		if gone[i] {
			gone[i] = false
			if freed() < o.Lack {
				gone[i] = true
			}
		}
	}
	for _, i := range who {
		if gone[i] {
			o.Holders = append(o.Holders, i)
			o.Cost += max(holders[i].Cost, 0)
		}
	}
	return true
}
