package gres

import (
	"errors"
	"strconv"
)

// Causes found in a [ParseError] and in the errors of [NewSchema].
var (
	// ErrSyntax says that the text does not follow the grammar.
	ErrSyntax = errors.New("invalid syntax")
	// ErrUnknownKind says that the schema does not count the named kind.
	ErrUnknownKind = errors.New("unknown kind")
	// ErrRange says that a number does not fit in 64 bits.
	ErrRange = errors.New("value out of range")
	// ErrDuplicate says that a name is given twice where one is allowed.
	ErrDuplicate = errors.New("duplicate name")
)

// A ParseError says which part of a TRES or GRES string could not be read.
// It unwraps to its cause.
type ParseError struct {
	Text   string // the whole input
	Offset int    // byte offset of the first bad byte, 0 <= Offset <= len(Text)
	Err    error  // ErrSyntax, ErrUnknownKind, ErrRange or ErrDuplicate
}

// Error returns the input, the offset and the cause on one line.
func (e *ParseError) Error() string {
	return "gres: parse " + strconv.Quote(e.Text) + " at " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
