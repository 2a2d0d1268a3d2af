package slurmconf

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-sched/berth/topology"
)

// ReadModel reads a cluster model of topograph's simulator: switches over
// switches, and blocks of nodes, each under a switch. It returns a tree named
// "tree" and, if the model annotates accelerator domains, a block topology
// named "block" of them.
//
// Source: NVIDIA/topograph, tests/models.
func ReadModel(fsys fs.FS, name string) ([]Topology, error) {
	rd := &reader{fsys: fsys}
	text, ok := rd.open(name, Origin{})
	if !ok {
		return nil, rd.err()
	}
	var m struct {
		Switches map[string]struct {
			Switches []string `yaml:"switches"`
		} `yaml:"switches"`
		Blocks []struct {
			Switch      string            `yaml:"switch"`
			Nodes       []string          `yaml:"nodes"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"blocks"`
	}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return nil, &Error{yamlLine(name, err), "", errors.Join(ErrSyntax, err)}
	}
	at := Origin{name, 1}
	set := func(s string) Value[string] { return Value[string]{s, at} }
	tree := Topology{Name: set("tree"), Kind: Tree, Default: Value[bool]{true, at}, At: at}
	names := slices.SortedFunc(maps.Keys(m.Switches), topology.CompareHosts)
	for _, s := range names {
		tree.Units = append(tree.Units, Unit{Name: set(s), Switches: set(strings.Join(m.Switches[s].Switches, ",")), At: at})
	}
	block := Topology{Name: set("block"), Kind: Block, At: at}
	for _, b := range m.Blocks {
		nodes := set(strings.Join(b.Nodes, ","))
		tree.Units = append(tree.Units, Unit{Name: set(b.Switch), Nodes: nodes, At: at})
		for _, key := range slices.Sorted(maps.Keys(b.Annotations)) {
			if strings.HasPrefix(key, "accelerator.") {
				block.Units = append(block.Units, Unit{Name: set(b.Annotations[key]), Nodes: nodes, At: at})
				break
			}
		}
	}
	if len(tree.Units) == 0 {
		return nil, &Error{at, "", refusedErr("the model has neither switches nor blocks")}
	}
	if len(block.Units) == 0 {
		return []Topology{tree}, nil
	}
	return []Topology{tree, block}, nil
}
