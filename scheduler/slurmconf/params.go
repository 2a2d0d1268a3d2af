package slurmconf

import (
	"strings"
	"time"
)

// Params are the parameters of slurm.conf that scheduling depends on. A field
// has its Slurm name; lists of words are in lower case where Slurm compares
// them without case.
type Params struct {
	ClusterName Value[string]

	SelectType           Value[string]
	SelectTypeParameters Value[[]string]
	GresTypes            Value[[]string]
	SchedulerType        Value[string]
	SchedulerParameters  Value[[]Item]
	TopologyPlugin       Value[string]
	TopologyParam        Value[[]Item]
	LaunchParameters     Value[[]string]
	SlurmdParameters     Value[[]string]
	SlurmctldParameters  Value[[]Item]
	DependencyParameters Value[[]string]

	AccountingStorageType    Value[string]
	AccountingStorageTRES    Value[[]string]
	AccountingStorageEnforce Value[[]string]

	PriorityType                             Value[string]
	PriorityFlags                            Value[[]string]
	PriorityWeightAge, PriorityWeightAssoc   Value[int64]
	PriorityWeightFairshare                  Value[int64]
	PriorityWeightJobSize, PriorityWeightQOS Value[int64]
	PriorityWeightPartition                  Value[int64]
	// PriorityWeightTRES is kept as written.
	PriorityWeightTRES       Value[string]
	PriorityMaxAge           Value[time.Duration]
	PriorityDecayHalfLife    Value[time.Duration]
	PriorityCalcPeriod       Value[time.Duration]
	PriorityUsageResetPeriod Value[string]
	PriorityFavorSmall       Value[bool]
	FairShareDampeningFactor Value[int64]

	PreemptType        Value[string]
	PreemptMode        Value[[]string]
	PreemptParameters  Value[[]Item]
	PreemptExemptTime  Value[time.Duration]
	SchedulerTimeSlice Value[time.Duration]

	// Memory defaults and limits are MiB.
	DefMemPerCPU, DefMemPerNode, DefMemPerGPU, MaxMemPerCPU, MaxMemPerNode Value[int64]
	DefCPUPerGPU                                                           Value[int64]

	MaxArraySize, MaxJobCount, MaxNodeCount, FirstJobID, MaxJobID Value[int64]
	MaxBatchRequeue                                               Value[int64]

	EnforcePartLimits          Value[string]
	AllowSpecResourcesUsage    Value[bool]
	JobRequeue                 Value[bool]
	Licenses                   Value[string]
	KillWait, MessageTimeout   Value[time.Duration]
	MinJobAge, CompleteWait    Value[time.Duration]
	OverTimeLimit              Value[time.Duration]
	ResvOverRun                Value[time.Duration]
	ReturnToService            Value[int64]
	SuspendTime                Value[time.Duration]
	ResumeTimeout              Value[time.Duration]
	SuspendTimeout             Value[time.Duration]
	SuspendExcNodes            Value[string]
	SuspendExcParts            Value[[]string]
	TaskPlugin                 Value[[]string]
	ProctrackType              Value[string]
	JobAcctGatherType          Value[string]
	PrologFlags                Value[[]string]
	JobSubmitPlugins           Value[[]string]
	Prolog, Epilog, TaskProlog Value[string]
}

func count(field func(*Params) *Value[int64]) setter[Params] {
	return put(parseCount(0, 1<<32-1, false), field)
}

func lower(s string) (string, error) { return strings.ToLower(s), nil }

func lowerList(s string) ([]string, error) { return parseList(strings.ToLower(s)) }

var paramKeys = table[Params]{
	"clustername":              put(parseText, func(p *Params) *Value[string] { return &p.ClusterName }),
	"selecttype":               put(parseWord("select/cons_tres", "select/linear"), func(p *Params) *Value[string] { return &p.SelectType }),
	"selecttypeparameters":     put(parseSelect, func(p *Params) *Value[[]string] { return &p.SelectTypeParameters }),
	"grestypes":                put(parseList, func(p *Params) *Value[[]string] { return &p.GresTypes }),
	"schedulertype":            put(parseWord("sched/backfill", "sched/builtin"), func(p *Params) *Value[string] { return &p.SchedulerType }),
	"schedulerparameters":      put(parseItems, func(p *Params) *Value[[]Item] { return &p.SchedulerParameters }),
	"topologyplugin":           put(lower, func(p *Params) *Value[string] { return &p.TopologyPlugin }),
	"topologyparam":            put(parseItems, func(p *Params) *Value[[]Item] { return &p.TopologyParam }),
	"launchparameters":         put(lowerList, func(p *Params) *Value[[]string] { return &p.LaunchParameters }),
	"slurmdparameters":         put(lowerList, func(p *Params) *Value[[]string] { return &p.SlurmdParameters }),
	"slurmctldparameters":      put(parseItems, func(p *Params) *Value[[]Item] { return &p.SlurmctldParameters }),
	"dependencyparameters":     put(lowerList, func(p *Params) *Value[[]string] { return &p.DependencyParameters }),
	"accountingstoragetype":    put(lower, func(p *Params) *Value[string] { return &p.AccountingStorageType }),
	"accountingstoragetres":    put(parseTRESNames, func(p *Params) *Value[[]string] { return &p.AccountingStorageTRES }),
	"accountingstorageenforce": put(parseEnforce, func(p *Params) *Value[[]string] { return &p.AccountingStorageEnforce }),
	"prioritytype":             put(parseWord("priority/multifactor", "priority/basic"), func(p *Params) *Value[string] { return &p.PriorityType }),
	"priorityflags":            put(lowerList, func(p *Params) *Value[[]string] { return &p.PriorityFlags }),
	"priorityweightage":        count(func(p *Params) *Value[int64] { return &p.PriorityWeightAge }),
	"priorityweightassoc":      count(func(p *Params) *Value[int64] { return &p.PriorityWeightAssoc }),
	"priorityweightfairshare":  count(func(p *Params) *Value[int64] { return &p.PriorityWeightFairshare }),
	"priorityweightjobsize":    count(func(p *Params) *Value[int64] { return &p.PriorityWeightJobSize }),
	"priorityweightpartition":  count(func(p *Params) *Value[int64] { return &p.PriorityWeightPartition }),
	"priorityweightqos":        count(func(p *Params) *Value[int64] { return &p.PriorityWeightQOS }),
	"priorityweighttres":       put(parseText, func(p *Params) *Value[string] { return &p.PriorityWeightTRES }),
	"prioritymaxage":           put(parseDuration, func(p *Params) *Value[time.Duration] { return &p.PriorityMaxAge }),
	"prioritydecayhalflife":    put(parseDuration, func(p *Params) *Value[time.Duration] { return &p.PriorityDecayHalfLife }),
	"prioritycalcperiod":       put(parseDuration, func(p *Params) *Value[time.Duration] { return &p.PriorityCalcPeriod }),
	"priorityusageresetperiod": put(parseWord("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly"), func(p *Params) *Value[string] { return &p.PriorityUsageResetPeriod }),
	"priorityfavorsmall":       put(parseBool, func(p *Params) *Value[bool] { return &p.PriorityFavorSmall }),
	"fairsharedampeningfactor": put(parseCount(1, 1<<16-1, false), func(p *Params) *Value[int64] { return &p.FairShareDampeningFactor }),
	"preempttype":              put(parseWord("preempt/none", "preempt/partition_prio", "preempt/qos"), func(p *Params) *Value[string] { return &p.PreemptType }),
	"preemptmode":              put(parsePreemptMode, func(p *Params) *Value[[]string] { return &p.PreemptMode }),
	"preemptparameters":        put(parseItems, func(p *Params) *Value[[]Item] { return &p.PreemptParameters }),
	"preemptexempttime":        put(parseDuration, func(p *Params) *Value[time.Duration] { return &p.PreemptExemptTime }),
	"schedulertimeslice":       put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.SchedulerTimeSlice }),
	"defmempercpu":             put(parseMiB, func(p *Params) *Value[int64] { return &p.DefMemPerCPU }),
	"defmempernode":            put(parseMiB, func(p *Params) *Value[int64] { return &p.DefMemPerNode }),
	"defmempergpu":             put(parseMiB, func(p *Params) *Value[int64] { return &p.DefMemPerGPU }),
	"maxmempercpu":             put(parseMiB, func(p *Params) *Value[int64] { return &p.MaxMemPerCPU }),
	"maxmempernode":            put(parseMiB, func(p *Params) *Value[int64] { return &p.MaxMemPerNode }),
	"defcpupergpu":             count(func(p *Params) *Value[int64] { return &p.DefCPUPerGPU }),
	"maxarraysize":             put(parseCount(0, 4000001, false), func(p *Params) *Value[int64] { return &p.MaxArraySize }),
	"maxbatchrequeue":          count(func(p *Params) *Value[int64] { return &p.MaxBatchRequeue }),
	"maxjobcount":              count(func(p *Params) *Value[int64] { return &p.MaxJobCount }),
	"maxnodecount":             count(func(p *Params) *Value[int64] { return &p.MaxNodeCount }),
	"firstjobid":               count(func(p *Params) *Value[int64] { return &p.FirstJobID }),
	"maxjobid":                 count(func(p *Params) *Value[int64] { return &p.MaxJobID }),
	"enforcepartlimits":        put(parseWord("no", "yes", "any", "all"), func(p *Params) *Value[string] { return &p.EnforcePartLimits }),
	"allowspecresourcesusage":  put(parseBool, func(p *Params) *Value[bool] { return &p.AllowSpecResourcesUsage }),
	"jobrequeue":               put(parseBool, func(p *Params) *Value[bool] { return &p.JobRequeue }),
	"licenses":                 put(parseText, func(p *Params) *Value[string] { return &p.Licenses }),
	"killwait":                 put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.KillWait }),
	"messagetimeout":           put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.MessageTimeout }),
	"minjobage":                put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.MinJobAge }),
	"completewait":             put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.CompleteWait }),
	"overtimelimit":            put(parseMinutes, func(p *Params) *Value[time.Duration] { return &p.OverTimeLimit }),
	"resvoverrun":              put(parseMinutes, func(p *Params) *Value[time.Duration] { return &p.ResvOverRun }),
	"returntoservice":          put(parseCount(0, 2, false), func(p *Params) *Value[int64] { return &p.ReturnToService }),
	"suspendtime":              put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.SuspendTime }),
	"resumetimeout":            put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.ResumeTimeout }),
	"suspendtimeout":           put(parseSeconds, func(p *Params) *Value[time.Duration] { return &p.SuspendTimeout }),
	"suspendexcnodes":          put(parseText, func(p *Params) *Value[string] { return &p.SuspendExcNodes }),
	"suspendexcparts":          put(parseList, func(p *Params) *Value[[]string] { return &p.SuspendExcParts }),
	"taskplugin":               put(lowerList, func(p *Params) *Value[[]string] { return &p.TaskPlugin }),
	"proctracktype":            put(lower, func(p *Params) *Value[string] { return &p.ProctrackType }),
	"jobacctgathertype":        put(lower, func(p *Params) *Value[string] { return &p.JobAcctGatherType }),
	"prologflags":              put(lowerList, func(p *Params) *Value[[]string] { return &p.PrologFlags }),
	"jobsubmitplugins":         put(lowerList, func(p *Params) *Value[[]string] { return &p.JobSubmitPlugins }),
	"prolog":                   put(parseText, func(p *Params) *Value[string] { return &p.Prolog }),
	"epilog":                   put(parseText, func(p *Params) *Value[string] { return &p.Epilog }),
	"taskprolog":               put(parseText, func(p *Params) *Value[string] { return &p.TaskProlog }),
}

// otherKeys are the parameters of slurm.conf that do not concern scheduling.
// They are read and dropped in silence; a key that is in neither list is an
// unknown one.
var otherKeys = words(`
AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageParameters
AccountingStoragePass AccountingStoragePort AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment
AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType
AcctGatherNodeFreq AcctGatherProfileType AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr
BackupController BatchStartTimeout BcastExclude BcastParameters BurstBufferType CertgenParameters CertgenType
CertmgrParameters CertmgrType CheckpointType CliFilterParameters CliFilterPlugins CommunicationParameters
ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters
DebugFlags DisableRootJobs EioTimeout EnforcePartLimitsAt EpilogMsgTime EpilogSlurmctld EpilogTimeout
ExtSensorsFreq ExtSensorsType FastSchedule FederationParameters FrontEndName GetEnvTimeout GpuFreqDef
GroupUpdateForce GroupUpdateTime GroupUpdateHash HashPlugin HealthCheckInterval HealthCheckNodeState
HealthCheckProgram HttpParserType InactiveLimit InteractiveStepOptions JobAcctGatherFrequency
JobAcctGatherParams JobCheckpointDir JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript
JobCompPort JobCompType JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate
JobFileAppend KeepAliveTime KillOnBadExit LogTimeFormat MailDomain MailProg MaxDBDMsgs
MaxStepCount MaxTasksPerNode MCSParameters MCSPlugin MetricsAuthUsers MetricsParameters MetricsType MpiDefault MpiParams NamespaceType
NodeFeaturesPlugins PluginDir PlugStackConfig PowerParameters PowerPlugin PrEpParameters PrEpPlugins
PrioritySiteFactorParameters PrioritySiteFactorPlugin PrivateData PrologEpilogTimeout PrologSlurmctld
PrologTimeout PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram
ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResvEpilog ResvProlog
RoutePlugin SallocDefaultCommand SbcastParameters ScronParameters SelectTypeParams SlurmSchedLogFile
SlurmSchedLogLevel SlurmUser SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldLogFile SlurmctldPidFile
SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug
SlurmdLogFile SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser SrunEpilog
SrunPortRange SrunProlog StateSaveLocation SuspendExcStates SuspendProgram SuspendRate SwitchParameters
SwitchType TaskEpilog TaskPluginParam TCPTimeout TLSParameters TLSType TmpFS TrackWCKey TreeWidth UnkillableStepProgram
UnkillableStepTimeout UrlParserType UsePAM VSizeFactor WaitTime X11Parameters
`)

func words(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[strings.ToLower(w)] = true
	}
	return m
}

var selectWord = parseWord("cr_cpu", "cr_cpu_memory", "cr_core", "cr_core_memory", "cr_socket", "cr_socket_memory",
	"cr_memory", "cr_one_task_per_core", "cr_core_default_dist_block", "cr_lln", "cr_pack_nodes",
	"cr_no_dist_topo_block", "enforce_binding_gres", "one_task_per_sharing_gres", "multiple_sharing_gres_pj",
	"ll_shared_gres", "other_cons_res", "other_cons_tres", "nhc_absolutely_no", "nhc_no_steps", "nhc_no")

func parseSelect(s string) ([]string, error) {
	list, _ := parseList(s)
	for i, f := range list {
		w, err := selectWord(f)
		if err != nil {
			return nil, valueErr("no such selection parameter: %q", f)
		}
		list[i] = w
	}
	return list, nil
}

var enforceWord = parseWord("associations", "limits", "qos", "safe", "wckeys", "nojobs", "nosteps", "all", "none", "no", "0", "yes", "1", "2")

func parseEnforce(s string) ([]string, error) {
	list, _ := parseList(s)
	for i, f := range list {
		w, err := enforceWord(f)
		if err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

// parseTRESNames reads a list of TRES names; the part before the slash is
// compared without case.
func parseTRESNames(s string) ([]string, error) {
	list, _ := parseList(s)
	for i, f := range list {
		kind, name, slash := strings.Cut(f, "/")
		kind = strings.ToLower(kind)
		switch kind {
		case "cpu", "mem", "energy", "node", "billing", "vmem", "pages":
			if slash {
				return nil, valueErr("%s has no name", kind)
			}
			list[i] = kind
		case "gres", "license", "bb", "fs", "ic", "lic":
			if name == "" {
				return nil, valueErr("%s/ needs a name", kind)
			}
			list[i] = kind + "/" + name
		default:
			return nil, valueErr("no such TRES: %q", f)
		}
	}
	return list, nil
}
