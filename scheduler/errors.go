package scheduler

import "errors"

// What a caller of Apply branches on. Apply wraps them with the object and the
// field they are about.
var (
	// ErrTime: the event is older than the last call.
	ErrTime = errors.New("time runs backwards")
	// ErrUnknownJob: no such job, or it has been forgotten.
	ErrUnknownJob = errors.New("no such job")
	// ErrDuplicateJob: the id is in use.
	ErrDuplicateJob = errors.New("job id in use")
	// ErrJobState: the job is in a state that the event contradicts.
	ErrJobState = errors.New("job state contradicts the event")
	// ErrUnknownNode: the hostlist names a node that does not exist.
	ErrUnknownNode = errors.New("invalid node name specified")
	// ErrUnknownPartition: no such partition.
	ErrUnknownPartition = errors.New("invalid partition name specified")
	// ErrUnknownQOS: no such QOS, or the user may not use it.
	ErrUnknownQOS = errors.New("invalid qos specification")
	// ErrUnknownAccount: no such account, or the user has no association in it.
	ErrUnknownAccount = errors.New("invalid account or account/partition combination specified")
	// ErrNeverRuns: the request can be met by no set of nodes of the partition
	// even if all were free.
	ErrNeverRuns = errors.New("requested node configuration is not available")
	// ErrTopologyNever: the same because of the topology alone.
	ErrTopologyNever = errors.New("requested topology configuration is not available")
	// ErrTimeMin: the minimum time exceeds the time limit.
	ErrTimeMin = errors.New("invalid time-min specification")
	// ErrDeadline: the job could not end by its deadline if it started at once.
	ErrDeadline = errors.New("deadline cannot be met")
	// ErrFeature: the feature expression is malformed or names no feature.
	ErrFeature = errors.New("invalid feature specification")
	// ErrPrefer: the preferred feature expression is.
	ErrPrefer = errors.New("invalid preferred feature specification")
	// ErrLimit: a limit of an account or a QOS refuses the job; see LimitError.
	ErrLimit = errors.New("job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")
	// ErrJobCount: as many jobs are there as may be; later there may be fewer.
	ErrJobCount = errors.New("temporarily unable to accept job")
	// ErrPartitionAccess: the partition is not open to the user, or to jobs
	// without a reservation.
	ErrPartitionAccess = errors.New("access to the partition denied")
	// ErrPartitionLimit: the job exceeds limits of partitions, and
	// EnforcePartLimits refuses it.
	ErrPartitionLimit = errors.New("job violates partition limits")
	// ErrLicense: no such licence, or fewer than asked.
	ErrLicense = errors.New("invalid license specification")
	// ErrDependency: the dependency is malformed, on a job that is not known or
	// on the job itself, or makes a circle. Slurm: ESLURM_DEPENDENCY.
	ErrDependency = errors.New("job dependency problem")
	// ErrSpec: a field of the event is missing or out of range.
	ErrSpec = errors.New("invalid specification")
	// ErrAllocation: an adopted job's allocation overlaps what is given or
	// exceeds what the node has.
	ErrAllocation = errors.New("allocation is not free")
	// ErrUnsupported: the event is in the catalogue, but this version does not
	// act on it yet.
	ErrUnsupported = errors.New("not supported by this version")
	// ErrStepBusy: a step that would not wait would have to.
	ErrStepBusy = errors.New("step cannot start at once")
	// ErrSnapshot: the bytes are no snapshot of this version.
	ErrSnapshot = errors.New("not a snapshot of this version")
)
