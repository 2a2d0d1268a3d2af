package scheduler

import "time"

// MemKind says what a memory request counts.
type MemKind uint8

// Kinds of memory requests (spec: cores 5.1).
const (
	// MemDefault: nothing asked; the partition's or cluster's default holds.
	MemDefault MemKind = iota
	// MemPerNode: MiB on each node. Slurm: --mem.
	MemPerNode
	// MemPerCPU: MiB for each CPU. Slurm: --mem-per-cpu.
	MemPerCPU
	// MemPerGPU: MiB for each GPU. Slurm: --mem-per-gpu.
	MemPerGPU
	// MemAll: all memory of each node. Slurm: --mem=0.
	MemAll
	memKinds
)

var memKindNames = [memKinds]string{MemPerNode: "node", MemPerCPU: "cpu", MemPerGPU: "gpu", MemAll: "all"}

// String returns the name of k; empty for the default.
func (k MemKind) String() string { return enumName(memKindNames[:], uint8(k)) }

// MarshalText returns the name of k; empty for the default.
func (k MemKind) MarshalText() ([]byte, error) { return enumText(memKindNames[:], uint8(k)) }

// UnmarshalText accepts a name that MarshalText gives.
func (k *MemKind) UnmarshalText(b []byte) error {
	v, err := enumParse("memory kind", memKindNames[:], b)
	if err == nil {
		*k = MemKind(v)
	}
	return err
}

// Exclusive says whom a job shares its nodes with.
type Exclusive uint8

// Kinds of exclusiveness (spec: cores 7.1; topology 2.11).
const (
	// ExclusiveNo: other jobs may run on the job's nodes.
	ExclusiveNo Exclusive = iota
	// ExclusiveNode: whole nodes. Slurm: --exclusive.
	ExclusiveNode
	// ExclusiveUser: no other user's jobs. Slurm: --exclusive=user.
	ExclusiveUser
	// ExclusiveMCS: no job of another MCS label. Slurm: --exclusive=mcs.
	ExclusiveMCS
	// ExclusiveTopo: no other job in the touched topology units. Slurm:
	// --exclusive=topo.
	ExclusiveTopo
	exclusives
)

var exclusiveNames = [exclusives]string{ExclusiveNode: "node", ExclusiveUser: "user", ExclusiveMCS: "mcs", ExclusiveTopo: "topo"}

// String returns the name of e; empty for no.
func (e Exclusive) String() string { return enumName(exclusiveNames[:], uint8(e)) }

// MarshalText returns the name of e; empty for no.
func (e Exclusive) MarshalText() ([]byte, error) { return enumText(exclusiveNames[:], uint8(e)) }

// UnmarshalText accepts a name that MarshalText gives.
func (e *Exclusive) UnmarshalText(b []byte) error {
	v, err := enumParse("exclusive", exclusiveNames[:], b)
	if err == nil {
		*e = Exclusive(v)
	}
	return err
}

// A JobSpec is a job as its user asks for it: names and counts only. Zero
// values mean "not given" unless said otherwise, as with sbatch; Apply derives
// the rest (spec: cores 2, gres 7). In comments, Slurm's option.
type JobSpec struct {
	// ID is the job's number, given by the embedding program; not 0.
	ID JobID
	// Name is the job's name. Slurm: -J.
	Name string `json:",omitempty"`
	// User, Groups and Account say who asks and who is charged. Kubernetes:
	// namespace and queue.
	User string `json:",omitempty"`
	// Groups are the user's groups, for AllowGroups.
	Groups []string `json:",omitempty"`
	// Account is the account charged; empty takes the user's default.
	Account string `json:",omitempty"`
	// WCKey, Comment and AdminComment are kept and shown.
	WCKey string `json:",omitempty"`
	// Comment is kept and shown.
	Comment string `json:",omitempty"`
	// AdminComment is kept and shown.
	AdminComment string `json:",omitempty"`
	// Partitions may run the job, in this order; empty takes the default
	// partition. Slurm: -p.
	Partitions []string `json:",omitempty"`
	// QOS are the qualities of service it may run with. Slurm: -q.
	QOS []string `json:",omitempty"`
	// Reservations it may use. Slurm: --reservation.
	Reservations []string `json:",omitempty"`
	// Component is the number of this part of a heterogeneous job, HetJob the
	// id of the first part; HetJob 0 if the job is none.
	Component int32 `json:",omitempty"`
	// HetJob is the id of the first component.
	HetJob JobID `json:",omitempty"`

	// TimeLimit is how long it may run; 0 takes the partition's default,
	// Infinite is UNLIMITED. Slurm: -t.
	TimeLimit time.Duration `json:",omitempty"`
	// TimeMin allows a shorter limit down to it. Slurm: --time-min.
	TimeMin time.Duration `json:",omitempty"`
	// Begin is the earliest start. Slurm: --begin.
	Begin Time `json:",omitempty"`
	// Deadline is when it must have ended. Slurm: --deadline.
	Deadline Time `json:",omitempty"`
	// Hold queues it held. Slurm: -H.
	Hold bool `json:",omitempty"`
	// Nice is subtracted from the priority. Slurm: --nice.
	Nice int64 `json:",omitempty"`
	// Priority is set by an operator and kept if not 0. Slurm: --priority.
	Priority uint32 `json:",omitempty"`
	// SiteFactor is added to the priority.
	SiteFactor int64 `json:",omitempty"`
	// Dependency in Slurm's grammar: "afterok:12,after:13+5"; see
	// [ParseDependency]. Slurm: -d.
	Dependency string `json:",omitempty"`
	// KillOnInvalidDep cancels the job when its dependency can never be met:
	// "yes", "no", empty for the cluster's rule.
	KillOnInvalidDep string `json:",omitempty"`
	// Array is the index list with throttle: "0-15%4". Slurm: -a.
	Array string `json:",omitempty"`
	// Licenses in Slurm's grammar: "matlab:2,ansys" or "a:1|b:1". Slurm: -L.
	Licenses string `json:",omitempty"`
	// BurstBuffer is kept. Slurm: --bb.
	BurstBuffer string `json:",omitempty"`
	// Signal is sent SignalBefore the limit ends; 0 if none. Slurm: --signal.
	Signal int32 `json:",omitempty"`
	// SignalBefore is how long before its end the job gets Signal.
	SignalBefore time.Duration `json:",omitempty"`
	// SignalFlags is "B", "R" or both.
	SignalFlags string `json:",omitempty"`
	// Requeue says whether the job may be queued again: 0 cluster's rule, 1
	// yes, -1 no. Slurm: --requeue, --no-requeue.
	Requeue int8 `json:",omitempty"`
	// NoKill keeps the job when one of its nodes fails. Slurm: -k.
	NoKill bool `json:",omitempty"`
	// DelayBoot, Reboot: node-feature changes. Slurm: --delay-boot, --reboot.
	DelayBoot time.Duration `json:",omitempty"`
	// Reboot asks for freshly booted nodes.
	Reboot bool `json:",omitempty"`

	// MinNodes and MaxNodes bound the number of nodes; MaxNodes 0 with
	// MinNodes given means exactly that many. Slurm: -N.
	MinNodes int32 `json:",omitempty"`
	// MaxNodes is the most nodes.
	MaxNodes int32 `json:",omitempty"`
	// NodesRange says that -N was a range: its maximum is a wish, not exact.
	NodesRange bool `json:",omitempty"`
	// NodeSizes lists the node counts that will do. Slurm: -N 2,4,8.
	NodeSizes []int32 `json:",omitempty"`
	// UseMinNodes prefers fewer nodes of a range. Slurm: --use-min-nodes.
	UseMinNodes bool `json:",omitempty"`
	// Tasks is the number of tasks; 0 if not given. Slurm: -n.
	Tasks int32 `json:",omitempty"`
	// TasksPerNode and the next three bound tasks. Slurm: --ntasks-per-….
	TasksPerNode int32 `json:",omitempty"`
	// TasksPerSocket bounds tasks of a socket.
	TasksPerSocket int32 `json:",omitempty"`
	// TasksPerCore bounds tasks of a core.
	TasksPerCore int32 `json:",omitempty"`
	// TasksPerGPU is the number of tasks for each GPU.
	TasksPerGPU int32 `json:",omitempty"`
	// CPUsPerTask is the number of CPUs of a task; 0 if not given. Slurm: -c.
	CPUsPerTask int32 `json:",omitempty"`
	// CPUMilli is the milli-CPUs that each node of a counts-only cluster
	// gives; 0 if CPUs are asked. Kubernetes: a container's CPU request.
	CPUMilli int64 `json:",omitempty"`
	// GPUMilli is the milli-units of each GPU asked, 1..1000; 0 is whole
	// devices. Only on counts-only nodes.
	GPUMilli int64 `json:",omitempty"`
	// MinCPUs is the least number of CPUs of each node. Slurm: --mincpus.
	MinCPUs int32 `json:",omitempty"`
	// SocketsPerNode filters nodes and spreads GPUs. Slurm: --sockets-per-node.
	SocketsPerNode int32 `json:",omitempty"`
	// CoresPerSocket filters nodes. Slurm: --cores-per-socket.
	CoresPerSocket int32 `json:",omitempty"`
	// ThreadsPerCore is how many threads of a core are used. Slurm:
	// --threads-per-core.
	ThreadsPerCore int32 `json:",omitempty"`
	// ExtraNodeInfo is -B S[:C[:T]] as written.
	ExtraNodeInfo string `json:",omitempty"`
	// Hint is --hint as written.
	Hint string `json:",omitempty"`
	// Distribution is -m as written.
	Distribution string `json:",omitempty"`
	// Overcommit lets tasks share CPUs. Slurm: -O.
	Overcommit bool `json:",omitempty"`
	// Oversubscribe lets jobs share CPUs where the partition allows. Slurm: -s.
	Oversubscribe bool `json:",omitempty"`
	// Exclusive says whom the job shares nodes with. Slurm: --exclusive.
	Exclusive Exclusive `json:",omitempty"`
	// CoreSpec and ThreadSpec leave specialised cores or threads; -1 if not
	// given is told by CoreSpecSet. Slurm: -S, --thread-spec.
	CoreSpec int32 `json:",omitempty"`
	// ThreadSpec is the number of specialised threads.
	ThreadSpec int32 `json:",omitempty"`
	// CoreSpecSet says that CoreSpec was given (0 has a meaning).
	CoreSpecSet bool `json:",omitempty"`
	// MCSLabel is the job's MCS label. Slurm: --mcs-label.
	MCSLabel string `json:",omitempty"`

	// Mem says what MemMiB counts.
	Mem MemKind `json:",omitempty"`
	// MemMiB is the memory asked, in MiB.
	MemMiB int64 `json:",omitempty"`
	// TmpMiB is the least temporary disk of each node, in MiB. Slurm: --tmp.
	TmpMiB int64 `json:",omitempty"`

	// GRES, per node, in gres grammar: "gpu:a100:2,nic:1". Slurm: --gres.
	GRES string `json:",omitempty"`
	// GPUs, for the job: "[type:]count". Slurm: --gpus.
	GPUs string `json:",omitempty"`
	// GPUsPerNode is for each node. Slurm: --gpus-per-node.
	GPUsPerNode string `json:",omitempty"`
	// GPUsPerSocket is for each socket. Slurm: --gpus-per-socket.
	GPUsPerSocket string `json:",omitempty"`
	// GPUsPerTask is for each task. Slurm: --gpus-per-task.
	GPUsPerTask string `json:",omitempty"`
	// TRESPerTask is for each task. Slurm: --tres-per-task.
	TRESPerTask string `json:",omitempty"`
	// CPUsPerGPU is the number of CPUs for each GPU. Slurm: --cpus-per-gpu.
	CPUsPerGPU int32 `json:",omitempty"`
	// GRESFlags is --gres-flags as written.
	GRESFlags string `json:",omitempty"`
	// TRESBind, GPUBind and GPUFreq are kept for launch. Slurm: --gpu-bind, …
	TRESBind string `json:",omitempty"`
	// GPUFreq is kept for launch.
	GPUFreq string `json:",omitempty"`

	// NodeList is the hostlist of required nodes. Slurm: -w.
	NodeList string `json:",omitempty"`
	// Exclude is the hostlist of excluded nodes. Slurm: -x.
	Exclude string `json:",omitempty"`
	// Constraint is the feature expression. Slurm: -C.
	Constraint string `json:",omitempty"`
	// Prefer is the preferred feature expression. Slurm: --prefer.
	Prefer string `json:",omitempty"`
	// ClusterConstraint is for federations; kept.
	ClusterConstraint string `json:",omitempty"`
	// Contiguous asks for consecutive nodes. Slurm: --contiguous.
	Contiguous bool `json:",omitempty"`
	// Spread spreads the job over many nodes. Slurm: --spread-job.
	Spread bool `json:",omitempty"`
	// Switches is the most leaf switches wanted, 0 any; SwitchWait how long to
	// wait for them. Slurm: --switches=n@wait.
	Switches int32 `json:",omitempty"`
	// SwitchWait is how long Switches is insisted on.
	SwitchWait time.Duration `json:",omitempty"`
	// Segment is the size of the pieces that must each lie in one block; 0
	// one piece. Slurm: --segment.
	Segment int32 `json:",omitempty"`
	// SpreadSegments and ConsolidateSegments choose blocks. Slurm:
	// --spread-segments, --consolidate-segments.
	SpreadSegments bool `json:",omitempty"`
	// ConsolidateSegments puts segments into as few aggregates as possible.
	ConsolidateSegments bool `json:",omitempty"`
	// Levels are Kubernetes-style topology wishes, outermost first.
	Levels []LevelSpec `json:",omitempty"`

	// Comp is what plug-in and launch options said, kept verbatim in order.
	Kept []KeptOption `json:",omitempty"`
	// CheckpointEvery is how often the job saves its work; 0 never. Preemption
	// weighs work lost since the last save.
	CheckpointEvery time.Duration `json:",omitempty"`
}

// A LevelSpec asks for a topology level as Kubernetes' batch schedulers do
// (spec: topology 3). Members are nodes if the job says how many it wants, else
// its tasks, of which a node takes as many as fit.
type LevelSpec struct {
	// Level names the level ("rack"); the last one is "node".
	Level string
	// Required says that all members must share one domain of it; otherwise
	// it is preferred.
	Required bool `json:",omitempty"`
	// Slice asks instead that members come in groups of this size, each inside
	// one domain; it divides the size of the slice before. 0: all members.
	Slice int32 `json:",omitempty"`
}

// A KeptOption is an option that scheduling does not read.
type KeptOption struct {
	// Name is the option's long name without dashes.
	Name string
	// Value is its value as written.
	Value string `json:",omitempty"`
}

// A JobUpdate changes a job. A nil field stays as it is.
type JobUpdate struct {
	// Priority is set by an operator; 0 holds.
	Priority *uint32 `json:",omitempty"`
	// Nice replaces the nice value.
	Nice *int64 `json:",omitempty"`
	// SiteFactor replaces the site factor.
	SiteFactor *int64 `json:",omitempty"`
	// TimeLimit replaces the time limit, of a running job too.
	TimeLimit *time.Duration `json:",omitempty"`
	// TimeMin replaces the minimum limit.
	TimeMin *time.Duration `json:",omitempty"`
	// Partitions replaces the partition list of a pending job.
	Partitions []string `json:",omitempty"`
	// QOS replaces the QOS list of a pending job.
	QOS []string `json:",omitempty"`
	// Account replaces the account of a pending job.
	Account *string `json:",omitempty"`
	// Begin replaces the earliest start.
	Begin *Time `json:",omitempty"`
	// Deadline replaces the deadline.
	Deadline *Time `json:",omitempty"`
	// Dependency replaces the dependencies.
	Dependency *string `json:",omitempty"`
	// Spec replaces the whole request of a pending job.
	Spec *JobSpec `json:",omitempty"`
}
