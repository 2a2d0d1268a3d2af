package scheduler

import "time"

// A Registry holds the policies with code that a configuration names. It is
// not part of the state: New, Restore and a replay must be given equal ones.
type Registry struct {
	// Orderers rank pending jobs, by name; see Orderer.
	Orderers map[string]Orderer
	// Devices are predicates on devices for claims, by name.
	Devices map[string]func(DeviceInfo) bool
	// Costs say what evicting a running job costs, by the name that
	// PreemptParameters.Cost gives; a negative answer counts as 0.
	Costs map[string]func(*VictimInfo) int64
}

// A VictimInfo is what a cost looks at of a running job.
type VictimInfo struct {
	// Job is its id.
	Job JobID
	// User, Account and QOS that it runs for.
	User, Account, QOS string
	// Priority is the number it is ranked by.
	Priority uint32
	// Nodes that it holds, and what on them in all, in thousandths.
	Nodes              int32
	CPUMilli, GPUMilli int64
	// Evictions is how often it was evicted before.
	Evictions int32
	// Ran is how long it has run, Lost how much of that would be lost: since
	// its last checkpoint.
	Ran, Lost time.Duration
}

// An Orderer ranks pending jobs.
type Orderer interface {
	// Rank stores in dst[i] the priority of row i of q; higher goes first. It
	// must depend on nothing but q.
	Rank(dst []uint32, q QueueColumns)
}

// QueueColumns are pending jobs as columns, one row a job. The slices are valid
// inside the call and must not be changed.
type QueueColumns struct {
	// Job is the job's id.
	Job []JobID
	// AgeSeconds is how long it has been eligible.
	AgeSeconds []int64
	// Nodes, CPUs and GPUs are asked at least.
	Nodes []int32
	// CPUs asked at least.
	CPUs []int64
	// GPUs asked at least.
	GPUs []int64
	// Nice is subtracted by the default orderer.
	Nice []int64
}

// DeviceInfo describes a device to a predicate.
type DeviceInfo struct {
	// Node, Name, Type and UUID as configured.
	Node, Name, Type, UUID string
	// Index of the device on its node.
	Index int32
	// Units that it holds.
	Units int64
}
