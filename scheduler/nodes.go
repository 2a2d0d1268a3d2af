package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// buildNodes makes the node table, shapes and the pool from cfg.Nodes.
func (e *engine) buildNodes() error {
	type named struct {
		name string
		spec int32
	}
	var all, joined []named
	var errs []error
	for i := range e.cfg.Nodes {
		hosts, err := topology.ParseHostlist(e.cfg.Nodes[i].Names)
		if err != nil {
			errs = append(errs, fmt.Errorf("scheduler: read nodes: %w", err))
			continue
		}
		for _, h := range hosts {
			if n := (named{h, int32(i)}); e.cfg.Nodes[i].Slot > 0 {
				joined = append(joined, n)
			} else {
				all = append(all, n)
			}
		}
	}
	slices.SortFunc(all, func(a, b named) int { return topology.CompareHosts(a.name, b.name) })
	places := max(len(all), int(e.cfg.MaxNodes))
	names := make([]string, places)
	e.nodes = make([]node, places)
	e.there.Init(places)
	for i := range e.nodes {
		e.nodes[i].spec = -1
	}
	put := func(i int, n named) {
		names[i] = n.name
		s := &e.cfg.Nodes[n.spec]
		e.nodes[i] = node{spec: n.spec, state: s.State, reason: s.Reason}
		if s.State == NodeUnchanged {
			e.nodes[i].state = NodeUp
		}
		e.there.Add(topology.NodeID(i))
	}
	for i, n := range all {
		put(i, n)
	}
	for _, n := range joined {
		i := int(e.cfg.Nodes[n.spec].Slot) - 1
		if i >= places || e.nodes[i].spec >= 0 {
			errs = append(errs, fmt.Errorf("scheduler: read node %s: slot %d: %w", n.name, i+1, ErrSpec))
			continue
		}
		put(i, n)
	}
	table, err := topology.NewPlaces(names)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("scheduler: read nodes: %w", err))...)
	}
	e.names = table
	e.devices = gres.NewDeviceTable()
	e.pool = gres.NewPool(places)
	e.up.Init(places)
	shapes := make([]gres.ShapeID, len(e.cfg.Nodes))
	drain := make([]string, len(e.cfg.Nodes))
	for i := range e.cfg.Nodes {
		s, why, err := e.buildShape(&e.cfg.Nodes[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		shapes[i], drain[i] = e.pool.AddShape(s), why
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// Room for the first few jobs of each node, so that a pass need not grow it.
	const room = 8
	arena := make([]int32, room*len(e.nodes))
	for i := range e.nodes {
		n := &e.nodes[i]
		n.jobs = arena[i*room : i*room : (i+1)*room]
		if n.spec < 0 {
			continue
		}
		e.pool.SetNode(int32(i), shapes[n.spec])
		if why := drain[n.spec]; why != "" && n.state == NodeUp {
			n.state, n.reason = NodeDrain, why
		}
		e.setAvailable(topology.NodeID(i))
	}
	e.pool.Forget()
	return nil
}

// placed reports whether id is the number of a node that is there.
func (e *engine) placed(id topology.NodeID) bool {
	return id >= 0 && int(id) < len(e.nodes) && e.there.Has(id)
}

// setAvailable makes the pool and the up set follow the node's state.
func (e *engine) setAvailable(id topology.NodeID) {
	on := e.nodes[id].state == NodeUp && e.nodes[id].spec >= 0
	if on {
		e.up.Add(id)
	} else {
		e.up.Remove(id)
	}
	e.pool.SetAvailable(int32(id), on)
}

// appendNodes appends the nodes of a hostlist; what says where it stands.
func (e *engine) appendNodes(dst []topology.NodeID, what, hosts string) ([]topology.NodeID, error) {
	dst, err := e.names.AppendIDs(dst, hosts)
	if errors.Is(err, topology.ErrUnknownNode) {
		return dst, fmt.Errorf("scheduler: read %s: %w: %w", what, ErrUnknownNode, err)
	}
	if err != nil {
		return dst, fmt.Errorf("scheduler: read %s: %w", what, err)
	}
	return dst, nil
}

// buildParts makes the partitions and topologies.
func (e *engine) buildParts() error {
	if err := e.buildTopologies(); err != nil {
		return err
	}
	specs := e.cfg.Partitions
	if len(specs) == 0 {
		specs = []PartitionSpec{{Name: "default", Nodes: "ALL", Default: true}}
	}
	e.partByKey = make(map[string]int32)
	e.defPart = -1
	for i := range specs {
		if err := e.addPartition(&specs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) addPartition(s *PartitionSpec) error {
	var p partition
	p.setSpec(s)
	p.nodes.Init(len(e.nodes))
	if err := e.nodesNamed(&p.nodes, "partition "+s.Name, s.Nodes); err != nil {
		return err
	}
	p.topo = -1
	for i := range e.topos {
		if e.topos[i].name == s.Topology || s.Topology == "" {
			p.topo = int32(i)
			break
		}
	}
	if p.topo < 0 {
		return fmt.Errorf("scheduler: read partition %s: topology %q: %w", s.Name, s.Topology, ErrSpec)
	}
	for id := range p.nodes.All() {
		// Specialised cores count too.
		sh := e.pool.Shape(int32(id))
		p.cpus += max(int64(sh.Cores()*sh.Threads()), sh.MilliCPU()/1000)
	}
	e.addViews(&p)
	if s.Default || len(e.cfg.Partitions) == 1 {
		e.defPart = int32(len(e.parts))
	}
	e.partByKey[s.Name] = int32(len(e.parts))
	e.parts = append(e.parts, p)
	return nil
}

// setSpec makes p follow s; its nodes and topology stay.
func (p *partition) setSpec(s *PartitionSpec) {
	p.spec, p.tier, p.factor = *s, 1, 1
	p.rows, p.askShare, _ = readShare(s.Oversubscribe)
	if s.Tier != nil {
		p.tier = *s.Tier
	}
	if s.JobFactor != nil {
		p.factor = uint32(*s.JobFactor)
	}
}

// addViews gives the pool a view for each weight among the partition's nodes.
func (e *engine) addViews(p *partition) {
	var weights []uint32
	for n := range p.nodes.All() {
		weights = append(weights, e.weightOf(n))
	}
	slices.Sort(weights)
	var set topology.NodeSet
	set.Init(len(e.nodes))
	for _, w := range slices.Compact(weights) {
		set.Clear()
		for n := range p.nodes.All() {
			if e.weightOf(n) == w {
				set.Add(n)
			}
		}
		p.views = append(p.views, e.pool.AddView(set.Words()))
	}
}
