package trace

import (
	"cmp"
	"math"
	"slices"
)

// Second is one second in the unit of all times here, the microsecond.
const Second = 1_000_000

// Forever is the run time of a job that ends only at its time limit.
const Forever = math.MaxInt64

// Largest values that a reader accepts. Every sum of two times and every
// product of two counts of one job stays far from the end of int64.
const (
	maxSeconds = 1 << 33 // 272 years
	maxCount   = 1 << 30 // nodes, tasks, devices
	maxMemMiB  = 1 << 40
)

// A Job is one row of a log: what was asked, and how long it really ran.
// Zero means "not said" for every field but Submit and Runtime.
type Job struct {
	ID   string // as the log names it
	Name string
	Line int // line of the log, from 1

	Submit  int64 // microseconds, from the log's own origin
	Runtime int64 // microseconds, or [Forever]
	Limit   int64 // microseconds

	Nodes           int64 // exactly so many; 0: as few as hold the rest
	Tasks           int64
	TasksPerNode    int64
	MilliCPUPerTask int64 // 0: one CPU
	MemPerNodeMiB   int64
	MemPerCPUMiB    int64

	GPUs        int64    // devices of the whole job
	GPUsPerNode int64    // devices on each node, where the log counts so
	GPUMilli    int64    // thousandths of each device; 0 or 1000: whole
	GPUModels   []string // any of these; nil: any device

	After string // the job that must have ended before; empty: none

	User, Account, Partition, QOS, Constraint string
}

// A Skip counts the rows that a reader left out for one reason.
type Skip struct {
	Why   string
	Count int
	Line  int // of the first one
}

// A List is a whole log.
type List struct {
	File   string
	Format string
	// Jobs are in order of Submit, equal ones in the order of the file.
	Jobs []Job
	// Skipped says what was left out, in order of first appearance.
	Skipped []Skip
	// HeaderNodes and HeaderProcs are the machine's size if the log says it.
	HeaderNodes, HeaderProcs int64
}

func (l *List) skip(why string, line int) {
	for i := range l.Skipped {
		if l.Skipped[i].Why == why {
			l.Skipped[i].Count++
			return
		}
	}
	l.Skipped = append(l.Skipped, Skip{Why: why, Count: 1, Line: line})
}

func (l *List) finish() {
	slices.SortStableFunc(l.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
}

// A Node is one machine of a node list.
type Node struct {
	Name     string
	MilliCPU int64
	MemMiB   int64
	GPUs     int64
	Model    string // GPU model, empty where there is none
	Line     int
}
