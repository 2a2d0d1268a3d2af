package scheduler

import (
	"iter"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
)

// JobState is a job's base state, by Slurm's names (spec: backfill 8).
type JobState uint8

// States of a job.
const (
	StateNone JobState = iota
	// StatePending waits.
	StatePending
	// StateRunning holds its allocation and runs.
	StateRunning
	// StateSuspended holds memory and devices and does not run.
	StateSuspended
	// StateCompleted ended with exit code 0.
	StateCompleted
	// StateCancelled was cancelled.
	StateCancelled
	// StateFailed ended otherwise.
	StateFailed
	// StateTimeout ended at its limit.
	StateTimeout
	// StateNodeFail ended because a node failed.
	StateNodeFail
	// StatePreempted ended to make room.
	StatePreempted
	// StateDeadline could not have met its deadline.
	StateDeadline
	// StateOutOfMemory was killed at its memory limit.
	StateOutOfMemory
	jobStates
)

var jobStateNames = [jobStates]string{
	StatePending: "PENDING", StateRunning: "RUNNING", StateSuspended: "SUSPENDED", StateCompleted: "COMPLETED", StateCancelled: "CANCELLED",
	StateFailed: "FAILED", StateTimeout: "TIMEOUT", StateNodeFail: "NODE_FAIL", StatePreempted: "PREEMPTED", StateDeadline: "DEADLINE",
	StateOutOfMemory: "OUT_OF_MEMORY",
}

// String returns Slurm's name of s.
func (s JobState) String() string { return enumName(jobStateNames[:], uint8(s)) }

// MarshalText returns Slurm's name of s.
func (s JobState) MarshalText() ([]byte, error) { return enumText(jobStateNames[:], uint8(s)) }

// UnmarshalText accepts a name that MarshalText gives.
func (s *JobState) UnmarshalText(b []byte) error {
	v, err := enumParse("job state", jobStateNames[:], b)
	if err == nil {
		*s = JobState(v)
	}
	return err
}

// Ended reports whether s is a final state.
func (s JobState) Ended() bool { return s >= StateCompleted }

// A NodeAlloc is what a job holds on one node: enough to launch it. The same
// type is the payload of an adopt event.
type NodeAlloc struct {
	// Node is the node's name.
	Node string
	// CPUs is the number of CPUs charged.
	CPUs int64 `json:",omitempty"`
	// Cores are the core indices held, ascending: socket by socket.
	Cores []int32 `json:",omitempty"`
	// CPUMilli is the milli-CPUs held on a counts-only node.
	CPUMilli int64 `json:",omitempty"`
	// MemMiB is the memory held.
	MemMiB int64 `json:",omitempty"`
	// Devices are the devices held, in order of name and index.
	Devices []DeviceAlloc `json:",omitempty"`
}

// A DeviceAlloc is a device, or units of one, that a job holds.
type DeviceAlloc struct {
	// Name and Type of the generic resource.
	Name string
	// Type is the device's type; empty if untyped.
	Type string `json:",omitempty"`
	// Index is the device's index on its node; -1 if the node keeps counts
	// only.
	Index int32
	// Units: 1 for a whole device; shares, or milli-units of a divided one.
	Units int64
	// Start is the first memory slice of an instance of a device that is cut as
	// jobs need it; Type is then its profile.
	Start uint8 `json:",omitempty"`
	// Recut says that the instance did not exist when the job was placed.
	Recut bool `json:",omitempty"`
}

// A JobView is one job as the books have it. Slices and strings are valid
// inside the call of View.
type JobView struct {
	// ID, Name, User and Account as submitted.
	ID JobID
	// Name of the job.
	Name string
	// User who asked.
	User string
	// Account that is charged.
	Account string
	// State and Reason.
	State JobState
	// Reason it waits or ended.
	Reason Reason
	// Priority is the number it is ranked by; 0 is held.
	Priority uint32
	// Partition it runs in, or the first it may run in.
	Partition string
	// QOS it runs with, or the first it may run with.
	QOS string
	// Submit, Eligible, Start and End; 0 unknown. End of a running job is its
	// limit, of a planned one the plan's.
	Submit Time
	// Eligible is since when it could start.
	Eligible Time
	// Start is when it started, or is planned to.
	Start Time
	// End is when it ended, or must end.
	End Time
	// Completing says that it is over, or has been told to end, and still holds
	// its nodes. Slurm shows such a job as COMPLETING, one that is requeued as
	// PENDING as well.
	Completing bool
	// Planned says that Start and End are a plan.
	Planned bool
	// Limit is its time limit.
	Limit time.Duration
	// Nodes is the number of nodes it holds, or asks at least.
	Nodes int32
	// CPUs, Tasks and GPUs it holds, or asks at least.
	CPUs int64
	// Tasks it was asked for.
	Tasks int32
	// GPUs is in whole devices; GPUMilli in milli-units.
	GPUs int64
	// GPUMilli is what it holds of divided devices, in milli-units; whole
	// ones count 1000.
	GPUMilli int64
	// MemMiB it holds.
	MemMiB int64
	// Restarts is how often it was requeued.
	Restarts int32
}

// A NodeView is one node as the books have it.
type NodeView struct {
	// Name of the node.
	Name string
	// State and Reason as set.
	State NodeState
	// Reason as set with the state.
	Reason string
	// Weight and Features as configured.
	Weight uint32
	// Features as configured.
	Features []string
	// CPUMilli and CPUMilliUsed in thousandths.
	CPUMilli, CPUMilliUsed int64
	// MemMiB and MemUsedMiB.
	MemMiB, MemUsedMiB int64
	// GPUs is the number of devices named gpu; GPUMilliUsed counts used ones
	// in thousandths.
	GPUs, GPUMilliUsed int64
	// Jobs is the number of jobs on it.
	Jobs int32
	// Reservation names the reservation that holds it now, one for maintenance
	// first; Maintenance says that it is one.
	Reservation string
	// Maintenance is Slurm's node state MAINTENANCE.
	Maintenance bool
}

// A StepView is a step of a job.
type StepView struct {
	// ID is its number in the job.
	ID uint32
	// Running says that it holds what Nodes say; Reason is why not, in Slurm's
	// words.
	Running bool
	// Reason is "None" for a step that runs.
	Reason string
	// Nodes is what it holds, node by node, Tasks its tasks on each.
	Nodes []NodeAlloc
	// Tasks on each of Nodes.
	Tasks []int32
}

// Metrics are totals of the whole scheduler.
type Metrics struct {
	// Now is the instant of the last call.
	Now Time
	// Pending, Running and Ended count jobs; Ended since the beginning.
	Pending, Running int
	// Ended counts jobs that ended since the beginning.
	Ended uint64
	// Starts, Requeues, Preemptions (victims chosen) and Passes since the
	// beginning.
	Starts, Requeues, Preemptions, Passes uint64
	// LostGPU and LostCPU are the work that victims lost by ending: what they
	// held times the time since their last checkpoint or start, in GPU-seconds
	// and CPU-seconds since the beginning.
	LostGPU, LostCPU int64
	// CPUMilliUsed, GPUMilliUsed and NodesUsed now.
	CPUMilliUsed, GPUMilliUsed int64
	// NodesUsed is the number of nodes with a job.
	NodesUsed int
	// CPUMilli, GPUMilli and Nodes are capacities.
	CPUMilli, GPUMilli int64
	// Nodes is the number of nodes.
	Nodes int
}

// View is a read-only look into the books, valid inside the call of
// [Scheduler.View]. Iterators yield in order of ids and of nodes.
type View interface {
	// Jobs yields every job that is remembered, by id.
	Jobs() iter.Seq[JobView]
	// Job returns one job.
	Job(id JobID) (JobView, bool)
	// Spec returns the job as it was asked for; nil if it is not remembered.
	Spec(id JobID) *JobSpec
	// AppendAlloc appends what the job holds, node by node.
	AppendAlloc(dst []NodeAlloc, id JobID) []NodeAlloc
	// AppendAllocText appends what the job holds as `scontrol show job -d`
	// prints it: lines of "Nodes=n[1-2] CPU_IDs=0-3 Mem=100
	// GRES=gpu:2(IDX:0-1)", CPU ids being the node's own.
	AppendAllocText(dst []byte, id JobID) []byte
	// AppendTRES appends what the job holds as AllocTRES:
	// "cpu=4,mem=100M,node=1,billing=4".
	AppendTRES(dst []byte, id JobID) []byte
	// AppendSteps appends the steps of a job: those that run by number, then those
	// that wait in their order.
	AppendSteps(dst []StepView, id JobID) []StepView
	// AppendPlan appends the hostlist of the nodes planned for a pending job.
	AppendPlan(dst []byte, id JobID) []byte
	// AppendDependency appends what a waiting job still depends on, as `scontrol
	// show job` prints it: "afterok:12(unfulfilled),afterany:13(failed)"; nothing
	// for a job that waits for none.
	AppendDependency(dst []byte, id JobID) []byte
	// Together returns the earliest instant at which waiting jobs could all start
	// at once, each in a place of its own, beside what runs and what is planned
	// for others; in profile Slurm, for those that go before the last of them. ok
	// is false if one of them waits for something other than a place and licences,
	// or if no instant is known. Their own plans do not count, nobody is preempted,
	// and limits are those of each job alone; in profile Slurm so are licences.
	// Places are given to the jobs of the longest limits first, without going back
	// on one, so that a tighter packing may be missed. It costs a fork, in profile
	// Slurm a planning pass, and a few searches for each end before the answer.
	Together(ids ...JobID) (at Time, ok bool)
	// Nodes yields every node in node order.
	Nodes() iter.Seq[NodeView]
	// AppendNodeGRES appends the generic resources of a node, and those in use,
	// as `scontrol show node -d` prints them: "Gres=gpu:h100:8(S:0-1)
	// GresUsed=gpu:h100:2(IDX:0-1)"; nothing for an unknown node.
	AppendNodeGRES(dst []byte, node string) []byte
	// Queue yields the pending jobs in the order in which they are tried.
	Queue() iter.Seq[JobID]
	// Accounts yields accounts and users, QOS the qualities of service, and
	// Partitions the partitions, as configured, in their order.
	Accounts() iter.Seq[AssocSpec]
	// QOS yields the qualities of service.
	QOS() iter.Seq[QOSSpec]
	// Partitions yields the partitions.
	Partitions() iter.Seq[PartitionSpec]
	// Reservations yields the reservations.
	Reservations() iter.Seq[ReservationSpec]
	// AppendShares appends what every account and user has used and is due, the
	// lines of `sshare -a -l`: the root, then each account before what is below
	// it, users before accounts, by name. Usage is in billing seconds as it is in
	// the books now; factors are those of the last calculation, by which jobs are
	// ranked, or what it would give where no rank depends on them. It takes a few
	// steps an association, and sorts siblings.
	AppendShares(dst []priority.ShareLine) []priority.ShareLine
	// AppendPriority appends how the priority of a pending job comes about, the
	// lines of `sprio -l`: one for each of its partitions. A job that is held, or
	// whose priority an operator set, has no terms. The first call in a View
	// costs a step for each association, later ones a few steps each.
	AppendPriority(dst []priority.PriorityLine, id JobID) []priority.PriorityLine
	// TRES lists what is counted, in order: the kinds of [priority.TRESFactor].
	TRES() *gres.Schema
	// Metrics returns totals.
	Metrics() Metrics
	// Hash is the rolling hash of the state: equal states have equal hashes.
	Hash() uint64
}
