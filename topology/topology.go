package topology

// A Topology is one named topology of a cluster: how its nodes are grouped into
// units. It is immutable. Several topologies can share a cluster, and a node can
// be in any number of them or in none.
type Topology struct {
	name      string
	kind      Kind
	nodes     int
	alphaRank bool

	units  []unit   // base units first, in file order; then aggregates of blocks
	base   int      // number of base units; of a tree all switches count
	unitOf []UnitID // base unit of each node: block, leaf switch, ring, torus
	spans  []span   // nodes of each base unit
	// covered are the nodes in some unit; placeable those whose presence in a
	// request makes it one to the units rather than a flat one.
	covered, placeable []uint64

	tree  *tree
	block *block
	ring  *ring
	torus *torus
}

// A unit is a row of the table of units.
type unit struct {
	name   string
	parent UnitID
	level  int32
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

// A Unit describes one unit of a topology.
type Unit struct {
	Name string
	// Level is 0 for a base block, leaf switch, ring or torus; k for an aggregate
	// of 2^k base blocks, and one more than the highest child for a switch.
	Level int
	// Parent is the switch above, or the smallest listed aggregate around; NoUnit
	// at the top.
	Parent UnitID
	// Size is the number of nodes in it.
	Size int
}

// Units returns the number of units. They are numbered in file order; the
// aggregates of a block topology follow the base blocks, lower levels first.
func (t *Topology) Units() int { return len(t.units) }

// Unit describes unit u. It panics if u is no unit of t.
func (t *Topology) Unit(u UnitID) Unit {
	r := &t.units[u]
	size := 0
	for b := range t.basesOf(u) {
		size += int(t.spans[b].size)
	}
	return Unit{Name: r.name, Level: int(r.level), Parent: r.parent, Size: size}
}

// FindUnit returns the unit called name: a base block, an aggregate by its
// folded name ("b[0-1]"), a switch of any level, a ring or a torus.
func (t *Topology) FindUnit(name string) (UnitID, bool) {
	for i := range t.units {
		if t.units[i].name == name {
			return UnitID(i), true
		}
	}
	return NoUnit, false
}

// UnitOf returns the block, leaf switch, ring or torus of node id, or NoUnit. It
// panics if id is outside the cluster.
func (t *Topology) UnitOf(id NodeID) UnitID {
	if uint(id) >= uint(t.nodes) {
		panic("topology: node outside the cluster")
	}
	if t.unitOf == nil {
		return NoUnit
	}
	return t.unitOf[id]
}

// AddUnit puts the nodes of unit u into dst. It panics if u is no unit of t or
// dst is of another cluster.
func (t *Topology) AddUnit(dst *NodeSet, u UnitID) {
	if dst.Len() != t.nodes {
		panic("topology: node sets of different clusters")
	}
	_ = t.units[u]
	for b := range t.basesOf(u) {
		t.spans[b].add(dst.Words())
	}
}

// basesOf returns an iterator over the base units below u, u itself included.
func (t *Topology) basesOf(u UnitID) func(func(UnitID) bool) {
	return func(yield func(UnitID) bool) {
		switch {
		case t.kind == KindTree:
			for _, b := range t.tree.leavesOf(u) {
				if !yield(b) {
					return
				}
			}
		case int(u) < t.base:
			yield(u)
		default:
			first, last := t.block.aggregate(u)
			for b := first; b < last; b++ {
				if !yield(b) {
					return
				}
			}
		}
	}
}
