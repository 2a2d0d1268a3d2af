package topology

import "math/bits"

// oneNode is the path of a request for a single node: the first node by (weight
// without its low byte, index) that satisfies the job alone, in the strict pass,
// then in the relaxed one (spec 2.4).
func (s *Scratch) oneNode() bool {
	s.res.Fits++
	r := s.req
	s.forgetOne()
	for pass := range 2 {
		s.column(pass == 1)
		if pass == 1 && r.RelaxedCPUs == nil && r.RelaxedGPUs == nil {
			break // the strict pass has said it
		}
		if !s.beyond() && s.scanOne() {
			return true
		}
	}
	s.whyNotOne()
	return false
}

// beyond reports whether the largest entries of the columns say that no eligible
// node has what the job wants of one.
func (s *Scratch) beyond() bool {
	return s.mostCPUs > 0 && int64(s.mostCPUs) < s.minCPUs ||
		s.mostGPUs > 0 && int64(s.mostGPUs) < s.req.GPUs
}

// scanOne takes the best single node of the pass, if there is one.
func (s *Scratch) scanOne() bool {
	r := s.req
	if s.f.opt.Profile == ProfileBest && !s.f.opt.FirstNode {
		return s.packOne()
	}
	if r.Weights == nil {
		for id := s.nextOne(0); id != NoNode; id = s.nextOne(id + 1) {
			if s.takeOne(id) {
				return true
			}
		}
		return false
	}
	// Class by class: the lightest above the last, its nodes in index order.
	for last, any := int64(0), false; ; any = true {
		class, found := int64(0), false
		for id := s.nextOne(0); id != NoNode; id = s.nextOne(id + 1) {
			w := r.Weights[id] >> 8
			if any && w <= last || found && w >= class {
				continue
			}
			class, found = w, true
		}
		if !found {
			return false
		}
		for id := s.nextOne(0); id != NoNode; id = s.nextOne(id + 1) {
			if r.Weights[id]>>8 == class && s.takeOne(id) {
				return true
			}
		}
		last = class
	}
}

// nextOne returns the lowest node from id on that the columns find large enough.
func (s *Scratch) nextOne(id NodeID) NodeID {
	r := s.req
	need := int32(min(max(s.minCPUs, 1), 1<<31-1))
	for i := int(id >> 6); i < len(s.base); i++ {
		x := s.base[i]
		if s.required {
			x &= s.need[i]
		}
		if i == int(id>>6) {
			x = x >> (uint(id) & 63) << (uint(id) & 63)
		}
		for ; x != 0; x &= x - 1 {
			id := NodeID(i<<6 + bits.TrailingZeros64(x))
			s.res.Steps++
			if u := s.cpus[id]; u < need || r.WholeNode && r.MaxCPUs > 0 && int64(u) > r.MaxCPUs {
				continue
			}
			if r.GPUs > 0 && (s.gpus == nil || int64(s.gpus[id]) < r.GPUs) {
				continue
			}
			return id
		}
	}
	return NoNode
}

// takeOne takes id and reports whether it satisfies the job alone.
func (s *Scratch) takeOne(id NodeID) bool {
	if s.grantNode(id) && s.done() {
		return true
	}
	s.forgetOne()
	return false
}

// forgetOne begins anew with nothing taken.
func (s *Scratch) forgetOne() {
	s.want1(1)
	s.order = s.order[:0]
	s.nparts = 1
}

// whyNotOne records what the largest eligible node lacks.
func (s *Scratch) whyNotOne() {
	r := s.req
	why := Refusal{Rule: RuleShort, Unit: NoUnit, Lack: LackCPUs, Need: max(s.minCPUs, 1)}
	any := s.mostCPUs > 0
	gpus := int64(s.mostGPUs)
	if why.Have = int64(s.mostCPUs); !any || r.GPUs > 0 && s.gpus != nil && gpus == 0 {
		for i, x := range s.base {
			any = any || x != 0
			for ; x != 0; x &= x - 1 {
				id := i<<6 + bits.TrailingZeros64(x)
				s.res.Steps++
				why.Have = max(why.Have, int64(s.cpus[id]))
				if s.gpus != nil {
					gpus = max(gpus, int64(s.gpus[id]))
				}
			}
		}
	}
	switch {
	case !any:
		why = Refusal{Rule: RuleCount, Unit: NoUnit, Lack: LackNodes, Need: 1}
	case r.GPUs > gpus:
		why.Lack, why.Need, why.Have = LackGPUs, r.GPUs, gpus
	case why.Have >= why.Need: // each has enough of something, none can be arranged
		why.Lack, why.Need, why.Have = LackNodes, 1, 0
	}
	s.refuse(why)
}
