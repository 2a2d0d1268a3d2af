package bind

import "math/bits"

// A cpuDealer gives tasks CPUs near their GPUs.
type cpuDealer struct {
	count []int32   // free CPUs by NUMA node
	cpus  [][]int32 // by NUMA node: free CPUs, core by core
	next  []int32   // by NUMA node: first CPU not dealt
	cost  []int32   // tasks × nodes: distance to the task's GPUs
	place []int32   // by task: its NUMA node, −1 for none
	room  []int32   // by NUMA node: whole tasks that still fit
	dist  []int64   // by NUMA node, of the path search
	via   []int32   // by NUMA node: task that moves there
	from  []int32   // by NUMA node: where it comes from
	words int
	w     *Wiring
}

// enough counts the free CPUs on the allowed nodes and reports whether all
// tasks find theirs.
func (d *cpuDealer) enough(w *Wiring, r *SolveRequest, tasks int) bool {
	d.w, d.words = w, w.words
	for len(d.cpus) < w.nodes {
		d.cpus = append(d.cpus, nil)
	}
	d.count = grow(d.count, w.nodes)
	sum := 0
	for n := range w.nodes {
		d.cpus[n] = d.cpus[n][:0]
		if r.Nodes == 0 || r.Nodes>>n&1 == 1 {
			for _, cpu := range w.deal[n] {
				if hasBit(r.FreeCPUs, cpu) {
					d.cpus[n] = append(d.cpus[n], cpu)
				}
			}
		}
		d.count[n] = int32(len(d.cpus[n]))
		sum += len(d.cpus[n])
	}
	return sum >= tasks*r.CPUsPerTask
}

// free returns the free CPUs of node n, counted by enough.
func (d *cpuDealer) free(n int) int32 {
	if n < len(d.count) {
		return d.count[n]
	}
	return 0
}

func (d *cpuDealer) deal(dst *Solution, w *Wiring, r *SolveRequest, tasks int) Lack {
	dst.words, dst.cpus, dst.mems = 0, dst.cpus[:0], grow(dst.mems, tasks)
	if r.CPUsPerTask <= 0 || r.TaskCPUs != nil {
		for k := range tasks {
			dst.mems[k] = w.nodesOf(dst, r, k)
		}
		return LackNothing
	}
	dst.words = w.words
	dst.cpus = grow(dst.cpus, tasks*w.words)
	c := int32(r.CPUsPerTask)
	d.prices(dst, tasks, c)
	d.next = grow(d.next, w.nodes)
	whole := tasks
	if r.NUMA != NeedRequire {
		whole = d.placeWhole(tasks, c)
	} else if !d.placeTogether(dst, tasks, c) {
		return LackNUMA
	}
	for k := range whole {
		n := d.place[k]
		d.give(dst, k, int(n), c)
		dst.Score.Distance += int64(d.cost[k*w.nodes+int(n)]) * int64(c)
	}
	for k := whole; k < tasks; k++ {
		d.pieces(dst, k, c)
	}
	return LackNothing
}

// nodesOf returns the NUMA nodes of a task that is dealt no CPUs: those of the
// CPUs it is bound to, or else of its GPUs.
func (w *Wiring) nodesOf(dst *Solution, r *SolveRequest, k int) (nodes uint64) {
	if k < len(r.TaskCPUs) && r.TaskCPUs[k] != nil {
		return w.touched(r.TaskCPUs[k])
	}
	for _, g := range dst.Task(k) {
		if n := w.numa[g]; n >= 0 {
			nodes |= 1 << n
		}
	}
	return nodes
}

// prices sums for each task and node the distances to the task's GPUs.
func (d *cpuDealer) prices(dst *Solution, tasks int, c int32) {
	w := d.w
	d.cost = grow(d.cost, tasks*w.nodes)
	for k := range tasks {
		for n := range w.nodes {
			for _, g := range dst.Task(k) {
				d.cost[k*w.nodes+n] += w.distance(int(g), n)
			}
		}
	}
}

// placeWhole puts the first tasks, as many as fit whole into NUMA nodes, at
// the least cost in sum, and returns how many. It adds task after task along a
// cheapest chain of moves, which keeps the sum least throughout.
func (d *cpuDealer) placeWhole(tasks int, c int32) int {
	w := d.w
	d.place, d.room = grow(d.place, tasks), grow(d.room, w.nodes)
	fit := 0
	for n := range w.nodes {
		d.room[n] = d.count[n] / c
		fit += int(d.room[n])
	}
	fit = min(fit, tasks)
	d.dist, d.via, d.from = grow(d.dist, w.nodes), grow(d.via, w.nodes), grow(d.from, w.nodes)
	for k := range fit {
		d.addWhole(k)
	}
	return fit
}

// addWhole places task k: the cheapest way into a node with room, where a task
// placed before may move on to make room.
func (d *cpuDealer) addWhole(k int) {
	w := d.w
	for n := range w.nodes {
		d.dist[n], d.via[n], d.from[n] = int64(d.cost[k*w.nodes+n]), int32(k), -1
	}
	for changed := true; changed; {
		changed = false
		for j := range k {
			a := int(d.place[j])
			for b := range w.nodes {
				move := d.dist[a] + int64(d.cost[j*w.nodes+b]) - int64(d.cost[j*w.nodes+a])
				if move < d.dist[b] {
					d.dist[b], d.via[b], d.from[b] = move, int32(j), int32(a)
					changed = true
				}
			}
		}
	}
	end := -1
	for n := range w.nodes {
		if d.room[n] > 0 && (end < 0 || d.dist[n] < d.dist[end]) {
			end = n
		}
	}
	d.room[end]--
	for n := int32(end); n >= 0; n = d.from[n] {
		d.place[d.via[n]] = n
	}
}

// placeTogether puts all tasks into the NUMA node of the GPUs, or into the
// lowest that has room if they have none.
func (d *cpuDealer) placeTogether(dst *Solution, tasks int, c int32) bool {
	d.place = grow(d.place, tasks)
	node := int32(-1)
	for _, g := range dst.order {
		node = max(node, d.w.numa[g])
	}
	for n := 0; n < d.w.nodes && node < 0; n++ {
		if int(d.count[n]) >= tasks*int(c) {
			node = int32(n)
		}
	}
	if node < 0 || int(d.count[node]) < tasks*int(c) {
		return false
	}
	for k := range d.place {
		d.place[k] = node
	}
	return true
}

// give moves the next c free CPUs of node n to task k.
func (d *cpuDealer) give(dst *Solution, k, n int, c int32) {
	for _, cpu := range d.cpus[n][d.next[n] : d.next[n]+c] {
		dst.cpus[k*d.words+int(cpu>>6)] |= 1 << (cpu & 63)
	}
	d.next[n] += c
	dst.mems[k] |= 1 << n
}

// pieces gives task k what whole tasks left: from one socket if any has
// enough, nearest nodes first.
func (d *cpuDealer) pieces(dst *Solution, k int, c int32) {
	sock, least := int32(-2), maxCost
	for n := range d.w.nodes {
		if s := d.w.socket[n]; s >= 0 {
			if cost, ok := d.takeFrom(nil, k, c, s); ok && cost < least {
				sock, least = s, cost
			}
		}
	}
	cost, _ := d.takeFrom(dst, k, c, sock)
	dst.Score.Distance += cost
	dst.Score.NodeSplit++
	first := int32(-1)
	for rest := dst.mems[k]; rest != 0; rest &= rest - 1 {
		s := d.w.socket[bits.TrailingZeros64(rest)]
		if first >= 0 && s != first {
			dst.Score.SocketSplit++
			break
		}
		first = s
	}
}

// takeFrom prices, and with dst takes, c CPUs from socket sock (−2 is any),
// nearest nodes first.
func (d *cpuDealer) takeFrom(dst *Solution, k int, c int32, sock int32) (cost int64, ok bool) {
	taken := uint64(0)
	for c > 0 {
		best := -1
		for n := range d.w.nodes {
			if taken>>n&1 == 1 || d.next[n] >= d.count[n] || sock >= 0 && d.w.socket[n] != sock {
				continue
			}
			if best < 0 || d.cost[k*d.w.nodes+n] < d.cost[k*d.w.nodes+best] {
				best = n
			}
		}
		if best < 0 {
			return cost, false
		}
		taken |= 1 << best
		n := min(c, d.count[best]-d.next[best])
		cost += int64(n) * int64(d.cost[k*d.w.nodes+best])
		c -= n
		if dst != nil {
			d.give(dst, k, best, n)
		}
	}
	return cost, true
}
