package topology_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/topology"
)

func confFields(line string) map[string]string {
	f := map[string]string{}
	for kv := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(kv, "=")
		f[k] = v
	}
	return f
}

func loadRecorded(files map[string]string) (*recorded, error) {
	r := &recorded{parts: map[string]*recordedPartition{}}
	var names []string
	type nodeRow struct {
		names  []string
		cpus   int
		weight int
		gpus   int
	}
	var rows []nodeRow
	plugin := ""
	var parts []map[string]string
	unroll, lln := 0, false
	for line := range strings.Lines(files["slurm.conf"]) {
		f := confFields(line)
		switch {
		case f["NodeName"] != "":
			hosts, err := topology.ParseHostlist(f["NodeName"])
			if err != nil {
				return nil, err
			}
			row := nodeRow{names: hosts, weight: 1}
			row.cpus, _ = strconv.Atoi(f["CPUs"])
			if f["Weight"] != "" {
				row.weight, _ = strconv.Atoi(f["Weight"])
			}
			if g, ok := strings.CutPrefix(f["Gres"], "gpu:"); ok {
				row.gpus, _ = strconv.Atoi(g)
			}
			rows = append(rows, row)
			names = append(names, hosts...)
		case f["PartitionName"] != "":
			parts = append(parts, f)
		case f["TopologyPlugin"] != "":
			plugin = f["TopologyPlugin"]
		case f["TopologyParam"] != "":
			for p := range strings.SplitSeq(f["TopologyParam"], ",") {
				switch {
				case p == "Dragonfly":
					r.opts.Dragonfly = true
				case p == "TopoOptional":
					r.opts.TopoOptional = true
				case strings.HasPrefix(p, "TopoMaxSizeUnroll="):
					unroll, _ = strconv.Atoi(strings.TrimPrefix(p, "TopoMaxSizeUnroll="))
				}
			}
		case strings.Contains(f["SelectTypeParameters"], "CR_LLN"):
			lln = true
		}
	}
	m, err := newMachine(names, 0, 0)
	if err != nil {
		return nil, err
	}
	r.m = m
	m.unroll, m.lln = unroll, lln
	i := 0
	for _, row := range rows {
		for range row.names {
			m.cpus[i], m.free[i], m.weight[i] = int32(row.cpus), int32(row.cpus), uint32(row.weight)
			m.gpus[i], m.freeGPUs[i] = int32(row.gpus), int32(row.gpus)
			i++
		}
	}
	var specs []topology.Spec
	if y := files["topology.yaml"]; y != "" {
		specs, err = yamlSpecs(y)
	} else {
		specs, err = confSpecs(plugin, files["topology.conf"])
	}
	if err != nil {
		return nil, err
	}
	ts, problems := topology.NewTopologies(specs, m.names)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	r.ts = ts
	r.opts.Profile, r.opts.Defects = topology.ProfileSlurm, true
	for _, f := range parts {
		p := &recordedPartition{topology: f["Topology"], whole: f["OverSubscribe"] == "EXCLUSIVE", lln: f["LLN"] == "YES"}
		p.nodes.Init(m.names.Len())
		if f["Nodes"] == "ALL" {
			p.nodes.AddAll()
		} else {
			ids, err := m.names.AppendIDs(nil, f["Nodes"])
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				p.nodes.Add(id)
			}
		}
		r.parts[f["PartitionName"]] = p
		if f["Default"] == "YES" {
			r.def = f["PartitionName"]
		}
	}
	r.busy.Init(m.names.Len())
	return r, nil
}

// confSpecs reads topology.conf.
func confSpecs(plugin, text string) ([]topology.Spec, error) {
	s := topology.Spec{Name: "default"}
	switch plugin {
	case "", "topology/flat":
		s.Flat = &topology.FlatSpec{}
	case "topology/tree":
		s.Tree = &topology.TreeSpec{}
	case "topology/block":
		s.Block = &topology.BlockSpec{}
	case "topology/ring":
		s.Ring = &topology.RingSpec{}
	default:
		return nil, fmt.Errorf("plugin %s", plugin)
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := confFields(line)
		switch {
		case f["SwitchName"] != "":
			s.Tree.Switches = append(s.Tree.Switches, topology.SwitchSpec{Name: f["SwitchName"], Nodes: f["Nodes"], Children: f["Switches"], Line: n})
		case f["BlockName"] != "":
			s.Block.Blocks = append(s.Block.Blocks, topology.UnitSpec{Name: f["BlockName"], Nodes: f["Nodes"], Line: n})
		case f["BlockSizes"] != "":
			for v := range strings.SplitSeq(f["BlockSizes"], ",") {
				x, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					return nil, err
				}
				s.Block.Sizes = append(s.Block.Sizes, x)
			}
		case f["RingName"] != "":
			s.Ring.Rings = append(s.Ring.Rings, topology.UnitSpec{Name: f["RingName"], Nodes: f["Nodes"], Line: n})
		}
	}
	return []topology.Spec{s}, nil
}

type yamlCoord struct{ X, Y, Z int32 }

// yamlSpecs reads topology.yaml.
func yamlSpecs(text string) ([]topology.Spec, error) {
	var doc []struct {
		Topology string `json:"topology"`
		Default  bool   `json:"cluster_default"`
		Flat     *bool  `json:"flat"`
		Tree     *struct {
			Switches []struct{ Switch, Nodes, Children string }
		} `json:"tree"`
		Block *struct {
			Sizes  []int64 `json:"block_sizes"`
			Blocks []struct{ Block, Nodes string }
		} `json:"block"`
		Ring *struct {
			Rings []struct{ Ring, Nodes string }
		} `json:"ring"`
		Torus *struct {
			Toruses []struct {
				Name    string
				Dims    yamlCoord
				Nodes   string
				Regions []struct {
					Anchor, Dims yamlCoord
					Nodes        string
				}
				Placements []struct {
					Dims    yamlCoord
					Seed    yamlCoord `json:"anchor_seed"`
					Spacing yamlCoord `json:"anchor_spacing"`
				}
			}
		} `json:"torus3d"`
	}
	if err := unmarshalYAML(text, &doc); err != nil {
		return nil, err
	}
	var specs []topology.Spec
	for _, d := range doc {
		s := topology.Spec{Name: d.Topology, Default: d.Default, YAML: true}
		if d.Flat != nil {
			s.Flat = &topology.FlatSpec{Off: !*d.Flat}
		}
		if d.Tree != nil {
			s.Tree = &topology.TreeSpec{}
			for _, w := range d.Tree.Switches {
				s.Tree.Switches = append(s.Tree.Switches, topology.SwitchSpec{Name: w.Switch, Nodes: w.Nodes, Children: w.Children})
			}
		}
		if d.Block != nil {
			s.Block = &topology.BlockSpec{Sizes: d.Block.Sizes}
			for _, b := range d.Block.Blocks {
				s.Block.Blocks = append(s.Block.Blocks, topology.UnitSpec{Name: b.Block, Nodes: b.Nodes})
			}
		}
		if d.Ring != nil {
			s.Ring = &topology.RingSpec{}
			for _, b := range d.Ring.Rings {
				s.Ring.Rings = append(s.Ring.Rings, topology.UnitSpec{Name: b.Ring, Nodes: b.Nodes})
			}
		}
		if d.Torus != nil {
			s.Torus = &topology.TorusSpec{}
			for _, u := range d.Torus.Toruses {
				tu := topology.TorusUnitSpec{Name: u.Name, Dims: topology.Coord(u.Dims), Nodes: u.Nodes}
				for _, g := range u.Regions {
					tu.Regions = append(tu.Regions, topology.RegionSpec{Anchor: topology.Coord(g.Anchor), Dims: topology.Coord(g.Dims), Nodes: g.Nodes})
				}
				for _, p := range u.Placements {
					tu.Placements = append(tu.Placements, topology.PlacementSpec{Dims: topology.Coord(p.Dims), Seed: topology.Coord(p.Seed), Spacing: topology.Coord(p.Spacing)})
				}
				s.Torus.Toruses = append(s.Torus.Toruses, tu)
			}
		}
		specs = append(specs, s)
	}
	return specs, nil
}
