package scheduler

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth/topology"
)

// maxPlaces bounds MaxNodes.
const maxPlaces = 1 << 22

// Validate returns every problem of c that can be seen without building, in
// field order, joined; nil if there is none. It changes nothing.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("scheduler: check config: "+format+": %w", append(args, ErrSpec)...))
	}
	if len(c.Nodes) == 0 && c.MaxNodes == 0 {
		bad("no nodes")
	}
	if c.MaxNodes < 0 || c.MaxNodes > maxPlaces {
		bad("room for %d nodes", c.MaxNodes)
	}
	errs = append(errs, c.checkNodeSets()...)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if _, err := topology.ParseHostlist(n.Names); err != nil || n.Names == "" {
			bad("node %d: names %q", i, n.Names)
		}
		for _, f := range []struct {
			name string
			v    int64
		}{
			{"sockets", int64(n.Sockets)}, {"cores per socket", int64(n.CoresPerSocket)}, {"threads per core", int64(n.ThreadsPerCore)},
			{"CPUs", int64(n.CPUs)}, {"milli-CPUs", n.CPUMilli}, {"memory", n.MemMiB}, {"specialised memory", n.MemSpecMiB}, {"temporary disk", n.TmpMiB},
		} {
			if f.v < 0 {
				bad("node %q: %s %d is negative", n.Names, f.name, f.v)
			}
		}
		if hosts, _ := topology.ParseHostlist(n.Names); n.Slot != 0 && (n.Slot < 0 || len(hosts) != 1) {
			bad("node %q: slot %d", n.Names, n.Slot)
		}
		if n.CPUMilli > 0 && (n.Sockets > 0 || n.CoresPerSocket > 0 || n.CPUs > 0) {
			bad("node %q: both CPU counts and milli-CPUs", n.Names)
		}
	}
	names := map[string]bool{}
	for i := range c.Partitions {
		p := &c.Partitions[i]
		switch {
		case p.Name == "":
			bad("partition %d: no name", i)
		case names[p.Name]:
			bad("partition %q: given twice", p.Name)
		case p.Nodes == "":
			bad("partition %q: no nodes", p.Name)
		case p.MinNodes < 0 || p.MaxNodes < 0 || p.MaxTime < 0 || p.DefaultTime < 0:
			bad("partition %q: a limit is negative", p.Name)
		}
		if _, _, err := readShare(p.Oversubscribe); err != nil {
			bad("partition %q: %v", p.Name, err)
		}
		names[p.Name] = true
	}
	par := &c.Parameters
	if par.Plan.Depth < 0 || par.Queue.Depth < 0 || par.Plan.MaxSteps < 0 || par.Queue.MaxSteps < 0 {
		bad("parameters: a bound is negative")
	}
	if par.Plan.Fill >= fills {
		bad("parameters: fill %d", par.Plan.Fill)
	}
	if par.Plan.Promise >= promises {
		bad("parameters: promise %d", par.Plan.Promise)
	}
	errs = append(errs, par.checkAccounting()...)
	return errors.Join(errs...)
}
