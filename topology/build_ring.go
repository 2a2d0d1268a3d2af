package topology

// A ring is what the ring fitter knows beside the units.
type ring struct {
	// nodes[u] are the nodes of ring u by position.
	nodes [][]NodeID
	// straight[u] is the first node of a ring whose positions are consecutive
	// nodes, else NoNode.
	straight []NodeID
}

func (b *builder) ring(spec *RingSpec) {
	t := b.top
	t.kind, t.ring = KindRing, &ring{}
	if len(spec.Rings) == 0 {
		b.problem(Fatal, ProblemNoUnits, "", "", b.spec.Line)
		return
	}
	for i := range spec.Rings {
		u := &spec.Rings[i]
		b.unit(u.Name, u.Line)
		ids := b.ids(u.Name, u.Nodes, u.Line, false)
		if len(ids) > MaxRing {
			b.problem(Fatal, ProblemRingSize, u.Name, u.Nodes, u.Line)
			continue
		}
		b.own(i, ids, Fatal, u.Line)
		t.ring.add(ids)
	}
}

func (r *ring) add(ids []NodeID) {
	first := NoNode
	if len(ids) > 0 {
		first = ids[0]
		for p, id := range ids {
			if id != first+NodeID(p) {
				first = NoNode
				break
			}
		}
	}
	r.nodes = append(r.nodes, ids)
	r.straight = append(r.straight, first)
}
