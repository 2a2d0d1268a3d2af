package scheduler

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// adopt books a job that already runs. The allocation is checked whole before
// anything changes.
func (e *engine) adopt(now Time, ev *Event) error {
	s, a := ev.Submit, ev.Adopt
	if err := e.checkSpec("adopt", s); err != nil {
		return err
	}
	bad := func(what string, err error) error {
		return fmt.Errorf("scheduler: adopt job %d: %s: %w", s.ID, what, err)
	}
	if s.Dependency != "" {
		// What runs waits for nothing, but a later requeue reads the text.
		if _, err := ParseDependency(s.Dependency); err != nil {
			return bad("Dependency", err)
		}
	}
	if a == nil || len(a.Nodes) == 0 {
		return bad("no allocation given", ErrSpec)
	}
	if a.Start > now {
		return bad("start lies in the future", ErrSpec)
	}
	grants := make([]nodeGrant, len(a.Nodes))
	for i := range a.Nodes {
		if err := e.readAlloc(&grants[i], &a.Nodes[i]); err != nil {
			return bad("node "+a.Nodes[i].Node, err)
		}
	}
	slices.SortFunc(grants, func(x, y nodeGrant) int { return int(x.node - y.node) })
	for i := range grants {
		n := grants[i].node
		if i > 0 && grants[i-1].node == n {
			return bad("node "+e.names.Name(n)+" given twice", ErrSpec)
		}
		if err := e.pool.Shape(int32(n)).CheckGrant(e.pool.Row(int32(n)), &grants[i].grant); err != nil {
			return bad("node "+e.names.Name(n), fmt.Errorf("%w: %w", ErrAllocation, err))
		}
	}
	parts, classes, err := e.compile(s)
	if err != nil {
		return err
	}
	pair := 0
	if a.Partition != "" {
		p, ok := e.partByKey[a.Partition]
		if pair = slices.Index(parts, p); !ok || pair < 0 {
			e.dropUnused(classes)
			return bad("partition "+a.Partition, ErrUnknownPartition)
		}
	}
	// What runs is booked, whoever might not have let it start.
	ja, _ := e.resolve(s, parts)
	r := e.addJob(now, s, parts, classes, ja)
	j := &e.jobs.rows[r]
	j.state, j.partIdx = StateRunning, int16(pair)
	j.start = a.Start
	j.submit = min(j.submit, a.Start)
	if j.limit = a.Limit; j.limit == 0 {
		j.limit = e.timeLimit(j, pair)
	}
	j.end = j.start.Add(j.limit)
	j.alloc = append(j.alloc[:0], grants...)
	for i := range j.alloc {
		e.pool.Take(int32(j.alloc[i].node), &j.alloc[i].grant)
		e.joinNode(j.alloc[i].node, r)
	}
	e.tellPlacer(j, 1)
	e.counts.Running++
	e.countUse(j, 1)
	e.licensesFree(j, 0, now, 0)
	e.useLicenses(j, 1)
	e.charge(j)
	e.chargeSince(now, j)
	e.noteRun(r)
	if at := e.resvOf(j.spec); at >= 0 {
		e.enterReservation(r, e.resv.all[at].id)
	}
	if e.slicing() {
		e.pre.gang.join(j)
	}
	e.pushLimit(r)
	if e.classes.rows[j.classes[pair]].unitsAlone {
		e.holdUnits()
	}
	e.arrivals++
	return nil
}

// readAlloc makes a grant of what an allocation says in names.
func (e *engine) readAlloc(g *nodeGrant, a *NodeAlloc) error {
	id, ok := e.names.ID(a.Node)
	if !ok {
		return ErrUnknownNode
	}
	g.node = id
	sh := e.pool.Shape(int32(id))
	g.grant = gres.Grant{CPUs: a.CPUs, MilliCPU: a.CPUMilli, MemMiB: a.MemMiB, Cores: make([]uint64, sh.CoreWords())}
	for _, c := range a.Cores {
		if c < 0 || int(c) >= sh.Cores() {
			return fmt.Errorf("core %d of %d: %w", c, sh.Cores(), ErrSpec)
		}
		g.grant.Cores[c>>6] |= 1 << (c & 63)
	}
	for _, d := range a.Devices {
		group := -1
		if name, ok := e.devices.NameID(d.Name); ok {
			group = sh.Group(name)
		}
		typ, known := e.devices.TypeID(d.Type)
		if group < 0 || !known || d.Index < -1 || d.Index > 1<<14 {
			return fmt.Errorf("device %s:%s number %d: %w", d.Name, d.Type, d.Index, ErrSpec)
		}
		g.grant.Devices = append(g.grant.Devices, gres.DeviceGrant{Group: uint16(group), Type: typ, Device: int16(d.Index), Units: d.Units, Start: d.Start})
	}
	return nil
}

// pushLimit sets the timer of a running job's limit.
func (e *engine) pushLimit(r int32) {
	j := &e.jobs.rows[r]
	if j.end == Never || j.flags&flagEnding != 0 {
		return
	}
	if at := e.killTime(j); at != Never {
		e.timers.limits.push(timer{at: at, row: r, gen: j.gen, id: j.id})
	}
}

// updateJob changes a job as an update event says. What cannot be is refused
// before anything changes.
func (e *engine) updateJob(now Time, ev *Event, r int32) error {
	j := &e.jobs.rows[r]
	u := ev.Update
	bad := func(what string, err error) error {
		return fmt.Errorf("scheduler: update job %d: %s: %w", j.id, what, err)
	}
	switch {
	case u == nil:
		return bad("no change given", ErrSpec)
	case u.TimeLimit != nil && *u.TimeLimit <= 0:
		return bad("TimeLimit", ErrSpec)
	case j.state.Ended():
		return bad(j.state.String(), ErrJobState)
	}
	pendingOnly := u.Partitions != nil || u.QOS != nil || u.Account != nil || u.Begin != nil || u.Spec != nil || u.Priority != nil || u.Dependency != nil
	if pendingOnly && j.state != StatePending {
		return bad(j.state.String(), ErrJobState)
	}
	spec := j.asked()
	if u.Spec != nil {
		if u.Spec.ID != j.id {
			return bad("another id in Spec", ErrSpec)
		}
		spec = cloneSpec(u.Spec)
	}
	applyUpdate(&spec, u)
	if j.running() {
		e.jobs.ask(j, &spec)
		if u.TimeLimit != nil {
			j.limit = *u.TimeLimit
			j.end = j.start.Add(j.limit)
			e.pushLimit(r)
			e.touchJob(j)
			e.commitLeft(j)
			j.acct.admin = j.acct.admin || ev.ByAdmin
			e.freed++
		}
		return nil
	}
	dep, depends, err := e.newDependency(now, j, &spec, u)
	if err != nil {
		return err
	}
	use, err := e.readUses(&spec)
	if err != nil {
		return bad("Licenses", err)
	}
	parts, classes, err := e.compile(&spec)
	if err != nil {
		return err
	}
	if err := e.reaccount(j, &spec, parts, classes, u, ev.ByAdmin); err != nil {
		e.dropUnused(classes)
		return err
	}
	e.unqueue(r)
	e.dropPlans(r)
	e.holdClasses(classes)
	e.dropClasses(r)
	before := j.nameKey()
	e.jobs.ask(j, &spec)
	j.user = e.users.intern(spec.User)
	if !slices.Equal(j.parts, parts) {
		j.prios = j.prios[:0]
	}
	j.parts, j.classes = parts, classes
	j.partIdx, j.firstPair, j.licenses = 0, 0, use
	e.findQOS(j)
	e.book(j)
	if depends {
		e.replaceDependency(now, r, &dep)
	}
	e.rename(now, r, before)
	j.begin = max(spec.Begin, j.submit, j.since)
	j.limit = e.timeLimit(j, 0)
	e.watchDeadline(r)
	switch {
	case u.Priority == nil:
	case *u.Priority == 0:
		j.flags |= flagHeldAdmin
	default:
		user := j.flags & flagHeldUser
		if user == 0 {
			j.endHold(now)
		}
		j.flags = j.flags&^flagHeldAdmin | user
	}
	e.setEligible(now, r)
	e.requeueRecords(r)
	e.endInvalid(now, r)
	return nil
}

// applyUpdate stores the plain fields of u in spec.
func applyUpdate(spec *JobSpec, u *JobUpdate) {
	set(&spec.Priority, u.Priority)
	set(&spec.Nice, u.Nice)
	set(&spec.SiteFactor, u.SiteFactor)
	set(&spec.TimeLimit, u.TimeLimit)
	set(&spec.TimeMin, u.TimeMin)
	set(&spec.Account, u.Account)
	set(&spec.Begin, u.Begin)
	set(&spec.Deadline, u.Deadline)
	set(&spec.Dependency, u.Dependency)
	if u.Partitions != nil {
		spec.Partitions = slices.Clone(u.Partitions)
	}
	if u.QOS != nil {
		spec.QOS = slices.Clone(u.QOS)
	}
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// nodeList returns the set of a hostlist, nil for an empty one.
func (e *engine) nodeList(what, hosts string) (*topology.NodeSet, error) {
	if hosts == "" {
		return nil, nil
	}
	ids, err := e.appendNodes(nil, what, hosts)
	if err != nil {
		return nil, err
	}
	s := new(topology.NodeSet)
	s.Init(len(e.nodes))
	for _, id := range ids {
		s.Add(id)
	}
	return s, nil
}
