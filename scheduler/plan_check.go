package scheduler

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// checkPlans compares plans, lists, calendars and bounds with each other.
func (e *engine) checkPlans(fail func(string, ...any)) {
	p := &e.plans
	if e.cfg.Profile == ProfileSlurm {
		return
	}
	on, live := make([]int, len(e.nodes)), 0
	if p.put > len(p.log) || p.anywhere > p.put || p.round != wholeQueue && p.round > p.put || (p.put > 0) && p.nextRound == Never {
		fail("%d changes left of %d, %d of all nodes, round %d, next at %d", p.put, len(p.log), p.anywhere, p.round, p.nextRound)
	}
	for i, n := range p.log[:p.put] {
		if slices.Contains(p.log[:i], n) {
			fail("node %d is left twice", n)
		}
	}
	for id := range p.all[:p.n] {
		x := &p.all[id]
		if x.row < 0 {
			continue
		}
		rec := record{row: x.row, pair: x.pair, resv: x.resv}
		if x.checked > p.put {
			fail("plan %d has been compared with %d changes of %d", id, x.checked, p.put)
		}
		if e.planOf(&rec) != int32(id) {
			fail("plan %d is not its job's", id)
		}
		if !x.booked {
			continue
		}
		live++
		for i := range x.grants {
			n := x.grants[i].node
			on[n]++
			if !slices.Contains(p.on[n], int32(id)) {
				fail("plan %d is not on the list of node %d", id, n)
			}
		}
	}
	e.checkUnits(fail)
	if live != p.live {
		fail("%d plans are booked, %d counted", live, p.live)
	}
	for n := range p.on {
		if len(p.on[n]) != on[n] || p.nodes.Has(topology.NodeID(n)) != (on[n] > 0) {
			fail("node %d: %d plans listed, %d hold it", n, len(p.on[n]), on[n])
		}
		if p.cal != nil && e.there.Has(topology.NodeID(n)) && !p.stale.Has(topology.NodeID(n)) && p.nextAt[n] > e.now {
			e.checkCalendar(n, fail)
		}
	}
}

// checkCalendar compares the calendar of a node with what runs and is planned at
// each of its turns, and bounds with the calendar.
func (e *engine) checkCalendar(i int, fail func(string, ...any)) {
	p, n := &e.plans, topology.NodeID(i)
	c := &p.cal[n]
	times := []Time{e.now}
	for k := range c.steps {
		s := &c.steps[k]
		if k > 0 && (s.at <= c.steps[k-1].at || s.state == c.steps[k-1].state) {
			fail("node %d: step %d of the calendar is no change", n, k)
		}
		if s.digest != e.pool.Digest(s.state) {
			fail("node %d: digest of step %d", n, k)
		}
		times = append(times, max(s.at, e.now))
	}
	for _, r := range e.nodes[n].jobs {
		times = append(times, e.expectedEnd(&e.jobs.rows[r]))
	}
	for _, id := range p.on[n] {
		times = append(times, max(p.all[id].start, e.now), p.all[id].end)
	}
	sh := e.pool.Shape(int32(n))
	for _, t := range times {
		if t == Never {
			continue
		}
		if want, got := e.rowInstant(nil, sh, n, t), e.pool.StateRow(c.steps[c.at(t)].state).Row; !sh.SameUse(got, want) {
			fail("node %d at %d: the calendar has %x, jobs and plans hold %x", n, t, got, want)
		}
	}
	for k := range p.bounds.rows {
		b := &p.bounds.rows[k]
		if at, _ := c.window(b.ask, b.span, e.now, 1); at < b.least[n] || b.first[n>>6] > b.least[n] {
			fail("node %d: bound %d is %d, it may start at %d", n, k, b.least[n], at)
		}
	}
}
