package schedtest

import "github.com/berth-sched/berth/scheduler"

// planFields reads the budgets of the cluster command that Slurm counts in
// seconds: steps=1000 bounds the node tests of a planning pass, looks=1000 those
// of a start phase.
func planFields(c *scheduler.Config, a fields) {
	c.Parameters.Plan.MaxSteps = a.num("steps")
	c.Parameters.Queue.MaxSteps = a.num("looks")
}

// planOptions reads the fields of a job that say when it may run: timemin=60
// deadline=3600, and where: maxnodes=2 prefer=b switches=1 switchwait=60.
func planOptions(j *scheduler.JobSpec, f fields) {
	j.TimeMin = f.seconds("timemin")
	j.Deadline = scheduler.Seconds(f.num("deadline"))
	j.MaxNodes = int32(f.num("maxnodes"))
	j.Prefer, j.Switches, j.SwitchWait = f["prefer"], int32(f.num("switches")), f.seconds("switchwait")
}
