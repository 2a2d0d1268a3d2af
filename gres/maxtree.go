package gres

import "math"

// A maxTree holds a score per node and finds the highest, with the lowest node
// on ties: above the scores, levels with the maximum of each 64.
type maxTree struct {
	levels [][]int32 // levels[0] are the scores; the last has at most 64
}

// unfit is the score of a node that cannot be chosen.
const unfit = math.MinInt32

func newMaxTree(n int) maxTree {
	var t maxTree
	for {
		l := make([]int32, n)
		for i := range l {
			l[i] = unfit
		}
		t.levels = append(t.levels, l)
		if n <= 64 {
			return t
		}
		n = (n + 63) / 64
	}
}

// put stores the score of node i. At most 64 steps a level.
func (t *maxTree) put(i int32, score int32) {
	old := t.levels[0][i]
	t.levels[0][i] = score
	for k := 1; k < len(t.levels); k++ {
		below, b := t.levels[k-1], i>>6
		top := t.levels[k][b]
		switch {
		case score >= top:
			top = score
		case old < top:
			return // the maximum is another
		default:
			top = maxOf(below[b<<6 : min(int(b+1)<<6, len(below))])
		}
		old, t.levels[k][b] = t.levels[k][b], top
		if old == top {
			return
		}
		i, score = b, top
	}
}

func maxOf(s []int32) int32 {
	m := int32(unfit)
	for _, v := range s {
		m = max(m, v)
	}
	return m
}

// best returns the lowest node with the highest score, −1 if all are unfit.
func (t *maxTree) best() int32 {
	lo, hi, at := 0, len(t.levels[len(t.levels)-1]), -1
	for k := len(t.levels) - 1; k >= 0; k-- {
		l := t.levels[k]
		hi = min(hi, len(l))
		top := int32(unfit)
		for i := lo; i < hi; i++ {
			if l[i] > top {
				top, at = l[i], i
			}
		}
		if top == unfit {
			return -1
		}
		lo, hi = at<<6, (at+1)<<6
	}
	return int32(at)
}
