package topology

// AddBlocked puts into dst the nodes that a running job on nodes, which asked
// for its units alone (--exclusive=topo, or a partition's Exclusive=TOPO), keeps
// from every other job of any partition: all nodes of the units of t, the job's
// topology, that it touches. A unit is a base block, a ring, a leaf switch or a
// whole torus; flat has none.
//
// With ProfileSlurm that has an effect only if some topology of the cluster is a
// block or ring topology, as in Slurm; with ProfileBest always. Cost: O(words +
// units touched). It panics if a set is of another cluster.
//
// Source: spec/topology.md 2.11.
func (ts *Topologies) AddBlocked(dst *NodeSet, t *Topology, nodes *NodeSet, p Profile) {
	if p == ProfileSlurm && !ts.supportsExclusive() {
		return
	}
	t.addTouched(dst, nodes)
}

// AddForbidden puts into dst the nodes that a job asking for its units alone in
// topology t may not use because of running jobs on busy: all nodes of the units
// that these touch. With ProfileSlurm only block and ring topologies look, so
// that a tree or torus3d job can come to share a unit; with ProfileBest all do.
//
// Source: spec/topology.md 2.11.
func (ts *Topologies) AddForbidden(dst *NodeSet, t *Topology, busy *NodeSet, p Profile) {
	if p == ProfileSlurm && t.kind != KindBlock && t.kind != KindRing {
		return
	}
	t.addTouched(dst, busy)
}

func (ts *Topologies) supportsExclusive() bool {
	for _, t := range ts.all {
		if t.kind == KindBlock || t.kind == KindRing {
			return true
		}
	}
	return false
}

// addTouched puts the nodes of all units that nodes touch into dst.
func (t *Topology) addTouched(dst, nodes *NodeSet) {
	if nodes.Len() != t.nodes || dst.Len() != t.nodes {
		panic("topology: node sets of different clusters")
	}
	w := nodes.Words()
	for u := range t.spans {
		if t.spans[u].next(w, 0) != NoNode {
			t.spans[u].add(dst.Words())
		}
	}
}
