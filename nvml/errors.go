package nvml

import (
	"errors"
	"strconv"
)

// Errors of sources.
var (
	// ErrUnsupported is returned by Open in a build without cgo or for another
	// system than Linux.
	ErrUnsupported = errors.New("nvml: built without cgo for Linux")
	// ErrNoLibrary is wrapped by Open's error where the library cannot be
	// opened. That is no fault: a machine without GPUs has none.
	ErrNoLibrary = errors.New("nvml: library not found")
	// ErrNoDriver says that the kernel's driver is not loaded. It is another
	// answer than "no GPUs".
	ErrNoDriver = errors.New("nvml: driver not loaded")
)

// A Return is the result of a call of the library. It is an error unless it is
// Success.
type Return int32

// The results that matter here; the numbers are NVML's.
const (
	Success           Return = 0
	Uninitialized     Return = 1
	InvalidArgument   Return = 2
	NotSupported      Return = 3
	NoPermission      Return = 4
	NotFound          Return = 6
	DriverNotLoaded   Return = 9
	LibraryNotFound   Return = 12
	FunctionNotFound  Return = 13
	GPUIsLost         Return = 15
	ResetRequired     Return = 16
	VersionMismatch   Return = 18
	ReturnUnspecified Return = 999
)

// Error returns a short text.
func (r Return) Error() string { return "nvml: " + r.text() }

func (r Return) text() string {
	switch r {
	case Success:
		return "success"
	case Uninitialized:
		return "not initialized"
	case InvalidArgument:
		return "invalid argument"
	case NotSupported:
		return "not supported"
	case NoPermission:
		return "no permission"
	case NotFound:
		return "not found"
	case DriverNotLoaded:
		return "driver not loaded"
	case LibraryNotFound:
		return "library not found"
	case FunctionNotFound:
		return "function not found"
	case GPUIsLost:
		return "GPU is lost"
	case ResetRequired:
		return "GPU requires reset"
	case VersionMismatch:
		return "driver and library versions differ"
	}
	return "result " + strconv.Itoa(int(r))
}

// Is makes errors.Is(err, ErrNoDriver) hold for the driver's own answer.
func (r Return) Is(target error) bool {
	return target == ErrNoDriver && r == DriverNotLoaded
}

// A ParseError says which line of a text could not be read.
type ParseError struct {
	File  string // what kind of text it is
	Line  int    // from 1
	Token string
	Err   error
}

func (e *ParseError) Error() string {
	return "nvml: read " + e.File + " line " + strconv.Itoa(e.Line) + " " + strconv.Quote(e.Token) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// ErrSyntax is the cause of a [ParseError].
var ErrSyntax = errors.New("invalid syntax")
