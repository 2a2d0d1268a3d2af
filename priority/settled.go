package priority

import (
	"cmp"
	"slices"
)

// This file answers for a [LiveTree] where ties make the order of whole levels
// matter: the walk of [FairTree], run backwards from one place.

const (
	none    = -1 // no user of the level gets a rank of its own
	unknown = -2
)

// settle puts level l into order, unless it is.
func (v *LiveTree) settle(l int32) {
	if v.settled[l] {
		return
	}
	v.settled[l] = true
	lv := &v.f.lv
	lv.arrange(v.f.sorted, v.f.spare, int(l), v.usage)
	users := int32(0)
	for i := lv.start[l]; i < lv.start[l+1]; i++ {
		e := v.f.sorted[i].ent
		v.cum[i], v.spotOf[e] = users, i
		users += lv.users[e]
	}
}

// placeSettled is place in a level put into order.
func (v *LiveTree) placeSettled(l, e int32) place {
	v.settle(l)
	start, i := v.f.lv.start[l], v.spotOf[e]
	r := v.runStart(start, i)
	if v.f.lv.kids[e] >= 0 {
		return place{ahead: v.cum[i], first: i == start, tied: r < i}
	}
	return place{ahead: v.cum[r], first: r == start}
}

// runStart is the first place from start on that ties with place i.
func (v *LiveTree) runStart(start, i int32) int32 {
	n, _ := slices.BinarySearchFunc(v.f.sorted[start:i], v.f.sorted[i], func(p, q placed) int {
		return cmp.Or(cmp.Compare(p.hi, q.hi), cmp.Compare(p.lo, q.lo))
	})
	return start + int32(n)
}

// current is the rank that was given last when the walk comes to account e.
func (v *LiveTree) current(e int32) int32 {
	lv := &v.f.lv
	for ; e >= 0; e = lv.ownerEnt[lv.of[e]] {
		l := lv.of[e]
		v.settle(l)
		for i := v.spotOf[e] - 1; i >= lv.start[l]; i-- {
			q := v.f.sorted[i].ent
			if lv.kids[q] < 0 {
				return v.rank(q)
			}
			if at := v.lastUntied(lv.kids[q], v.tiedAt(l, i)); at != none {
				base, _ := v.base(l)
				return lv.people - base - v.cum[i] - at
			}
		}
	}
	return lv.people
}

// tiedAt reports whether the entry at place i of level l is tied.
func (v *LiveTree) tiedAt(l, i int32) bool {
	if i > v.f.lv.start[l] {
		return v.f.sorted[i].tiesWith(v.f.sorted[i-1])
	}
	_, tied := v.base(l)
	return tied
}

// lastUntied counts the users of level l and below before the last one that
// gets a rank of its own, or is none; tied says whether the account that owns
// the level is tied.
func (v *LiveTree) lastUntied(l int32, tied bool) int32 {
	last := &v.lastNew[0][l]
	if tied {
		last = &v.lastNew[1][l]
	}
	if *last == unknown {
		*last = v.findUntied(l, tied)
	}
	return *last
}

func (v *LiveTree) findUntied(l int32, tied bool) int32 {
	v.settle(l)
	lv := &v.f.lv
	start := lv.start[l]
	for i := lv.start[l+1] - 1; i >= start; i-- {
		e := v.f.sorted[i].ent
		if lv.kids[e] < 0 {
			// Before a user of a run come only users of that run.
			if r := v.runStart(start, i); r > start || !tied {
				return v.cum[r]
			}
			return none
		}
		t := tied
		if i > start {
			t = v.f.sorted[i].tiesWith(v.f.sorted[i-1])
		}
		if at := v.lastUntied(lv.kids[e], t); at != none {
			return v.cum[i] + at
		}
	}
	return none
}
