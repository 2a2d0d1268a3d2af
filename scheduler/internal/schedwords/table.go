package schedwords

import (
	"strconv"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// StepsPerSecond is how many steps of a planning pass (node tests) stand for a
// second of Slurm's wall clock.
const StepsPerSecond = 10_000_000

// A setter applies one word of SchedulerParameters.
type setter struct {
	lo, hi int64 // range of its number; hi 0: no number is needed
	set    func(o *scheduler.Parameters, n int64, text string)
}

func flag(set func(o *scheduler.Parameters)) setter {
	return setter{set: func(o *scheduler.Parameters, _ int64, _ string) { set(o) }}
}

func number(lo, hi int64, field func(o *scheduler.Parameters) *int32) setter {
	return setter{lo, hi, func(o *scheduler.Parameters, n int64, _ string) { *field(o) = int32(n) }}
}

func duration(lo, hi int64, unit time.Duration, field func(o *scheduler.Parameters) *time.Duration) setter {
	return setter{lo, hi, func(o *scheduler.Parameters, n int64, _ string) { *field(o) = time.Duration(n) * unit }}
}

// setters are the words that have a field in [scheduler.Parameters].
//
// Source: slurm.conf(5), SchedulerParameters; spec/backfill.md 1.1 and 2.1.
var setters = map[string]setter{
	"default_queue_depth":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.Depth }),
	"partition_job_depth":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.PartitionDepth }),
	"sched_max_job_start":       number(0, 1<<31-1, func(o *scheduler.Parameters) *int32 { return &o.Queue.MaxStarts }),
	"assoc_limit_stop":          flag(func(o *scheduler.Parameters) { o.Queue.AssocLimitStop = true }),
	"bf_min_age_reserve":        duration(0, 1<<31-1, time.Second, func(o *scheduler.Parameters) *time.Duration { return &o.Queue.MinAgeReserve }),
	"bf_min_prio_reserve":       {0, 1<<32 - 1, func(o *scheduler.Parameters, n int64, _ string) { o.Queue.MinPrioReserve = uint32(n) }},
	"sched_interval":            {-1, 1<<31 - 1, setSchedInterval},
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
	"requeue_delay":                {0, 1<<31 - 1, setRequeueDelay},
	"nohold_on_prolog_fail":        flag(func(o *scheduler.Parameters) { o.NoHoldOnFail = true }),
	"allow_zero_lic":               flag(func(o *scheduler.Parameters) { o.Queue.LicensesLater = true }),
	"reduce_completing_frag":       flag(func(o *scheduler.Parameters) { o.Queue.CompletingByPartition = true }),
	"bf_continue":                  flag(func(o *scheduler.Parameters) { o.Plan.Continue = true }),
	"bf_allow_magnetic_slot":       flag(func(o *scheduler.Parameters) { o.Plan.CountMagnetic = true }),
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

// setSchedInterval reads sched_interval; -1 switches the main loop off.
func setSchedInterval(o *scheduler.Parameters, n int64, _ string) {
	if o.Queue.Disabled = n == -1; !o.Queue.Disabled {
		o.Queue.FullInterval = time.Duration(n) * time.Second
	}
}

// setRequeueDelay reads requeue_delay: a requeued job may begin a second after
// it (spec/preempt.md 4.2).
func setRequeueDelay(o *scheduler.Parameters, n int64, _ string) {
	o.RequeueDelay = time.Duration(n+1) * time.Second
}

// wallClock turns Slurm's seconds into steps: of bf_max_time the share in which
// the lock is held counts, which is bf_yield_interval in bf_yield_interval +
// bf_yield_sleep. Without bf_max_time a planning pass has no budget, without
// max_sched_time a start phase none.
func wallClock(o *scheduler.Parameters, items []Item) {
	get := func(name string, def int64) int64 {
		for i := len(items) - 1; i >= 0; i-- {
			if n, err := strconv.ParseInt(items[i].Value, 10, 64); err == nil && n >= 0 && items[i].Name == name {
				return n
			}
		}
		return def
	}
	if seconds := get("max_sched_time", 0); seconds > 0 {
		o.Queue.MaxSteps = min(seconds, 3600) * StepsPerSecond
	}
	seconds := get("bf_max_time", 0)
	if seconds == 0 {
		return
	}
	seconds = min(seconds, 3600)
	hold, sleep := get("bf_yield_interval", 2_000_000), get("bf_yield_sleep", 500_000)
	hold, sleep = max(min(hold, 10_000_000), 1), min(sleep, 10_000_000)
	o.Plan.MaxSteps = max(seconds*StepsPerSecond/(hold+sleep)*hold, 1)
}
