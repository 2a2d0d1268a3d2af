package topology

// check panics if the result of a fit breaks what it promises; it runs in builds
// with checking on.
func (s *Scratch) check(ok bool) {
	res, r := s.res, s.req
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
