package scheduler

import "fmt"

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
