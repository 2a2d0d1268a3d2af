package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// pickReservation chooses the nodes or cores of x; at is the reservation that
// it replaces, -1 for none (spec: reservations 2.2 to 2.4).
func (e *engine) pickReservation(x *reservation, at int) error {
	x.nodes.Init(len(e.nodes))
	x.cores, x.devices, x.counted = nil, nil, false
	x.flags &^= resvSpecNodes | resvAllNodes
	want, err := e.wantOf(&x.spec)
	switch {
	case err != nil:
		return err
	case x.spec.Nodes != "":
		err = e.pickNamed(x, at, &want)
	case want.nodes > 0 || len(want.cores) > 0 || len(want.devices) > 0:
		x.counted = true
		err = e.pickByCount(x, at, &want)
	}
	if err == nil {
		err = e.capDevices(x, &want)
	}
	return err
}

// pickNamed takes the nodes that were named.
func (e *engine) pickNamed(x *reservation, at int, want *resvWant) error {
	if err := e.namedNodes(x); err != nil {
		return err
	}
	if n := int(want.nodes); n > 0 && n < x.nodes.Count() {
		e.shrink(x, n)
	}
	for i := range e.resv.all {
		o := &e.resv.all[i]
		partial := len(want.cores) > 0 && len(o.cores) > 0 // cores are compared instead
		if i != at && !partial && (x.flags|o.flags)&(resvMaint|resvOverlap) == 0 && o.nodes.Intersects(&x.nodes) && e.coincide(x, o) {
			return fmt.Errorf("with %q: %w", o.spec.Name, ErrReservationOverlap)
		}
	}
	switch {
	case len(want.cores) > 1:
		return e.pickCoresOn(x, want.cores)
	case len(want.cores) > 0:
		return e.pickCores(x, &x.nodes, want)
	}
	if x.flags&resvIgnoreJobs == 0 {
		for n := range x.nodes.All() {
			if e.busyPast(n, x.start+1, at) {
				return ErrReservationBusy
			}
		}
	}
	if n := want.nodes; int(n) > x.nodes.Count() {
		return e.changeCount(x, at, n) // others beside them
	}
	return nil
}

// pickCoresOn chooses so many cores on each of the nodes of x, in node order.
func (e *engine) pickCoresOn(x *reservation, counts []int32) error {
	if len(counts) != x.nodes.Count() {
		return fmt.Errorf("core counts %d for %d nodes: %w", counts, x.nodes.Count(), ErrSpec)
	}
	y := reservation{spec: x.spec, flags: x.flags, start: x.start, end: x.end}
	y.nodes.Init(len(e.nodes))
	var one topology.NodeSet
	one.Init(len(e.nodes))
	for i, n := range x.nodes.AppendIDs(nil) {
		one.Clear()
		one.Add(n)
		if err := e.pickCores(&y, &one, &resvWant{cores: counts[i : i+1]}); err != nil {
			return err
		}
		x.cores = append(x.cores, y.cores...)
	}
	return nil
}

// namedNodes stores the nodes that a specification names.
func (e *engine) namedNodes(x *reservation) error {
	x.flags |= resvSpecNodes
	if !strings.EqualFold(x.spec.Nodes, "ALL") {
		list, err := e.reservedList(x.spec.Nodes)
		if err == nil {
			x.nodes.Copy(list)
		}
		return err
	}
	if x.spec.Partition == "" {
		x.nodes.Copy(&e.there)
		x.flags |= resvAllNodes
		return nil
	}
	p, err := e.partNamed(x.spec.Partition)
	if err == nil {
		x.nodes.Copy(&e.parts[p].nodes)
	}
	return err
}

// reservedList reads a hostlist that names a node at least.
func (e *engine) reservedList(hosts string) (*topology.NodeSet, error) {
	list, err := e.nodeList("reserved nodes", hosts)
	if err == nil && (list == nil || list.Empty()) {
		err = fmt.Errorf("nodes %q: %w", hosts, ErrUnknownNode)
	}
	return list, err
}

// busyPast reports whether a job on node n, other than those of reservation
// number at, is expected to run up to t or past it.
func (e *engine) busyPast(n topology.NodeID, t Time, at int) bool {
	for _, r := range e.nodes[n].jobs {
		j := &e.jobs.rows[r]
		if j.end >= t && (at < 0 || j.resv != e.resv.all[at].id) {
			return true
		}
	}
	return false
}

// resvPart is the partition from which nodes are chosen.
func (e *engine) resvPart(x *reservation) (int32, error) {
	if x.spec.Partition != "" {
		return e.partNamed(x.spec.Partition)
	}
	if e.defPart < 0 {
		return -1, fmt.Errorf("no partition given and none is the default: %w", ErrUnknownPartition)
	}
	return e.defPart, nil
}

// candidates are the sets of nodes from which a reservation by count is chosen,
// in order: those up in no other reservation then, those in none but OVERLAP ones,
// for OVERLAP and MAINT all that are up, for MAINT all there are (spec:
// reservations 2.4).
func (e *engine) candidates(x *reservation, at int, part int32) (sets []*topology.NodeSet, err error) {
	all := e.parts[part].nodes.Clone()
	if x.spec.Features != "" {
		w, err := e.featureWish(x.spec.Features, false)
		if err != nil {
			return nil, err
		}
		all.And(&w.nodes)
	}
	up := all.Clone()
	up.And(&e.up)
	free, shared := up.Clone(), up.Clone()
	for i := range e.resv.all {
		e.resv.looks++
		if o := &e.resv.all[i]; i != at && e.coincide(x, o) {
			free.AndNot(&o.nodes)
			if o.flags&resvOverlap == 0 {
				shared.AndNot(&o.nodes)
			}
		}
	}
	sets = []*topology.NodeSet{free, shared}
	if x.flags&(resvMaint|resvOverlap) != 0 {
		sets = append(sets, up)
	}
	if x.flags&resvMaint != 0 {
		sets = append(sets, all)
	}
	return sets, nil
}

// idleOf are the nodes of set on which no job is expected to run at the start of x
// or later; with IGNORE_JOBS, where they are fewer than n, those of running jobs
// too, job by job in the order in which they came.
func (e *engine) idleOf(x *reservation, at int, set *topology.NodeSet, n int) *topology.NodeSet {
	idle := set.Clone()
	for id := range set.All() {
		e.resv.looks++
		if e.busyPast(id, x.start, at) {
			idle.Remove(id)
		}
	}
	if x.flags&resvIgnoreJobs == 0 || idle.Count() >= n {
		return idle
	}
	for _, r := range e.runningRows() {
		for i := range e.jobs.rows[r].alloc {
			if id := e.jobs.rows[r].alloc[i].node; set.Has(id) {
				idle.Add(id)
			}
		}
		if idle.Count() >= n {
			break
		}
	}
	return idle
}

// runningRows lists the rows of running jobs by submission.
func (e *engine) runningRows() []int32 {
	var rows []int32
	for r := range e.jobs.rows {
		if e.jobs.rows[r].running() {
			rows = append(rows, int32(r))
		}
	}
	slices.SortFunc(rows, func(a, b int32) int {
		x, y := &e.jobs.rows[a], &e.jobs.rows[b]
		return cmp.Or(cmp.Compare(x.submit, y.submit), cmp.Compare(x.spec.ID, y.spec.ID))
	})
	return rows
}

// pickByCount chooses among the candidates, from the first set that holds enough
// nodes without jobs that run past the start.
func (e *engine) pickByCount(x *reservation, at int, want *resvWant) error {
	part, err := e.resvPart(x)
	if err != nil {
		return err
	}
	sets, err := e.candidates(x, at, part)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if len(want.cores) > 0 {
			if e.pickCores(x, s, want) == nil {
				return nil
			}
			continue
		}
		if e.pickDevices(x, part, e.idleOf(x, at, s, int(want.nodes)), want) {
			return nil
		}
	}
	return ErrReservationBusy
}

// pickDevices chooses as many whole nodes of set as are wanted, or as hold the
// devices that are wanted.
func (e *engine) pickDevices(x *reservation, part int32, set *topology.NodeSet, want *resvWant) bool {
	if len(want.devices) == 0 {
		return e.pickNodes(x, part, set, want.nodes)
	}
	with := set.Clone()
	for n := range set.All() {
		for _, d := range want.devices {
			if e.devicesOn(n, d) == 0 {
				with.Remove(n)
			}
		}
	}
	for k := max(want.nodes, 1); int(k) <= with.Count(); k++ {
		if !e.pickNodes(x, part, with, k) {
			return false
		}
		enough := true
		for _, d := range want.devices {
			sum := int64(0)
			for n := range x.nodes.All() {
				sum += e.devicesOn(n, d)
			}
			enough = enough && sum >= d.count
		}
		if enough {
			return true
		}
		if want.nodes > 0 {
			break
		}
	}
	return false
}

// devicesOn counts the devices of a kind on node n.
func (e *engine) devicesOn(n topology.NodeID, d resvDevice) int64 {
	sh := e.pool.Shape(int32(n))
	if g := sh.Group(d.name); g >= 0 {
		return sh.TypeCount(g, d.typ)
	}
	return 0
}

// capDevices notes what the jobs of a reservation of devices may hold at most.
func (e *engine) capDevices(x *reservation, want *resvWant) error {
	for _, d := range want.devices {
		name := "gres/" + e.devices.Name(d.name)
		if d.typ != 0 {
			name += ":" + e.devices.Type(d.typ)
		}
		k, ok := e.schema.Kind(name)
		if !ok { // the type is not tracked: all types count
			k, ok = e.schema.Kind("gres/" + e.devices.Name(d.name))
		}
		if !ok {
			return fmt.Errorf("%s is not tracked: %w", name, ErrSpec)
		}
		sum := int64(0)
		for n := range x.nodes.All() {
			sum += e.devicesOn(n, d)
		}
		if sum < d.count {
			return ErrReservationBusy
		}
		x.devices = append(x.devices, resvCount{k, d.count})
	}
	return nil
}

// pickNodes chooses n whole nodes of set as a job would get them on an idle
// cluster.
func (e *engine) pickNodes(x *reservation, part int32, set *topology.NodeSet, n int32) bool {
	spec := JobSpec{Partitions: []string{e.parts[part].spec.Name}, MinNodes: n, Exclusive: ExclusiveNode, Constraint: x.spec.Features}
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	e.resv.looks += int64(len(e.jobs.rows))
	for r := range e.jobs.rows {
		if e.jobs.rows[r].running() {
			e.takeOff(int32(r))
		}
	}
	if !e.placeProbe(&spec, set) {
		return x.flags&resvMaint != 0 && e.pickDown(x, set, n)
	}
	x.nodes.Clear()
	for _, n := range e.try.nodes {
		x.nodes.Add(n)
	}
	return true
}

// pickDown takes n nodes of set, those that are up first and each kind in node
// order, and reports whether there are as many: maintenance may be of nodes that
// are down.
func (e *engine) pickDown(x *reservation, set *topology.NodeSet, n int32) bool {
	if e.up.Contains(set) || set.Count() < int(n) || strings.ContainsAny(x.spec.Features, "[*") {
		return false
	}
	x.nodes.Clear()
	for _, up := range []bool{true, false} {
		for id := range set.All() {
			if x.nodes.Count() < int(n) && e.up.Has(id) == up {
				x.nodes.Add(id)
			}
		}
	}
	return true
}

// pickCores chooses cores beside what runs: one core a node on as many nodes as
// cores, or on fewer nodes where there are not so many.
func (e *engine) pickCores(x *reservation, set *topology.NodeSet, want *resvWant) error {
	total := int32(0)
	for _, n := range want.cores {
		total += n
	}
	within := set.Clone()
	first := min(total, int32(within.Count()))
	if want.nodes > 0 {
		first = min(first, want.nodes)
	}
	part, err := e.resvPart(x)
	if err != nil {
		return err
	}
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.running() && j.end < x.start {
			e.takeOff(int32(r))
		}
	}
	for i := range e.resv.all {
		o := &e.resv.all[i]
		for k := range o.cores {
			if (x.flags|o.flags)&(resvMaint|resvOverlap) == 0 && e.coincide(x, o) {
				e.bookFree(&o.cores[k], false)
			}
		}
	}
	spec := JobSpec{Partitions: []string{e.parts[part].spec.Name}, MinNodes: 1, MaxNodes: first, NodesRange: true, Tasks: total}
	if total == 1 && e.topos[e.parts[part].topo].top.Kind() == topology.KindFlat {
		e.leastRun(within)
	}
	if !e.placeProbe(&spec, within) {
		return ErrReservationBusy
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

// leastRun leaves of set the run of consecutive nodes with free cores that has the
// fewest of them: where Slurm puts a reservation of one core.
func (e *engine) leastRun(set *topology.NodeSet) {
	best, run := topology.NodeSet{}, topology.NodeSet{}
	best.Init(len(e.nodes))
	run.Init(len(e.nodes))
	least, cores := 0, 0
	for i := range len(e.nodes) + 1 {
		n := topology.NodeID(i)
		free := 0
		if i < len(e.nodes) && set.Has(n) && e.up.Has(n) {
			free = e.pool.Shape(int32(n)).FreeCores(e.pool.Row(int32(n)))
		}
		if free > 0 {
			run.Add(n)
			cores += free
			continue
		}
		if cores > 0 && (least == 0 || cores < least) {
			best.Copy(&run)
			least = cores
		}
		run.Clear()
		cores = 0
	}
	set.Copy(&best)
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
	s.withdrawn, s.capNodes, s.prefer, s.cut, s.uses = false, 0, false, true, nil
	e.resv.inside = nil
	s.within.Copy(c.nodes)
	s.within.And(set)
	return e.placeNow(c, Infinite, nil)
}
