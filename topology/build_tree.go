package topology

import "slices"

// maxDepth is the number of levels of switches that can be resolved.
const maxDepth = 20

// A tree is what the tree fitters know beside the units.
type tree struct {
	leaves []UnitID // in file order
	// depth[u] is the distance of switch u from its root.
	depth []int32
	// order lists switches so that parents come before children.
	order []UnitID
	// under are the leaves below switch u, in file order: under[first[u]:first[u+1]].
	under []UnitID
	first []int32
	// groups cut leaves into stretches of consecutive leaves with one parent:
	// leaves[groups[g].lo:groups[g].hi].
	groups []leafGroup
	// groupOf[i] is the group of leaves[i], leafAt[u] the index of leaf u there.
	groupOf []int32
	leafAt  []int32
	// rooted[u] are the groups below root u, nil for other switches.
	rooted [][]int32
}

// A leafGroup is a stretch of leaves of one parent.
type leafGroup struct {
	lo, hi int32
	parent UnitID
}

func (b *builder) tree(spec *TreeSpec) {
	t := b.top
	t.kind, t.tree = KindTree, &tree{}
	if len(spec.Switches) == 0 {
		b.problem(Fatal, ProblemNoUnits, "", "", b.spec.Line)
		return
	}
	if spec.Merge {
		spec = mergeRecords(spec)
	}
	index := map[string]UnitID{}
	for i := range spec.Switches {
		s := &spec.Switches[i]
		b.unit(s.Name, s.Line)
		if len(s.Name) > MaxSwitchName && !b.spec.YAML {
			b.problem(Fatal, ProblemNameLength, s.Name, "", s.Line)
		}
		if _, ok := index[s.Name]; !ok {
			index[s.Name] = UnitID(i)
		}
	}
	leaf := make([]bool, len(spec.Switches))
	for i := range spec.Switches {
		leaf[i] = b.switchRecord(UnitID(i), &spec.Switches[i], index)
	}
	if b.problems.Fatal() {
		return
	}
	b.levels(spec, leaf)
}

// mergeRecords gives the nodes of a switch that has two records a leaf of their
// own below it.
func mergeRecords(spec *TreeSpec) *TreeSpec {
	out := &TreeSpec{Switches: slices.Clone(spec.Switches)}
	upper := map[string]int{} // the record with children
	for i, s := range out.Switches {
		if s.Children != "" && s.Nodes == "" {
			upper[s.Name] = i
		}
	}
	for i, s := range out.Switches {
		if at, ok := upper[s.Name]; ok && s.Children == "" && s.Nodes != "" {
			out.Switches[i].Name += "/nodes"
			out.Switches[at].Children += "," + out.Switches[i].Name
		}
	}
	return out
}

// switchRecord reads one record and reports whether it is a leaf.
func (b *builder) switchRecord(u UnitID, s *SwitchSpec, index map[string]UnitID) bool {
	children := s.Children
	if s.Nodes != "" && children != "" {
		sev := Fatal
		if b.spec.YAML {
			sev, children = Warning, ""
		}
		b.problem(sev, ProblemNodesAndChild, s.Name, "", s.Line)
	}
	if children == "" {
		b.own(int(u), b.ids(s.Name, s.Nodes, s.Line, false), Warning, s.Line)
		return true
	}
	hosts, _ := b.hosts(s.Name, children, s.Line)
	for _, c := range hosts {
		id, ok := index[c]
		switch {
		case c == s.Name:
			b.problem(Fatal, ProblemSelfChild, s.Name, c, s.Line)
		case !ok:
			b.problem(Fatal, ProblemUnknownChild, s.Name, c, s.Line)
		default:
			if p := b.top.units[id].parent; p != NoUnit && p != u {
				b.problem(Warning, ProblemTwoParents, c, b.top.units[p].name, s.Line)
			}
			b.top.units[id].parent = u
		}
	}
	return false
}

// levels works out levels, depths and order, and refuses circles.
func (b *builder) levels(spec *TreeSpec, leaf []bool) {
	t := b.top
	n := len(t.units)
	t.tree.depth = make([]int32, n)
	roots := 0
	for u := range t.units {
		d, v := int32(0), t.units[u].parent
		level := int32(0)
		for ; v != NoUnit; v = t.units[v].parent {
			d++
			level++
			if level > maxDepth {
				b.problem(Fatal, ProblemCycle, t.units[u].name, "", spec.Switches[u].Line)
				return
			}
			if leaf[u] {
				t.units[v].level = max(t.units[v].level, level)
			}
		}
		t.tree.depth[u] = d
		if d == 0 {
			roots++
		}
		if leaf[u] {
			t.tree.leaves = append(t.tree.leaves, UnitID(u))
		} else if t.units[u].level == 0 {
			t.units[u].level = 1 // a switch whose children are all claimed by others
		}
		t.tree.order = append(t.tree.order, UnitID(u))
	}
	slices.SortStableFunc(t.tree.order, func(x, y UnitID) int { return int(t.tree.depth[x] - t.tree.depth[y]) })
	if roots > 1 {
		b.problem(Warning, ProblemUnconnected, "", "", b.spec.Line)
	}
}

// link derives the tables that need the leaves' nodes.
func (tr *tree) link(t *Topology) {
	n := len(t.units)
	count := make([]int32, n+1)
	for _, l := range tr.leaves {
		for u := l; u != NoUnit; u = t.units[u].parent {
			count[u+1]++
		}
	}
	for u := range n {
		count[u+1] += count[u]
	}
	tr.first = count
	tr.under = make([]UnitID, count[n])
	fill := slices.Clone(count)
	tr.leafAt = make([]int32, n)
	tr.groupOf = make([]int32, len(tr.leaves))
	for i, l := range tr.leaves {
		for u := l; u != NoUnit; u = t.units[u].parent {
			tr.under[fill[u]] = l
			fill[u]++
		}
		tr.leafAt[l] = int32(i)
		p := t.units[l].parent
		if g := len(tr.groups) - 1; g >= 0 && tr.groups[g].parent == p && p != NoUnit {
			tr.groups[g].hi++
		} else {
			tr.groups = append(tr.groups, leafGroup{lo: int32(i), hi: int32(i) + 1, parent: p})
		}
		tr.groupOf[i] = int32(len(tr.groups) - 1)
	}
	tr.rooted = make([][]int32, n)
	for g := range tr.groups {
		root := tr.leaves[tr.groups[g].lo]
		for t.units[root].parent != NoUnit {
			root = t.units[root].parent
		}
		tr.rooted[root] = append(tr.rooted[root], int32(g))
	}
}

// groupsOf returns the groups below root u.
func (tr *tree) groupsOf(u UnitID) []int32 { return tr.rooted[u] }

// leavesOf returns the leaves below switch u, in file order.
func (tr *tree) leavesOf(u UnitID) []UnitID { return tr.under[tr.first[u]:tr.first[u+1]] }
