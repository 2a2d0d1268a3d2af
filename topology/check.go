package topology

// check panics if the result of a fit breaks what it promises; it runs in builds
// with checking on.
func (s *Scratch) check(ok bool) {
	res, r := s.res, s.req
	checkMost(r.Eligible, r.CPUs, r.MostCPUs)
	checkMost(r.Eligible, r.NodeGPUs, r.MostGPUs)
	checkMost(r.Eligible, r.RelaxedCPUs, r.MostRelaxedCPUs)
	checkMost(r.Eligible, r.RelaxedGPUs, r.MostRelaxedGPUs)
	if ok != (res.Refusal.Rule == RuleNone) {
		panic("topology: check: a result and a refusal at once")
	}
	if !ok {
		return
	}
	total := int64(0)
	for i, id := range res.Nodes {
		switch {
		case i > 0 && res.Nodes[i-1] >= id:
			panic("topology: check: nodes are not ascending")
		case !r.Eligible.Has(id) || !res.Set.Has(id):
			panic("topology: check: a node is not eligible or not in the set")
		case res.CPUs[i] < 1:
			panic("topology: check: a node gives nothing")
		}
		total += int64(res.CPUs[i])
	}
	switch {
	case res.Set.Count() != len(res.Nodes) || len(res.Order) != len(res.Nodes):
		panic("topology: check: nodes are counted twice")
	case r.Required != nil && !res.Set.Contains(r.Required):
		panic("topology: check: a required node is missing")
	case len(res.Nodes) < s.min || len(res.Nodes) > s.max:
		panic("topology: check: number of nodes out of range")
	case total < s.minCPUs && !r.Spread:
		panic("topology: check: too few CPUs")
	}
}

// checkMost panics if most is promised as the largest entry of col and is not.
func checkMost(set *NodeSet, col []int32, most int32) {
	if most == 0 || col == nil {
		return
	}
	real := int32(0)
	for id := range set.All() {
		real = max(real, col[id])
	}
	if real != most {
		panic("topology: check: the largest entry of a column is not what the request promises")
	}
}
