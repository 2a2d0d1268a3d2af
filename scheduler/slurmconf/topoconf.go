package slurmconf

// A TopologyKind is the type of a topology.
type TopologyKind uint8

// The types of topologies that Slurm 26.05 has.
const (
	Flat TopologyKind = iota
	Tree
	Block
	Ring
	Torus
)

var topologyKindNames = [...]string{"flat", "tree", "block", "ring", "torus3d"}

// String returns the name that topology.yaml uses.
func (k TopologyKind) String() string { return topologyKindNames[k] }

// A Topology is one topology: the whole of topology.conf, or one entry of
// topology.yaml.
type Topology struct {
	// Name is the name that partitions use; "default" for topology.conf,
	// empty for an entry of topology.yaml without one.
	Name Value[string]
	Kind TopologyKind
	// Default marks an entry with cluster_default.
	Default Value[bool]
	// Units are the switches, blocks, rings or toruses in file order.
	Units []Unit
	// BlockSizes are as written; nil if none were.
	BlockSizes Value[[]int64]
	// AlphaStepRank is an option of flat.
	AlphaStepRank bool
	// At is the entry's line.
	At Origin
}

// A Unit is one switch, block, ring or torus.
type Unit struct {
	Name Value[string]
	// Nodes and Switches are hostlists. In a ring and a torus the order of
	// Nodes counts.
	Nodes, Switches Value[string]
	LinkSpeed       Value[int64]
	// Dims, Regions and Placements belong to a torus.
	Dims       Value[[3]int64]
	Regions    []TorusRegion
	Placements []TorusPlacement
	// At is the line.
	At Origin
}

// A TorusRegion is a box of a torus and the nodes in it, x fastest.
type TorusRegion struct {
	Anchor, Dims [3]int64
	Nodes        Value[string]
}

// A TorusPlacement is a shape that jobs may take, and where its anchors lie.
type TorusPlacement struct {
	Dims, Seed, Spacing [3]int64
	At                  Origin
}

// A topoLine is a record of topology.conf before its kind is known.
type topoLine struct {
	kind TopologyKind
	unit Unit
	// sizes is a BlockSizes line.
	sizes Value[[]int64]
}

var topoKeys = table[topoLine]{
	"switchname": setUnit(Tree),
	"blockname":  setUnit(Block),
	"ringname":   setUnit(Ring),
	"nodes":      put(parseText, func(t *topoLine) *Value[string] { return &t.unit.Nodes }),
	"switches":   put(parseText, func(t *topoLine) *Value[string] { return &t.unit.Switches }),
	"linkspeed":  put(parseCount(0, 1<<32-1, false), func(t *topoLine) *Value[int64] { return &t.unit.LinkSpeed }),
	"blocksizes": setBlockSizes,
}.with("linkspeed", "speed")

func setUnit(kind TopologyKind) setter[topoLine] {
	return func(t *topoLine, w word, at Origin) error {
		if t.unit.Name.IsSet() {
			return valueErr("a record has one name")
		}
		t.kind, t.unit.Name, t.unit.At = kind, Value[string]{w.val, at}, at
		return nil
	}
}

func setBlockSizes(t *topoLine, w word, at Origin) error {
	list, _ := parseList(w.val)
	out := make([]int64, len(list))
	for i, f := range list {
		n, err := parseCount(-1<<31, 1<<31-1, false)(f)
		if err != nil {
			return err
		}
		out[i] = n
	}
	t.kind, t.sizes = Block, Value[[]int64]{out, at}
	return nil
}
