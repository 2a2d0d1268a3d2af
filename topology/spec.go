package topology

// A Spec is one topology as a configuration file describes it; exactly one of
// Flat, Tree, Block, Ring and Torus is set. [New] makes a [Topology] of it.
//
// Source: topology.conf(5), topology.yaml(5); spec/topology.md 1.2, 1.3.
type Spec struct {
	// Name is what a partition's Topology= refers to. The topology of
	// topology.conf is called "default".
	Name string
	// Default is cluster_default.
	Default bool
	// Line is where the topology begins in its file; it comes back in problems.
	Line int
	// YAML says that the source is topology.yaml, whose rules differ in details:
	// a switch with nodes and children keeps its nodes, names may be long.
	YAML bool

	Flat  *FlatSpec
	Tree  *TreeSpec
	Block *BlockSpec
	Ring  *RingSpec
	Torus *TorusSpec
}

// A FlatSpec describes a topology without units.
type FlatSpec struct {
	// AlphaStepRank is alpha_step_rank: ranks of a step follow the natural order
	// of names instead of node order.
	AlphaStepRank bool
	// Off is "flat: false", which is refused when it stands alone.
	Off bool
}

// A TreeSpec describes a tree of switches in file order, which breaks ties.
type TreeSpec struct {
	Switches []SwitchSpec
	// Merge accepts what topograph writes for a switch that has nodes and switches
	// of its own, two records of one name, which Slurm refuses: the record with
	// nodes becomes a leaf NAME/nodes below the other.
	Merge bool
}

// A SwitchSpec is one SwitchName= record: a leaf with Nodes or a switch with
// Children, both hostlists.
type SwitchSpec struct {
	Name, Nodes, Children string
	// LinkSpeed has no effect.
	LinkSpeed int64
	Line      int
}

// A UnitSpec is one BlockName= or RingName= record. Nodes is a hostlist: of a
// ring the order counts, of a block it may be empty.
type UnitSpec struct {
	Name, Nodes string
	Line        int
}

// A BlockSpec describes blocks in file order. Sizes are BlockSizes, the first of
// which is the base; without any the base is the size of the first block with
// nodes, and sizes up to 16 times that are enforced.
type BlockSpec struct {
	Sizes     []int64
	SizesLine int
	Blocks    []UnitSpec
}

// A RingSpec describes rings of at most [MaxRing] nodes in file order.
type RingSpec struct{ Rings []UnitSpec }

// A TorusSpec describes three-dimensional toruses in file order.
type TorusSpec struct{ Toruses []TorusUnitSpec }

// A Coord is a position in a torus, or the extents of a box.
type Coord struct{ X, Y, Z int32 }

// EmptyCell stands in a torus for a cell without a node.
const EmptyCell = "-"

// A TorusUnitSpec is one torus: its cells by Nodes (x fastest, then y, then z;
// [EmptyCell] leaves one empty) or by Regions, and the shapes that jobs may have.
type TorusUnitSpec struct {
	Name       string
	Dims       Coord
	Nodes      string
	Regions    []RegionSpec
	Placements []PlacementSpec
	Line       int
}

// A RegionSpec gives the nodes of a box of a torus.
type RegionSpec struct {
	Anchor, Dims Coord
	Nodes        string
	Line         int
}

// A PlacementSpec is a shape that jobs may have, and where it may stand: from
// Seed in steps of Spacing, each component of which defaults to that of Dims.
type PlacementSpec struct {
	Dims, Seed, Spacing Coord
	Line                int
}

// MaxRing is the most nodes a ring can have.
const MaxRing = 16

// MaxSwitchName is the longest switch name in topology.conf.
const MaxSwitchName = 64
