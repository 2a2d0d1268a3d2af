package scheduler

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A NodeSetSpec is a name for the nodes of a list and those with a feature.
// Slurm: NodeSet. Kubernetes: a node pool chosen by labels.
type NodeSetSpec struct {
	// Name is what partitions say. Unique, and no node's name.
	Name string
	// Nodes is a hostlist; "ALL" is every node. Nodes that have not joined yet
	// may stand in it.
	Nodes string `json:",omitempty"`
	// Feature makes every node that has it a member.
	Feature string `json:",omitempty"`
}

// checkNodeSets returns what is wrong with the node sets.
func (c *Config) checkNodeSets() []error {
	var errs []error
	seen := map[string]bool{}
	for i := range c.NodeSets {
		s := &c.NodeSets[i]
		why := ""
		switch {
		case s.Name == "":
			why = "no name"
		case seen[s.Name]:
			why = "given twice"
		case s.Nodes == "" && s.Feature == "":
			why = "neither nodes nor a feature"
		}
		if why != "" {
			errs = append(errs, fmt.Errorf("scheduler: check config: node set %d %q: %s: %w", i, s.Name, why, ErrSpec))
		}
		seen[s.Name] = true
	}
	return errs
}

// nodesNamed stores in dst the nodes of a list in which ALL and node sets may
// stand.
func (e *engine) nodesNamed(dst *topology.NodeSet, what, text string) error {
	if text == "ALL" {
		dst.Or(&e.there)
		return nil
	}
	if len(e.cfg.NodeSets) == 0 {
		ids, err := e.appendNodes(nil, what, text)
		for _, id := range ids {
			dst.Add(id)
		}
		return err
	}
	names, err := topology.ParseHostlist(text)
	if err != nil {
		return fmt.Errorf("scheduler: read %s: %w", what, err)
	}
	for _, name := range names {
		k := slices.IndexFunc(e.cfg.NodeSets, func(s NodeSetSpec) bool { return s.Name == name })
		if k >= 0 {
			if err := e.addNodeSet(dst, &e.cfg.NodeSets[k]); err != nil {
				return err
			}
			continue
		}
		if name == "ALL" {
			dst.Or(&e.there)
			continue
		}
		id, ok := e.names.ID(name)
		if !ok {
			return fmt.Errorf("scheduler: read %s: node %q: %w", what, name, ErrUnknownNode)
		}
		dst.Add(id)
	}
	return nil
}

// addNodeSet adds the nodes of a node set that are there.
func (e *engine) addNodeSet(dst *topology.NodeSet, s *NodeSetSpec) error {
	if set := e.features[s.Feature]; set != nil {
		dst.Or(set)
	}
	if s.Nodes == "ALL" {
		dst.Or(&e.there)
		return nil
	}
	names, err := topology.ParseHostlist(s.Nodes)
	if err != nil {
		return fmt.Errorf("scheduler: read node set %q: %w", s.Name, err)
	}
	for _, name := range names {
		id, ok := e.names.ID(name)
		switch {
		case ok:
			dst.Add(id)
		case e.cfg.MaxNodes == 0:
			return fmt.Errorf("scheduler: read node set %q: node %q: %w", s.Name, name, ErrUnknownNode)
		}
	}
	return nil
}
