package scheduler

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// neverRuns says why no set of the class's nodes could serve it even if all
// were idle and up, nil if one could. The answer is kept with the class.
func (e *engine) neverRuns(c *class) error {
	if c.runs {
		return nil
	}
	if e.cfg.Defects && c.wish != nil && c.countsWait() {
		c.runs = true
		return nil
	}
	s, l := &e.try, &e.try.look
	s.refusal, s.capNodes, s.prefer, s.waited = topology.Refusal{}, 0, false, 0
	l.open(e, c, Never, Infinite, nil, true)
	l.columns()
	if count := s.fit.Count(); count < int(c.min) {
		nodes := "nodes"
		if c.min == 1 {
			nodes = "node"
		}
		return fmt.Errorf("%d %s needed, %d have what is asked%s: %w", c.min, nodes, count, e.nearest(c), ErrNeverRuns)
	}
	if e.cfg.Profile == ProfileSlurm && c.list != nil && c.list.Count() <= int(c.min) && s.fit.Contains(c.list) && !e.up.Contains(c.list) {
		return nil // Slurm looks no further while a required node is not there
	}
	if e.place(c, &attempt{at: Never, idle: true}) || s.refusal.Rule == topology.RuleSwitches {
		c.runs = true
		return nil
	}
	switch r := &s.refusal; {
	case s.apart != gres.RefuseNone:
		return fmt.Errorf("the nodes cannot give it together (%s): %w", s.apart, ErrNeverRuns)
	case r.Rule.Permanent():
		return fmt.Errorf("%s: %w", r.Rule, ErrTopologyNever)
	case r.Lack != topology.LackNone:
		return fmt.Errorf("%s: %d %s needed, %d there: %w", r.Rule, r.Need, r.Lack, r.Have, ErrNeverRuns)
	default:
		return fmt.Errorf("%s%s: %w", r.Rule, e.nearest(c), ErrNeverRuns)
	}
}

// nearest says in numbers what the hardware lacks that comes nearest to what a
// class asks of every node, in parentheses; nothing if none lacks anything that
// has a number.
func (e *engine) nearest(c *class) string {
	s, l := &e.try, &e.try.look
	l.open(e, c, Never, Infinite, nil, true)
	var best gres.Shortfall
	seen := make([]bool, e.pool.NumShapes())
	for n := range c.nodes.All() {
		id := e.pool.ShapeID(int32(n))
		if seen[id] {
			continue
		}
		seen[id] = true
		row := l.row(n)
		f := gres.Evaluate(row, &c.req, l.passOf(true), int(l.relaxed.need), &s.work)
		if f.Refusal == gres.RefuseNone {
			continue
		}
		x := gres.Explain(row, &c.req, f.Refusal, &s.work)
		if x.Unit != gres.ShortNothing && x.Found < x.Asked && (best.Unit == gres.ShortNothing || x.Found*best.Asked > best.Found*x.Asked) {
			best = x
		}
	}
	what := ""
	switch best.Unit {
	case gres.ShortDevices:
		d := &c.req.Needs[best.Need]
		what = "gres/" + e.devices.Name(d.Name)
		if d.Type != 0 && d.Type != gres.NoType {
			what += ":" + e.devices.Type(d.Type)
		}
	case gres.ShortCPUs:
		what = "CPUs"
	case gres.ShortMemory:
		what = "MiB of memory"
	case gres.ShortSockets:
		what = "sockets"
	default:
		return ""
	}
	return fmt.Sprintf(" (nearest: %s %d of %d)", what, best.Found, best.Asked)
}
