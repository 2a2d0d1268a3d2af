package gres

// A ViewID is the number of a view in a [Pool].
type ViewID int32

// AddView adds a set of nodes in which one-node requests look, as words in
// node order, and returns its number: the nodes of a partition with one
// weight, say. The words are copied. It allocates.
func (p *Pool) AddView(words []uint64) ViewID {
	id := ViewID(-1)
	for i := range p.views {
		if !p.views[i].used {
			id = ViewID(i)
			break
		}
	}
	if id < 0 {
		id = ViewID(len(p.views))
		p.views = append(p.views, view{})
	}
	n := len(p.state)
	v := &p.views[id]
	v.bits, v.used = nodeBitsOf(n, make([]uint64, nodeBitsWords(n))), true
	p.SetView(id, words)
	return id
}

// SetView changes the nodes of a view. It panics if words has not one word for
// each 64 nodes, or a node that the pool lacks.
func (p *Pool) SetView(id ViewID, words []uint64) {
	v := &p.views[id]
	if len(words) != len(v.bits.w) {
		panic("gres: view of another length than the pool")
	}
	if n := len(p.state); n&63 != 0 && words[n>>6]>>(n&63) != 0 {
		panic("gres: view of a node outside the pool")
	}
	copy(v.bits.w, words)
	v.bits.summarise()
	v.version++
}

// DropView forgets a view; its number may be given again.
func (p *Pool) DropView(id ViewID) {
	p.views[id].used = false
	p.views[id].version++
}

// PlaceOne looks for the first node on which a request of class c for one node
// can run: views in the order given, in each the lowest node. It stores in g
// what the request gets there, books nothing, and returns the node, or −1 if
// there is none. A nil within holds every node; otherwise only its nodes are
// looked at.
//
// It does not walk the cluster: with the summaries of the candidate set it
// takes a few steps, plus one for each node that turns out unfit, which is
// then remembered until that node changes. It does not allocate in steady
// state.
func (p *Pool) PlaceOne(c ClassID, pass Pass, views []ViewID, within []uint64, g *Grant) int32 {
	cl := &p.classes[c]
	for _, v := range views {
		s := p.slot(c, v, pass)
		node := s.bits.first()
		if within != nil {
			node = s.bits.nextIn(0, within)
		}
		for node >= 0 {
			if p.arrange(cl, pass, p.state[node], g) {
				return node
			}
			s.bits.clear(node)
			node = s.bits.nextIn(node+1, within)
		}
	}
	return -1
}

// NextCandidate returns the lowest node of view from from on, and of within
// unless that is nil, that is available, meets the index's bounds for class c
// and is not proven unfit; −1 if there is none. It is for callers with more
// conditions than the pool knows (limits of a partition, shared cores): they
// evaluate [Pool.NodeRow] themselves.
func (p *Pool) NextCandidate(c ClassID, pass Pass, view ViewID, from int32, within []uint64) int32 {
	return p.slot(c, view, pass).bits.nextIn(from, within)
}

// NodeRow returns node as [Evaluate] takes it. It aliases the pool: valid
// until its next change. It panics if node is not there.
func (p *Pool) NodeRow(node int32) NodeRow { return p.stateRow(p.state[node]) }

func (p *Pool) stateRow(id int32) NodeRow {
	sh := p.shapes[p.states.meta[id].shape]
	return NodeRow{Shape: sh, Row: p.states.row(id, sh.RowLen())}
}

// ArrangeOne stores in g what a request of class c for one node gets on node,
// and reports whether it fits there. Availability is not looked at.
func (p *Pool) ArrangeOne(c ClassID, pass Pass, node int32, g *Grant) bool {
	id := p.state[node]
	return id != noState && p.arrange(&p.classes[c], pass, id, g)
}

// arrange stores in g what class c gets alone on a node in state id, from
// memory or newly selected.
func (p *Pool) arrange(c *class, pass Pass, id int32, g *Grant) bool {
	if len(p.grants.entries) == 0 { // a fork's
		p.grants.size(p.coreWords)
	}
	e, known := p.grants.find(c.uid, p.states.meta[id].serial, pass)
	if known {
		if e.ok {
			g.CopyFrom(&e.grant)
		}
		return e.ok
	}
	ok := p.selectOne(c, pass, id, g)
	if !ok || len(g.Cores) <= cap(e.grant.Cores) && len(g.Devices) <= cap(e.grant.Devices) {
		e.class, e.state, e.pass, e.ok = c.uid, p.states.meta[id].serial, pass, ok
		if ok {
			e.grant.CopyFrom(g)
		}
	}
	return ok
}

// selectOne is arrange without memory.
func (p *Pool) selectOne(c *class, pass Pass, id int32, g *Grant) bool {
	fit := p.fit(c, pass, 1, id)
	if fit.Refusal != RefuseNone {
		return false
	}
	ch := &p.chosen[0]
	*ch = Chosen{Node: p.stateRow(id), Fit: *fit}
	var t Taking
	t.Start(&c.req)
	ch.CPUs, ch.Devices = t.Take(ch.Node.Shape, &c.req, fit)
	if !t.Enough(&c.req) {
		return false
	}
	p.grant[0] = *g // its memory is reused
	why := Select(p.grant[:], p.chosen[:], &c.req, pass, 1, &p.scratch)
	*g, p.grant[0] = p.grant[0], Grant{}
	return why == RefuseNone
}
