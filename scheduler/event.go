package scheduler

import (
	"errors"
	"time"
)

// EventKind says what happened. Its text form is the constant's name in lower
// case with dashes ("job-submit"); it is what JSON shows.
type EventKind uint8

// The catalogue of events. The comment of each names the fields of Event that
// it reads besides Kind.
const (
	// EventJobSubmit queues a job: Submit.
	EventJobSubmit EventKind = iota + 1
	// EventJobUpdate changes a pending or running job: Job, Update.
	EventJobUpdate
	// EventJobCancel cancels a job: Job. A pending job ends at once; a running
	// one gets a Kill decision at the next pass.
	EventJobCancel
	// EventJobHold sets a pending job's priority to 0: Job, ByAdmin.
	EventJobHold
	// EventJobRelease takes a hold back: Job.
	EventJobRelease
	// EventJobRequeue stops a running job and queues it again: Job, Delay.
	EventJobRequeue
	// EventJobSuspend stops a running job's processes; it keeps what it holds
	// but its CPUs: Job.
	EventJobSuspend
	// EventJobResume continues a suspended job: Job.
	EventJobResume
	// EventJobAdopt books a job that already runs with a given allocation:
	// Submit, Adopt.
	EventJobAdopt
	// EventJobStarted reports that a Start decision was carried out: Job, Seq.
	EventJobStarted
	// EventJobFailed reports that a decision could not be carried out: Job,
	// Seq, Text. A failed Start gives back what it held, and the job waits
	// again.
	EventJobFailed
	// EventJobEnded reports that a job's processes are gone: Job, End.
	EventJobEnded
	// EventJobResized gives nodes of a running job back: Job, Nodes.
	EventJobResized
	// EventStepStart asks for a step inside a running job's allocation: Job,
	// Step. It is answered by OpStepStart, or waits for other steps to end.
	EventStepStart
	// EventStepEnd ends a step, or takes it out of the job's queue: Job, Step.ID.
	EventStepEnd
	// EventNodeAdd lets nodes join: Node. Each takes the lowest free place of
	// Config.MaxNodes and joins partitions by their node sets. It costs as much
	// as a snapshot and a restore. Slurm: slurmd -Z --conf, scontrol create.
	EventNodeAdd
	// EventNodeRemove takes nodes away that joined: Nodes. It is refused while
	// jobs or reservations hold one, or a waiting job names one.
	EventNodeRemove
	// EventNodeRegister reports what a node really has: Nodes, Node.
	EventNodeRegister
	// EventNodeState changes nodes' state: Nodes, NodeState, Text.
	EventNodeState
	// EventNodePower reports a power change: Nodes, NodeState.
	EventNodePower
	// EventPartition adds, changes or removes a partition: Partition.
	EventPartition
	// EventTopology replaces a topology or a node's membership: Topology.
	EventTopology
	// EventReservation makes a reservation, or removes the one of that name:
	// Reservation, Remove, and Text, the user who removes it (empty for an
	// operator); or changes one: ReservationUpdate.
	EventReservation
	// EventAccount, EventUser and EventQOS change the account tree: Assoc or
	// QOS.
	EventAccount
	// EventUser changes a user's associations: Assoc.
	EventUser
	// EventQOS adds, changes or removes a QOS: QOS.
	EventQOS
	// EventLimit changes limits of an association or a QOS: Assoc or QOS.
	EventLimit
	// EventCohort changes quotas that lend: Cohort.
	EventCohort
	// EventLicense changes the number of a licence: License.
	EventLicense
	// EventUsageReset sets decayed usage to zero: Text names the account.
	EventUsageReset
	// EventConfig changes parameters of the running scheduler: Config.
	EventConfig
	// EventExternalJob accounts a job that another scheduler decided: Submit,
	// Adopt.
	EventExternalJob
	eventKinds
)

var eventNames = [eventKinds]string{
	EventJobSubmit: "job-submit", EventJobUpdate: "job-update", EventJobCancel: "job-cancel", EventJobHold: "job-hold",
	EventJobRelease: "job-release", EventJobRequeue: "job-requeue", EventJobSuspend: "job-suspend", EventJobResume: "job-resume",
	EventJobAdopt: "job-adopt", EventJobStarted: "job-started", EventJobFailed: "job-failed", EventJobEnded: "job-ended",
	EventJobResized: "job-resized", EventStepStart: "step-start", EventStepEnd: "step-end", EventNodeAdd: "node-add",
	EventNodeRemove: "node-remove", EventNodeRegister: "node-register", EventNodeState: "node-state", EventNodePower: "node-power",
	EventPartition: "partition", EventTopology: "topology", EventReservation: "reservation", EventAccount: "account",
	EventUser: "user", EventQOS: "qos", EventLimit: "limit", EventCohort: "cohort", EventLicense: "license",
	EventUsageReset: "usage-reset", EventConfig: "config", EventExternalJob: "external-job",
}

var errUnknownName = errors.New("unknown name")

// String returns the name of k.
func (k EventKind) String() string { return enumName(eventNames[:], uint8(k)) }

// MarshalText returns the name of k.
func (k EventKind) MarshalText() ([]byte, error) { return enumText(eventNames[:], uint8(k)) }

// UnmarshalText accepts a name that MarshalText gives.
func (k *EventKind) UnmarshalText(b []byte) error {
	v, err := enumParse("event kind", eventNames[:], b)
	if err == nil {
		*k = EventKind(v)
	}
	return err
}

// An Event is one fact, told to the scheduler by [Scheduler.Apply]. It is
// plain data with a kind; which other fields count is said at the kind's
// constant, all others are ignored. Names are those of the configuration, never indices. The
// scheduler keeps nothing that an event points to.
type Event struct {
	Kind EventKind
	// Job is the job that the event is about.
	Job JobID `json:",omitempty"`
	// ArrayTask is the index of one task of an array job, or -1 for the whole.
	ArrayTask int32 `json:",omitempty"`
	// Seq is the number of the decision that this event answers; 0 if none.
	Seq uint64 `json:",omitempty"`
	// Submit describes the job of a submit, adopt or external event.
	Submit *JobSpec `json:",omitempty"`
	// Update holds what changes.
	Update *JobUpdate `json:",omitempty"`
	// Adopt is the allocation that an adopted job holds.
	Adopt *Adopt `json:",omitempty"`
	// End says how the job ended.
	End *JobEnd `json:",omitempty"`
	// Step describes a step.
	Step *StepSpec `json:",omitempty"`
	// Node describes nodes to add, or what a node registered with.
	Node *NodeSpec `json:",omitempty"`
	// Nodes is a hostlist.
	Nodes string `json:",omitempty"`
	// NodeState is the state that the nodes take.
	NodeState NodeState `json:",omitempty"`
	// Partition is a partition as it shall be; Remove takes it away.
	Partition *PartitionSpec `json:",omitempty"`
	// Topology is a topology as it shall be.
	Topology *TopologySpec `json:",omitempty"`
	// Reservation is a reservation to make; Remove takes it away.
	Reservation *ReservationSpec `json:",omitempty"`
	// ReservationUpdate changes a reservation.
	ReservationUpdate *ReservationUpdate `json:",omitempty"`
	// Assoc is an account or a user as it shall be; Remove takes it away.
	Assoc *AssocSpec `json:",omitempty"`
	// QOS is a QOS as it shall be; Remove takes it away.
	QOS *QOSSpec `json:",omitempty"`
	// Cohort is a quota queue or cohort as it shall be; Remove takes it away.
	Cohort *CohortSpec `json:",omitempty"`
	// License is a licence pool as it shall be; Remove takes it away.
	License *LicenseSpec `json:",omitempty"`
	// Config holds the changed parameters.
	Config *Parameters `json:",omitempty"`
	// Remove says that the named object goes.
	Remove bool `json:",omitempty"`
	// ByAdmin says that an operator did it, not the job's user.
	ByAdmin bool `json:",omitempty"`
	// Delay is how long a requeued job waits before it is eligible again.
	Delay time.Duration `json:",omitempty"`
	// Text is a reason or message, kept and shown, never interpreted.
	Text string `json:",omitempty"`
}

// Submit returns the event that queues a job.
func Submit(spec *JobSpec) Event { return Event{Kind: EventJobSubmit, Job: spec.ID, Submit: spec} }

// Cancel returns the event that cancels a job.
func Cancel(job JobID) Event { return Event{Kind: EventJobCancel, Job: job} }

// Hold returns the event that holds a job as its user does.
func Hold(job JobID) Event { return Event{Kind: EventJobHold, Job: job} }

// Release returns the event that releases a held job.
func Release(job JobID) Event { return Event{Kind: EventJobRelease, Job: job} }

// Requeue returns the event that stops a running job and queues it again.
func Requeue(job JobID) Event { return Event{Kind: EventJobRequeue, Job: job} }

// Started returns the event that answers a Start decision.
func Started(d *Decision) Event { return Event{Kind: EventJobStarted, Job: d.Job, Seq: d.Seq} }

// Failed returns the event that says a decision could not be carried out.
func Failed(d *Decision, why string) Event {
	return Event{Kind: EventJobFailed, Job: d.Job, Seq: d.Seq, Text: why}
}

// Ended returns the event that a job's processes are gone.
func Ended(job JobID, end JobEnd) Event { return Event{Kind: EventJobEnded, Job: job, End: &end} }

// SetNodes returns the event that changes the state of the nodes of a hostlist.
func SetNodes(nodes string, state NodeState, why string) Event {
	return Event{Kind: EventNodeState, Nodes: nodes, NodeState: state, Text: why}
}

// A JobEnd says how a job ended.
type JobEnd struct {
	// ExitCode is the script's exit code, 0 to 255.
	ExitCode int32 `json:",omitempty"`
	// Signal is the number of the signal that ended it, 0 if none.
	Signal int32 `json:",omitempty"`
	// OutOfMemory says that the kernel killed it at its memory limit.
	OutOfMemory bool `json:",omitempty"`
	// Completing says that the job is over and its nodes are not clean yet (an
	// epilog, processes that will not die): it keeps what it holds until it is
	// reported to have ended once more, without this word. How it ended is what
	// the first report says. Slurm: COMPLETING.
	Completing bool `json:",omitempty"`
}

// An Adopt is what a job that already runs holds.
type Adopt struct {
	// Start is when it started.
	Start Time
	// Limit is its time limit; 0 takes that of the spec or the partition.
	Limit time.Duration `json:",omitempty"`
	// Nodes is what it holds on each node.
	Nodes []NodeAlloc
	// Partition and QOS are those it runs in; empty takes the first listed.
	Partition string `json:",omitempty"`
	// QOS is the quality of service it runs with.
	QOS string `json:",omitempty"`
}

// A StepSpec asks for part of a job's allocation.
type StepSpec struct {
	// ID is the step's number in the job.
	ID uint32
	// Tasks is the number of tasks; 0 counts as 1.
	Tasks int32
	// CPUsPerTask is the number of CPUs a task; 0 counts as 1. Giving it makes
	// the step Exact.
	CPUsPerTask int32
	// MinNodes and MaxNodes of the job's; 0 is a node a task, at most all, and
	// as many as the job has.
	MinNodes int32 `json:",omitempty"`
	// MaxNodes is the most nodes.
	MaxNodes int32 `json:",omitempty"`
	// MemMiB on each node; 0 takes none for itself.
	MemMiB int64 `json:",omitempty"`
	// GRES is what the step asks per node, in gres grammar ("gpu:2"). "none"
	// takes no device; without any ask it takes all of the job's on its nodes.
	GRES string `json:",omitempty"`
	// GPUs for the step, "[type:]count". Slurm: --gpus.
	GPUs string `json:",omitempty"`
	// GPUsPerTask for each task. Slurm: --gpus-per-task.
	GPUsPerTask string `json:",omitempty"`
	// Overlap lets the step share with other steps. Slurm: --overlap.
	Overlap bool `json:",omitempty"`
	// Exact takes the CPUs that its tasks need instead of all of the job's on its
	// nodes. Slurm: --exact.
	Exact bool `json:",omitempty"`
	// Immediate refuses the step (ErrStepBusy) if it cannot start at once. Slurm:
	// --immediate.
	Immediate bool `json:",omitempty"`
}
