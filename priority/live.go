package priority

import (
	"cmp"
	"math"
	"slices"
)

// A LiveTree keeps the Fair Tree factors of a tree while usage changes: one
// user's factor after one change costs a climb through the levels above it,
// not a ranking of all. It always gives what [FairTree.Rank] would. Make it
// with [NewLiveTree]; one caller at a time.
//
// Per level the entries stand in an order that does not depend on the level's
// own usage, with the users below them summed up; only entries that differ by
// a few last places are compared anew when they are asked for. Where accounts
// tie, the levels concerned are put into order once and kept until one of
// their usages changes. In mode [Documented] a change costs a full ranking at
// the next question.
type LiveTree struct {
	f FairTree
	t treaps

	rootUsage float64
	odd       []int32 // by level: entries with a share and with usage

	// Levels in order, where ties made it necessary.
	settled []bool  // by level
	cum     []int32 // by place in FairTree.sorted: users ahead in the level
	spotOf  []int32 // by entry: its place in FairTree.sorted
	lastNew [2][]int32

	// Mode Documented.
	usage, factor []float64
	stale         bool
}

// nearLive is how far apart the keys of two entries may be while their level
// fair-shares, each rounded twice more, may still be equal or change places:
// three roundings of half a place each, twice, and a place counts double where
// the exponent changes.
const nearLive = 16

// blocksMax is how many blocks of nearly equal entries are compared one by one
// before the whole level is put into order.
const blocksMax = 16

// NewLiveTree returns a LiveTree of t with the given usage of each row, an
// account's being the sum over its subtree. Nothing of either is kept.
func NewLiveTree(t *Tree, ties TieMode, usage []float64) *LiveTree {
	v := &LiveTree{}
	v.f.ties = ties
	v.SetTree(t, usage)
	return v
}

// SetTree takes over t and usage. It costs as much as [FairTree.Rank].
func (v *LiveTree) SetTree(t *Tree, usage []float64) {
	v.f.SetTree(t)
	lv := &v.f.lv
	n, m := len(lv.row), len(lv.owner)
	v.t.nodes = fill(v.t.nodes, n, node{})
	v.t.roots = fill(v.t.roots, m, -1)
	v.odd = fill(v.odd, m, 0)
	v.settled = fill(v.settled, m, false)
	v.cum, v.spotOf = fill(v.cum, n, 0), fill(v.spotOf, n, 0)
	for i := range v.lastNew {
		v.lastNew[i] = fill(v.lastNew[i], m, unknown)
	}
	v.factor = fill(v.factor, len(lv.entry), 0)
	v.SetUsage(usage)
}

// SetUsage takes over the usage of every row: after decay, or after many
// changes. It costs as much as [FairTree.Rank].
func (v *LiveTree) SetUsage(usage []float64) {
	lv := &v.f.lv
	v.rootUsage = cleanUsage(usage[0])
	v.usage, v.stale = append(v.usage[:0], usage[:len(lv.entry)]...), true
	if v.f.ties == Documented {
		return
	}
	clear(v.odd)
	clear(v.settled)
	for l := range lv.owner {
		lo, hi := lv.start[l], lv.start[l+1]
		for e := lo; e < hi; e++ {
			n := &v.t.nodes[e]
			n.users = lv.users[e]
			v.setKey(int32(l), e, cleanUsage(usage[lv.row[e]]))
			v.f.spare[e] = placed{hi: ^n.hi, lo: lowMask ^ n.lo, ent: e}
		}
		s := v.f.sorted[lo:hi]
		sortPlaced(s, v.f.spare[lo:hi])
		v.orderShares(s)
		v.t.grow(l, s, v.cum, v.spotOf)
	}
}

// orderShares puts entries of equal key into order of their shares.
func (v *LiveTree) orderShares(s []placed) {
	for i := 0; i < len(s); {
		j, same := i+1, true
		for ; j < len(s) && s[j].tiesWith(s[i]); j++ {
			same = same && v.t.nodes[s[j].ent].share == v.t.nodes[s[i].ent].share
		}
		if !same {
			slices.SortFunc(s[i:j], func(a, b placed) int {
				return cmp.Or(cmp.Compare(v.t.nodes[a.ent].share, v.t.nodes[b.ent].share), cmp.Compare(a.ent, b.ent))
			})
		}
		i = j
	}
}

// setKey gives entry e of level l its usage and its place in the order.
func (v *LiveTree) setKey(l, e int32, usage float64) {
	n := &v.t.nodes[e]
	share := v.f.lv.share[e]
	k := levelKey(share, usage, num{mant: 1 << 63})
	n.usage, n.hi, n.lo, n.share = usage, k.hi, uint32(k.lo), 0
	if k.hi != 0 && k.hi != infHi {
		n.share = share
		v.odd[l]++
	}
}

// Update says that the usage of row changed, and with it that of the accounts
// above: usage has the new ones, at least of these rows. It costs a removal
// and an insertion in the order of each level above.
func (v *LiveTree) Update(usage []float64, row int32) {
	lv := &v.f.lv
	v.stale = true
	for {
		v.usage[row] = usage[row]
		l := lv.above[row]
		if l < 0 {
			v.rootUsage = cleanUsage(v.usage[0])
			return
		}
		if e := lv.entry[row]; e >= 0 && v.f.ties == AsShipped {
			v.change(l, e, cleanUsage(usage[row]))
		}
		if checking && v.f.ties == AsShipped && lv.start[l+1]-lv.start[l] < 256 {
			v.t.check(l)
		}
		v.unsettle(l)
		row = lv.owner[l]
	}
}

// change gives entry e of level l a new usage.
func (v *LiveTree) change(l, e int32, usage float64) {
	n := &v.t.nodes[e]
	if n.usage == usage {
		return
	}
	if n.share != 0 {
		v.odd[l]--
	}
	v.setKey(l, e, usage)
	before, after, s := v.t.previous(e), v.t.next(e), n.spot(e)
	if (before < 0 || v.t.nodes[before].spot(before).before(s)) && (after < 0 || s.before(v.t.nodes[after].spot(after))) {
		return // it stays where it is
	}
	v.t.remove(l, e)
	v.t.insert(l, e)
}

// unsettle forgets the order of level l.
func (v *LiveTree) unsettle(l int32) {
	v.settled[l] = false
	v.lastNew[0][l], v.lastNew[1][l] = unknown, unknown
}

// levelUsage is the usage that divides those of level l.
func (v *LiveTree) levelUsage(l int32) float64 {
	if e := v.f.lv.ownerEnt[l]; e >= 0 {
		return v.t.nodes[e].usage
	}
	return v.rootUsage
}

// Factor is the fair-share factor of row: what [FairTree.Rank] stores there.
func (v *LiveTree) Factor(row int32) float64 {
	lv := &v.f.lv
	e := lv.entry[row]
	if e < 0 || lv.kids[e] >= 0 {
		return 0
	}
	if v.f.ties == Documented {
		if v.stale {
			v.f.Rank(v.factor, v.usage)
			v.stale = false
		}
		return v.factor[row]
	}
	return float64(v.rank(e)) / float64(lv.people)
}

// rank is the rank of user e.
func (v *LiveTree) rank(e int32) int32 {
	l := v.f.lv.of[e]
	p := v.place(l, e)
	base, tied := v.base(l)
	if p.first && tied {
		return v.current(v.f.lv.ownerEnt[l])
	}
	return v.f.lv.people - base - p.ahead
}

// base counts the users ranked before those of level l, and says whether the
// account that owns it is tied.
func (v *LiveTree) base(l int32) (ahead int32, tied bool) {
	lv := &v.f.lv
	chain := true // the first of a level is tied if the account above is
	for e := lv.ownerEnt[l]; e >= 0; e = lv.ownerEnt[lv.of[e]] {
		p := v.place(lv.of[e], e)
		ahead += p.ahead
		if chain && !p.first {
			tied, chain = p.tied, false
		}
	}
	return ahead, tied
}

// place is where an entry stands in its level.
type place struct {
	// ahead are the users ranked before: for a user before all that it ties
	// with, for an account before its own.
	ahead int32
	// first says, for a user, that none has a greater level fair-share; for
	// an account, that nothing stands before it.
	first bool
	// tied says, for an account, that the entry before has the same.
	tied bool
}

// place finds entry e in level l.
func (v *LiveTree) place(l, e int32) place {
	if v.settled[l] || v.odd[l] > 0 && v.levelUsage(l) == 0 {
		return v.placeSettled(l, e)
	}
	at := v.t.nodes[e].spot(e)
	if !v.near(v.t.previous(e), at) && !v.near(v.t.next(e), at) {
		a := v.t.aheadOf(e)
		return place{ahead: a.users, first: a.entries == 0}
	}
	if p, ok := v.placeNear(l, e); ok {
		return p
	}
	return v.placeSettled(l, e)
}

// near reports whether entry e may tie with what stands at s.
func (v *LiveTree) near(e int32, s spot) bool {
	return e >= 0 && v.t.nodes[e].spot(e).key().apart(s.key()) <= nearLive
}

// placeNear is place for an entry with neighbours that may tie: it compares the
// blocks of entries of one share and one usage around it. It gives up if they
// are many.
func (v *LiveTree) placeNear(l, e int32) (_ place, ok bool) {
	at := v.t.nodes[e].spot(e)
	s := at
	s.ent = -1
	top := v.t.ahead(l, s)
	blocks := 0
	for p := v.t.at(l, top.entries-1); v.near(p, at); p = v.t.at(l, top.entries-1) {
		if blocks++; blocks > blocksMax {
			return place{}, false
		}
		s = v.t.nodes[p].spot(-1)
		top = v.t.ahead(l, s)
	}
	usage := split(v.levelUsage(l))
	mine, user := v.levelKeyOf(at, usage), v.f.lv.kids[e] < 0
	greater, tied := top, ahead{}
	for i := v.t.at(l, top.entries); v.near(i, at); i = v.t.at(l, top.entries) {
		if blocks++; blocks > blocksMax {
			return place{}, false
		}
		start := top
		s = v.t.nodes[i].spot(math.MaxInt32)
		top = v.t.ahead(l, s)
		switch v.levelKeyOf(s, usage).cmp(mine) {
		case 1:
			greater = greater.plus(top.minus(start))
		case 0:
			// Users have lower entries than accounts, so all lower ones
			// are visited before an account.
			if s.ent = e; !user {
				tied = tied.plus(v.t.ahead(l, s).minus(start))
			}
		}
	}
	all := greater.plus(tied)
	return place{ahead: all.users, first: all.entries == 0, tied: tied.entries > 0}, true
}

// levelKeyOf is the level fair-share of the entries at s in a level of the given
// usage.
func (v *LiveTree) levelKeyOf(s spot, usage num) key {
	if s.share == 0 {
		return s.key()
	}
	return levelKey(s.share, s.usage, usage)
}
