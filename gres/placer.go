package gres

import (
	"math/bits"
	"math/rand/v2"
)

// A Placer chooses nodes of a [Pool] for requests of one node by a [Policy],
// and keeps the cluster's fragmentation. It follows the pool by itself: what
// changed since it was asked last is scored anew, nothing else.
//
// It books nothing and changes nothing of the pool but its memories.
type Placer struct {
	pool   *Pool
	policy Policy
	work   *Workload
	rnd    *rand.Rand
	draws  *rand.PCG // source of rnd

	maxCPU, maxGPU int64 // of the largest node
	slots          []scoreSlot
	hand           int

	amounts []fragAmount        // by state
	nodes   []nodeAmount        // by node
	claims  []int64             // by device type, see Workload.claims
	kinds   [][taskKinds]uint16 // by node: tasks by GPU demand, for GPUClustering
	sum     int64               // fragment of all nodes, times work.total
	free    int64               // milli-GPUs of all nodes
	seq     uint64              // changes of the pool seen in nodes
	builds  uint64              // of the pool, when nodes was made

	node  fragNode // scratch
	forms []formUse
	lefts []int64
}

// A fragAmount is the fragment of a state.
type fragAmount struct {
	serial uint64
	sum    int64
	exact  float64
	fill   int64
}

// A nodeAmount is what a node adds to the sums.
type nodeAmount struct{ sum, free int64 }

// A scoreSlot holds the scores of a view's nodes for a class.
type scoreSlot struct {
	class  ClassID
	uid    uint64
	view   ViewID
	pass   Pass
	built  uint64 // version of the view
	builds uint64 // of the pool
	seq    uint64 // changes of the pool seen
	task   task
	tree   maxTree
}

// maxScoreSlots bounds the classes and views whose scores are kept.
const maxScoreSlots = 512

// NewPlacer returns a placer for pool. The workload matters to FGD and to the
// fragmentation; nil is an empty one, with which FGD places as BestFit does.
// seed starts the draws of RandomFit.
func NewPlacer(pool *Pool, policy Policy, work *Workload, seed uint64) *Placer {
	if work == nil {
		work = NewWorkload(nil, 95)
	}
	draws := rand.NewPCG(seed, 0)
	pl := &Placer{pool: pool, policy: policy, rnd: rand.New(draws), draws: draws}
	pl.SetWorkload(work)
	return pl
}

// SetWorkload replaces the target workload. All scores are computed anew when
// they are asked for.
func (pl *Placer) SetWorkload(work *Workload) {
	pl.work = work
	pl.forms = make([]formUse, len(work.forms))
	pl.amounts, pl.nodes = nil, nil
	pl.slots = nil
}

// Started tells that a request of class c started on node, Ended that it
// ended. Only GPUClustering needs to know.
func (pl *Placer) Started(c ClassID, node int32) { pl.count(c, node, 1) }

// Ended is the inverse of Started.
func (pl *Placer) Ended(c ClassID, node int32) { pl.count(c, node, ^uint16(0)) }

func (pl *Placer) count(c ClassID, node int32, by uint16) {
	if t := taskOf(pl.pool.Request(c)); t.gpus > 0 && pl.policy == GPUClustering {
		pl.follow()
		pl.kinds[node][t.kind()] += by
		pl.pool.touch(node)
	}
}

// Fragmented returns the milli-GPUs of the cluster that the workload cannot be
// expected to use, and the free ones.
//
// Source: spec/fragmentation.md 2.3.
func (pl *Placer) Fragmented() (fragmented float64, free int64) {
	pl.follow()
	return float64(pl.sum) / float64(max(pl.work.total, 1)), pl.free
}

// follow brings the sums up to date with the pool.
func (pl *Placer) follow() {
	p := pl.pool
	if pl.nodes == nil || pl.builds != p.builds {
		pl.restart()
		return
	}
	if p.seq-pl.seq > ringLen {
		for n := range pl.nodes {
			pl.account(int32(n))
		}
		pl.seq = p.seq
	}
	for ; pl.seq != p.seq; pl.seq++ {
		pl.account(p.ring[pl.seq&(ringLen-1)])
	}
}

// restart sizes the tables after nodes or shapes changed.
func (pl *Placer) restart() {
	p := pl.pool
	n := p.Len()
	pl.nodes = make([]nodeAmount, n)
	if len(pl.kinds) != n {
		pl.kinds = append(pl.kinds[:min(n, len(pl.kinds))], make([][taskKinds]uint16, max(n-len(pl.kinds), 0))...)
	}
	pl.sum, pl.free, pl.maxCPU, pl.maxGPU = 0, 0, 1, 0
	for _, s := range p.shapes {
		pl.maxCPU = max(pl.maxCPU, s.MilliCPU())
		if g := s.Group(NameGPU); g >= 0 {
			pl.maxGPU = max(pl.maxGPU, 1000*int64(s.NumDevices(g)))
		}
	}
	pl.builds, pl.seq = p.builds, p.seq
	pl.claims = pl.work.claims(pl.pool, pl.claims)
	for i := range n {
		pl.account(int32(i))
	}
}

// account puts what node adds to the sums at its present state.
func (pl *Placer) account(node int32) {
	a := &pl.nodes[node]
	pl.sum -= a.sum
	pl.free -= a.free
	*a = nodeAmount{}
	if id := pl.pool.state[node]; id != noState {
		r := pl.pool.stateRow(id)
		pl.node.load(r.Shape, r.Row)
		*a = nodeAmount{pl.amount(id).sum, pl.node.total}
		pl.sum += a.sum
		pl.free += a.free
	}
}

// amount returns the fragment of state id, which is loaded in pl.node.
func (pl *Placer) amount(id int32) *fragAmount {
	if n := len(pl.pool.states.meta); len(pl.amounts) < n {
		pl.amounts = append(pl.amounts, make([]fragAmount, max(n, pl.pool.states.room)-len(pl.amounts))...)
	}
	a := &pl.amounts[id]
	if s := pl.pool.states.meta[id].serial; a.serial != s {
		a.serial = s
		a.sum = pl.work.fragment(&pl.node)
		if pl.policy == FGDExact {
			a.exact = pl.work.fragmentExact(&pl.node, pl.forms)
		}
		if pl.policy == FillUp {
			a.fill = pl.unusable()
		}
	}
	return a
}

// Place chooses a node for a request of class c as [Pool.PlaceOne] does, but
// within each view by the policy. It does not allocate in steady state; a
// look-up takes 64 steps per 64-fold size of the cluster, and each change
// since the class was asked last one score.
func (pl *Placer) Place(c ClassID, pass Pass, views []ViewID, within []uint64, g *Grant) int32 {
	if pl.policy == FirstFit {
		return pl.pool.PlaceOne(c, pass, views, within, g)
	}
	pl.follow()
	for _, v := range views {
		s := pl.slot(c, v, pass)
		for {
			node := pl.choose(s, within)
			if node < 0 {
				break
			}
			if pl.pool.ArrangeOne(c, pass, node, g) {
				pl.device(s, node, g)
				return node
			}
			s.tree.put(node, unfit)
		}
	}
	return -1
}

// choose returns the node of s to take.
func (pl *Placer) choose(s *scoreSlot, within []uint64) int32 {
	scores := s.tree.levels[0]
	in := func(n int) bool { return within == nil || within[n>>6]>>(n&63)&1 != 0 }
	switch {
	case pl.policy == RandomFit:
		k := 0
		for n, v := range scores {
			if v != unfit && in(n) {
				k++
			}
		}
		if k == 0 {
			return -1
		}
		k = pl.rnd.IntN(k)
		for n, v := range scores {
			if v != unfit && in(n) {
				if k == 0 {
					return int32(n)
				}
				k--
			}
		}
	case within == nil:
		return s.tree.best()
	}
	best := int32(-1)
	for w, x := range within {
		for ; x != 0; x &= x - 1 {
			n := int32(w<<6 | bits.TrailingZeros64(x))
			if scores[n] != unfit && (best < 0 || scores[n] > scores[best]) {
				best = n
			}
		}
	}
	return best
}

// slot returns the scores of a class in a view, up to date.
func (pl *Placer) slot(c ClassID, view ViewID, pass Pass) *scoreSlot {
	p := pl.pool
	uid := p.classes[c].uid
	for i := range pl.slots {
		if s := &pl.slots[i]; s.uid == uid && s.view == view && s.pass == pass {
			pl.update(s)
			return s
		}
	}
	var s *scoreSlot
	if len(pl.slots) < maxScoreSlots {
		pl.slots = append(pl.slots, scoreSlot{})
		s = &pl.slots[len(pl.slots)-1]
	} else {
		s = &pl.slots[pl.hand]
		pl.hand = (pl.hand + 1) % len(pl.slots)
	}
	*s = scoreSlot{class: c, uid: uid, view: view, pass: pass, task: taskOf(&p.classes[c].req), tree: s.tree, builds: ^uint64(0)}
	pl.update(s)
	return s
}

// update scores the nodes that changed.
func (pl *Placer) update(s *scoreSlot) {
	p := pl.pool
	v := &p.views[s.view]
	if s.builds != p.builds || s.built != v.version || p.seq-s.seq > ringLen {
		if len(s.tree.levels) == 0 || len(s.tree.levels[0]) != p.Len() {
			s.tree = newMaxTree(p.Len())
		}
		for n := range int32(p.Len()) {
			s.tree.put(n, pl.score(s, v, n))
		}
		s.builds, s.built, s.seq = p.builds, v.version, p.seq
		return
	}
	for ; s.seq != p.seq; s.seq++ {
		n := p.ring[s.seq&(ringLen-1)]
		s.tree.put(n, pl.score(s, v, n))
	}
}

// score returns the score of a node for s, unfit if it cannot run there.
func (pl *Placer) score(s *scoreSlot, v *view, node int32) int32 {
	p := pl.pool
	c := &p.classes[s.class]
	if !p.up.has(node) || !v.bits.has(node) || !c.passes(&p.index, node) {
		return unfit
	}
	id := p.state[node]
	if p.fit(c, s.pass, 1, id).Refusal != RefuseNone {
		return unfit
	}
	if pl.policy == RandomFit {
		return 0
	}
	r := p.stateRow(id)
	n, t := &pl.node, &s.task
	n.load(r.Shape, r.Row)
	switch pl.policy {
	case DotProduct:
		return dotProduct(n, t, pl.maxCPU, pl.maxGPU)
	case GPUPacking:
		return gpuPacking(n, t)
	case GPUClustering:
		return gpuClustering(n, t, &pl.kinds[node], pl.maxGPU)
	case FGD, FGDExact, FillUp:
		if len(pl.work.shapes) > 0 {
			sc, _ := pl.descend(id, t)
			return sc
		}
	}
	return bestFit(n, t, pl.maxCPU, pl.maxGPU)
}

// descend returns FGD's score of state id, which is loaded in pl.node, for t,
// and the device to take for a part.
//
// Source: spec/fragmentation.md 3.1.
func (pl *Placer) descend(id int32, t *task) (score int32, device int16) {
	n := &pl.node
	before := *pl.amount(id)
	cpu, total := n.cpu, n.total
	pl.lefts = append(pl.lefts[:0], n.left...)
	n.cpu -= t.cpu
	if !t.part() {
		for d, k := 0, t.gpus; d < len(n.left) && k > 0; d++ {
			if n.left[d] == 1000 && (t.typ == 0 || n.types[d] == t.typ) {
				n.left[d] = 0
				n.total -= 1000
				k--
			}
		}
		score = pl.gain(&before)
		copy(n.left, pl.lefts)
		n.cpu, n.total = cpu, total
		return score, -1
	}
	score, device = unfit, -1
	n.total -= t.milli
	for d, u := range pl.lefts {
		if u < t.milli || t.typ != 0 && n.types[d] != t.typ || seenLeft(pl.lefts, n.types, d) {
			continue
		}
		n.left[d] -= t.milli
		if sc := pl.gain(&before); sc > score {
			score, device = sc, int16(d)
		}
		n.left[d] = u
	}
	n.cpu, n.total = cpu, total
	return score, device
}

// seenLeft reports whether a device before d is like it, so that taking of it
// gives the same.
func seenLeft(left []int64, types []TypeID, d int) bool {
	for i := range d {
		if left[i] == left[d] && (len(types) == 0 || types[i] == types[d]) {
			return true
		}
	}
	return false
}

// gain scores the step from before to what pl.node holds now.
func (pl *Placer) gain(before *fragAmount) int32 {
	if pl.policy == FillUp {
		// Whole milli-GPUs decide, then how full the node is.
		d := before.fill - pl.unusable()
		return int32(floorDiv(d, pl.work.weight)*1000) + bestFit(&pl.node, &task{}, pl.maxCPU, pl.maxGPU)
	}
	if pl.policy == FGDExact {
		return scoreExact(before.exact - pl.work.fragmentExact(&pl.node, pl.forms))
	}
	return pl.work.score(before.sum - pl.work.fragment(&pl.node))
}

// unusable returns what FillUp minimises for pl.node, times the weight of the
// workload: what cannot be filled, less what requests naming the devices'
// types will claim anyway.
func (pl *Placer) unusable() int64 {
	n := &pl.node
	var claimed int64
	for d, t := range n.types {
		if int(t) < len(pl.claims) {
			claimed += n.left[d] * pl.claims[t]
		}
	}
	return pl.work.unfilled(n) - claimed/1000*pl.work.weight
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// device replaces the device of a grant for a part by the policy's choice.
func (pl *Placer) device(s *scoreSlot, node int32, g *Grant) {
	if !s.task.part() || len(g.Devices) != 1 || g.Devices[0].Device < 0 {
		return
	}
	p := pl.pool
	id := p.state[node]
	r := p.stateRow(id)
	n := &pl.node
	n.load(r.Shape, r.Row)
	want := n.tightest(&s.task)
	switch {
	case pl.policy == RandomFit:
		k := 0
		for d, u := range n.left {
			if u >= s.task.milli && (s.task.typ == 0 || n.types[d] == s.task.typ) {
				// The k-th fitting device replaces the choice with
				// probability 1/k, which makes the draw even.
				if k++; pl.rnd.IntN(k) == 0 {
					want = int16(d)
				}
			}
		}
	case pl.policy >= FGD && len(pl.work.shapes) > 0:
		_, want = pl.descend(id, &s.task)
	}
	if want >= 0 {
		g.Devices[0].Device = want
		g.Devices[0].Type = r.Shape.groups[g.Devices[0].Group].devs[want].typ
	}
}
