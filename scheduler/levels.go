package scheduler

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A levelFit is what a class asks of a levelled topology (spec: topology 3).
// Members are nodes where the job says how many nodes it wants, else tasks.
type levelFit struct {
	req      topology.LevelRequest // without columns
	taskCPUs int32                 // of a member that is a task; 0: members are nodes
	taskGPUs int32
	perNode  int32 // the most tasks of a node; 0 any
	alone    int   // level of whose domains the job wants its own
}

// buildLevels makes the levels of s.
func (e *engine) buildLevels(s *TopologySpec) (*topology.Levels, error) {
	labels := make([][]string, len(s.Levels))
	for l := range labels {
		labels[l] = make([]string, len(e.nodes))
	}
	for i := range s.Domains {
		d := &s.Domains[i]
		if len(d.Values) != len(s.Levels) {
			return nil, fmt.Errorf("domain %q of nodes %s: %d values for %d levels: %w", strings.Join(d.Values, "/"), d.Nodes, len(d.Values), len(s.Levels), ErrSpec)
		}
		set, err := e.nodeList("nodes of a domain", d.Nodes)
		if err != nil {
			return nil, err
		}
		if set == nil {
			continue
		}
		for n := range set.All() {
			if labels[0][n] != "" {
				return nil, fmt.Errorf("node %s is in two domains: %w", e.names.Name(n), ErrSpec)
			}
			for l, v := range d.Values {
				labels[l][n] = v
			}
		}
	}
	lv, err := topology.NewLevels(s.Levels, labels, len(e.nodes))
	if err != nil {
		return nil, err
	}
	return lv, nil
}

// levelsOf reads what a job asks of the levels of its partition's topology; nil
// if it asks nothing.
func (e *engine) levelsOf(s *JobSpec, p *partition) (*levelFit, error) {
	if len(s.Levels) == 0 {
		return nil, nil
	}
	t := &e.topos[p.topo]
	if t.levels == nil {
		return nil, fmt.Errorf("levels: topology %q has none: %w", t.name, ErrSpec)
	}
	if s.NodeList != "" || s.Segment > 0 || s.Switches > 0 || s.Contiguous || s.Spread || len(s.NodeSizes) > 0 {
		return nil, fmt.Errorf("levels do not go with node lists and sizes, segments, switches, contiguous or spread nodes: %w", ErrSpec)
	}
	f := &levelFit{alone: topology.NoLevel}
	f.req.Must, f.req.Want, f.req.Exclusive = topology.NoLevel, topology.NoLevel, topology.NoLevel
	f.req.Fill, f.req.Balanced = t.fill, t.balanced
	for i := range s.Levels {
		w := &s.Levels[i]
		l, ok := t.levels.FindLevel(w.Level)
		switch {
		case !ok:
			return nil, fmt.Errorf("level %q: not one of topology %q: %w", w.Level, t.name, ErrSpec)
		case w.Slice > 0:
			f.req.Slices = append(f.req.Slices, topology.Slice{Level: l, Size: w.Slice})
		case w.Slice < 0:
			return nil, fmt.Errorf("level %q: slice of %d: %w", w.Level, w.Slice, ErrSpec)
		case w.Required && f.req.Must == topology.NoLevel:
			f.req.Must = l
		case !w.Required && f.req.Want == topology.NoLevel:
			f.req.Want = l
		default:
			return nil, fmt.Errorf("level %q: a second level for all members: %w", w.Level, ErrSpec)
		}
	}
	if f.req.Want != topology.NoLevel && f.req.Want < f.req.Must {
		return nil, fmt.Errorf("levels: the preferred one is wider than the required one: %w", ErrSpec)
	}
	if f.alone = max(f.req.Must, f.req.Want); f.alone == topology.NoLevel && len(f.req.Slices) > 0 {
		f.alone = f.req.Slices[0].Level
	}
	return f, f.members(s)
}

// members says whether tasks or nodes are placed, and checks the slices.
func (f *levelFit) members(s *JobSpec) error {
	if s.MinNodes == 0 && s.Tasks > 0 {
		f.taskCPUs, f.perNode = max(s.CPUsPerTask, 1), s.TasksPerNode
		f.req.Count = s.Tasks
	} else {
		f.req.Count = max(s.MinNodes, 1)
	}
	if s.Overcommit && f.taskCPUs > 0 && (s.GPUsPerTask != "" || s.TRESPerTask != "") {
		return fmt.Errorf("levels: tasks that share CPUs, with devices of their own: %w", ErrSpec)
	}
	if s.MaxNodes > s.MinNodes && s.MinNodes > 0 {
		return fmt.Errorf("levels: a range of nodes %d-%d: %w", s.MinNodes, s.MaxNodes, ErrSpec)
	}
	size, level := f.req.Count, f.req.Must
	for _, x := range f.req.Slices {
		if len(f.req.Slices) > topology.MaxSlices || size%x.Size != 0 || x.Level < max(level, f.req.Want) {
			return fmt.Errorf("levels: slices of %d do not divide %d members at ever lower levels: %w", x.Size, size, ErrSpec)
		}
		size, level = x.Size, x.Level+1
	}
	return nil
}

// key is the text by which classes of equal wishes are found.
func (f *levelFit) key() string {
	if f == nil {
		return ""
	}
	r := &f.req
	return fmt.Sprint(r.Count, r.Must, r.Want, r.Slices, f.taskCPUs, f.perNode)
}

// fitTopology asks the topology of the class's partition for nodes of the
// request in the scratch.
func (e *engine) fitTopology(c *class) bool {
	s := &e.try
	t := &e.topos[e.parts[c.key.part].topo]
	if c.levels == nil {
		return t.fitter.Fit(&s.topo, &s.req, &s.res)
	}
	s.res.Relaxed = false
	if s.req.RelaxedCPUs != nil {
		if e.fitLevels(c.levels, t.levels, &s.near) {
			return true
		}
		s.res.Relaxed = true
	}
	return e.fitLevels(c.levels, t.levels, &s.cols)
}

// on is how many members a node takes that could give CPUs and devices.
func (f *levelFit) on(cpus, devices int32) int32 {
	if cpus <= 0 || f.taskCPUs == 0 {
		return min(cpus, 1)
	}
	k := cpus / f.taskCPUs
	if f.taskGPUs > 0 {
		k = min(k, devices/f.taskGPUs)
	}
	if f.perNode > 0 {
		k = min(k, f.perNode)
	}
	return k
}

// each is how many members every eligible node takes by cols, 0 if they differ or
// it is not known.
func (s *scratch) each(f *levelFit, cols *gres.Columns) int32 {
	switch {
	case s.req.RelaxedCPUs != nil: // some fit in the other pass alone
		return 0
	case f.taskCPUs == 0:
		return 1
	case cols.MostCPUs != cols.LeastCPUs, f.taskGPUs > 0 && cols.MostDevices != cols.LeastDevices:
		return 0
	}
	return f.on(cols.MostCPUs, cols.MostDevices)
}

// fitLevels asks the levels, with what nodes take by cols as one number where all
// take the same, else as a column.
func (e *engine) fitLevels(f *levelFit, lv *topology.Levels, cols *gres.Columns) bool {
	s, r := &e.try, &e.try.levelReq
	*r = f.req
	r.Eligible = s.req.Eligible
	if r.Each = s.each(f, cols); r.Each <= 0 {
		s.members = s.members[:0]
		for range e.nodes {
			s.members = append(s.members, 0)
		}
		for n := range s.req.Eligible.All() {
			s.members[n] = f.on(cols.CPUs[n], cols.Devices[n])
		}
		r.Capacity = s.members
	}
	res := &s.levelRes
	if !lv.Fit(&s.levels, r, res) {
		s.res.Refusal = topology.Refusal{Rule: res.Rule, Unit: topology.NoUnit, Lack: topology.LackNodes, Need: int64(res.Need), Have: int64(res.Have)}
		return false
	}
	if s.res.Set.Len() == len(e.nodes) { // the fitters clear it by what Nodes names
		for _, n := range s.res.Nodes {
			s.res.Set.Remove(n)
		}
		for _, n := range res.Nodes {
			s.res.Set.Add(n)
		}
	}
	s.res.Nodes = append(s.res.Nodes[:0], res.Nodes...)
	s.res.Order = append(s.res.Order[:0], res.Nodes...)
	s.res.Part, s.res.Units, s.res.Refusal = s.res.Part[:0], s.res.Units[:0], topology.Refusal{}
	return true
}

// shareMembers gives each chosen node the CPUs and devices of its members.
func (e *engine) shareMembers(c *class) {
	s := &e.try
	for i := range s.chosen {
		x := &s.chosen[i]
		k := s.levelRes.Members[i]
		x.CPUs = k * c.levels.taskCPUs
		for n := range c.req.Needs[:c.req.NumNeeds] {
			if per := c.req.Needs[n].PerTask; per > 0 {
				x.Devices[n] = uint16(min(int64(k)*per, 1<<16-1))
			}
		}
	}
}

// addDomains adds to dst the domains, at the level at which class c wants its
// own, of the nodes of set.
func (t *topo) addDomains(dst, set *topology.NodeSet, f *levelFit) {
	if f.alone == topology.NoLevel {
		dst.Or(set)
		return
	}
	last := int32(-1)
	for n := range set.All() {
		if d := t.levels.DomainOf(f.alone, n); d >= 0 && d != last {
			t.levels.AddDomain(dst, f.alone, d)
			last = d
		}
	}
}

// classLevels gives class c its wishes about levels.
func (e *engine) classLevels(c *class, f *levelFit) {
	if f == nil {
		return
	}
	for i := range c.req.Needs[:c.req.NumNeeds] {
		if n := &c.req.Needs[i]; n.Name == gres.NameGPU && n.PerTask > 0 {
			f.taskGPUs = int32(n.PerTask)
		}
	}
	c.levels = f
	c.one, c.follow = false, false
}

// addBlocked puts into dst the nodes that a running job of class c, which wants
// its units to itself, keeps from others while it runs on set.
func (e *engine) addBlocked(dst *topology.NodeSet, c *class, set *topology.NodeSet) {
	t := &e.topos[e.parts[c.key.part].topo]
	if c.levels != nil {
		t.addDomains(dst, set, c.levels)
		return
	}
	e.topologies.AddBlocked(dst, t.top, set, e.fitProfile())
}

// addForbidden puts into dst the nodes that class c, which wants its units to
// itself, may not use because busy ones share a unit with them.
func (e *engine) addForbidden(dst *topology.NodeSet, c *class, busy *topology.NodeSet) {
	t := &e.topos[e.parts[c.key.part].topo]
	if c.levels != nil {
		t.addDomains(dst, busy, c.levels)
		return
	}
	e.topologies.AddForbidden(dst, t.top, busy, e.fitProfile())
}

// levelFill reads the words of a topology's parameters that say how domains
// are filled.
func levelFill(parameters string) (fill topology.Fill, balanced bool) {
	for word := range strings.SplitSeq(strings.ToLower(parameters), ",") {
		switch word {
		case "leastfree":
			fill = topology.FillLeastFree
		case "bestfit":
			fill = topology.FillBestFit
		case "mostfree":
			fill = topology.FillMostFree
		case "balanced":
			balanced = true
		}
	}
	return fill, balanced
}

// topologyBlock says what the last try of class c failed on.
func (e *engine) topologyBlock(c *class) *TopologyBlock {
	r := &e.try.refusal
	t := &e.topos[e.parts[c.key.part].topo]
	b := &TopologyBlock{Rule: r.Rule.String(), Need: r.Need, Have: r.Have, Lack: r.Lack.String()}
	switch res := &e.try.levelRes; {
	case c.levels != nil:
		b.Lack = "nodes"
		if c.levels.taskCPUs > 0 {
			b.Lack = "tasks"
		}
		if len(c.levels.req.Slices) > 0 {
			b.Lack = "slices"
		}
		if res.NearLevel != topology.NoLevel && res.NearLevel < t.levels.Len()-1 {
			b.Unit = t.levels.LevelName(res.NearLevel) + " " + t.levels.Domain(res.NearLevel, res.NearDomain)
		}
	case r.Unit != topology.NoUnit:
		b.Unit = t.top.Unit(r.Unit).Name
	}
	return b
}
