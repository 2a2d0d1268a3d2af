package topology

import "strings"

// Spec returns a description of t from which [New] builds t again on the same
// names: what a program writes out, compares or changes.
func (t *Topology) Spec(names *Names) Spec {
	s := Spec{Name: t.name, YAML: true}
	switch t.kind {
	case KindTree:
		s.Tree = t.treeSpec(names)
	case KindBlock:
		s.Block = &BlockSpec{Sizes: append([]int64(nil), t.block.sizes...)}
		if len(s.Block.Sizes) == 0 {
			for k := range 5 {
				s.Block.Sizes = append(s.Block.Sizes, t.block.baseSize<<k)
			}
		}
		for u := range t.base {
			s.Block.Blocks = append(s.Block.Blocks, UnitSpec{Name: t.units[u].name, Nodes: t.unitList(names, UnitID(u))})
		}
	case KindRing:
		s.Ring = &RingSpec{}
		for u := range t.base {
			s.Ring.Rings = append(s.Ring.Rings, UnitSpec{Name: t.units[u].name, Nodes: string(names.AppendNodes(nil, t.ring.nodes[u]))})
		}
	case KindTorus3D:
		s.Torus = &TorusSpec{}
		for u := range t.base {
			s.Torus.Toruses = append(s.Torus.Toruses, t.torusSpec(names, u))
		}
	default:
		s.Flat = &FlatSpec{AlphaStepRank: t.alphaRank}
	}
	return s
}

// unitList returns the nodes of a base unit as a hostlist.
func (t *Topology) unitList(names *Names, u UnitID) string {
	var set NodeSet
	set.Init(t.nodes)
	t.spans[u].add(set.Words())
	return string(names.AppendSet(nil, &set))
}

func (t *Topology) treeSpec(names *Names) *TreeSpec {
	children := make([][]string, len(t.units))
	for u := range t.units {
		if p := t.units[u].parent; p != NoUnit {
			children[p] = append(children[p], t.units[u].name)
		}
	}
	s := &TreeSpec{}
	for u := range t.units {
		s.Switches = append(s.Switches, SwitchSpec{Name: t.units[u].name, Nodes: t.unitList(names, UnitID(u)), Children: string(AppendHostlist(nil, children[u]))})
	}
	return s
}

func (t *Topology) torusSpec(names *Names, u int) TorusUnitSpec {
	tu := &t.torus.units[u]
	s := TorusUnitSpec{Name: t.units[u].name, Dims: tu.dims}
	var f folder
	for _, id := range tu.cells {
		if id == NoNode {
			f.add(EmptyCell)
		} else {
			f.add(names.Name(id))
		}
	}
	s.Nodes = string(f.end())
	for i := range tu.shapes {
		s.Placements = append(s.Placements, tu.shapes[i].spec)
	}
	return s
}

// AppendConf appends t in the form of topology.conf, which torus3d lacks: it is
// then, as for flat, empty.
//
// Source: topology.conf(5).
func (t *Topology) AppendConf(dst []byte, names *Names) []byte {
	s := t.Spec(names)
	line := func(key, name string, kv ...string) {
		dst = append(append(append(dst, key...), '='), name...)
		for i := 0; i < len(kv); i += 2 {
			if kv[i+1] != "" {
				dst = append(append(append(append(dst, ' '), kv[i]...), '='), kv[i+1]...)
			}
		}
		dst = append(dst, '\n')
	}
	switch {
	case s.Tree != nil:
		for _, w := range s.Tree.Switches {
			line("SwitchName", w.Name, "Nodes", w.Nodes, "Switches", w.Children)
		}
	case s.Block != nil:
		for _, b := range s.Block.Blocks {
			line("BlockName", b.Name, "Nodes", b.Nodes)
		}
		var sizes strings.Builder
		for i, v := range s.Block.Sizes {
			if i > 0 {
				sizes.WriteByte(',')
			}
			sizes.WriteString(itoa(v))
		}
		line("BlockSizes", sizes.String())
	case s.Ring != nil:
		for _, r := range s.Ring.Rings {
			line("RingName", r.Name, "Nodes", r.Nodes)
		}
	}
	return dst
}
