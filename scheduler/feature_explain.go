package scheduler

import "github.com/berth-sched/berth/topology"

// funnels explains a class with the funnel of what its features ask: of the
// alternatives the one that comes furthest, of the terms with counts the first
// that lacks nodes, else of the whole request.
func (e *engine) funnels(x *Explanation, c *class, p *partition, rec record) {
	x.Wanted = c.min
	w := c.wish
	if w == nil {
		e.funnel(x, c, p, c.nodes, rec)
		return
	}
	base := *x
	try := func(s *featureSet, wanted int32) Explanation {
		y := base
		y.Features, y.Wanted = s.text, wanted
		var within topology.NodeSet
		within.Init(len(e.nodes))
		within.AndOf(c.nodes, &s.nodes)
		e.funnel(&y, c, p, &within, rec)
		return y
	}
	for i := range w.alts {
		if y := try(&w.alts[i], c.min); i == 0 || y.beyond(x) {
			*x = y
		}
	}
	for i := range w.terms {
		if y := try(&w.terms[i], w.terms[i].count); y.Funnel[len(y.Funnel)-1].Stage < StageTopology {
			*x = y
			return
		}
	}
	if len(w.terms) > 0 {
		e.funnel(x, c, p, c.nodes, rec)
	}
}

// beyond reports whether e's funnel comes further than x's: to a later stage, or
// with more nodes to the same one.
func (e *Explanation) beyond(x *Explanation) bool {
	a, b := e.Funnel[len(e.Funnel)-1], x.Funnel[len(x.Funnel)-1]
	return a.Stage > b.Stage || a.Stage == b.Stage && a.Nodes > b.Nodes
}
