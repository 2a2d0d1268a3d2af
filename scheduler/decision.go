package scheduler

import "time"

// Op is what a decision tells the embedding program to do.
type Op uint8

// The catalogue of decisions.
const (
	// OpStart: launch the job on Nodes. Report Started or Failed.
	OpStart Op = iota + 1
	// OpPreempt: the job must leave for job For; its processes get their
	// notice now, and go at At at the latest. A Kill, Requeue or Suspend of the
	// same job follows when its grace is over.
	OpPreempt
	// OpSignal: send Signal to the job's steps if Steps, and to the batch shell if
	// Batch, at At; it lapses if the job ends before.
	OpSignal
	// OpKill: end the job. Report Ended.
	OpKill
	// OpRequeue: end the job; it goes back to the queue when Ended arrives.
	OpRequeue
	// OpSuspend: stop the job's processes, they keep their memory.
	OpSuspend
	// OpResume: let a suspended job's processes go on.
	OpResume
	// OpStepStart: launch the step Step of the job.
	OpStepStart
	// OpReconfigure: change the partitioning of devices on Nodes (MIG) before
	// the job starts.
	OpReconfigure
	// OpPowerUp and OpPowerDown switch Nodes on or off.
	OpPowerUp
	// OpPowerDown switches Nodes off.
	OpPowerDown
	ops
)

var opNames = [ops]string{
	OpStart: "start", OpPreempt: "preempt", OpSignal: "signal", OpKill: "kill", OpRequeue: "requeue", OpSuspend: "suspend",
	OpResume: "resume", OpStepStart: "step-start", OpReconfigure: "reconfigure", OpPowerUp: "power-up", OpPowerDown: "power-down",
}

// String returns the name of o.
func (o Op) String() string { return enumName(opNames[:], uint8(o)) }

// MarshalText returns the name of o.
func (o Op) MarshalText() ([]byte, error) { return enumText(opNames[:], uint8(o)) }

// UnmarshalText accepts a name that MarshalText gives.
func (o *Op) UnmarshalText(b []byte) error {
	v, err := enumParse("decision", opNames[:], b)
	if err == nil {
		*o = Op(v)
	}
	return err
}

// A Decision is one thing to do. What it needs is already charged in the
// scheduler's books; report its outcome with the same Seq. It is plain data.
type Decision struct {
	// Seq rises by one per decision and is never reused.
	Seq uint64
	// Op says what to do.
	Op Op
	// Job is the job it is about; 0 for node decisions.
	Job JobID
	// ArrayTask is the task of an array job, -1 if the job is none.
	ArrayTask int32
	// Step is the step of OpStepStart.
	Step uint32
	// Nodes are names in node order, never indices. They alias the node table
	// and scratch of the pass: valid until the next call of Pass. What the job
	// holds on each is told by View.AppendAlloc.
	Nodes []string
	// At is when it takes effect: now for a start, the end of the grace time
	// for a preemption.
	At Time
	// Limit is a starting job's time limit; Infinite if none.
	Limit time.Duration
	// Partition, QOS and Reservation are those the job starts in.
	Partition string
	// QOS is the quality of service that the job starts with.
	QOS string
	// Reservation is the reservation that the job starts in.
	Reservation string
	// Backfill says that the job passed a waiting job of higher rank.
	Backfill bool
	// Reason says why a job is ended, requeued or suspended.
	Reason Reason
	// Signal is the number of the signal of OpSignal and of OpPreempt's notice.
	Signal int32
	// Batch says that the signal goes to the batch shell: of OpPreempt to it
	// alone, of OpSignal too.
	Batch bool
	// Steps says that the signal of OpSignal goes to the job's steps.
	Steps bool
	// For is the job that a preempted one makes room for.
	For JobID
	// Rule is what lets it: "partition_prio" or "qos".
	Rule string
	// Cost is what the eviction of this job costs by profile Best's measure.
	Cost int64
	// Candidates is the number of jobs that For could have taken.
	Candidates int32
	// Victims is the number of jobs that leave together for For, SetCost what
	// they cost in all, and Bound a cost that no set of victims can be below:
	// SetCost itself if none costs less. In profile Slurm costs are not looked
	// at and 0.
	Victims int32
	// SetCost is the sum of the victims' costs.
	SetCost int64
	// Bound is a cost that no set of victims can be below.
	Bound int64
	// Trials is how often it was tried whether For would fit without some of
	// the candidates.
	Trials int32
	// LostGPU and LostCPU are the work that a job loses if it ends now: what it
	// holds times the time since its last checkpoint or its start, in
	// GPU-seconds and CPU-seconds. Suspended jobs lose none.
	LostGPU int64
	// LostCPU is in CPU-seconds.
	LostCPU int64
}
