package sbatch

import (
	"errors"
	"fmt"
	"strconv"
)

// Causes that a caller may branch on with errors.Is. Every one arrives inside
// an [*Error].
var (
	// ErrUnknownOption: sbatch has no such option and no plug-in claims it.
	ErrUnknownOption = errors.New("unknown option")
	// ErrAmbiguous: a shortened option fits several.
	ErrAmbiguous = errors.New("ambiguous option")
	// ErrArgument: an option lacks its argument or does not take one.
	ErrArgument = errors.New("wrong number of arguments")
	// ErrValue: the argument does not fit the option.
	ErrValue = errors.New("invalid value")
	// ErrDirective: a #SBATCH line holds something that is no option.
	ErrDirective = errors.New("invalid directive")
)

// A Source says where an option was given.
type Source uint8

// The sources in the order in which later ones win over earlier ones.
const (
	FromInherited Source = iota // an earlier component of a heterogeneous job
	FromScript                  // a #SBATCH line
	FromEnv                     // an SBATCH_… variable
	FromArgs                    // the command line
)

var sourceNames = [...]string{"inherited", "script", "environment", "command line"}

// String returns the source in words.
func (s Source) String() string { return sourceNames[s] }

// Origin says where an option was given: the line of the script, or the
// position among the arguments. The zero Origin is nowhere.
type Origin struct {
	Source Source
	// Line counts lines of a script or arguments of a command line from 1.
	Line int
}

// String returns "script line 3", "argument 2" or the source alone.
func (o Origin) String() string {
	switch {
	case o.Line == 0:
		return o.Source.String()
	case o.Source == FromArgs:
		return "argument " + strconv.Itoa(o.Line)
	}
	return o.Source.String() + " line " + strconv.Itoa(o.Line)
}

// An Error says which option could not be taken.
type Error struct {
	// Origin is where it was given.
	Origin Origin
	// Option is the option as it was written, with its argument.
	Option string
	// Err is the cause: a sentinel above, a [Conflict] or the error of a
	// grammar.
	Err error
}

// Error returns "sbatch: parse option at origin: cause".
func (e *Error) Error() string {
	return "sbatch: parse " + strconv.Quote(e.Option) + " at " + e.Origin.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A Conflict is a pair of options that exclude each other. Its text is the one
// that Slurm's commands print after "fatal: ".
type Conflict string

// The conflicts that the command finds itself, before anything is submitted.
//
// Source: spec/gres.md 7.2, spec/cores.md 2.1 and 7.1.
const (
	ConflictMem           Conflict = "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
	ConflictGPUsPerNode   Conflict = "--gpus-per-node and --gres=gpu are mutually exclusive."
	ConflictCPUs          Conflict = "--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive"
	ConflictTRESCPU       Conflict = "You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other"
	ConflictTRESGPU       Conflict = "You can not have --tres-per-task=gres/gpu= and --gpus-per-task please use one or the other"
	ConflictGPUsPerTask   Conflict = "--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
	ConflictGPUsPerSocket Conflict = "--gpus-per-socket is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
	ConflictTasksPerNode  Conflict = "--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
	ConflictTRESTasksGPU  Conflict = "--tres-per-task=gres/gpu is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
	ConflictBinding       Conflict = "--gres-flags=enforce-binding and disable-binding are mutually exclusive"
	ConflictSharingTasks  Conflict = "--gres-flags=one-task-per-sharing and multiple-tasks-per-sharing are mutually exclusive"
	ConflictOversubscribe Conflict = "--exclusive and --oversubscribe options are mutually exclusive"
	ConflictSpec          Conflict = "--core-spec and --thread-spec are mutually exclusive"
	ConflictSegments      Conflict = "--spread-segments and --consolidate-segments are mutually exclusive"
	ConflictSharedFreq    Conflict = "--gpu-freq and a shared GRES are mutually exclusive"
	ConflictArrayHet      Conflict = "--array is not possible for a heterogeneous job"
	ConflictScriptWrap    Conflict = "Script arguments not permitted with --wrap option"
)

// Error returns the text of Slurm's command.
func (c Conflict) Error() string { return string(c) }

// A SegmentError is a node count that --segment does not divide.
type SegmentError struct{ Segment, Nodes int32 }

// Error returns the text of Slurm's command.
func (e *SegmentError) Error() string {
	return fmt.Sprintf("--segment=%d does not fit the job size (%d): node count must be evenly divisible by segment size", e.Segment, e.Nodes)
}

// A TasksPerCoreError is a --ntasks-per-core above --threads-per-core.
type TasksPerCoreError struct{ Tasks, Threads int32 }

// Error returns the text of Slurm's command.
func (e *TasksPerCoreError) Error() string {
	return fmt.Sprintf("--ntasks-per-core (%d) can not be bigger than --threads-per-core (%d)", e.Tasks, e.Threads)
}

// valueErr returns an ErrValue with what was wanted.
func valueErr(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrValue}, args...)...)
}

// A GrammarError says which part of an argument with a grammar of its own could
// not be read.
type GrammarError struct {
	Grammar string // "array", "dependency", "constraint", "signal", "time"
	Text    string // the whole argument
	Offset  int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Why     string
}

// Error returns the grammar, the text, the offset and what was wanted.
func (e *GrammarError) Error() string {
	return "invalid " + e.Grammar + " " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Why
}

// Unwrap returns ErrValue.
func (e *GrammarError) Unwrap() error { return ErrValue }
