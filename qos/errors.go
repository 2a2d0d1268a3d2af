package qos

import "errors"

// Causes that a caller may branch on with errors.Is.
var (
	// ErrUnknownName says that no account, user, association, QOS or option has
	// the name or number given.
	ErrUnknownName = errors.New("unknown name")
	// ErrExists says that the name is taken.
	ErrExists = errors.New("already exists")
	// ErrBusy says that jobs of the object are still submitted or running.
	ErrBusy = errors.New("has jobs")
	// ErrNotEmpty says that the account still has users or accounts below it.
	ErrNotEmpty = errors.New("has children")
	// ErrCycle says that an account would come below itself.
	ErrCycle = errors.New("would be below itself")
	// ErrNotHere says that the option or limit does not belong to that object.
	ErrNotHere = errors.New("does not apply to this object")
	// ErrValue says that the value is outside what the option takes.
	ErrValue = errors.New("invalid value")
	// ErrRelative says that a Relative QOS would be that of two partitions.
	ErrRelative = errors.New("relative QOS already has a partition")
)
