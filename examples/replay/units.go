package main

import (
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// units lists the lowest units of the default topology: leaf switches, blocks,
// rings, toruses or domains. Nodes that a hostlist names and the cluster lacks
// are passed over.
func units(cfg *scheduler.Config, nodes []outcome.Node) []outcome.Unit {
	if len(cfg.Topologies) == 0 {
		return nil
	}
	row := make(map[string]int32, len(nodes))
	for i := range nodes {
		row[nodes[i].Name] = int32(i)
	}
	var list []outcome.Unit
	add := func(name, hosts string) {
		u := outcome.Unit{Name: name}
		names, err := topology.ParseHostlist(hosts)
		if err != nil {
			return // New has refused what matters
		}
		for _, n := range names {
			if i, ok := row[n]; ok {
				u.Nodes = append(u.Nodes, i)
			}
		}
		if len(u.Nodes) > 0 {
			list = append(list, u)
		}
	}
	t := &cfg.Topologies[0]
	for i := range t.Switches {
		add(t.Switches[i].Name, t.Switches[i].Nodes)
	}
	for i := range t.Blocks {
		add(t.Blocks[i].Name, t.Blocks[i].Nodes)
	}
	for i := range t.Rings {
		add(t.Rings[i].Name, t.Rings[i].Nodes)
	}
	for i := range t.Toruses {
		add(t.Toruses[i].Name, t.Toruses[i].Nodes)
	}
	for i := range t.Domains {
		add(strings.Join(t.Domains[i].Values, "/"), t.Domains[i].Nodes)
	}
	return list
}
