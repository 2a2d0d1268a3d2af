package schedtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
	"pgregory.net/rapid"
)

// An ask is an amount of a licence pool.
type ask struct {
	pool  string
	count int64
}

// asks reads a list of licences, of which one is enough with or.
func asks(text string) (list []ask, or bool) {
	if text == "" {
		return nil, false
	}
	or = strings.Contains(text, "|")
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == ',' }) {
		a := ask{count: 1}
		name, c, ok := strings.Cut(item, ":")
		if a.pool = name; ok {
			a.count, _ = strconv.ParseInt(c, 10, 64)
		}
		list = append(list, a)
	}
	return list, or
}

// uses are the least and the most that a job takes of a pool of the cluster, or that a
// reservation keeps.
func uses(text, pool string) (least, most int64) {
	list, or := asks(text)
	first := true
	for _, a := range list {
		switch {
		case a.pool != pool:
		case or && first:
			least, most = a.count, a.count
		case or:
			least, most = min(least, a.count), max(most, a.count)
		default:
			least, most = least+a.count, most+a.count
		}
		first = first && a.pool != pool
	}
	if or && slices.ContainsFunc(list, func(a ask) bool { return a.pool != pool }) {
		least = 0
	}
	return least, most
}

// scoped reports whether a pool is of racks or nodes.
func (m *memory) scoped(pool string) bool { return m.pools[pool].Scope != scheduler.ScopeCluster }

// licensed says whether a job in reservation mine has its licences of the cluster for
// its limit (spec: backfill 7, reservations 7.1).
func (w *world) licensed(j *seenJob, mine *resvSeen) truth {
	list, or := asks(j.spec.Licenses)
	all, some := yes, no
	for _, a := range list {
		t := yes
		if !w.scoped(a.pool) {
			t = w.leaves(j, mine, a)
		}
		all, some = min(all, t), max(some, t)
	}
	if or {
		return some
	}
	return all
}

// leaves says whether others leave a job what it asks of a pool. What members took
// of their reservation counts twice for all others.
func (w *world) leaves(j *seenJob, mine *resvSeen, a ask) truth {
	least, most := w.inUse(j, a.pool)
	for i := range w.resv {
		x := &w.resv[i]
		if mine != nil && x.Name == mine.Name {
			continue
		}
		_, kept := uses(x.Licenses, a.pool)
		now, ever := x.meets(w.now, j.end(w.now))
		if now {
			least += kept
		}
		if ever {
			most += kept
		}
	}
	switch total := w.pools[a.pool].Total; {
	case a.count+most <= total:
		return yes
	case a.count+least > total:
		return no
	}
	return unsure
}

// inUse counts what others than j hold of a pool now, at least, and hold or are
// planned to hold while it would run, at most.
func (w *world) inUse(j *seenJob, pool string) (least, most int64) {
	for i := range w.jobs {
		k := &w.jobs[i]
		a, b := uses(k.spec.Licenses, pool)
		switch {
		case k.ID == j.ID:
		case len(k.alloc) > 0:
			least, most = least+a, most+b
		case k.State == scheduler.StatePending && k.Planned && k.Start < j.end(w.now):
			most += b
		}
	}
	return least, most
}

// unitOf names the rack of a node in a pool of racks, or the node in one of nodes,
// and says what that has.
func unitOf(p *scheduler.LicenseSpec, node string) (unit string, total int64) {
	for i := range p.Units {
		names, _ := topology.ParseHostlist(p.Units[i].Nodes)
		switch {
		case !slices.Contains(names, node):
		case p.Scope == scheduler.ScopeNode:
			return node, p.Units[i].Total
		default:
			return p.Units[i].Nodes, p.Units[i].Total
		}
	}
	if p.Scope == scheduler.ScopeNode && len(p.Units) == 0 {
		return node, p.Total
	}
	return "", 0
}

// unitUse counts what jobs hold of a rack or a node.
func (w *world) unitUse(p *scheduler.LicenseSpec, unit string) (used int64) {
	for i := range w.jobs {
		k := &w.jobs[i]
		_, each := uses(k.spec.Licenses, p.Name)
		for _, a := range k.alloc {
			if u, _ := unitOf(p, a.Node); u == unit {
				used += each
			}
		}
	}
	return used
}

// supplied says whether a node, and its rack, have what a job takes of them.
func (w *world) supplied(j *seenJob, n *seenNode) truth {
	t := yes
	list, _ := asks(j.spec.Licenses)
	for _, a := range list {
		if !w.scoped(a.pool) {
			continue
		}
		p := w.pools[a.pool]
		unit, total := unitOf(&p, n.Name)
		free := total - w.unitUse(&p, unit)
		most := a.count // of the whole job
		if p.Scope == scheduler.ScopeUnit {
			if most *= int64(j.spec.MinNodes); most == 0 {
				most = a.count * int64(len(w.nodes))
			}
		}
		switch {
		case unit == "" || free < a.count:
			return no
		case free < most || w.plannedUse(j, a.pool):
			t = unsure
		}
	}
	return t
}

// plannedUse reports whether a job is planned to take of a pool while j would run.
func (w *world) plannedUse(j *seenJob, pool string) bool {
	return slices.ContainsFunc(w.jobs, func(k seenJob) bool {
		_, most := uses(k.spec.Licenses, pool)
		return k.ID != j.ID && k.State == scheduler.StatePending && k.Planned && k.Start < j.end(w.now) && most > 0
	})
}

// checkLicenses counts what is in use after a start, and licences that are reserved
// for others and that these do not use yet.
func (w *world) checkLicenses(t *rapid.T, j *seenJob, d *scheduler.Decision) {
	list, or := asks(j.spec.Licenses)
	for _, a := range list {
		p := w.pools[a.pool]
		if w.scoped(a.pool) {
			for _, n := range d.Nodes {
				unit, total := unitOf(&p, n)
				if used := w.unitUse(&p, unit); used > total {
					t.Fatalf("at %d job %d starts with %s on %v: %d of %d are in use in %s", w.now, j.ID, j.spec.Licenses, d.Nodes, used, total, unit)
				}
			}
			continue
		}
		used, _ := w.inUse(j, a.pool)
		least, _ := uses(j.spec.Licenses, a.pool)
		kept := int64(0)
		for i := range w.resv {
			x := &w.resv[i]
			if now, _ := x.meets(w.now, w.now.Add(d.Limit)); now && x.Name != d.Reservation {
				_, n := uses(x.Licenses, a.pool)
				kept += n
			}
		}
		// Who holds some may be of the reservations: then those are not kept as well.
		if least > 0 && (used+least > p.Total || least > p.Total-kept) {
			t.Fatalf("at %d job %d starts with %s (%v): %d of %d are in use, %d reserved for others", w.now, j.ID, j.spec.Licenses, or, used, p.Total, kept)
		}
	}
}
