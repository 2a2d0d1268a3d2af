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
	return 0, group, limit, true
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

// A twinWindow is a candidate of a ring.
type twinWindow struct {
	nodes        []int
	weight, free int
}

func (a *twinWindow) worse(b *twinWindow) bool {
	if a.weight != b.weight {
		return a.weight > b.weight
	}
	return a.free > b.free
}

// twinRing is 2.9.
func twinRing(rings [][]int, j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) {
	t := newTwinTry(j, elig, j.min)
	inRing := map[int]bool{}
	for _, r := range rings {
		for _, n := range r {
			inRing[n] = true
		}
	}
	for n := range t.left {
		if !inRing[n] || len(j.need) > 0 && !slices.Contains(j.need, n) {
			delete(t.left, n)
		}
	}
	k, size := twinParts(j)
	if k == 0 || len(j.need) > 0 && len(j.need) < j.min {
		return t, twinPermanent
	}
	var heap []*twinWindow
	for _, r := range rings {
		var best *twinWindow
		free := 0
		for _, n := range r {
			if t.left[n] {
				free++
			}
		}
		for start := range r {
			if len(r) < size || len(r) == size && start > 0 {
				break
			}
			w := &twinWindow{weight: math.MinInt, free: free}
			ok := true
			for i := range size {
				n := r[(start+i)%len(r)]
				ok = ok && t.left[n]
				w.nodes = append(w.nodes, n)
				w.weight = max(w.weight, j.weight[n])
			}
			if k == 1 && j.jobGPUs > 0 && sumOf(w.nodes, j.gpus) < t.gpus {
				ok = false
			}
			if ok && (best == nil || w.weight < best.weight) {
				best = w
			}
		}
		if best == nil {
			continue
		}
		if len(heap) < k {
			heap = append(heap, best)
			for i := len(heap) - 1; i > 0 && heap[i].worse(heap[(i-1)/2]); i = (i - 1) / 2 {
				heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
			}
			continue
		}
		if !heap[0].worse(best) {
			continue
		}
		heap[0] = best
		for i := 0; 2*i+1 < k; {
			c := 2*i + 1
			if c+1 < k && heap[c+1].worse(heap[c]) {
				c++
			}
			if !heap[c].worse(heap[i]) {
				break
			}
			heap[i], heap[c] = heap[c], heap[i]
			i = c
		}
	}
	if len(heap) < k {
		return t, twinStop
	}
	for _, w := range heap {
		for _, n := range w.nodes {
			t.take(n)
		}
	}
	if t.ok() {
		return t, twinFits
	}
	for _, n := range t.got {
		t.drop[n] = true
	}
	return t, twinHinted
}

// A twinTorus is one torus; a twinShape the boxes of one placement.
type twinTorus struct {
	nodes  []int
	shapes []twinShape // by volume, stable
}

type twinShape struct {
	volume  int
	anchors [][]int // nodes of each anchor; nil if a cell is empty
	clash   bool
}

// newTwinTorus lays out a torus without any arithmetic on grids: anchors are
// walked to, and overlaps are found by comparing all boxes.
func newTwinTorus(dims [3]int, cells []int, placements [][3][3]int) twinTorus {
	t := twinTorus{}
	for _, n := range cells {
		if n >= 0 {
			t.nodes = append(t.nodes, n)
		}
	}
	slices.SortStableFunc(placements, func(a, b [3][3]int) int {
		return a[0][0]*a[0][1]*a[0][2] - b[0][0]*b[0][1]*b[0][2]
	})
	type boxed struct{ full [][]int }
	var grids []boxed
	for _, p := range placements {
		size, seed, step := p[0], p[1], p[2]
		var axis [3][]int
		for a := range 3 {
			s := step[a]
			if s == 0 {
				s = size[a]
			}
			for at := seed[a]; !slices.Contains(axis[a], at); at = (at + s) % dims[a] {
				axis[a] = append(axis[a], at)
			}
		}
		sh := twinShape{volume: size[0] * size[1] * size[2]}
		var g boxed
		for _, x := range axis[0] {
			for _, y := range axis[1] {
				for _, z := range axis[2] {
					var box, full []int
					empty := false
					for i := range size[0] {
						for j := range size[1] {
							for k := range size[2] {
								c := (x+i)%dims[0] + dims[0]*((y+j)%dims[1]+dims[1]*((z+k)%dims[2]))
								full = append(full, c)
								if cells[c] < 0 {
									empty = true
								}
								box = append(box, cells[c])
							}
						}
					}
					if empty {
						box = nil
					}
					sort.Ints(box)
					sh.anchors = append(sh.anchors, box)
					g.full = append(g.full, full)
				}
			}
		}
		t.shapes = append(t.shapes, sh)
		grids = append(grids, g)
	}
	overlap := func(a, b []int) bool {
		return slices.ContainsFunc(a, func(c int) bool { return slices.Contains(b, c) })
	}
	for i := range grids {
		for j := range grids {
			if t.shapes[i].volume != t.shapes[j].volume {
				continue
			}
			for x, a := range grids[i].full {
				for y, b := range grids[j].full {
					if (i != j || x != y) && overlap(a, b) {
						t.shapes[i].clash = true
					}
				}
			}
		}
	}
	return t
}

// twinTorusTry is 2.10.
func twinTorusTry(toruses []twinTorus, j *twinJob, elig map[int]bool) (*twinTry, twinVerdict) {
	t := newTwinTry(j, elig, j.min)
	in := map[int]bool{}
	possible := false
	k, size := twinParts(j)
	for _, to := range toruses {
		for _, n := range to.nodes {
			in[n] = true
		}
		for _, s := range to.shapes {
			possible = possible || s.volume == size
		}
	}
	for n := range t.left {
		if !in[n] || k > 1 && len(j.need) > 0 && !slices.Contains(j.need, n) {
			delete(t.left, n)
		}
	}
	if k == 0 || k > 1 && len(j.need) > 0 && len(j.need) < j.min || !possible {
		return t, twinPermanent
	}
	clash := false
	for part := range k {
		type spot struct {
			torus, shape       int
			box                []int
			weight, cost, free int
		}
		var best *spot
		for ti, to := range toruses {
			free := 0
			for _, n := range to.nodes {
				if t.left[n] {
					free++
				}
			}
			for si, sh := range to.shapes {
				if sh.volume != size {
					continue
				}
				for _, box := range sh.anchors {
					ok := box != nil
					for _, n := range box {
						ok = ok && t.left[n]
					}
					if k == 1 {
						for _, n := range j.need {
							ok = ok && slices.Contains(box, n)
						}
					}
					if !ok {
						continue
					}
					c := &spot{torus: ti, shape: si, box: box, weight: math.MinInt, free: free}
					for _, n := range box {
						c.weight = max(c.weight, j.weight[n])
					}
					for _, big := range to.shapes {
						if big.volume > size {
							for _, bb := range big.anchors {
								whole := bb != nil
								for _, n := range bb {
									whole = whole && t.left[n]
								}
								if whole && slices.ContainsFunc(bb, func(n int) bool { return slices.Contains(box, n) }) {
									c.cost++
								}
							}
							break
						}
					}
					better := best == nil
					if best != nil {
						switch {
						case c.weight != best.weight:
							better = c.weight < best.weight
						case c.torus == best.torus && c.shape == best.shape && c.cost != best.cost:
							better = c.cost < best.cost
						default:
							better = c.free < best.free
						}
					}
					if better {
						best = c
					}
				}
			}
		}
		if best == nil {
			if part > 0 && clash {
				for _, n := range t.got {
					t.drop[n] = true
				}
				return t, twinHinted
			}
			return t, twinStop
		}
		if part == 0 {
			clash = toruses[best.torus].shapes[best.shape].clash
		}
		p := t.part(part, k, size)
		for _, n := range best.box {
			p.take(n)
		}
		q := t.part(part, k, size)
		t.got = append(t.got, p.got...)
		t.rem, t.lo, t.hi = t.rem-size, t.lo-size, t.hi-size
		t.cpus -= q.cpus - p.cpus
		t.gpus -= q.gpus - p.gpus
	}
	if t.ok() {
		return t, twinFits
	}
	for _, n := range t.got {
		t.drop[n] = true
	}
	return t, twinHinted
}
