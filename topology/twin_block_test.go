package topology_test

import (
	"math"
	"slices"
	"sort"
)

// A twinBlocks is a block topology: the nodes of each base block, the base size
// and which powers of two times it are enforced.
type twinBlocks struct {
	blocks [][]int
	base   int
	levels map[int]bool
}

// shape returns how many base blocks a candidate block of a part has (0: all),
// the base blocks of a low group, how many groups may be touched and whether
// that limit counts.
func (b *twinBlocks) shape(size int) (width, group, limit int, active bool) {
	k := 0
	for b.base<<k < size {
		k++
	}
	group = 1
	for l := range k {
		if b.levels[l] {
			group = 1 << l
		}
	}
	limit = (size + b.base*group - 1) / (b.base * group)
	for l := k; l <= 15; l++ {
		if b.levels[l] {
			return 1 << l, group, limit, 1<<l != group*limit
		}
	}
	return 0, group, limit, len(b.blocks) != group*limit
}

func (b *twinBlocks) of(n int) int {
	return slices.IndexFunc(b.blocks, func(list []int) bool { return slices.Contains(list, n) })
}

// twinParts is the number of parts and their size; no parts if they do not
// divide.
func twinParts(j *twinJob) (k, size int) {
	switch {
	case j.segment <= 0 || j.segment > j.min:
		return 1, j.min
	case j.min%j.segment != 0:
		return 0, 0
	}
	return j.min / j.segment, j.segment
}

// part returns a try for one of k parts on the candidates of all.
func (t *twinTry) part(i, k, size int) *twinTry {
	p := *t
	p.got = nil
	if k > 1 {
		p.rem, p.lo, p.hi = size, size, t.j.max/k
		p.cpus, p.gpus = t.j.minCPUs/k, t.j.jobGPUs/k
		if i < t.j.minCPUs%k {
			p.cpus++
		}
		if i < t.j.jobGPUs%k {
			p.gpus++
		}
		p.budget = p.cpus
	}
	return &p
}

// try is 2.8.
func (b *twinBlocks) try(j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) {
	all := newTwinTry(j, elig, j.min)
	for n := range all.left {
		if b.of(n) < 0 {
			delete(all.left, n)
		}
	}
	k, size := twinParts(j)
	if k == 0 {
		return all, twinPermanent
	}
	need := j.need
	if len(need) > 0 && k > 1 {
		if len(need) < j.min {
			return all, twinPermanent
		}
		for n := range all.left {
			if !slices.Contains(need, n) {
				delete(all.left, n)
			}
		}
		need = nil
	}
	area := []int(nil) // base blocks of the aggregate for all segments
	areaWidth := -1
	if k > 1 && j.cons {
		total := j.min
		if j.spread {
			total = (size + b.base - 1) / b.base * b.base * k
		}
		areaWidth, _, _, _ = b.shape(total)
	}
	for part := range k {
		p := all.part(part, k, size)
		v := b.place(p, size, k, need, areaWidth, &area)
		all.got = append(all.got, p.got...)
		if v == twinFits {
			if j.spread && k > 1 {
				for _, n := range p.got {
					for _, m := range b.blocks[b.of(n)] {
						delete(all.left, m)
					}
				}
			}
			continue
		}
		switch {
		case v == twinPermanent:
		case area != nil:
			for _, i := range area {
				for _, n := range b.blocks[i] {
					all.drop[n] = true
				}
			}
			v = twinSet
		case v == twinHinted || part > 0 && len(all.left) == 0:
			for _, n := range all.got {
				all.drop[n] = true
			}
			v = twinHinted
		}
		return all, v
	}
	return all, twinFits
}

// cut splits base blocks into pieces of width; 0 is one piece.
func (b *twinBlocks) cut(width int) (out [][]int) {
	if width == 0 {
		width = len(b.blocks)
	}
	for i := 0; i < len(b.blocks); i += width {
		var piece []int
		for x := i; x < min(i+width, len(b.blocks)); x++ {
			piece = append(piece, x)
		}
		out = append(out, piece)
	}
	return out
}

func (b *twinBlocks) free(t *twinTry, piece []int) (out []int) {
	for _, i := range piece {
		for _, n := range b.blocks[i] {
			if t.left[n] {
				out = append(out, n)
			}
		}
	}
	sort.Ints(out)
	return out
}

// place places one part.
func (b *twinBlocks) place(t *twinTry, size, k int, need []int, areaWidth int, area *[]int) twinVerdict {
	width, group, limit, active := b.shape(size)
	piece := -1
	pieces := b.cut(width)
	if len(need) > 0 {
		for _, n := range need {
			if b.of(n) < 0 {
				return twinStop
			}
		}
		for i := range pieces {
			if piece < 0 && slices.ContainsFunc(need, func(n int) bool { return slices.Contains(pieces[i], b.of(n)) }) {
				piece = i
			}
		}
		for _, n := range need {
			if !slices.Contains(pieces[piece], b.of(n)) {
				return twinStop
			}
		}
	} else {
		piece = b.choose(t, pieces, width == 0, group, limit, active, k, areaWidth, *area)
		if piece < 0 {
			return twinStop
		}
	}
	if areaWidth >= 0 && *area == nil {
		for _, a := range b.cut(areaWidth) {
			if slices.Contains(a, pieces[piece][0]) {
				*area = a
			}
		}
		for n := range t.left {
			if !slices.Contains(*area, b.of(n)) {
				delete(t.left, n)
			}
		}
	}
	used := map[int]bool{}
	touched := map[int]bool{}
	if len(need) > 0 && active {
		for _, n := range need {
			used[b.of(n)/group] = true
			touched[b.of(n)] = true
		}
		if len(used) > limit {
			return twinPermanent
		}
	}
	for _, n := range need {
		t.take(n)
	}
	forced, rest, ok := t.classes(b.free(t, pieces[piece]), false)
	if !ok {
		return twinWeakest
	}
	if t.done() {
		return twinFits
	}
	pool := map[int]bool{}
	for _, n := range rest {
		pool[n] = true
	}
	for _, n := range forced {
		if t.hi <= 0 {
			return twinHinted
		}
		if active && !used[b.of(n)/group] {
			used[b.of(n)/group] = true
			if len(used) > limit {
				return twinWeakest
			}
		}
		t.take(n)
	}
	if len(forced) > 0 {
		for _, n := range t.got {
			touched[b.of(n)] = true
		}
	}
	return b.fill(t, pieces[piece], pool, used, touched, group, limit, active)
}

// choose returns the index of the best piece, or -1.
func (b *twinBlocks) choose(t *twinTry, pieces [][]int, whole bool, group, limit int, active bool, k, areaWidth int, area []int) int {
	best, bestKey := -1, [3]int{}
	for i, piece := range pieces {
		free := b.free(t, piece)
		if areaWidth >= 0 && area == nil {
			skip := true
			for _, a := range b.cut(areaWidth) {
				if slices.Contains(a, piece[0]) && len(b.free(t, a)) >= t.j.min {
					skip = false
				}
			}
			if skip {
				continue
			}
		}
		reach := len(free)
		if active {
			var sums []int
			for g := 0; g < len(piece); g += group {
				if t.j.defects && whole && g+group > len(piece) {
					break
				}
				sums = append(sums, len(b.free(t, piece[g:min(g+group, len(piece))])))
			}
			sort.Sort(sort.Reverse(sort.IntSlice(sums)))
			reach = 0
			for _, s := range sums[:min(limit, len(sums))] {
				reach += s
			}
		}
		if reach < t.rem || sumOf(free, t.j.cpus) < t.cpus {
			continue
		}
		light := math.MaxInt
		for _, n := range free {
			light = min(light, t.j.weight[n])
		}
		if key := [3]int{light, len(free), -i}; best < 0 || slices.Compare(key[:], bestKey[:]) < 0 {
			best, bestKey = i, key
		}
	}
	return best
}

// fill is steps 3 and 4 inside a block.
func (b *twinBlocks) fill(t *twinTry, piece []int, pool map[int]bool, used, touched map[int]bool, group, limit int, active bool) twinVerdict {
	cand := func(i int) (out []int) {
		for _, n := range b.blocks[i] {
			if t.left[n] && pool[n] {
				out = append(out, n)
			}
		}
		return out
	}
	for _, i := range piece {
		if touched[i] {
			t.drain(cand(i))
		}
	}
	before := map[int]int{}
	for _, i := range piece {
		before[i/group] += len(cand(i))
	}
	prefer := func(a, b, r int) int { // >0: a is better
		switch {
		case a == b:
			return 0
		case a >= r && b >= r:
			return b - a
		case a >= r || b >= r:
			if a >= r {
				return 1
			}
			return -1
		}
		return a - b
	}
	tried := map[int]bool{}
	for t.hi > 0 && !t.done() {
		best := -1
		for _, i := range piece {
			if len(cand(i)) == 0 || tried[i] {
				continue
			}
			if best < 0 {
				best = i
				continue
			}
			d := 0
			if active && i/group != best/group {
				if used[i/group] != used[best/group] {
					d = -1
					if used[i/group] {
						d = 1
					}
				} else {
					d = prefer(before[i/group], before[best/group], t.rem)
				}
			}
			if d == 0 {
				d = prefer(len(cand(i)), len(cand(best)), t.rem)
			}
			if d >= 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		if active && !used[best/group] {
			if len(used) >= limit {
				break
			}
			used[best/group] = true
		}
		tried[best] = true
		t.drain(cand(best))
	}
	if t.ok() {
		return twinFits
	}
	return twinHinted
}
