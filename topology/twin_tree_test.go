package topology_test

import (
	"math"
	"slices"
	"sort"
)

// A twinSwitch is a switch of a twin's tree.
type twinSwitch struct {
	parent int
	nodes  []int // of a leaf
	leaf   bool
}

// twinTree holds what the twin works out once: all nodes below, levels, hops.
type twinTree struct {
	sw    []twinSwitch
	below [][]int
	level []int
	hops  [][]int
}

func newTwinTree(sw []twinSwitch) *twinTree {
	t := &twinTree{sw: sw, below: make([][]int, len(sw)), level: make([]int, len(sw))}
	for i, s := range sw {
		if !s.leaf {
			continue
		}
		for u, l := i, 0; u >= 0; u, l = sw[u].parent, l+1 {
			t.below[u] = append(t.below[u], s.nodes...)
			t.level[u] = max(t.level[u], l)
		}
	}
	for i := range sw {
		d := slices.Repeat([]int{math.MaxInt32}, len(sw))
		d[i] = 0
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			for v := range sw {
				if (sw[u].parent == v || sw[v].parent == u) && d[v] == math.MaxInt32 {
					d[v] = d[u] + 1
					queue = append(queue, v)
				}
			}
		}
		t.hops = append(t.hops, d)
	}
	return t
}

// try is 2.6 and 2.7.
func (tr *twinTree) try(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) {
	t := newTwinTry(j, elig, j.want)
	for _, n := range j.need {
		t.take(n)
	}
	has := func(u int, list []int) bool {
		return slices.ContainsFunc(list, func(n int) bool { return slices.Contains(tr.below[u], n) })
	}
	in := func(u int, m map[int]bool) (out []int) {
		for _, n := range tr.below[u] {
			if m[n] {
				out = append(out, n)
			}
		}
		return out
	}
	top := -1
	for u := range tr.sw {
		switch {
		case len(j.need) > 0:
			if has(u, j.need) && (top < 0 || tr.level[u] > tr.level[top]) {
				top = u
			}
		case j.dragonfly:
			if len(in(u, elig)) > 0 && (top < 0 || tr.level[u] > tr.level[top]) {
				top = u
			}
		default:
			list := in(u, elig)
			if len(list) == 0 || len(list) < t.enough() || sumOf(list, j.cpus) < t.cpus {
				continue
			}
			light := func(u int) int {
				w := math.MaxInt
				for _, n := range in(u, elig) {
					w = min(w, j.weight[n])
				}
				return w
			}
			if top < 0 || tr.level[u] >= tr.level[top] && light(u) <= light(top) {
				top = u
			}
		}
	}
	if top < 0 {
		if len(j.need) > 0 {
			return t, twinPermanent
		}
		return t, twinStop
	}
	for _, n := range j.need {
		if !slices.Contains(tr.below[top], n) {
			return t, twinPermanent
		}
	}
	for n := range t.left {
		if !slices.Contains(tr.below[top], n) {
			delete(t.left, n)
		}
	}
	return t, tr.fill(t, top, elig, has, in)
}

func (tr *twinTree) fill(t *twinTry, top int, elig map[int]bool, has func(int, []int) bool, in func(int, map[int]bool) []int) twinVerdict {
	j := t.j
	if t.done() {
		return twinFits
	}
	hinted := func() twinVerdict {
		for _, n := range t.got {
			t.drop[n] = true
		}
		return twinHinted
	}
	forced, rest, ok := t.classes(keysOf(t.left), j.dragonfly)
	if !ok {
		if j.dragonfly {
			return twinStop
		}
		for _, n := range tr.below[top] {
			t.drop[n] = true
		}
		return twinSet
	}
	marked := map[int]bool{}
	start := append([]int{}, j.need...)
	for n := range t.left {
		if !slices.Contains(forced, n) && !slices.Contains(rest, n) {
			delete(t.left, n)
		}
	}
	for _, n := range forced {
		if t.hi <= 0 {
			return hinted()
		}
		t.take(n)
		start = append(start, n)
	}
	if t.hi <= 0 && len(forced) > 0 && !t.done() {
		return hinted()
	}
	if t.done() {
		return twinFits
	}
	for u := range tr.sw {
		marked[u] = has(u, start)
	}
	if j.dragonfly {
		if tr.dragonfly(t, marked, elig, in) {
			return twinFits
		}
		return hinted()
	}
	counts := map[int]int{}
	for u := range tr.sw {
		counts[u] = len(in(u, t.left))
	}
	if len(start) > 0 {
		total := 0
		for u, s := range tr.sw {
			if s.leaf && marked[u] && counts[u] > 0 && !t.done() && t.hi > 0 {
				n := t.drain(s.nodes)
				total += n
				if j.defects {
					n = total
				}
				for v := u; v >= 0; v = tr.sw[v].parent {
					counts[v] -= n
				}
			}
		}
	}
	tr.leaves(t, marked, counts, elig, in)
	if t.ok() {
		return twinFits
	}
	return hinted()
}

// leaves is step 5.
func (tr *twinTree) leaves(t *twinTry, marked map[int]bool, counts map[int]int, elig map[int]bool, in func(int, map[int]bool) []int) {
	fitsAt := func(u int) bool { return counts[u] >= t.rem && sumOf(in(u, elig), t.j.cpus) >= t.cpus }
	for t.hi > 0 && !t.done() {
		dist := func(u int) (d int) {
			for v := range tr.sw {
				if marked[v] {
					d += tr.hops[v][u]
				}
			}
			return d
		}
		best := -1
		for u, s := range tr.sw {
			if !s.leaf || marked[u] || counts[u] <= 0 || dist(u) >= math.MaxInt32 || len(in(u, t.left)) == 0 {
				continue
			}
			if best < 0 {
				best = u
				continue
			}
			a, b := u, best
			for !fitsAt(a) && !fitsAt(b) && tr.sw[a].parent != tr.sw[b].parent && tr.sw[a].parent >= 0 && tr.sw[b].parent >= 0 {
				a, b = tr.sw[a].parent, tr.sw[b].parent
			}
			var better bool
			switch fa, fb := fitsAt(a), fitsAt(b); {
			case fa && fb && counts[a] != counts[b]:
				better = counts[a] < counts[b]
			case fa != fb:
				better = fa
			case counts[a] != counts[b]:
				better = counts[a] > counts[b]
			default:
				better = tr.level[a] < tr.level[b]
			}
			if dist(u) < dist(best) && fitsAt(a) || dist(u) == dist(best) && better {
				best = u
			}
		}
		if best < 0 {
			return
		}
		n := t.drain(tr.sw[best].nodes)
		if n == 0 {
			return
		}
		marked[best] = true
		for v := best; v >= 0; v = tr.sw[v].parent {
			counts[v] -= n
		}
	}
}

func (tr *twinTree) dragonfly(t *twinTry, marked, elig map[int]bool, in func(int, map[int]bool) []int) bool {
	var leaves, with []int
	for u, s := range tr.sw {
		if s.leaf {
			leaves = append(leaves, u)
			if marked[u] {
				with = append(with, u)
			}
		}
	}
	if len(with) == 0 {
		best := -1
		for _, u := range leaves {
			if n := len(in(u, t.left)); n > 0 && (best < 0 || n > len(in(best, t.left))) {
				best = u
			}
		}
		if best >= 0 {
			with = []int{best}
		}
	}
	if len(with) == 1 {
		if list := in(with[0], t.left); len(list) >= t.enough() && sumOf(in(with[0], elig), t.j.cpus) >= t.cpus {
			t.drain(list)
		}
	}
	for more := true; more; {
		more = false
		for _, u := range leaves {
			list := in(u, t.left)
			sort.Ints(list)
			if len(list) > 0 && !t.done() && t.hi > 0 {
				t.take(list[0])
				more = true
			}
		}
	}
	return t.ok()
}
