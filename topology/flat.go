package topology

import (
	"math/bits"
	"slices"
)

// A run is a stretch of eligible nodes of equal weight, lo to hi-1, whose
// members are candidates or required. first is its first required node or
// NoNode. A run that was used has nodes 0.
type run struct {
	lo, hi, first NodeID
	nodes         int32
	cpus          int64
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
	r := s.req
	linear := s.f.opt.Defects || r.Contiguous || s.required
	quick := run{first: NoNode}
	if !linear && s.uniform() {
		if quick = s.quickRun(); quick.nodes > 0 {
			if s.useRun(&quick); s.done() {
				return fits
			}
		}
	}
	s.findRuns()
	if quick.nodes > 0 {
		at, _ := slices.BinarySearchFunc(s.runs, quick.lo, func(u run, lo NodeID) int { return int(u.lo - lo) })
		s.runs[at].nodes = 0
	}
	if r.Contiguous && s.required && !s.onlyNeedRuns() {
		return s.fail(dropWeakest, Refusal{Rule: RuleRequiredUnit, Unit: NoUnit})
	}
	s.heap = s.heap[:0]
	for s.maxRem > 0 {
		var b int
		if linear {
			b = s.pickRun()
		} else {
			b = s.nextRun()
		}
		if b < 0 {
			break
		}
		u := &s.runs[b]
		if r.Contiguous && !s.sufficient(u) {
			return s.short(dropWeakest, int64(u.nodes), u.cpus, s.runGPUs(u))
		}
		if s.maxRem == 1 && u.first == NoNode && s.cpuRem > s.largest {
			break // the last node allowed cannot cover what is wanted
		}
		s.useRun(u)
		u.nodes = 0
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

// quickRun finds the smallest sufficient run, the lowest on ties, without
// collecting the others; nodes is 0 if there is none. Runs begin and end where a
// bit differs from the one before it.
func (s *Scratch) quickRun() run {
	best := run{first: NoNode}
	need := NodeID(max(s.needed(), 1))
	lo, carry := NoNode, uint64(0)
	for i, x := range s.elig {
		for e := x ^ (x<<1 | carry); e != 0; e &= e - 1 {
			id := NodeID(i<<6 + bits.TrailingZeros64(e))
			if lo == NoNode {
				lo = id
				continue
			}
			if id-lo >= need {
				s.offerRun(&best, lo, id)
			}
			lo = NoNode
		}
		carry = x >> 63
	}
	if hi := NodeID(s.n); lo != NoNode && hi-lo >= need {
		s.offerRun(&best, lo, hi)
	}
	s.res.Steps += int64(len(s.elig))
	return best
}

// offerRun makes lo to hi-1 the best run if it is sufficient and smaller.
func (s *Scratch) offerRun(best *run, lo, hi NodeID) {
	u := run{lo: lo, hi: hi, first: NoNode, nodes: int32(hi - lo)}
	for _, c := range s.cpus[lo:hi] {
		u.cpus += int64(c)
	}
	s.res.Steps += int64(hi-lo) / 8
	if s.sufficient(&u) && (best.nodes == 0 || u.cpus < best.cpus) {
		*best = u
	}
}

// findRuns collects the runs that have a candidate, and finds the widest and the
// node with the most CPUs.
func (s *Scratch) findRuns() {
	s.runs = s.runs[:0]
	s.widest, s.widestCPUs, s.largest = 0, 0, 0
	s.scanned = tally{rem: -1 << 31}
	weighted := !s.uniform() && !s.req.Contiguous
	for lo := nextBit(s.elig, 0); lo != NoNode; {
		end := s.runEnd(lo)
		if weighted {
			w := s.req.Weights[lo]
			for id := lo + 1; id < end; id++ {
				if s.req.Weights[id] != w {
					end = id
				}
			}
		}
		s.addRun(lo, end)
		lo = nextBit(s.elig, end)
	}
	s.res.Steps += int64(len(s.elig)) + int64(len(s.runs))
}

// runEnd returns the first node after lo that is not eligible.
func (s *Scratch) runEnd(lo NodeID) NodeID {
	i := int(lo >> 6)
	x := ^s.elig[i] >> (uint(lo) & 63) << (uint(lo) & 63)
	for x == 0 {
		if i++; i == len(s.elig) {
			return NodeID(s.n)
		}
		x = ^s.elig[i]
	}
	return min(NodeID(i<<6+bits.TrailingZeros64(x)), NodeID(s.n))
}

// addRun adds the run lo to hi-1 if it has a candidate.
func (s *Scratch) addRun(lo, hi NodeID) {
	u := run{lo: lo, hi: hi, first: NoNode}
	for id, c := range s.cpus[lo:hi] {
		if s.required && hasBit(s.need, lo+NodeID(id)) {
			if u.first == NoNode {
				u.first = lo + NodeID(id)
			}
			continue
		}
		u.nodes++
		u.cpus += int64(c)
		s.largest = max(s.largest, int64(c))
	}
	if u.nodes > 0 {
		s.runs = append(s.runs, u)
		s.widest, s.widestCPUs = max(s.widest, int(u.nodes)), max(s.widestCPUs, u.cpus)
	}
}

// runGPUs returns the GPUs of the candidates of run u.
func (s *Scratch) runGPUs(u *run) int64 {
	if s.gpus == nil {
		return 0
	}
	sum := int64(0)
	for id := u.lo; id < u.hi; id++ {
		if !s.required || !hasBit(s.need, id) {
			sum += int64(s.gpus[id])
		}
	}
	return sum
}

// runWeight returns the weight of the nodes of run u.
func (s *Scratch) runWeight(u *run) int64 {
	if s.uniform() || s.req.Contiguous {
		return 0
	}
	return s.req.Weights[u.lo]
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
	return u.cpus >= s.cpuRem && int(u.nodes) >= s.needed() && (s.gpuRem <= 0 || s.runGPUs(u) >= s.gpuRem)
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
	cw, bw := s.runWeight(c), s.runWeight(b)
	if s.f.opt.Defects {
		switch {
		case cNeed && !bNeed, cw < bw:
			return true
		case cw == bw:
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
	case cw != bw:
		return cw < bw
	case cOK != bOK:
		return cOK
	case cOK:
		return c.cpus < b.cpus
	}
	return c.cpus > b.cpus
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
