package scheduler

// Reason says why a job waits or why it ended, by Slurm's names. Values from
// reasonLimits up are qos.Reason values moved up by it, so one table joins what
// every package can say.
type Reason uint16

// Reasons of the scheduler itself, in no order of rank (spec: backfill 1.4).
const (
	ReasonNone                 Reason = iota // not looked at yet
	ReasonPriority                           // a job of higher rank waits for the same partition
	ReasonResources                          // tried, and not enough is free
	ReasonDependency                         // a job it depends on is not done
	ReasonDependencyNever                    // a job it depends on went the wrong way
	ReasonBeginTime                          // its begin time has not come
	ReasonJobHeldUser                        // held by its user
	ReasonJobHeldAdmin                       // held by an operator
	ReasonJobHoldMaxRequeue                  // requeued too often
	ReasonCleaning                           // its previous run is still ending
	ReasonPartitionDown                      // the partition starts no jobs
	ReasonPartitionInactive                  // the partition takes and starts no jobs
	ReasonPartitionNodeLimit                 // asks more or fewer nodes than the partition allows
	ReasonPartitionTimeLimit                 // asks more time than the partition allows
	ReasonPartitionConfig                    // asks more CPUs than the partition has
	ReasonAccountNotAllowed                  // the partition does not take this account
	ReasonQOSNotAllowed                      // the partition does not take this QOS
	ReasonMaxMemPerLimit                     // asks more memory than MaxMemPerCPU or MaxMemPerNode allows
	ReasonReqNodeNotAvail                    // a node it requires is down, drained or reserved
	ReasonNodesDown                          // nodes it needs are down, drained or reserved
	ReasonReservation                        // its reservation has not begun
	ReasonReservationDeleted                 // its reservation is gone
	ReasonLicenses                           // not enough licences are free
	ReasonJobArrayTaskLimit                  // its array's throttle
	ReasonBadConstraints                     // no set of nodes can ever serve it
	ReasonTopology                           // no unit of the topology is large enough now
	ReasonTopologyInsufficient               // the units that fit lack resources
	ReasonJobLaunchFailure                   // a start failed
	ReasonTimeLimit                          // ended: its time limit
	ReasonNodeFail                           // ended: one of its nodes failed
	ReasonPreempted                          // ended: made room for another job
	ReasonCancelled                          // ended: cancelled
	ReasonRequeued                           // ended: requeued on demand
	ReasonDeadline                           // ended: could not have met its deadline
	ReasonOutOfMemory                        // ended: killed at its memory limit
	ReasonNonZeroExit                        // ended: exit code other than 0
	ReasonSystemFailure                      // ended: the program could not carry it out
	ReasonReserved                           // nodes that it needs are reserved for others
	ReasonReservedMaint                      // the same, for maintenance
	reasons

	reasonLimits Reason = 256
)

// reasonNames are the texts that `scontrol show job` prints, blanks as
// underscores.
var reasonNames = [reasons]string{
	ReasonNone: "None", ReasonPriority: "Priority", ReasonResources: "Resources", ReasonDependency: "Dependency",
	ReasonDependencyNever: "DependencyNeverSatisfied", ReasonBeginTime: "BeginTime", ReasonJobHeldUser: "JobHeldUser",
	ReasonJobHeldAdmin: "JobHeldAdmin", ReasonJobHoldMaxRequeue: "JobHoldMaxRequeue", ReasonCleaning: "Cleaning",
	ReasonPartitionDown: "PartitionDown", ReasonPartitionInactive: "PartitionInactive",
	ReasonPartitionNodeLimit: "PartitionNodeLimit", ReasonPartitionTimeLimit: "PartitionTimeLimit",
	ReasonPartitionConfig: "PartitionConfig", ReasonAccountNotAllowed: "AccountNotAllowed", ReasonQOSNotAllowed: "QOSNotAllowed",
	ReasonMaxMemPerLimit: "MaxMemPerLimit", ReasonReqNodeNotAvail: "ReqNodeNotAvail",
	ReasonNodesDown:   "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
	ReasonReservation: "Reservation", ReasonReservationDeleted: "ReservationDeleted", ReasonLicenses: "Licenses",
	ReasonJobArrayTaskLimit: "JobArrayTaskLimit", ReasonBadConstraints: "BadConstraints",
	ReasonTopology:             "No_suitable_topology_unit_found",
	ReasonTopologyInsufficient: "Insufficient_resources_in_topology_unit",
	ReasonJobLaunchFailure:     "JobLaunchFailure", ReasonTimeLimit: "TimeLimit", ReasonNodeFail: "NodeFail", ReasonPreempted: "Preempted",
	ReasonCancelled: "Cancelled", ReasonRequeued: "Requeued", ReasonDeadline: "Deadline", ReasonOutOfMemory: "OutOfMemory",
	ReasonNonZeroExit: "NonZeroExitCode", ReasonSystemFailure: "SystemFailure",
	ReasonReserved:      "ReqNodeNotAvail,_May_be_reserved_for_other_job",
	ReasonReservedMaint: "ReqNodeNotAvail,_Reserved_for_maintenance",
}

// String returns Slurm's name of r.
func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	if r >= reasonLimits {
		return limitReasonName(r - reasonLimits)
	}
	return "None"
}

// MarshalText returns Slurm's name of r; the empty text for none.
func (r Reason) MarshalText() ([]byte, error) {
	if r == ReasonNone {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText accepts a name that MarshalText gives.
func (r *Reason) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*r = ReasonNone
		return nil
	}
	for i, n := range reasonNames {
		if n == string(b) {
			*r = Reason(i)
			return nil
		}
	}
	if v, ok := limitReasonByName(string(b)); ok {
		*r = reasonLimits + v
		return nil
	}
	_, err := enumParse("reason", nil, b)
	return err
}
