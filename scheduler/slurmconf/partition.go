package slurmconf

import (
	"strings"
	"time"
)

// A Partition is one PartitionName line with the values of the DEFAULT lines
// before it.
type Partition struct {
	Name Value[string]
	// Nodes is a hostlist in which a name may also be a NodeSet or ALL.
	Nodes Value[string]
	// Default marks the partition of jobs that name none.
	Default Value[bool]
	// State is up, down, drain or inactive. Default up.
	State Value[string]
	// MaxTime and DefaultTime are rounded up to minutes; Forever is no limit.
	MaxTime, DefaultTime, OverTimeLimit Value[time.Duration]
	MaxNodes, MinNodes                  Value[int64]
	// PriorityTier sorts before priority, PriorityJobFactor enters it. Both
	// default to 1.
	PriorityTier, PriorityJobFactor Value[int64]
	// OverSubscribe is how cores are shared; Exclusive what a job gets for
	// itself.
	OverSubscribe Value[OverSubscribe]
	Exclusive     Value[Exclusive]

	AllowAccounts, DenyAccounts, AllowQOS, DenyQOS, AllowGroups, AllowAllocNodes Value[[]string]
	// QOS is the partition's own QOS; Alternate where jobs go while it takes none.
	QOS, Alternate Value[string]
	// ResvOverRun replaces the cluster's.
	ResvOverRun Value[time.Duration]
	// TRESBillingWeights is kept as written.
	TRESBillingWeights Value[string]
	// Memory defaults and limits are MiB.
	DefMemPerCPU, DefMemPerNode, DefMemPerGPU, MaxMemPerCPU, MaxMemPerNode Value[int64]
	DefCPUPerGPU, MaxCPUsPerNode, MaxCPUsPerSocket                         Value[int64]

	LLN, RootOnly, ReqResv, Hidden, DisableRootJobs Value[bool]
	// PreemptMode is a list of lower case words.
	PreemptMode Value[[]string]
	GraceTime   Value[time.Duration]
	// Topology names a topology of topology.yaml.
	Topology Value[string]
	// SelectTypeParameters replaces the cluster's for the partition's jobs.
	SelectTypeParameters Value[[]string]
	// PowerDownOnIdle, SuspendTime and ResumeTimeout concern power saving.
	PowerDownOnIdle                            Value[bool]
	SuspendTime, SuspendTimeout, ResumeTimeout Value[time.Duration]
}

// A Sharing says whether jobs may share cores.
type Sharing uint8

// The ways in which jobs share cores. Slurm: OverSubscribe.
const (
	// ShareNo: cores are idle or taken. Default.
	ShareNo Sharing = iota
	// ShareYes: jobs that ask with --oversubscribe share.
	ShareYes
	// ShareForce: all jobs share.
	ShareForce
)

// OverSubscribe is a sharing rule and the number of jobs that may share a core.
type OverSubscribe struct {
	Sharing Sharing
	// Jobs is the number of jobs a core; 4 unless written, 1 for ShareNo.
	Jobs int64
}

// Exclusive is what a job of a partition gets for itself.
type Exclusive uint8

// The kinds of exclusive use, as the partition's Exclusive option of 26.05
// names them.
const (
	ExclusiveNo Exclusive = iota
	ExclusiveNode
	ExclusiveUser
	ExclusiveTopo
)

var partitionKeys = table[Partition]{
	"partitionname":        put(parseText, func(p *Partition) *Value[string] { return &p.Name }),
	"nodes":                put(parseText, func(p *Partition) *Value[string] { return &p.Nodes }),
	"default":              put(parseBool, func(p *Partition) *Value[bool] { return &p.Default }),
	"state":                put(parseWord("up", "down", "drain", "inactive"), func(p *Partition) *Value[string] { return &p.State }),
	"maxtime":              put(parseMinutes, func(p *Partition) *Value[time.Duration] { return &p.MaxTime }),
	"defaulttime":          put(parseMinutes, func(p *Partition) *Value[time.Duration] { return &p.DefaultTime }),
	"overtimelimit":        put(parseMinutes, func(p *Partition) *Value[time.Duration] { return &p.OverTimeLimit }),
	"maxnodes":             put(parseCount(0, 1<<31-1, true), func(p *Partition) *Value[int64] { return &p.MaxNodes }),
	"minnodes":             put(parseCount(0, 1<<31-1, true), func(p *Partition) *Value[int64] { return &p.MinNodes }),
	"prioritytier":         put(parseCount(0, 65533, false), func(p *Partition) *Value[int64] { return &p.PriorityTier }),
	"priorityjobfactor":    put(parseCount(0, 65533, false), func(p *Partition) *Value[int64] { return &p.PriorityJobFactor }),
	"priority":             setPriority,
	"oversubscribe":        setOverSubscribe,
	"exclusive":            put(parseExclusive, func(p *Partition) *Value[Exclusive] { return &p.Exclusive }),
	"exclusiveuser":        setExclusive(ExclusiveUser),
	"exclusivetopo":        setExclusive(ExclusiveTopo),
	"allowaccounts":        put(parseList, func(p *Partition) *Value[[]string] { return &p.AllowAccounts }),
	"denyaccounts":         put(parseList, func(p *Partition) *Value[[]string] { return &p.DenyAccounts }),
	"allowqos":             put(parseList, func(p *Partition) *Value[[]string] { return &p.AllowQOS }),
	"denyqos":              put(parseList, func(p *Partition) *Value[[]string] { return &p.DenyQOS }),
	"allowgroups":          put(parseList, func(p *Partition) *Value[[]string] { return &p.AllowGroups }),
	"allowallocnodes":      put(parseList, func(p *Partition) *Value[[]string] { return &p.AllowAllocNodes }),
	"qos":                  put(parseText, func(p *Partition) *Value[string] { return &p.QOS }),
	"tresbillingweights":   put(parseText, func(p *Partition) *Value[string] { return &p.TRESBillingWeights }),
	"defmempercpu":         put(parseMiB, func(p *Partition) *Value[int64] { return &p.DefMemPerCPU }),
	"defmempernode":        put(parseMiB, func(p *Partition) *Value[int64] { return &p.DefMemPerNode }),
	"defmempergpu":         put(parseMiB, func(p *Partition) *Value[int64] { return &p.DefMemPerGPU }),
	"maxmempercpu":         put(parseMiB, func(p *Partition) *Value[int64] { return &p.MaxMemPerCPU }),
	"maxmempernode":        put(parseMiB, func(p *Partition) *Value[int64] { return &p.MaxMemPerNode }),
	"defcpupergpu":         put(parseCount(0, 1<<31-1, false), func(p *Partition) *Value[int64] { return &p.DefCPUPerGPU }),
	"maxcpuspernode":       put(parseCount(0, 1<<31-1, true), func(p *Partition) *Value[int64] { return &p.MaxCPUsPerNode }),
	"maxcpuspersocket":     put(parseCount(0, 1<<31-1, true), func(p *Partition) *Value[int64] { return &p.MaxCPUsPerSocket }),
	"jobdefaults":          setJobDefaults,
	"lln":                  put(parseBool, func(p *Partition) *Value[bool] { return &p.LLN }),
	"rootonly":             put(parseBool, func(p *Partition) *Value[bool] { return &p.RootOnly }),
	"reqresv":              put(parseBool, func(p *Partition) *Value[bool] { return &p.ReqResv }),
	"hidden":               put(parseBool, func(p *Partition) *Value[bool] { return &p.Hidden }),
	"disablerootjobs":      put(parseBool, func(p *Partition) *Value[bool] { return &p.DisableRootJobs }),
	"preemptmode":          put(parsePreemptMode, func(p *Partition) *Value[[]string] { return &p.PreemptMode }),
	"gracetime":            put(parseDuration60, func(p *Partition) *Value[time.Duration] { return &p.GraceTime }),
	"topology":             put(parseText, func(p *Partition) *Value[string] { return &p.Topology }),
	"selecttypeparameters": put(parseList, func(p *Partition) *Value[[]string] { return &p.SelectTypeParameters }),
	"powerdownonidle":      put(parseBool, func(p *Partition) *Value[bool] { return &p.PowerDownOnIdle }),
	"suspendtime":          put(parseSeconds, func(p *Partition) *Value[time.Duration] { return &p.SuspendTime }),
	"suspendtimeout":       put(parseSeconds, func(p *Partition) *Value[time.Duration] { return &p.SuspendTimeout }),
	"resumetimeout":        put(parseSeconds, func(p *Partition) *Value[time.Duration] { return &p.ResumeTimeout }),
	"alternate":            put(parseText, func(p *Partition) *Value[string] { return &p.Alternate }),
	"cpubind":              drop[Partition],
	"resvoverrun":          put(parseMinutes, func(p *Partition) *Value[time.Duration] { return &p.ResvOverRun }),
}.with("oversubscribe", "shared")

// parseDuration60 reads a GraceTime: seconds as a plain number, or a time with
// colons.
func parseDuration60(s string) (time.Duration, error) {
	if strings.ContainsAny(s, ":-") && s != "-1" {
		return parseDuration(s)
	}
	return parseSeconds(s)
}

var preemptWord = parseWord("off", "cancel", "requeue", "suspend", "gang", "priority", "within", "checkpoint", "cluster")

func parsePreemptMode(s string) ([]string, error) {
	list, _ := parseList(s)
	for i, f := range list {
		w, err := preemptWord(f)
		if err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

// setPriority reads the old key Priority, which sets tier and job factor.
func setPriority(p *Partition, w word, at Origin) error {
	n, err := parseCount(0, 65533, false)(w.val)
	if err != nil {
		return err
	}
	p.PriorityTier, p.PriorityJobFactor = Value[int64]{n, at}, Value[int64]{n, at}
	return nil
}

// setOverSubscribe reads NO, YES[:n], FORCE[:n] and the old EXCLUSIVE, which
// is Exclusive=NODE today.
func setOverSubscribe(p *Partition, w word, at Origin) error {
	name, count, counted := strings.Cut(strings.ToLower(w.val), ":")
	jobs := int64(4)
	if counted {
		n, err := parseCount(1, 1<<15-1, false)(count)
		if err != nil {
			return err
		}
		jobs = n
	}
	switch name {
	case "no":
		p.OverSubscribe = Value[OverSubscribe]{OverSubscribe{ShareNo, 1}, at}
	case "yes":
		p.OverSubscribe = Value[OverSubscribe]{OverSubscribe{ShareYes, jobs}, at}
	case "force":
		p.OverSubscribe = Value[OverSubscribe]{OverSubscribe{ShareForce, jobs}, at}
	case "exclusive":
		p.OverSubscribe = Value[OverSubscribe]{OverSubscribe{ShareNo, 1}, at}
		p.Exclusive = Value[Exclusive]{ExclusiveNode, at}
	default:
		return valueErr("NO, YES[:n], FORCE[:n] or EXCLUSIVE is wanted")
	}
	return nil
}

func parseExclusive(s string) (Exclusive, error) {
	switch strings.ToLower(s) {
	case "no":
		return ExclusiveNo, nil
	case "node":
		return ExclusiveNode, nil
	case "user":
		return ExclusiveUser, nil
	case "topo":
		return ExclusiveTopo, nil
	}
	return 0, valueErr("NO, NODE, USER or TOPO is wanted")
}

// setExclusive reads the older boolean keys ExclusiveUser and ExclusiveTopo.
func setExclusive(kind Exclusive) setter[Partition] {
	return func(p *Partition, w word, at Origin) error {
		on, err := parseBool(w.val)
		if err != nil {
			return err
		}
		if on {
			p.Exclusive = Value[Exclusive]{kind, at}
		} else if p.Exclusive.V == kind {
			p.Exclusive = Value[Exclusive]{ExclusiveNo, at}
		}
		return nil
	}
}

// setJobDefaults reads JobDefaults=DefCpuPerGPU=n,DefMemPerGPU=m.
func setJobDefaults(p *Partition, w word, at Origin) error {
	items, _ := parseItems(w.val)
	for _, it := range items {
		n, err := parseMiB(it.Value)
		if err != nil {
			return err
		}
		switch it.Name {
		case "defcpupergpu":
			p.DefCPUPerGPU = Value[int64]{n, at}
		case "defmempergpu":
			p.DefMemPerGPU = Value[int64]{n, at}
		default:
			return valueErr("DefCpuPerGPU and DefMemPerGPU are the job defaults")
		}
	}
	return nil
}
