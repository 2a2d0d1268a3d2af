package cgroupsv2

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// A Group is one directory of a tree. It holds no handle: it may be made
// before the directory is there and kept after it is gone, which its methods
// then report as fs.ErrNotExist.
type Group struct {
	t    *Tree
	path string
}

// Group returns the group at a path below the tree; "." is the tree's own.
func (t *Tree) Group(path string) Group { return Group{t: t, path: path} }

// Path returns the group's path below its tree.
func (g Group) Path() string { return g.path }

// Pids returns the processes in the group and below it.
// [ErrForeignPID] says that there is one that we cannot name.
func (g Group) Pids() ([]int, error) { return g.t.pids(g.path, nil) }

// Events reads what happened. Files that the kernel or the enabled controllers
// do not have count as nothing happened.
func (g Group) Events() (Events, error) {
	var e Events
	for _, file := range [...]string{"cgroup.events", "memory.events", "memory.swap.events"} {
		text, err := g.t.k.read(g.path + "/" + file)
		if err != nil && (file == "cgroup.events" || !errors.Is(err, fs.ErrNotExist)) {
			return Events{}, err
		}
		e.take(file, text)
	}
	return e, nil
}

// Stats reads what the group and those below it used.
func (g Group) Stats() (Stats, error) {
	var s Stats
	text, err := g.t.k.read(g.path + "/cpu.stat")
	if err != nil {
		return s, err
	}
	s.take(text)
	if text, err = g.t.k.read(g.path + "/memory.stat"); err == nil {
		s.take(text)
	}
	s.Memory = g.amount("memory.current")
	s.MemoryPeak = g.amount("memory.peak")
	s.Swap = g.amount("memory.swap.current")
	s.SwapPeak = g.amount("memory.swap.peak")
	return s, nil
}

func (g Group) amount(file string) int64 {
	n, err := g.t.number(g.path + "/" + file)
	if err != nil {
		return Unset
	}
	return n
}

// CPUs returns the CPUs that the processes may really use, or the error of a
// group without the controller. A CPU that went offline is missing.
func (g Group) CPUs() ([]uint64, error) {
	text, err := g.t.k.read(g.path + "/cpuset.cpus.effective")
	if err != nil {
		return nil, err
	}
	return ParseList(text)
}

// Adopt moves a running process into the group, with its threads. Device files
// that it has open stay open, and its memory stays charged to where it came
// from: a process that is to be fenced is better started inside. A process that
// is gone gives syscall.ESRCH. This is what pam_slurm_adopt does with a login.
func (g Group) Adopt(pid int) error {
	if err := g.t.k.write(g.path+"/cgroup.procs", strconv.Itoa(pid)); err != nil {
		return moveError(g.path, pid, err)
	}
	return nil
}

// Freeze asks the kernel to stop all processes in and below the group; it
// comes about a little later, see [Group.Wait]. Frozen processes can be killed.
func (g Group) Freeze() error { return g.set("cgroup.freeze", "1") }

// Thaw lets frozen processes run on.
func (g Group) Thaw() error { return g.set("cgroup.freeze", "0") }

func (g Group) set(file, value string) error {
	if err := g.t.k.write(g.path+"/"+file, value); err != nil {
		return &WriteError{File: g.path + "/" + file, Value: value, Err: err}
	}
	return nil
}

// Exists says whether the group's directory is there.
func (g Group) Exists() bool {
	_, err := g.t.k.read(g.path + "/cgroup.type")
	if err != nil {
		_, err = g.t.k.read(g.path + "/cgroup.procs")
	}
	return err == nil
}

// Vacate moves the processes that sit in this group itself into the group at
// leaf, which it makes below this one, and returns their number. A service
// with Delegate=yes does this with its own group first: only groups without
// processes can give controllers to their children.
func (g Group) Vacate(leaf string) (int, error) {
	to := g.path + "/" + leaf
	if err := g.t.k.mkdir(to); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, &DelegationError{Path: to, Err: err}
	}
	moved := 0
	for range 100 { // children may be forked while we move
		text, err := g.t.k.read(g.path + "/cgroup.procs")
		if err != nil {
			return moved, err
		}
		if strings.TrimSpace(text) == "" {
			return moved, nil
		}
		for word := range strings.FieldsSeq(text) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return moved, err
			}
			if pid == 0 {
				return moved, ErrForeignPID
			}
			if err := g.t.apply1(Op{Kind: OpMove, Path: to, PID: pid}); err != nil {
				return moved, err
			}
			moved++
		}
	}
	return moved, &BusyError{Path: g.path, Err: ErrInside}
}

func (t *Tree) apply1(o Op) error {
	_, err := t.apply(&o)
	return err
}
