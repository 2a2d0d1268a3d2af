package topology_test

import (
	"math"
	"slices"
)

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
