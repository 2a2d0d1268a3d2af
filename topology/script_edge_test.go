package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/berth-sched/berth/topology"
)

// edge runs the commands about text, ranks and differences.
func (w *world) edge(t *testing.T, d *datadriven.TestData) string {
	top, ok := w.ts.Find(arg(d, "in", w.cur))
	if !ok {
		d.Fatalf(t, "no topology %s", arg(d, "in", w.cur))
	}
	names := w.m.names
	var b strings.Builder
	switch d.Cmd {
	case "order":
		fmt.Fprintf(&b, "%s\n", names.AppendNodes(nil, top.AppendNodeOrder(nil)))
		return b.String()
	case "diff":
		old, ok := w.ts.Find(arg(d, "from", ""))
		if !ok {
			d.Fatalf(t, "no topology")
		}
		text := topology.AppendDiff(nil, topology.Diff(old, top, names), names)
		if len(text) == 0 {
			return "the same\n"
		}
		return string(text)
	case "fabric":
		return w.fabric(t, d, top)
	case "ranks":
		var set topology.NodeSet
		set.Init(names.Len())
		ids, err := names.AppendIDs(nil, strings.TrimSpace(d.Input))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for _, id := range ids {
			set.Add(id)
		}
		ids = set.AppendIDs(ids[:0])
		for i, r := range top.AppendRanks(nil, ids, names) {
			fmt.Fprintf(&b, "%-4s %d:%d\n", names.Name(ids[i]), r>>16, r&0xffff)
		}
		return b.String()
	}
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		fmt.Fprintf(&b, "%s  ", line)
		switch d.Cmd {
		case "hosts":
			ids, err := w.ts.AppendHostExpr(nil, line, func(f string) *topology.NodeSet {
				if f != "odd" {
					return nil
				}
				var set topology.NodeSet
				set.Init(names.Len())
				for i := 1; i < names.Len(); i += 2 {
					set.Add(topology.NodeID(i))
				}
				return &set
			})
			if err != nil {
				fmt.Fprintf(&b, "%v\n", err)
				continue
			}
			fmt.Fprintf(&b, "%s\n", names.AppendNodes(nil, ids))
		case "address":
			id, _ := names.ID(line)
			fmt.Fprintf(&b, "%s %s\n", top.AppendAddress(nil, id, names), top.AppendAddressPattern(nil, id))
		case "member":
			node, attr, _ := strings.Cut(line, " ")
			id, _ := names.ID(node)
			ts, notes, err := w.ts.WithNode(id, strings.TrimSpace(attr))
			if err != nil {
				fmt.Fprintf(&b, "%v\n", err)
				continue
			}
			b.WriteByte('\n')
			for _, n := range notes {
				fmt.Fprintf(&b, "  %s:%s has no position %d, 0 instead\n", n.Topology, n.Unit, n.Position)
			}
			for i := range ts.Len() {
				for l := range strings.Lines(string(topology.AppendDiff(nil, topology.Diff(w.ts.At(i), ts.At(i), names), names))) {
					fmt.Fprintf(&b, "  %s: %s", ts.At(i).Name(), l)
				}
			}
			w.ts = ts
		}
	}
	return b.String()
}

// fabric compares a topology with lines "DOMAIN NODES".
func (w *world) fabric(t *testing.T, d *datadriven.TestData, top *topology.Topology) string {
	domain := make([]string, w.m.names.Len())
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		ids, err := w.m.names.AppendIDs(nil, f[1])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for _, id := range ids {
			domain[id] = f[0]
		}
	}
	var b strings.Builder
	unit := func(u topology.UnitID) string {
		if u == topology.NoUnit {
			return "no unit"
		}
		return top.Unit(u).Name
	}
	for _, m := range top.CheckFabric(domain) {
		fmt.Fprintf(&b, "%s is in %s, measured in %s, which is %s\n", w.m.names.Name(m.Node), unit(m.Unit), m.Domain, unit(m.Belongs))
	}
	if b.Len() == 0 {
		return "all nodes are where they were measured\n"
	}
	return b.String()
}
