package cgroupsv2

import (
	"errors"
	"strconv"
	"strings"
)

// Conditions of a host that callers tell apart.
var (
	// ErrNotUnified: the directory is not on a cgroup2 mount (Open, Report.Check).
	ErrNotUnified = errors.New("not a cgroup2 mount")
	// ErrHybrid: version 1 controllers are mounted too, so the unified tree
	// does not own them (Report.Check).
	ErrHybrid = errors.New("version 1 controllers are mounted (hybrid mode)")
	// ErrNamespace: the process's own cgroup cannot be found below the mount,
	// as in a container with a foreign cgroup namespace (Report.Check).
	ErrNamespace = errors.New("own cgroup lies outside of the mount's namespace")
	// ErrForeignPID: a process of another pid namespace is in the group (Group.Pids).
	ErrForeignPID = errors.New("process of another pid namespace")
	// ErrForeignManager: the group carries a device program that is not ours,
	// or one whose mode forbids ours (inside FilterError).
	ErrForeignManager = errors.New("another manager owns this cgroup")
	// ErrNoBPF: the kernel or the process's rights do not allow device
	// programs, so devices cannot be fenced (inside FilterError).
	ErrNoBPF = errors.New("loading device programs is not permitted or not supported")
	// ErrNotGranted: the kernel took the set and granted another one, because
	// the parent does not have it (inside WriteError).
	ErrNotGranted = errors.New("set was not granted")
	// ErrInside: processes sit in the group itself, which can then not give
	// controllers to its children; or a process was to start in a group that
	// has children with controllers (inside DelegationError; Group.Start).
	ErrInside = errors.New("only groups without children may hold processes")
	// ErrGrow: more memory for a running job, which Slurm refuses (Conf.AppendResize).
	ErrGrow = errors.New("a running job's memory cannot grow")
	// ErrName: no such kind of directory name (ParseStepName, SLUID texts, plans).
	ErrName = errors.New("invalid name")
	// ErrSyntax: text that cannot be read (inside ParseError).
	ErrSyntax = errors.New("invalid syntax")
	// ErrUnknownKey: cgroup.conf has no such key (inside ParseError).
	ErrUnknownKey = errors.New("unknown key")
	// ErrRange: number outside of the allowed range (inside ParseError).
	ErrRange = errors.New("value out of range")
)

// A ParseError says which part of a text could not be read.
type ParseError struct {
	What   string // cgroup.conf, CPU list, SLUID, …
	Text   string // the offending text: a line of a file or the whole input
	Line   int    // from 1; 0 for texts of one line
	Offset int    // byte offset in Text
	Err    error  // ErrSyntax, ErrUnknownKey or ErrRange
}

func (e *ParseError) Error() string {
	s := "cgroupsv2: parse " + e.What + " "
	if e.Line > 0 {
		s += "line " + strconv.Itoa(e.Line) + " "
	}
	return s + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// A ControllerError says that a directory does not offer a controller: its
// parent did not delegate it, or the kernel lacks it.
type ControllerError struct {
	Name  string // cpuset, memory, pids, …
	Where string // the directory whose cgroup.controllers lacks it
}

func (e *ControllerError) Error() string {
	return "cgroupsv2: controller " + e.Name + " is missing in " + strconv.Quote(e.Where)
}

// A DelegationError says that a directory could not be used as our own: its
// children cannot be given a controller, or it cannot be written at all. It
// wraps [ErrInside] where processes in the directory are the cause.
type DelegationError struct {
	Path string
	Err  error // EBUSY (with ErrInside), EACCES, EPERM, ENOENT, EROFS
}

func (e *DelegationError) Error() string {
	return "cgroupsv2: use of " + strconv.Quote(e.Path) + ", which must be delegated: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *DelegationError) Unwrap() error { return e.Err }

// A WriteError says which value a control file refused.
type WriteError struct {
	File    string // path below the tree
	Value   string
	Granted string // with ErrNotGranted: what the kernel granted instead
	Err     error
}

func (e *WriteError) Error() string {
	s := "cgroupsv2: write " + strconv.Quote(e.Value) + " to " + strconv.Quote(e.File) + ": " + e.Err.Error()
	if e.Granted != "" {
		s += " (granted " + strconv.Quote(e.Granted) + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// A FilterError says that a device program could not be put on a group, which
// is then as it was before. errors.Is with [ErrNoBPF] means that devices
// cannot be fenced on this host at all; Slurm goes on without saying so, here
// the caller decides.
type FilterError struct {
	Path string
	Verb string // load, attach, replace, query
	Err  error
}

func (e *FilterError) Error() string {
	return "cgroupsv2: " + e.Verb + " device filter of " + strconv.Quote(e.Path) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *FilterError) Unwrap() error { return e.Err }

// A BusyError says that a group still has processes.
type BusyError struct {
	Path string
	Pids []int // those that were seen
	Err  error // the context's error, or EBUSY
}

func (e *BusyError) Error() string {
	var s strings.Builder
	s.WriteString("cgroupsv2: remove " + strconv.Quote(e.Path) + ": ")
	for i, p := range e.Pids {
		if i == 8 {
			s.WriteString(" …")
			break
		}
		s.WriteString(strconv.Itoa(p) + " ")
	}
	return s.String() + "still inside: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// A ShrinkError says that a limit below the present use was asked for, which
// the kernel enforces by killing; nothing was changed.
type ShrinkError struct {
	Path         string
	Use, Max     int64 // bytes
	SwapUse, Own int64 // bytes swapped out, and what may be swapped under the new limit
}

func (e *ShrinkError) Error() string {
	return "cgroupsv2: shrink memory of " + strconv.Quote(e.Path) + " to " + strconv.FormatInt(e.Max, 10) +
		" bytes: " + strconv.FormatInt(e.Use, 10) + " in use, processes may be killed"
}

// An UndoError says that a list failed and could not be taken back whole. The
// tree needs a look: what is left is named in Undo.
type UndoError struct {
	Err  error // why the list failed
	Undo error // why it could not be taken back
}

func (e *UndoError) Error() string {
	return e.Err.Error() + "; and was not taken back: " + e.Undo.Error()
}

// Unwrap returns both causes.
func (e *UndoError) Unwrap() []error { return []error{e.Err, e.Undo} }
