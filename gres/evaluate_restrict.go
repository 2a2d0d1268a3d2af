package gres

// dropRestricted takes the cores kept for GPUs from a job without GPUs.
func (s *Scratch) dropRestricted(sh *Shape, r *Request) {
	if sh.restrictedPerGPU == 0 || r.WantsGPU() {
		return
	}
	for w := range s.cand {
		s.cand[w] &^= sh.restricted[w]
	}
}

// keepRestricted leaves a job with GPUs as many of the cores kept for GPUs as
// its GPUs bring along.
//
// Source: spec/gres.md 13.
func (s *Scratch) keepRestricted(n *NodeRow, r *Request, fit *NodeFit) Refusal {
	sh := n.Shape
	if sh.restrictedPerGPU == 0 || !r.WantsGPU() || r.Has(WholeNode) {
		return RefuseNone
	}
	return RefuseNone
}
