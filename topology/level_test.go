package topology_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// A twinDomain is a domain of a random world of levels: children or a node.
type twinDomain struct {
	level int
	sub   []*twinDomain
	node  int
	nodes []int
}

// randomLevels builds up to 12 nodes under up to two levels above them; the last
// level is the nodes.
func randomLevels(r *rand.Rand) (*topology.Levels, *twinDomain, int) {
	depth := r.IntN(3)
	n := 1 + r.IntN(12)
	var names []string
	labels := make([][]string, depth)
	for l := range depth {
		names = append(names, fmt.Sprintf("level%d", l))
		labels[l] = make([]string, n)
	}
	for id := range n {
		for l := range depth {
			labels[l][id] = fmt.Sprintf("d%d", r.IntN(3))
		}
	}
	lv, err := topology.NewLevels(names, labels, n)
	if err != nil {
		panic(err)
	}
	var build func(level int, nodes []int) *twinDomain
	build = func(level int, nodes []int) *twinDomain {
		d := &twinDomain{level: level, nodes: nodes, node: -1}
		if level == depth {
			d.node = nodes[0]
			return d
		}
		groups := map[string][]int{}
		var keys []string
		for _, id := range nodes {
			k := fmt.Sprintf("%03d", id)
			if level+1 < depth {
				k = labels[level+1][id]
			}
			if groups[k] == nil {
				keys = append(keys, k)
			}
			groups[k] = append(groups[k], id)
		}
		slices.Sort(keys)
		for _, k := range keys {
			d.sub = append(d.sub, build(level+1, groups[k]))
		}
		return d
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	root := build(-1, all)
	return lv, root, n
}

// find collects the domains of a level below d.
func (d *twinDomain) find(level int) (out []*twinDomain) {
	if d.level == level {
		return []*twinDomain{d}
	}
	for _, s := range d.sub {
		out = append(out, s.find(level)...)
	}
	return out
}

// most returns how many outermost slices domain d can hold if the leader is on
// node lead (-1: not here), by the definition of slices, layer by layer.
func (d *twinDomain) most(req *topology.LevelRequest, capacity []int32, lead int) int32 {
	layers := req.Slices
	if len(layers) == 0 {
		layers = []topology.Slice{{Level: 99, Size: 1}}
	}
	return d.members(layers, 0, capacity, req.WithLeader, lead) / layers[0].Size
}

// members returns the most members in d that are whole slices of layers[at:].
func (d *twinDomain) members(layers []topology.Slice, at int, capacity, with []int32, lead int) int32 {
	sum := int32(0)
	if d.node >= 0 {
		sum = capacity[d.node]
		if lead == d.node && with != nil {
			sum = min(sum, with[d.node])
		}
	} else {
		for _, s := range d.sub {
			next := at
			for next < len(layers) && layers[next].Level < s.level {
				next++
			}
			sum += s.members(layers, next, capacity, with, lead)
		}
	}
	// A layer that ends here rounds down; so does a node below all layers not.
	for i := len(layers) - 1; i >= at; i-- {
		if layers[i].Level == d.level || d.node >= 0 && layers[i].Level >= d.level {
			sum = sum / layers[i].Size * layers[i].Size
		}
	}
	return sum
}

// holds reports whether d can hold the whole request.
func (d *twinDomain) holds(req *topology.LevelRequest, need int32) bool {
	if !req.Leader {
		return d.most(req, req.Capacity, -1) >= need
	}
	for _, n := range d.nodes {
		if req.LeaderFits.Has(topology.NodeID(n)) && d.most(req, req.Capacity, n) >= need {
			return true
		}
	}
	return false
}

func randomLevelRequest(r *rand.Rand, lv *topology.Levels, n int) *topology.LevelRequest {
	last := lv.Len() - 1
	req := &topology.LevelRequest{Count: 1, Want: topology.NoLevel, Must: topology.NoLevel, Exclusive: topology.NoLevel, Capacity: make([]int32, n)}
	for i := range req.Capacity {
		req.Capacity[i] = int32(r.IntN(5))
	}
	level := r.IntN(lv.Len())
	size := int32(1)
	for k := r.IntN(min(3, lv.Len()) + 1); k > 0; k-- {
		req.Slices = append(req.Slices, topology.Slice{Level: 0, Size: 0})
	}
	for i := len(req.Slices) - 1; i >= 0; i-- {
		size *= int32(1 + r.IntN(3))
		req.Slices[i] = topology.Slice{Level: last - (len(req.Slices) - 1 - i) - 0, Size: size}
	}
	if len(req.Slices) > 0 {
		shift := r.IntN(req.Slices[0].Level + 1)
		for i := range req.Slices {
			req.Slices[i].Level -= shift
		}
		level = r.IntN(req.Slices[0].Level + 1)
	}
	req.Count = size * int32(1+r.IntN(6))
	switch r.IntN(4) {
	case 0:
		req.Must = level
	case 1:
		req.Want = level
	case 2:
		req.Want = level
		req.Must = r.IntN(level + 1)
	}
	req.Fill = topology.Fill(r.IntN(5))
	if r.IntN(3) == 0 {
		req.Leader = true
		req.LeaderFits = new(topology.NodeSet)
		req.LeaderFits.Init(n)
		for i := range n {
			if r.IntN(2) == 0 {
				req.LeaderFits.Add(topology.NodeID(i))
			}
		}
		if r.IntN(2) == 0 {
			req.WithLeader = make([]int32, n)
			for i := range n {
				req.WithLeader[i] = req.Capacity[i] - int32(r.IntN(int(req.Capacity[i])+1))
			}
		}
	}
	return req
}

// checkLevels holds an assignment to the request: capacities, slices, leader.
func checkLevels(req *topology.LevelRequest, res *topology.LevelResult, root *twinDomain) error {
	got := map[int]int32{}
	total := int32(0)
	for i, id := range res.Nodes {
		got[int(id)] = res.Members[i]
		total += res.Members[i]
		limit := req.Capacity[id]
		if id == res.Leader && req.WithLeader != nil {
			limit = min(limit, req.WithLeader[id])
		}
		if res.Members[i] > limit || res.Members[i] < 1 && id != res.Leader {
			return fmt.Errorf("node %d gets %d of %d", id, res.Members[i], limit)
		}
		if i > 0 && res.Nodes[i-1] >= id {
			return fmt.Errorf("nodes %v not ascending", res.Nodes)
		}
	}
	if total != req.Count {
		return fmt.Errorf("%d members, want %d", total, req.Count)
	}
	if req.Leader && (res.Leader == topology.NoNode || !req.LeaderFits.Has(res.Leader)) {
		return fmt.Errorf("leader on %d", res.Leader)
	}
	for _, s := range req.Slices {
		for _, d := range root.find(s.Level) {
			sum := int32(0)
			for _, n := range d.nodes {
				sum += got[n]
			}
			if sum%s.Size != 0 {
				return fmt.Errorf("a domain of level %d has %d, slices of %d", s.Level, sum, s.Size)
			}
		}
	}
	return nil
}

func TestLevelsEqualBruteForce(t *testing.T) {
	var ws topology.LevelScratch
	var res topology.LevelResult
	fit, several := 0, 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(21, uint64(i)))
		lv, root, n := randomLevels(r)
		req := randomLevelRequest(r, lv, n)
		need := req.Count
		if len(req.Slices) > 0 {
			need /= req.Slices[0].Size
		}
		ok := lv.Fit(&ws, req, &res)
		// The lowest level from Want up to Must whose domain holds it; else, without
		// Must, the cluster.
		level, can := topology.NoLevel, false
		from, to := req.Want, max(req.Must, 0)
		if from == topology.NoLevel {
			from = req.Must
		}
		smallest := int32(1 << 30)
		for l := from; l >= to && !can; l-- {
			for _, d := range root.find(l) {
				if d.holds(req, need) {
					level, can = l, true
					smallest = min(smallest, d.most(req, req.Capacity, -1))
				}
			}
		}
		if !can && req.Must == topology.NoLevel {
			can = root.holds(req, need)
		}
		if ok != can {
			t.Fatalf("case %d: fits %v, want %v: %+v\nresult %+v", i, ok, can, *req, res)
		}
		if !ok {
			if res.Have >= res.Need && !req.Leader && res.Rule != topology.RuleConfig {
				t.Fatalf("case %d: refused with %d of %d: %+v", i, res.Have, res.Need, *req)
			}
			continue
		}
		fit++
		if err := checkLevels(req, &res, root); err != nil {
			t.Fatalf("case %d: %v: %+v\nresult %+v", i, err, *req, res)
		}
		if level == topology.NoLevel && req.Want != topology.NoLevel && !req.Leader && req.Fill != topology.FillLeastFree {
			// As few domains of the top level as can be.
			most := map[*twinDomain]int32{}
			var rooms []int32
			for _, d := range root.find(0) {
				most[d] = d.most(req, req.Capacity, -1)
				rooms = append(rooms, most[d])
			}
			slices.Sort(rooms)
			fewest, used := 0, 0
			for left := need; left > 0; fewest++ {
				left -= rooms[len(rooms)-1-fewest]
			}
			for d := range most {
				if slices.ContainsFunc(res.Nodes, func(id topology.NodeID) bool { return slices.Contains(d.nodes, int(id)) }) {
					used++
				}
			}
			if used != fewest {
				t.Fatalf("case %d: %d domains of the top level, %d would do: %+v\nresult %+v", i, used, fewest, *req, res)
			}
			several++
		}
		if level != topology.NoLevel {
			// All lies in one domain of that level; of several that hold it the
			// smallest, unless the fullest was asked for.
			var in *twinDomain
			for _, d := range root.find(level) {
				if slices.Contains(d.nodes, int(res.Nodes[0])) {
					in = d
				}
			}
			for _, id := range res.Nodes {
				if !slices.Contains(in.nodes, int(id)) {
					t.Fatalf("case %d: %v is not in one domain of level %d: %+v", i, res.Nodes, level, *req)
				}
			}
			if req.Fill != topology.FillMostFree && in.most(req, req.Capacity, -1) != smallest {
				t.Fatalf("case %d: domain with room %d, smallest that suffices %d: %+v", i, in.most(req, req.Capacity, -1), smallest, *req)
			}
		}
	}
	t.Logf("%d fit, %d in several domains of the top level", fit, several)
}

// Balanced placement uses the fewest domains, and no domain gets less than the
// smallest could if all got the same.
func TestLevelsBalanced(t *testing.T) {
	var ws topology.LevelScratch
	var res, plain topology.LevelResult
	even := 0
	for i := range cases() {
		r := rand.New(rand.NewPCG(22, uint64(i)))
		lv, root, n := randomLevels(r)
		req := randomLevelRequest(r, lv, n)
		req.Slices, req.Leader, req.LeaderFits, req.WithLeader, req.Must = nil, false, nil, nil, topology.NoLevel
		req.Want, req.Balanced, req.Fill = r.IntN(lv.Len()), true, topology.FillDefault
		ok := lv.Fit(&ws, req, &res)
		req.Balanced = false
		if plainOK := lv.Fit(&ws, req, &plain); ok != plainOK {
			t.Fatalf("case %d: balanced %v, plain %v", i, ok, plainOK)
		}
		if !ok {
			continue
		}
		if err := checkLevels(req, &res, root); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		// The best even share over all parents, by trying every set of nodes.
		best, bestCount := int32(0), 0
		for _, p := range root.find(req.Want - 1) {
			var caps []int32
			for _, m := range p.nodes {
				caps = append(caps, req.Capacity[m])
			}
			slices.Sort(caps)
			slices.Reverse(caps)
			sum, count := int32(0), 0
			for count < len(caps) && sum < req.Count {
				sum += caps[count]
				count++
			}
			if sum < req.Count {
				continue
			}
			share := min(req.Count/int32(count), caps[count-1])
			if share > best || share == best && share > 0 && count < bestCount {
				best, bestCount = share, count
			}
		}
		if best == 0 {
			continue
		}
		even++
		if len(res.Nodes) != bestCount || slices.Min(res.Members) < best {
			t.Fatalf("case %d: %v %v, want %d nodes with %d or more: %+v", i, res.Nodes, res.Members, bestCount, best, *req)
		}
	}
	t.Logf("%d balanced", even)
}

// Replacing, growing and shrinking keep what is not concerned and the slices
// whole.
func TestLevelsChange(t *testing.T) {
	var ws topology.LevelScratch
	var res, next topology.LevelResult
	done := [3]int{}
	for i := range cases() {
		r := rand.New(rand.NewPCG(23, uint64(i)))
		lv, root, n := randomLevels(r)
		req := randomLevelRequest(r, lv, n)
		if !lv.Fit(&ws, req, &res) {
			continue
		}
		cur := topology.Assignment{Nodes: slices.Clone(res.Nodes), Members: slices.Clone(res.Members), Leader: res.Leader}
		at := map[topology.NodeID]int32{}
		for k, id := range cur.Nodes {
			at[id] = cur.Members[k]
		}
		left := *req
		left.Capacity = slices.Clone(req.Capacity)
		for id, m := range at {
			left.Capacity[id] -= m
		}
		left.WithLeader = nil
		whole := *req // what an answer is held to
		whole.WithLeader = nil
		size := int32(1)
		if len(req.Slices) > 0 {
			size = req.Slices[0].Size
		}
		switch op := r.IntN(3); op {
		case 0:
			var failed topology.NodeSet
			failed.Init(n)
			bad := cur.Nodes[r.IntN(len(cur.Nodes))]
			failed.Add(bad)
			left.Capacity[bad] = 0
			if !lv.Replace(&ws, &left, &cur, &failed, &next) {
				continue
			}
			for k, id := range next.Nodes {
				if id == bad {
					t.Fatalf("case %d: failed node %d in %v", i, bad, next.Nodes)
				}
				if next.Members[k] < at[id] {
					t.Fatalf("case %d: node %d had %d, has %d", i, id, at[id], next.Members[k])
				}
			}
			done[op]++
		case 1:
			more := size * int32(1+r.IntN(3))
			if !lv.Grow(&ws, &left, &cur, more, &next) {
				continue
			}
			whole.Count += more
			for _, id := range cur.Nodes {
				k := slices.Index(next.Nodes, id)
				if k < 0 || next.Members[k] < at[id] {
					t.Fatalf("case %d: node %d lost members: %v %v", i, id, next.Nodes, next.Members)
				}
			}
			done[op]++
		case 2:
			fewer := size * int32(r.IntN(int(req.Count/size)+1))
			if !lv.Shrink(&ws, &left, &cur, fewer, &next) {
				t.Fatalf("case %d: cannot shrink by %d: %+v", i, fewer, *req)
			}
			whole.Count -= fewer
			for k, id := range next.Nodes {
				if next.Members[k] > at[id] {
					t.Fatalf("case %d: node %d had %d, has %d", i, id, at[id], next.Members[k])
				}
			}
			done[op]++
		}
		if err := checkLevels(&whole, &next, root); err != nil {
			t.Fatalf("case %d: %v\nrequest %+v\nfrom %v\nto %+v", i, err, *req, cur, next)
		}
		if whole.Must != topology.NoLevel && len(next.Nodes) > 0 {
			for _, id := range next.Nodes[1:] {
				if lv.DomainOf(whole.Must, id) != lv.DomainOf(whole.Must, next.Nodes[0]) {
					t.Fatalf("case %d: %v leaves the domain of level %d", i, next.Nodes, whole.Must)
				}
			}
		}
	}
	t.Logf("replaced %d, grown %d, shrunk %d", done[0], done[1], done[2])
}
