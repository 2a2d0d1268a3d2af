package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// A store is the agent's memory: a directory for each step, whose files are
// complete or absent. Writers: the agent writes order.json before anything
// else happens and removes the directory last; the step's supervisor writes
// started before it starts anything, and status.json.
type store struct{ dir string }

// The files of a step.
const (
	orderFile   = "order.json"  // the Launch and the machine, as the supervisor needs them
	startedFile = "started"     // made once: from here on the step must not be started again
	lockFile    = "lock"        // held by the supervisor as long as it lives
	statusFile  = "status.json" // the step's Status
	killFile    = "kill"        // a Kill was ordered
	signalFile  = "signal"      // Seq of the last signal that was given
	scriptFile  = "script"      // a batch script's text
)

// agentLock is held by the agent as long as it lives; it is beside the steps.
const agentLock = "agent.lock"

// An order is what the supervisor of a step works from.
type order struct {
	Launch  protocol.Launch
	Node    string
	Tree    string // directory of the delegated cgroup
	Conf    cgroupsv2.Conf
	Machine machine
	Memory  int64 // configured memory in MiB
	Tracks  bool
	Hook    []string
}

func (s store) path(k protocol.Key, file string) string {
	return filepath.Join(s.dir, k.String(), file)
}

// keys lists the steps in order. A directory without an order was never
// accepted: the agent died while it wrote.
func (s store) keys() ([]protocol.Key, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var keys []protocol.Key
	for _, e := range entries {
		id, step, ok := strings.Cut(e.Name(), ".")
		n, err := strconv.ParseInt(step, 10, 32)
		if !ok || err != nil || !e.IsDir() {
			continue
		}
		k := protocol.Key{SLUID: id, Step: int32(n)}
		if _, err := os.Stat(s.path(k, orderFile)); errors.Is(err, fs.ErrNotExist) {
			if err := os.RemoveAll(s.path(k, "")); err != nil {
				return nil, err
			}
			continue
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b protocol.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}

// accept writes an order down. It is there for good when accept returns.
func (s store) accept(o *order) error {
	dir := s.path(o.Launch.Key, "")
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return err
	}
	if o.Launch.Script != "" {
		path := filepath.Join(dir, scriptFile)
		if err := os.WriteFile(path, []byte(o.Launch.Script), 0o500); err != nil {
			return err
		}
		if err := os.Chown(path, int(o.Launch.UID), int(o.Launch.GID)); err != nil && os.Geteuid() == 0 {
			return err
		}
	}
	if err := save(filepath.Join(dir, orderFile), o); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// forget removes a step. The order goes first: what is left without one is
// removed at the next look.
func (s store) forget(k protocol.Key) error {
	if err := os.Remove(s.path(k, orderFile)); err != nil {
		return err
	}
	return os.RemoveAll(s.path(k, ""))
}

func (s store) order(k protocol.Key) (*order, error) {
	var o order
	return &o, load(s.path(k, orderFile), &o)
}

// status reads what the supervisor wrote; a step without is accepted.
func (s store) status(k protocol.Key) (protocol.Status, error) {
	st := protocol.Status{Key: k, State: protocol.Accepted}
	err := load(s.path(k, statusFile), &st)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return st, err
}

func (s store) has(k protocol.Key, file string) bool {
	_, err := os.Stat(s.path(k, file))
	return err == nil
}

// once makes a file; it says false if it was there.
func once(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
}

// save writes a file whole: another name first, then the right one.
func save(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

func load(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("nodeagent: read %q: %w", path, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lock takes a lock file without waiting; nil means that another has it. The
// kernel gives it back when its holder ends, however it ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, &os.PathError{Op: "flock", Path: path, Err: err}
	}
	return f, nil
}

// lockWithin takes a lock that somebody may hold for a moment: of a process
// that was killed in the middle of starting another, that one has the files
// until it is a program of its own.
func lockWithin(path string, patience time.Duration) (*os.File, error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if f, err := lock(path); f != nil || err != nil || time.Now().After(end) {
			return f, err
		}
	}
}
