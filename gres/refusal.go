package gres

// A Refusal says why a node cannot serve a request; 0 is that it can.
type Refusal uint8

// The refusals, in the order in which they are tested.
const (
	RefuseNone           Refusal = iota
	RefuseSpecification          // sockets, cores or threads as asked do not exist
	RefuseBusy                   // whole node asked, something is in use
	RefuseWrongType              // no device of the name and type at all
	RefuseNotEnough              // too few devices free
	RefuseBusyShared             // devices are taken through another sharing kind
	RefuseScope                  // devices belong to another account, user or job
	RefuseUnits                  // more than one unit of a replicated device
	RefuseCores                  // too few free cores
	RefuseSocketsPerNode         // too few sockets with enough free cores
	RefuseMaxCPUsNode            // MaxCPUsPerNode
	RefuseMaxCPUsSocket          // MaxCPUsPerSocket
	RefuseMinCPUs                // fewer CPUs than every node must give
	RefuseTasksPerNode           // --ntasks-per-node does not fit
	RefuseMemory                 // too little free memory
	RefuseNoNearCores            // devices and cores are not on the same sockets
	RefuseCPUPerGPU              // too few cores for the CPUs per GPU
	RefuseMemPerGPU              // too little memory for the memory per GPU
	RefuseTasks                  // tasks and devices do not divide as asked
	RefuseSpread                 // the chosen nodes do not take all tasks
	RefuseHold                   // core layout makes no progress: hold the job
)

var refusalNames = [...]string{
	"None", "Specification", "Busy", "WrongType", "NotEnough", "BusyShared", "Scope", "Units", "Cores",
	"SocketsPerNode", "MaxCPUsNode", "MaxCPUsSocket", "MinCPUs", "TasksPerNode", "Memory", "NoNearCores",
	"CPUPerGPU", "MemPerGPU", "Tasks", "Spread", "Hold",
}

// String returns the name of f without its prefix.
func (f Refusal) String() string {
	if int(f) < len(refusalNames) {
		return refusalNames[f]
	}
	return "Refusal?"
}
