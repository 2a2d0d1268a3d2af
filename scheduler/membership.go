package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// withMembers returns the configured topologies as the nodes' own memberships
// change them: a node that says where it belongs is there and nowhere else
// (spec: topology 1.6).
func (e *engine) withMembers(specs []TopologySpec) ([]TopologySpec, error) {
	own := map[string]bool{} // nodes with memberships; looked up, never ranged over
	for i := range e.cfg.Nodes {
		if e.cfg.Nodes[i].Topology == "" {
			continue
		}
		hosts, err := topology.ParseHostlist(e.cfg.Nodes[i].Names)
		if err != nil {
			return nil, fmt.Errorf("scheduler: read nodes: %w", err)
		}
		for _, h := range hosts {
			own[h] = true
		}
	}
	if len(own) == 0 {
		return specs, nil
	}
	out := make([]TopologySpec, len(specs))
	for i := range specs {
		var w codec
		visitTopologySpec(&w, &specs[i])
		visitTopologySpec(&codec{buf: w.buf, reading: true}, &out[i])
		if err := out[i].leave(own); err != nil {
			return nil, fmt.Errorf("scheduler: read topology %q: %w", out[i].Name, err)
		}
	}
	for i := range e.cfg.Nodes {
		n := &e.cfg.Nodes[i]
		if n.Topology == "" {
			continue
		}
		for item := range strings.SplitSeq(n.Topology, ",") {
			name, unit, _ := strings.Cut(strings.TrimSpace(item), ":")
			k := slices.IndexFunc(out, func(t TopologySpec) bool { return t.Name == name })
			if k < 0 {
				return nil, fmt.Errorf("scheduler: read node %s: topology %q: %w", n.Names, name, ErrSpec)
			}
			if err := out[k].join(unit, n.Names); err != nil {
				return nil, fmt.Errorf("scheduler: read node %s: unit %q of topology %q: %w", n.Names, unit, name, err)
			}
		}
	}
	return out, nil
}

// leave takes the nodes of gone out of every unit.
func (t *TopologySpec) leave(gone map[string]bool) error {
	var lists []*string
	for i := range t.Switches {
		lists = append(lists, &t.Switches[i].Nodes)
	}
	for i := range t.Blocks {
		lists = append(lists, &t.Blocks[i].Nodes)
	}
	for i := range t.Rings {
		lists = append(lists, &t.Rings[i].Nodes)
	}
	for i := range t.Domains {
		lists = append(lists, &t.Domains[i].Nodes)
	}
	for _, l := range lists {
		if *l == "" {
			continue
		}
		hosts, err := topology.ParseHostlist(*l)
		if err != nil {
			return err
		}
		if left := slices.DeleteFunc(hosts, func(h string) bool { return gone[h] }); len(left) < len(hosts) {
			*l = string(topology.AppendHostlist(nil, left))
		}
	}
	return nil
}

// join puts the nodes of a hostlist into a unit: a block, a leaf switch or the
// path to one, a place in a ring, or a domain of levels ("zone/rack").
func (t *TopologySpec) join(unit, hosts string) error {
	add := func(list *string) error {
		if *list != "" {
			*list += ","
		}
		*list += hosts
		return nil
	}
	switch {
	case len(t.Switches) > 0:
		if at := strings.LastIndexByte(unit, ':'); at >= 0 {
			unit = unit[at+1:]
		}
		for i := range t.Switches {
			if w := &t.Switches[i]; w.Name == unit && w.Switches == "" {
				return add(&w.Nodes)
			}
		}
	case len(t.Blocks) > 0:
		for i := range t.Blocks {
			if t.Blocks[i].Name == unit {
				return add(&t.Blocks[i].Nodes)
			}
		}
	case len(t.Rings) > 0:
		name, at, _ := strings.Cut(unit, ":")
		for i := range t.Rings {
			if t.Rings[i].Name == name {
				return insertAt(&t.Rings[i].Nodes, at, hosts)
			}
		}
	case len(t.Levels) > 0:
		values := strings.Split(unit, "/")
		for i := range t.Domains {
			if slices.Equal(t.Domains[i].Values, values) {
				return add(&t.Domains[i].Nodes)
			}
		}
		if len(values) == len(t.Levels) {
			t.Domains = append(t.Domains, DomainSpec{Values: values, Nodes: hosts})
			return nil
		}
	case len(t.Toruses) > 0:
		return fmt.Errorf("a node that joins a torus: %w", ErrUnsupported)
	default:
		return nil // a flat topology has no units
	}
	return fmt.Errorf("no such unit: %w", ErrSpec)
}

// insertAt inserts hosts into a ring at a position; past its end is at 0.
func insertAt(list *string, at, hosts string) error {
	pos, err := strconv.ParseUint(at, 10, 31)
	if err != nil {
		return fmt.Errorf("position %q: %w", at, ErrSpec)
	}
	ring, err := topology.ParseHostlist(*list)
	if err != nil {
		return err
	}
	add, err := topology.ParseHostlist(hosts)
	if err != nil {
		return err
	}
	if int(pos) > len(ring) {
		pos = 0
	}
	*list = string(topology.AppendHostlist(nil, slices.Insert(ring, int(pos), add...)))
	return nil
}
