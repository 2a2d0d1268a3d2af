package slurmconf

import (
	"errors"
	"fmt"
	"strconv"
)

// Causes that a caller may branch on with errors.Is. Every one arrives inside
// an [*Error] that says where.
var (
	// ErrSyntax: a line is not a list of key=value words.
	ErrSyntax = errors.New("invalid syntax")
	// ErrValue: a value does not fit its key.
	ErrValue = errors.New("invalid value")
	// ErrInclude: an included file is absent, outside the tree or includes
	// itself.
	ErrInclude = errors.New("cannot include")
	// ErrUnknownNode: a partition or node set names a node that no line defines.
	ErrUnknownNode = errors.New("unknown node")
	// ErrDuplicate: a name that must be unique is defined twice.
	ErrDuplicate = errors.New("defined twice")
	// ErrRefused: each value is well formed, but Slurm refuses to start with
	// them together.
	ErrRefused = errors.New("refused")
)

// Origin says where a value was written. The zero Origin means that it was not
// written anywhere: the value is a default.
type Origin struct {
	// File is the name as the reader opened it, relative to the
	// configuration's directory; for a command line it is what the caller
	// gave.
	File string
	// Line counts from 1. A value on a continued line has the line on which
	// it stands, not the one where the record began.
	Line int
}

// IsZero reports whether the value was not written anywhere.
func (o Origin) IsZero() bool { return o.Line == 0 }

// String returns "file:line", or "default" for the zero Origin.
func (o Origin) String() string {
	if o.IsZero() {
		return "default"
	}
	return o.File + ":" + strconv.Itoa(o.Line)
}

// An Error says which word of which line could not be taken. A reader that
// meets several bad words returns all of them, joined in the order of the
// files.
type Error struct {
	// Origin is the file and line.
	Origin Origin
	// Token is the offending word as it was written, or the part of it that
	// is wrong. Empty if the line as a whole is.
	Token string
	// Err is the cause: one of the sentinels above or an error of the
	// grammar's owner.
	Err error
}

// Error returns "slurmconf: read file:line: token: cause".
func (e *Error) Error() string {
	s := "slurmconf: read " + e.Origin.String() + ": "
	if e.Token != "" {
		s += strconv.Quote(e.Token) + ": "
	}
	return s + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A Warning is something that Slurm would accept or ignore but that the writer
// of the file should know: an unknown key, an option of older versions, a node
// of a topology file that does not exist.
type Warning struct {
	// Origin is the file and line.
	Origin Origin
	// Token is the word in question.
	Token string
	// Text says what happens with it.
	Text string
}

// String returns "file:line: token: text".
func (w Warning) String() string {
	return w.Origin.String() + ": " + strconv.Quote(w.Token) + ": " + w.Text
}

// valueErr returns an ErrValue with what was expected.
func valueErr(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrValue}, args...)...)
}

// refusedErr returns an ErrRefused with its reason.
func refusedErr(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}
