package topology

import "slices"

// balanceLimit bounds the steps of the choice of domains for balance; above it
// the members are placed without.
const balanceLimit = 1 << 24

// balance spreads the slices evenly over the fewest domains of the level of the
// outermost slices below one domain of the level above Want, the one in which
// each can get the most. It reports false if that does not work out.
//
// Source: spec/topology.md 3.1, balanced placement.
func (ws *LevelScratch) balance() bool {
	r := ws.req
	if r.Want == NoLevel {
		return false
	}
	outer := ws.layers[0].Level
	need := int64(r.Count / ws.layers[0].Size)
	parents := int32(1)
	if r.Want > 0 {
		parents = int32(ws.lv.size(r.Want - 1))
	}
	best, bestShare, bestCount := int32(-1), int64(0), 0
	for p := range parents {
		lo, hi := ws.below(r.Want-1, p, outer)
		share, count := ws.evenShare(lo, hi, outer, need)
		if share > bestShare || share == bestShare && share > 0 && count < bestCount {
			best, bestShare, bestCount = p, share, count
		}
	}
	if best < 0 {
		return false
	}
	lo, hi := ws.below(r.Want-1, best, outer)
	if !ws.cheapest(lo, hi, outer, need, bestShare, bestCount) {
		return false
	}
	ws.deal(outer, need, bestShare)
	for l := outer; l < ws.lv.Len()-1; l++ {
		if _, ok := ws.spread(l, -1); !ok {
			return false
		}
	}
	ws.toMembers()
	return true
}

// below returns the domains of level to below domain d of level l; l = -1 is the
// root.
func (ws *LevelScratch) below(l int, d int32, to int) (lo, hi int32) {
	if l < 0 {
		return 0, int32(ws.lv.size(to))
	}
	lo, hi = d, d+1
	for ; l < to; l++ {
		lo, hi = ws.lv.levels[l].first[lo], ws.lv.levels[l].first[hi]
	}
	return lo, hi
}

// evenShare returns how many slices each of the domains lo to hi-1 could get at
// least if the fewest of them share need slices, and how many those are; 0 if
// they cannot.
func (ws *LevelScratch) evenShare(lo, hi int32, outer int, need int64) (share int64, count int) {
	units := ws.levels[outer].units[lo:hi]
	ws.kept = append(ws.kept[:0], units...)
	slices.Sort(ws.kept)
	ws.res.Steps += int64(len(units))
	left := need
	for i := len(ws.kept) - 1; i >= 0 && left > 0; i-- {
		left -= int64(ws.kept[i])
		count++
		share = int64(ws.kept[i])
	}
	if left > 0 || count == 0 {
		return 0, 0
	}
	return min(need/int64(count), share), count
}

// cheapest puts into chosen the count domains of lo to hi-1 with share slices or
// more that hold need slices with the least room in all; of equal choices the one
// with the lowest domains.
func (ws *LevelScratch) cheapest(lo, hi int32, outer int, need, share int64, count int) bool {
	c := &ws.levels[outer]
	ws.pool = ws.pool[:0]
	most := int64(0)
	for d := lo; d < hi; d++ {
		if int64(c.units[d]) >= share {
			ws.pool = append(ws.pool, d)
			most = max(most, int64(c.units[d]))
		}
	}
	span := need + most + 1 // no useful sum is larger
	words := int(span+63) / 64
	if int64(len(ws.pool)+1)*int64(count+1)*int64(words) > balanceLimit {
		return false
	}
	// bits of row (i, k): the sums that k of the first i domains can have.
	row := func(i, k int) []uint64 {
		at := (i*(count+1) + k) * words
		return ws.bits[at : at+words]
	}
	ws.bits = sized(ws.bits, (len(ws.pool)+1)*(count+1)*words)
	clear(ws.bits)
	row(0, 0)[0] = 1
	for i, d := range ws.pool {
		for k := range count + 1 {
			copy(row(i+1, k), row(i, k))
			if k > 0 {
				orShifted(row(i+1, k), row(i, k-1), int(c.units[d]), int(span))
			}
		}
	}
	ws.res.Steps += int64(len(ws.bits))
	sum := int(need)
	for last := row(len(ws.pool), count); sum < int(span) && last[sum/64]>>(sum%64)&1 == 0; {
		sum++
	}
	if sum >= int(span) {
		return false
	}
	ws.chosen = ws.chosen[:0]
	for i, k := len(ws.pool), count; i > 0; i-- {
		if row(i-1, k)[sum/64]>>(sum%64)&1 != 0 {
			continue // the domains before it can do without it
		}
		d := ws.pool[i-1]
		ws.chosen = append(ws.chosen, d)
		sum -= int(c.units[d])
		k--
	}
	slices.Sort(ws.chosen)
	return true
}

// orShifted ors src shifted up by n bits into dst; bits from limit on are lost.
func orShifted(dst, src []uint64, n, limit int) {
	w, b := n/64, uint(n%64)
	for i := len(dst) - 1; i >= w; i-- {
		x := src[i-w] << b
		if b > 0 && i > w {
			x |= src[i-w-1] >> (64 - b)
		}
		dst[i] |= x
	}
	if r := limit % 64; r != 0 {
		dst[len(dst)-1] &= 1<<r - 1
	}
}

// deal gives every chosen domain its share and what is left to the largest first.
func (ws *LevelScratch) deal(outer int, need, share int64) {
	c := &ws.levels[outer]
	left := need
	for _, d := range ws.chosen {
		c.give[d] = int32(share)
		left -= share
	}
	ws.heap = append(ws.heap[:0], ws.chosen...)
	slices.SortFunc(ws.heap, func(a, b int32) int {
		if c.units[a] != c.units[b] {
			return int(c.units[b] - c.units[a])
		}
		return int(a - b)
	})
	for _, d := range ws.heap {
		n := min(left, int64(c.units[d]-c.give[d]))
		c.give[d] += int32(n)
		left -= n
	}
}
