package scheduler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// compile resolves a job's partitions and makes a class for each. On an error
// nothing is left behind.
func (e *engine) compile(s *JobSpec) (parts, classes []int32, err error) {
	fail := func(what string, err error) ([]int32, []int32, error) {
		e.dropUnused(classes)
		if s.ID == 0 {
			return nil, nil, fmt.Errorf("scheduler: compile job: %s%w", what, err)
		}
		return nil, nil, fmt.Errorf("scheduler: compile job %d: %s%w", s.ID, what, err)
	}
	if parts, err = e.partitionsOf(s); err != nil {
		return fail("", err)
	}
	list, err := e.nodeList("required nodes", s.NodeList)
	if err != nil {
		return fail("", err)
	}
	opts, err := e.options(s, list)
	if err != nil {
		return fail("", err)
	}
	asks, err := e.featureAsks(s)
	if err != nil {
		return fail("", err)
	}
	for i, p := range parts {
		id, err := e.compileIn(p, s, opts, list, &asks[i%len(asks)])
		if err != nil {
			return fail("partition "+e.parts[p].spec.Name+": ", err)
		}
		classes = append(classes, id)
	}
	return parts, classes, nil
}

// dropUnused frees classes that nothing refers to.
func (e *engine) dropUnused(ids []int32) {
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if e.classes.rows[id].refs == 0 {
			e.freeClass(id)
		}
	}
}

// partitionsOf resolves the partitions of a job, in Slurm's order: by tier,
// then as listed; each once a QOS that the job lists, and twice that if it
// prefers features.
func (e *engine) partitionsOf(s *JobSpec) ([]int32, error) {
	names := s.Partitions
	if len(names) == 0 {
		if e.defPart < 0 {
			return nil, fmt.Errorf("no partition given and none is the default: %w", ErrUnknownPartition)
		}
		names = []string{e.parts[e.defPart].spec.Name}
	}
	var parts []int32
	for _, n := range names {
		p, ok := e.partByKey[n]
		if !ok {
			return nil, fmt.Errorf("partition %q: %w", n, ErrUnknownPartition)
		}
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b int32) int { return int(e.parts[b].tier) - int(e.parts[a].tier) })
	parts = perQOS(parts, s)
	if s.Prefer != "" {
		parts = twice(parts)
	}
	return parts, nil
}

// options puts a job's resource options into the form that gres derives from.
func (e *engine) options(s *JobSpec, list *topology.NodeSet) (gres.Options, error) {
	o := gres.NewOptions()
	o.Tasks, o.CPUsPerTask = s.Tasks, s.CPUsPerTask
	o.MinNodes, o.MaxNodes = s.MinNodes, s.MaxNodes
	if o.MaxNodes == 0 && !s.NodesRange {
		o.MaxNodes = o.MinNodes
	}
	if n := len(s.NodeSizes); n > 0 {
		o.MinNodes, o.MaxNodes = s.NodeSizes[0], s.NodeSizes[n-1]
	}
	if list != nil {
		o.ListedNodes = int32(list.Count())
	}
	o.TasksPerNode, o.TasksPerSocket, o.TasksPerCore = s.TasksPerNode, s.TasksPerSocket, s.TasksPerCore
	o.ThreadsPerCore, o.SocketsPerNode, o.CoresPerSocket = s.ThreadsPerCore, s.SocketsPerNode, s.CoresPerSocket
	o.MinCPUs, o.Overcommit, o.TmpMiB = s.MinCPUs, s.Overcommit, s.TmpMiB
	o.Exclusive, o.Oversubscribe = s.Exclusive == ExclusiveNode, s.Oversubscribe
	o.TasksPerGPU, o.CPUsPerGPU = s.TasksPerGPU, s.CPUsPerGPU
	o.GPUFreq = s.GPUFreq != ""
	if s.CoreSpecSet {
		o.CoreSpec = s.CoreSpec
	} else if s.ThreadSpec > 0 {
		o.ThreadSpec = s.ThreadSpec
	}
	switch s.Mem {
	case MemPerNode:
		o.Mem = s.MemMiB
	case MemPerCPU:
		o.MemPerCPU = s.MemMiB
	case MemPerGPU:
		o.MemPerGPU = s.MemMiB
	case MemAll:
		o.Mem = 0
	}
	err := errors.Join(geometry(&o, s.ExtraNodeInfo), distribution(&o, s.Distribution), e.asks(&o, s))
	if err == nil && s.Hint != "" {
		o.Hint, err = gres.ParseHint(s.Hint)
	}
	if err == nil && s.GRESFlags != "" {
		o.Flags, err = gres.ParseGRESFlags(s.GRESFlags)
	}
	return o, err
}

// geometry reads -B sockets[:cores[:threads]]; a star is not set.
func geometry(o *gres.Options, text string) error {
	if text == "" {
		return nil
	}
	o.Geometry = true
	fields := strings.Split(text, ":")
	if len(fields) > 3 {
		return fmt.Errorf("-B %q: %w", text, ErrSpec)
	}
	for i, dst := range []*int32{&o.SocketsPerNode, &o.CoresPerSocket, &o.ThreadsPerCore}[:len(fields)] {
		if fields[i] == "*" {
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 31)
		if err != nil || n < 1 {
			return fmt.Errorf("-B %q: %w", text, ErrSpec)
		}
		*dst = int32(n)
	}
	return nil
}

// distribution reads what -m says about sockets and planes.
func distribution(o *gres.Options, text string) error {
	node, rest, _ := strings.Cut(strings.ToLower(text), ":")
	if p, ok := strings.CutPrefix(node, "plane="); ok {
		n, err := strconv.ParseInt(p, 10, 31)
		if err != nil || n < 1 {
			return fmt.Errorf("distribution %q: %w", text, ErrSpec)
		}
		o.PlaneSize = int32(n)
		o.Dist = gres.DistBlock
	}
	socket, _, _ := strings.Cut(rest, ":")
	switch socket {
	case "block":
		o.Dist = gres.DistBlock
	case "cyclic", "fcyclic":
		o.Dist = gres.DistCyclic
	}
	return nil
}

// asks reads every option that asks for devices.
func (e *engine) asks(o *gres.Options, s *JobSpec) error {
	var err error
	step := func(parse func([]gres.Ask, gres.Per, string, string) ([]gres.Ask, error), per gres.Per, option, text string) {
		if err == nil && text != "" {
			o.Asks, err = parse(o.Asks, per, option, text)
		}
	}
	step(gres.ParseAsks, gres.PerNode, "gres", s.GRES)
	step(gres.ParseGPUs, gres.PerJob, "gpus", s.GPUs)
	step(gres.ParseGPUs, gres.PerNode, "gpus-per-node", s.GPUsPerNode)
	step(gres.ParseGPUs, gres.PerSocket, "gpus-per-socket", s.GPUsPerSocket)
	step(gres.ParseGPUs, gres.PerTask, "gpus-per-task", s.GPUsPerTask)
	if err == nil && s.TRESPerTask != "" {
		o.Asks, o.TRESCPUs, err = gres.ParseTRESPerTask(o.Asks, s.TRESPerTask)
	}
	return err
}

// params are the settings of cluster and partition that derivation needs.
func (e *engine) params(p *partition) gres.Params {
	sel := &e.par.Select
	unit, noMem := sel.Unit, sel.NoMemory
	if p.spec.Unit != "" {
		unit, noMem = p.spec.Unit, p.spec.NoMemory
	}
	has := func(f string) bool { return slices.Contains(sel.Flags, f) }
	d, c := &p.spec.Defaults, &sel.Defaults
	g := gres.Params{
		ConsumeMem: !noMem, OneTaskPerCore: has("CR_ONE_TASK_PER_CORE"), DistBlock: has("CR_CORE_DEFAULT_DIST_BLOCK"),
		EnforceBinding: has("ENFORCE_BINDING_GRES"), OneTaskPerSharing: has("ONE_TASK_PER_SHARING_GRES"),
		MultipleSharing: has("MULTIPLE_SHARING_GRES_PJ"), LeastLoaded: has("LL_SHARED_GRES"), AllowSpec: sel.AllowSpecResources,
		DefCPUsPerGPU: d.DefCPUPerGPU,
		Partition:     gres.MemDefaults{PerCPU: d.DefMemPerCPU, PerNode: d.DefMemPerNode, PerGPU: d.DefMemPerGPU},
		Cluster:       gres.MemDefaults{PerCPU: c.DefMemPerCPU, PerNode: c.DefMemPerNode, PerGPU: c.DefMemPerGPU},
		WholeNodes:    p.spec.Exclusive == ExclusiveNode || p.spec.Oversubscribe == "EXCLUSIVE",
		Links:         gres.LinkBest, StrictSocketLimit: true, LooseGPUMem: e.cfg.Defects,
	}
	if g.DefCPUsPerGPU == 0 {
		g.DefCPUsPerGPU = c.DefCPUPerGPU
	}
	if e.cfg.Profile == ProfileSlurm {
		g.Links, g.StrictSocketLimit = gres.LinkCompat, false
	}
	switch strings.ToUpper(unit) {
	case "CR_CPU":
		g.Unit = gres.UnitCPU
	case "CR_SOCKET":
		g.Unit = gres.UnitSocket
	}
	return g
}

// compileIn makes the class of a job in one partition.
func (e *engine) compileIn(part int32, s *JobSpec, o gres.Options, list *topology.NodeSet, ask *featureAsk) (int32, error) {
	p := &e.parts[part]
	par := e.params(p)
	if err := ask.raise(&o); err != nil {
		return 0, err
	}
	r, err := gres.Derive(&o, &par, e.devices)
	if err != nil {
		return 0, err
	}
	if r.MinNodes < ask.picks() && !e.cfg.Defects {
		return 0, fmt.Errorf("features ask for %d nodes, %d tasks: %w", ask.picks(), r.Tasks, ErrNeverRuns)
	}
	e.capNodes(&r, &p.spec)
	r, inLimit := r.LimitMemory(e.memLimits(p))
	r.MilliCPU = s.CPUMilli
	if s.GPUMilli > 0 && s.GPUMilli < 1000 {
		for i := range r.Needs[:r.NumNeeds] {
			if n := &r.Needs[i]; n.Name == gres.NameGPU {
				n.Milli = s.GPUMilli
			}
		}
	}
	e.ownDevices(&r, s)
	if p.sharesIn(s) {
		r.Flags |= gres.SharesCores
	}
	key := classKey{part: part, req: r, fit: fitKey{
		min: r.MinNodes, max: r.MaxNodes, list: s.NodeList, exclude: s.Exclude, feature: ask.text, contiguous: s.Contiguous,
		preferred: ask.preferred, spread: s.Spread, segment: s.Segment, spreadSeg: s.SpreadSegments, consolidate: s.ConsolidateSegments, switches: s.Switches,
		switchWait: s.SwitchWait, arbitrary: strings.HasPrefix(strings.ToLower(s.Distribution), "arbitrary"), unitsAlone: exclusiveTopo(s, p),
	}}
	key.fit.want = max(r.MaxNodes, r.MinNodes)
	if s.UseMinNodes || r.MaxNodes == 0 || r.Has(gres.ImpliedMaxNodes) {
		key.fit.want = r.MinNodes
	}
	for _, n := range e.sizes(s, &r) {
		if n < ask.picks() {
			continue
		}
		key.fit.sizes = string(binary.LittleEndian.AppendUint32([]byte(key.fit.sizes), uint32(n)))
	}
	levels, err := e.levelsOf(s, p)
	if err != nil {
		return 0, err
	}
	key.fit.levels = levels.key()
	nodes, all, err := e.nodesOf(p, s, ask.wish)
	if err != nil {
		return 0, err
	}
	if list != nil && list.Count() <= int(r.MinNodes) && nodes != nil && s.Exclude != "" && !nodes.Contains(list) && e.excludes(s, list) {
		return 0, fmt.Errorf("a required node is excluded: %w", ErrUnknownNode)
	}
	return e.internClass(&key, func(c *class) {
		c.overMem = !inLimit
		if ask.wish != nil && !ask.wish.plain() {
			c.wish = ask.wish
		}
		e.buildClass(c, p, nodes, all, list, s)
		e.classLevels(c, levels)
	}), nil
}

// excludes reports whether the job's excluded nodes meet list.
func (e *engine) excludes(s *JobSpec, list *topology.NodeSet) bool {
	x, err := e.nodeList("excluded nodes", s.Exclude)
	return err == nil && x != nil && x.Intersects(list)
}

// sizes are the node counts that will do: those listed, or with
// TopoMaxSizeUnroll on a block topology those of a range (spec: topology 1.5).
func (e *engine) sizes(s *JobSpec, r *gres.Request) []int32 {
	if len(s.NodeSizes) > 0 || e.unroll == 0 || s.MaxNodes <= s.MinNodes || r.MaxNodes-r.MinNodes >= e.unroll {
		return s.NodeSizes
	}
	var all []int32
	for n := r.MinNodes; n <= r.MaxNodes; n++ {
		all = append(all, n)
	}
	return all
}

// memLimits are the memory limits of a partition, and what they are measured
// against (spec: cores 5.3).
func (e *engine) memLimits(p *partition) (gres.MemLimits, gres.MemFacts) {
	l := gres.MemLimits{PerCPU: p.spec.Defaults.MaxMemPerCPU, PerNode: p.spec.Defaults.MaxMemPerNode}
	if l.PerCPU == 0 && l.PerNode == 0 {
		c := &e.par.Select.Defaults
		l = gres.MemLimits{PerCPU: c.MaxMemPerCPU, PerNode: c.MaxMemPerNode}
	}
	if l.PerCPU == 0 && l.PerNode == 0 {
		return l, gres.MemFacts{}
	}
	f := gres.MemFacts{DefPerNode: p.spec.Defaults.DefMemPerNode}
	if f.DefPerNode == 0 {
		f.DefPerNode = e.par.Select.Defaults.DefMemPerNode
	}
	if n := p.nodes.First(); n != topology.NoNode {
		f.FirstNodeMiB = e.pool.Shape(int32(n)).MemMiB()
	}
	for n := range p.nodes.All() {
		f.MaxCPUs = max(f.MaxCPUs, int32(e.pool.Shape(int32(n)).CPUs()))
	}
	return l, f
}

// nodesOf returns the nodes of the partition that features and lists leave.
func (e *engine) nodesOf(p *partition, s *JobSpec, wish *featureWish) (nodes *topology.NodeSet, all bool, err error) {
	exclude, err := e.nodeList("excluded nodes", s.Exclude)
	if err != nil {
		return nil, false, err
	}
	if exclude == nil && wish == nil && s.TmpMiB == 0 {
		return nil, true, nil
	}
	nodes = p.nodes.Clone()
	if s.TmpMiB > 0 {
		for n := range p.nodes.All() {
			if e.cfg.Nodes[e.nodes[n].spec].TmpMiB < s.TmpMiB {
				nodes.Remove(n)
			}
		}
		if nodes.Empty() {
			return nil, false, fmt.Errorf("temporary disk specification can not be satisfied: %w", ErrNeverRuns)
		}
	}
	if exclude != nil {
		nodes.AndNot(exclude)
	}
	if wish != nil {
		nodes.And(&wish.nodes)
	}
	return nodes, false, nil
}

// buildClass fills in what follows from the key.
func (e *engine) buildClass(c *class, p *partition, nodes *topology.NodeSet, all bool, list *topology.NodeSet, s *JobSpec) {
	r := &c.req
	c.nodes, c.all, c.list = nodes, all, list
	if all {
		c.nodes = p.nodes.Clone()
	}
	r.MinNodes, r.MaxNodes = r.NodeRange()
	c.min, c.max = r.MinNodes, r.MaxNodes
	c.partNodes = p.nodes.Count()
	c.wantsGPU = r.WantsGPU()
	c.unitsAlone = c.key.fit.unitsAlone
	c.shares = r.Has(gres.SharesCores)
	c.firstPass = gres.PassAny
	if r.NumNeeds > 0 {
		c.firstPass = gres.PassNear
	}
	k := &c.key.fit
	kind := e.topos[p.topo].fitter.Kind()
	c.one = c.max == 1 && c.min == 1 && (c.wish == nil || len(c.wish.terms) == 0) && k.sizes == "" && kind != topology.KindTorus3D
	f := &c.fit
	f.Min, f.Want, f.Max = k.min, k.want, k.max
	f.SizeFloor = p.spec.MinNodes
	for b := []byte(k.sizes); len(b) > 0; b = b[4:] {
		f.Sizes = append(f.Sizes, int32(binary.LittleEndian.Uint32(b)))
	}
	f.Tasks, f.TasksPerNode, f.TaskCPUs = r.Tasks, r.TasksPerNode, r.CPUsPerTask
	f.MinCPUs, f.MaxCPUs, f.NodeCPUs = int64(r.MinCPUs), int64(r.MaxCPUs), r.NodeCPUs
	f.WholeNode = r.Has(gres.WholeNode)
	f.Contiguous, f.Spread, f.Arbitrary = k.contiguous, k.spread, k.arbitrary
	f.LLN = p.spec.LLN || slices.Contains(e.par.Select.Flags, "CR_LLN")
	f.BusyFirst, f.SerialAtEnd = e.par.Plan.BusyNodes, e.par.Select.PackSerialAtEnd
	f.Segment, f.SpreadSegments, f.Consolidate = k.segment, k.spreadSeg, k.consolidate
	f.Switches, f.SwitchWait = k.switches, k.switchWait
	var taking gres.Taking
	taking.Start(r)
	f.BudgetCPUs = int64(taking.Budget)
	for i := range r.Needs[:r.NumNeeds] {
		f.GPUs += r.Needs[i].PerJob
	}
	if f.LLN {
		f.TotalCPUs = e.totalCPUs
	}
	e.buildTaking(c, p, kind)
	e.askedTRES(c)
}

// buildTaking decides how the nodes of a class are evaluated: which must be
// looked at as they are taken.
func (e *engine) buildTaking(c *class, p *partition, kind topology.Kind) {
	r, k, f := &c.req, &c.key.fit, &c.fit
	c.parted = k.segment > 0 && k.segment < c.min && kind >= topology.KindBlock
	walks := kind < topology.KindBlock // node by node, in runs or below switches
	c.follow = r.NumNeeds > 0 && !(walks && f.Spread)
	c.inTurn = c.follow && walks && f.LLN && (!f.BusyFirst || f.Contiguous)
	if c.list != nil {
		list := c.list.Clone()
		if ids := list.AppendIDs(nil); k.contiguous && len(ids) > 0 {
			list.AddRange(ids[0], ids[len(ids)-1]+1)
		}
		switch {
		case c.one:
			// A list is a filter, as long as it is.
			c.nodes, c.all = c.nodes.Clone(), false
			c.nodes.And(list)
		case r.NumNeeds > 0 && k.sizes == "" && !c.parted && (walks || kind == topology.KindBlock) && list.Count() <= int(c.min):
			c.required = list
		}
	}
	for n := range p.nodes.All() {
		v := r.ReserveCPUs(e.pool.Shape(int32(n)))
		if f.ReserveCPUs > 0 && v != f.ReserveCPUs && !f.Spread {
			c.follow = true
		}
		f.ReserveCPUs = max(f.ReserveCPUs, v)
	}
}

// askedTRES counts what a class asks at least, for priority.
func (e *engine) askedTRES(c *class) {
	c.tres = make([]int64, e.schema.Len())
	r := &c.req
	c.tres[gres.CPU] = int64(r.MinCPUs)
	nodes := int64(c.key.req.MinNodes)
	c.tres[gres.Node] = nodes
	switch r.Mem {
	case gres.MemPerNode:
		c.tres[gres.Mem] = r.MemMiB * nodes
	case gres.MemPerCPU:
		c.tres[gres.Mem] = r.MemMiB * int64(r.MinCPUs)
	case gres.MemAll:
		// All memory of a node counts as that of the partition's first one.
		if p := &e.parts[c.key.part]; e.params(p).ConsumeMem && p.nodes.First() != topology.NoNode {
			c.tres[gres.Mem] = e.pool.Shape(int32(p.nodes.First())).MemMiB() * nodes
		}
	}
	for i := range r.Needs[:r.NumNeeds] {
		n := &r.Needs[i]
		count := max(n.PerJob, n.PerNode*nodes, n.PerTask*int64(r.Tasks))
		name := "gres/" + e.devices.Name(n.Name)
		if k, ok := e.schema.Kind(name); ok {
			c.tres[k] += count
		}
		if n.Type != 0 && n.Type != gres.NoType {
			if k, ok := e.schema.Kind(name + ":" + e.devices.Type(n.Type)); ok {
				c.tres[k] += count
			}
		}
	}
}
