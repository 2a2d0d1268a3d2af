package bind

import "strconv"

// A Place is what a process of a job is.
type Place uint8

// The places.
const (
	PlaceBatch       Place = iota // the batch script
	PlaceInteractive              // the shell under salloc, in the interactive step
	PlaceTask                     // a task of an srun step
)

// EnvFlags say which variables name a device: the record's env flags of
// gres.conf.
type EnvFlags uint8

// The flags; EnvAll is what a GPU without any flag has.
const (
	EnvNVIDIA EnvFlags = 1 << iota // CUDA_VISIBLE_DEVICES
	EnvAMD                         // ROCR_VISIBLE_DEVICES
	EnvIntel                       // ZE_AFFINITY_MASK
	EnvOpenCL                      // GPU_DEVICE_ORDINAL
	EnvUUID                        // unique ids instead of numbers (all MIG devices)

	EnvAll = EnvNVIDIA | EnvAMD | EnvIntel | EnvOpenCL
)

// A Launch is what [AppendEnv] tells of one process. Pointers that do not
// matter for a place may be nil; everything is only read.
type Launch struct {
	Place   Place
	Job     *JobEnv
	Options *OptionEnv // what was asked; nil for nothing
	Step    *StepEnv   // nil in a batch script
	Node    *NodeEnv
	Task    *TaskEnv // nil but for PlaceTask
}

// JobEnv is what all processes of a job share. Empty texts and zero numbers
// are left out.
type JobEnv struct {
	ID                            uint64
	SLUID                         string // s and 13 characters
	Name, Account, Partition, QOS string
	Reservation, Cluster          string
	User, Group                   string
	UID, GID                      uint32
	Start, End                    int64 // Unix seconds; End is Start plus the limit, 0 without one
	NodeList                      string
	CPUsPerNode                   []int32 // by node of the allocation
	TasksPerNode                  []int32 // the same
	SubmitDir, SubmitHost         string
	TopologyAddr, TopologyPattern string
	Exclusive, Oversubscribe      string // NO, NODE, …
	RestartCount                  int32  // written only after a requeue
	OOMKillStep                   bool
	PrioProcess                   int32  // nice value
	Umask                         string // as 0022
	Array                         *ArrayEnv
	Het                           []HetEnv // components, the leader first; nil for other jobs
}

// ArrayEnv is the place of a task in its job array.
type ArrayEnv struct {
	JobID                       uint64
	Task, Count, Min, Max, Step int64
}

// HetEnv is one component of a heterogeneous job.
type HetEnv struct {
	Job     *JobEnv
	Options *OptionEnv
}

// OptionEnv is what was asked. Text goes through as it was written; the zero
// value of a field means that the option was not given. Slurm's commands read
// these variables back, so a script's srun inherits them.
type OptionEnv struct {
	Tasks                                      int32 // -n, or what --ntasks-per-* imply
	TasksPerNode, TasksPerCore, TasksPerSocket int32
	TasksPerGPU, CPUsPerTask                   int32
	TRESPerTask                                string // cpu=16,gres/gpu=1; also of -c and --gpus-per-task
	CPUsPerGPU                                 int32
	MemPerGPU, MemPerCPU, MemPerNode           int64 // MiB; --mem=0 counts as not given
	GPUs, GPUsPerNode, GPUsPerSocket           string
	GPUBind, GPUFreq, TRESBind                 string
	SegmentSize                                int32
	Dependency, Licenses                       string
	Distribution                               string
	PlaneSize, ThreadsPerCore                  int32
	Overcommit                                 bool
	MemBind                                    MemBinding // written for a batch script alone
	ExportEnv, Network, Profile, Container     string
}

// StepEnv is what all tasks of a step share.
type StepEnv struct {
	ID                 int32 // 0, 1, …; ignored for the script (-5) and the shell (-6)
	NodeList           string
	Tasks              int32
	TasksPerNode       []int32
	CPUBind            *CPUBinding
	MemBind            MemBinding
	LaunchIP, CommHost string // srun's address
	CommPort, Port     int32
}

// MemBinding is --mem-bind as it was asked; an empty Type means not given.
type MemBinding struct {
	Type, List string
	Verbose    bool
}

// NodeEnv is what the processes of a step on one node share.
type NodeEnv struct {
	Name string
	ID   int32 // position in the step's allocation
	CPUs int32 // CPUs of the step on this node
	GPUs int32 // devices of the step on this node
	// Shards is the number of units of a shard; 0 for none.
	Shards int64
	// JobGPUs are the node's numbers of the job's GPUs on the batch node. A
	// task inherits them even on another node, where they may be wrong.
	JobGPUs []int32
	// JobNICs and NICs are NIC numbers of the job and of the step.
	JobNICs, NICs []int32
	// Ranks are the global ranks of the step's tasks on this node.
	Ranks []int32
	// Devices and Flags describe the step's GPUs on this node; UUID has the id
	// of each element of Devices.Index, needed under EnvUUID alone.
	Devices *Devices
	Flags   EnvFlags
	UUID    []string
	// MPSPercent is the share of a GPU in hundredths, 0 for none; see [MPSPercent].
	MPSPercent int32
}

// TaskEnv is one task.
type TaskEnv struct {
	Rank, Local int32
	PID         int32
	// Visible are the devices of the task as positions in Devices.Index.
	Visible []int32
}

// MPSPercent returns CUDA_MPS_ACTIVE_THREAD_PERCENTAGE for units of a GPU that
// has capacity units: floor(100·units/capacity), at least 1.
func MPSPercent(units, capacity int64) int32 {
	if capacity <= 0 {
		return 0
	}
	return int32(max(units*100/capacity, 1))
}

// AppendEnv appends the variables that Slurm sets for a process, each as
// NAME=value followed by a zero byte, as execve takes them. The order is
// fixed. It allocates nothing if dst has room. A process without GPUs gets no
// GPU variables: whoever starts it clears those of the surrounding program.
//
// Source: sbatch(1), salloc(1), srun(1), environment variables; specification
// bind.md 3.
func AppendEnv(dst []byte, l *Launch) []byte {
	e := envWriter{dst: dst}
	opt := l.Options
	if opt == nil {
		opt = &OptionEnv{}
	}
	e.job(l.Job)
	e.layout(l, opt)
	e.options(opt)
	e.devices(l)
	e.ranks(l)
	e.step(l)
	e.array(l)
	e.het(l.Job)
	e.rest(l)
	return e.dst
}

// An envWriter appends variables; empty values are left out.
type envWriter struct {
	dst    []byte
	suffix string // of the name, for components of a heterogeneous job
	group  int32
}

func (e *envWriter) name(name string) {
	e.dst = append(e.dst, name...)
	if e.suffix != "" {
		e.dst = append(e.dst, e.suffix...)
		e.dst = strconv.AppendInt(e.dst, int64(e.group), 10)
	}
	e.dst = append(e.dst, '=')
}

func (e *envWriter) text(name, value string) {
	if value != "" {
		e.name(name)
		e.dst = append(append(e.dst, value...), 0)
	}
}

// num writes n; zero is left out.
func (e *envWriter) num(name string, n int64) {
	if n != 0 {
		e.must(name, n)
	}
}

// must writes n, zero too.
func (e *envWriter) must(name string, n int64) {
	e.name(name)
	e.dst = append(strconv.AppendInt(e.dst, n, 10), 0)
}

func (e *envWriter) list(name string, list []int32) {
	if len(list) > 0 {
		e.name(name)
		e.dst = append(AppendList(e.dst, list), 0)
	}
}

func (e *envWriter) counts(name string, counts []int32) {
	if len(counts) > 0 {
		e.name(name)
		e.dst = append(AppendCounts(e.dst, counts), 0)
	}
}

func (e *envWriter) flag(name string, set bool) {
	n := int64(0)
	if set {
		n = 1
	}
	e.must(name, n)
}
