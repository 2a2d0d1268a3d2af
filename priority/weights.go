package priority

import "time"

// Flags are the switches of the multifactor sum. The zero value is Slurm's
// default. Slurm: PriorityFlags.
type Flags uint32

const (
	// AccrueAlways lets age count from submission, whatever holds the job
	// back; the caller fills [Jobs.Age] accordingly. Slurm: ACCRUE_ALWAYS.
	AccrueAlways Flags = 1 << iota
	// CalculateRunning lets the caller recompute running jobs too. Slurm:
	// CALCULATE_RUNNING.
	CalculateRunning
	// DepthOblivious chooses [Classic] fair-share with the depth-oblivious
	// usage. Slurm: DEPTH_OBLIVIOUS.
	DepthOblivious
	// NoFairTree chooses [Classic] fair-share. Slurm: NO_FAIR_TREE.
	NoFairTree
	// IncrOnly lets a recomputation only raise a priority. Slurm: INCR_ONLY.
	IncrOnly
	// MaxTRES bills the largest of what lies on a node instead of the sum.
	// Slurm: MAX_TRES.
	MaxTRES
	// MaxTRESGRES bills all GRES plus the largest of CPUs, memory and nodes;
	// it wins over [MaxTRES]. Slurm: MAX_TRES_GRES.
	MaxTRESGRES
	// NoNormalAssoc takes an association's priority as it is. Slurm:
	// NO_NORMAL_ASSOC.
	NoNormalAssoc
	// NoNormalPart takes a partition's job factor as it is. Slurm:
	// NO_NORMAL_PART.
	NoNormalPart
	// NoNormalQOS takes a QOS's priority as it is. Slurm: NO_NORMAL_QOS.
	NoNormalQOS
	// NoNormalTRES takes TRES counts as they are. Slurm: NO_NORMAL_TRES.
	NoNormalTRES
	// SmallRelativeToTime measures a job's size against its time limit.
	// Slurm: SMALL_RELATIVE_TO_TIME.
	SmallRelativeToTime

	// NoNormalAll is all four NoNormal flags. Slurm: NO_NORMAL_ALL.
	NoNormalAll = NoNormalAssoc | NoNormalPart | NoNormalQOS | NoNormalTRES
)

// Weights say how much each factor counts. A factor of weight 0 is off: it is
// not computed, and its columns may be nil. Slurm: PriorityWeight*.
type Weights struct {
	Age       uint32 // Slurm: PriorityWeightAge
	Assoc     uint32 // Slurm: PriorityWeightAssoc
	FairShare uint32 // Slurm: PriorityWeightFairshare
	JobSize   uint32 // Slurm: PriorityWeightJobSize
	Partition uint32 // Slurm: PriorityWeightPartition
	QOS       uint32 // Slurm: PriorityWeightQOS

	// TRES has one weight for each kind of the schema, or fewer: kinds beyond
	// its end are off. Weights may be negative. Slurm: PriorityWeightTRES.
	TRES []float64
}

// DefaultMaxAge is where age stops to grow. Slurm: PriorityMaxAge=7-0.
const DefaultMaxAge = 7 * 24 * time.Hour

// Config says how [Multifactor] adds up. Its zero value gives every job that is
// not held priority 1.
type Config struct {
	Weights

	// MaxAge is the age at which the factor reaches 1, in whole seconds.
	// Default: [DefaultMaxAge]. Slurm: PriorityMaxAge.
	MaxAge time.Duration
	// FavorSmall turns the size factor round. Slurm: PriorityFavorSmall.
	FavorSmall bool
	// Flags are the switches. Slurm: PriorityFlags.
	Flags Flags
	// OwnZeroQOS lets a QOS of priority 0 count as 0 in its own pair. Without
	// it such a pair takes the factor of the job's headline QOS, as Slurm
	// does. See [Multifactor.RankPairs].
	OwnZeroQOS bool
}

// Cluster is what factors are measured against. [Multifactor.SetCluster] reads
// it and keeps nothing of it.
type Cluster struct {
	// Nodes and CPUs are what is configured, whatever its state.
	Nodes, CPUs int64
	// PartitionFactor is the job factor of each partition. Slurm:
	// PriorityJobFactor, 1 unless set.
	PartitionFactor []uint32
	// PartitionTRES has one row of Kinds counts for each partition, in the
	// order of the schema: all that the partition's nodes have.
	PartitionTRES []int64
	// Kinds is the length of a row of PartitionTRES and of [Jobs.TRES]: the
	// length of the schema.
	Kinds int
	// QOSPriority is the priority of each QOS.
	QOSPriority []uint32
	// AssocPriority is the priority of each association, accounts included; a
	// user that sets none has its account's.
	AssocPriority []uint32
}
