package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// admitsAny reports whether a list of names admits any of the given ones; an empty
// list admits all, a leading minus denies.
func admitsAny(list []string, names ...string) bool {
	if len(list) == 0 {
		return true
	}
	deny := strings.HasPrefix(list[0], "-")
	for _, l := range list {
		if slices.Contains(names, strings.TrimPrefix(l, "-")) {
			return !deny
		}
	}
	return deny
}

// checkReservations refuses a job whose reservations do not exist, or do not
// let it in (spec: reservations 4).
func (e *engine) checkReservations(s *JobSpec) error {
	for _, name := range s.Reservations {
		at := e.resvByName(name)
		if at < 0 {
			return fmt.Errorf("reservation %q: %w", name, ErrReservationInvalid)
		}
		x := &e.resv.all[at].spec
		switch {
		case s.User == "root":
		case !admitsAny(x.Users, s.User), len(x.Groups) > 0 && !admitsAny(x.Groups, s.Groups...), !admitsAny(x.Accounts, e.accountLine(s.Account)...):
			return fmt.Errorf("reservation %q: %w", name, ErrReservationAccess)
		case len(s.QOS) > 0 && !admitsAny(x.QOS, s.QOS...), len(s.Partitions) > 0 && !admitsAny(x.Partitions, s.Partitions...):
			return fmt.Errorf("reservation %q: QOS or partition: %w", name, ErrNeverRuns)
		}
	}
	return nil
}

// accountLine is an account and those above it.
func (e *engine) accountLine(name string) []string {
	line := []string{name}
	for range e.cfg.Accounts {
		i := slices.IndexFunc(e.cfg.Accounts, func(a AssocSpec) bool { return a.User == "" && a.Account == line[len(line)-1] })
		if i < 0 || e.cfg.Accounts[i].Parent == "" {
			break
		}
		line = append(line, e.cfg.Accounts[i].Parent)
	}
	return line
}

// resvWaits reports whether a job must wait for its reservation to begin, or for
// the record of it to go.
func (e *engine) resvWaits(s *JobSpec) bool {
	if len(s.Reservations) == 0 {
		return false
	}
	at := e.resvOf(s)
	if at < 0 {
		return false
	}
	x := &e.resv.all[at]
	return e.now >= x.end || x.start > e.now && x.flags&resvFlex == 0
}

// turnReservations makes reservations begin and end (spec: reservations 6.2).
func (e *engine) turnReservations() {
	if e.now < e.resv.nextAt {
		return
	}
	for i := 0; i < len(e.resv.all); {
		x := &e.resv.all[i]
		if x.end > e.now || e.resvUsed(x.spec.Name, false) {
			i++
			continue
		}
		name, hold := x.spec.Name, x.flags&resvNoHold == 0
		e.dropReservation(i)
		for r := range e.jobs.rows {
			j := &e.jobs.rows[r]
			if j.state != StatePending || !slices.Contains(j.spec.Reservations, name) || e.resvOf(&j.spec) >= 0 {
				continue
			}
			if hold {
				j.flags |= flagHeldAdmin
				j.eligible, j.reason = Never, ReasonReservationDeleted
			} else {
				j.spec.Reservations = nil
			}
		}
	}
	e.resvChanged()
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.state == StatePending && len(j.spec.Reservations) > 0 {
			e.requeueRecords(int32(r))
		}
	}
}

// resvEnd is when a running job is ended by the end of its reservation (spec:
// reservations 7.5).
func (e *engine) resvEnd(j *job) Time {
	if len(j.spec.Reservations) == 0 {
		return Never
	}
	if at := e.resvOf(&j.spec); at >= 0 && e.resv.all[at].flags&resvFlex == 0 {
		return e.resv.all[at].end.Add(e.par.ResvOverRun)
	}
	return Never
}

// keepReserved readies a try over [from, from+limit) for the reservations: from
// the set of the try it takes the nodes that are not the job's to use, and in
// the pool it books cores that are not. releaseReserved takes that back.
func (e *engine) keepReserved(s *JobSpec, from Time, limit time.Duration) {
	e.resv.mark = -1
	if len(e.resv.all) == 0 {
		return
	}
	mine := e.resvOf(s)
	to := from.Add(limit)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if i == mine {
			e.keepInside(x)
			continue
		}
		if !x.during(from, to) || mine >= 0 && e.passesOver(&e.resv.all[mine], x) {
			continue
		}
		if len(x.cores) == 0 {
			e.try.within.AndNot(&x.nodes)
			continue
		}
		for k := range x.cores {
			e.bookCores(&x.cores[k], false)
		}
	}
}

// passesOver reports whether jobs of reservation x need not heed o.
func (e *engine) passesOver(x, o *reservation) bool {
	return x.flags&resvMaint != 0 || x.flags&resvOverlap != 0 && o.flags&resvMaint == 0
}

// keepInside keeps a job on the nodes and cores of its reservation.
func (e *engine) keepInside(x *reservation) {
	if x.flags&resvFlex != 0 {
		return
	}
	e.try.within.And(&x.nodes)
	for k := range x.cores {
		e.bookCores(&x.cores[k], true)
	}
}

// bookCores books the free cores of a reserved grant, or the free cores of its
// node that are not in it.
func (e *engine) bookCores(a *nodeGrant, others bool) {
	if e.resv.mark < 0 {
		e.resv.mark = e.pool.Mark()
	}
	n := int32(a.node)
	sh := e.pool.Shape(n)
	used := sh.UsedCores(e.pool.Row(n))
	g := &e.resv.kept
	g.Cores = append(g.Cores[:0], a.grant.Cores...)
	for w := range g.Cores {
		if others {
			g.Cores[w] = ^g.Cores[w]
			if left := sh.Cores() - 64*w; left < 64 {
				g.Cores[w] &= 1<<max(left, 0) - 1
			}
		}
		g.Cores[w] &^= used[w]
	}
	e.pool.Take(n, g)
}

// releaseReserved takes back what keepReserved booked.
func (e *engine) releaseReserved() {
	if len(e.resv.all) > 0 && e.resv.mark >= 0 {
		e.pool.Rollback(e.resv.mark)
		e.resv.mark = -1
	}
}

// resvClash reports whether the place in the scratch is on nodes reserved for
// others during [t, t+limit).
func (e *engine) resvClash(s *JobSpec, t Time, limit time.Duration) bool {
	mine := e.resvOf(s)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if i == mine || !x.during(t, t.Add(limit)) || len(x.cores) > 0 || mine >= 0 && e.passesOver(&e.resv.all[mine], x) {
			continue
		}
		if slices.ContainsFunc(e.try.nodes, x.nodes.Has) {
			return true
		}
	}
	return false
}

// placeReserved places a request on the nodes of the try. A job of a FLEX
// reservation takes that reservation's nodes if they are enough.
func (e *engine) placeReserved(c *class, s *JobSpec, limit time.Duration, plans *planner) bool {
	if len(s.Reservations) > 0 {
		if at := e.resvOf(s); at >= 0 && e.resv.all[at].flags&resvFlex != 0 {
			all, outside := c.all, e.try.within.Clone()
			c.all = false
			e.try.within.And(&e.resv.all[at].nodes)
			ok := e.placeNow(c, limit, plans)
			c.all = all
			if ok {
				return true
			}
			e.try.within.Copy(outside)
		}
	}
	if len(e.resv.all) == 0 {
		return e.placeNow(c, limit, plans)
	}
	all := c.all
	c.all = false
	ok := e.placeNow(c, limit, plans)
	c.all = all
	return ok
}

// resvStops handles a record that found no place while there are reservations:
// it reports whether the partition is not blocked by it, since it waits within
// its reservation, or since what is not reserved could never serve it.
func (e *engine) resvStops(rec record) bool {
	j := &e.jobs.rows[rec.row]
	if at := e.resvOf(&j.spec); at >= 0 {
		return e.resv.all[at].flags&resvFlex == 0
	}
	c := &e.classes.rows[j.classes[rec.pair]]
	e.openFit(rec)
	e.releaseReserved()
	left := e.try.within.Clone()
	left.And(&e.up)
	if c.req.Has(gres.WholeNode) {
		e.dropCoreNodes(left, e.now, e.timeLimit(j, int(rec.pair)))
	}
	n := left.Count()
	if n == c.nodes.CountAnd(&e.up) && !e.coresReserved(e.now, e.timeLimit(j, int(rec.pair))) {
		return false
	}
	if n > 0 && (n < int(c.min) || e.fitsIdle(rec, left)) {
		return false
	}
	j.reason = ReasonReqNodeNotAvail
	return true
}

// dropCoreNodes takes nodes with cores reserved during [from, from+limit) off set.
func (e *engine) dropCoreNodes(set *topology.NodeSet, from Time, limit time.Duration) {
	for i := range e.resv.all {
		if x := &e.resv.all[i]; len(x.cores) > 0 && x.during(from, from.Add(limit)) {
			set.AndNot(&x.nodes)
		}
	}
}

// coresReserved reports whether cores are reserved at any time of
// [from, from+limit).
func (e *engine) coresReserved(from Time, limit time.Duration) bool {
	return slices.ContainsFunc(e.resv.all, func(x reservation) bool { return len(x.cores) > 0 && x.during(from, from.Add(limit)) })
}

// fitsIdle reports whether a record fits on the nodes of set when no job runs.
func (e *engine) fitsIdle(rec record, set *topology.NodeSet) bool {
	mark := e.pool.Mark()
	defer e.pool.Rollback(mark)
	for r := range e.jobs.rows {
		if e.jobs.rows[r].running() {
			e.takeOff(int32(r))
		}
	}
	j := &e.jobs.rows[rec.row]
	return e.tryOn(rec, set, e.now, e.timeLimit(j, int(rec.pair)))
}

// hashReservations folds the reservations into one number.
func (e *engine) hashReservations() uint64 {
	h := uint64(0)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		h += mix(mix(uint64(x.id)^uint64(x.start)) ^ uint64(x.end))
		for n := range x.nodes.All() {
			h += mix(uint64(x.id)<<32 ^ uint64(n))
		}
	}
	return h
}

// visitReservations visits what was chosen for the reservations of the
// configuration.
func (e *engine) visitReservations(c *codec) {
	num(c, &e.resv.nextID)
	num(c, &e.resv.nextAt)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		num(c, &x.id)
		words := x.nodes.Words()
		for w := range words {
			c.uint(&words[w])
		}
		list(c, &x.cores, func(c *codec, a *nodeGrant) {
			num(c, &a.node)
			visitGrant(c, &a.grant)
			if c.reading && c.err == nil && (!e.placed(a.node) || len(a.grant.Cores) != e.pool.Shape(int32(a.node)).CoreWords()) {
				c.fail("reserved cores")
			}
		})
		if tail := uint(len(e.nodes)) & 63; c.reading && c.err == nil && tail != 0 && words[len(words)-1]>>tail != 0 {
			c.fail("reserved nodes")
		}
		if c.reading && c.err == nil {
			x.nodes.And(&e.there)
		}
		if c.err != nil {
			return
		}
	}
}
