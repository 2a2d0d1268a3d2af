package scheduler

import "time"

// NodeState says whether a node takes jobs.
type NodeState uint8

// States of a node. What a node is doing (idle, mixed, allocated) follows from
// the books and is not a state here.
const (
	// NodeUnchanged leaves the state as it is (in events).
	NodeUnchanged NodeState = iota
	// NodeUp takes jobs.
	NodeUp
	// NodeDrain takes no new jobs; running ones go on.
	NodeDrain
	// NodeDown takes none; jobs on it are lost.
	NodeDown
	// NodeFuture is configured but not there yet.
	NodeFuture
	// NodePoweredDown can be switched on.
	NodePoweredDown
	// NodePoweringUp is being switched on.
	NodePoweringUp
	nodeStates
)

var nodeStateNames = [nodeStates]string{
	NodeUp: "up", NodeDrain: "drain", NodeDown: "down", NodeFuture: "future", NodePoweredDown: "powered-down", NodePoweringUp: "powering-up",
}

// String returns the name of s.
func (s NodeState) String() string { return enumName(nodeStateNames[:], uint8(s)) }

// MarshalText returns the name of s; empty for unchanged.
func (s NodeState) MarshalText() ([]byte, error) { return enumText(nodeStateNames[:], uint8(s)) }

// UnmarshalText accepts a name that MarshalText gives.
func (s *NodeState) UnmarshalText(b []byte) error {
	v, err := enumParse("node state", nodeStateNames[:], b)
	if err == nil {
		*s = NodeState(v)
	}
	return err
}

// A NodeSpec describes one or more equal nodes: by sockets, cores and devices,
// or by counts alone (CPUMilli set; Kubernetes' case).
type NodeSpec struct {
	// Names is a hostlist.
	Names string
	// Sockets, CoresPerSocket and ThreadsPerCore; 0 counts as 1. Slurm's
	// names.
	Sockets int32 `json:",omitempty"`
	// CoresPerSocket is the number of cores of a socket.
	CoresPerSocket int32 `json:",omitempty"`
	// ThreadsPerCore is the number of threads of a core.
	ThreadsPerCore int32 `json:",omitempty"`
	// Boards is the number of boards; 0 counts as 1.
	Boards int32 `json:",omitempty"`
	// CPUs is the number of schedulable CPUs; 0 is all threads.
	CPUs int32 `json:",omitempty"`
	// CPUMilli describes the node by counts alone, in milli-CPUs.
	CPUMilli int64 `json:",omitempty"`
	// MemMiB is the memory, in MiB. Default: 1. Slurm: RealMemory.
	MemMiB int64 `json:",omitempty"`
	// TmpMiB is temporary disk, in MiB. Slurm: TmpDisk.
	TmpMiB int64 `json:",omitempty"`
	// CoreSpecCount cores, CPUSpecList CPUs and MemSpecMiB are kept from jobs.
	CoreSpecCount int32 `json:",omitempty"`
	// CPUSpecList lists CPU ids kept from jobs: "0,4".
	CPUSpecList string `json:",omitempty"`
	// MemSpecMiB is memory kept from jobs. Slurm: MemSpecLimit.
	MemSpecMiB int64 `json:",omitempty"`
	// RestrictedCoresPerGPU keeps cores for GPU jobs.
	RestrictedCoresPerGPU int32 `json:",omitempty"`
	// Weight orders nodes, lower first. Default: 1.
	Weight uint32 `json:",omitempty"`
	// Features are what -C names.
	Features []string `json:",omitempty"`
	// ActiveFeatures are those active now; nil is all.
	ActiveFeatures []string `json:",omitempty"`
	// GRES is the count of devices as slurm.conf's Gres= says:
	// "gpu:a100:4,shard:16".
	GRES string `json:",omitempty"`
	// Devices are the records of gres.conf that hold for the node.
	Devices []DeviceSpec `json:",omitempty"`
	// Topology is the membership "topology:unit,…"; empty as configured.
	Topology string `json:",omitempty"`
	// Slot is one more than the place in node order of a node that joined while
	// the scheduler ran; 0 takes its place by its name. The scheduler sets it.
	Slot int32 `json:",omitempty"`
	// State at the beginning. Default: NodeUp.
	State NodeState `json:",omitempty"`
	// Reason is why it is down or drained.
	Reason string `json:",omitempty"`
}

// A DeviceSpec is one record of gres.conf (spec: gres 3).
type DeviceSpec struct {
	// Name is the generic resource: "gpu".
	Name string
	// Type is free text; empty if untyped.
	Type string `json:",omitempty"`
	// Count is the number of devices or units; 0 is the number of files or 1.
	Count int64 `json:",omitempty"`
	// File is a bracket list of device files.
	File string `json:",omitempty"`
	// MultipleFiles are the files of one device.
	MultipleFiles string `json:",omitempty"`
	// Cores is the list of near cores: "0-7,16".
	Cores string `json:",omitempty"`
	// Links is the row of the link matrix: "-1,4,2".
	Links string `json:",omitempty"`
	// Flags is the flag list as written.
	Flags string `json:",omitempty"`
	// UUID names the device for launchers; may be empty.
	UUID string `json:",omitempty"`
	// Model says that the devices are cut into instances as jobs need them: the
	// name of a gres.PartitionModel ("H100-80GB"). A job asks for a profile by
	// type ("gpu:1g.10gb:1"), and starts with OpReconfigure before it where the
	// instance does not exist. NVIDIA: MIG; Kubernetes: partitionable devices.
	Model string `json:",omitempty"`
	// Plain is the profile that a request without type gets (Kubernetes: strategy
	// single); empty refuses those (mixed).
	Plain string `json:",omitempty"`
	// Replicas says that every gpu of the node is handed out so many times under
	// Name ("gpu.shared"), one to a request. NVIDIA: time-slicing.
	Replicas int32 `json:",omitempty"`
	// Scope says whose jobs may be together on one device under shard, mps,
	// Replicas or a Model: "any", "account", "user" or "job". Empty is any; for mps in profile
	// Best it is user.
	Scope string `json:",omitempty"`
}

// PartitionState says what a partition does.
type PartitionState uint8

// States of a partition (spec: backfill 3).
const (
	// PartitionUp takes and starts jobs.
	PartitionUp PartitionState = iota
	// PartitionDown takes jobs and starts none.
	PartitionDown
	// PartitionDrain starts what it has and takes none.
	PartitionDrain
	// PartitionInactive does neither.
	PartitionInactive
	partitionStates
)

var partitionStateNames = [partitionStates]string{
	PartitionUp: "up", PartitionDown: "down", PartitionDrain: "drain", PartitionInactive: "inactive",
}

// String returns the name of s.
func (s PartitionState) String() string { return enumName(partitionStateNames[:], uint8(s)) }

// MarshalText returns the name of s.
func (s PartitionState) MarshalText() ([]byte, error) {
	return enumText(partitionStateNames[:], uint8(s))
}

// UnmarshalText accepts a name that MarshalText gives.
func (s *PartitionState) UnmarshalText(b []byte) error {
	v, err := enumParse("partition state", partitionStateNames[:], b)
	if err == nil {
		*s = PartitionState(v)
	}
	return err
}

// A PartitionSpec describes a partition. Kubernetes: a queue over a node pool.
type PartitionSpec struct {
	// Name is unique.
	Name string
	// Nodes is a hostlist; "ALL" is every node. A name may be one of
	// Config.NodeSets.
	Nodes string
	// Default makes it the partition of jobs that name none.
	Default bool `json:",omitempty"`
	// State says what it does.
	State PartitionState `json:",omitempty"`
	// MaxTime and DefaultTime; 0 is unlimited and MaxTime.
	MaxTime time.Duration `json:",omitempty"`
	// DefaultTime is the limit of jobs that give none.
	DefaultTime time.Duration `json:",omitempty"`
	// MinNodes and MaxNodes of a job; MaxNodes 0 is any.
	MinNodes int32 `json:",omitempty"`
	// MaxNodes is the most nodes of a job; 0 any.
	MaxNodes int32 `json:",omitempty"`
	// MaxCPUsPerNode and MaxCPUsPerSocket bound the partition's jobs; 0 none.
	MaxCPUsPerNode int32 `json:",omitempty"`
	// MaxCPUsPerSocket bounds CPUs of a socket.
	MaxCPUsPerSocket int32 `json:",omitempty"`
	// Defaults are memory and CPU defaults and maxima.
	Defaults ResourceDefaults
	// Tier is the first sort key. Default: 1. Slurm: PriorityTier.
	Tier *uint16 `json:",omitempty"`
	// JobFactor enters the priority. Default: 1. Slurm: PriorityJobFactor.
	JobFactor *uint16 `json:",omitempty"`
	// AllowAccounts and the next five name who may or may not use it; empty
	// allows all.
	AllowAccounts []string `json:",omitempty"`
	// DenyAccounts are accounts that may not.
	DenyAccounts []string `json:",omitempty"`
	// AllowQOS are the QOS that may.
	AllowQOS []string `json:",omitempty"`
	// DenyQOS are the QOS that may not.
	DenyQOS []string `json:",omitempty"`
	// AllowGroups are the groups that may; root always may.
	AllowGroups []string `json:",omitempty"`
	// QOS is the partition's own QOS.
	QOS string `json:",omitempty"`
	// Exclusive says whom its jobs share nodes with.
	Exclusive Exclusive `json:",omitempty"`
	// Oversubscribe is NO, YES[:n] or FORCE[:n].
	Oversubscribe string `json:",omitempty"`
	// OverTimeLimit replaces the cluster's if set.
	OverTimeLimit *time.Duration `json:",omitempty"`
	// GraceTime and PreemptMode of its jobs as victims.
	GraceTime time.Duration `json:",omitempty"`
	// PreemptMode is as written; empty is the cluster's.
	PreemptMode string `json:",omitempty"`
	// LLN chooses the least loaded node. Slurm: LLN.
	LLN bool `json:",omitempty"`
	// ReqResv: only jobs with a reservation. Slurm: ReqResv.
	ReqResv bool `json:",omitempty"`
	// RootOnly: only the user root submits.
	RootOnly bool `json:",omitempty"`
	// Unit and NoMemory replace the cluster's if Unit is set. Slurm:
	// SelectTypeParameters.
	Unit string `json:",omitempty"`
	// NoMemory goes with Unit.
	NoMemory bool `json:",omitempty"`
	// Topology names the topology; empty is the default one.
	Topology string `json:",omitempty"`
	// BillingWeights is TRESBillingWeights as written.
	BillingWeights string `json:",omitempty"`
	// Alternate is the partition of jobs that are submitted while this one
	// drains or is inactive. Slurm: Alternate.
	Alternate string `json:",omitempty"`
}

// A TopologySpec describes one topology (spec: topology 1). Exactly one of the
// kinds is set; none is flat.
type TopologySpec struct {
	// Name is what partitions say.
	Name string
	// Flat is nodes in a line.
	Flat bool `json:",omitempty"`
	// Switches make a tree.
	Switches []SwitchSpec `json:",omitempty"`
	// BlockSizes and Blocks make blocks.
	BlockSizes []int32 `json:",omitempty"`
	// Blocks are the base blocks in order.
	Blocks []UnitSpec `json:",omitempty"`
	// Rings make rings.
	Rings []UnitSpec `json:",omitempty"`
	// Toruses make 3D toruses.
	Toruses []TorusSpec `json:",omitempty"`
	// Levels make a levelled domain: names outermost first; Domains hold the
	// value of each level of each node.
	Levels []string `json:",omitempty"`
	// Domains are the leaves of the levels.
	Domains []DomainSpec `json:",omitempty"`
	// Parameters is TopologyParam as written ("dragonfly", …).
	Parameters string `json:",omitempty"`
}

// A SwitchSpec is a switch of a tree: over nodes or over switches.
type SwitchSpec struct {
	// Name of the switch.
	Name string
	// Nodes is a hostlist.
	Nodes string `json:",omitempty"`
	// Switches is a hostlist of child switches.
	Switches string `json:",omitempty"`
	// LinkSpeed is kept.
	LinkSpeed int32 `json:",omitempty"`
}

// A UnitSpec is a block or a ring.
type UnitSpec struct {
	// Name of the unit.
	Name string
	// Nodes is a hostlist; empty is a placeholder.
	Nodes string `json:",omitempty"`
}

// A TorusSpec is a 3D torus.
type TorusSpec struct {
	// Name of the torus.
	Name string
	// Dims are X, Y, Z.
	Dims [3]int32
	// Nodes is a hostlist, x fastest.
	Nodes string `json:",omitempty"`
	// Regions are boxes of nodes.
	Regions []RegionSpec `json:",omitempty"`
	// Placements are the allowed shapes.
	Placements []PlacementSpec `json:",omitempty"`
}

// A RegionSpec is a box of nodes of a torus.
type RegionSpec struct {
	// Anchor is the lowest corner, Dims the size.
	Anchor, Dims [3]int32
	// Nodes is a hostlist, x fastest.
	Nodes string
}

// A PlacementSpec is a shape that jobs may take in a torus.
type PlacementSpec struct {
	// Dims is the size, Seed the first anchor, Spacing the distance of
	// anchors (0 is the size).
	Dims, Seed, Spacing [3]int32
}

// A DomainSpec is a set of nodes with the same value at every level.
type DomainSpec struct {
	// Values are the names of the domain, one a level.
	Values []string
	// Nodes is a hostlist.
	Nodes string
}

// A ReservationSpec describes a reservation (spec: reservations 1). Kubernetes
// has no counterpart.
type ReservationSpec struct {
	// Name is unique; empty makes one up.
	Name string
	// Start and End; End exclusive. Duration counts if End is 0.
	Start Time `json:",omitempty"`
	// End is when it ends.
	End Time `json:",omitempty"`
	// Duration is its length if End is not given.
	Duration time.Duration `json:",omitempty"`
	// Nodes is a hostlist or "ALL".
	Nodes string `json:",omitempty"`
	// NodeCount and CoreCount pick by count.
	NodeCount int32 `json:",omitempty"`
	// CoreCount is the number of cores, one list entry a node or one in all.
	CoreCount []int32 `json:",omitempty"`
	// TRES picks by resources: "cpu=4,gres/gpu=2".
	TRES string `json:",omitempty"`
	// Licenses that it holds.
	Licenses string `json:",omitempty"`
	// BurstBuffer that it holds.
	BurstBuffer string `json:",omitempty"`
	// Features filter picked nodes.
	Features string `json:",omitempty"`
	// Partition to pick from.
	Partition string `json:",omitempty"`
	// Users, Groups, Accounts, QOS and Partitions may use it; a leading minus
	// denies.
	Users []string `json:",omitempty"`
	// Groups that may use it.
	Groups []string `json:",omitempty"`
	// Accounts that may use it.
	Accounts []string `json:",omitempty"`
	// QOS that may use it.
	QOS []string `json:",omitempty"`
	// Partitions that may use it.
	Partitions []string `json:",omitempty"`
	// Flags are the words of Flags=, upper case.
	Flags []string `json:",omitempty"`
	// PurgeComp deletes it after so long without jobs.
	PurgeComp time.Duration `json:",omitempty"`
	// MaxStartDelay lets jobs borrow its nodes.
	MaxStartDelay time.Duration `json:",omitempty"`
}

// An AssocSpec is an account (User empty) or a user's association.
type AssocSpec struct {
	// Account is the account's name.
	Account string
	// User is the user; empty for the account itself.
	User string `json:",omitempty"`
	// Partition restricts a user's association to it.
	Partition string `json:",omitempty"`
	// Parent is the parent account; empty is root.
	Parent string `json:",omitempty"`
	// Shares is the fair share; "parent" takes part in the parent's. Default:
	// "1".
	Shares string `json:",omitempty"`
	// DefaultQOS of the association.
	DefaultQOS string `json:",omitempty"`
	// QOS are the QOS it may use; empty inherits.
	QOS []string `json:",omitempty"`
	// DefaultAccount makes Account the user's default.
	DefaultAccount bool `json:",omitempty"`
	// Admin is "", "Operator" or "Administrator".
	Admin string `json:",omitempty"`
	// Priority of the association; 0 inherits.
	Priority uint32 `json:",omitempty"`
	// Limits are set values by sacctmgr's names: "GrpTRES" = "cpu=4".
	Limits []LimitSpec `json:",omitempty"`
}

// A LimitSpec sets one limit, value in sacctmgr's grammar; "-1" clears.
type LimitSpec struct {
	// Name is sacctmgr's: "MaxTRESPerUser".
	Name string
	// Value is as written; a leading "+=" or "-=" changes.
	Value string
}

// A QOSSpec is a quality of service.
type QOSSpec struct {
	// Name is unique.
	Name string
	// Priority enters the priority sum.
	Priority uint32 `json:",omitempty"`
	// Preempt lists the QOS that its jobs may preempt.
	Preempt []string `json:",omitempty"`
	// PreemptMode of its jobs as victims.
	PreemptMode string `json:",omitempty"`
	// GraceTime of its jobs as victims.
	GraceTime time.Duration `json:",omitempty"`
	// ExemptTime protects its young jobs; nil is the cluster's.
	ExemptTime *time.Duration `json:",omitempty"`
	// UsageFactor scales charged usage. Default: 1.
	UsageFactor *float64 `json:",omitempty"`
	// LimitFactor scales limits; 0 is 1.
	LimitFactor float64 `json:",omitempty"`
	// UsageThreshold is the least fair share to start; 0 none.
	UsageThreshold float64 `json:",omitempty"`
	// Flags are the words of Flags=: DenyOnLimit, OverPartQOS, ….
	Flags []string `json:",omitempty"`
	// Limits are set values by sacctmgr's names.
	Limits []LimitSpec `json:",omitempty"`
}

// A CohortSpec is a queue or cohort of quotas that lend (spec: quota).
type CohortSpec struct {
	// Name is unique.
	Name string
	// Parent is the cohort it belongs to; empty is none.
	Parent string `json:",omitempty"`
	// Account is the account whose jobs the queue admits; empty for a cohort.
	Account string `json:",omitempty"`
	// Quotas by resource and flavour.
	Quotas []QuotaSpec `json:",omitempty"`
}

// A QuotaSpec is one cell of a quota. -1 is unlimited.
type QuotaSpec struct {
	// Flavor and TRES name the cell.
	Flavor, TRES string
	// Nominal is what is its own.
	Nominal int64
	// BorrowingLimit and LendingLimit; nil is unlimited.
	BorrowingLimit *int64 `json:",omitempty"`
	// LendingLimit is the most it lends.
	LendingLimit *int64 `json:",omitempty"`
}

// A LicenseSpec is a licence pool.
type LicenseSpec struct {
	// Name is unique. "bb/NAME" is a burst buffer, "NAME@SERVER" a remote
	// licence.
	Name string
	// Total is the number of licences; with ScopeNode what every node has if
	// Units is empty.
	Total int64
	// External is the number in use outside of this scheduler. Slurm:
	// LastConsumed of a remote licence.
	External int64 `json:",omitempty"`
	// Scope says over what it is counted. Default: ScopeCluster.
	Scope Scope `json:",omitempty"`
	// Units are the racks of ScopeUnit, or the nodes of ScopeNode, and what each
	// has.
	Units []LicenseUnit `json:",omitempty"`
}

// A LicenseUnit is a rack, or nodes of which each has as much.
type LicenseUnit struct {
	// Nodes is a hostlist.
	Nodes string
	// Total is what the rack, or each node, has.
	Total int64
}
