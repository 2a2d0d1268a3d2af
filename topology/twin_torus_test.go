package topology_test

import (
	"math"
	"slices"
	"sort"
)

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
