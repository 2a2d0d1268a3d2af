package trace

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// What an [Error] may wrap.
var (
	ErrFormat    = errors.New("unknown format")
	ErrSyntax    = errors.New("syntax")
	ErrNumber    = errors.New("not a whole number")
	ErrDecimal   = errors.New("not a number of seconds")
	ErrNegative  = errors.New("negative")
	ErrRange     = errors.New("out of range")
	ErrTruncated = errors.New("compressed data ends too soon, the file is cut short")
	ErrDamaged   = errors.New("compressed data is damaged")
	ErrEmpty     = errors.New("no jobs in it")
)

// An Error says where a log could not be read. Its text is one line.
type Error struct {
	File  string
	Line  int    // from 1; 0: the file as a whole
	Token string // the offending text, empty where there is none
	Err   error
}

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	if e.Token != "" {
		s += ": " + strconv.Quote(shorten(e.Token))
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// shorten keeps an error readable when the token is a whole line.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// readErr gives an error of the byte stream a sentence of ours.
func readErr(file string, line int, err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrTruncated
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		err = fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return &Error{File: file, Line: line, Err: err}
}
