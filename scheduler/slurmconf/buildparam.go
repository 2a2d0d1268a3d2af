package slurmconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/internal/schedwords"
)

// StepsPerSecond is how many steps of a planning pass (node tests) stand for a
// second of Slurm's wall clock. A budget in seconds would make decisions depend
// on the machine; see the package comment for the table.
const StepsPerSecond = schedwords.StepsPerSecond

// parameters converts the parameters of slurm.conf.
func (b *builder) parameters() {
	p, o := &b.f.Params, &b.cfg.Parameters
	b.selection()
	b.schedulerWords()
	b.priority()
	o.KillWait, o.MinJobAge, o.OverTimeLimit = p.KillWait.V, p.MinJobAge.V, p.OverTimeLimit.V
	o.MessageTimeout, o.ResvOverRun, o.CompleteWait = p.MessageTimeout.V, p.ResvOverRun.V, p.CompleteWait.V
	o.NoRequeue = p.JobRequeue.IsSet() && !p.JobRequeue.V
	o.MaxArraySize, o.MaxRequeue, o.MaxJobs = clip32(p.MaxArraySize.V), clip32(p.MaxBatchRequeue.V), clip32(p.MaxJobCount.V)
	switch v := strings.ToUpper(p.EnforcePartLimits.V); v {
	case "YES":
		o.EnforcePartLimits = "ALL"
	default:
		o.EnforcePartLimits = v
	}
	for _, w := range p.DependencyParameters.V {
		if n, ok := strings.CutPrefix(w, "max_depend_depth="); ok {
			o.MaxDependDepth = int32(b.number(p.DependencyParameters, w, n, 0, 1<<20))
		} else if w == "kill_invalid_depend" {
			o.KillInvalidDep = true
		} // disable_remote_singleton is about other clusters of a federation
	}
	o.Limits.Enforce = enforcement(p.AccountingStorageEnforce.V)
	b.preemption()
	b.licenses()
}

// tracked makes the schema of the tracked resources.
func (b *builder) tracked() {
	b.cfg.TRES = b.f.TRES()[len(standardTRES):]
	schema, err := gres.NewSchema(b.cfg.TRES...)
	if err != nil {
		b.rd.fail(b.f.Params.AccountingStorageTRES.At, "AccountingStorageTRES", fmt.Errorf("%w: %w", ErrValue, err))
		return
	}
	b.schema = schema
}

// weights tests the lists of weights, which are kept as written: they can name
// only what is tracked.
func (b *builder) weights() {
	if b.schema == nil {
		return
	}
	p := &b.f.Params
	if _, err := priority.ParseWeights(nil, b.schema, p.PriorityWeightTRES.V); err != nil {
		b.rd.fail(p.PriorityWeightTRES.At, "PriorityWeightTRES="+p.PriorityWeightTRES.V, fmt.Errorf("%w: %w", ErrValue, err))
	}
	done := map[Origin]bool{}
	for i := range b.f.Partitions {
		w := b.f.Partitions[i].TRESBillingWeights
		if done[w.At] {
			continue
		}
		done[w.At] = true
		if _, err := priority.ParseBilling(b.schema, w.V, 0); err != nil {
			b.rd.fail(w.At, "TRESBillingWeights="+w.V, fmt.Errorf("%w: %w", ErrValue, err))
		}
	}
}

// enforcement translates the numbers of old files.
func enforcement(list []string) string {
	var out []string
	for _, w := range list {
		switch w {
		case "0", "no", "none":
		case "1", "yes":
			out = append(out, "associations")
		case "2":
			out = append(out, "limits")
		default:
			out = append(out, w)
		}
	}
	return strings.Join(out, ",")
}

// number reads the value of a word of a parameter list.
func (b *builder) number(v interface{ origin() Origin }, token, text string, lo, hi int64) int64 {
	n, err := parseCount(lo, hi, false)(text)
	if err != nil {
		b.rd.fail(v.origin(), token, err)
	}
	return n
}

func (v Value[T]) origin() Origin { return v.At }

// selection converts SelectTypeParameters and the cluster's defaults.
func (b *builder) selection() {
	p, s := &b.f.Params, &b.cfg.Parameters.Select
	if p.SelectType.V == "select/linear" {
		b.rd.fail(p.SelectType.At, p.SelectType.V, refusedErr("whole-node selection is not offered, use Exclusive=NODE with select/cons_tres"))
	}
	unit := ""
	for _, w := range p.SelectTypeParameters.V {
		switch w {
		case "cr_cpu", "cr_cpu_memory", "cr_core", "cr_core_memory", "cr_socket", "cr_socket_memory":
			if unit != "" {
				b.rd.fail(p.SelectTypeParameters.At, w, refusedErr("%s is given too", unit))
			}
			unit = w
		case "cr_memory":
			b.rd.fail(p.SelectTypeParameters.At, w, refusedErr("memory alone is no unit"))
		default:
			s.Flags = append(s.Flags, strings.ToUpper(w))
		}
	}
	base, consumed := strings.CutSuffix(unit, "_memory")
	s.NoMemory = unit != "" && !consumed
	s.Unit = map[string]string{"": "", "cr_cpu": "CR_CPU", "cr_core": "CR_Core", "cr_socket": "CR_Socket"}[base]
	if base == "cr_cpu" && slices.Contains(s.Flags, "CR_ONE_TASK_PER_CORE") {
		b.rd.fail(p.SelectTypeParameters.At, "CR_ONE_TASK_PER_CORE", refusedErr("it cannot go with CR_CPU"))
	}
	s.Defaults = scheduler.ResourceDefaults{
		DefMemPerNode: memory(p.DefMemPerNode), DefMemPerCPU: memory(p.DefMemPerCPU), DefMemPerGPU: memory(p.DefMemPerGPU),
		DefCPUPerGPU: clip32(p.DefCPUPerGPU.V), MaxMemPerNode: memory(p.MaxMemPerNode), MaxMemPerCPU: memory(p.MaxMemPerCPU)}
	s.AllowSpecResources = p.AllowSpecResourcesUsage.V
}

// priority converts the weights and times of the multifactor plug-in.
func (b *builder) priority() {
	p, o := &b.f.Params, &b.cfg.Parameters.Priority
	*o = scheduler.PriorityParameters{
		Age: uint32(p.PriorityWeightAge.V), Assoc: uint32(p.PriorityWeightAssoc.V), FairShare: uint32(p.PriorityWeightFairshare.V),
		JobSize: uint32(p.PriorityWeightJobSize.V), Partition: uint32(p.PriorityWeightPartition.V), QOS: uint32(p.PriorityWeightQOS.V),
		TRES: p.PriorityWeightTRES.V, FavorSmall: p.PriorityFavorSmall.V, UsageReset: strings.ToUpper(p.PriorityUsageResetPeriod.V),
		Dampening: uint32(p.FairShareDampeningFactor.V), Flags: strings.ToUpper(strings.Join(p.PriorityFlags.V, ",")),
		Basic: p.PriorityType.V == "priority/basic", MaxAge: roundUp(p.PriorityMaxAge.V), CalcPeriod: roundUp(p.PriorityCalcPeriod.V),
		DecayHalfLife: roundUp(p.PriorityDecayHalfLife.V),
	}
	if p.PriorityMaxAge.IsSet() && p.PriorityMaxAge.V == 0 {
		b.rd.fail(p.PriorityMaxAge.At, "PriorityMaxAge", valueErr("the age is above 0"))
	}
	if p.PriorityCalcPeriod.IsSet() && p.PriorityCalcPeriod.V == 0 {
		b.rd.fail(p.PriorityCalcPeriod.At, "PriorityCalcPeriod", valueErr("the period is above 0"))
	}
	if p.PriorityDecayHalfLife.IsSet() && p.PriorityDecayHalfLife.V == 0 {
		o.DecayHalfLife = scheduler.Infinite
		if o.UsageReset == "" || o.UsageReset == "NONE" {
			b.rd.fail(p.PriorityDecayHalfLife.At, "PriorityDecayHalfLife", refusedErr("without decay PriorityUsageResetPeriod must be set"))
		}
	}
	if b.noDatabase() && (o.Age > 0 || o.FairShare > 0) {
		b.rd.warn(p.AccountingStorageType.At, p.AccountingStorageType.V, "without slurmdbd the weights of age and fair share are 0")
		o.Age, o.FairShare = 0, 0
	}
}

// noDatabase reports whether the file says that there is no accounting
// database. A file that says nothing leaves it open: the line may be in a part
// that was left out.
func (b *builder) noDatabase() bool {
	t := b.f.Params.AccountingStorageType
	return t.IsSet() && t.V != "accounting_storage/slurmdbd" && t.V != "slurmdbd"
}

// roundUp rounds up to minutes, the grain in which Slurm keeps these times.
func roundUp(d time.Duration) time.Duration {
	if d > Forever-time.Minute {
		return d
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute
}

func (b *builder) preemption() {
	p, o := &b.f.Params, &b.cfg.Parameters.Preempt
	o.Type = strings.TrimPrefix(p.PreemptType.V, "preempt/")
	if o.Type == "none" {
		o.Type = ""
	}
	mode := slices.DeleteFunc(slices.Clone(p.PreemptMode.V), func(w string) bool { return w == "off" })
	o.Mode = strings.ToUpper(strings.Join(mode, ","))
	if p.PreemptExemptTime.V != Forever {
		o.ExemptTime = p.PreemptExemptTime.V
	}
	var words []string
	for _, it := range p.PreemptParameters.V {
		if !preemptWords[it.Name] {
			b.rd.warn(p.PreemptParameters.At, it.text(), "unknown word of PreemptParameters, ignored")
		}
		words = append(words, it.text())
	}
	o.Parameters, o.TimeSlice = strings.Join(words, ","), p.SchedulerTimeSlice.V
	switch {
	case o.Type != "" && realMode(mode) == "off":
		b.rd.fail(p.PreemptType.At, p.PreemptType.V, refusedErr("PreemptMode is OFF: CANCEL, REQUEUE or SUSPEND,GANG is needed"))
	case slices.Contains(mode, "suspend") && !slices.Contains(mode, "gang"):
		b.rd.fail(p.PreemptMode.At, o.Mode, refusedErr("SUSPEND needs GANG"))
	}
}

// preemptWords and topologyWords are the words of PreemptParameters and
// TopologyParam.
var (
	preemptWords  = words(`reorder_count strict_order youngest_first min_exempt_priority reclaim_licenses send_user_signal suspend_grace_time`)
	topologyWords = words(`dragonfly topooptional topomaxsizeunroll switchasnoderank blockasnoderank routepart routetree noctldinaddrany noinaddrany`)
)

// licenses reads name[:count],….
func (b *builder) licenses() {
	v := b.f.Params.Licenses
	for _, f := range splitList(v.V) {
		name, count, counted := strings.Cut(f, ":")
		n := int64(1)
		if counted {
			c, err := strconv.ParseInt(count, 10, 32)
			if err != nil || c < 0 {
				b.rd.fail(v.At, f, valueErr("name:count is wanted"))
				continue
			}
			n = c
		}
		b.cfg.Licenses = append(b.cfg.Licenses, scheduler.LicenseSpec{Name: name, Total: n})
	}
}

// standardTRES are always tracked, in the order of their numbers.
var standardTRES = []string{"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"}

// TRES returns the tracked resources: the eight of every cluster, then those of
// AccountingStorageTRES in their order, and gres/gpumem and gres/gpuutil if
// gres/gpu is tracked.
func (f *Files) TRES() []string {
	out := slices.Clone(standardTRES)
	add := func(name string) {
		if !hasFold(out, name) {
			out = append(out, name)
		}
	}
	gpu := false
	for _, name := range f.Params.AccountingStorageTRES.V {
		add(name)
		gpu = gpu || strings.EqualFold(name, "gres/gpu") || strings.HasPrefix(strings.ToLower(name), "gres/gpu:")
	}
	if gpu && hasFold(out, "gres/gpu") {
		add("gres/gpumem")
		add("gres/gpuutil")
	}
	return out
}
