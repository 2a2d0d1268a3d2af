package schedtest

import (
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// planFields reads the fields of the cluster command that bound its passes, by
// Slurm's words: bf_max_job_test=2 default_queue_depth=100 bf_window=60 ….
// Times are in seconds, of bf_window in minutes; steps=1000 bounds the node tests
// of a planning pass.
func planFields(c *scheduler.Config, a fields) {
	p, q := &c.Parameters.Plan, &c.Parameters.Queue
	for word, field := range map[string]*int32{
		"bf_max_job_test": &p.MaxTest, "bf_max_job_part": &p.MaxPart, "bf_max_job_user": &p.MaxUser, "bf_max_job_assoc": &p.MaxAssoc,
		"bf_max_job_user_part": &p.MaxUserPart, "bf_max_job_start": &p.MaxStarts, "bf_node_space_size": &p.MaxSlots,
		"bf_job_part_count_reserve": &p.PartPlans, "default_queue_depth": &q.Depth, "partition_job_depth": &q.PartitionDepth,
		"sched_max_job_start": &q.MaxStarts,
	} {
		*field = int32(a.num(word))
	}
	for word, field := range map[string]*bool{
		"bf_one_resv_per_job": &p.OnePlanPerJob, "bf_running_job_reserve": &p.RunningReserve, "bf_busy_nodes": &p.BusyNodes,
		"bf_licenses": &p.Licenses,
	} {
		*field = a.has(word)
	}
	p.MaxSteps = a.num("steps")
	if a.has("bf_window") {
		p.Window = time.Duration(a.num("bf_window")) * time.Minute
	}
	q.MinAgeReserve = a.seconds("bf_min_age_reserve")
	q.MinPrioReserve = uint32(a.num("bf_min_prio_reserve"))
	q.Disabled = a.num("sched_interval") == -1
}

// planOptions reads the fields of a job that say when it may run: timemin=60
// deadline=3600, and maxnodes=2.
func planOptions(j *scheduler.JobSpec, f fields) {
	j.TimeMin = f.seconds("timemin")
	j.Deadline = scheduler.Seconds(f.num("deadline"))
	j.MaxNodes = int32(f.num("maxnodes"))
}
