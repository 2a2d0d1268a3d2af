package topology

import "time"

// A Taker says what a node really gives when its turn comes.
//
// Begin is called when a try begins with nothing taken; relaxed tells which of
// the two passes is running. Take is asked when the fitter is about to take node:
// budget is the most CPUs the job should take there (for a whole-node job all
// usable ones). It returns the CPUs that the node gives, by how much it brings
// down the devices still wanted of [Request.GPUs], and whether it can be arranged
// at all; a node that cannot is passed over. Take may depend on its arguments, on
// what it has given since Begin, and on state that does not change during Fit: a
// node may be asked in several tries.
type Taker interface {
	Begin(relaxed bool)
	Take(node NodeID, budget int32, relaxed bool) (cpus, gpus int32, ok bool)
}

// A Request is what a [Fitter] is to find nodes for. It lives in the caller's
// scratch and is passed by pointer; Fit neither keeps nor changes it. Sets and
// columns are of the length of the cluster. The zero value of everything but
// Eligible and a CPUs column means "not asked".
type Request struct {
	// Eligible is E, the nodes that may be used: in the partition, up, not
	// reserved, with the features, with enough of everything asked per node.
	Eligible *NodeSet
	// Required is R, nodes that the job must get; nil or empty is none.
	Required *NodeSet
	// List is the node list of -w, nil for none. A list of at most Min nodes is
	// required; a longer one excludes all other nodes and requires none.
	// Contiguous fills its gaps first.
	List *NodeSet

	// Min, Want and Max are the node counts: at least, as target, at most. Zero
	// Min is 1, zero Want is Min, zero Max is no maximum. -N k is k, k, k; -N a-b
	// is a, b, b; --use-min-nodes makes Want a; tasks without -N are 1, 1, tasks.
	Min, Want, Max int32
	// Sizes is a size list, ascending; if it is not empty each value k is tried
	// as -N k from the largest down, and Min, Want, Max are ignored.
	Sizes []int32
	// SizeFloor skips values of Sizes below it: the partition's MinNodes.
	SizeFloor int32

	// Tasks is the number of tasks, 0 if unknown. Without TasksPerNode it lowers
	// Max to max(Tasks, Min).
	Tasks int32
	// TasksPerNode is --ntasks-per-node, 0 if unknown. With it Min is raised to
	// Tasks/TasksPerNode, rounded up.
	TasksPerNode int32
	// TaskCPUs is CPUs per task, 0 is 1; only Spread looks at it.
	TaskCPUs int32

	// MinCPUs is the number of CPUs that the job needs in all.
	MinCPUs int64
	// MaxCPUs is the most CPUs the job may have in all, 0 for no maximum.
	MaxCPUs int64
	// NodeCPUs is the floor of CPUs that a taken node gives, 0 is 1.
	NodeCPUs int32
	// ReserveCPUs is what is kept of the budget for each node that Min still
	// demands when a node is trimmed: the usable threads of a core, with whole
	// sockets the CPUs of a socket. 0 is 1. (spec/cores.md 3.4)
	ReserveCPUs int32
	// BudgetCPUs is the budget that trimming starts from when it is larger than
	// the usual one (MaxCPUs, else MinCPUs): the CPUs that the job's GPUs need.
	BudgetCPUs int64
	// GPUs is the number of GPUs, and of other devices counted over the job, that
	// it needs in all (--gpus and what follows from it), 0 for none. What is asked
	// per node is a matter of Eligible.
	GPUs int64

	// CPUs[n] is u(n), the CPUs that the job could use on node n when cores and
	// GPUs must be near each other; 0 for a node it cannot use.
	CPUs []int32
	// NodeGPUs[n] is g(n), the GPUs that the job could use there; nil if the job
	// asks for no GPUs.
	NodeGPUs []int32
	// RelaxedCPUs and RelaxedGPUs are the same columns without that condition;
	// nil if they are equal to the strict ones.
	RelaxedCPUs, RelaxedGPUs []int32
	// Sifted promises that no node of Eligible has 0 in either CPUs column, which
	// saves a walk over all of them.
	Sifted bool
	// MostCPUs, MostGPUs, MostRelaxedCPUs and MostRelaxedGPUs promise the largest
	// entry that a node of Eligible has in the column of that name; 0 is not known.
	// Where no column is relaxed the strict ones count for both passes. Who fills
	// columns learns them on the way (gres: Columns.MostCPUs); what no node has is
	// then refused without a walk.
	MostCPUs, MostGPUs, MostRelaxedCPUs, MostRelaxedGPUs int32
	// Weights[n] is the effective weight of node n, lower first, as [Weight]
	// makes it; nil if all are equal.
	Weights []int64
	// TotalCPUs[n] is the number of CPUs node n has, used or not, and FreeCPUs[n]
	// how many of them no job uses, whatever this one could do with them; LLN
	// needs both and orders by their quotient.
	TotalCPUs, FreeCPUs []int32
	// Busy is the set of nodes that run something; BusyFirst needs it.
	Busy *NodeSet
	// Take is asked for each node before it is taken, in both passes if there are
	// relaxed columns; nil: the columns say all.
	Take Taker

	// WholeNode says that the job takes all usable CPUs of its nodes.
	WholeNode bool
	// Contiguous is --contiguous.
	Contiguous bool
	// Spread is --spread-job.
	Spread bool
	// LLN is SelectTypeParameters=CR_LLN or the partition's LLN=YES.
	LLN bool
	// BusyFirst is SchedulerParameters=bf_busy_nodes.
	BusyFirst bool
	// SerialAtEnd is SchedulerParameters=pack_serial_at_end.
	SerialAtEnd bool
	// Arbitrary is -m arbitrary with a host list.
	Arbitrary bool

	// Segment is --segment, 0 for none.
	Segment int32
	// SpreadSegments is --spread-segments.
	SpreadSegments bool
	// Consolidate is --consolidate-segments.
	Consolidate bool

	// Switches is the count of --switches, 0 for none.
	Switches int32
	// SwitchWait is the time of --switches=count@time; negative if none was
	// given. The cluster's max_switch_wait bounds it.
	SwitchWait time.Duration
	// MaxSwitchWait is SchedulerParameters=max_switch_wait; 0 is 300 s.
	MaxSwitchWait time.Duration
	// Waited is how long the job has waited since its first evaluation in a tree
	// topology; 0 at the first.
	Waited time.Duration

	// SoftUnits is how many base blocks more than its size over the base size a
	// part may touch in a block topology if it does not fit otherwise. Slurm: 0.
	SoftUnits int32
}

// Weight combines what orders nodes into one effective weight, lower first:
// state (0 none, 1 outside a FLEX reservation, 2 powering up, 3 powered down or
// to be rebooted), then the configured Weight of the node, then near, the number
// of usable GPUs on sockets that still have usable CPUs (0 if the job asks for no
// GPU), more being better. near counts up to 255.
//
// Source: spec/topology.md 2.1.
func Weight(state uint8, configured uint32, near int32) int64 {
	return int64(state)<<40 | int64(configured)<<8 | int64(255-min(max(near, 0), 255))
}
