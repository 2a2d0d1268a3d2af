package scheduler

import (
	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// tryReady tries a one-node request on a node whose calendar lets it pass. At
// this instant all nodes are tried with devices near first.
func (e *engine) tryReady(x *candidate) bool {
	s := &e.plans.find
	if at := e.licensedFrom(x.at); at > x.at {
		s.push(candidate{at: at, node: x.node, weight: x.weight, kind: candLater})
		return false
	}
	if s.class.shares {
		s.now = append(s.now, *x) // idle cores of any go first
		return false
	}
	pass := gres.PassAny
	if x.at == e.now {
		if e.placement.placer != nil {
			s.now = append(s.now, *x) // the policy chooses among them
			return false
		}
		pass = s.class.firstPass
	}
	if e.tryNode(topology.NodeID(x.node), x.at, pass) {
		return true
	}
	if pass != gres.PassAny {
		s.now = append(s.now, *x)
		return false
	}
	e.tryLater(x)
	return false
}

// tryFar tries the nodes of this instant once more with devices anywhere, or lets
// the policy choose among them.
func (e *engine) tryFar(t Time) bool {
	s := &e.plans.find
	if s.class.shares {
		return e.tryShared(t)
	}
	first := gres.PassAny
	if e.placement.placer != nil {
		if e.choosePlace() {
			return true
		}
		first = s.class.firstPass // the policy has not seen nodes of which cores are reserved
	}
	for pass := first; pass <= gres.PassAny; pass++ {
		for i := range s.now {
			if e.tryNode(topology.NodeID(s.now[i].node), e.now, pass) {
				return true
			}
		}
	}
	for i := range s.now {
		e.tryLater(&s.now[i])
	}
	s.now = s.now[:0]
	return false
}

// tryLater keeps a node that refused for the next change of its calendar.
func (e *engine) tryLater(x *candidate) {
	s := &e.plans.find
	if at := e.nextChange(topology.NodeID(x.node), x.at); at != Never {
		s.push(candidate{at: at, node: x.node, weight: x.weight, kind: candLater})
	}
}

// tryNode finds what a one-node request gets on node n over its limit from t.
func (e *engine) tryNode(n topology.NodeID, t Time, pass gres.Pass) bool {
	s, w := &e.plans.find, &e.try
	w.need(1)
	s.tries++
	s.work++
	ok := false
	if row, plain := e.rowOver(n, t); !plain {
		ok = e.arrangeRow(row, pass)
	} else {
		ok = e.pool.ArrangeState(s.class.pool, pass, e.stateOver(n, t, t.Add(s.limit)), &w.grants[0])
	}
	if ok {
		w.nodes = append(w.nodes[:0], n)
	}
	return ok
}

// arrangeRow finds what the class gets alone on a node that the pool's memory
// does not speak for.
func (e *engine) arrangeRow(row gres.NodeRow, pass gres.Pass) bool {
	s, w := &e.plans.find, &e.try
	f := gres.Evaluate(row, &s.class.req, pass, 1, &w.work)
	if f.Refusal != gres.RefuseNone {
		return false
	}
	w.chosen = append(w.chosen[:0], gres.Chosen{Node: row, Fit: f})
	var t gres.Taking
	t.Start(&s.class.req)
	w.chosen[0].CPUs, w.chosen[0].Devices = t.Take(row.Shape, &s.class.req, &f)
	return t.Enough(&s.class.req) && gres.Select(w.grants[:1], w.chosen, &s.class.req, pass, 1, &w.work) == gres.RefuseNone
}

// rowOver returns node n over the limit from t where more is to be regarded than
// its calendar: limits of the partition, cores of reservations. plain says that
// there is no more.
func (e *engine) rowOver(n topology.NodeID, t Time) (row gres.NodeRow, plain bool) {
	s := &e.plans.find
	part := &e.parts[s.class.key.part]
	cores := e.coresKept(n)
	if !part.limited() && !cores && !s.class.shares {
		return row, true
	}
	w := &e.try
	w.union = append(w.union[:0], e.pool.StateRow(e.stateOver(n, t, t.Add(s.limit))).Row...)
	sh := e.pool.Shape(int32(n))
	if cores {
		e.overlayCores(sh, w.union, n, t)
	}
	return gres.NodeRow{Shape: sh, Row: w.union, Limits: e.cpuLimits(s.class, n, t), Cores: e.keptShared(sh, w.union, e.rowCores(s.class, n, t, s.limit))}, false
}
