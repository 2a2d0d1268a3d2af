package scheduler

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// blockReserved readies a search for the reservations: which keep the job off
// their nodes and cores, and which it must stay in.
func (e *engine) blockReserved() {
	s := &e.plans.find
	if len(e.resv.all) == 0 {
		return
	}
	s.mine = e.resvAt(s.record.resv)
	s.until = min(s.until, e.resvLast(s.record))
	for i := range e.resv.all {
		x := &e.resv.all[i]
		switch {
		case i == s.mine && x.flags&(resvFlex|resvAnyNodes) != 0:
			continue
		case i == s.mine:
			e.try.within.And(&x.nodes)
		case i != s.mine && e.passesOver(x, s.record):
			continue
		}
		switch {
		case len(x.cores) > 0:
			s.cores = append(s.cores, int32(i))
		case i != s.mine:
			s.block = append(s.block, int32(i))
		}
	}
}

// clearFrom returns the first start at or after at whose time meets no
// reservation of node n for others.
func (e *engine) clearFrom(n topology.NodeID, at Time) Time {
	s := &e.plans.find
	left := mostRepeats
	for i := 0; i < len(s.block); i++ {
		x := &e.resv.all[s.block[i]]
		if !x.nodes.Has(n) {
			continue
		}
		start, end := e.spanFrom(x, at)
		if start >= at.Add(s.limit) || end <= at {
			continue
		}
		if start > x.start {
			left--
		}
		if at = end; at == Never || left == 0 {
			return Never
		}
		i = -1
	}
	return at
}

// mostRepeats is how many occurrences of what repeats a search goes past on one
// node: a job that is too long for the time between them never fits there.
const mostRepeats = 16

// lastClear returns the last start up to last whose time meets none, if at
// does not.
func (e *engine) lastClear(n topology.NodeID, at, last Time) Time {
	s := &e.plans.find
	for _, i := range s.block {
		x := &e.resv.all[i]
		if start, _ := e.spanFrom(x, at); x.nodes.Has(n) && start > at {
			if s.span == Never {
				return at
			}
			last = min(last, start-s.span)
		}
	}
	return last
}

// coresKept reports whether cores of node n are reserved.
func (e *engine) coresKept(n topology.NodeID) bool {
	for _, i := range e.plans.find.cores {
		if e.resv.all[i].nodes.Has(n) {
			return true
		}
	}
	return false
}

// overlayCores regards as used in a row of node n what reservations keep from
// the job over its limit from t.
func (e *engine) overlayCores(sh *gres.Shape, row []uint64, n topology.NodeID, t Time) {
	s := &e.plans.find
	used := sh.UsedCores(row)
	for _, i := range s.cores {
		x := &e.resv.all[i]
		if int(i) != s.mine && !e.holdsDuring(x, t, t.Add(s.limit)) {
			continue
		}
		at := indexOfGrant(x.cores, n)
		if at == len(x.cores) || x.cores[at].node != n {
			continue
		}
		for w, c := range x.cores[at].grant.Cores {
			if int(i) == s.mine {
				c = ^c
				if left := sh.Cores() - 64*w; left < 64 {
					c &= 1<<max(left, 0) - 1
				}
			}
			used[w] |= c
		}
	}
}

// nextChange returns the first instant after t at which node n may give a
// request more.
func (e *engine) nextChange(n topology.NodeID, t Time) Time {
	at := e.plans.nextStep(n, t)
	if e.plans.find.class.shares {
		at = min(at, e.nextShared(n, t))
	}
	for _, i := range e.plans.find.cores {
		if x := &e.resv.all[i]; x.nodes.Has(n) {
			at = min(at, e.endAfter(x, t, e.plans.lastStep(n)))
		}
	}
	return at
}

// A licenseTurn is an instant at which the use of a licence pool changes.
type licenseTurn struct {
	at    Time
	pool  int32
	row   int32 // of the job that holds some or plans to, -1 none
	delta int64
}

// listLicenses lists how the use of licences changes from now on, by what runs
// and what is planned.
func (e *engine) listLicenses() {
	p := &e.plans
	p.licensed = p.licensed[:0]
	add := func(row int32, u *licenseUse, at Time, sign int64) {
		for i, a := range u.asks {
			if at != Never && (!u.or || int(u.pick) == i) {
				p.licensed = append(p.licensed, licenseTurn{at, a.pool, row, sign * a.count})
			}
		}
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; len(j.licenses.asks) > 0 && j.running() {
			add(int32(r), &j.licenses, e.expectedEnd(j), -1)
		}
	}
	for i := range p.all[:p.n] {
		if x := &p.all[i]; x.row >= 0 && x.booked {
			u := e.jobs.rows[x.row].licenses
			u.pick = x.pick
			add(x.row, &u, max(x.start, e.now+1), 1)
			add(x.row, &u, x.end, -1)
		}
	}
	e.listReserved()
	slices.SortFunc(p.licensed, func(a, b licenseTurn) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.pool, b.pool), cmp.Compare(a.delta, b.delta))
	})
	p.licenseStale = false
}

// listReserved adds the instants at which reservations give licences back, to what
// runs and is planned.
func (e *engine) listReserved() {
	p := &e.plans
	last := e.now
	for i := range p.licensed {
		last = max(last, p.licensed[i].at)
	}
	for i := range e.resv.all {
		x := &e.resv.all[i]
		until := min(last, e.now.Add(4*mostRepeats*x.period()))
		for _, a := range x.licenses {
			for at := e.endAfter(x, e.now, until); at != Never; at = e.endAfter(x, at, until) {
				p.licensed = append(p.licensed, licenseTurn{at, a.pool, -1, 0})
			}
		}
	}
}

// licensedFrom returns the first instant at or after t from which the licences of
// the record, and the devices that its reservation counts, are free for its limit; of alternatives it notes the one.
func (e *engine) licensedFrom(t Time) Time {
	for {
		at := e.devicesFrom(e.poolsFrom(t))
		if at == t || at == Never {
			return at
		}
		t = at
	}
}

// poolsFrom is licensedFrom for licences alone.
func (e *engine) poolsFrom(t Time) Time {
	s := &e.plans.find
	u := &e.jobs.rows[s.record.row].licenses
	if len(u.asks) == 0 {
		return t
	}
	if e.plans.licenseStale {
		e.listLicenses()
	}
	if u.or {
		best := Never
		for i, a := range u.asks {
			if at := e.poolFrom(a, t); at < best {
				best, u.pick = at, int16(i)
			}
		}
		return best
	}
	for i := 0; i < len(u.asks); i++ {
		if at := e.poolFrom(u.asks[i], t); at == Never {
			return Never
		} else if at > t {
			t, i = at, -1
		}
	}
	return t
}

// poolFrom is licensedFrom for one pool.
func (e *engine) poolFrom(a licenseAsk, t Time) Time {
	p := &e.plans
	for i := 0; ; i++ {
		end := t.Add(p.find.limit)
		pool := &e.licenses.pools[a.pool]
		use, peak := pool.used, int64(-1)
		for _, x := range p.licensed {
			if x.pool != a.pool || x.at >= end || x.row == p.find.record.row {
				continue // the job's plan in another partition is in nobody's way
			}
			if x.at > t {
				peak = max(peak, use)
			}
			use += x.delta
		}
		if pool.scope != ScopeCluster || max(peak, use)+a.count+pool.external+e.licensesReserved(a.pool, p.find.record.resv, t, p.find.limit) <= pool.total {
			return t
		}
		for i < len(p.licensed) && (p.licensed[i].at <= t || p.licensed[i].pool != a.pool) {
			i++
		}
		if i == len(p.licensed) {
			return Never
		}
		t = p.licensed[i].at
	}
}
