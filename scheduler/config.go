package scheduler

import "time"

// Profile sets every knob that is not set by itself.
type Profile uint8

// The two profiles.
const (
	// ProfileBest takes berth's better rules.
	ProfileBest Profile = iota
	// ProfileSlurm decides what Slurm 26.05 decides.
	ProfileSlurm
	profiles
)

var profileNames = [profiles]string{ProfileBest: "best", ProfileSlurm: "slurm"}

// String returns the name of p.
func (p Profile) String() string { return enumName(profileNames[:], uint8(p)) }

// MarshalText returns the name of p.
func (p Profile) MarshalText() ([]byte, error) { return enumText(profileNames[:], uint8(p)) }

// UnmarshalText accepts a name that MarshalText gives.
func (p *Profile) UnmarshalText(b []byte) error {
	v, err := enumParse("profile", profileNames[:], b)
	if err == nil {
		*p = Profile(v)
	}
	return err
}

// Config says how to build a scheduler. It is plain data: it survives JSON and
// can be journalled; code is in a [Registry]. The zero value of every field but
// Nodes is a usable default.
type Config struct {
	// Cluster is the cluster's name.
	Cluster string `json:",omitempty"`
	// Profile sets the rules. Default: ProfileBest.
	Profile Profile `json:",omitempty"`
	// Defects copies defects of Slurm that the specifications name as not to
	// copy. Only for comparison with recorded decisions.
	Defects bool `json:",omitempty"`
	// Nodes describes the nodes; at least one, unless MaxNodes leaves room for
	// some to join. They are put into Slurm's node order: natural order of
	// names, then those that joined later in order of their Slot.
	Nodes []NodeSpec
	// MaxNodes is the number of nodes that there may ever be; 0 is as many as
	// are configured. Slurm: MaxNodeCount.
	MaxNodes int32 `json:",omitempty"`
	// NodeSets are names for sets of nodes, which partitions may use. Slurm:
	// NodeSet.
	NodeSets []NodeSetSpec `json:",omitempty"`
	// Partitions; none makes one named "default" over all nodes.
	Partitions []PartitionSpec `json:",omitempty"`
	// GresTypes are the names of generic resources. Default: those that nodes
	// name. Slurm: GresTypes.
	GresTypes []string `json:",omitempty"`
	// TRES are the tracked resources beside the standard ones. Slurm:
	// AccountingStorageTRES.
	TRES []string `json:",omitempty"`
	// Topologies; none is one flat topology. The first is the default.
	Topologies []TopologySpec `json:",omitempty"`
	// Accounts are the accounts and users, parents before children.
	Accounts []AssocSpec `json:",omitempty"`
	// QOS are the qualities of service.
	QOS []QOSSpec `json:",omitempty"`
	// Cohorts are the quotas that lend.
	Cohorts []CohortSpec `json:",omitempty"`
	// Reservations that exist from the beginning.
	Reservations []ReservationSpec `json:",omitempty"`
	// Licenses are the cluster's licence pools. Slurm: Licenses.
	Licenses []LicenseSpec `json:",omitempty"`
	// Parameters are the settings that may change while running.
	Parameters Parameters
}

// Parameters are the settings that an event may change while running. Zero
// values are the defaults; where zero itself has a meaning the comment says how
// to say it.
type Parameters struct {
	// Queue bounds and orders the start phase.
	Queue QueueParameters
	// Plan says how far ahead and for whom the scheduler plans.
	Plan PlanParameters
	// Priority weighs the factors.
	Priority PriorityParameters
	// Select says what a job occupies.
	Select SelectParameters
	// Preempt says who may take whose place.
	Preempt PreemptParameters
	// Limits says what is enforced.
	Limits LimitParameters
	// KillWait is the time between SIGTERM and SIGKILL. Default: 30 s. Slurm:
	// KillWait.
	KillWait time.Duration `json:",omitempty"`
	// MinJobAge is how long an ended job is remembered. Default: 300 s. Slurm:
	// MinJobAge.
	MinJobAge time.Duration `json:",omitempty"`
	// OverTimeLimit is how long a job may exceed its limit; Infinite for ever.
	// Slurm: OverTimeLimit.
	OverTimeLimit time.Duration `json:",omitempty"`
	// MessageTimeout is, with KillWait, how long a job waits for its victims
	// before it may choose others. Default: 10 s. Slurm: MessageTimeout.
	MessageTimeout time.Duration `json:",omitempty"`
	// ResvOverRun is how long a job may run past the end of its reservation;
	// Infinite for ever. Slurm: ResvOverRun.
	ResvOverRun time.Duration `json:",omitempty"`
	// Zone lists how far clocks are ahead of UTC, ascending: the calendar of
	// reservations that repeat. Before the first, and if there are none,
	// Priority.UTCOffset holds.
	Zone []ZoneChange `json:",omitempty"`
	// CompleteWait is for how long a job that ends keeps others from starting,
	// unless its nodes are free before. Slurm: CompleteWait.
	CompleteWait time.Duration `json:",omitempty"`
	// RequeueDelay is how long a requeued job waits. Default: 121 s in profile
	// Slurm, else 0.
	RequeueDelay time.Duration `json:",omitempty"`
	// NoHoldOnFail lets a job whose start failed wait like one that is requeued;
	// otherwise it is held. Slurm: nohold_on_prolog_fail.
	NoHoldOnFail bool `json:",omitempty"`
	// MaxRequeue: with NoHoldOnFail, a job whose start failed is held once it has
	// been requeued more often. Default: 5 in profile Slurm, else 0: any number.
	// Slurm: MaxBatchRequeue.
	MaxRequeue int32 `json:",omitempty"`
	// MaxJobs is the most jobs that may be remembered, ended ones with them, for
	// another to be taken; 0 any number. Slurm: MaxJobCount.
	MaxJobs int32 `json:",omitempty"`
	// NoRequeue makes jobs not requeueable unless they say so. Slurm:
	// JobRequeue=0.
	NoRequeue bool `json:",omitempty"`
	// MaxArraySize is one more than the largest array index. Default: 1001.
	MaxArraySize int32 `json:",omitempty"`
	// StepPassing lets a step of a job start before earlier ones that do not
	// fit, as independent sruns do; profile Slurm always does. Otherwise a
	// job's steps start first in, first out.
	StepPassing bool `json:",omitempty"`
	// KillInvalidDep cancels jobs whose dependency can never be met. Slurm:
	// kill_invalid_depend.
	KillInvalidDep bool `json:",omitempty"`
	// MaxDependDepth is how many jobs long a circle of dependencies may be and
	// be found. Default: 10 in profile Slurm, else any number. Slurm:
	// max_depend_depth.
	MaxDependDepth int32 `json:",omitempty"`
	// EnforcePartLimits refuses at submission what exceeds partition limits:
	// "NO", "ANY", "ALL". Default: NO. Slurm: EnforcePartLimits.
	EnforcePartLimits string `json:",omitempty"`
	// Unheeded are settings that concern decisions and have no effect, a phrase
	// each, for [Unenforced]. slurmconf notes here what it found no field for.
	Unheeded []string `json:",omitempty"`
}

// QueueParameters bound the start phase. Budgets are counted in records, not
// in seconds, so that results do not depend on the machine.
type QueueParameters struct {
	// Depth is the most records tested in a pass, and one; 0 all. slurmconf sets
	// 100 if the file says nothing. Slurm: default_queue_depth.
	Depth int32 `json:",omitempty"`
	// FullInterval: a pass so long after the last that tested all records tests
	// all. Default: 60 s. Slurm: sched_interval.
	FullInterval time.Duration `json:",omitempty"`
	// PartitionDepth is the most records of a partition tested; 0 all. Slurm:
	// partition_job_depth.
	PartitionDepth int32 `json:",omitempty"`
	// MaxStarts is the most starts of a pass; 0 any. Slurm:
	// sched_max_job_start.
	MaxStarts int32 `json:",omitempty"`
	// MaxSteps bounds the work of a start phase, in looks at nodes; 0 none. A
	// phase ends with the record that reaches it. Stands for Slurm's
	// max_sched_time.
	MaxSteps int64 `json:",omitempty"`
	// AssocLimitStop lets a limit-blocked job block its association. Slurm:
	// assoc_limit_stop.
	AssocLimitStop bool `json:",omitempty"`
	// MinAgeReserve and MinPrioReserve: younger or lower jobs block nobody.
	// Slurm: bf_min_age_reserve, bf_min_prio_reserve.
	MinAgeReserve time.Duration `json:",omitempty"`
	// MinPrioReserve is the least priority that blocks.
	MinPrioReserve uint32 `json:",omitempty"`
	// IgnoreConstraintValidation and the next skip the test that features
	// exist. Slurm: ignore_constraint_validation, ignore_prefer_validation.
	IgnoreConstraintValidation bool `json:",omitempty"`
	// IgnorePreferValidation skips it for --prefer.
	IgnorePreferValidation bool `json:",omitempty"`
	// LicensesLater lets jobs wait that ask for more licences than there are;
	// otherwise they are refused. Slurm: allow_zero_lic.
	LicensesLater bool `json:",omitempty"`
	// CompletingByPartition: of CompleteWait, a job that ends holds back those
	// of its partition and of partitions that share nodes with it; otherwise
	// all. Planning waits in any case. Slurm: reduce_completing_frag.
	CompletingByPartition bool `json:",omitempty"`
	// Disabled switches the start phase off, planning alone starts jobs.
	// Slurm: sched_interval=-1.
	Disabled bool `json:",omitempty"`
}

// PlanMode says which jobs planning lets pass a waiting one.
type PlanMode uint8

// Modes of planning.
const (
	// PlanBackfill: a job may pass waiting ones if it delays no plan.
	PlanBackfill PlanMode = iota
	// PlanNone: strict order, a waiting job stops its partition. Slurm:
	// sched/builtin.
	PlanNone
	planModes
)

var planModeNames = [planModes]string{PlanBackfill: "backfill", PlanNone: "none"}

// String returns the name of m.
func (m PlanMode) String() string { return enumName(planModeNames[:], uint8(m)) }

// MarshalText returns the name of m.
func (m PlanMode) MarshalText() ([]byte, error) { return enumText(planModeNames[:], uint8(m)) }

// UnmarshalText accepts a name that MarshalText gives.
func (m *PlanMode) UnmarshalText(b []byte) error {
	v, err := enumParse("plan mode", planModeNames[:], b)
	if err == nil {
		*m = PlanMode(v)
	}
	return err
}

// PlanParameters say how far ahead and for whom the scheduler plans.
type PlanParameters struct {
	// Mode is backfill or none.
	Mode PlanMode `json:",omitempty"`
	// Depth is the number of waiting jobs that get a plan: 1 is EASY
	// backfill, 0 is all (conservative backfill).
	Depth int32 `json:",omitempty"`
	// Promise says what makes a plan of profile Best move later. Default: a job
	// of higher rank that comes later. Profile Slurm promises nothing.
	Promise Promise `json:",omitempty"`
	// Fill says which of the waiting jobs of equal priority takes first what
	// becomes free before plans begin, in profile Best. Default: the shortest.
	Fill Fill `json:",omitempty"`
	// Window is how far ahead plans are kept. Default: 24 h in profile Slurm,
	// else Infinite. Slurm: bf_window.
	Window time.Duration `json:",omitempty"`
	// Resolution is the grain of plans; starts are rounded up to it. Default:
	// 60 s in profile Slurm, else 1 µs. Slurm: bf_resolution.
	Resolution time.Duration `json:",omitempty"`
	// Interval is the pause between planning passes. Default: 30 s in profile
	// Slurm, else 0: at every pass. Slurm: bf_interval.
	Interval time.Duration `json:",omitempty"`
	// MaxTest is the most records tried in a planning pass. Default: 500 in
	// profile Slurm, else 0: all. Slurm: bf_max_job_test.
	MaxTest int32 `json:",omitempty"`
	// MaxPart, MaxUser, MaxAssoc and MaxUserPart bound tries; 0 none. Slurm:
	// bf_max_job_part, _user, _assoc, _user_part.
	MaxPart int32 `json:",omitempty"`
	// MaxUser bounds tries of a user.
	MaxUser int32 `json:",omitempty"`
	// MaxAssoc bounds tries of an association.
	MaxAssoc int32 `json:",omitempty"`
	// MaxUserPart bounds tries of a user in a partition.
	MaxUserPart int32 `json:",omitempty"`
	// MaxStarts bounds starts of a planning pass; 0 none. Slurm:
	// bf_max_job_start.
	MaxStarts int32 `json:",omitempty"`
	// MaxArrayPlans bounds plans of one array. Default: 20. Slurm:
	// bf_max_job_array_resv.
	MaxArrayPlans int32 `json:",omitempty"`
	// PartPlans: only the first so many jobs of a partition get plans; 0 all.
	// Slurm: bf_job_part_count_reserve.
	PartPlans int32 `json:",omitempty"`
	// OnePlanPerJob: a job of several partitions plans in the first. Slurm:
	// bf_one_resv_per_job.
	OnePlanPerJob bool `json:",omitempty"`
	// RunningReserve puts running jobs into the map as whole nodes. Slurm:
	// bf_running_job_reserve.
	RunningReserve bool `json:",omitempty"`
	// BusyNodes plans on nodes in use first, which keeps idle ones for those that
	// can start now. Slurm: bf_busy_nodes.
	BusyNodes bool `json:",omitempty"`
	// Licenses makes licences part of the map. Slurm: bf_licenses.
	Licenses bool `json:",omitempty"`
	// WindowLinear is the growth of the window of tried ends. Slurm:
	// bf_window_linear.
	WindowLinear time.Duration `json:",omitempty"`
	// MaxSteps bounds the work that profile Best spends in a pass on moving
	// plans to earlier starts, in looks at a node; 0 is 12,000. What can start
	// now starts in any case; what is left over the next passes take up where it
	// stopped. Stands for Slurm's bf_max_time.
	MaxSteps int64 `json:",omitempty"`
	// Continue lets a planning pass that used up its steps go on in the next call
	// though jobs or nodes changed meanwhile; otherwise it ends, and the next
	// begins from the top after Interval. Only in profile Slurm. Slurm:
	// bf_continue.
	Continue bool `json:",omitempty"`
	// CountMagnetic counts the records that a job has in MAGNETIC reservations
	// in MaxTest. Only in profile Slurm. Slurm: bf_allow_magnetic_slot.
	CountMagnetic bool `json:",omitempty"`
	// MaxSlots bounds the slots of the map: a planning pass ends at the first
	// job that would plan when the map has as many. Default: MaxTest in profile
	// Slurm, else 0: none. Slurm: bf_node_space_size.
	MaxSlots int32 `json:",omitempty"`
	// HetPrio aggregates a het job's components: "", "min", "avg", "max".
	HetPrio string `json:",omitempty"`
	// HetImmediate starts a het job in the pass in which it fits.
	HetImmediate bool `json:",omitempty"`
}

// PriorityParameters weigh the factors (spec: priority 1).
type PriorityParameters struct {
	// Age, Assoc, FairShare, JobSize, Partition and QOS are weights. Default:
	// 0. Slurm: PriorityWeight….
	Age uint32 `json:",omitempty"`
	// Assoc is the weight of the association's priority.
	Assoc uint32 `json:",omitempty"`
	// FairShare is the weight of the fair-share factor.
	FairShare uint32 `json:",omitempty"`
	// JobSize is the weight of the job's size.
	JobSize uint32 `json:",omitempty"`
	// Partition is the weight of PriorityJobFactor.
	Partition uint32 `json:",omitempty"`
	// QOS is the weight of the QOS's priority.
	QOS uint32 `json:",omitempty"`
	// TRES are weights by TRES: "cpu=100,gres/gpu=1000". Slurm:
	// PriorityWeightTRES.
	TRES string `json:",omitempty"`
	// MaxAge is the age that counts fully. Default: 7 days.
	MaxAge time.Duration `json:",omitempty"`
	// FavorSmall prefers small jobs. Slurm: PriorityFavorSmall.
	FavorSmall bool `json:",omitempty"`
	// DecayHalfLife of usage. Default: 7 days; Infinite is no decay. Slurm:
	// PriorityDecayHalfLife.
	DecayHalfLife time.Duration `json:",omitempty"`
	// CalcPeriod is the time between computations. Default: 5 min. Slurm:
	// PriorityCalcPeriod.
	CalcPeriod time.Duration `json:",omitempty"`
	// UsageReset is NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY.
	UsageReset string `json:",omitempty"`
	// Dampening is the classic fair-share dampening factor. Default: 1.
	Dampening uint32 `json:",omitempty"`
	// Flags is PriorityFlags as written.
	Flags string `json:",omitempty"`
	// Basic hands out falling priorities in order of submission. Slurm:
	// PriorityType=priority/basic.
	Basic bool `json:",omitempty"`
	// UTCOffset is the zone of reset periods and of recurring reservations,
	// until TimeZone's rules apply.
	UTCOffset time.Duration `json:",omitempty"`
}

// SelectParameters say what a job occupies (spec: cores 1).
type SelectParameters struct {
	// Unit is CR_CPU, CR_Core or CR_Socket. Default: CR_Core.
	Unit string `json:",omitempty"`
	// NoMemory says that memory is not consumed. Slurm: a unit without
	// _Memory.
	NoMemory bool `json:",omitempty"`
	// Flags are the other words of SelectTypeParameters, upper case, in their
	// order: CR_ONE_TASK_PER_CORE, CR_LLN, CR_PACK_NODES,
	// CR_CORE_DEFAULT_DIST_BLOCK, ENFORCE_BINDING_GRES,
	// ONE_TASK_PER_SHARING_GRES, MULTIPLE_SHARING_GRES_PJ, LL_SHARED_GRES.
	Flags []string `json:",omitempty"`
	// Defaults are the cluster's memory and CPU defaults.
	Defaults ResourceDefaults
	// AllowSpecResources honours CoreSpec. Slurm: AllowSpecResourcesUsage.
	AllowSpecResources bool `json:",omitempty"`
	// SpecCoresFirst takes specialised cores from the first index. Slurm:
	// spec_cores_first.
	SpecCoresFirst bool `json:",omitempty"`
	// PackSerialAtEnd is pack_serial_at_end.
	PackSerialAtEnd bool `json:",omitempty"`
	// MaxSwitchWait bounds SwitchWait. Default: 300 s. Slurm: max_switch_wait.
	MaxSwitchWait time.Duration `json:",omitempty"`
	// Fragmentation names the placement policy of one-node requests (spec:
	// fragmentation 3, 4): FirstFit, BestFit, DotProd, GpuPacking,
	// GpuClustering, FGD or FillUp, in any case; empty is first fit in node
	// order. Kubernetes: scoring plug-ins.
	Fragmentation string `json:",omitempty"`
	// ReconfigureDelay is what cutting devices anew takes: the job's time limit
	// begins so much later. See DeviceSpec.Model.
	ReconfigureDelay time.Duration `json:",omitempty"`
	// Workload is what FGD and FillUp expect to be asked for; if empty they
	// learn it from what is submitted.
	Workload []TaskSpec `json:",omitempty"`
	// WorkloadHalfLife is the time after which a submission counts half for a
	// learned workload; 0 is never.
	WorkloadHalfLife time.Duration `json:",omitempty"`
}

// A TaskSpec is a form of one-node task in an expected workload.
type TaskSpec struct {
	// CPUMilli in thousandths of a CPU.
	CPUMilli int64 `json:",omitempty"`
	// GPUs is the number of devices; GPUMilli the part of a single one in
	// thousandths, 0 whole devices.
	GPUs int32 `json:",omitempty"`
	// GPUMilli is 1 to 1000, or 0.
	GPUMilli int64 `json:",omitempty"`
	// GPUType that it wants; empty is any.
	GPUType string `json:",omitempty"`
	// Count is how often it occurs, at least 1.
	Count int64
}

// ResourceDefaults are defaults and maxima that cluster and partitions have.
// Zero is unset.
type ResourceDefaults struct {
	// DefMemPerNode, DefMemPerCPU and DefMemPerGPU in MiB.
	DefMemPerNode int64 `json:",omitempty"`
	// DefMemPerCPU in MiB.
	DefMemPerCPU int64 `json:",omitempty"`
	// DefMemPerGPU in MiB.
	DefMemPerGPU int64 `json:",omitempty"`
	// DefCPUPerGPU is the number of CPUs for each GPU.
	DefCPUPerGPU int32 `json:",omitempty"`
	// MaxMemPerNode and MaxMemPerCPU in MiB.
	MaxMemPerNode int64 `json:",omitempty"`
	// MaxMemPerCPU in MiB.
	MaxMemPerCPU int64 `json:",omitempty"`
}

// PreemptParameters say who may take whose place (spec: preempt 1).
type PreemptParameters struct {
	// Type is "", "partition_prio" or "qos". Slurm: PreemptType.
	Type string `json:",omitempty"`
	// Mode is PreemptMode as written: "REQUEUE", "SUSPEND,GANG", ….
	Mode string `json:",omitempty"`
	// ExemptTime protects young jobs; 0 does not. Slurm: PreemptExemptTime.
	ExemptTime time.Duration `json:",omitempty"`
	// Parameters is PreemptParameters as written.
	Parameters string `json:",omitempty"`
	// Cost names the function of Registry.Costs that weighs victims in profile
	// Best. Default: GPU-seconds since the last checkpoint or start, times the
	// priority.
	Cost string `json:",omitempty"`
	// TimeSlice of gang scheduling. Default: 30 s. Slurm: SchedulerTimeSlice.
	TimeSlice time.Duration `json:",omitempty"`
	// Signals spells out a victim's signals as decisions, with the times at which
	// they are due: OpSignal at the notice, and with the end of the grace those of
	// the kill sequence. Without it OpPreempt, OpKill and OpSuspend stand for
	// them.
	Signals bool `json:",omitempty"`
	// Window is the time over which Budget and Shield count; 0 leaves evictions
	// uncounted. Only in profile Best, as the next three.
	Window time.Duration `json:",omitempty"`
	// Budget is the most victims that jobs of one account take in a window; 0 any
	// number.
	Budget int32 `json:",omitempty"`
	// Shield is the most jobs that one account loses in a window; 0 any number.
	// Kubernetes: PodDisruptionBudget.
	Shield int32 `json:",omitempty"`
	// Settle is how long a job that was evicted runs, once it has started again,
	// before it may be taken again. Default: 1 min; negative is not at all.
	Settle time.Duration `json:",omitempty"`
}

// LimitParameters say what is enforced. Slurm: AccountingStorageEnforce.
type LimitParameters struct {
	// Enforce is the list as written: "associations,limits,qos,safe,…".
	Enforce string `json:",omitempty"`
}
