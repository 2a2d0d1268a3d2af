package schedtest

import (
	"slices"

	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// checkRules looks at a start for conditions that did not hold: of the job itself, of
// its partition, of the reservation that it starts in, of features, of licences and
// of cores that are reserved for others.
func (r *run) checkRules(t *rapid.T, v scheduler.View, d *scheduler.Decision) {
	w := r.twin.see(v, r.now, nil, 0)
	j := &w.jobs[slices.IndexFunc(w.jobs, func(j seenJob) bool { return j.ID == d.Job })]
	m := w.job(d.Job)
	p := w.parts[d.Partition]
	switch {
	case m.settled(false) == no:
		t.Fatalf("at %d job %d starts, which depends on %s", r.now, j.ID, m.depends)
	case m.held:
		t.Fatalf("at %d job %d starts, which is held", r.now, j.ID)
	case p == nil, !m.admin && !slices.Contains(w.partitions(j), p):
		t.Fatalf("at %d job %d starts for %s in partition %q, asked for %q", r.now, j.ID, d.Limit, d.Partition, j.spec.Partitions)
	case p.MaxTime > 0 && d.Limit > p.MaxTime && !m.admin, p.MaxNodes > 0 && len(d.Nodes) > int(p.MaxNodes):
		t.Fatalf("at %d job %d starts for %s on %v in partition %s of at most %s and %d nodes", r.now, j.ID, d.Limit, d.Nodes, p.Name, p.MaxTime, p.MaxNodes)
	case d.Limit > j.spec.TimeLimit, d.Limit < j.spec.TimeLimit && (j.spec.TimeMin == 0 || d.Limit < j.spec.TimeMin):
		t.Fatalf("at %d job %d starts for %s, asked for %s, at least %s", r.now, j.ID, d.Limit, j.spec.TimeLimit, j.spec.TimeMin)
	}
	var on []*seenNode
	for i := range w.nodes {
		if n := &w.nodes[i]; slices.Contains(d.Nodes, n.Name) {
			on = append(on, n)
			if !w.has(p, n) || n.State != scheduler.NodeUp {
				t.Fatalf("at %d job %d starts on %s, which is %s, in partition %s of %s", r.now, j.ID, n.Name, n.State, p.Name, p.Nodes)
			}
		}
	}
	_, could := alternatives(j.spec)
	if !slices.ContainsFunc(could, func(f string) bool {
		return f == "" || !slices.ContainsFunc(on, func(n *seenNode) bool { return !slices.Contains(n.hw.Features, f) })
	}) {
		t.Fatalf("at %d job %d wants %s and starts on %v", r.now, j.ID, j.spec.Constraint, d.Nodes)
	}
	for _, n := range on {
		if w.unit(j, n) == no {
			t.Fatalf("at %d job %d starts on %s beside jobs of other users: %s", r.now, j.ID, n.Name, w.describe(j))
		}
	}
	w.checkMember(t, j, p, d)
	w.checkLicenses(t, j, d)
	for _, n := range on {
		w.checkCores(t, j, n, d)
	}
}

// checkMember looks whether the reservation that a job starts in takes it.
func (w *world) checkMember(t *rapid.T, j *seenJob, p *scheduler.PartitionSpec, d *scheduler.Decision) {
	at := slices.IndexFunc(w.resv, func(x resvSeen) bool { return x.Name == d.Reservation })
	switch {
	case at < 0 && d.Reservation != "":
		t.Fatalf("at %d job %d starts in %s, which there is not", w.now, j.ID, d.Reservation)
	case at < 0 && len(j.spec.Reservations) > 0 && !w.lost(j):
		t.Fatalf("at %d job %d starts outside of %v", w.now, j.ID, j.spec.Reservations)
	case at < 0:
		return
	}
	x := &w.resv[at]
	asked := slices.Contains(j.spec.Reservations, x.Name) || len(j.spec.Reservations) == 0 && x.has("MAGNETIC")
	if !asked || w.admits(j, p, x) == no {
		t.Fatalf("at %d job %d of %s, %s, for %s starts in %+v, asked for %v", w.now, j.ID, j.spec.User, j.spec.Account, d.Limit, x.ReservationSpec, j.spec.Reservations)
	}
}

// checkCores looks whether the cores that are reserved on a node are left to those
// for whom they are. It counts, since nobody says which they are.
func (w *world) checkCores(t *rapid.T, j *seenJob, n *seenNode, d *scheduler.Decision) {
	for i := range w.resv {
		x := &w.resv[i]
		now, _ := x.meets(w.now, w.now.Add(d.Limit))
		at := slices.Index(x.on, n.Name)
		if !x.partial() || at < 0 || at >= len(x.CoreCount) || !now || x.Name == d.Reservation || x.has("FLEX") || d.Reservation != "" {
			continue
		}
		kept, outside := int(x.CoreCount[at]), 0
		for k := range w.jobs {
			o := &w.jobs[k]
			a := slices.IndexFunc(o.alloc, func(a scheduler.NodeAlloc) bool { return a.Node == n.Name })
			if a < 0 {
				continue
			}
			switch m := w.job(o.ID); {
			case m.resv == x.Name:
				kept -= len(o.alloc[a].Cores)
			case m.startedAt < w.memory.resv[x.Name].since || m.startedFor <= max(x.Start, w.now):
				return // it may be on reserved cores by right
			default:
				outside++
			}
		}
		if outside > 0 && n.cores < kept {
			t.Fatalf("at %d job %d of %q starts for %s on %s, where %d cores are free and %d are reserved by %s", w.now, j.ID, d.Reservation, d.Limit, n.Name, n.cores, kept, x.Name)
		}
	}
}
