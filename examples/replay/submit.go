package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/examples/internal/trace"
	"github.com/berth-sched/berth/examples/internal/vtime"
	"github.com/berth-sched/berth/scheduler"
)

// submissions puts the log's jobs into the scheduler's terms.
func (c *cluster) submissions(list *trace.List, o *options) ([]vtime.Job, error) {
	jobs := make([]vtime.Job, len(list.Jobs))
	first := list.Jobs[0].Submit
	ids := make(map[string]scheduler.JobID) // of the jobs so far, by the log's names
	for i := range list.Jobs {
		j := &list.Jobs[i]
		spec, err := c.spec(j)
		where := list.File
		if j.Line > 0 && o.trace != "" {
			where += ":" + strconv.Itoa(j.Line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: job %s: %w", where, j.ID, err)
		}
		spec.ID = scheduler.JobID(i + 1)
		spec.TimeLimit = limit(j, o.overestimate)
		if before := ids[j.After]; before != 0 {
			spec.Dependency = "afterany:" + strconv.FormatUint(uint64(before), 10)
		}
		ids[j.ID] = spec.ID
		if o.scavenge > 0 {
			spec.QOS = []string{qosOf(i, o.scavenge)}
		}
		jobs[i] = vtime.Job{Spec: spec, Name: j.ID, Submit: submitted(j, first, o.squeeze), Runtime: duration(j.Runtime), Where: where}
	}
	return jobs, nil
}

// submitted is when a job arrives, its distance from the first one squeezed.
func submitted(j *trace.Job, first int64, squeeze float64) scheduler.Time {
	if squeeze == 1 {
		return scheduler.Time(j.Submit)
	}
	return scheduler.Time(first + int64(float64(j.Submit-first)/squeeze))
}

// duration turns microseconds into a duration; what no duration holds is
// without end.
func duration(us int64) time.Duration {
	if us > math.MaxInt64/int64(time.Microsecond) {
		return scheduler.Infinite
	}
	return time.Duration(us) * time.Microsecond
}

// limit is the log's time limit, or made of the run time in whole minutes.
func limit(j *trace.Job, over float64) time.Duration {
	if j.Limit > 0 {
		return duration(j.Limit)
	}
	if d := float64(j.Runtime) * over; d < math.MaxInt64/1e4 {
		return (duration(int64(d))/time.Minute + 1) * time.Minute
	}
	return scheduler.Infinite
}

// spec is the request of one job.
func (c *cluster) spec(j *trace.Job) (scheduler.JobSpec, error) {
	s := scheduler.JobSpec{Name: j.Name, User: j.User, Account: j.Account, Constraint: j.Constraint}
	if j.Partition != "" {
		s.Partitions = []string{j.Partition}
	}
	if j.QOS != "" {
		s.QOS = []string{j.QOS}
	}
	for _, n := range [...]int64{j.Nodes, j.Tasks, j.TasksPerNode, j.GPUs, j.GPUsPerNode} {
		if n > math.MaxInt32 {
			return s, fmt.Errorf("asks for %d of something, more than fits", n)
		}
	}
	s.MinNodes, s.Tasks, s.TasksPerNode = int32(j.Nodes), int32(j.Tasks), int32(j.TasksPerNode)
	if cpus := (j.MilliCPUPerTask + 999) / 1000; cpus > 1 {
		s.CPUsPerTask = int32(min(cpus, math.MaxInt32))
	}
	switch {
	case j.MemPerCPUMiB > 0:
		s.Mem, s.MemMiB = scheduler.MemPerCPU, j.MemPerCPUMiB
	case j.MemPerNodeMiB > 0:
		s.Mem, s.MemMiB = scheduler.MemPerNode, j.MemPerNodeMiB
	}
	if j.Nodes > 0 && j.Tasks == 0 && j.GPUs == 0 {
		s.Exclusive = scheduler.ExclusiveNode // the log counts nodes alone
	}
	c.gpus(&s, j)
	if c.counts {
		c.byCounts(&s, j)
	}
	if len(j.GPUModels) > 0 {
		s.Constraint = strings.Join(j.GPUModels, "|")
	}
	return s, nil
}

// gpus asks for the GPUs of a job: on one node if it has so many, else the
// same number on each of the fewest nodes that divide them evenly.
func (c *cluster) gpus(s *scheduler.JobSpec, j *trace.Job) {
	each := j.GPUsPerNode
	if j.GPUs > 0 {
		most := max(c.maxGPUs, 1)
		nodes := j.Nodes
		if nodes == 0 {
			nodes = (j.GPUs + most - 1) / most
			for j.GPUs%nodes != 0 {
				nodes++
			}
		}
		each = (j.GPUs + nodes - 1) / nodes
		s.MinNodes = int32(nodes)
		if s.Tasks == 0 {
			s.Tasks = int32(j.GPUs)
		}
	}
	if each > 0 {
		s.GPUsPerNode = strconv.FormatInt(each, 10)
		s.GPUMilli = j.GPUMilli % 1000 // 0: whole devices
	}
}

// byCounts asks for milli-CPUs of each node in place of tasks and CPUs.
func (c *cluster) byCounts(s *scheduler.JobSpec, j *trace.Job) {
	per := max(j.MilliCPUPerTask, 0)
	if per == 0 {
		per = 1000
	}
	tasks, nodes := max(int64(s.Tasks), 1), int64(s.MinNodes)
	if nodes == 0 {
		nodes = max((tasks*per+c.maxCPUs*1000-1)/max(c.maxCPUs*1000, 1), 1)
		s.MinNodes = int32(min(nodes, math.MaxInt32))
	}
	s.CPUMilli = (tasks + nodes - 1) / nodes * per
	s.Tasks, s.TasksPerNode, s.CPUsPerTask = 0, 0, 0
	switch s.Mem {
	case scheduler.MemDefault:
		s.MemMiB = c.memPerCPU() * s.CPUMilli / 1000
	case scheduler.MemPerCPU:
		s.MemMiB = s.MemMiB * (s.CPUMilli + 999) / 1000
	}
	s.Mem = scheduler.MemPerNode
}
