package topology

import "math/bits"

// A run is a stretch of eligible nodes of equal weight, lo to hi-1, whose
// members are candidates or required. first is its first required node or
// NoNode. A run that was used has nodes 0.
type run struct {
	lo, hi, first NodeID
	nodes         int32
	cpus, gpus    int64
	weight        int64
}

// flat chooses nodes by best fit over runs of consecutive nodes (spec 2.5).
func (s *Scratch) flat() verdict {
	s.restart(s.want)
	if !s.takeNeed() {
		return stop
	}
	if s.done() {
		return fits
	}
	s.findRuns()
	r := s.req
	if r.Contiguous && s.required && !s.onlyNeedRuns() {
		return s.fail(dropWeakest, Refusal{Rule: RuleRequiredUnit, Unit: NoUnit})
	}
	linear := s.f.opt.Defects || r.Contiguous || s.required
	if !linear {
		s.heapRuns()
	}
	for s.maxRem > 0 {
		var b int
		if linear {
			b = s.pickRun()
		} else {
			b = s.popRun()
		}
		if b < 0 {
			break
		}
		u := &s.runs[b]
		if r.Contiguous && !s.sufficient(u) {
			return s.short(dropWeakest, int64(u.nodes), u.cpus, u.gpus)
		}
		s.useRun(u)
		u.nodes, u.cpus, u.gpus = 0, 0, 0
		if s.done() {
			return fits
		}
		if r.Contiguous && s.f.opt.Profile == ProfileBest {
			break // Slurm would go on to the target in another run
		}
	}
	if s.met() {
		return fits
	}
	return s.short(dropWeakest, 0, 0, 0)
}

// short records what is lacking after a try that used all it could; have is what
// was left in the unit that did not suffice.
func (s *Scratch) short(v verdict, nodes, cpus, gpus int64) verdict {
	why := Refusal{Rule: RuleShort, Unit: NoUnit}
	got := int64(len(s.order))
	switch {
	case s.minRem > 0 && nodes < int64(s.minRem):
		why.Lack, why.Need, why.Have = LackNodes, int64(s.min), got+nodes
	case s.cpuRem > cpus:
		why.Lack, why.Need, why.Have = LackCPUs, s.minCPUs, s.minCPUs-s.cpuRem+cpus
	case s.gpuRem > gpus:
		why.Lack, why.Need, why.Have = LackGPUs, s.req.GPUs, s.req.GPUs-s.gpuRem+gpus
	default:
		why.Lack, why.Need, why.Have = LackNodes, int64(s.want), got+nodes
	}
	if s.maxRem <= 0 {
		why.Rule = RuleMaxNodes
	}
	return s.fail(v, why)
}

// findRuns collects the runs that have a candidate.
func (s *Scratch) findRuns() {
	r := s.req
	s.runs = s.runs[:0]
	cur := run{hi: NoNode}
	for i, x := range s.elig {
		for ; x != 0; x &= x - 1 {
			id := NodeID(i<<6 + bits.TrailingZeros64(x))
			w := int64(0)
			if r.Weights != nil && !r.Contiguous {
				w = r.Weights[id]
			}
			if id != cur.hi || w != cur.weight {
				s.addRun(cur)
				cur = run{lo: id, first: NoNode, weight: w}
			}
			cur.hi = id + 1
			if s.required && hasBit(s.need, id) {
				if cur.first == NoNode {
					cur.first = id
				}
				continue
			}
			cur.nodes++
			cur.cpus += int64(s.cpus[id])
			if s.gpus != nil {
				cur.gpus += int64(s.gpus[id])
			}
		}
	}
	s.addRun(cur)
	s.res.Steps += int64(len(s.elig)) + int64(len(s.runs))
}

func (s *Scratch) addRun(u run) {
	if u.nodes > 0 {
		s.runs = append(s.runs, u)
	}
}

// onlyNeedRuns keeps the runs with required nodes and reports whether these lie
// in one run.
func (s *Scratch) onlyNeedRuns() bool {
	keep := s.runs[:0]
	for _, u := range s.runs {
		if u.first != NoNode {
			keep = append(keep, u)
		}
	}
	s.runs = keep
	first := nextBit(s.need, 0)
	last := prevBit(s.need, NodeID(s.n-1))
	return countRange(s.elig, first, last+1) == int(last-first)+1
}

// sufficient reports whether run u alone can finish the job.
func (s *Scratch) sufficient(u *run) bool {
	return u.cpus >= s.cpuRem && int(u.nodes) >= s.needed() && (s.gpuRem <= 0 || u.gpus >= s.gpuRem)
}

// pickRun returns the best run by a scan in index order, or -1.
func (s *Scratch) pickRun() int {
	best := -1
	bestOK := false
	s.res.Steps += int64(len(s.runs))
	for i := range s.runs {
		c := &s.runs[i]
		if c.nodes == 0 {
			continue
		}
		ok := s.sufficient(c)
		if best < 0 || s.betterRun(c, ok, &s.runs[best], bestOK) {
			best, bestOK = i, ok
		}
	}
	return best
}

// betterRun reports whether run c displaces b, both judged sufficient or not.
func (s *Scratch) betterRun(c *run, cOK bool, b *run, bOK bool) bool {
	cNeed, bNeed := c.first != NoNode, b.first != NoNode
	if s.f.opt.Defects {
		switch {
		case cNeed && !bNeed, c.weight < b.weight:
			return true
		case c.weight == b.weight:
			if cOK && !bOK || cOK && c.cpus < b.cpus || !cOK && c.cpus > b.cpus {
				return true
			}
		}
		return s.req.Contiguous && cOK && !bOK
	}
	switch {
	case cNeed != bNeed:
		return cNeed
	case s.req.Contiguous && cOK != bOK:
		return cOK
	case c.weight != b.weight:
		return c.weight < b.weight
	case cOK != bOK:
		return cOK
	case cOK:
		return c.cpus < b.cpus
	}
	return c.cpus > b.cpus
}

// heapRuns makes heap a heap of all runs: lightest, then most CPUs, then lowest.
func (s *Scratch) heapRuns() {
	s.heap = s.heap[:0]
	s.widest = 0
	for i := range s.runs {
		s.heap = append(s.heap, int32(i))
		s.widest = max(s.widest, int(s.runs[i].nodes))
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sinkRun(i)
	}
}

func (s *Scratch) sinkRun(i int) {
	h := s.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && s.runBefore(h[c+1], h[c]) {
			c++
		}
		if !s.runBefore(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (s *Scratch) runBefore(i, j int32) bool {
	a, b := &s.runs[i], &s.runs[j]
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	if a.cpus != b.cpus {
		return a.cpus > b.cpus
	}
	return i < j
}

// popRun returns the best run, or -1. Of the lightest class that is the smallest
// sufficient one; a scan looks for it only if the largest run has the CPUs and
// the widest one the nodes.
func (s *Scratch) popRun() int {
	for len(s.heap) > 0 && s.runs[s.heap[0]].nodes == 0 {
		s.dropTop()
	}
	if len(s.heap) == 0 {
		return -1
	}
	top := s.heap[0]
	if s.runs[top].cpus >= s.cpuRem && s.widest >= s.needed() {
		best := -1
		s.widest = 0
		for i := range s.runs {
			c := &s.runs[i]
			s.widest = max(s.widest, int(c.nodes))
			if c.nodes > 0 && c.weight == s.runs[top].weight && s.sufficient(c) && (best < 0 || c.cpus < s.runs[best].cpus) {
				best = i
			}
		}
		s.res.Steps += int64(len(s.runs))
		if best >= 0 {
			return best
		}
	}
	s.dropTop()
	return int(top)
}

func (s *Scratch) dropTop() {
	n := len(s.heap) - 1
	s.heap[0] = s.heap[n]
	s.heap = s.heap[:n]
	s.sinkRun(0)
}

// useRun takes nodes of run u until done or the run is used up.
func (s *Scratch) useRun(u *run) {
	if u.first != NoNode {
		s.takeUp(u.first, u.hi, false)
		for id := prevBit(s.cand, u.first); id >= u.lo && s.maxRem > 0 && !s.done(); id = prevBit(s.cand, id-1) {
			s.take(id)
		}
		return
	}
	if s.rem <= 1 {
		if id := s.smallestSingle(u); id != NoNode && s.take(id) {
			return
		}
	}
	s.takeUp(u.lo, u.hi, true)
}

// takeUp takes candidates of lo to hi-1, ascending. With skip a node that is the
// last one allowed must cover all CPUs still needed.
func (s *Scratch) takeUp(lo, hi NodeID, skip bool) {
	for id := nextBit(s.cand, lo); id != NoNode && id < hi && s.maxRem > 0 && !s.done(); id = nextBit(s.cand, id+1) {
		if skip && s.maxRem == 1 && int64(s.cpus[id]) < s.cpuRem {
			continue
		}
		s.take(id)
	}
}

// smallestSingle returns the candidate of u with the fewest CPUs that covers all
// that is still needed, the lowest on ties, or NoNode.
func (s *Scratch) smallestSingle(u *run) NodeID {
	best := NoNode
	for id := nextBit(s.cand, u.lo); id != NoNode && id < u.hi; id = nextBit(s.cand, id+1) {
		c := int64(s.cpus[id])
		if c < s.cpuRem || s.gpuRem > 0 && int64(s.gpus[id]) < s.gpuRem {
			continue
		}
		if best == NoNode || s.cpus[id] < s.cpus[best] {
			best = id
		}
	}
	return best
}
