package cgroupsv2

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cilium/ebpf"
)

const cgroup2Magic = 0x63677270

// Open opens a directory that was delegated to the caller: the scope or
// service that systemd made with Delegate=yes, or any directory of a cgroup2
// mount that the caller may write. It changes nothing. Errors are those of the
// system, [ErrNotUnified], or a [DelegationError].
func Open(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		root.Close()
		return nil, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if int64(st.Type) != cgroup2Magic {
		root.Close()
		return nil, &DelegationError{Path: dir, Err: ErrNotUnified}
	}
	f, err := root.OpenFile("cgroup.subtree_control", os.O_WRONLY, 0)
	if err != nil {
		root.Close()
		return nil, &DelegationError{Path: dir, Err: errors.Unwrap(err)}
	}
	f.Close()
	k := &files{root: root, dir: dir, ours: map[string]*ebpf.Program{}}
	return &Tree{k: k, dir: dir, close: k.close}, nil
}

// files is the kernel behind a Tree. os.Root refuses every name that leads out.
type files struct {
	root *os.Root
	dir  string

	mu   sync.Mutex
	ours map[string]*ebpf.Program // programs that this process put on groups
}

func (k *files) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.ours {
		p.Close()
	}
	clear(k.ours)
	return k.root.Close()
}

func (k *files) read(name string) (string, error) {
	b, err := k.root.ReadFile(name)
	return string(b), err
}

// write opens without creating: a missing control file is then ENOENT, not
// EACCES.
func (k *files) write(name, value string) error {
	f, err := k.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if value == "" { // the kernel would not notice a write of nothing
		value = "\n"
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func (k *files) mkdir(name string) error { return k.root.Mkdir(name, 0o755) }

func (k *files) rmdir(name string) error {
	err := k.root.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		k.mu.Lock()
		if p := k.ours[name]; p != nil {
			p.Close()
			delete(k.ours, name)
		}
		k.mu.Unlock()
	}
	return err
}

func (k *files) list(name string) ([]string, error) {
	d, err := k.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if errors.Is(err, syscall.ENODEV) { // removed while it was open
		err = fs.ErrNotExist
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// Stat returns the device that a file in the file system is.
func Stat(path string) (Device, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return Device{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	d := Device{Major: major(uint64(st.Rdev)), Minor: minor(uint64(st.Rdev))}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFCHR:
		d.Type = CharDevice
	case syscall.S_IFBLK:
		d.Type = BlockDevice
	default:
		return Device{}, &fs.PathError{Op: "stat", Path: path, Err: syscall.ENODEV}
	}
	return d, nil
}

func major(dev uint64) uint32 { return uint32(dev>>8&0xfff | dev>>32&^0xfff) }
func minor(dev uint64) uint32 { return uint32(dev&0xff | dev>>12&^0xff) }

// below joins the path of a group with the tree's directory.
func (t *Tree) below(path string) string {
	return strings.TrimSuffix(t.dir, "/") + "/" + path
}
