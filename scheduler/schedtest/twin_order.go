package schedtest

import (
	"slices"

	"github.com/berth-sched/berth/scheduler"
)

// strict reports whether the first job that waits stops its partition, as far as
// the twin looks: profile Slurm backfills now and then only.
func (w *world) strict() bool {
	return w.cfg.Profile == scheduler.ProfileSlurm || w.cfg.Parameters.Plan.Mode == scheduler.PlanNone
}

// several reports whether a job may be tried more than once in a pass.
func (w *world) several(j *seenJob) bool {
	return len(j.spec.Partitions) > 1 || len(j.spec.Reservations) > 1 || j.spec.Prefer != "" ||
		slices.ContainsFunc(w.resv, func(x resvSeen) bool { return x.has("MAGNETIC") })
}

// blocked returns what others who wait keep from a job in a partition: of nil, the
// whole partition.
func (w *world) blocked(j *seenJob, p *scheduler.PartitionSpec) func(*seenNode) truth {
	if w.strict() {
		return w.behind(j, p)
	}
	return func(n *seenNode) truth {
		if n == nil {
			return no
		}
		return w.planned(j, n)
	}
}

// planned says whether plans of others keep a job from a node now.
func (w *world) planned(j *seenJob, n *seenNode) truth {
	t := no
	for i := range w.jobs {
		k := &w.jobs[i]
		switch {
		case k.ID == j.ID || k.State != scheduler.StatePending || !k.Planned || k.Start >= j.end(w.now):
		case w.several(k):
			t = max(t, unsure) // it may have other plans than the one that is shown
		case !slices.Contains(k.plan, n.Name):
		case k.spec.Exclusive == scheduler.ExclusiveNode || j.spec.Exclusive == scheduler.ExclusiveNode:
			return yes
		default:
			t = max(t, unsure)
		}
	}
	return t
}

// behind says what earlier jobs that wait keep from a job in strict order (spec:
// backfill 1.3): their partitions, and the nodes of those.
func (w *world) behind(j *seenJob, p *scheduler.PartitionSpec) func(*seenNode) truth {
	type block struct {
		part *scheduler.PartitionSpec
		t    truth
	}
	var blocks []block
	if len(j.spec.Partitions) > 1 {
		for _, q := range w.partitions(j) {
			if q != p {
				blocks = append(blocks, block{q, unsure}) // it may block itself in the partition before
			}
		}
	}
	at := slices.Index(w.order, j.ID)
	for i := range w.jobs {
		k := &w.jobs[i]
		if k.ID == j.ID || k.State != scheduler.StatePending {
			continue
		}
		pos, t := slices.Index(w.order, k.ID), no
		if at < 0 || w.several(j) || pos < at && pos >= 0 {
			t = w.blocks(k, j)
		}
		if at < 0 || w.several(j) {
			t = min(t, unsure) // its order is not known
		}
		if t > no {
			for _, q := range w.partitions(k) {
				blocks = append(blocks, block{q, t})
			}
		}
	}
	return func(n *seenNode) truth {
		t := no
		for _, b := range blocks {
			if n == nil && b.part == p || n != nil && w.has(b.part, n) {
				t = max(t, b.t)
			}
		}
		return t
	}
}

// blocks says whether job k, which waits, blocks its partitions for j. One that
// waits for licences or in a reservation of its own blocks nobody else.
func (w *world) blocks(k, j *seenJob) truth {
	if w.licensed(k, nil) == no {
		return no
	}
	if len(k.spec.Reservations) > 0 {
		own := func(name string) bool {
			i := slices.IndexFunc(w.resv, func(x resvSeen) bool { return x.Name == name })
			return slices.Contains(j.spec.Reservations, name) || i >= 0 && (w.resv[i].has("FLEX") || w.resv[i].has("ANY_NODES"))
		}
		if !slices.ContainsFunc(k.spec.Reservations, own) && !slices.ContainsFunc(w.resv, func(x resvSeen) bool { return x.has("MAGNETIC") }) {
			return no
		}
		return unsure
	}
	if k.Reason == scheduler.ReasonResources && !w.several(k) && len(w.resv) == 0 {
		return yes
	}
	return unsure
}

// unit says whether a node and its unit of the topology are a job's to use beside
// those who are there: jobs that want their units alone are not sorted out.
func (w *world) unit(j *seenJob, n *seenNode) truth {
	alone := j.spec.Exclusive == scheduler.ExclusiveTopo
	for i := range w.jobs {
		k := &w.jobs[i]
		if k.ID == j.ID {
			continue
		}
		if k.User != j.User && (k.spec.Exclusive == scheduler.ExclusiveUser || j.spec.Exclusive == scheduler.ExclusiveUser) {
			if slices.ContainsFunc(k.alloc, func(a scheduler.NodeAlloc) bool { return a.Node == n.Name }) {
				return no
			}
			if k.Planned && k.Start < j.end(w.now) {
				return unsure
			}
		}
		if !alone && k.spec.Exclusive != scheduler.ExclusiveTopo || len(w.cfg.Topologies) == 0 {
			continue
		}
		if alone && (len(k.alloc) > 0 || k.Planned) {
			return unsure
		}
		for _, a := range k.alloc {
			if w.domain(a.Node, "zone") == n.zone {
				return unsure
			}
		}
		if k.Planned {
			return unsure
		}
	}
	return yes
}
