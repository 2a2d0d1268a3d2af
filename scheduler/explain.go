package scheduler

import (
	"strconv"
	"time"
)

// A Stage is one step of the funnel from all nodes of a partition to those
// that could take the job now.
type Stage uint8

// The stages, in the order in which placement applies them.
const (
	// StagePartition: the nodes of the partition.
	StagePartition Stage = iota
	// StageUp: of those, the ones that take jobs.
	StageUp
	// StageReservation: not kept by reservations for others, or in the one asked
	// for; only where there are any.
	StageReservation
	// StageFeatures: allowed by features and node lists.
	StageFeatures
	// StageHardware: having the devices, CPUs and memory asked, used or not.
	StageHardware
	// StageFree: having them free now.
	StageFree
	// StageTopology: of those, the most that one placement may use.
	StageTopology
	stages
)

var stageNames = [stages]string{
	"in the partition", "up", "not reserved", "match features and node lists", "have what is asked", "have it free now", "fit the topology",
}

// String returns a phrase that completes "n nodes …".
func (s Stage) String() string { return enumName(stageNames[:], uint8(s)) }

// A FunnelStep is the number of nodes left after a stage.
type FunnelStep struct {
	Stage Stage
	Nodes int32
}

// A LimitBlock is a limit in the way.
type LimitBlock struct {
	// Reason is Slurm's name.
	Reason Reason
	// Object names whose limit it is ("qos normal", "account physics").
	Object string
	// TRES is what is limited.
	TRES string
	// Limit, Used, Asked and Short in the TRES's unit.
	Limit, Used, Asked, Short int64
}

// A TopologyBlock says why free nodes do not fit together.
type TopologyBlock struct {
	// Rule that failed, in a few words.
	Rule string
	// Unit is the switch, block or domain that came nearest; empty if all nodes
	// are meant.
	Unit string
	// Need of Lack (nodes, CPUs, GPUs; members of a levelled topology), and what
	// the unit has.
	Lack       string
	Need, Have int64
}

// A Change is one thing that would let the job start now.
type Change struct {
	// Text says it in plain words.
	Text string
	// Nodes that it would start on, as a hostlist.
	Nodes string
}

// An Explanation says why a job waits.
type Explanation struct {
	Job    JobID
	State  JobState
	Reason Reason
	// Partition that the funnel is about.
	Partition string
	// Wanted is the number of nodes needed.
	Wanted int32
	// Features is the alternative or the term of the job's feature expression
	// that Wanted and Funnel are about; empty if they are about all of it.
	Features string
	// Funnel has the node counts, one a stage; it ends with the stage at
	// which too few were left.
	Funnel []FunnelStep
	// Short says what the nodes lack that have what is asked, but not free now;
	// most nodes first.
	Short []NodeShort
	// Devices counts the devices asked on the nodes that the job may use.
	Devices []DeviceCount
	// Topology says what is in the way if the funnel ends there, else nil.
	Topology *TopologyBlock
	// Reservations are those that the job asked for, or that keep nodes of its
	// partition from it for as long as it would run.
	Reservations []ReservationBlock
	// Limits are the limits in the way.
	Limits []LimitBlock
	// Dependency lists the conditions of a job that waits for others, those that
	// have come true among them; AnyDependency says that one is enough.
	Dependency []DependencyWait
	// AnyDependency: see Dependency.
	AnyDependency bool
	// Ahead is the number of pending jobs that are tried before it.
	Ahead int
	// Behind is the job of higher rank that it waits for; 0 if none.
	Behind JobID
	// Planned says that Start is a plan.
	Planned bool
	// Start is the expected start; Never if unknown.
	Start Time
	// Now is the instant that the explanation is about.
	Now Time
	// Changes are the smallest changes that would let it start now.
	Changes []Change
}

// AppendText appends the explanation in plain words, one fact a line.
func (e *Explanation) AppendText(b []byte) []byte {
	b = append(b, "job "...)
	b = strconv.AppendUint(b, uint64(e.Job), 10)
	b = append(b, ' ')
	b = append(b, e.State.String()...)
	if e.State == StatePending {
		b = append(b, ", reason "...)
		b = append(b, e.Reason.String()...)
	}
	b = append(b, '\n')
	b = e.appendDependency(b)
	if e.Behind != 0 {
		b = append(b, "  waits behind job "...)
		b = strconv.AppendUint(b, uint64(e.Behind), 10)
		b = append(b, ", "...)
		b = strconv.AppendInt(b, int64(e.Ahead), 10)
		b = append(b, " in all are tried before it\n"...)
	}
	if len(e.Funnel) > 0 {
		b = append(b, "  needs "...)
		b = strconv.AppendInt(b, int64(e.Wanted), 10)
		b = append(b, " of partition "...)
		b = append(b, e.Partition...)
		if e.Features != "" {
			b = append(b, " with "...)
			b = append(b, e.Features...)
		}
		b = append(b, ":\n"...)
	}
	for _, f := range e.Funnel {
		b = append(b, "    "...)
		b = strconv.AppendInt(b, int64(f.Nodes), 10)
		b = append(b, ' ')
		b = append(b, f.Stage.String()...)
		b = append(b, '\n')
		if f.Stage == StageFree {
			b = e.appendShort(b)
		}
	}
	for i := range e.Devices {
		b = e.Devices[i].appendText(b)
	}
	if t := e.Topology; t != nil {
		b = append(b, "  topology: "...)
		b = append(b, t.Rule...)
		if t.Need > 0 {
			b = append(b, ", "...)
			if t.Unit != "" {
				b = append(append(b, t.Unit...), " comes nearest with "...)
			}
			b = strconv.AppendInt(b, t.Have, 10)
			b = append(b, " of "...)
			b = strconv.AppendInt(b, t.Need, 10)
			b = append(append(b, ' '), t.Lack...)
		}
		b = append(b, '\n')
	}
	for i := range e.Reservations {
		b = e.Reservations[i].appendText(b, e.Now)
	}
	for i := range e.Limits {
		b = e.Limits[i].appendText(b)
	}
	if e.Planned && e.Start != Never {
		b = append(b, "  planned to start in "...)
		b = append(b, e.Start.Sub(e.Now).Round(time.Second).String()...)
		b = append(b, '\n')
	}
	for _, c := range e.Changes {
		b = append(b, "  would start now "...)
		b = append(b, c.Text...)
		b = append(b, '\n')
	}
	return b
}

func (e *Explanation) appendShort(b []byte) []byte {
	for _, s := range e.Short {
		b = append(b, "      "...)
		b = strconv.AppendInt(b, int64(s.Nodes), 10)
		b = append(append(append(b, " not: "...), s.Why...), '\n')
	}
	return b
}

func (l *LimitBlock) appendText(b []byte) []byte {
	b = append(b, "  limit "...)
	b = append(b, l.Reason.String()...)
	b = append(b, " of "...)
	b = append(b, l.Object...)
	b = append(b, ": "...)
	b = append(b, l.TRES...)
	b = append(b, " limit "...)
	b = strconv.AppendInt(b, l.Limit, 10)
	b = append(b, ", used "...)
	b = strconv.AppendInt(b, l.Used, 10)
	b = append(b, ", asked "...)
	b = strconv.AppendInt(b, l.Asked, 10)
	b = append(b, ", short by "...)
	b = strconv.AppendInt(b, l.Short, 10)
	return append(b, '\n')
}

// String returns the explanation in plain words.
func (e *Explanation) String() string { return string(e.AppendText(nil)) }

// A Forecast says what would happen to a job submitted now.
type Forecast struct {
	// Job is the id in the spec.
	Job JobID
	// Accepted says whether Apply would take it; Err is why not.
	Accepted bool
	// Err is the text of the refusal.
	Err string
	// Start and End; Never if no start is foreseen.
	Start, End Time
	// Nodes is the hostlist it would run on.
	Nodes string
	// Reason why it would wait.
	Reason Reason
	// Victims are the jobs it would preempt.
	Victims []JobID
}
