package slurmconf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// TestTopologyRules is the table of spec/topology.md 1.4: F refuses, W warns,
// OK is silent. Nodes n1 to n40 exist.
func TestTopologyRules(t *testing.T) {
	known := map[string]bool{}
	for i := range 40 {
		known[fmt.Sprintf("n%d", i+1)] = true
	}
	const torus = "- topology: t\n  torus3d:\n    toruses:\n      - name: a\n        dims: {x: 2, y: 2, z: 2}\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"no unit", "topology.yaml", "- topology: t\n  tree:\n    switches: []\n", "F"},
		{"duplicate unit", "topology.conf", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "F"},
		{"missing name", "topology.conf", "Nodes=n1\n", "F"},
		{"missing name in yaml", "topology.yaml", "- block:\n    blocks:\n      - nodes: n1\n", "F"},
		{"unknown node", "topology.conf", "SwitchName=a Nodes=n1,x9\n", "W"},
		{"duplicate topology names", "topology.yaml", "- topology: t\n  flat: true\n- topology: t\n  flat: true\n", "OK"},
		{"missing topology name", "topology.yaml", "- flat: true\n", "OK"},
		{"single mapping", "topology.yaml", "topology: t\nflat: {alpha_step_rank: true}\n", "OK"},
		{"unknown yaml key", "topology.yaml", "- topology: t\n  colour: red\n  flat: true\n", "W"}, // Slurm is silent
		{"two types", "topology.yaml", "- topology: t\n  flat: true\n  block: {blocks: [{block: b, nodes: n1}]}\n", "F"},
		{"no type", "topology.yaml", "- topology: t\n", "F"},
		{"only flat false", "topology.yaml", "- topology: t\n  flat: false\n", "F"},
		{"empty yaml", "topology.yaml", "", "F"},
		{"bad yaml", "topology.yaml", "- a: [\n", "F"},
		{"alias", "topology.yaml", "- &a\n  flat: true\n- *a\n", "F"},
		{"unknown child", "topology.conf", "SwitchName=a Switches=b\n", "F"},
		{"own child", "topology.conf", "SwitchName=a Switches=a\n", "F"},
		{"cycle", "topology.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "F"},
		{"nodes and children", "topology.conf", "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n", "F"},
		{"nodes and children in yaml", "topology.yaml", "- tree:\n    switches:\n      - {switch: a, nodes: n1, children: b}\n      - {switch: b, nodes: n2}\n", "W"},
		{"long name", "topology.conf", "SwitchName=" + strings.Repeat("x", 65) + " Nodes=n1\n", "F"},
		{"leaf without nodes", "topology.conf", "SwitchName=a\nSwitchName=b Nodes=n1\nSwitchName=c Switches=a,b\n", "OK"},
		{"node on two leaves", "topology.conf", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\nSwitchName=c Switches=a,b\n", "W"},
		{"two parents", "topology.conf", "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a,b\n", "OK"},
		{"no top", "topology.conf", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", "W"},
		{"block size 0", "topology.conf", "BlockName=a Nodes=n1\nBlockSizes=0\n", "F"},
		{"block size word", "topology.conf", "BlockName=a Nodes=n1\nBlockSizes=four\n", "F"},
		{"8,4", "topology.conf", "BlockName=a Nodes=n[1-8]\nBlockSizes=8,4\n", "F"},
		{"4,12", "topology.conf", "BlockName=a Nodes=n[1-8]\nBlockSizes=4,12\n", "F"},
		{"4,16,8", "topology.conf", "BlockName=a Nodes=n[1-4]\nBlockSizes=4,16,8\n", "OK"},
		{"ratio above 2^15", "topology.conf", "BlockName=a Nodes=n1\nBlockSizes=1,65536\n", "F"},
		{"small block", "topology.conf", "BlockName=a Nodes=n[1-3]\nBlockSizes=4\n", "OK"},
		{"no sizes", "topology.conf", "BlockName=a\nBlockName=b Nodes=n1\n", "OK"},
		{"no sizes and no nodes", "topology.conf", "BlockName=a\n", "F"},
		{"node in two blocks", "topology.conf", "BlockName=a Nodes=n1\nBlockName=b Nodes=n1\nBlockSizes=1\n", "F"}, // ours
		{"node twice in a ring", "topology.conf", "RingName=a Nodes=n1,n2,n1\n", "F"},                              // ours
		{"17 nodes in a ring", "topology.conf", "RingName=a Nodes=n[1-17]\n", "F"},
		{"16 nodes in a ring", "topology.conf", "RingName=a Nodes=n[1-16]\n", "OK"},
		{"mixed kinds", "topology.conf", "RingName=a Nodes=n1\nBlockName=b Nodes=n2\n", "F"},
		{"torus", "topology.yaml", torus + "        nodes: n[1-8]\n        placements: [{dims: {x: 2, y: 1, z: 1}, anchor_seed: {x: 1}}]\n", "OK"},
		{"torus without placements", "topology.yaml", torus + "        nodes: n[1-8]\n", "OK"},
		{"torus with 7 nodes", "topology.yaml", torus + "        nodes: n[1-7]\n", "F"},
		{"torus dim 0", "topology.yaml", "- torus3d:\n    toruses:\n      - {name: a, dims: {x: 2, y: 2}, nodes: \"n[1-4]\"}\n", "F"},
		{"torus regions", "topology.yaml", torus + "        regions: [{anchor: {}, dims: {x: 2, y: 2, z: 1}, nodes: \"n[1-4]\"}]\n", "OK"},
		{"torus nodes and regions", "topology.yaml", torus + "        nodes: n[1-8]\n        regions: [{anchor: {}, dims: {x: 1, y: 1, z: 1}, nodes: n9}]\n", "F"},
		{"region outside", "topology.yaml", torus + "        regions: [{anchor: {x: 1}, dims: {x: 2, y: 1, z: 1}, nodes: \"n[1-2]\"}]\n", "F"},
		{"region count", "topology.yaml", torus + "        regions: [{anchor: {}, dims: {x: 2, y: 1, z: 1}, nodes: n1}]\n", "F"},
		{"regions overlap", "topology.yaml", torus + "        regions: [{anchor: {}, dims: {x: 2, y: 1, z: 1}, nodes: \"n[1-2]\"}, {anchor: {x: 1}, dims: {x: 1, y: 2, z: 1}, nodes: \"n[3-4]\"}]\n", "F"},
		{"placement too large", "topology.yaml", torus + "        nodes: n[1-8]\n        placements: [{dims: {x: 3, y: 1, z: 1}}]\n", "F"},
		{"seed outside", "topology.yaml", torus + "        nodes: n[1-8]\n        placements: [{dims: {x: 1, y: 1, z: 1}, anchor_seed: {x: 2}}]\n", "F"},
		{"shared node", "topology.yaml", torus + "        nodes: n[1-8]\n      - {name: b, dims: {x: 1, y: 1, z: 1}, nodes: n8}\n", "F"},
	} {
		list, warnings, err := slurmconf.ReadTopology(fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, tt.file)
		if err == nil {
			var more []slurmconf.Warning
			more, err = slurmconf.CheckTopologies(list, func(n string) bool { return known[n] })
			warnings = append(warnings, more...)
		}
		got := "OK"
		switch {
		case err != nil:
			got = "F"
			var e *slurmconf.Error
			if !errors.As(err, &e) || e.Origin.File != tt.file || e.Origin.Line == 0 && tt.text != "" {
				t.Errorf("%s: no place in %v", tt.name, err)
			}
		case len(warnings) > 0:
			got = "W"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s (%v, %v)", tt.name, got, tt.want, err, warnings)
		}
	}
}

// TestDefaultTopology is case H1: the flagged topology comes first.
func TestDefaultTopology(t *testing.T) {
	cfg := mustLoad(t, "NodeName=n1\n-- topology.yaml --\n- topology: a\n  flat: true\n- topology: b\n  flat: true\n- topology: c\n  cluster_default: true\n  flat: true\n")
	var got []string
	for _, x := range cfg.Topologies {
		got = append(got, x.Name)
	}
	if strings.Join(got, " ") != "c a b" {
		t.Errorf("order %v", got)
	}
}

// TestUnknownTopologyNodes: they are dropped, and in a ring the later ones move
// up.
func TestUnknownTopologyNodes(t *testing.T) {
	cfg := mustLoad(t, "TopologyPlugin=topology/ring\nNodeName=n[1-4]\n-- topology.conf --\nRingName=r Nodes=n1,x,n4,n2\n")
	if got := cfg.Topologies[0].Rings[0].Nodes; got != "n1,n4,n2" && got != "n[1,4,2]" {
		t.Errorf("ring %q", got)
	}
}
