package topology

import "strconv"

// A Rule names what a fit failed on.
type Rule uint8

// The rules, with Slurm's error numbers where it has one.
const (
	// RuleNone: nothing failed.
	RuleNone Rule = iota
	// RuleCount: fewer eligible nodes than the minimum.
	RuleCount
	// RuleConfig: the topology can never serve the request. Permanent.
	RuleConfig
	// RuleUnsupported: the request's task distribution is not supported by the
	// topology. Permanent.
	RuleUnsupported
	// RuleRequired (7201): a required node is not eligible or has no usable CPU.
	RuleRequired
	// RuleRequiredUnit (7202): the required nodes are outside all units or not in
	// one unit.
	RuleRequiredUnit
	// RuleNoFit (7203): no unit is large enough.
	RuleNoFit
	// RuleSegment (7204): no unit is large enough for a segment.
	RuleSegment
	// RuleShort (7205): a unit was chosen, but nodes, CPUs or GPUs are short.
	RuleShort
	// RuleWeight (7206): nodes forced by their weight break the group limit.
	RuleWeight
	// RuleMaxNodes (7207): the maximum of nodes was reached first.
	RuleMaxNodes
	// RuleEmpty (7208): no eligible node is left.
	RuleEmpty
	// RuleSwitches: the job waits for fewer switches (--switches).
	RuleSwitches
)

var ruleText = [...]string{
	RuleNone:         "fits",
	RuleCount:        "too few eligible nodes",
	RuleConfig:       "topology configuration unavailable",
	RuleUnsupported:  "task distribution not supported",
	RuleRequired:     "required node not available",
	RuleRequiredUnit: "required nodes not in one unit",
	RuleNoFit:        "no unit large enough",
	RuleSegment:      "no unit large enough for a segment",
	RuleShort:        "unit lacks resources",
	RuleWeight:       "node weights break the group limit",
	RuleMaxNodes:     "maximum of nodes reached",
	RuleEmpty:        "no eligible node left",
	RuleSwitches:     "waiting for fewer switches",
}

// String returns a few plain words.
func (r Rule) String() string {
	if int(r) < len(ruleText) {
		return ruleText[r]
	}
	return "rule " + strconv.Itoa(int(r))
}

// Permanent reports whether no change of the nodes' state can help.
func (r Rule) Permanent() bool { return r == RuleConfig || r == RuleUnsupported }

// Reason returns the text by which Slurm describes the failure in the reason of
// a pending job, or "" where it says nothing but Resources. Only block, ring and
// torus3d jobs carry it.
//
// Source: spec/topology.md 2.12 and recorded cases.
func (r Rule) Reason() string {
	switch r {
	case RuleNoFit:
		return "No suitable topology unit found"
	case RuleSegment:
		return "No suitable topology unit found for segment"
	case RuleShort:
		return "Insufficient resources in topology unit"
	}
	return ""
}

// A Lack says what a unit has too little of.
type Lack uint8

// What can be lacking.
const (
	LackNone   Lack = iota
	LackNodes       // eligible nodes
	LackCPUs        // usable CPUs
	LackGPUs        // usable GPUs
	LackUnits       // units: segments or switches
	LackGroups      // low groups within the block's limit
)

var lackText = [...]string{"nothing", "nodes", "CPUs", "GPUs", "units", "groups"}

// String returns the plain word: nodes, CPUs, GPUs, units, groups.
func (l Lack) String() string {
	if int(l) < len(lackText) {
		return lackText[l]
	}
	return "lack " + strconv.Itoa(int(l))
}

// A Refusal says why a request does not fit: the rule that failed, and the unit
// that came nearest with what it lacks. The zero value is no refusal.
type Refusal struct {
	Rule Rule
	// Unit is the nearest unit as an index into the topology's units (see
	// [Topology.Unit]), or NoUnit where the whole set of nodes is meant.
	Unit UnitID
	// Lack is what the nearest unit has too little of: Need was asked, Have is
	// there, Have < Need.
	Lack       Lack
	Need, Have int64
	// Part is the segment that failed, counted from 0; 0 without segments.
	Part int32
}

// A UnitID is the index of a unit of one topology: block, aggregate of blocks,
// switch, ring or torus, numbered as [Topology.Unit] says.
type UnitID int32

// NoUnit is the UnitID of no unit.
const NoUnit UnitID = -1

// A Result is what a fit found. It lives in the caller's scratch; its slices are
// reused, so it is valid until the next Fit with it. After a refusal only
// Refusal, Steps and Fits say something.
type Result struct {
	// Nodes are the chosen nodes, ascending.
	Nodes []NodeID
	// CPUs[i] and GPUs[i] are what the job gets of Nodes[i] by the budget rule;
	// GPUs is of length 0 unless the request wants GPUs per job.
	CPUs, GPUs []int32
	// Order are the same nodes in the order in which they were taken; CPUs and
	// GPUs of the job were dealt out in that order.
	Order []NodeID
	// Part[i] is the segment of Nodes[i], counted from 0; of length 0 if the
	// request has no segments in effect.
	Part []int32
	// Set holds the same nodes.
	Set NodeSet
	// Units are the base units touched, ascending: base blocks, leaf switches,
	// rings, toruses; of length 0 for flat.
	Units []UnitID
	// Size is the value of the size list that fitted, else 0.
	Size int32
	// Relaxed says that the second pass found it: cores and GPUs need not be near
	// each other.
	Relaxed bool
	// Refusal says why nothing was found; Rule is RuleNone if something was.
	Refusal Refusal

	// Fits is the number of single fits tried, Steps the number of nodes, words
	// and units they looked at: what a cost test counts.
	Fits, Steps int64
}

func (r *Result) reset(n int) {
	if r.Set.Len() != n {
		r.Set.Init(n)
	} else {
		for _, id := range r.Nodes { // the set holds nothing else
			r.Set.Remove(id)
		}
	}
	r.Nodes, r.CPUs, r.GPUs = r.Nodes[:0], r.CPUs[:0], r.GPUs[:0]
	r.Order, r.Part, r.Units = r.Order[:0], r.Part[:0], r.Units[:0]
	r.Size, r.Relaxed, r.Refusal = 0, false, Refusal{Unit: NoUnit}
	r.Fits, r.Steps = 0, 0
}
