package cgroupsv2

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Start starts a command inside the group: it is never outside, not for an
// instant. The group must be a leaf; one whose children have memory or io
// refuses with [ErrInside]. Files that the command inherits keep working
// whatever the device filter says, so pass none of devices. The kernel must
// have clone3 (5.7).
func (g Group) Start(c *exec.Cmd) error {
	k, ok := g.t.k.(*files)
	if !ok {
		return errors.ErrUnsupported
	}
	dir, err := k.root.Open(g.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(dir.Fd())
	err = c.Start()
	if errors.Is(err, syscall.EBUSY) {
		err = errors.Join(ErrInside, err)
	}
	return err
}

// A KillMethod says how processes were killed.
type KillMethod uint8

// The methods.
const (
	KilledByKernel  KillMethod = iota // cgroup.kill: all at once, no fork escapes
	KilledBySignals                   // frozen, then signalled one by one: kernels before 5.14
)

// Kill sends SIGKILL to every process in and below the group, frozen or not,
// and returns when it is sent; see [Group.Wait].
func (g Group) Kill() (KillMethod, error) {
	err := g.t.k.write(g.path+"/cgroup.kill", "1")
	if err == nil || !errors.Is(err, fs.ErrNotExist) || !g.Exists() {
		return KilledByKernel, err
	}
	if err := g.Freeze(); err != nil { // so that none forks meanwhile
		return KilledBySignals, err
	}
	_, err = g.Signal(syscall.SIGKILL)
	return KilledBySignals, errors.Join(err, g.Thaw())
}

// Signal sends a signal to each process in and below the group and returns how
// many got it. Processes that end or appear meanwhile may be missed.
func (g Group) Signal(sig syscall.Signal) (int, error) {
	pids, err := g.Pids()
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, pid := range pids {
		switch err := syscall.Kill(pid, sig); {
		case err == nil:
			n++
		case !errors.Is(err, syscall.ESRCH):
			errs = append(errs, &os.SyscallError{Syscall: "kill " + strconv.Itoa(pid), Err: err})
		}
	}
	return n, errors.Join(errs...)
}

// Wait returns when done says so of the group's events, which are read at once
// and whenever the kernel changes populated or frozen; changes of the memory
// counters alone wake nobody. It ends with the context's error.
func (g Group) Wait(ctx context.Context, done func(Events) bool) (Events, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return Events{}, &os.SyscallError{Syscall: "inotify_init1", Err: err}
	}
	f := os.NewFile(uintptr(fd), "inotify")
	defer f.Close()
	if _, err := syscall.InotifyAddWatch(fd, g.t.below(g.path)+"/cgroup.events", syscall.IN_MODIFY); err != nil {
		return Events{}, &fs.PathError{Op: "inotify_add_watch", Path: g.path, Err: err}
	}
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, 4096)
	for {
		e, err := g.Events()
		if err != nil || done(e) {
			return e, err
		}
		if _, err := f.Read(buf); err != nil {
			if ctx.Err() != nil {
				return e, ctx.Err()
			}
			return e, err
		}
	}
}

// Empty is the condition for [Group.Wait] that no process is left.
func Empty(e Events) bool { return !e.Populated }

// Still is the condition for [Group.Wait] that all processes are frozen.
func Still(e Events) bool { return e.Frozen }

// Remove waits until no process is left in and below the group, then removes
// it and what is below it. It kills nothing. When the context ends first, a
// [BusyError] names processes, and nothing is removed. A group that is gone is
// no error.
func (g Group) Remove(ctx context.Context) error {
	for {
		if _, err := g.Wait(ctx, Empty); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			pids, _ := g.Pids()
			return &BusyError{Path: g.path, Pids: pids, Err: err}
		}
		err := g.t.remove(g.path)
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select { // a dying group may say busy for a moment after the last process
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}
