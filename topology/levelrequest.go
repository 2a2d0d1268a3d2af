package topology

// A Fill says in which order domains are filled (spec/topology.md 3.1).
type Fill uint8

const (
	// FillDefault is FillBestFit, but FillLeastFree for a request without a level.
	FillDefault Fill = iota
	// FillBestFit takes the smallest domain that suffices; of several the largest
	// first, and at last the smallest that finishes.
	FillBestFit
	// FillLeastFree takes the domains with the least room first.
	FillLeastFree
	// FillMostFree takes the domains with the most room first, also when one
	// suffices.
	FillMostFree
	// FillFullest takes the smallest domain that suffices; of several those with
	// the most room first, as KAI does.
	FillFullest
)

// NoLevel stands for no level.
const NoLevel = -1

// A Slice layer demands that members come in groups of Size, each inside one
// domain of Level. Kueue: slices; Slurm's nearest word is segment.
type Slice struct {
	Level int
	Size  int32
}

// MaxSlices is the most layers of slices.
const MaxSlices = 3

// A LevelRequest asks for places for Count members, all alike: pods, tasks,
// processes. Columns are of the length of the cluster. It lives in the caller's
// scratch; Fit keeps nothing of it.
type LevelRequest struct {
	// Count is the number of members, without the leader.
	Count int32
	// Capacity[n] is how many members node n could take now.
	Capacity []int32
	// Each, if not 0, is how many members every eligible node could take;
	// Capacity is not looked at then. Eligible nodes are counted by words.
	Each int32
	// Eligible are the nodes to look at, nil for all.
	Eligible *NodeSet

	// Want is the level at which one domain should hold all members, NoLevel for
	// none. If no domain of it does, each level above is tried up to Must, and if
	// there is no Must, several domains of the top level serve.
	Want int
	// Must is the level at which one domain must hold all members, NoLevel for
	// none. Must alone is "required", Want alone "preferred", neither
	// "unconstrained"; Volcano's highest allowed tier is Must with Want the lowest
	// level.
	Must int
	// Slices are layers of slices, the outermost first: each at a lower level than
	// the one before, with a size that divides its size; the first divides Count.
	Slices []Slice
	// Balanced spreads the members evenly over as few domains as can be.
	Balanced bool
	// Fill is the order in which domains are filled.
	Fill Fill

	// Leader asks for one more member, the leader, in the same domain: LeaderFits
	// are the nodes that can take it, and WithLeader[n] is what Capacity[n] becomes
	// beside it; nil if the leader takes nothing from the members.
	Leader     bool
	LeaderFits *NodeSet
	WithLeader []int32

	// Exclusive is the level of whose domains the group wants its own, NoLevel for
	// none: domains that hold a node of Occupied are left out.
	Exclusive int
	Occupied  *NodeSet
}

// A LevelResult is what a level fit found; its slices are reused by the next one.
type LevelResult struct {
	// Nodes are the nodes chosen, ascending; Members[i] how many members Nodes[i]
	// gets, at least 1 but for a node that gets the leader alone.
	Nodes   []NodeID
	Members []int32
	// Leader is the node of the leader, or NoNode.
	Leader NodeID
	// Level and Domain are the lowest single domain that holds everything; Level
	// is NoLevel if the whole cluster is needed.
	Level  int
	Domain int32

	// Rule says why nothing was found: RuleConfig for a request that contradicts
	// itself, RuleNoFit if no domain is large enough, RuleCount if the cluster is
	// not; RuleNone if something was.
	Rule Rule
	// Need is the number of outermost slices (members without slices) wanted, Have
	// how many the nearest domain holds: domain NearDomain of NearLevel, or all if
	// that is NoLevel.
	Need, Have int32
	NearLevel  int
	NearDomain int32
	// Left out are members that nodes could take which do not count: Outside in
	// no domain or not eligible, Owned in domains of another group, Broken because
	// they do not make whole slices.
	Outside, Owned, Broken int64

	// Steps counts what was looked at.
	Steps int64
}

// A LevelScratch is the working memory of level fits; the zero value is ready.
type LevelScratch struct {
	lv  *Levels
	req *LevelRequest
	res *LevelResult

	fill   Fill
	layers [MaxSlices]Slice
	nl     int // layers
	levels []levelColumns
	pool   []int32
	heap   []int32
	chosen []int32
	given  []int32
	row    []int64
	masked []int32
	lo, hi int32 // the nodes that count, as domains of the last level
	// lazy: the counts of nodes are worked out only for the pools that are chosen
	// from; counted is the highest level counted so far.
	lazy    bool
	counted int
	// nodeUnits and nodeLost are the units of nodes where they are not members.
	nodeUnits, nodeLost []int32
	bits                []uint64

	// Of a change: what nodes hold, the domains that hold something, nodes that
	// get nothing, the request for what is missing.
	holds    []int32
	kept     []int32
	without  *NodeSet
	sub      LevelRequest
	leaderAt NodeID
}

// levelColumns are the counts of the domains of one level: units are slices of
// the layer in whose stretch of levels they lie, members what they hold; lead
// says whether the leader fits, and lost what it costs in units and members; give
// is how many units a domain gets.
type levelColumns struct {
	units, members, unitsLost, membersLost, give []int32
	lead                                         []bool
}
