package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A slurmRound is how far a planning pass has come, and what it counts: the part
// of Slurm's planner that outlives a call when the pass has used up its steps.
// Slurm: bf_continue.
type slurmRound struct {
	open           bool
	tested, starts int32
	masks          []roundMask // by row
	users, assocs  []int32     // tries
	userParts      []userPart
	holds          []mapHold
	n              int // of holds
}

// A roundMask says which pairs of a job have been come to.
type roundMask struct {
	gen   uint32
	pairs uint64
}

// A userPart counts the tries of a user in a partition.
type userPart struct{ user, part, tries int32 }

// A mapHold is a plan of a round.
type mapHold struct {
	row        int32
	gen        uint32 // of the job's records
	kept       bool   // in the map
	start, end Time
	nodes      []topology.NodeID
}

func (r *slurmRound) clear(rows int) {
	r.tested, r.starts, r.n = 0, 0, 0
	r.users, r.assocs, r.userParts = r.users[:0], r.assocs[:0], r.userParts[:0]
	r.masks = append(r.masks[:0], make([]roundMask, rows)...)
}

// mark notes that a record has been come to, and reports whether it is the first
// of its job. Records of no place of their own share the last.
func (r *slurmRound) mark(rec record) (first bool) {
	m := r.maskOf(rec)
	first = m.pairs == 0
	m.pairs |= 1 << min(rec.place(), 63)
	return first
}

// place numbers a job's records.
func (rec *record) place() int {
	if rec.order < 8 {
		return 8*int(rec.pair) + int(rec.order)
	}
	return 63
}

// done reports whether a record has been come to in an earlier call.
func (r *slurmRound) done(rec record) bool {
	return rec.place() < 63 && r.maskOf(rec).pairs&(1<<rec.place()) != 0
}

func (r *slurmRound) maskOf(rec record) *roundMask {
	for int(rec.row) >= len(r.masks) {
		r.masks = append(r.masks, roundMask{})
	}
	m := &r.masks[rec.row]
	if m.gen != rec.gen {
		*m = roundMask{gen: rec.gen}
	}
	return m
}

// counter returns the counter number i of a list that grows.
func counter(list *[]int32, i int32) *int32 {
	if n := int(i) + 1 - len(*list); n > 0 {
		*list = append(*list, make([]int32, n)...)
	}
	return &(*list)[i]
}

func (r *slurmRound) user(u int32) *int32  { return counter(&r.users, u) }
func (r *slurmRound) assoc(a int32) *int32 { return counter(&r.assocs, a) }

// userPart returns the counter of a user in a partition; one of no meaning if
// nothing bounds them.
func (r *slurmRound) userPart(user, part int32, bounded bool) *int32 {
	if !bounded {
		part, user = -1, -1
	}
	i := slices.IndexFunc(r.userParts, func(x userPart) bool { return x.user == user && x.part == part })
	if i < 0 {
		i = len(r.userParts)
		r.userParts = append(r.userParts, userPart{user: user, part: part})
	}
	return &r.userParts[i].tries
}

// hold notes a plan.
func (r *slurmRound) hold(rec record, start, end Time, nodes []topology.NodeID, kept bool) {
	if r.n == len(r.holds) {
		r.holds = append(r.holds, mapHold{})
	}
	x := &r.holds[r.n]
	r.n++
	x.row, x.gen, x.kept, x.start, x.end = rec.row, rec.gen, kept, start, end
	x.nodes = append(x.nodes[:0], nodes...)
}

// planned are the nodes of a job's first plan, nil if it has none.
func (r *slurmRound) planned(row int32) []topology.NodeID {
	for i := range r.holds[:r.n] {
		if r.holds[i].row == row {
			return r.holds[i].nodes
		}
	}
	return nil
}

// slurmResume puts the plans of the round back into the map and the list of
// plans. What has started, ended or changed meanwhile has none any more.
func (e *engine) slurmResume() {
	r := &e.slurm.round
	all := r.holds[:r.n]
	r.n = 0
	for i := range all {
		x := all[i]
		j := &e.jobs.rows[x.row]
		if j.state != StatePending || j.qgen != x.gen || x.end <= e.now {
			continue
		}
		all[i], all[r.n] = all[r.n], x
		r.n++
		p := e.plans.add()
		p.row, p.start, p.end = x.row, x.start, x.end
		if x.kept {
			e.slurm.nodes.reserve(x.nodes, x.start, x.end)
		}
	}
}

// visitSlurm visits a planning pass that goes on.
func (e *engine) visitSlurm(c *codec) {
	p := &e.slurm
	r := &p.round
	c.bool(&r.open)
	if !r.open || c.err != nil {
		return
	}
	num(c, &r.tested)
	num(c, &r.starts)
	nums(c, &r.users)
	nums(c, &r.assocs)
	list(c, &r.userParts, func(c *codec, x *userPart) {
		num(c, &x.user)
		num(c, &x.part)
		num(c, &x.tries)
	})
	list(c, &p.byPart, func(c *codec, x *partCount) {
		num(c, &x.tries)
		num(c, &x.plans)
	})
	e.visitMasks(c)
	var holds []mapHold
	for i := range r.holds[:r.n] {
		if x := &r.holds[i]; e.jobs.rows[x.row].qgen == x.gen {
			holds = append(holds, *x)
		}
	}
	list(c, &holds, func(c *codec, x *mapHold) {
		e.visitRow(c, &x.row)
		x.gen = e.jobs.rows[x.row].qgen
		c.bool(&x.kept)
		num(c, &x.start)
		num(c, &x.end)
		nums(c, &x.nodes)
		for _, n := range x.nodes {
			if c.reading && (n < 0 || int(n) >= len(e.nodes)) {
				c.fail("nodes of plans")
				return
			}
		}
	})
	if c.reading {
		r.holds, r.n = holds, len(holds)
		if len(p.byPart) != len(e.parts) {
			c.fail("counts of plans")
		}
	}
}

// visitMasks visits which records a planning pass has come to.
func (e *engine) visitMasks(c *codec) {
	r := &e.slurm.round
	var rows []int32
	for i := range r.masks {
		if r.masks[i].pairs != 0 && e.jobs.rows[i].id != 0 && e.jobs.rows[i].qgen == r.masks[i].gen {
			rows = append(rows, int32(i))
		}
	}
	if c.reading {
		r.masks = make([]roundMask, len(e.jobs.rows))
	}
	list(c, &rows, func(c *codec, row *int32) {
		e.visitRow(c, row)
		if c.err == nil {
			r.masks[*row].gen = e.jobs.rows[*row].qgen
			c.uint(&r.masks[*row].pairs)
		}
	})
}
