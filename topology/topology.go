package topology

// A Topology is one named topology of a cluster: how its nodes are grouped into
// units. It is immutable. Several topologies can share a cluster, and a node can
// be in any number of them or in none.
type Topology struct {
	name  string
	kind  Kind
	nodes int
	// placeable is the set of nodes whose presence in a request makes it a
	// request to the units rather than a flat one; for block, ring and torus3d.
	placeable []uint64
}

// NewFlat returns the topology of a cluster of n nodes in which nodes are a line
// and nothing else. Slurm: topology/flat.
func NewFlat(name string, n int) *Topology {
	return &Topology{name: name, kind: KindFlat, nodes: max(n, 0)}
}

// Name returns the name by which a partition refers to the topology.
func (t *Topology) Name() string { return t.name }

// Kind returns the type.
func (t *Topology) Kind() Kind { return t.kind }

// Nodes returns the number of nodes of the cluster.
func (t *Topology) Nodes() int { return t.nodes }
