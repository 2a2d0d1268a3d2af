package topology_test

import (
	"math"
	"slices"
	"sort"
)

// The twins place jobs by the rules of spec/topology.md 2 in the most direct way:
// sets are maps and slices, everything is counted anew, nothing is skipped. They
// share no code with the package.

// A twinJob is a request to a twin.
type twinJob struct {
	elig           []bool
	need           []int
	min, want, max int
	minCPUs        int
	cpus, gpus     []int
	jobGPUs        int
	weight         []int
	whole          bool
	contiguous     bool
	segment        int
	spread, cons   bool
	defects, best  bool
	dragonfly      bool
}

type twinVerdict int

const (
	twinFits twinVerdict = iota
	twinStop
	twinWeakest
	twinHinted
	twinSet
	twinPermanent
)

// A twinTry is one attempt on the nodes of elig.
type twinTry struct {
	j            *twinJob
	left         map[int]bool // candidates
	got          []int
	rem, lo, hi  int
	cpus, budget int
	gpus         int
	drop         map[int]bool
}

func newTwinTry(j *twinJob, elig map[int]bool, target int) *twinTry {
	t := &twinTry{j: j, left: map[int]bool{}, rem: target, lo: j.min, hi: j.max, cpus: j.minCPUs, budget: j.minCPUs, gpus: j.jobGPUs, drop: map[int]bool{}}
	if j.jobGPUs > 0 {
		t.rem = min(target, j.min)
	}
	for n := range elig {
		t.left[n] = true
	}
	return t
}

func (t *twinTry) done() bool { return t.rem <= 0 && t.cpus <= 0 && t.gpus <= 0 }
func (t *twinTry) ok() bool   { return t.lo <= 0 && t.cpus <= 0 && t.gpus <= 0 }

// enough is the number of nodes that must be there when rem are wanted.
func (t *twinTry) enough() int {
	if t.j.want <= t.j.min || t.j.jobGPUs > 0 {
		return t.rem
	}
	return t.rem - (t.j.want - t.j.min)
}

func (t *twinTry) take(n int) {
	give := t.j.cpus[n]
	if !t.j.whole {
		give = min(give, max(t.budget-max(t.lo-1, 0), 1))
	}
	t.cpus -= give
	t.budget -= give
	if t.j.jobGPUs > 0 {
		t.gpus -= max(min(t.j.gpus[n], t.gpus), min(t.j.gpus[n], 1))
	}
	delete(t.left, n)
	t.got = append(t.got, n)
	t.rem--
	t.lo--
	t.hi--
}

// drain takes the nodes of list that are candidates, ascending, until done.
func (t *twinTry) drain(list []int) (taken int) {
	list = slices.Clone(list)
	sort.Ints(list)
	for _, n := range list {
		if t.left[n] && t.hi > 0 && !t.done() {
			t.take(n)
			taken++
		}
	}
	return taken
}

func keysOf(m map[int]bool) []int {
	var out []int
	for n, in := range m {
		if in {
			out = append(out, n)
		}
	}
	sort.Ints(out)
	return out
}

// sum adds col over list.
func sumOf(list []int, col []int) (s int) {
	for _, n := range list {
		s += col[n]
	}
	return s
}

// classes splits the candidates of pool into forced nodes and the pool that is
// left, or says that the minimum is not there.
func (t *twinTry) classes(pool []int, untilMin bool) (forced, rest []int, ok bool) {
	want := t.rem
	if untilMin {
		want = t.enough()
	}
	byWeight := map[int][]int{}
	var weights []int
	for _, n := range pool {
		w := t.j.weight[n]
		if len(byWeight[w]) == 0 {
			weights = append(weights, w)
		}
		byWeight[w] = append(byWeight[w], n)
	}
	sort.Ints(weights)
	count, cpus, gpus := 0, 0, 0
	for i, w := range weights {
		count += len(byWeight[w])
		cpus += sumOf(byWeight[w], t.j.cpus)
		if t.j.gpus != nil {
			gpus += sumOf(byWeight[w], t.j.gpus)
		}
		if count >= want && cpus >= t.cpus && gpus >= t.gpus || i == len(weights)-1 {
			for _, v := range weights[:i] {
				forced = append(forced, byWeight[v]...)
			}
			sort.Ints(forced)
			return forced, byWeight[w], count >= t.lo
		}
	}
	return nil, nil, t.lo <= 0
}

// twinPlace runs the outer loop (2.2, 2.3) around try.
func twinPlace(j *twinJob, try func(elig map[int]bool) (*twinTry, twinVerdict)) ([]int, twinVerdict) {
	elig := map[int]bool{}
	for n, in := range j.elig {
		if in && j.cpus[n] > 0 {
			elig[n] = true
		}
	}
	if len(elig) < j.min {
		return nil, twinStop
	}
	for _, n := range j.need {
		if !elig[n] {
			return nil, twinStop
		}
	}
	order := keysOf(elig)
	size := func(n int) int {
		if j.gpus != nil {
			return j.cpus[n] * j.gpus[n]
		}
		return j.cpus[n]
	}
	slices.SortStableFunc(order, func(a, b int) int { return size(a) - size(b) })
	for {
		t, v := try(elig)
		switch v {
		case twinFits:
			out := slices.Clone(t.got)
			sort.Ints(out)
			return out, v
		case twinStop, twinPermanent:
			return nil, v
		}
		if len(elig) <= j.min {
			return nil, twinStop
		}
		if v == twinSet {
			for n := range t.drop {
				delete(elig, n)
			}
			if len(elig) < j.min || slices.ContainsFunc(j.need, func(n int) bool { return !elig[n] }) {
				return nil, twinStop
			}
			continue
		}
		found := false
		for _, n := range order {
			if elig[n] && !slices.Contains(j.need, n) && (v == twinWeakest || t.drop[n]) {
				delete(elig, n)
				found = true
				break
			}
		}
		if !found {
			return nil, twinStop
		}
	}
}

// twinFlat is 2.5.
func twinFlat(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) {
	t := newTwinTry(j, elig, j.want)
	for _, n := range j.need {
		t.take(n)
	}
	if t.done() {
		return t, twinFits
	}
	type stretch struct {
		nodes, all []int
		first      int
		weight     int
	}
	var runs []*stretch
	var cur *stretch
	for n := range j.elig {
		if !elig[n] {
			cur = nil
			continue
		}
		w := j.weight[n]
		if j.contiguous {
			w = 0
		}
		if cur == nil || cur.weight != w {
			cur = &stretch{first: -1, weight: w}
			runs = append(runs, cur)
		}
		cur.all = append(cur.all, n)
		if slices.Contains(j.need, n) {
			if cur.first < 0 {
				cur.first = n
			}
		} else {
			cur.nodes = append(cur.nodes, n)
		}
	}
	if j.contiguous && len(j.need) > 0 {
		with := 0
		for _, r := range runs {
			if r.first >= 0 {
				with++
			}
		}
		if with != 1 {
			return t, twinWeakest
		}
	}
	enough := func(r *stretch) bool {
		return sumOf(r.nodes, j.cpus) >= t.cpus && len(r.nodes) >= t.enough() && (t.gpus <= 0 || sumOf(r.nodes, j.gpus) >= t.gpus)
	}
	for t.hi > 0 {
		var best *stretch
		for _, r := range runs {
			if len(r.nodes) == 0 || j.contiguous && len(j.need) > 0 && r.first < 0 {
				continue
			}
			if best == nil || twinRunBetter(j, r.first >= 0, best.first >= 0, r.weight, best.weight, enough(r), enough(best), sumOf(r.nodes, j.cpus), sumOf(best.nodes, j.cpus)) {
				best = r
			}
		}
		if best == nil {
			break
		}
		if j.contiguous && !enough(best) {
			return t, twinWeakest
		}
		t.useStretch(best.nodes, best.first)
		best.nodes = nil
		if t.done() {
			return t, twinFits
		}
		if j.contiguous && j.best {
			break
		}
	}
	if t.ok() {
		return t, twinFits
	}
	return t, twinWeakest
}

func twinRunBetter(j *twinJob, cNeed, bNeed bool, cw, bw int, cOK, bOK bool, cc, bc int) bool {
	if j.defects {
		if cNeed && !bNeed || cw < bw {
			return true
		}
		if cw == bw && (cOK && !bOK || cOK && cc < bc || !cOK && cc > bc) {
			return true
		}
		return j.contiguous && cOK && !bOK
	}
	if cNeed != bNeed {
		return cNeed
	}
	if j.contiguous && cOK != bOK {
		return cOK
	}
	if cw != bw {
		return cw < bw
	}
	if cOK != bOK {
		return cOK
	}
	if cOK {
		return cc < bc
	}
	return cc > bc
}

func (t *twinTry) useStretch(nodes []int, first int) {
	if first >= 0 {
		var up, down []int
		for _, n := range nodes {
			if n > first {
				up = append(up, n)
			} else {
				down = append([]int{n}, down...)
			}
		}
		for _, n := range append(up, down...) {
			if t.hi > 0 && !t.done() {
				t.take(n)
			}
		}
		return
	}
	if t.rem <= 1 {
		best := -1
		for _, n := range nodes {
			if t.j.cpus[n] >= t.cpus && (t.gpus <= 0 || t.j.gpus[n] >= t.gpus) && (best < 0 || t.j.cpus[n] < t.j.cpus[best]) {
				best = n
			}
		}
		if best >= 0 {
			t.take(best)
			return
		}
	}
	for _, n := range nodes {
		if t.hi <= 0 || t.done() {
			break
		}
		if t.hi == 1 && t.j.cpus[n] < t.cpus {
			continue
		}
		t.take(n)
	}
}

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
