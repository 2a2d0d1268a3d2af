package slurmconf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// Bounds that Slurm sets. Source: spec/topology.md 1.4.
const (
	maxSwitchName = 64
	maxRing       = 16
	maxBlockRatio = 1 << 15
)

// CheckTopologies tests topologies as Slurm's controller does when it starts.
// What it refuses is an error of kind [ErrRefused], what it accepts with a
// message is a Warning. known says whether a node exists; nil takes every node
// as known.
//
// A node in two blocks, two rings or twice in a ring is an error too, although
// Slurm accepts it in silence and counts it twice.
//
// Source: spec/topology.md 1.4.
func CheckTopologies(list []Topology, known func(name string) bool) ([]Warning, error) {
	rd := new(reader)
	for i := range list {
		c := topoCheck{rd, &list[i], known}
		c.check()
	}
	return rd.warnings, rd.err()
}

type topoCheck struct {
	*reader
	t     *Topology
	known func(string) bool
}

func (c topoCheck) check() {
	t := c.t
	if t.Kind != Flat && len(t.Units) == 0 {
		c.fail(t.At, t.Name.V, refusedErr("the topology has no unit"))
		return
	}
	seen := map[string]Origin{}
	for i := range t.Units {
		u := &t.Units[i]
		if u.Name.V == "" {
			c.fail(u.At, "", refusedErr("a unit needs a name"))
		} else if at, ok := seen[u.Name.V]; ok {
			c.fail(u.At, u.Name.V, fmt.Errorf("%w: %w at %s", ErrRefused, ErrDuplicate, at))
		}
		seen[u.Name.V] = u.At
	}
	nodes := c.members()
	switch t.Kind {
	case Tree:
		c.tree()
	case Block:
		c.block(nodes)
	case Ring:
		c.ring(nodes)
	case Torus:
		c.torus(nodes)
	}
}

// members expands the units' node lists and tests them against the cluster.
func (c topoCheck) members() [][]string {
	out := make([][]string, len(c.t.Units))
	where := map[string]int{}
	for i := range c.t.Units {
		u := &c.t.Units[i]
		names, err := topology.ParseHostlist(u.Nodes.V)
		if err != nil {
			c.fail(u.Nodes.At, u.Nodes.V, err)
		}
		out[i] = names
		for _, r := range u.Regions {
			names, err := topology.ParseHostlist(r.Nodes.V)
			if err != nil {
				c.fail(r.Nodes.At, r.Nodes.V, err)
			}
			out[i] = append(out[i], names...)
		}
		for _, name := range out[i] {
			if c.known != nil && !c.known(name) {
				c.warn(u.At, name, "the node does not exist, it is skipped")
				continue
			}
			j, twice := where[name]
			where[name] = i
			switch {
			case !twice:
			case c.t.Kind == Tree && j != i:
				c.warn(u.At, name, "the node is on two leaf switches: %s and %s", c.t.Units[j].Name.V, u.Name.V)
			case c.t.Kind != Tree:
				c.fail(u.At, name, refusedErr("the node is in %s %s already", c.t.Kind, c.t.Units[j].Name.V))
			}
		}
	}
	return out
}

// tree tests the links of a tree.
func (c topoCheck) tree() {
	units := c.t.Units
	index := map[string]int{}
	for i := range units {
		index[units[i].Name.V] = i
	}
	children := make([][]int, len(units))
	parents := make([]int, len(units))
	for i := range units {
		u := &units[i]
		if len(u.Name.V) > maxSwitchName {
			c.fail(u.At, u.Name.V, refusedErr("a switch name has at most %d characters", maxSwitchName))
		}
		if u.Nodes.IsSet() && u.Switches.IsSet() {
			c.fail(u.At, u.Name.V, refusedErr("a switch has nodes or switches, not both"))
		}
		names, err := topology.ParseHostlist(u.Switches.V)
		if err != nil {
			c.fail(u.Switches.At, u.Switches.V, err)
		}
		for _, n := range names {
			j, ok := index[n]
			switch {
			case !ok:
				c.fail(u.Switches.At, n, refusedErr("there is no such switch"))
			case j == i:
				c.fail(u.Switches.At, n, refusedErr("the switch names itself"))
			default:
				children[i] = append(children[i], j)
				parents[j]++
			}
		}
	}
	if at := findCycle(children); at >= 0 {
		c.fail(units[at].At, units[at].Name.V, refusedErr("the switches form a cycle"))
		return
	}
	roots := 0
	for _, n := range parents {
		if n == 0 {
			roots++
		}
	}
	if roots > 1 {
		c.warn(c.t.At, c.t.Name.V, "no switch reaches all nodes: jobs cannot span its %d parts", roots)
	}
}

// findCycle returns a vertex on a cycle of the graph, or -1. It walks with an
// explicit stack: the input may be a chain of any length.
func findCycle(children [][]int) int {
	const (
		fresh = iota
		open
		done
	)
	state := make([]byte, len(children))
	type frame struct{ v, next int }
	for start := range children {
		if state[start] != fresh {
			continue
		}
		stack := []frame{{start, 0}}
		state[start] = open
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == len(children[f.v]) {
				state[f.v] = done
				stack = stack[:len(stack)-1]
				continue
			}
			w := children[f.v][f.next]
			f.next++
			switch state[w] {
			case open:
				return w
			case fresh:
				state[w] = open
				stack = append(stack, frame{w, 0})
			}
		}
	}
	return -1
}

// block tests the sizes; the first is the base.
func (c topoCheck) block(nodes [][]string) {
	t := c.t
	if !t.BlockSizes.IsSet() || len(t.BlockSizes.V) == 0 {
		if !slices.ContainsFunc(nodes, func(n []string) bool { return len(n) > 0 }) {
			c.fail(t.At, t.Name.V, refusedErr("neither block sizes nor nodes are given"))
		}
		return
	}
	if err := checkBlockSizes(t.BlockSizes.V); err != nil {
		c.fail(t.BlockSizes.At, formatInts(t.BlockSizes.V), err)
	}
}

// checkBlockSizes tests a list of block sizes: positive, and each the first
// times a power of two up to 2^15.
func checkBlockSizes(sizes []int64) error {
	base := sizes[0]
	for _, s := range sizes {
		if s <= 0 {
			return refusedErr("a block size is positive")
		}
		ratio := s / base
		if s%base != 0 || ratio&(ratio-1) != 0 {
			return refusedErr("%d is not the first size %d times a power of two", s, base)
		}
		if ratio > maxBlockRatio {
			return refusedErr("%d is more than %d times the first size", s, maxBlockRatio)
		}
	}
	return nil
}

func formatInts(list []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}

func (c topoCheck) ring(nodes [][]string) {
	for i, n := range nodes {
		if len(n) > maxRing {
			u := &c.t.Units[i]
			c.fail(u.Nodes.At, u.Name.V, refusedErr("a ring has at most %d nodes, not %d", maxRing, len(n)))
		}
	}
}

func volume(d [3]int64) int64 { return d[0] * d[1] * d[2] }

// torus tests dimensions, regions and placements.
func (c topoCheck) torus(nodes [][]string) {
	for i := range c.t.Units {
		u := &c.t.Units[i]
		d := u.Dims.V
		bad := func(format string, args ...any) { c.fail(u.At, u.Name.V, refusedErr(format, args...)) }
		for _, n := range d {
			if n < 1 || n > 1<<20 {
				bad("a dimension of the torus is out of range")
				d = [3]int64{}
				break
			}
		}
		if d == ([3]int64{}) {
			continue
		}
		switch {
		case u.Nodes.IsSet() && len(u.Regions) > 0:
			bad("a torus has nodes or regions, not both")
		case u.Nodes.IsSet() && int64(len(nodes[i])) != volume(d):
			bad("%d nodes for a torus of %d cells", len(nodes[i]), volume(d))
		}
		c.regions(u, bad)
		for _, p := range u.Placements {
			for k := range 3 {
				switch {
				case p.Dims[k] < 1 || p.Dims[k] > d[k]:
					bad("a placement's dimension is 0 or larger than the torus")
				case p.Spacing[k] < 0 || p.Spacing[k] > d[k]:
					bad("a placement's spacing is larger than the torus")
				case p.Seed[k] < 0 || p.Seed[k] >= d[k]:
					bad("a placement's seed is outside the torus")
				}
			}
		}
	}
}

// regions tests that boxes lie inside and apart and have their nodes.
func (c topoCheck) regions(u *Unit, bad func(string, ...any)) {
	for i, r := range u.Regions {
		names, _ := topology.ParseHostlist(r.Nodes.V)
		for k := range 3 {
			if r.Dims[k] < 1 || r.Anchor[k] < 0 || r.Anchor[k]+r.Dims[k] > u.Dims.V[k] {
				bad("region %d lies outside the torus", i)
				return
			}
		}
		if int64(len(names)) != volume(r.Dims) {
			bad("region %d has %d nodes for %d cells", i, len(names), volume(r.Dims))
		}
		for j, o := range u.Regions[:i] {
			apart := false
			for k := range 3 {
				apart = apart || r.Anchor[k]+r.Dims[k] <= o.Anchor[k] || o.Anchor[k]+o.Dims[k] <= r.Anchor[k]
			}
			if !apart {
				bad("regions %d and %d overlap", j, i)
			}
		}
	}
}
