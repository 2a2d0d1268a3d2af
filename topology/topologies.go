package topology

// Topologies are all topologies of a cluster in order: the default first, then
// file order. A partition names one of them or means the default, which alone
// serves hostlist functions, ranks and addresses.
type Topologies struct {
	names *Names
	all   []*Topology
}

// NewTopologies builds the topologies of specs on the cluster of names and
// returns every problem found; the result is nil if one of them is fatal.
// Topologies flagged Default come first, then the others, both in the order
// given, so that the first is the cluster's default. No specs at all make one
// flat topology called "default".
//
// Source: spec/topology.md 1.1.
func NewTopologies(specs []Spec, names *Names) (*Topologies, Problems) {
	ts := &Topologies{names: names}
	if len(specs) == 0 {
		ts.all = []*Topology{NewFlat("default", names.Len())}
		return ts, nil
	}
	var problems Problems
	flagged := false
	seen := map[string]bool{}
	for i := range specs {
		s := &specs[i]
		if s.Default && flagged {
			problems = append(problems, Problem{Severity: Warning, Kind: ProblemSecondDefault, Topology: s.Name, Line: s.Line})
		}
		flagged = flagged || s.Default
		if s.Name != "" && seen[s.Name] {
			problems = append(problems, Problem{Severity: Warning, Kind: ProblemDuplicateName, Topology: s.Name, Line: s.Line})
		}
		seen[s.Name] = true
	}
	for _, first := range [...]bool{true, false} {
		for i := range specs {
			if specs[i].Default != first {
				continue
			}
			t, p := New(&specs[i], names)
			problems = append(problems, p...)
			ts.all = append(ts.all, t)
		}
	}
	if problems.Fatal() {
		return nil, problems
	}
	return ts, problems
}

// Len returns the number of topologies, at least 1.
func (ts *Topologies) Len() int { return len(ts.all) }

// At returns topology i; 0 is the cluster's default.
func (ts *Topologies) At(i int) *Topology { return ts.all[i] }

// Default returns the cluster's default topology.
func (ts *Topologies) Default() *Topology { return ts.all[0] }

// Names returns the node names on which the topologies were built.
func (ts *Topologies) Names() *Names { return ts.names }

// Find returns the topology that a partition's Topology=name means: the default
// for "", else the first of that name.
func (ts *Topologies) Find(name string) (*Topology, bool) {
	if name == "" {
		return ts.all[0], true
	}
	for _, t := range ts.all {
		if t.name == name {
			return t, true
		}
	}
	return nil, false
}
