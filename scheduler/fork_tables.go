package scheduler

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// An arena gives copies of short lists out of few large pieces of memory.
type arena[T any] struct {
	room  []T
	piece int
}

// arenaLeast and arenaMost are how many entries are allocated at once: twice as
// many as before.
const arenaLeast, arenaMost = 1 << 5, 1 << 12

// take returns a list of n zero entries with no room for more; none is nil.
func (a *arena[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	a.reserve(n)
	d := a.room[:n:n]
	a.room = a.room[n:]
	return d
}

// reserve makes sure that there are n entries.
func (a *arena[T]) reserve(n int) {
	if n > len(a.room) {
		a.piece = min(max(2*a.piece, arenaLeast), arenaMost)
		a.room = make([]T, max(n, a.piece))
	}
}

// copy returns a copy of s with room for so many more; an empty list is nil.
// Appending beyond that moves it out of the arena.
func (a *arena[T]) copy(s []T, more int) []T {
	n := len(s)
	if n == 0 {
		return nil
	}
	a.reserve(n + more)
	d := a.room[: n : n+more]
	a.room = a.room[n+more:]
	copy(d, s)
	return d
}

// arenas are those of a fork.
type arenas struct {
	rows   arena[int32]
	grants arena[nodeGrant]
	cores  arena[uint64]
	devs   arena[gres.DeviceGrant]
}

func (a *arenas) copyGrants(list []nodeGrant) []nodeGrant {
	d := a.grants.copy(list, 0)
	for i := range d {
		g := &d[i].grant
		g.Cores, g.Devices = a.cores.copy(g.Cores, 0), a.devs.copy(g.Devices, 0)
	}
	return d
}

// forkList copies a list that is mostly empty.
func forkList[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}

// forkLists gives a copy of a job lists of its own, which most do not have.
func (j *job) forkLists(a *arenas) {
	if cap(j.prios) > 0 {
		j.prios = forkList(j.prios)
	}
	if cap(j.qoses) > 0 {
		j.qoses = forkList(j.qoses)
	}
	if cap(j.lent) > 0 {
		j.lent = a.copyGrants(j.lent)
	}
	if j.steps != nil {
		j.steps = &jobSteps{queue: j.steps.queue.Clone(), specs: maps.Clone(j.steps.specs)}
	}
}

func (t *jobTable) fork(a *arenas) jobTable {
	f := *t
	f.rows = make([]job, len(t.rows))
	const some = 64 // rows at once, which then are near
	for lo := 0; lo < len(t.rows); lo += some {
		hi := min(lo+some, len(t.rows))
		copy(f.rows[lo:hi], t.rows[lo:hi])
		for i := lo; i < hi; i++ {
			// What runs keeps its grants in common. What a list could hold belongs
			// to the original: lists are emptied of it.
			if j := &f.rows[i]; len(j.alloc) == 0 {
				j.alloc = nil
			} else if !j.common {
				j.common, t.rows[i].common = true, true
			}
			f.rows[i].forkLists(a)
		}
	}
	f.free, f.ended = slices.Clone(t.free), slices.Clone(t.ended)
	f.ids, f.asks = t.ids.fork(), t.asks.fork()
	return f
}

func (p *planner) fork(a *arenas) planner {
	f := *p
	f.all = slices.Clone(p.all)
	for i := range f.all {
		x := &f.all[i]
		if i >= p.n {
			x.grants = nil
		}
		x.grants = a.copyGrants(x.grants)
	}
	f.ends, f.free, f.stales, f.broken = slices.Clone(p.ends), slices.Clone(p.free), slices.Clone(p.stales), slices.Clone(p.broken)
	f.on = slices.Clone(p.on)
	for n := range f.on {
		f.on[n] = a.rows.copy(p.on[n], 0)
	}
	f.nodes, f.vacant, f.stale, f.own, f.only = forkSet(&p.nodes), forkSet(&p.vacant), forkSet(&p.stale), forkSet(&p.own), forkSet(&p.only)
	f.spots = forkSet(&p.spots)
	f.units, f.holds, f.holdsKnown, f.used = nil, nil, false, nil
	f.shared = nil
	f.alone, f.some, f.unit = slices.Clone(p.alone), forkSet(&p.some), forkSet(&p.unit)
	f.cal, f.nextAt, f.weight = slices.Clone(p.cal), slices.Clone(p.nextAt), slices.Clone(p.weight)
	var steps arena[step]
	for n := range f.cal {
		f.cal[n].steps = steps.copy(p.cal[n].steps, 2)
	}
	f.bounds = p.bounds.fork()
	f.find = planSearch{steps: p.find.steps, tries: p.find.tries}
	f.owned, f.log, f.order = slices.Clone(p.owned), cloneRoom(p.log), slices.Clone(p.order)
	f.licensed, f.turns, f.row, f.kept = slices.Clone(p.licensed), nil, nil, nil
	f.aside, f.lifts = nil, nil
	return f
}

func (t *boundTable) fork() boundTable {
	f := boundTable{slices.Clone(t.rows)}
	for i := range f.rows {
		b := &f.rows[i]
		b.least, b.first, b.loose = slices.Clone(b.least), slices.Clone(b.first), slices.Clone(b.loose)
		b.open, b.words = append(make([]openNode, 0, maxOpen), b.open...), append(make([]int32, 0, len(b.first)), b.words...)
	}
	return f
}

func (p *slurmPlanner) fork() slurmPlanner {
	f := *p
	f.nodes.slots, f.nodes.spare = slices.Clone(p.nodes.slots), slices.Clone(p.nodes.spare)
	f.nodes.place = forkSet(&p.nodes.place)
	f.nodes.sets = make([]topology.NodeSet, len(p.nodes.sets))
	for i := range f.nodes.sets {
		f.nodes.sets[i] = forkSet(&p.nodes.sets[i])
	}
	f.avail, f.looked, f.chosen = forkSet(&p.avail), forkSet(&p.looked), forkSet(&p.chosen)
	f.nodes.place = forkSet(&p.nodes.place)
	f.off = offRun{round: p.off.round, tries: p.off.tries, taken: p.off.taken, may: forkSet(&p.off.may)}
	f.memo = runMemo{}
	r := &f.round
	r.masks, r.users, r.assocs = slices.Clone(r.masks), slices.Clone(r.users), slices.Clone(r.assocs)
	r.userParts, r.holds = slices.Clone(r.userParts), slices.Clone(r.holds)
	for i := range r.holds {
		r.holds[i].nodes = slices.Clone(r.holds[i].nodes)
	}
	f.byPart = slices.Clone(p.byPart)
	return f
}

func (t *resvTable) fork(a *arenas) resvTable {
	f := *t
	f.all = slices.Clone(t.all)
	for i := range f.all {
		x := &f.all[i]
		x.nodes, x.cores = forkSet(&t.all[i].nodes), a.copyGrants(x.cores)
		x.devices, x.licenses, x.members = slices.Clone(x.devices), slices.Clone(x.licenses), slices.Clone(x.members)
	}
	f.starts, f.kept, f.barred, f.inside = slices.Clone(t.starts), gres.Grant{}, nil, nil
	f.outside, f.left, f.taken = forkSet(&t.outside), forkSet(&t.left), forkSet(&t.taken)
	return f
}
