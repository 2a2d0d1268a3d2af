package scheduler

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// pickReservation chooses the nodes or cores of x; at is the reservation that
// it replaces, -1 for none (spec: reservations 2.2 to 2.4).
func (e *engine) pickReservation(x *reservation, at int) error {
	x.nodes.Init(len(e.nodes))
	if x.spec.Nodes == "" {
		return e.pickByCount(x, at)
	}
	switch {
	case strings.EqualFold(x.spec.Nodes, "ALL") && x.spec.Partition != "":
		p, ok := e.partByKey[x.spec.Partition]
		if !ok {
			return fmt.Errorf("partition %q: %w", x.spec.Partition, ErrUnknownPartition)
		}
		x.nodes.Copy(&e.parts[p].nodes)
		x.flags |= resvAll
	case strings.EqualFold(x.spec.Nodes, "ALL"):
		x.nodes.Copy(&e.there)
		x.flags |= resvAll
	default:
		list, err := e.nodeList("reserved nodes", x.spec.Nodes)
		if err != nil {
			return err
		}
		x.nodes.Copy(list)
	}
	cores := len(x.spec.CoreCount) > 0
	for i := range e.resv.all {
		o := &e.resv.all[i]
		if i != at && !cores && len(o.cores) == 0 && (x.flags|o.flags)&(resvMaint|resvOverlap) == 0 && o.during(x.start, x.end) && o.nodes.Intersects(&x.nodes) {
			return fmt.Errorf("with %q: %w", o.spec.Name, ErrReservationOverlap)
		}
	}
	if cores {
		return e.pickCores(x, &x.nodes)
	}
	if x.flags&resvIgnoreJobs == 0 {
		for n := range x.nodes.All() {
			if e.busyPast(n, x.start) {
				return ErrReservationBusy
			}
		}
	}
	return nil
}

// busyPast reports whether a job on node n is expected to run past t.
func (e *engine) busyPast(n topology.NodeID, t Time) bool {
	for _, r := range e.nodes[n].jobs {
		if e.jobs.rows[r].end > t {
			return true
		}
	}
	return false
}

// pickByCount chooses among the nodes of the partition: first those in no other
// reservation then, for OVERLAP and MAINT all; nodes with jobs that run past the
// start last, and only with IGNORE_JOBS.
func (e *engine) pickByCount(x *reservation, at int) error {
	part := e.defPart
	if x.spec.Partition != "" {
		p, ok := e.partByKey[x.spec.Partition]
		if !ok {
			return fmt.Errorf("partition %q: %w", x.spec.Partition, ErrUnknownPartition)
		}
		part = p
	}
	if part < 0 {
		return fmt.Errorf("no partition given and none is the default: %w", ErrUnknownPartition)
	}
	all := e.parts[part].nodes.Clone()
	if x.flags&resvMaint == 0 {
		all.And(&e.up)
	}
	if x.spec.Features != "" {
		w, err := e.featureWish(x.spec.Features, false)
		if err != nil {
			return err
		}
		if !w.plain() {
			return fmt.Errorf("features %q: alternatives and counts: %w", x.spec.Features, ErrUnsupported)
		}
		all.And(&w.nodes)
	}
	free, shared := all.Clone(), all.Clone()
	for i := range e.resv.all {
		if o := &e.resv.all[i]; i != at && o.during(x.start, x.end) {
			free.AndNot(&o.nodes)
			if o.flags&resvOverlap == 0 {
				shared.AndNot(&o.nodes)
			}
		}
	}
	sets := []*topology.NodeSet{free, shared}
	if x.flags&(resvMaint|resvOverlap) != 0 {
		sets = append(sets, all)
	}
	for _, s := range sets {
		if len(x.spec.CoreCount) > 0 {
			if e.pickCores(x, s) == nil {
				return nil
			}
			continue
		}
		idle := s.Clone()
		for n := range s.All() {
			if e.busyPast(n, x.start) {
				idle.Remove(n)
			}
		}
		if x.flags&resvIgnoreJobs != 0 && idle.Count() < int(x.spec.NodeCount) {
			idle = s
		}
		if e.pickNodes(x, part, idle) {
			return nil
		}
	}
	return ErrReservationBusy
}

// pickNodes chooses whole nodes of set as a job would get them on an idle
// cluster.
func (e *engine) pickNodes(x *reservation, part int32, set *topology.NodeSet) bool {
	spec := JobSpec{Partitions: []string{e.parts[part].spec.Name}, MinNodes: x.spec.NodeCount, Exclusive: ExclusiveNode}
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	for r := range e.jobs.rows {
		if e.jobs.rows[r].running() {
			e.takeOff(int32(r))
		}
	}
	if !e.placeProbe(&spec, set) {
		return false
	}
	x.nodes.Clear()
	for _, n := range e.try.nodes {
		x.nodes.Add(n)
	}
	return true
}

// pickCores chooses cores beside what runs: one core a node on as many nodes as
// cores, or on fewer nodes where there are not so many.
func (e *engine) pickCores(x *reservation, set *topology.NodeSet) error {
	total := int32(0)
	for _, n := range x.spec.CoreCount {
		total += n
	}
	within := set.Clone()
	first := min(total, int32(within.Count()))
	if x.spec.NodeCount > 0 {
		first = min(first, x.spec.NodeCount)
	}
	part := e.defPart
	if x.spec.Partition != "" {
		part = e.partByKey[x.spec.Partition]
	}
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && j.end <= x.start {
			e.takeOff(int32(r))
		}
	}
	for n := first; n > 0; n-- {
		spec := JobSpec{Partitions: []string{e.parts[part].spec.Name}, MinNodes: n, Tasks: total}
		if !e.placeProbe(&spec, within) {
			continue
		}
		x.nodes.Clear()
		for _, n := range e.try.nodes {
			x.nodes.Add(n)
		}
		x.cores = copyGrants(nil, e.try.nodes, e.try.grants)
		for i := range x.cores {
			g := &x.cores[i].grant
			g.MemMiB, g.Devices, g.CPUs = 0, g.Devices[:0], 0
		}
		return nil
	}
	return ErrReservationBusy
}

// placeProbe places a request of the engine's own on the nodes of set with what
// the pool says is free; the place is in the scratch.
func (e *engine) placeProbe(spec *JobSpec, set *topology.NodeSet) bool {
	_, classes, err := e.compile(spec)
	if err != nil {
		return false
	}
	defer e.dropUnused(classes)
	s := &e.try
	c := &e.classes.rows[classes[0]]
	s.found, s.hold, s.refusal = false, false, topology.Refusal{}
	s.withdrawn = false
	s.within.Copy(c.nodes)
	s.within.And(set)
	return e.placeMany(c, Infinite, nil)
}
