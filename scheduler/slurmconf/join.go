package slurmconf

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/scheduler"
)

// AddNodes reads what slurmd -Z --conf or scontrol create says of dynamic nodes,
// "NodeName=d[1-2] CPUs=16 RealMemory=64000 Feature=cloud Gres=gpu:4", and
// returns the events that let them join a cluster of these files: gres.conf
// holds for them too. Errors are [*Error]; nothing is returned then.
//
// Source: slurm.conf(5), dynamic nodes; spec/topology.md 1.6.
func (f *Files) AddNodes(conf string) ([]scheduler.Event, []Warning, error) {
	rd := new(reader)
	own := *f
	own.Nodes, own.DownNodes = nil, nil
	var n Node
	for l := (lexer{file: "--conf", rest: conf}); l.next(); {
		ws, err := l.words(nil)
		if err != nil {
			return nil, nil, err
		}
		fill(rd, &n, nodeKeys, ws, "--conf", "NodeName")
	}
	if n.Names.V == "" {
		rd.fail(Origin{"--conf", 1}, conf, fmt.Errorf("%w: NodeName is wanted", ErrSyntax))
		return nil, nil, rd.err()
	}
	own.Nodes = append(own.Nodes, n)
	b := &builder{f: &own, rd: rd, files: map[string][]string{}}
	b.tracked()
	b.nodes()
	if err := rd.err(); err != nil {
		return nil, nil, err
	}
	var out []scheduler.Event
	for i := range b.cfg.Nodes {
		out = append(out, scheduler.Event{Kind: scheduler.EventNodeAdd, Node: &b.cfg.Nodes[i]})
	}
	return out, slices.Clone(rd.warnings), nil
}
