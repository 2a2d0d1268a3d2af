package scheduler

import "time"

// A search is the outcome of a search for victims.
type search uint8

const (
	searchFound   search = iota // or not made
	searchNobody                // the job does not fit even without all that it may take
	searchLeaving               // what it needs is on its way out
	searchSpared                // it can start as soon without victims
)

// A searchMemo is what a class knows of its last search that found nobody, so that
// equal jobs do not repeat it until something changes. Who may take fewer jobs, for
// longer, finds nobody either: candidates fall with the priority.
type searchMemo struct {
	outcome     search
	freed, seq  uint64
	pass        uint64
	anytime     bool // it did not depend on the pass
	planned     bool
	qos, user   int32
	prio        uint32
	limit       time.Duration
	exemptUntil Time // when a job stops being exempt
}

// remember stores the outcome for a record. A job that made room before may take
// fewer than others of its class, so it is not asked for them.
func (e *engine) remember(rec record, plans *planner, outcome search) {
	p := &e.pre
	j := &e.jobs.rows[rec.row]
	if p.beside || j.evict.last != 0 || p.lacking || rec.resv != 0 {
		return
	}
	e.classes.rows[j.classes[rec.pair]].memo = searchMemo{
		outcome: outcome, freed: e.freed, seq: e.seq, pass: e.passNo, planned: plans != nil, qos: e.qosOf(j), user: j.user, prio: j.prio,
		limit: e.timeLimit(j, int(rec.pair)), exemptUntil: p.exempt,
		anytime: outcome == searchNobody && plans == nil && !e.try.withdrawn && len(e.resv.all) == 0,
	}
}

// searched reports whether a search for a record would find nobody, since one for
// an equal or greater claim did.
func (e *engine) searched(rec record, plans *planner) bool {
	p := &e.pre
	j := &e.jobs.rows[rec.row]
	m := &e.classes.rows[j.classes[rec.pair]].memo
	if m.outcome == searchFound || p.beside || p.lacking || rec.resv != 0 || m.freed != e.freed || m.seq != e.seq || m.planned != (plans != nil) || e.now >= m.exemptUntil {
		return false
	}
	if m.pass != e.passNo && !(m.anytime && !e.try.withdrawn && len(e.resv.all) == 0) {
		return false
	}
	limit := e.timeLimit(j, int(rec.pair))
	if m.outcome == searchNobody {
		if j.prio > m.prio || limit < m.limit {
			return false
		}
	} else if j.prio != m.prio || limit != m.limit || j.evict.last != 0 {
		return false
	}
	if m.qos != e.qosOf(j) || m.user != j.user {
		return false
	}
	p.wake = min(p.wake, m.exemptUntil)
	if m.outcome != searchNobody {
		_ = e.admitsAsked(rec) // the reason that the job shows
	}
	return true
}
