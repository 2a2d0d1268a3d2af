package scheduler

import (
	"github.com/berth-sched/berth/topology"
)

// standstill decides what a waiting record keeps from the records that follow in
// a pass of the main loop (spec: backfill 1.3): nothing if the nodes that are up
// and not withdrawn could not serve it though nothing ran there, the nodes that it
// lists if they are enough for it, else its partition.
func (e *engine) standstill(rec record) {
	j := &e.jobs.rows[rec.row]
	c := &e.classes.rows[j.classes[rec.pair]]
	if e.par.Queue.IgnoreConstraintValidation && c.lacksFeatures() {
		j.reason = ReasonBadConstraints // until nodes with its features join
		return
	}
	if e.cfg.Profile == ProfileSlurm && e.lacksNodes(j, c) {
		return
	}
	if !e.blocks(j) || !e.mayPlan(j, int(rec.pair)) {
		return
	}
	if e.cfg.Profile == ProfileSlurm && c.list != nil && c.list.Count() >= int(max(c.key.req.MinNodes, 1)) {
		e.withdraw(c.list)
		return
	}
	e.blockPart(rec)
}

// blockPart stops the partition of a record for those that follow in this pass.
func (e *engine) blockPart(rec record) {
	p := &e.parts[e.jobs.rows[rec.row].parts[rec.pair]]
	p.failedIn = e.passNo
	if len(e.parts) > 1 {
		e.withdraw(&p.nodes)
	}
}

// lacksNodes reports whether a record waits for nodes that are down, drained or
// withdrawn, and stores the reason. With too few nodes it counts as waiting for
// resources all the same.
func (e *engine) lacksNodes(j *job, c *class) bool {
	s := &e.try
	if !s.withdrawn && e.up.Contains(c.nodes) {
		return false // it has been tested when it was submitted
	}
	there := &s.mask
	there.AndOf(c.nodes, &e.up)
	if s.withdrawn {
		there.AndNot(&s.gone)
	}
	if c.list != nil && !c.one {
		if c.list.Count() > int(c.min) {
			there.And(c.list)
		} else if !there.Contains(c.list) {
			j.reason = e.notAvail()
			return true
		}
	}
	if there.Count() < int(c.min) {
		if c.one && c.list != nil {
			j.reason = e.notAvail()
			return true
		}
		if j.reason != ReasonReserved && j.reason != ReasonReservedMaint { // which say more
			j.reason = ReasonNodesDown
		}
		return false
	}
	if c.asked != e.passNo || c.askedGone != s.goneNo {
		c.asked, c.askedGone, c.servable = e.passNo, s.goneNo, e.servesIdle(c, there)
	}
	if !c.servable {
		j.reason = e.notAvail()
	}
	return !c.servable
}

// servesIdle reports whether the nodes of set, and of the class, could serve it
// if nothing ran.
func (e *engine) servesIdle(c *class, set *topology.NodeSet) bool {
	s, l := &e.try, &e.try.look
	l.open(e, c, Never, Infinite, nil, true)
	l.only = set
	l.columns()
	return s.fit.Count() >= int(c.min) && (e.place(c, &attempt{at: Never, idle: true}) || s.refusal.Rule == topology.RuleSwitches)
}

// notAvail is the reason of a job whose nodes are not there. Slurm's planning
// words it as if they were reserved for another (spec: backfill, case 9).
func (e *engine) notAvail() Reason {
	if e.cfg.Profile == ProfileSlurm && e.par.Plan.Mode == PlanBackfill {
		return ReasonReserved
	}
	return ReasonReqNodeNotAvail
}
