package schedtest

import (
	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// setLine adds a line about nodes that may join to c and reports whether it was
// one:
//
//	nodeset=gpus [nodes=n[0-3]] [feature=gpu]
//
// maxnodes=8 and gres-types=gpu of the cluster's command leave room for them.
func setLine(c *scheduler.Config, f fields) bool {
	if f.has("nodeset") {
		c.NodeSets = append(c.NodeSets, scheduler.NodeSetSpec{Name: f["nodeset"], Nodes: f["nodes"], Feature: f["feature"]})
	}
	return f.has("nodeset")
}

// node makes nodes of a script line.
func node(f fields) scheduler.NodeSpec {
	return scheduler.NodeSpec{
		Names: f["nodes"], Sockets: int32(f.num("sockets")), CoresPerSocket: int32(f.num("cores")), ThreadsPerCore: int32(f.num("threads")),
		MemMiB: f.num("mem"), GRES: f["gres"], Features: f.list("features"), Weight: uint32(f.num("weight")), CPUMilli: f.num("cpumilli"),
		Topology: f["in"], Devices: devicesOf(f), CoreSpecCount: int32(f.num("corespec")),
	}
}

// join lets nodes join, a line each; leave takes them away.
func (e *env) join(in []fields) (string, error) {
	for _, f := range in {
		n := node(f)
		if out, err := e.apply(scheduler.Event{Kind: scheduler.EventNodeAdd, Node: &n}); err != nil {
			return out, err
		}
	}
	return "ok\n", nil
}

func (e *env) leave(nodes string) (string, error) {
	return e.apply(scheduler.Event{Kind: scheduler.EventNodeRemove, Nodes: nodes})
}

// joiners are the names of nodes that join and leave in random sequences.
var joiners = []string{"a9", "j0", "j1"}

// genJoin draws a node that joins.
func genJoin(t *rapid.T) scheduler.NodeSpec {
	return scheduler.NodeSpec{
		Names: rapid.SampledFrom(joiners).Draw(t, "joiner"), CoresPerSocket: rapid.Int32Range(1, 4).Draw(t, "cores"), MemMiB: 1000,
		GRES: rapid.SampledFrom([]string{"", "gpu:x:1", "gpu:z:2"}).Draw(t, "gres"), Features: rapid.SampledFrom([][]string{nil, {"f"}, {"h"}}).Draw(t, "features"),
	}
}
