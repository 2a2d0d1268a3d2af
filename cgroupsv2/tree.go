package cgroupsv2

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A Tree is a delegated directory and what is below it. Its methods may be
// called by several goroutines as long as they work on different groups.
type Tree struct {
	k   kernel
	dir string
	// close frees what the kernel half holds.
	close func() error
}

// Dir returns the directory that the tree was opened at.
func (t *Tree) Dir() string { return t.dir }

// Close frees the tree's handles. Groups, their limits and their device
// filters stay in the kernel.
func (t *Tree) Close() error { return t.close() }

// Apply carries out a list in its order. If an operation fails, those before
// it are taken back, last first: directories that it made are removed, values
// and filters are put back; only then comes the error, so nothing is half
// applied. Removals and moves are not taken back: a list that has them should
// have nothing else behind them that may fail. An [UndoError] says that the
// taking back failed too.
//
// Cost: one write for each operation, one or two reads for each write.
func (t *Tree) Apply(ops []Op) error {
	var undo []func() error
	for i := range ops {
		back, err := t.apply(&ops[i])
		if err == nil {
			if back != nil {
				undo = append(undo, back)
			}
			continue
		}
		var left []error
		if back != nil {
			left = append(left, back())
		}
		for _, u := range slices.Backward(undo) {
			left = append(left, u())
		}
		if e := errors.Join(left...); e != nil {
			return &UndoError{Err: err, Undo: e}
		}
		return err
	}
	return nil
}

// apply does one operation and returns how to take it back, which may be
// needed even with an error.
func (t *Tree) apply(o *Op) (undo func() error, err error) {
	switch o.Kind {
	case OpMkdir:
		err := t.k.mkdir(o.Path)
		if errors.Is(err, fs.ErrExist) {
			return nil, nil
		}
		if err != nil {
			return nil, &DelegationError{Path: o.Path, Err: err}
		}
		return func() error { return t.k.rmdir(o.Path) }, nil
	case OpEnable:
		return t.enable(o.Path, o.Controllers)
	case OpWrite:
		return t.write(o)
	case OpFilter:
		return t.k.setFilter(o.Path, o.Filter)
	case OpMove:
		err := t.k.write(o.Path+"/cgroup.procs", strconv.Itoa(o.PID))
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, moveError(o.Path, o.PID, err)
		}
		return nil, nil
	case OpRemove:
		return nil, t.remove(o.Path)
	}
	err = t.k.rmdir(o.Path)
	if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

func moveError(path string, pid int, err error) error {
	if errors.Is(err, syscall.EBUSY) {
		err = errors.Join(ErrInside, err)
	}
	return &WriteError{File: path + "/cgroup.procs", Value: strconv.Itoa(pid), Err: err}
}

// enable gives controllers to the children of a directory, one at a time, so
// that the error can name the missing one. Those that are on already stay on
// when the list is taken back.
func (t *Tree) enable(path string, names []string) (func() error, error) {
	offered, err := t.words(path + "/cgroup.controllers")
	if err != nil {
		return nil, &DelegationError{Path: path, Err: err}
	}
	on, err := t.words(path + "/cgroup.subtree_control")
	if err != nil {
		return nil, &DelegationError{Path: path, Err: err}
	}
	var given []string
	undo := func() error {
		var errs []error
		for _, name := range slices.Backward(given) {
			errs = append(errs, t.k.write(path+"/cgroup.subtree_control", "-"+name))
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		if slices.Contains(on, name) {
			continue
		}
		if !slices.Contains(offered, name) {
			return undo, &ControllerError{Name: name, Where: path}
		}
		if err := t.k.write(path+"/cgroup.subtree_control", "+"+name); err != nil {
			if errors.Is(err, syscall.EBUSY) {
				err = errors.Join(ErrInside, err)
			}
			return undo, &DelegationError{Path: path, Err: err}
		}
		given = append(given, name)
	}
	return undo, nil
}

// words reads a file of words.
func (t *Tree) words(name string) ([]string, error) {
	text, err := t.k.read(name)
	return strings.Fields(text), err
}

// write does OpWrite.
func (t *Tree) write(o *Op) (func() error, error) {
	name := o.Path + "/" + o.File
	old, err := t.k.read(name)
	if err != nil {
		return nil, &WriteError{File: name, Value: o.Value, Err: t.missing(o, err)}
	}
	if err := t.k.write(name, o.Value); err != nil {
		return nil, &WriteError{File: name, Value: o.Value, Err: err}
	}
	undo := func() error { return t.k.write(name, strings.TrimSpace(old)) }
	if o.Verify == VerifyNone {
		return undo, nil
	}
	granted, err := t.k.read(name + ".effective")
	if err != nil {
		return undo, &WriteError{File: name, Value: o.Value, Err: err}
	}
	want, err := ParseList(o.Value)
	if err != nil {
		return undo, err
	}
	got, err := ParseList(granted)
	if err != nil {
		return undo, err
	}
	if !equalSets(want, got) {
		return undo, &WriteError{File: name, Value: o.Value, Granted: strings.TrimSpace(granted), Err: ErrNotGranted}
	}
	return undo, nil
}

// missing turns the absence of a control file into the absence of its
// controller.
func (t *Tree) missing(o *Op, err error) error {
	name, _, _ := strings.Cut(o.File, ".")
	if !errors.Is(err, fs.ErrNotExist) || name == "cgroup" {
		return err
	}
	if on, e := t.words(o.Path + "/cgroup.controllers"); e == nil && !slices.Contains(on, name) {
		return errors.Join(&ControllerError{Name: name, Where: o.Path}, err)
	}
	return err
}

// remove removes a group and what is below it, the lowest first. What is gone
// already is no error.
func (t *Tree) remove(path string) error {
	below, err := t.k.list(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range below {
		if err := t.remove(path + "/" + name); err != nil {
			return err
		}
	}
	err = t.k.rmdir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EBUSY):
		pids, _ := t.pids(path, nil)
		return &BusyError{Path: path, Pids: pids, Err: syscall.EBUSY}
	}
	return err
}

// pids appends the processes of a group and of those below it.
func (t *Tree) pids(path string, dst []int) ([]int, error) {
	text, err := t.k.read(path + "/cgroup.procs")
	if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		return dst, err
	}
	for word := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return dst, err
		}
		if pid == 0 {
			return dst, ErrForeignPID
		}
		dst = append(dst, pid)
	}
	below, err := t.k.list(path)
	if err != nil {
		return dst, err
	}
	for _, name := range below {
		if dst, err = t.pids(path+"/"+name, dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dst, err
		}
	}
	return dst, nil
}

// A JobDir is a job's directory that [Tree.Jobs] found.
type JobDir struct {
	Name  string
	Job   JobName
	Steps []StepID // ascending
}

// Jobs lists the directories of jobs and their steps, sorted by name: what a
// manager compares with what it knows after it was away. Other directories
// are left out.
func (t *Tree) Jobs() ([]JobDir, error) {
	names, err := t.k.list(".")
	if err != nil {
		return nil, err
	}
	var jobs []JobDir
	for _, name := range names {
		j, err := ParseJobName(name)
		if err != nil {
			continue
		}
		below, err := t.k.list(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		d := JobDir{Name: name, Job: j}
		for _, s := range below {
			if id, err := ParseStepName(s); err == nil {
				d.Steps = append(d.Steps, id)
			}
		}
		slices.Sort(d.Steps)
		jobs = append(jobs, d)
	}
	return jobs, nil
}

// Shrinks says whether a list lowers memory limits below what is in use, for
// which the kernel would kill: the first such group as a [ShrinkError], else
// nil. What is used now is only a hint of what will be used when the list is
// applied; to be safe, freeze the job, ask, apply and thaw.
func (t *Tree) Shrinks(ops []Op) error {
	for i := range ops {
		o := &ops[i]
		if o.Kind != OpWrite || o.File != "memory.max" {
			continue
		}
		limit, err := strconv.ParseInt(o.Value, 10, 64)
		if err != nil {
			continue
		}
		use, err := t.number(o.Path + "/memory.current")
		if err != nil {
			return err
		}
		if use <= limit {
			continue
		}
		e := &ShrinkError{Path: o.Path, Use: use, Max: limit}
		e.SwapUse, _ = t.number(o.Path + "/memory.swap.current")
		for j := range ops {
			if ops[j].Path == o.Path && ops[j].File == "memory.swap.max" {
				e.Own, _ = strconv.ParseInt(ops[j].Value, 10, 64)
			}
		}
		return e
	}
	return nil
}

// number reads a file of one number; "max" is the largest.
func (t *Tree) number(name string) (int64, error) {
	text, err := t.k.read(name)
	if err != nil {
		return Unset, err
	}
	if text = strings.TrimSpace(text); text == "max" {
		return 1<<63 - 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Unset, err
	}
	return n, nil
}
