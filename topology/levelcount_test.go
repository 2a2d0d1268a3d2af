package topology_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/topology"
)

// wideLevels builds up to 300 nodes under one to three levels of consecutive
// nodes, some of them in no domain, sometimes in no order.
func wideLevels(r *rand.Rand) (*topology.Levels, int) {
	n := 1 + r.IntN(300)
	depth := 1 + r.IntN(3)
	width := 1 + r.IntN(100)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if r.IntN(4) == 0 {
		order = r.Perm(n)
	}
	gaps := r.IntN(3) == 0
	var names []string
	labels := make([][]string, depth)
	for l := range depth {
		names = append(names, fmt.Sprintf("level%d", l))
		labels[l] = make([]string, n)
		size := width
		for range depth - 1 - l {
			size *= 2 + r.IntN(3)
		}
		for id := range n {
			if labels[l][id] = fmt.Sprintf("d%03d", order[id]/size); gaps && id%7 == 3 {
				labels[l][id] = ""
			}
		}
	}
	lv, err := topology.NewLevels(names, labels, n)
	if err != nil {
		panic(err)
	}
	return lv, n
}

// A fit that leaves the counts of single nodes to the end, and one that counts
// equal nodes by words, find what the fit that counts everything finds, refusals
// included.
func TestLevelCountsChangeNothing(t *testing.T) {
	var ws topology.LevelScratch
	var want, got topology.LevelResult
	fit := 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(24, uint64(i)))
		lv, n := wideLevels(r)
		req := randomLevelRequest(r, lv, n)
		if r.IntN(2) == 0 {
			req.Leader, req.LeaderFits, req.WithLeader = false, nil, nil
		}
		if r.IntN(3) == 0 {
			req.Count *= int32(1 + r.IntN(40))
		}
		req.Balanced = r.IntN(6) == 0
		if r.IntN(4) > 0 {
			req.Eligible = new(topology.NodeSet)
			req.Eligible.Init(n)
			for id := range n {
				if r.IntN(4) > 0 {
					req.Eligible.Add(topology.NodeID(id))
				}
			}
		}
		each := int32(0)
		if r.IntN(2) == 0 {
			each = int32(1 + r.IntN(4))
			for id := range req.Capacity {
				if req.Capacity[id] = each; req.Eligible != nil && !req.Eligible.Has(topology.NodeID(id)) {
					req.Capacity[id] = 0
				}
				if req.WithLeader != nil {
					req.WithLeader[id] = int32(r.IntN(int(req.Capacity[id]) + 1))
				}
			}
		}
		// A set of occupied nodes, though empty, makes it count everything.
		full := *req
		full.Exclusive, full.Occupied = 0, new(topology.NodeSet)
		full.Occupied.Init(n)
		ok := lv.Fit(&ws, &full, &want)
		for _, form := range []string{"column", "each"} {
			q := *req
			if form == "each" {
				if q.Each, q.Capacity = each, nil; each == 0 {
					continue
				}
			}
			if lv.Fit(&ws, &q, &got) != ok {
				t.Fatalf("case %d %s: %v, want %v", i, form, !ok, ok)
			}
			got.Steps = want.Steps
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("case %d %s (-want +got): %s\n%+v", i, form, d, q)
			}
		}
		if ok {
			fit++
		}
	}
	t.Logf("%d fit", fit)
}
