package scheduler

import "github.com/berth-sched/berth/qos"

// Unenforced lists what cfg says and the scheduler of this version stores and
// shows without acting on it, one phrase each. A setting has effect or is named
// here; those that concern no decision are not part of a Config.
func Unenforced(cfg *Config) []string {
	var out []string
	p := &cfg.Parameters
	say := func(set bool, text string) {
		if set {
			out = append(out, text)
		}
	}
	say(p.Limits.Enforce != "" && !accounted(cfg), "without accounts and QOS nothing is enforced of "+p.Limits.Enforce)
	e, _ := qos.ParseEnforce(p.Limits.Enforce)
	say(e&qos.EnforceWCKeys != 0, "wckeys are not enforced")
	say(p.Plan.MaxArrayPlans > 0, "bf_max_job_array_resv: arrays are refused")
	say(p.MaxArraySize > 0, "MaxArraySize: arrays are refused")
	say(p.Plan.HetPrio != "", "bf_hetjob_prio: heterogeneous jobs are refused")
	say(p.Plan.HetImmediate, "bf_hetjob_immediate: heterogeneous jobs are refused")
	if cfg.Profile == ProfileBest {
		out = onlySlurm(out, p)
	} else {
		out = onlyBest(out, p)
	}
	return append(out, p.Unheeded...)
}

// onlySlurm appends what profile Best does not look at: its plans are whole
// and kept, so that nothing needs to bound how many there are.
func onlySlurm(out []string, p *Parameters) []string {
	l := &p.Plan
	for _, w := range []struct {
		set  bool
		word string
	}{
		{l.MaxPart > 0, "bf_max_job_part"}, {l.MaxUser > 0, "bf_max_job_user"}, {l.MaxAssoc > 0, "bf_max_job_assoc"},
		{l.MaxUserPart > 0, "bf_max_job_user_part"}, {l.PartPlans > 0, "bf_job_part_count_reserve"}, {l.OnePlanPerJob, "bf_one_resv_per_job"},
		{l.RunningReserve, "bf_running_job_reserve"}, {l.WindowLinear > 0, "bf_window_linear"}, {l.MaxSlots > 0, "bf_node_space_size"},
		{l.Continue, "bf_continue"}, {l.CountMagnetic, "bf_allow_magnetic_slot"},
	} {
		if w.set {
			out = append(out, w.word+": profile best plans without it")
		}
	}
	return out
}

// onlyBest appends what profile Slurm does not look at.
func onlyBest(out []string, p *Parameters) []string {
	l, v := &p.Plan, &p.Preempt
	for _, w := range []struct {
		set  bool
		word string
	}{
		{l.Depth > 0, "Plan.Depth"}, {l.Promise != PromiseBestEffort, "Plan.Promise"}, {v.Cost != "", "Preempt.Cost"},
		{v.Window > 0, "Preempt.Window"}, {v.Budget > 0, "Preempt.Budget"}, {v.Shield > 0, "Preempt.Shield"}, {v.Settle != 0, "Preempt.Settle"},
	} {
		if w.set {
			out = append(out, w.word+": profile slurm decides without it")
		}
	}
	return out
}
