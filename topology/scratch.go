package topology

import (
	"math/bits"
	"slices"
)

// A Scratch is the working memory of fits; one serves any number of fitters and
// requests, one after the other. The zero value is ready: it grows at the first
// fits to the size of the cluster and does not allocate afterwards.
type Scratch struct {
	f   *fitter
	req *Request
	res *Result
	n   int // nodes of the cluster

	// The request in normal form.
	min, want, max int
	minCPUs        int64
	required       bool // need is not empty
	listed         bool // base is cut to a node list

	// The columns of the pass that is running, and their largest entries over elig,
	// or over base before it is sifted; 0 is not known.
	cpus, gpus         []int32
	mostCPUs, mostGPUs int32
	relaxed            bool

	// Sets of nodes. base: eligible for this size. elig: eligible in this pass
	// and not dropped. cand: candidates not yet looked at in this try. need:
	// required. sel: taken. hint: what a verdict names. cut: room for base.
	arena                             []uint64
	base, elig, cand, need, sel, hint []uint64
	cut                               []uint64

	grant, ggrant, part []int32 // by node, valid for nodes in sel
	order               []NodeID

	tally
	why Refusal

	weak []uint64 // packed (size, node) keys, ascending, of the retry loop
	hist []int32
	runs []run
	heap []int32
	// widest and widestCPUs bound the nodes and CPUs of any run, largest the CPUs
	// of any node; scanned is the tally for which no run of scannedClass was
	// sufficient.
	widest              int
	widestCPUs, largest int64
	scanned             tally
	scannedClass        int64

	// Of the units: count are their candidates, light the lightest weight among
	// them; pool the candidates of the chosen unit that are not too heavy, pooled
	// and grouped their number by base block and by low group; groups[g] is stamp
	// if low group g is in use; bases are the base blocks touched.
	count, pooled, grouped, groups []int32
	light                          []int64
	pool                           []uint64
	bases                          []bool
	stamp                          int32
	nparts                         int

	// Of the optimal block placement: what each base block gives, the level of
	// each size, the tables.
	giving    []int32
	slotLevel []int
	cells     []slotCell
	tables    []slotTableAt

	// Of the tree: top is the switch under which the job lies; marked switches
	// attract, below counts them from each switch downwards; cpuBelow are the CPUs
	// of the eligible nodes below each, empty until asked for.
	top      UnitID
	marked   []bool
	below    []int32
	marks    int
	cpuBelow []int64
	cursor   []NodeID
	under    []uint64 // the nodes below top
	tried    []bool   // switches that the strict fit has tried
	fullest  []UnitID // of each group of leaves the one with the most candidates

	// windows are the ring windows chosen, as a heap.
	windows []window
	// bigFree says which anchors of shape costly of torus costlyUnit are free.
	bigFree            []bool
	costly, costlyUnit int32
	byFree             []uint64 // toruses large enough, as (free nodes, index)
	torusCells         []uint64 // of one torus: those left, those in larger boxes, the planes
}

// A tally is what is still wanted.
type tally struct {
	rem, minRem, maxRem int   // nodes: to the target, to the minimum, to the maximum
	cpuRem, budget      int64 // CPUs: to the minimum; what trimming may still give
	gpuRem              int64 // GPUs of the job
}

// begin binds the scratch to a request and grows it to the cluster.
func (s *Scratch) begin(f *fitter, req *Request, res *Result) {
	n := f.top.nodes
	if req.Eligible == nil || req.Eligible.Len() != n || len(req.CPUs) != n {
		panic("topology: request is not of the fitter's cluster")
	}
	for _, col := range [...][]int32{req.NodeGPUs, req.RelaxedCPUs, req.RelaxedGPUs} {
		if col != nil && len(col) != n {
			panic("topology: column is not of the fitter's cluster")
		}
	}
	if req.Weights != nil && len(req.Weights) != n || req.LLN && (len(req.TotalCPUs) != n || len(req.FreeCPUs) != n) {
		panic("topology: column is not of the fitter's cluster")
	}
	s.f, s.req, s.res = f, req, res
	if s.n != n || s.arena == nil {
		s.grow(n)
	}
	res.reset(n)
	s.minCPUs = req.MinCPUs
}

const sets = 8

func (s *Scratch) grow(n int) {
	w := (n + 63) >> 6
	s.n = n
	s.arena = make([]uint64, sets*w+1)
	next := func(i int) []uint64 { return s.arena[i*w : (i+1)*w : (i+1)*w] }
	s.elig, s.cand, s.need, s.sel, s.hint, s.cut = next(0), next(1), next(2), next(3), next(4), next(5)
	s.pool, s.under = next(6), next(7)
	s.grant, s.ggrant, s.part = make([]int32, n), make([]int32, n), make([]int32, n)
	s.order = make([]NodeID, 0, n)
	s.weak = make([]uint64, 0, n)
}

// set returns the words of a after checking its length.
func (s *Scratch) set(a *NodeSet) []uint64 {
	if a.Len() != s.n {
		panic("topology: node set is not of the fitter's cluster")
	}
	return a.Words()
}

// refuse records why this try failed and returns stop.
func (s *Scratch) refuse(why Refusal) verdict {
	s.why = why
	return stop
}

// fail records why this try failed and returns v.
func (s *Scratch) fail(v verdict, why Refusal) verdict {
	s.why = why
	return v
}

// column chooses the capacity columns of a pass.
func (s *Scratch) column(relaxed bool) {
	r := s.req
	s.relaxed = relaxed
	s.cpus, s.gpus = r.CPUs, r.NodeGPUs
	s.mostCPUs, s.mostGPUs = r.MostCPUs, r.MostGPUs
	if relaxed && r.RelaxedCPUs != nil {
		s.cpus, s.mostCPUs = r.RelaxedCPUs, r.MostRelaxedCPUs
	}
	if relaxed && r.RelaxedGPUs != nil {
		s.gpus, s.mostGPUs = r.RelaxedGPUs, r.MostRelaxedGPUs
	}
	if s.listed { // the promise is for nodes off the list too
		s.mostCPUs, s.mostGPUs = 0, 0
	}
	if s.gpus == nil {
		s.mostGPUs = 0
	}
}

// sift sets elig to the nodes of base that have usable CPUs in this pass, and
// reports whether all required nodes are among them and enough are left.
func (s *Scratch) sift() bool {
	copy(s.elig, s.base)
	r := s.req
	limit := int64(0)
	if r.WholeNode {
		limit = r.MaxCPUs
	}
	if !r.Sifted || limit > 0 {
		for i, x := range s.elig {
			for ; x != 0; x &= x - 1 {
				id := i<<6 + bits.TrailingZeros64(x)
				if u := s.cpus[id]; u <= 0 || limit > 0 && int64(u) > limit {
					s.elig[i] &^= x & -x
				}
			}
		}
		s.res.Steps += int64(s.n)
		s.mostCPUs, s.mostGPUs = 0, 0
	}
	if s.required && !within(s.elig, s.need) {
		s.refuse(Refusal{Rule: RuleRequired, Unit: NoUnit, Lack: LackCPUs,
			Need: int64(countBits(s.need)), Have: int64(countAnd(s.elig, s.need))})
		return false
	}
	if have := countUpTo(s.elig, s.min); have < s.min {
		rule := RuleCount
		if have == 0 {
			rule = RuleEmpty
		}
		s.refuse(Refusal{Rule: rule, Unit: NoUnit, Lack: LackNodes, Need: int64(s.min), Have: int64(have)})
		return false
	}
	return true
}

// restart begins a try for target nodes: everything is wanted, nothing is taken.
func (s *Scratch) restart(target int) {
	s.want1(target)
	copy(s.cand, s.elig)
	clear(s.sel)
	s.order = s.order[:0]
	s.why = Refusal{Unit: NoUnit}
	s.nparts = 1
}

// want1 sets the tally for target nodes.
func (s *Scratch) want1(target int) {
	r := s.req
	if r.GPUs > 0 {
		target = min(target, s.min)
	}
	s.tally = tally{rem: target, minRem: s.min, maxRem: s.max, cpuRem: s.minCPUs, gpuRem: r.GPUs}
	s.budget = s.minCPUs
	if r.MaxCPUs > 0 {
		s.budget = r.MaxCPUs
	}
	s.budget = max(s.budget, r.BudgetCPUs)
	if r.Take != nil {
		r.Take.Begin(s.relaxed)
	}
}

// takeNeed takes the required nodes.
func (s *Scratch) takeNeed() bool {
	if !s.required {
		return true
	}
	for id := nextBit(s.need, 0); id != NoNode; id = nextBit(s.need, id+1) {
		if s.maxRem <= 0 || !s.take(id) {
			s.refuse(Refusal{Rule: RuleRequired, Unit: NoUnit, Lack: LackNodes, Need: int64(countBits(s.need)), Have: int64(len(s.order))})
			return false
		}
	}
	return true
}

// needed is how many nodes of a unit make it sufficient when rem are wanted.
func (s *Scratch) needed() int {
	if s.want > s.min && s.req.GPUs <= 0 {
		return s.rem - (s.want - s.min)
	}
	return s.rem
}

// done reports whether everything wanted is taken.
func (s *Scratch) done() bool { return s.rem <= 0 && s.cpuRem <= 0 && s.gpuRem <= 0 }

// met reports whether the minimum, CPUs and GPUs are taken.
func (s *Scratch) met() bool { return s.minRem <= 0 && s.cpuRem <= 0 && s.gpuRem <= 0 }

// take takes node id, which is a candidate, and reports whether it could be
// arranged; either way it is no candidate any more.
func (s *Scratch) take(id NodeID) bool {
	clearBit(s.cand, id)
	if !s.grantNode(id) {
		return false
	}
	setBit(s.sel, id)
	return true
}

// grantNode works out what node id gives and counts it as taken; false if it
// cannot be arranged.
func (s *Scratch) grantNode(id NodeID) bool {
	r := s.req
	room := s.cpus[id]
	if !r.WholeNode {
		reserve := int64(max(r.ReserveCPUs, 1)) * int64(max(s.minRem-1, 0))
		if lim := max(s.budget-reserve, int64(max(r.NodeCPUs, 1))); int64(room) > lim {
			room = int32(lim)
		}
	}
	g := int32(0)
	if r.GPUs > 0 && s.gpus != nil {
		g = int32(max(min(int64(s.gpus[id]), s.gpuRem), min(int64(s.gpus[id]), 1)))
	}
	if r.Take != nil {
		var ok bool
		if room, g, ok = r.Take.Take(id, room, s.relaxed); !ok || room <= 0 {
			return false
		}
	}
	s.grant[id] = room
	s.cpuRem -= int64(room)
	s.budget -= int64(room)
	if r.GPUs > 0 {
		s.ggrant[id] = g
		s.gpuRem -= int64(g)
	}
	s.order = append(s.order, id)
	s.rem--
	s.minRem--
	s.maxRem--
	s.res.Steps++
	return true
}

// finish fills the result of the fit.
func (s *Scratch) finish(ok bool) bool {
	res := s.res
	if !ok {
		res.Refusal = s.why
		return false
	}
	words := res.Set.Words()
	res.Order = append(res.Order[:0], s.order...)
	for _, id := range s.order {
		setBit(words, id)
	}
	if len(s.order) < len(words)/4 {
		res.Nodes = append(res.Nodes[:0], s.order...)
		slices.Sort(res.Nodes)
	} else {
		res.Nodes = appendBits(res.Nodes[:0], words)
	}
	for _, id := range res.Nodes {
		res.CPUs = append(res.CPUs, s.grant[id])
	}
	if s.req.GPUs > 0 {
		for _, id := range res.Nodes {
			res.GPUs = append(res.GPUs, s.ggrant[id])
		}
	}
	if s.nparts > 1 {
		for _, id := range res.Nodes {
			res.Part = append(res.Part, s.part[id])
		}
	}
	s.units()
	res.Relaxed = s.relaxed
	res.Refusal = Refusal{Unit: NoUnit}
	return true
}

// units fills the base units that the result touches.
func (s *Scratch) units() {
	t := s.f.top
	if t.unitOf == nil {
		return
	}
	s.bases = sized(s.bases, t.base)
	res := s.res
	for _, id := range res.Nodes {
		if u := t.unitOf[id]; u != NoUnit && !s.bases[u] {
			s.bases[u] = true
			res.Units = append(res.Units, u)
		}
	}
	slices.Sort(res.Units)
	for _, u := range res.Units {
		s.bases[u] = false
	}
}

// size is what "weakest" orders nodes by.
func (s *Scratch) size(id NodeID) int64 {
	u := int64(s.cpus[id])
	if s.gpus != nil {
		u *= int64(s.gpus[id])
	}
	return u
}

// rankWeak orders the nodes that may be dropped, weakest first; ties by index.
func (s *Scratch) rankWeak() {
	s.weak = s.weak[:0]
	for i, x := range s.elig {
		if s.required {
			x &^= s.need[i]
		}
		for ; x != 0; x &= x - 1 {
			id := NodeID(i<<6 + bits.TrailingZeros64(x))
			s.weak = append(s.weak, uint64(min(s.size(id), 1<<31-1))<<32|uint64(id))
		}
	}
	slices.Sort(s.weak)
}

// weakest returns the weakest node of elig, of hint if hinted, or NoNode.
func (s *Scratch) weakest(hinted bool) NodeID {
	live := s.weak[:0]
	found := NoNode
	for i, k := range s.weak {
		id := NodeID(uint32(k))
		if !hasBit(s.elig, id) {
			continue
		}
		if found == NoNode && (!hinted || hasBit(s.hint, id)) {
			found = id
			s.weak = append(live, s.weak[i+1:]...)
			return found
		}
		live = append(live, k)
	}
	s.weak = live
	return found
}

// countAnd counts the bits that a and b share.
func countAnd(a, b []uint64) int {
	n := 0
	for i, x := range a {
		n += bits.OnesCount64(x & b[i])
	}
	return n
}
