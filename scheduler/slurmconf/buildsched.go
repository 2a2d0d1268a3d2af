package slurmconf

import (
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// A schedulerWord applies one word of SchedulerParameters.
type schedulerWord struct {
	lo, hi int64 // range of its number; hi 0: no number is needed
	set    func(o *scheduler.Parameters, n int64, text string)
}

func flag(set func(o *scheduler.Parameters)) schedulerWord {
	return schedulerWord{set: func(o *scheduler.Parameters, _ int64, _ string) { set(o) }}
}

func number(lo, hi int64, field func(o *scheduler.Parameters) *int32) schedulerWord {
	return schedulerWord{lo, hi, func(o *scheduler.Parameters, n int64, _ string) { *field(o) = int32(n) }}
}

func duration(lo, hi int64, unit time.Duration, field func(o *scheduler.Parameters) *time.Duration) schedulerWord {
	return schedulerWord{lo, hi, func(o *scheduler.Parameters, n int64, _ string) { *field(o) = time.Duration(n) * unit }}
}

// schedulerWords are the words that have a counterpart.
//
// Source: slurm.conf(5), SchedulerParameters; spec/backfill.md 1.1 and 2.1.
var schedulerWords = map[string]schedulerWord{
	"default_queue_depth":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.Depth }),
	"partition_job_depth":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.PartitionDepth }),
	"sched_max_job_start":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.MaxStarts }),
	"assoc_limit_stop":          flag(func(o *scheduler.Parameters) { o.Queue.AssocLimitStop = true }),
	"bf_min_age_reserve":        duration(0, 1<<31-1, time.Second, func(o *scheduler.Parameters) *time.Duration { return &o.Queue.MinAgeReserve }),
	"bf_min_prio_reserve":       {0, 1<<32 - 1, func(o *scheduler.Parameters, n int64, _ string) { o.Queue.MinPrioReserve = uint32(n) }},
	"sched_interval":            {-1, 1<<31 - 1, func(o *scheduler.Parameters, n int64, _ string) { o.Queue.Disabled = n == -1 }},
	"bf_window":                 duration(1, 43200, time.Minute, func(o *scheduler.Parameters) *time.Duration { return &o.Plan.Window }),
	"bf_resolution":             duration(1, 3600, time.Second, func(o *scheduler.Parameters) *time.Duration { return &o.Plan.Resolution }),
	"bf_max_job_test":           number(1, 1_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxTest }),
	"bf_max_job_part":           number(0, 1_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxPart }),
	"bf_max_job_user":           number(0, 1_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxUser }),
	"bf_max_job_assoc":          number(0, 1_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxAssoc }),
	"bf_max_job_user_part":      number(0, 1_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxUserPart }),
	"bf_max_job_start":          number(0, 10_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxStarts }),
	"bf_max_job_array_resv":     number(0, 1000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxArrayPlans }),
	"bf_job_part_count_reserve": number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Plan.PartPlans }),
	"bf_node_space_size":        number(2, 2_000_000, func(o *scheduler.Parameters) *int32 { return &o.Plan.MaxSlots }),
	"bf_window_linear":          duration(0, 1<<31-1, time.Second, func(o *scheduler.Parameters) *time.Duration { return &o.Plan.WindowLinear }),
	"bf_one_resv_per_job":       flag(func(o *scheduler.Parameters) { o.Plan.OnePlanPerJob = true }),
	"bf_running_job_reserve":    flag(func(o *scheduler.Parameters) { o.Plan.RunningReserve = true }),
	"bf_busy_nodes":             flag(func(o *scheduler.Parameters) { o.Plan.BusyNodes = true }),
	"bf_licenses":               flag(func(o *scheduler.Parameters) { o.Plan.Licenses = true }),
	"bf_hetjob_prio":            {set: func(o *scheduler.Parameters, _ int64, text string) { o.Plan.HetPrio = text }},
	"bf_hetjob_immediate": flag(func(o *scheduler.Parameters) {
		o.Plan.HetImmediate = true
		o.Plan.HetPrio = "min"
	}),
	"max_switch_wait":              duration(0, 1<<31-1, time.Second, func(o *scheduler.Parameters) *time.Duration { return &o.Select.MaxSwitchWait }),
	"spec_cores_first":             flag(func(o *scheduler.Parameters) { o.Select.SpecCoresFirst = true }),
	"pack_serial_at_end":           flag(func(o *scheduler.Parameters) { o.Select.PackSerialAtEnd = true }),
	"ignore_constraint_validation": flag(func(o *scheduler.Parameters) { o.Queue.IgnoreConstraintValidation = true }),
	"ignore_prefer_validation":     flag(func(o *scheduler.Parameters) { o.Queue.IgnorePreferValidation = true }),
	"kill_invalid_depend":          flag(func(o *scheduler.Parameters) { o.KillInvalidDep = true }),
	"max_depend_depth":             number(0, 1<<20, func(o *scheduler.Parameters) *int32 { return &o.MaxDependDepth }),
	"bf_interval":                  {-1, 10_800, setInterval},
}

// setInterval reads bf_interval; -1 switches backfill off.
func setInterval(o *scheduler.Parameters, n int64, _ string) {
	if n == -1 {
		o.Plan.Mode = scheduler.PlanNone
		return
	}
	o.Plan.Interval = time.Duration(n) * time.Second
}

// wallClockWords bound Slurm's work in seconds; see wallClock.
var wallClockWords = words(`bf_max_time bf_yield_interval bf_yield_sleep max_sched_time build_queue_timeout sched_min_interval batch_sched_delay`)

// quietWords are words that change nothing here: they steer locks, remote
// calls, hosts of steps or features that other parts carry.
var quietWords = words(`
allow_zero_lic allocate_all bf_allow_magnetic_slot bf_continue bf_ignore_newly_avail_nodes bf_max_job_array bf_topopt_enable bf_topopt_iterations
bf_yield_rpc_cnt bf_min_resv bf_one_resv cts_reserved defer defer_batch delay_boot disable_hetjob_steps disable_job_shrink disable_send_gids
enable_hetjob_steps enable_job_state_cache enable_user_top expedited_requeue extra_constraints fair_constraint_validation hetjob_prio inventory_interval
max_array_tasks max_rpc_cnt max_script_size max_submit_line_size nohold_on_prolog_fail no_backup_scheduling no_env_cache preempt_reorder_count
preempt_strict_order preempt_youngest_first preempt_send_user_signal requeue_delay requeue_on_resume_failure requeue_setup_env_fail reduce_completing_frag
salloc_wait_nodes sbatch_wait_nodes topo_optional time_min_as_soft_limit default_gbytes force_requeue_on_fail ignore_prefer step_retry_count step_retry_time whole_hetjob
`)

// schedulerWords converts SchedulerType and SchedulerParameters.
func (b *builder) schedulerWords() {
	p, o := &b.f.Params, &b.cfg.Parameters
	if p.SchedulerType.V == "sched/builtin" {
		o.Plan.Mode = scheduler.PlanNone
	}
	at := p.SchedulerParameters.At
	for _, it := range p.SchedulerParameters.V {
		w, ok := schedulerWords[it.Name]
		switch {
		case !ok && wallClockWords[it.Name]:
			if _, err := parseCount(-1, 1<<40, false)(it.Value); err != nil {
				b.rd.fail(at, it.text(), err)
			}
		case !ok && quietWords[it.Name]:
		case !ok:
			b.rd.warn(at, it.text(), "unknown word of SchedulerParameters, ignored")
		case w.hi != 0:
			n, err := parseCount(w.lo, w.hi, false)(it.Value)
			if err != nil {
				b.rd.fail(at, it.text(), err)
				continue
			}
			w.set(o, n, it.Value)
		case it.Name == "bf_hetjob_prio":
			v, err := parseWord("min", "avg", "max")(it.Value)
			if err != nil {
				b.rd.fail(at, it.text(), err)
				continue
			}
			w.set(o, 0, v)
		default:
			w.set(o, 0, it.Value)
		}
	}
	b.wallClock()
}

// wallClock turns Slurm's seconds into steps: of bf_max_time the share in which
// the lock is held counts, which is bf_yield_interval in bf_yield_interval +
// bf_yield_sleep. Without bf_max_time a planning pass has no budget, without
// max_sched_time a start phase none.
func (b *builder) wallClock() {
	get := func(name string, def int64) int64 {
		if it, ok := findItem(b.f.Params.SchedulerParameters.V, name); ok {
			if n, err := parseCount(0, 1<<40, false)(it.Value); err == nil {
				return n
			}
		}
		return def
	}
	b.cfg.Parameters.Queue.MaxSteps = min(get("max_sched_time", 0), 3600) * StepsPerSecond
	seconds := get("bf_max_time", 0)
	if seconds == 0 {
		return
	}
	seconds = min(seconds, 3600)
	hold, sleep := get("bf_yield_interval", 2_000_000), get("bf_yield_sleep", 500_000)
	hold, sleep = max(min(hold, 10_000_000), 1), min(sleep, 10_000_000)
	b.cfg.Parameters.Plan.MaxSteps = max(seconds*StepsPerSecond/(hold+sleep)*hold, 1)
}
