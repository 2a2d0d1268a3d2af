package gres

// A Hint is an application hint (--hint).
type Hint uint8

const (
	HintNone Hint = iota
	HintNoMultithread
	HintMultithread
	HintComputeBound
	HintMemoryBound
)

// ParseHint reads the word of --hint.
func ParseHint(word string) (Hint, error) {
	switch word {
	case "nomultithread":
		return HintNoMultithread, nil
	case "multithread":
		return HintMultithread, nil
	case "compute_bound":
		return HintComputeBound, nil
	case "memory_bound":
		return HintMemoryBound, nil
	}
	return HintNone, &RequestError{Rule: RuleHint, Detail: word}
}

// Options are what a user asks, option by option, before anything is derived.
// Zero is not given unless the field says otherwise.
//
// Source: spec/cores.md 2.1, spec/gres.md 7.
type Options struct {
	Tasks       int32 // -n
	CPUsPerTask int32 // -c
	// MinNodes and MaxNodes of -N; MaxNodes 0 with MinNodes set is no
	// maximum. -N3 is 3 and 3.
	MinNodes, MaxNodes int32
	// ListedNodes is the length of -w without duplicates.
	ListedNodes    int32
	TasksPerNode   int32 // --ntasks-per-node
	TasksPerSocket int32 // --ntasks-per-socket
	TasksPerCore   int32 // --ntasks-per-core
	ThreadsPerCore int32 // --threads-per-core, third number of -B
	SocketsPerNode int32 // --sockets-per-node, first number of -B
	CoresPerSocket int32 // --cores-per-socket, second number of -B
	// Geometry says that -B was given.
	Geometry   bool
	MinCPUs    int32 // --mincpus
	Hint       Hint
	Overcommit bool // -O
	Dist       SocketDist
	PlaneSize  int32 // -m plane=
	// MemMiB of --mem, --mem-per-cpu, --mem-per-gpu, −1 if not given: 0 asks
	// for all memory. A [NewOptions] value has −1.
	Mem, MemPerCPU, MemPerGPU int64
	TmpMiB                    int64 // --tmp
	Exclusive                 bool  // --exclusive, whole nodes
	Oversubscribe             bool  // -s
	// CoreSpec and ThreadSpec of -S and --thread-spec, −1 if not given.
	CoreSpec, ThreadSpec    int32
	TasksPerGPU, CPUsPerGPU int32
	// Flags of --gres-flags.
	Flags RequestFlags
	// GPUFreq says that --gpu-freq was given.
	GPUFreq bool
	// TRESCPUs is the cpu of --tres-per-task.
	TRESCPUs int32
	// Asks for devices, in the order of the command line.
	Asks []Ask
}

// NewOptions returns options of which nothing is given.
func NewOptions() Options {
	return Options{Mem: -1, MemPerCPU: -1, MemPerGPU: -1, CoreSpec: -1, ThreadSpec: -1}
}

// MemDefaults are the memory defaults of a cluster or partition in MiB, 0 not
// set. Slurm: DefMemPerCPU, DefMemPerNode, DefMemPerGPU.
type MemDefaults struct{ PerCPU, PerNode, PerGPU int64 }

// Params are the settings of cluster and partition that derivation needs.
type Params struct {
	Unit CPUUnit
	// ConsumeMem says that memory is consumed (*_Memory).
	ConsumeMem bool
	// OneTaskPerCore, DistBlock, EnforceBinding, OneTaskPerSharing,
	// MultipleSharing, LeastLoaded: CR_ONE_TASK_PER_CORE,
	// CR_CORE_DEFAULT_DIST_BLOCK, ENFORCE_BINDING_GRES,
	// ONE_TASK_PER_SHARING_GRES, MULTIPLE_SHARING_GRES_PJ, LL_SHARED_GRES.
	OneTaskPerCore, DistBlock, EnforceBinding       bool
	OneTaskPerSharing, MultipleSharing, LeastLoaded bool
	// PackShared takes shared devices with the least left first; it goes
	// before LeastLoaded. Not in Slurm.
	PackShared bool
	// AllowSpec is AllowSpecResourcesUsage.
	AllowSpec bool
	// DefCPUsPerGPU in effect: the partition's, else the cluster's.
	DefCPUsPerGPU int32
	// Partition and Cluster memory defaults.
	Partition, Cluster MemDefaults
	// WholeNodes says that the partition gives nodes whole
	// (OverSubscribe=EXCLUSIVE, Exclusive=NODE).
	WholeNodes bool
	// Links, StrictSocketLimit and LooseGPUMem are carried into the request.
	Links                          LinkPolicy
	StrictSocketLimit, LooseGPUMem bool
}
