package cgroupsv2

import (
	"strconv"
	"strings"
)

// kernel is what the executor does to a tree; the names are below its root.
// Two things stand behind it: the kernel's files, and a table in tests.
type kernel interface {
	read(name string) (string, error)
	write(name, value string) error // never creates
	mkdir(name string) error
	rmdir(name string) error
	list(name string) ([]string, error) // directories in name, sorted
	// filter returns the program on a group, nil without; set puts one on it
	// (nil takes it off) and returns a function that puts the old one back.
	setFilter(name string, f *Filter) (undo func() error, err error)
}

// counters are the numbers of a file of lines "name number".
func counters(text string, want func(name string, n int64)) {
	for line := range strings.Lines(text) {
		name, num, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(num, 10, 64); ok && err == nil {
			want(name, n)
		}
	}
}

// Events is what happened in a group and below it. The counters only grow: of
// a group that is used again, keep the first reading and subtract it.
type Events struct {
	OOMKill      int64 // processes that the kernel killed for memory
	OOMGroupKill int64 // times that all were killed together
	Max          int64 // times that memory.max was hit
	High         int64 // times that memory.high was passed
	SwapFail     int64 // times that swap could not be had
	Populated    bool  // a process is inside, zombies not counted
	Frozen       bool  // all are frozen
}

// Sub returns what happened since base; the two states stay.
func (e Events) Sub(base Events) Events {
	e.OOMKill -= base.OOMKill
	e.OOMGroupKill -= base.OOMGroupKill
	e.Max -= base.Max
	e.High -= base.High
	e.SwapFail -= base.SwapFail
	return e
}

// take reads cgroup.events, memory.events or memory.swap.events.
func (e *Events) take(file, text string) {
	counters(text, func(name string, n int64) {
		switch {
		case file == "cgroup.events" && name == "populated":
			e.Populated = n != 0
		case file == "cgroup.events" && name == "frozen":
			e.Frozen = n != 0
		case file == "memory.events" && name == "oom_kill":
			e.OOMKill = n
		case file == "memory.events" && name == "oom_group_kill":
			e.OOMGroupKill = n
		case file == "memory.events" && name == "max":
			e.Max = n
		case file == "memory.events" && name == "high":
			e.High = n
		case file == "memory.swap.events" && name == "fail":
			e.SwapFail = n
		}
	})
}

// Stats is what a group used. Memory is -1 where the controller is off, and
// the peaks where the kernel does not tell (before 5.19, swap before 6.5).
type Stats struct {
	UserMicros, SystemMicros int64 // CPU time
	Memory, MemoryPeak       int64 // bytes
	Swap, SwapPeak           int64 // bytes
	Cache                    int64 // bytes of Memory that hold file pages
	MajorFaults              int64
}

// take reads the files with several numbers.
func (s *Stats) take(text string) {
	counters(text, func(name string, n int64) {
		switch name {
		case "user_usec":
			s.UserMicros = n
		case "system_usec":
			s.SystemMicros = n
		case "active_file", "inactive_file":
			s.Cache += n
		case "pgmajfault":
			s.MajorFaults = n
		}
	})
}
