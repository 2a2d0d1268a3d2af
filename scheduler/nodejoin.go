package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// What a caller of Apply branches on about nodes that join and leave.
var (
	// ErrNodeRoom: MaxNodes leaves no room for another node.
	ErrNodeRoom = errors.New("no room for another node")
	// ErrNodeBusy: the node cannot leave yet.
	ErrNodeBusy = errors.New("node cannot be removed")
)

// addNodes lets nodes join: each takes the lowest free place, and joins the
// partitions whose node sets have its features or its name. It costs as much as
// a snapshot and a restore.
func (e *engine) addNodes(now Time, ev *Event) error {
	bad := func(err error) error { return fmt.Errorf("scheduler: apply %s: %w", ev.Kind, err) }
	if ev.Node == nil {
		return bad(fmt.Errorf("no node given: %w", ErrSpec))
	}
	names, err := topology.ParseHostlist(ev.Node.Names)
	if err != nil || len(names) == 0 {
		return bad(errors.Join(fmt.Errorf("names %q: %w", ev.Node.Names, ErrSpec), err))
	}
	cfg := cloneConfig(&e.cfg)
	place := 0
	for _, name := range names {
		if _, ok := e.names.ID(name); ok {
			return bad(fmt.Errorf("node %q is there already: %w", name, ErrSpec))
		}
		for place < len(e.nodes) && e.there.Has(topology.NodeID(place)) {
			place++
		}
		if place == len(e.nodes) {
			return bad(fmt.Errorf("node %q: there is room for %d nodes (MaxNodes): %w", name, len(e.nodes), ErrNodeRoom))
		}
		spec := cloneNode(ev.Node)
		spec.Names = name
		place++
		spec.Slot = int32(place)
		cfg.Nodes = append(cfg.Nodes, spec)
	}
	if err := e.remake(now, cfg); err != nil {
		return bad(err)
	}
	return nil
}

// removeNodes takes nodes away that joined at run time. Nodes that jobs or
// reservations hold, or that waiting jobs name, stay.
func (e *engine) removeNodes(now Time, ev *Event) error {
	bad := func(err error) error { return fmt.Errorf("scheduler: apply %s: %w", ev.Kind, err) }
	gone, err := e.nodeList("nodes to remove", ev.Nodes)
	switch {
	case err != nil:
		return bad(err)
	case gone == nil:
		return bad(fmt.Errorf("no nodes given: %w", ErrSpec))
	}
	for id := range gone.All() {
		why := ""
		switch n := &e.nodes[id]; {
		case e.cfg.Nodes[n.spec].Slot == 0:
			why = "it belongs to the configuration"
		case len(n.jobs) > 0:
			why = "jobs run on it"
		case slices.ContainsFunc(e.resv.all, func(x reservation) bool { return !x.follows() && x.nodes.Has(id) }):
			why = "it is reserved"
		}
		if why != "" {
			return bad(fmt.Errorf("node %q: %s: %w", e.names.Name(id), why, ErrNodeBusy))
		}
	}
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.id == 0 || j.state.Ended() {
			continue
		}
		for _, hosts := range []string{j.spec.NodeList, j.spec.Exclude} {
			if set, err := e.nodeList("nodes of a job", hosts); err == nil && set != nil && set.Intersects(gone) {
				return bad(fmt.Errorf("job %d names nodes of %s: %w", j.id, ev.Nodes, ErrNodeBusy))
			}
		}
	}
	cfg := cloneConfig(&e.cfg)
	cfg.Nodes = slices.DeleteFunc(cfg.Nodes, func(s NodeSpec) bool { return s.Slot > 0 && gone.Has(topology.NodeID(s.Slot-1)) })
	if err := e.remake(now, cfg); err != nil {
		return bad(err)
	}
	return nil
}

// remake makes the scheduler of another configuration of nodes with the same
// books. Nodes keep their places. On an error nothing has changed.
func (e *engine) remake(now Time, cfg Config) error {
	f, err := newEngine(cfg, e.reg)
	if err != nil {
		return err
	}
	if e.acct != nil && !slices.Equal(e.kindNames(), f.kindNames()) {
		return fmt.Errorf("generic resources that neither GresTypes nor another node names: %w", ErrUnsupported)
	}
	e.dropPlansBeside(&f.there)
	var w codec
	e.visitState(&w)
	fresh := slices.Clone(f.nodes)
	r := codec{buf: w.buf, reading: true}
	f.visitState(&r)
	if r.err != nil {
		return r.err
	}
	for id := range f.there.All() {
		if !e.there.Has(id) {
			f.nodes[id].state, f.nodes[id].reason = fresh[id].state, fresh[id].reason
			f.setAvailable(id)
		}
	}
	f.pool.Forget()
	f.growReservations()
	*e = *f
	e.plans.seen.valid = false
	e.freed++
	e.rerank(now)
	return nil
}

// growReservations makes reservations of all nodes follow the nodes.
func (e *engine) growReservations() {
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if !x.follows() {
			continue
		}
		x.nodes.Copy(&e.there)
		if p, ok := e.partByKey[x.spec.Partition]; ok {
			x.nodes.Copy(&e.parts[p].nodes)
		}
	}
}

// kindNames lists what is counted.
func (e *engine) kindNames() []string {
	var out []string
	for k := range e.schema.Len() {
		out = append(out, e.schema.Name(gres.Kind(k)))
	}
	return out
}

// visitTypes visits the names of device types, by which the numbers in grants
// are told: those of a restored scheduler may differ.
func (e *engine) visitTypes(c *codec) {
	var names []string
	if !c.reading {
		for t := range e.devices.NumTypes() {
			names = append(names, e.devices.Type(gres.TypeID(t+1)))
		}
	}
	strs(c, &names)
	if !c.reading {
		return
	}
	e.types = append(e.types[:0], 0)
	for _, n := range names {
		t, ok := e.devices.TypeID(n)
		if !ok {
			t = gres.NoType
		}
		e.types = append(e.types, t)
	}
}

// retype gives the types of a grant that was read their numbers here.
func (e *engine) retype(c *codec, g *gres.Grant) {
	for i := range g.Devices {
		d := &g.Devices[i]
		if int(d.Type) >= len(e.types) || e.types[d.Type] == gres.NoType {
			c.fail("device type")
			return
		}
		d.Type = e.types[d.Type]
	}
}

// cloneNode copies s so that nothing is shared.
func cloneNode(s *NodeSpec) NodeSpec {
	var w codec
	visitNodeSpec(&w, s)
	var out NodeSpec
	visitNodeSpec(&codec{buf: w.buf, reading: true}, &out)
	return out
}
