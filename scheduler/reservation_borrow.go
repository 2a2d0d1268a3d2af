package scheduler

import "strings"

// recall tells the jobs that borrow nodes of a record's reservation to leave,
// since one of its own jobs found no place: they get their signal now and end
// when their notice is over (spec: reservations 7.4).
func (e *engine) recall(dst []Decision, rec record) []Decision {
	at := e.resvAt(rec.resv)
	if at < 0 || e.resv.all[at].spec.MaxStartDelay == 0 || e.resv.all[at].start > e.now {
		return dst
	}
	x := &e.resv.all[at]
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		until := e.now.Add(j.spec.SignalBefore)
		if !j.running() || j.resv == x.id || j.flags&flagEnding != 0 || !x.borrows(j.spec) || j.end <= until || !meets(j, &x.nodes) {
			continue
		}
		j.end = until
		e.pushLimit(int32(r))
		e.commitLeft(j)
		e.touchJob(j)
		dst = e.decide(dst, int32(r), OpSignal)
		d := &dst[len(dst)-1]
		d.Signal, d.Batch, d.For, d.At = j.spec.Signal, strings.Contains(j.spec.SignalFlags, "B"), rec.id, until
		d.Reason = ReasonReserved
	}
	return dst
}
