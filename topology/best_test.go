package topology_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// bestCases: brute force is slow, so a deep run has half as many.
func bestCases() int {
	if deep {
		return cases() / 2
	}
	return cases()
}

// worthLeft is the worth of the free nodes of a block topology by brute counting.
func (b *twinBlocks) worthLeft(free map[int]bool, slots []topology.SlotWeight) int64 {
	sum := int64(0)
	for _, w := range slots {
		width, _, _, _ := b.shape(int(w.Nodes))
		for _, piece := range b.cut(width) {
			n := 0
			for _, i := range piece {
				for _, m := range b.blocks[i] {
					if free[m] {
						n++
					}
				}
			}
			sum += w.Weight * int64(n/int(w.Nodes))
		}
	}
	return sum
}

// bestWorth tries every way to place size nodes that Slurm's rules allow.
func (b *twinBlocks) bestWorth(free map[int]bool, size int, slots []topology.SlotWeight) (best int64, ok bool) {
	width, group, limit, active := b.shape(size)
	for _, piece := range b.cut(width) {
		var walk func(at, left int)
		walk = func(at, left int) {
			if at == len(piece) {
				if left > 0 {
					return
				}
				used := map[int]bool{}
				for _, i := range piece {
					for _, n := range b.blocks[i] {
						if _, in := free[n]; in && !free[n] {
							used[i/group] = true
						}
					}
				}
				if active && len(used) > limit {
					return
				}
				if w := b.worthLeft(free, slots); !ok || w > best {
					best, ok = w, true
				}
				return
			}
			var cand []int
			for _, n := range b.blocks[piece[at]] {
				if free[n] {
					cand = append(cand, n)
				}
			}
			slices.Sort(cand)
			for k := 0; ; k++ {
				walk(at+1, left-k)
				if k == min(left, len(cand)) {
					for _, n := range cand[:k] {
						free[n] = true
					}
					return
				}
				free[cand[k]] = false
			}
		}
		walk(0, size)
	}
	return best, ok
}

func TestBlockSlotsEqualBruteForce(t *testing.T) {
	var ws topology.Scratch
	var res, plain topology.Result
	fit, improved := 0, 0
	for i := range bestCases() {
		r := rand.New(rand.NewPCG(11, uint64(i)))
		base := 1 + r.IntN(5)
		b := &twinBlocks{base: base, levels: map[int]bool{0: true}}
		spec := topology.Spec{Name: "t", Block: &topology.BlockSpec{Sizes: []int64{int64(base)}}}
		for k := 1; k < 4; k++ {
			if r.IntN(2) == 0 {
				b.levels[k] = true
				spec.Block.Sizes = append(spec.Block.Sizes, int64(base<<k))
			}
		}
		n := 2 + r.IntN(11)
		b.blocks = splitNodes(r, n, func() int { return base })
		for _, l := range b.blocks {
			spec.Block.Blocks = append(spec.Block.Blocks, topology.UnitSpec{Name: "b" + hosts(l), Nodes: hosts(l)})
		}
		j := &twinJob{elig: make([]bool, n), cpus: make([]int, n), weight: make([]int, n)}
		free := map[int]bool{}
		for m := range n {
			j.cpus[m] = 1
			if r.IntN(3) > 0 && b.of(m) >= 0 {
				j.elig[m], free[m] = true, true
			}
		}
		j.min = 2 + r.IntN(2*base)
		j.want, j.max, j.minCPUs = j.min, j.min, j.min
		var slots []topology.SlotWeight
		for range 1 + r.IntN(3) {
			slots = append(slots, topology.SlotWeight{Nodes: int32(1 + r.IntN(2*base+1)), Weight: int64(1 + r.IntN(5))})
		}
		names := make([]string, n)
		for m := range names {
			names[m] = name(m)
		}
		table, _ := topology.NewNames(names)
		top, problems := topology.New(&spec, table)
		if top == nil {
			t.Fatal(problems.Err())
		}
		want, can := b.bestWorth(free, j.min, slots)
		req := j.request(true)
		ok := top.Fitter(topology.Options{Slots: slots}).Fit(&ws, req, &res)
		if ok != can {
			t.Fatalf("case %d: fits %v, brute force %v: %+v", i, ok, can, j)
		}
		if !ok {
			continue
		}
		fit++
		left := map[int]bool{}
		for m, in := range free {
			left[m] = in && !res.Set.Has(topology.NodeID(m))
		}
		if got := b.worthLeft(left, slots); got != want {
			t.Fatalf("case %d: %v keeps %d, brute force %d\n%+v\nslots %v blocks %v", i, res.Nodes, got, want, *j, slots, b)
		}
		if !top.Fitter(topology.Options{Profile: topology.ProfileSlurm}).Fit(&ws, req, &plain) {
			t.Fatalf("case %d: only the best fits", i)
		}
		for m := range left {
			left[m] = free[m] && !plain.Set.Has(topology.NodeID(m))
		}
		if b.worthLeft(left, slots) == want {
			if !slices.Equal(res.Nodes, plain.Nodes) {
				t.Fatalf("case %d: %v keeps as much as Slurm's %v", i, res.Nodes, plain.Nodes)
			}
		} else {
			improved++
		}
	}
	t.Logf("%d of %d placements better than Slurm's", improved, fit)
}

// The strict tree fit finds the lowest switch that holds the job, of several the
// one with the least slack, and in it the fewest leaves.
func TestTreeBestIsLowest(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	for i := range cases() {
		r := rand.New(rand.NewPCG(12, uint64(i)))
		w := randomTree(r)
		tr := w.twin
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		j.jobGPUs, j.gpus, j.minCPUs, j.want, j.max = 0, nil, 0, j.min, max(j.min, 2)
		elig := map[int]bool{}
		for n := range w.n {
			j.cpus[n], j.weight[n] = 1, 0
			elig[n] = j.elig[n]
		}
		if len(j.need) > j.min {
			continue
		}
		ok := top.Fitter(topology.Options{}).Fit(&ws, j.request(true), &res)
		// By hand: every switch that holds the required nodes and enough others.
		best, free := -1, func(u int) (k int) {
			for _, n := range tr.below[u] {
				if elig[n] {
					k++
				}
			}
			return k
		}
		needOK := true
		for _, n := range j.need {
			needOK = needOK && elig[n]
		}
		for u := range tr.sw {
			holds := needOK
			for _, n := range j.need {
				holds = holds && slices.Contains(tr.below[u], n)
			}
			if !holds || free(u) < j.min {
				continue
			}
			if best < 0 || tr.level[u] < tr.level[best] || tr.level[u] == tr.level[best] && free(u) < free(best) {
				best = u
			}
		}
		if ok != (best >= 0) {
			t.Fatalf("case %d: fits %v, want %v\n%+v\n%s", i, ok, best >= 0, *j, w.text)
		}
		if !ok {
			continue
		}
		leaves := map[int]bool{}
		for _, id := range res.Nodes {
			if !slices.Contains(tr.below[best], int(id)) {
				t.Fatalf("case %d: node %d is not below switch s%d, the lowest: %v\n%+v\n%s", i, id, best, res.Nodes, *j, w.text)
			}
			leaves[int(top.UnitOf(id))] = true
		}
		// The fewest leaves: those of required nodes, then the fullest.
		left, few := j.min, 0
		var sizes []int
		for u, s := range tr.sw {
			if !s.leaf || !slices.Contains(tr.below[best], append(s.nodes, -1)[0]) {
				continue
			}
			if slices.ContainsFunc(j.need, func(n int) bool { return slices.Contains(s.nodes, n) }) {
				left -= free(u)
				few++
			} else {
				sizes = append(sizes, free(u))
			}
		}
		slices.Sort(sizes)
		for k := len(sizes) - 1; left > 0; k-- {
			left -= sizes[k]
			few++
		}
		if len(leaves) != few {
			t.Fatalf("case %d: %d leaves, want %d: %v\n%+v\n%s", i, len(leaves), few, res.Nodes, *j, w.text)
		}
	}
}

// One node goes where the least is left over.
func TestOneNodePacks(t *testing.T) {
	var ws topology.Scratch
	var res topology.Result
	for i := range cases() {
		r := rand.New(rand.NewPCG(13, uint64(i)))
		w := randomBlocks(r)
		names := make([]string, w.n)
		for n := range names {
			names[n] = name(n)
		}
		table, _ := topology.NewNames(names)
		top, _ := topology.New(&w.spec, table)
		j := randomJob(r, w)
		j.min, j.want, j.max, j.minCPUs, j.segment, j.need, j.whole = 1, 1, 1, r.IntN(3), 0, nil, false
		j.jobGPUs, j.gpus = 0, nil
		var busy topology.NodeSet
		busy.Init(w.n)
		for n := range w.n {
			if j.cpus[n] < 2 {
				busy.Add(topology.NodeID(n))
			}
		}
		req := j.request(false)
		req.Busy = &busy
		ok := top.Fitter(topology.Options{}).Fit(&ws, req, &res)
		idle := func(n int) (k int) {
			for m := range w.n {
				if u := top.UnitOf(topology.NodeID(n)); u != topology.NoUnit && top.UnitOf(topology.NodeID(m)) == u && j.elig[m] && !busy.Has(topology.NodeID(m)) {
					k++
				}
			}
			return k
		}
		best := -1
		var bestKey [4]int
		for n := range w.n {
			if !j.elig[n] || j.cpus[n] < max(j.minCPUs, 1) {
				continue
			}
			key := [4]int{j.weight[n] >> 8, j.cpus[n], idle(n), n}
			if best < 0 || slices.Compare(key[:], bestKey[:]) < 0 {
				best, bestKey = n, key
			}
		}
		if ok != (best >= 0) || ok && int(res.Nodes[0]) != best {
			t.Fatalf("case %d: got %v %v, want %d", i, ok, res.Nodes, best)
		}
	}
}
