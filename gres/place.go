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
			id := p.state[node]
			if p.fit(cl, pass, 1, id).Refusal == RefuseNone {
				sh := p.shapes[p.states.meta[id].shape]
				if Pick(NodeRow{Shape: sh, Row: p.states.row(id, sh.RowLen())}, &cl.req, pass, 1, &p.scratch, g) {
					return node
				}
			}
			s.bits.clear(node)
			node = s.bits.nextIn(node+1, within)
		}
	}
	return -1
}
