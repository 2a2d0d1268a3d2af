package gres

import (
	"math/bits"
	"slices"
)

// maxExact is the number of usable devices up to which the best set is found
// by trying all.
const maxExact = 16

// findClusters lists the sets of devices that are worth keeping whole: the
// components of the link graph at every level, and the devices of each socket.
func (g *group) findClusters() {
	n := len(g.devs)
	if n > 64 || g.over >= 0 {
		return
	}
	add := func(m uint64) {
		if bits.OnesCount64(m) > 1 && bits.OnesCount64(m) < n && !slices.Contains(g.clusters, m) {
			g.clusters = append(g.clusters, m)
		}
	}
	var socks uint64
	for i := range g.devs {
		socks |= g.devs[i].sockets
	}
	for ; socks != 0; socks &= socks - 1 {
		var m uint64
		for i := range g.devs {
			if g.devs[i].sockets&socks&-socks != 0 {
				m |= 1 << i
			}
		}
		add(m)
	}
	if !g.links {
		return
	}
	var levels []int32
	for i := range g.devs {
		for j, k := range g.devs[i].links {
			if j != i && k > 0 && !slices.Contains(levels, k) {
				levels = append(levels, k)
			}
		}
	}
	slices.Sort(levels)
	for _, k := range levels {
		for seen := uint64(0); seen != 1<<n-1; {
			m := g.component(bits.TrailingZeros64(^seen), k)
			seen |= m
			add(m)
		}
	}
}

// component returns the devices that links of at least level join to start.
func (g *group) component(start int, level int32) uint64 {
	m, todo := uint64(1)<<start, uint64(1)<<start
	for todo != 0 {
		i := bits.TrailingZeros64(todo)
		todo &= todo - 1
		for j, k := range g.devs[i].links {
			if k >= level && j != i && m>>j&1 == 0 {
				m |= 1 << j
				todo |= 1 << j
			}
		}
	}
	return m
}

// bestSearch is the state of the search for the best set of devices.
type bestSearch struct {
	pk     *picker
	n      int
	usable [maxExact]int8
	count  int
	free   uint64 // usable devices, as a set of indices
	links  bool
	best   bestScore
	high   int32 // largest link between two usable devices
	row    int32 // largest sum of one device's links to usable devices
	// rest[i][j] is the sum of links of usable device i to those from j on.
	rest [maxExact][maxExact + 1]int32
}

// bestScore orders sets of devices: more bandwidth, fewer sockets, more cores
// of the job near, fewer clusters broken, then the lowest indices.
type bestScore struct {
	set           uint64
	sum           int32
	sockets, near int
	broken        int
}

// best takes the n devices that the policy [LinkBest] wants: of all usable
// ones, those with the highest total link bandwidth; ties go as spec/bind.md
// 6.3 says. done is false if another policy or another kind of group decides.
//
// Up to 16 usable devices every set is looked at, with bounds; beyond, devices
// are added one by one.
func (pk *picker) best(n int) (done bool) {
	if pk.r.Links != LinkBest || !pk.p.tracked || pk.gr.byUnits || len(pk.gr.devs) > 64 || n < 1 {
		return false
	}
	b := &pk.s.sel.best
	b.pk, b.n, b.links = pk, n, pk.gr.links
	b.count, b.free, b.best, b.high, b.row = 0, 0, bestScore{}, 0, 0
	enforce := pk.r.Has(EnforceBinding)
	for x := range pk.gr.devs {
		if m := pk.sockets(x); pk.left(x) > 0 && (m == 0 || m&pk.used != 0 || !enforce) {
			b.free |= 1 << x
		}
	}
	if bits.OnesCount64(b.free) < n {
		return false
	}
	if bits.OnesCount64(b.free) > maxExact {
		b.greedy()
	} else {
		b.exact()
	}
	for set := b.best.set; set != 0; set &= set - 1 {
		pk.s.sel.taken[bits.TrailingZeros64(set)] = 1
	}
	return true
}

// exact looks at all sets, in ascending order of their indices, so that the
// first of equals is the lowest.
func (b *bestSearch) exact() {
	for m := b.free; m != 0; m &= m - 1 {
		b.usable[b.count] = int8(bits.TrailingZeros64(m))
		b.count++
	}
	for i := range b.count {
		b.rest[i][b.count] = 0
		row := int32(0)
		for j := b.count - 1; j >= 0; j-- {
			k := int32(0)
			if b.links && i != j {
				k = max(b.pk.gr.devs[b.usable[i]].links[b.usable[j]], 0)
			}
			b.rest[i][j] = b.rest[i][j+1] + k
			row += k
			b.high = max(b.high, k)
		}
		b.row = max(b.row, row)
	}
	b.walk(0, 0, 0, 0, 0)
}

// walk extends a set of k devices, given by device and by position, with sum
// of bandwidth on the sockets socks, by usable devices from i on.
func (b *bestSearch) walk(i, k int, set, pos uint64, sum int32) {
	if k == b.n {
		b.offer(set, sum)
		return
	}
	var socks uint64
	for m := set; m != 0; m &= m - 1 {
		socks |= b.pk.gr.devs[bits.TrailingZeros64(m)].sockets
	}
	for ; b.count-i >= b.n-k; i++ {
		if b.best.set != 0 {
			most := b.bound(i, k, pos, sum)
			if most < b.best.sum || most == b.best.sum && bits.OnesCount64(socks) > b.best.sockets {
				return
			}
		}
		x := int(b.usable[i])
		b.walk(i+1, k+1, set|1<<x, pos|1<<i, sum+b.to(x, set))
	}
}

// bound returns a sum that no extension of the set by devices from i on
// exceeds: every missing device at the largest link to all others; or half of
// what the rows of all devices of the set could still add up to.
func (b *bestSearch) bound(i, k int, pos uint64, sum int32) int32 {
	miss := int32(b.n - k)
	most := sum + b.high*(miss*int32(k)+miss*(miss-1)/2)
	if most < b.best.sum {
		return most
	}
	rows := 2*sum + miss*b.row
	for m := pos; m != 0; m &= m - 1 {
		rows += b.rest[bits.TrailingZeros64(m)][i]
	}
	return min(most, rows/2)
}

// to returns the bandwidth from x to the devices of set.
func (b *bestSearch) to(x int, set uint64) int32 {
	var sum int32
	for ; b.links && set != 0; set &= set - 1 {
		sum += b.pk.gr.devs[x].links[bits.TrailingZeros64(set)]
	}
	return sum
}

// offer keeps set if it is better than the best so far.
func (b *bestSearch) offer(set uint64, sum int32) {
	if b.best.set != 0 && sum < b.best.sum {
		return
	}
	c := bestScore{set: set, sum: sum}
	var socks uint64
	for m := set; m != 0; m &= m - 1 {
		socks |= b.pk.gr.devs[bits.TrailingZeros64(m)].sockets
	}
	c.sockets = bits.OnesCount64(socks)
	for m := socks; m != 0; m &= m - 1 {
		c.near += b.pk.s.freeCPU[bits.TrailingZeros64(m)]
	}
	for _, k := range b.pk.gr.clusters {
		if k&^b.free == 0 && k&set != 0 && k&^set != 0 {
			c.broken++
		}
	}
	if b.best.set == 0 || c.better(&b.best) {
		b.best = c
	}
}

// better reports whether c goes before o; equal scores do not.
func (c *bestScore) better(o *bestScore) bool {
	switch {
	case c.sum != o.sum:
		return c.sum > o.sum
	case c.sockets != o.sockets:
		return c.sockets < o.sockets
	case c.near != o.near:
		return c.near > o.near
	}
	return c.broken < o.broken
}

// greedy starts from each device and adds the one with most bandwidth to those
// chosen, lowest index on ties, and keeps the best outcome.
func (b *bestSearch) greedy() {
	for m := b.free; m != 0; m &= m - 1 {
		set, sum := m&-m, int32(0)
		for range b.n - 1 {
			next, most := -1, int32(-1)
			for o := b.free &^ set; o != 0; o &= o - 1 {
				if k := b.to(bits.TrailingZeros64(o), set); k > most {
					next, most = bits.TrailingZeros64(o), k
				}
			}
			set |= 1 << next
			sum += most
		}
		b.offer(set, sum)
	}
}
