package topology

import (
	"errors"
	"strconv"
)

// Causes that a [ParseError] wraps.
var (
	// ErrSyntax says that a byte does not belong where it stands.
	ErrSyntax = errors.New("invalid syntax")
	// ErrOrder says that the upper end of a range is below the lower one.
	ErrOrder = errors.New("range runs backwards")
	// ErrLimit says that a list, a range or a number is larger than its limit.
	ErrLimit = errors.New("over the limit")
	// ErrUnclosed says that a bracket or brace is not closed.
	ErrUnclosed = errors.New("not closed")
	// ErrUnknownUnit says that a text names a unit that the topology lacks.
	ErrUnknownUnit = errors.New("unknown unit")
	// ErrUnknownFunction says that a host expression calls a function that is not
	// one.
	ErrUnknownFunction = errors.New("unknown function")
	// ErrUnknownTopology says that a text names a topology that does not exist.
	ErrUnknownTopology = errors.New("unknown topology")
	// ErrFull says that a ring has no room or a cell of a torus is taken.
	ErrFull = errors.New("no room")
)

// A ParseError says which part of a hostlist, a node count or a host expression
// could not be read.
type ParseError struct {
	Text   string // the whole input
	Offset int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Err    error  // the cause: one of the values above, or ErrUnknownNode
}

// Error implements error. Of a text longer than 80 bytes it shows the part
// around the offset.
func (e *ParseError) Error() string {
	text, from := e.Text, 0
	if len(text) > 80 {
		from = min(max(e.Offset-40, 0), len(text)-80)
		text = text[from : from+80]
	}
	s := "topology: parse " + strconv.Quote(text)
	if from > 0 || len(text) < len(e.Text) {
		s += " (part of " + strconv.Itoa(len(e.Text)) + " bytes)"
	}
	return s + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
