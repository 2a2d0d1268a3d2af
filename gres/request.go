package gres

// MaxNeeds is the number of (name, type) pairs that one request may ask for.
const MaxNeeds = 8

// A Need is what a request asks of one GRES name and type, in the four ways of
// asking; 0 is not asked.
//
// Source: spec/gres.md 7.1.
type Need struct {
	Name NameID
	Type TypeID // 0: any type
	// PerJob, PerNode, PerSocket, PerTask: --gpus, --gres and
	// --gpus-per-node, --gpus-per-socket, --gpus-per-task and
	// --tres-per-task.
	PerJob, PerNode, PerSocket, PerTask int64
	// Milli asks for that many thousandths of each device of a divisible
	// group instead of whole devices; 0 is whole.
	Milli int64
}

// Known says how a request's task count came about.
type Known uint8

const (
	Unknown Known = iota // no count
	Implied              // follows from other options but binds nothing
	Given                // -n, or options that fix it
)

// MemKind says what a request's memory amount is per.
type MemKind uint8

const (
	MemAll     MemKind = iota // all memory that the node offers
	MemPerNode                // --mem
	MemPerCPU                 // --mem-per-cpu
	MemPerGPU                 // --mem-per-gpu
)

// CPUUnit is the smallest thing that jobs occupy.
type CPUUnit uint8

const (
	UnitCore   CPUUnit = iota // CR_Core
	UnitCPU                   // CR_CPU: cores are occupied, CPUs are charged
	UnitSocket                // CR_Socket
)

// SocketDist is how a job's CPUs are spread over the sockets of a node.
type SocketDist uint8

const (
	DistDefault SocketDist = iota // cyclic, or block by the cluster's default
	DistCyclic
	DistBlock
)

// RequestFlags are a request's yes-or-no properties.
type RequestFlags uint32

const (
	// EnforceBinding keeps cores and devices on the same sockets.
	EnforceBinding RequestFlags = 1 << iota
	// DisableBinding turns EnforceBinding's cluster default off.
	DisableBinding
	// OneTaskPerSharing gives each task its own shared device.
	OneTaskPerSharing
	// MultipleSharing lets a shared request spread over devices (Slurm:
	// MULTIPLE_SHARING_GRES_PJ).
	MultipleSharing
	// LeastLoaded orders shared devices by free share (LL_SHARED_GRES).
	LeastLoaded
	// PackShared orders shared devices by free share, least first: shares are
	// packed and whole devices kept. Not in Slurm.
	PackShared
	// WholeNode takes nodes whole (--exclusive and its kin).
	WholeNode
	// Overcommit does not count tasks against CPUs (-O).
	Overcommit
	// OneTaskPerCore is CR_ONE_TASK_PER_CORE in effect for this request.
	OneTaskPerCore
	// ConsumeMem says that memory is consumed (*_Memory).
	ConsumeMem
	// ImpliedMaxNodes says that MaxNodes follows from the task count alone.
	ImpliedMaxNodes
	// StrictSocketLimit counts what is used against MaxCPUsPerSocket, which
	// Slurm does not.
	StrictSocketLimit
	// SharesCores says that the job may share cores (OverSubscribe).
	SharesCores
	// HasCoreSpec and HasThreadSpec say that SpecCount is asked: the number of
	// cores (-S) or threads (--thread-spec) to leave out.
	HasCoreSpec
	HasThreadSpec
	// ManyTasksPerSharing turns the cluster default of OneTaskPerSharing off.
	ManyTasksPerSharing
	// LooseGPUMem does not look again, once devices are chosen, whether a node
	// has the memory that goes with them: a defect of Slurm, which counts
	// memory per GPU only while it looks for nodes.
	LooseGPUMem
	// memRaised says that a memory limit raised NodeCPUs.
	memRaised
)

// A LinkPolicy chooses devices by their links.
type LinkPolicy uint8

const (
	// LinkCompat does what Slurm 26.05 does.
	LinkCompat LinkPolicy = iota
	// LinkBest takes the devices with the highest total link bandwidth.
	LinkBest
)

// A Request is what a job asks of its nodes, compiled by [Derive] or written
// by hand. It is comparable: equal requests form a class. The zero value with
// CPUsPerTask 1 asks for one CPU and all memory of a node.
//
// Source: spec/cores.md 2, spec/gres.md 7.
type Request struct {
	Tasks       int32 // -n; 0 if TasksKnown is Unknown
	CPUsPerTask int32 // -c, at least 1
	// CPUs of the whole job at least.
	MinCPUs int32
	// NodeCPUs is the least number of CPUs on every node.
	NodeCPUs int32
	// MaxCPUs of the whole job, 0 unlimited.
	MaxCPUs int32
	// MinNodes and MaxNodes; MaxNodes 0 is unlimited.
	MinNodes, MaxNodes int32
	TasksPerNode       int32 // 0 unlimited
	TasksPerSocket     int32 // 0 unlimited
	TasksPerCore       int32 // 0 unlimited
	ThreadsPerCore     int32 // 0 all
	SocketsPerNode     int32 // 0 any
	CoresPerSocket     int32 // 0 any
	// TasksPerGPU, CPUsPerGPU (asked), DefCPUsPerGPU (by default); 0 none.
	TasksPerGPU, CPUsPerGPU, DefCPUsPerGPU int32
	// PlaneSize of -m plane=, 0 none.
	PlaneSize int32
	// SpecCount is the number of cores or threads that a job with -S or
	// --thread-spec leaves out; see HasCoreSpec.
	SpecCount  int16
	TasksKnown Known
	Mem        MemKind
	Unit       CPUUnit
	Dist       SocketDist
	Links      LinkPolicy
	NumNeeds   uint8
	Flags      RequestFlags
	// MemMiB per what Mem says.
	MemMiB int64
	// TmpMiB of temporary disk asked.
	TmpMiB int64
	// MilliCPU per node on nodes with counts only; 0 is MinCPUs·1000.
	MilliCPU int64
	// Needs[:NumNeeds] are the devices, in the order in which allocations
	// list them.
	Needs [MaxNeeds]Need
	// Owner is who may meet whom on a scoped device.
	Owner Owner
}

// SetNeeds stores needs; it panics if there are more than MaxNeeds.
func (r *Request) SetNeeds(needs ...Need) {
	if len(needs) > MaxNeeds {
		panic("gres: too many needs in a request")
	}
	r.Needs = [MaxNeeds]Need{}
	r.NumNeeds = uint8(copy(r.Needs[:], needs))
}

// Has reports whether all flags of f are set.
func (r *Request) Has(f RequestFlags) bool { return r.Flags&f == f }

// WantsGPU reports whether r asks for the name gpu.
func (r *Request) WantsGPU() bool {
	for i := range r.Needs[:r.NumNeeds] {
		if r.Needs[i].Name == NameGPU {
			return true
		}
	}
	return false
}

// WantsJobDevices reports whether r counts devices over all its nodes, so that
// nodes differ in value by how many they give.
func (r *Request) WantsJobDevices() bool {
	for i := range r.Needs[:r.NumNeeds] {
		if r.Needs[i].PerJob > 0 {
			return true
		}
	}
	return false
}

// NodeRange returns the node counts to place r with: a known task count bounds
// the maximum, or with --ntasks-per-node raises the minimum. most 0 is
// unlimited. With least above most, r cannot be placed.
//
// Source: spec/topology.md 2.1.
func (r *Request) NodeRange() (least, most int32) {
	least, most = max(r.MinNodes, 1), r.MaxNodes
	if r.TasksKnown != Given || r.Tasks < 1 {
		return least, most
	}
	if t := r.TasksPerNode; t > 0 {
		return max(least, int32(ceilDiv(int(r.Tasks), int(t)))), most
	}
	if most == 0 || most > r.Tasks {
		most = max(r.Tasks, least)
	}
	return least, most
}

// JobDevices returns how many devices the whole job asks of need i, 0 if it
// does not count them over the job.
func (r *Request) JobDevices(i int) int64 { return r.Needs[i].PerJob }

// gpus returns the sum of a form over the needs of gpu.
func (r *Request) gpus(form func(*Need) int64) int64 {
	var n int64
	for i := range r.Needs[:r.NumNeeds] {
		if r.Needs[i].Name == NameGPU {
			n += form(&r.Needs[i])
		}
	}
	return n
}

// perTask returns CPUsPerTask, at least 1.
func (r *Request) perTask() int { return max(int(r.CPUsPerTask), 1) }

// threads returns v, the CPUs of a core that r may use on s.
//
// Source: spec/cores.md 2.2.
func (r *Request) threads(s *Shape) int {
	t := s.threads
	if r.Has(OneTaskPerCore) && (r.CPUsPerGPU > 0 || r.DefCPUsPerGPU > 0) && r.WantsGPU() {
		return t
	}
	if r.TasksPerCore > 0 {
		t = min(t, int(r.TasksPerCore)*r.perTask())
	}
	if r.ThreadsPerCore > 0 {
		t = min(t, int(r.ThreadsPerCore))
	}
	return max(t, 1)
}
