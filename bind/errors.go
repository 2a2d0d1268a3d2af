package bind

import (
	"errors"
	"strconv"
)

// Causes of a [ParseError].
var (
	// ErrType is an unknown binding word.
	ErrType = errors.New("unknown binding")
	// ErrSyntax is text that breaks the grammar.
	ErrSyntax = errors.New("invalid syntax")
	// ErrRange is a number that is too large or too small.
	ErrRange = errors.New("number out of range")
	// ErrShared is a binding that a shared resource (shard, mps) does not take.
	ErrShared = errors.New("shared resources take only per_task and none")
)

// A ParseError says which part of a binding could not be read.
type ParseError struct {
	Text   string // the whole input
	Offset int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Err    error  // ErrType, ErrSyntax, ErrRange or ErrShared
}

func (e *ParseError) Error() string {
	return "bind: parse " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// A Refusal says why a step or a layout cannot be had. The zero value means
// that it can.
type Refusal uint8

// The refusals; their texts are those that Slurm's commands print.
const (
	Accepted         Refusal = iota
	RefusedCPUs              // more tasks than the allocation has room for
	RefusedGRES              // more devices than the job has, or of a type it lacks
	RefusedTaskGRES          // one task asks for more devices than its node gives the job
	RefusedNodes             // more nodes than the job has
	RefusedWait              // other steps hold what is needed: the step waits
	RefusedCPUList           // a CPU or NUMA number outside of the allocation
	RefusedWholeNode         // a NUMA binding needs the whole node
)

// String returns the text that srun prints for r.
func (r Refusal) String() string {
	switch r {
	case Accepted:
		return ""
	case RefusedCPUs:
		return "More processors requested than permitted"
	case RefusedGRES:
		return "Invalid generic resource (gres) specification"
	case RefusedTaskGRES:
		return "Insufficient GRES available in allocation"
	case RefusedNodes:
		return "Requested node configuration is not available"
	case RefusedWait:
		return "Requested nodes are busy"
	case RefusedCPUList:
		return "CPU binding outside of job step allocation"
	case RefusedWholeNode:
		return "Unable to satisfy cpu bind request"
	}
	return "Unspecified error"
}
