package schedtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// period is how often a reservation repeats, at least; 0 if it does not.
func (x *resvSeen) period() time.Duration {
	switch {
	case x.has("HOURLY"):
		return time.Hour
	case x.has("DAILY"), x.has("WEEKDAY"), x.has("WEEKEND"):
		return 24 * time.Hour
	case x.has("WEEKLY"):
		return 7 * 24 * time.Hour
	}
	return 0
}

// meets reports whether x, as it is shown, holds at any time of [from, to), and
// whether it may when it repeats.
func (x *resvSeen) meets(from, to scheduler.Time) (now, ever bool) {
	now = x.Start < to && x.End > from
	if p := x.period(); p > 0 {
		for at := scheduler.Time(0); x.Start.Add(time.Duration(at)*p) < to; at++ {
			by := time.Duration(at) * p
			ever = ever || x.Start.Add(by) < to && x.End.Add(by) > from
		}
	}
	return now, now || ever
}

// partial reports whether x leaves a part of its nodes to others.
func (x *resvSeen) partial() bool { return len(x.CoreCount) > 0 }

// lost reports whether none is left of the reservations that a job asked for. It is
// held then; when somebody releases it, it competes as others do (spec: reservations
// 6.2).
func (w *world) lost(j *seenJob) bool {
	return len(j.spec.Reservations) > 0 && !slices.ContainsFunc(w.resv, func(x resvSeen) bool { return slices.Contains(j.spec.Reservations, x.Name) })
}

// choices are the reservations in which a job is tried in a partition, nil for none.
func (w *world) choices(j *seenJob, p *scheduler.PartitionSpec) (out []*resvSeen) {
	if len(j.spec.Reservations) == 0 || w.lost(j) {
		out = append(out, nil)
	}
	for i := range w.resv {
		x := &w.resv[i]
		if slices.Contains(j.spec.Reservations, x.Name) || len(j.spec.Reservations) == 0 && x.has("MAGNETIC") {
			out = append(out, x)
		}
	}
	return out
}

// admits says whether a reservation takes a job now (spec: reservations 4, 5.1 and
// 5.4).
func (w *world) admits(j *seenJob, p *scheduler.PartitionSpec, x *resvSeen) truth {
	if x == nil {
		return yes
	}
	flex := x.has("FLEX")
	switch {
	case x.has("TIME_FLOAT"), w.now >= x.End, w.now < x.Start && !flex:
		return no
	case len(j.spec.Reservations) == 0 && !flex && j.end(w.now) > x.End:
		return no
	}
	return min(w.lets(j.spec, x), listed(x.Partitions, p.Name))
}

// lets says whether the lists of a reservation let a job in.
func (w *world) lets(s *scheduler.JobSpec, x *resvSeen) truth {
	t := listed(x.Users, s.User)
	switch {
	case len(x.Accounts) == 0:
	case w.dropped:
		t = min(t, unsure)
	default:
		line := []string{w.accountOf(s)}
		for a := line[0]; w.line[a] != "" && len(line) < 5; {
			a = w.line[a]
			line = append(line, a)
		}
		t = min(t, listed(x.Accounts, line...))
	}
	switch {
	case len(x.QOS) == 0:
	case len(s.QOS) != 1:
		t = min(t, unsure)
	default:
		t = min(t, listed(x.QOS, s.QOS[0]))
	}
	return t
}

// listed says whether a list, which may deny, admits any of names.
func listed(list []string, names ...string) truth {
	if len(list) == 0 {
		return yes
	}
	deny := strings.HasPrefix(list[0], "-")
	for _, n := range names {
		for _, l := range list {
			if strings.TrimPrefix(l, "-") == n {
				return truthOf(!deny)
			}
		}
	}
	return truthOf(deny)
}

// reservedFor says whether reservations leave a node to a job that would start now
// in mine, nil for none.
func (w *world) reservedFor(j *seenJob, mine *resvSeen, n *seenNode) truth {
	t := yes
	if mine != nil {
		switch {
		case mine.has("FLEX"), mine.has("ANY_NODES"):
		case !slices.Contains(mine.on, n.Name):
			return no
		}
		if mine.partial() || strings.Contains(mine.TRES, "gres/") {
			t = unsure
		}
	}
	for i := range w.resv {
		x := &w.resv[i]
		now, ever := x.meets(w.now, j.end(w.now))
		switch {
		case mine != nil && x.Name == mine.Name || !slices.Contains(x.on, n.Name) || x.passesOver(mine) || !ever:
		case x.partial() || !now && w.cfg.Profile == scheduler.ProfileSlurm:
			t = min(t, unsure)
		default:
			return no
		}
	}
	return t
}

// describe tells what a job asks and what the twin sees.
func (w *world) describe(j *seenJob) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v, in use:", *j.spec)
	for i := range w.jobs {
		k := &w.jobs[i]
		if len(k.alloc) > 0 || k.State == scheduler.StatePending {
			fmt.Fprintf(&b, "\n  job %d %s %s %d-%d planned %v on %v %+v", k.ID, k.State, k.Reason, k.Start, k.End, k.Planned, k.plan, k.alloc)
		}
	}
	for i := range w.resv {
		fmt.Fprintf(&b, "\n  %+v", w.resv[i].ReservationSpec)
	}
	return b.String()
}
