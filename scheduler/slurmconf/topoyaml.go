package slurmconf

import (
	"errors"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// topologyYAML reads topology.yaml: a list of topologies, or one alone. Unknown
// keys are ignored, as Slurm does, with a warning. An alias is an error: it
// could make a short file long.
func (rd *reader) topologyYAML(name string) []Topology {
	text, ok := rd.open(name, Origin{})
	if !ok {
		return nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		rd.fail(yamlLine(name, err), "", errors.Join(ErrSyntax, err))
		return nil
	}
	if len(doc.Content) == 0 {
		rd.fail(Origin{name, 1}, "", refusedErr("the file is empty"))
		return nil
	}
	y := yamlReader{rd, name}
	root := doc.Content[0]
	list := []*yaml.Node{root}
	switch root.Kind {
	case yaml.SequenceNode:
		list = root.Content
	case yaml.MappingNode:
	default:
		rd.fail(y.at(root), root.Value, refusedErr("a list of topologies is wanted"))
		return nil
	}
	var out []Topology
	for _, n := range list {
		out = append(out, y.topology(n))
	}
	if len(out) == 0 {
		rd.fail(Origin{name, 1}, "", refusedErr("the file has no topology"))
	}
	return out
}

// yamlLine finds the line in the text of a YAML error; the package has no
// field for it.
func yamlLine(file string, err error) Origin {
	s := err.Error()
	if _, rest, ok := strings.Cut(s, "line "); ok {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end > 0 {
			if n, err := strconv.Atoi(rest[:end]); err == nil {
				return Origin{file, n}
			}
		}
	}
	return Origin{file, 1}
}

// A yamlReader turns YAML nodes into topologies.
type yamlReader struct {
	*reader
	file string
}

func (y yamlReader) at(n *yaml.Node) Origin { return Origin{y.file, max(n.Line, 1)} }

// each calls do for the pairs of a mapping. Keys that do returns false for are
// unknown.
func (y yamlReader) each(n *yaml.Node, what string, do func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		y.fail(y.at(n), n.Value, refusedErr("%s must be a mapping", what))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if !do(key.Value, v) {
			y.warn(y.at(key), key.Value, "unknown key of %s, ignored", what)
		}
	}
}

func (y yamlReader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		y.fail(y.at(n), n.Value, refusedErr("%s must be a list", what))
		return nil
	}
	return n.Content
}

func (y yamlReader) text(n *yaml.Node) Value[string] {
	if n.Kind != yaml.ScalarNode {
		y.fail(y.at(n), "", refusedErr("a text is wanted"))
	}
	return Value[string]{n.Value, y.at(n)}
}

func (y yamlReader) bool(n *yaml.Node) Value[bool] {
	b, err := parseBool(n.Value)
	if err != nil {
		y.fail(y.at(n), n.Value, err)
	}
	return Value[bool]{b, y.at(n)}
}

func (y yamlReader) int(n *yaml.Node) int64 {
	v, err := parseCount(-1<<31, 1<<31-1, false)(n.Value)
	if err != nil {
		y.fail(y.at(n), n.Value, err)
	}
	return v
}

// xyz reads {x: , y: , z: }; what is missing is 0.
func (y yamlReader) xyz(n *yaml.Node) (v [3]int64) {
	y.each(n, "a position", func(key string, n *yaml.Node) bool {
		i := strings.Index("xyz", strings.ToLower(key))
		if len(key) != 1 || i < 0 {
			return false
		}
		v[i] = y.int(n)
		return true
	})
	return v
}

func (y yamlReader) topology(n *yaml.Node) Topology {
	t := Topology{At: y.at(n)}
	kinds := 0
	y.each(n, "a topology", func(key string, v *yaml.Node) bool {
		switch key {
		case "topology":
			t.Name = y.text(v)
		case "cluster_default":
			t.Default = y.bool(v)
		case "flat":
			if v.Kind == yaml.MappingNode {
				y.each(v, "flat", func(key string, v *yaml.Node) bool {
					if key == "alpha_step_rank" {
						t.AlphaStepRank = y.bool(v).V
					}
					return key == "alpha_step_rank"
				})
				kinds++
			} else if y.bool(v).V {
				kinds++
			}
		case "tree":
			kinds++
			t.Kind = Tree
			y.tree(&t, v)
		case "block":
			kinds++
			t.Kind = Block
			y.block(&t, v)
		case "ring":
			kinds++
			t.Kind = Ring
			y.each(v, "ring", func(key string, v *yaml.Node) bool {
				if key == "rings" {
					y.units(&t, v, "ring")
				}
				return key == "rings"
			})
		case "torus3d":
			kinds++
			t.Kind = Torus
			y.each(v, "torus3d", func(key string, v *yaml.Node) bool {
				if key == "toruses" {
					y.units(&t, v, "name")
				}
				return key == "toruses"
			})
		default:
			return false
		}
		return true
	})
	if kinds != 1 {
		y.fail(t.At, t.Name.V, refusedErr("a topology has exactly one of flat, tree, block, ring and torus3d, not %d", kinds))
	}
	return t
}

func (y yamlReader) tree(t *Topology, n *yaml.Node) {
	y.each(n, "tree", func(key string, v *yaml.Node) bool {
		if key == "switches" {
			y.units(t, v, "switch")
		}
		return key == "switches"
	})
	for i := range t.Units {
		u := &t.Units[i]
		if u.Nodes.IsSet() && u.Switches.IsSet() {
			y.warn(u.Switches.At, u.Name.V, "a switch has nodes or children, not both: the children are dropped")
			u.Switches = Value[string]{}
		}
	}
}

func (y yamlReader) block(t *Topology, n *yaml.Node) {
	y.each(n, "block", func(key string, v *yaml.Node) bool {
		switch key {
		case "block_sizes":
			var sizes []int64
			if v.Kind == yaml.ScalarNode {
				sizes = append(sizes, y.int(v))
			} else {
				for _, s := range y.list(v, "block_sizes") {
					sizes = append(sizes, y.int(s))
				}
			}
			t.BlockSizes = Value[[]int64]{sizes, y.at(v)}
		case "blocks":
			y.units(t, v, "block")
		default:
			return false
		}
		return true
	})
}

// units reads a list of units whose name is under the given key.
func (y yamlReader) units(t *Topology, n *yaml.Node, nameKey string) {
	for _, item := range y.list(n, nameKey+" list") {
		u := Unit{At: y.at(item)}
		y.each(item, "a "+t.Kind.String()+" unit", func(key string, v *yaml.Node) bool {
			switch key {
			case nameKey:
				u.Name = y.text(v)
			case "nodes":
				u.Nodes = y.text(v)
			case "children":
				u.Switches = y.text(v)
				return t.Kind == Tree
			case "dims":
				u.Dims = Value[[3]int64]{y.xyz(v), y.at(v)}
				return t.Kind == Torus
			case "regions":
				for _, r := range y.list(v, "regions") {
					u.Regions = append(u.Regions, y.region(r))
				}
				return t.Kind == Torus
			case "placements":
				for _, p := range y.list(v, "placements") {
					u.Placements = append(u.Placements, y.placement(p))
				}
				return t.Kind == Torus
			default:
				return false
			}
			return true
		})
		if u.Name.V == "" {
			y.fail(u.At, nameKey, refusedErr("a unit needs a name"))
		}
		t.Units = append(t.Units, u)
	}
}

func (y yamlReader) region(n *yaml.Node) (r TorusRegion) {
	y.each(n, "a region", func(key string, v *yaml.Node) bool {
		switch key {
		case "anchor":
			r.Anchor = y.xyz(v)
		case "dims":
			r.Dims = y.xyz(v)
		case "nodes":
			r.Nodes = y.text(v)
		default:
			return false
		}
		return true
	})
	return r
}

func (y yamlReader) placement(n *yaml.Node) (p TorusPlacement) {
	p.At = y.at(n)
	y.each(n, "a placement", func(key string, v *yaml.Node) bool {
		switch key {
		case "dims":
			p.Dims = y.xyz(v)
		case "anchor_seed":
			p.Seed = y.xyz(v)
		case "anchor_spacing":
			p.Spacing = y.xyz(v)
		default:
			return false
		}
		return true
	})
	return p
}
