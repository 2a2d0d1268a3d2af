package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/topology"
)

// A ReservationBlock is a reservation that a waiting job asked for, or that keeps
// nodes or cores from it.
type ReservationBlock struct {
	// Name of the reservation.
	Name string
	// Asked says that the job asked for it.
	Asked bool
	// Denied says that it does not let the job in, which asked for it.
	Denied bool
	// Maintenance says that it is for maintenance.
	Maintenance bool
	// Start and End of it; End exclusive.
	Start, End Time
	// Nodes that it holds of the job's partition, as a hostlist.
	Nodes string
	// Licenses that it holds.
	Licenses string
}

func (r *ReservationBlock) appendText(b []byte, now Time) []byte {
	b = append(b, "  "...)
	if r.Asked {
		b = append(b, "its "...)
	}
	b = append(append(b, "reservation "...), r.Name...)
	if r.Maintenance {
		b = append(b, " for maintenance"...)
	}
	b = append(b, " of "...)
	switch {
	case r.Nodes != "":
		b = append(b, r.Nodes...)
	case r.Licenses != "":
		b = append(append(b, "licences "...), r.Licenses...)
	default:
		b = append(b, "no nodes"...)
	}
	away := func(word string, t Time) {
		b = append(append(b, word...), t.Sub(now).Round(time.Second).String()...)
	}
	switch {
	case r.End <= now:
		b = append(b, " is over"...)
	case r.Start > now:
		away(" begins in ", r.Start)
		away(", ends in ", r.End)
	default:
		away(" ends in ", r.End)
	}
	if r.Denied {
		b = append(b, ", and does not let it in"...)
	}
	return append(b, '\n')
}

// resvAsked is the reservation by which a job is explained: of those that it asked
// for the first that takes it now, else the first; 0 for none.
func (e *engine) resvAsked(j *job) int32 {
	first := int32(0)
	for _, name := range j.spec.Reservations {
		at := e.resvByName(name)
		if at < 0 {
			continue
		}
		x := &e.resv.all[at]
		if x.open(e.now) && e.lets(x, j.spec, j.own) && e.admitsAnyOf(x, j) {
			return x.id
		}
		if first == 0 {
			first = x.id
		}
	}
	return first
}

// stopsAlike reports whether a waiting record of reservation other stands before one
// of reservation own: both are in the same, or neither is in one that keeps its jobs
// to itself.
func (e *engine) stopsAlike(other, own int32) bool {
	apart := func(id int32) bool {
		at := e.resvAt(id)
		return at >= 0 && e.resv.all[at].flags&resvFlex == 0
	}
	return other == own || !apart(other) && !apart(own)
}

// reservationBlocks lists the reservations that a record's job asked for, and those
// that hold nodes of its partition that it may not use while it would run.
func (e *engine) reservationBlocks(rec record) (out []ReservationBlock) {
	j := &e.jobs.rows[rec.row]
	p := &e.parts[j.parts[rec.pair]]
	to := e.now.Add(e.timeLimit(j, int(rec.pair)))
	asked := map[int]bool{}
	add := func(at int, mine bool) {
		x := &e.resv.all[at]
		held := p.nodes.Clone()
		held.And(&x.nodes)
		start, end := e.spanFrom(x, e.now)
		out = append(out, ReservationBlock{
			Name: x.spec.Name, Asked: mine, Denied: mine && !(e.lets(x, j.spec, j.own) && e.admitsAnyOf(x, j)),
			Maintenance: x.flags&resvMaint != 0, Start: start, End: end, Nodes: string(e.names.AppendSet(nil, held)),
			Licenses: x.spec.Licenses,
		})
	}
	for _, name := range j.spec.Reservations {
		if at := e.resvByName(name); at >= 0 {
			asked[at] = true
			add(at, true)
		}
	}
	if j.reason == ReasonReservation {
		return out
	}
	for i := range e.resv.all {
		x := &e.resv.all[i]
		switch {
		case asked[i] || !e.holdsDuring(x, e.now, to):
		case x.nodes.Intersects(&p.nodes) && !e.passesOver(x, rec) && e.reaches(x, rec), j.reason == ReasonLicenses && x.holdsAny(j.licenses.asks):
			add(i, false)
		}
	}
	return out
}

// holdsAny reports whether x holds licences of a pool that is asked.
func (x *reservation) holdsAny(asks []licenseAsk) bool {
	return slices.ContainsFunc(x.licenses, func(l licenseAsk) bool {
		return slices.ContainsFunc(asks, func(a licenseAsk) bool { return a.pool == l.pool })
	})
}

// appendLicenses lists the pools of which a waiting record's job asks more than is
// neither in use nor reserved for others while it would run.
func (e *engine) appendLicenses(dst []LimitBlock, rec record) []LimitBlock {
	j := &e.jobs.rows[rec.row]
	limit := e.timeLimit(j, int(rec.pair))
	if e.licensesNow(rec, limit) {
		return dst
	}
	for _, a := range j.licenses.asks {
		p := &e.licenses.pools[a.pool]
		if p.scope != ScopeCluster {
			continue
		}
		b := LimitBlock{Reason: ReasonLicenses, Object: "the cluster", TRES: p.name, Limit: p.total, Asked: a.count}
		if !strings.HasPrefix(b.TRES, "bb/") {
			b.TRES = "license/" + p.name
		}
		b.Used = p.external + e.licensesUsed(a.pool, e.now, limit) + e.licensesReserved(a.pool, rec.resv, e.now, limit)
		if b.Short = b.Used + a.count - p.total; b.Short > 0 {
			dst = append(dst, b)
		}
	}
	return dst
}

// licensesNow reports whether a record's job could have its licences now for as long
// as limit.
func (e *engine) licensesNow(rec record, limit time.Duration) bool {
	u := &e.jobs.rows[rec.row].licenses
	pick := u.pick
	ok := len(u.asks) == 0 || e.licensesFree(&e.jobs.rows[rec.row], rec.resv, e.now, limit)
	u.pick = pick
	return ok
}

// reaches reports whether reservation x holds nodes that a record could use but for
// it.
func (e *engine) reaches(x *reservation, rec record) bool {
	at := e.resvAt(rec.resv)
	return at < 0 || e.resv.all[at].flags&(resvFlex|resvAnyNodes) != 0 || e.resv.all[at].nodes.Intersects(&x.nodes)
}

// leaveReserved leaves of set the nodes that reservations leave a record for as long
// as it would run.
func (e *engine) leaveReserved(set *topology.NodeSet, rec record) {
	t := &e.resv
	t.mine = e.resvAt(rec.resv)
	e.try.within.Copy(set)
	e.dropReserved(rec, e.now, e.now.Add(e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair))))
	if t.mine >= 0 && t.all[t.mine].flags&(resvFlex|resvAnyNodes) == 0 {
		e.try.within.And(&t.all[t.mine].nodes)
	}
	set.Copy(&e.try.within)
}

// bookReserved books in the pool the cores that are reserved for others than a
// record's job, and reports whether there are any; the caller rolls that back.
func (e *engine) bookReserved(rec record) (any bool) {
	from, own := e.now, e.resvAt(rec.resv)
	to := from.Add(e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair)))
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if len(x.cores) == 0 {
			continue
		}
		switch {
		case i == own && x.flags&(resvFlex|resvAnyNodes) == 0:
			for k := range x.cores {
				e.bookFree(&x.cores[k], true)
			}
			any = true
		case i != own && e.holdsDuring(x, from, to) && !e.passesOver(x, rec):
			for k := range x.cores {
				e.bookFree(&x.cores[k], false)
			}
			any = true
		}
	}
	return any
}
