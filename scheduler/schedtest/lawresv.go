package schedtest

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
	"pgregory.net/rapid"
)

// A resvSeen is a reservation as the view shows it, with the nodes by name.
type resvSeen struct {
	scheduler.ReservationSpec
	on []string
}

func (x *resvSeen) has(flag string) bool { return slices.Contains(x.Flags, flag) }

// reservationsOf lists what v shows.
func reservationsOf(v scheduler.View) (out []resvSeen) {
	for x := range v.Reservations() {
		s := resvSeen{ReservationSpec: x}
		if x.Nodes != "" {
			s.on, _ = topology.ParseHostlist(x.Nodes)
		}
		out = append(out, s)
	}
	return out
}

// passesOver reports whether a job of reservation mine need not heed x.
func (x *resvSeen) passesOver(mine *resvSeen) bool {
	return mine != nil && (mine.has("MAINT") || mine.has("OVERLAP") && !x.has("MAINT"))
}

// checkReserved looks at a start beside the reservations: a job of one stays on its
// nodes and begins in its time, and nobody is on nodes that are reserved whole for
// others at any time of its limit.
func (r *run) checkReserved(t *rapid.T, v scheduler.View, d *scheduler.Decision) {
	all := reservationsOf(v)
	var mine *resvSeen
	if i := slices.IndexFunc(all, func(x resvSeen) bool { return x.Name == d.Reservation }); i >= 0 {
		mine = &all[i]
	}
	if mine != nil && !mine.has("FLEX") {
		if r.now < mine.Start || r.now >= mine.End || mine.has("TIME_FLOAT") {
			t.Fatalf("at %d job %d starts in %s, which is %d-%d %v", r.now, d.Job, mine.Name, mine.Start, mine.End, mine.Flags)
		}
		for _, n := range d.Nodes {
			if !mine.has("ANY_NODES") && !slices.Contains(mine.on, n) {
				t.Fatalf("job %d of %s is on %s, it holds %s", d.Job, mine.Name, n, mine.Nodes)
			}
		}
	}
	for i := range all {
		x := &all[i]
		now, ever := x.meets(r.now, r.now.Add(d.Limit))
		if x.Name == d.Reservation || len(x.CoreCount) > 0 || !ever || !now && r.cfg.Profile == scheduler.ProfileSlurm || x.passesOver(mine) {
			continue // profile Slurm does not look beyond the next occurrence
		}
		for _, n := range d.Nodes {
			if slices.Contains(x.on, n) {
				t.Fatalf("at %d job %d of %q starts for %s on %s of %s, %d-%d %v", r.now, d.Job, d.Reservation, d.Limit, n, x.Name, x.Start, x.End, x.Flags)
			}
		}
	}
}

// checkLevels looks whether a start keeps to the levels that its job requires, and
// to slices of nodes.
func (r *run) checkLevels(t *rapid.T, spec *scheduler.JobSpec, d *scheduler.Decision) {
	if len(r.cfg.Topologies) == 0 {
		return
	}
	top := &r.cfg.Topologies[0]
	domain := func(node, level string) string {
		for i := range top.Domains {
			if top.Domains[i].Nodes == node {
				return strings.Join(top.Domains[i].Values[:slices.Index(top.Levels, level)+1], "/")
			}
		}
		return ""
	}
	for _, l := range spec.Levels {
		in := map[string]int{}
		for _, n := range d.Nodes {
			in[domain(n, l.Level)]++
		}
		switch {
		case l.Required && (len(in) != 1 || in[""] > 0):
			t.Fatalf("job %d wants one %s and is on %v", d.Job, l.Level, d.Nodes)
		case l.Slice > 0 && spec.MinNodes > 0:
			for name, n := range in {
				if name == "" || n%int(l.Slice) != 0 {
					t.Fatalf("job %d wants slices of %d that share a %s and is on %v", d.Job, l.Slice, l.Level, d.Nodes)
				}
			}
		}
	}
}
