package topology_test

import (
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
