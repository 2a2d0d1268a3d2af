package wiring

import (
	"errors"
	"strconv"
)

// Causes of a [ParseError]; a missing file wraps fs.ErrNotExist instead.
var (
	// ErrSyntax is text that breaks the format.
	ErrSyntax = errors.New("invalid syntax")
	// ErrRange is a number that is too large.
	ErrRange = errors.New("number out of range")
	// ErrMatrix is a matrix that is not square or not symmetric.
	ErrMatrix = errors.New("matrix is not square and symmetric")
)

// A ParseError says which part of an input could not be read.
type ParseError struct {
	File  string // path inside the tree, or what kind of text it is
	Line  int    // from 1; 0 if the file as a whole
	Token string // the word in question
	Err   error
}

func (e *ParseError) Error() string {
	text := "wiring: read " + e.File
	if e.Line > 0 {
		text += " line " + strconv.Itoa(e.Line)
	}
	if e.Token != "" {
		text += " " + strconv.Quote(e.Token)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
