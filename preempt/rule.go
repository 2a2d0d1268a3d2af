package preempt

import (
	"slices"
	"time"
)

// Unlimited is the exempt time of a job that never becomes a victim.
const Unlimited time.Duration = 1<<63 - 1

// A Rule is the cluster's preemption as configured.
type Rule struct {
	// Type is the relation.
	Type Type
	// Cluster is the cluster-wide PreemptMode.
	Cluster Modes
	// Exempt protects jobs that run for less; 0 does not. A QOS may replace
	// it. Slurm: PreemptExemptTime.
	Exempt time.Duration
	// Parameters are the fine points.
	Parameters Parameters
	// MCS says that labels are enforced: jobs of different ones leave each other
	// alone. Slurm: MCSPlugin with enforced.
	MCS bool
}

// A QOS is what preemption looks at of a quality of service.
type QOS struct {
	// Priority orders candidates; it gives no right to preempt.
	Priority uint32
	// Preempt are the numbers of the QOS whose jobs may be taken, ascending.
	Preempt []int32
	// Modes are its PreemptMode: the mode of its jobs as victims, the
	// modifiers of its jobs as preemptors.
	Modes Modes
	// Grace of its jobs as victims.
	Grace time.Duration
	// Exempt protects its young jobs; negative is the cluster's.
	Exempt time.Duration
}

// A Partition is what preemption looks at of a partition.
type Partition struct {
	// Tier is its PriorityTier.
	Tier uint16
	// Modes are its PreemptMode.
	Modes Modes
	// Grace of its jobs as victims.
	Grace time.Duration
}

// A Job is what the pair rule looks at of a job. As a victim it holds nodes; a
// preemptor needs Priority, Part, QOS and QOSID alone.
type Job struct {
	// Priority is the job's number of rank.
	Priority uint32
	// Part is the partition it runs in, or is tried in.
	Part *Partition
	// QOS is the job's QOS, nil if it has none; that of the partition does not
	// count.
	QOS *QOS
	// QOSID is the number of QOS.
	QOSID int32
	// Nodes is the number of nodes it holds.
	Nodes int32
	// Age is how long it has run.
	Age time.Duration
	// Requeueable says that it may go back to the queue.
	Requeueable bool
	// Alone says with whom the job shares nodes, User and Label whose it is.
	Alone Alone
	// User is the number of its user; 0 is nobody's.
	User int32
	// Label is the number of its MCS label; 0 none.
	Label int32
	// Reservation is the number of the reservation that a preemptor belongs to,
	// or whose nodes a victim has borrowed; 0 none. Slurm: MaxStartDelay and
	// --signal=R@….
	Reservation int32
	// Borrowed says that the job runs on borrowed nodes of Reservation.
	Borrowed bool
}

// Alone says whom a job shares its nodes with. Slurm: --exclusive.
type Alone uint8

// The kinds.
const (
	// WithAll: any other job.
	WithAll Alone = iota
	// WithNone: no other job.
	WithNone
	// WithUser: jobs of its user.
	WithUser
	// WithLabel: jobs of its MCS label.
	WithLabel
)

// May reports whether the pair rule lets preemptor take victim's place (spec:
// preempt 2). It looks at nothing else; see Eligible.
func (r *Rule) May(preemptor, victim *Job) bool {
	switch r.Type {
	case TypePartition:
		if victim.Part.Tier >= preemptor.Part.Tier || r.mode(victim) == ModeOff {
			return false
		}
		guarded := r.Cluster.Priority || victim.Part.Modes.Priority
		return !guarded || preemptor.Priority >= victim.Priority
	case TypeQOS:
		p, v := preemptor.QOS, victim.QOS
		if p == nil || v == nil {
			return false
		}
		above := preemptor.Priority > victim.Priority
		if preemptor.QOSID == victim.QOSID {
			return above && (r.Cluster.Within || p.Modes.Within)
		}
		if _, listed := slices.BinarySearch(p.Preempt, victim.QOSID); !listed {
			return false
		}
		return above || !r.Cluster.Priority && !p.Modes.Priority
	}
	return false
}

// Eligible reports whether victim may be taken by preemptor now: the pair rule,
// the exempt priority, the exempt time, and a mode other than OFF (spec: preempt
// 3). That they share nodes is the caller's to know.
func (r *Rule) Eligible(preemptor, victim *Job) bool {
	if r.Type == TypeNone || r.ModeOf(victim) == ModeOff || !r.together(preemptor, victim) {
		return false
	}
	if !victim.borrowedFrom(preemptor) && !r.May(preemptor, victim) {
		return false
	}
	if r.Parameters.Exempt && victim.Priority > r.Parameters.MinExemptPriority {
		return false
	}
	return victim.Age >= r.ExemptTime(victim)
}

// borrowedFrom reports whether j runs on nodes of the reservation of owner: then
// it may be taken whatever the pair rule says.
func (j *Job) borrowedFrom(owner *Job) bool {
	return j.Borrowed && j.Reservation != 0 && j.Reservation == owner.Reservation
}

// together reports whether two jobs may meet on nodes at all: labels must be
// equal where they are enforced, and who shares nodes with its own user or label
// alone neither takes others nor is taken by them, but for jobs that have their
// nodes to themselves.
func (r *Rule) together(preemptor, victim *Job) bool {
	if r.MCS && preemptor.Label != victim.Label {
		return false
	}
	apart := func(kind Alone, differ bool) bool {
		return differ && (victim.Alone == kind || preemptor.Alone == kind && victim.Alone != WithNone)
	}
	return !apart(WithUser, preemptor.User != victim.User) && !apart(WithLabel, preemptor.Label != victim.Label)
}

// EligibleUnit reports whether the components of a heterogeneous job, its leader
// first, may be taken together: each of them must (spec: preempt 3). The leader
// alone gives the unit's place in the order ([Rule.Key]).
func (r *Rule) EligibleUnit(preemptor *Job, unit []Job) bool {
	for i := range unit {
		if !r.Eligible(preemptor, &unit[i]) {
			return false
		}
	}
	return len(unit) > 0
}

// ModeOfUnit is what happens to all components of a heterogeneous job: what
// [Together] says of their configured modes, or ModeCancel where they are to be
// requeued and one cannot be.
func (r *Rule) ModeOfUnit(unit []Job) Mode {
	m, requeue := ModeOff, true
	for i := range unit {
		m = max(m, r.mode(&unit[i]))
		requeue = requeue && unit[i].Requeueable
	}
	if m == ModeRequeue && !requeue {
		return ModeCancel
	}
	return m
}

// ExemptTime is how long victim must have run before it may be taken.
func (r *Rule) ExemptTime(victim *Job) time.Duration {
	if q := victim.QOS; q != nil && q.Exempt >= 0 {
		return q.Exempt
	}
	return r.Exempt
}

// mode is the configured mode of a victim.
func (r *Rule) mode(victim *Job) Mode {
	var own Modes
	switch {
	case r.Type == TypeQOS && victim.QOS != nil && victim.QOS.Modes.Mode != ModeOff:
		own = victim.QOS.Modes
	case r.Type == TypePartition:
		own = victim.Part.Modes
	}
	if own.Set {
		return own.Mode
	}
	return r.Cluster.Mode
}

// ModeOf is what happens to victim: its configured mode, or ModeCancel where it
// is to be requeued and cannot be (spec: preempt 6).
func (r *Rule) ModeOf(victim *Job) Mode {
	m := r.mode(victim)
	if victim.Borrowed && m != ModeRequeue {
		return ModeCancel
	}
	if m == ModeRequeue && !victim.Requeueable {
		return ModeCancel
	}
	return m
}

// GraceOf is the time that victim has between notice and end; none when it is
// suspended. Slurm: GraceTime.
func (r *Rule) GraceOf(victim *Job) time.Duration {
	switch {
	case r.mode(victim) == ModeSuspend:
		return 0
	case r.Type == TypePartition:
		return victim.Part.Grace
	case victim.QOS != nil:
		return victim.QOS.Grace
	}
	return 0
}

// Together is the one mode of the components of a heterogeneous job: the highest
// of SUSPEND, REQUEUE, CANCEL among theirs.
func Together(modes []Mode) Mode {
	m := ModeOff
	for _, x := range modes {
		m = max(m, x)
	}
	return m
}

// Key orders candidates: ascending, the least valuable first, ties in the order
// of submission (spec: preempt 4).
func (r *Rule) Key(victim *Job) uint64 {
	if r.youngestFirst() {
		return uint64(max(victim.Age, 0))
	}
	nodes := uint64(min(uint32(victim.Nodes), 65535))
	if r.Type == TypePartition {
		return uint64(victim.Part.Tier)<<16 | nodes
	}
	prio := uint64(0)
	if victim.QOS != nil {
		prio = uint64(min(victim.QOS.Priority, 65535))
	}
	return prio<<16 | nodes
}

// gangPart reports whether Slurm ignores the parameters of order.
func (r *Rule) gangPart() bool { return r.Type == TypePartition && r.Cluster.Gang }

func (r *Rule) youngestFirst() bool { return r.Parameters.YoungestFirst && !r.gangPart() }

// Reorders is how often Greedy may try another order, and whether strictly.
// Slurm lets one more happen than reorder_count says.
func (r *Rule) Reorders() (n int, strict bool) {
	if r.gangPart() {
		return 2, false
	}
	return int(r.Parameters.ReorderCount) + 1, r.Parameters.StrictOrder
}
