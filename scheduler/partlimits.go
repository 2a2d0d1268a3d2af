package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// capNodes keeps a request that does not say how many nodes at most, or says more,
// to what its partition allows. One that asks for more at least waits (spec: backfill
// 3); with a QOS that lets jobs exceed that, all is as asked. A partition that changes
// later changes nothing for the jobs that are there.
func (e *engine) capNodes(r *gres.Request, p *PartitionSpec) {
	least, _ := r.NodeRange()
	if p.MaxNodes == 0 || least > p.MaxNodes || r.MaxNodes > 0 && r.MaxNodes <= p.MaxNodes {
		return
	}
	if slices.ContainsFunc(e.cfg.QOS, func(q QOSSpec) bool {
		return slices.ContainsFunc(q.Flags, func(f string) bool { return strings.EqualFold(f, "PartitionMaxNodes") })
	}) {
		return
	}
	if r.MaxNodes == 0 {
		r.Flags |= gres.ImpliedMaxNodes // as many as it must have are wanted
	}
	r.MaxNodes = p.MaxNodes
}

// enforcePartLimits refuses a job for limits of its partitions, if it is told to
// do so at submission: under ANY for those of all of its partitions, under ALL
// for those of one. A job that it does not refuse may wait for them. What a QOS
// lets a job exceed counts here all the same, and a partition that is down is no
// limit. Source: slurm.conf(5), EnforcePartLimits.
func (e *engine) enforcePartLimits(s *JobSpec, parts, classes []int32) error {
	mode := e.par.EnforcePartLimits
	if mode != "ANY" && mode != "ALL" {
		return nil
	}
	over := ReasonNone
	name := ""
	for i := firstPlain(s); i < len(parts); i += 1 + firstPlain(s) {
		switch why := e.waitsFor(s, ownOf(s), parts[i], classes[i]); why {
		case ReasonNone, ReasonPartitionDown, ReasonPartitionInactive:
			if mode == "ANY" {
				return nil
			}
		default:
			if over == ReasonNone {
				over, name = why, e.parts[parts[i]].spec.Name
			}
		}
	}
	if over == ReasonNone {
		return nil
	}
	return fmt.Errorf("scheduler: submit job %d: partition %q: %s: %w", s.ID, name, over, ErrPartitionLimit)
}
