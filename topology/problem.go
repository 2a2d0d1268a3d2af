package topology

import (
	"errors"
	"strconv"
)

// A Severity says what a problem of a configuration leads to.
type Severity uint8

// Severities.
const (
	// Warning: the topology is built without the part that is wrong.
	Warning Severity = iota
	// Fatal: the topology is not built.
	Fatal
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Fatal {
		return "error"
	}
	return "warning"
}

// A ProblemKind names what is wrong with a topology.
type ProblemKind uint8

// What can be wrong (spec/topology.md 1.4).
const (
	ProblemNoUnits       ProblemKind = iota // no switch, block, ring or torus at all
	ProblemKindCount                        // no type, or more than one
	ProblemNoName                           // a unit without a name
	ProblemDuplicateUnit                    // two units of one name
	ProblemHostlist                         // a hostlist that cannot be read
	ProblemUnknownNode                      // a node that is not in the cluster
	ProblemUncovered                        // nodes of the cluster in no unit
	ProblemUnknownChild                     // a child switch that does not exist
	ProblemSelfChild                        // a switch that names itself
	ProblemCycle                            // switches in a circle, or too deep
	ProblemNodesAndChild                    // nodes and children on one switch
	ProblemNameLength                       // a name over its limit
	ProblemSharedNode                       // a node in two units, or twice in one
	ProblemUnconnected                      // no switch reaches all nodes
	ProblemBlockSize                        // a block size that is not positive
	ProblemSizeRatio                        // a size that is not base times a power of two up to 2^15
	ProblemNoSizes                          // neither sizes nor nodes
	ProblemRingSize                         // more than 16 nodes in a ring
	ProblemTorusDims                        // dimensions that are not positive or too large
	ProblemTorusCells                       // nodes and regions together, or neither as many as cells
	ProblemRegion                           // a region outside the torus or over another
	ProblemPlacement                        // a placement larger than its torus
	ProblemDuplicateName                    // two topologies of one name; the first is found
	ProblemSecondDefault                    // two topologies flagged as default; the first wins
	ProblemSmallBlock                       // a block smaller than the base size
	ProblemRemainder                        // block count not a multiple of an enforced level
	ProblemTwoParents                       // two switches claim one child; the later is its parent
)

var problemText = [...]string{
	ProblemNoUnits:       "has no units",
	ProblemKindCount:     "needs exactly one of flat, tree, block, ring, torus3d",
	ProblemNoName:        "has a unit without a name",
	ProblemDuplicateUnit: "name is taken",
	ProblemHostlist:      "invalid hostlist",
	ProblemUnknownNode:   "unknown node",
	ProblemUncovered:     "nodes are in no unit",
	ProblemUnknownChild:  "unknown child switch",
	ProblemSelfChild:     "switch is its own child",
	ProblemCycle:         "switches form a circle or more than 20 levels",
	ProblemNodesAndChild: "switch has nodes and children",
	ProblemNameLength:    "name is longer than 64 characters",
	ProblemSharedNode:    "node is in two places",
	ProblemUnconnected:   "no switch reaches all nodes",
	ProblemBlockSize:     "block size is not positive",
	ProblemSizeRatio:     "block size is not the first size times a power of two up to 2^15",
	ProblemNoSizes:       "has neither block sizes nor nodes",
	ProblemRingSize:      "ring has more than 16 nodes",
	ProblemTorusDims:     "dimensions are out of range",
	ProblemTorusCells:    "number of nodes does not match the cells",
	ProblemRegion:        "region is outside the torus or overlaps another",
	ProblemPlacement:     "placement does not fit its torus",
	ProblemDuplicateName: "topology name is taken",
	ProblemSecondDefault: "second default topology is ignored",
	ProblemSmallBlock:    "block is smaller than the base size",
	ProblemRemainder:     "number of blocks leaves a remainder at size",
	ProblemTwoParents:    "switch is the child of two switches",
}

// String returns a few plain words.
func (k ProblemKind) String() string {
	if int(k) < len(problemText) {
		return problemText[k]
	}
	return "problem " + strconv.Itoa(int(k))
}

// A Problem is one thing wrong with a topology's configuration.
type Problem struct {
	Severity Severity
	Kind     ProblemKind
	// Topology and Unit are the names concerned; Unit may be empty.
	Topology, Unit string
	// Token is the offending word: a node, a number, a hostlist.
	Token string
	// Line is the line of the record, as the Spec gave it.
	Line int
	// Err is the cause, if there is one.
	Err error
}

// Error implements error.
func (p *Problem) Error() string {
	s := "topology: build " + strconv.Quote(p.Topology)
	if p.Unit != "" {
		s += " unit " + strconv.Quote(p.Unit)
	}
	s += ": " + p.Kind.String()
	if p.Token != "" {
		s += ": " + strconv.Quote(p.Token)
	}
	if p.Err != nil {
		s += ": " + p.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Problems are all problems of a configuration in the order of its records.
type Problems []Problem

// Fatal reports whether one of them is fatal.
func (p Problems) Fatal() bool {
	for i := range p {
		if p[i].Severity == Fatal {
			return true
		}
	}
	return false
}

// Err joins the fatal problems into one error; nil if there is none.
func (p Problems) Err() error {
	var errs []error
	for i := range p {
		if p[i].Severity == Fatal {
			errs = append(errs, &p[i])
		}
	}
	return errors.Join(errs...)
}
