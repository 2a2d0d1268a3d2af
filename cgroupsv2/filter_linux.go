package cgroupsv2

import (
	"errors"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// programName is how we know our programs again; the kernel keeps 15 bytes.
const programName = "berth_devices"

// allowMulti makes every program on a process's path speak: a step can only
// narrow its job, and what systemd put on the unit keeps holding.
const allowMulti = 2

// setFilter puts a program on a group in one step, in the place of the one
// before. It is attached, not linked: it stays when this process ends, until
// the group is removed.
func (k *files) setFilter(name string, f *Filter) (func() error, error) {
	fail := func(verb string, err error) (func() error, error) {
		return nil, &FilterError{Path: name, Verb: verb, Err: explain(err)}
	}
	dir, err := k.root.Open(name)
	if err != nil {
		return fail("open", err)
	}
	defer dir.Close()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: programName, Type: ebpf.CGroupDevice, AttachType: ebpf.AttachCGroupDevice, License: "Apache-2.0", Instructions: f.Compile(),
	})
	if err != nil {
		return fail("load", err)
	}
	old, err := k.present(dir, name)
	if err != nil {
		prog.Close()
		return fail("query", err)
	}
	if err := swap(dir, prog, old); err != nil {
		prog.Close()
		if old != nil {
			old.Close()
		}
		if old == nil && errors.Is(err, syscall.EPERM) && k.rights() { // we may attach, so a mode forbids it
			err = errors.Join(ErrForeignManager, err)
		}
		return fail("attach", err)
	}
	k.keep(name, prog)
	return func() error { return k.restore(name, prog, old) }, nil
}

// present returns a handle of our program on a group, nil if there is none.
func (k *files) present(dir *os.File, name string) (*ebpf.Program, error) {
	r, err := link.QueryPrograms(link.QueryOptions{Target: int(dir.Fd()), Attach: ebpf.AttachCGroupDevice})
	if err != nil || len(r.Programs) == 0 {
		return nil, err
	}
	if len(r.Programs) > 1 {
		return nil, ErrForeignManager
	}
	k.mu.Lock()
	own := k.ours[name]
	k.mu.Unlock()
	if own != nil { // replacing it then needs no lookup, which only CAP_SYS_ADMIN may do
		if info, err := own.Info(); err == nil {
			if id, ok := info.ID(); ok && id == r.Programs[0].ID {
				return own.Clone()
			}
		}
	}
	p, err := ebpf.NewProgramFromID(r.Programs[0].ID)
	if err != nil {
		return nil, err
	}
	info, err := p.Info()
	if err == nil && info.Name != programName {
		err = ErrForeignManager
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// swap attaches prog, in the place of old if there is one.
func swap(dir *os.File, prog, old *ebpf.Program) error {
	opt := link.RawAttachProgramOptions{Target: int(dir.Fd()), Program: prog, Attach: ebpf.AttachCGroupDevice, Flags: allowMulti}
	if old != nil {
		opt.Anchor = link.ReplaceProgram(old)
	}
	return link.RawAttachProgram(opt)
}

// restore puts old in the place of prog, or takes prog off.
func (k *files) restore(name string, prog, old *ebpf.Program) error {
	dir, err := k.root.Open(name)
	if err != nil {
		return &FilterError{Path: name, Verb: "open", Err: err}
	}
	defer dir.Close()
	if old == nil {
		err = link.RawDetachProgram(link.RawDetachProgramOptions{Target: int(dir.Fd()), Program: prog, Attach: ebpf.AttachCGroupDevice})
	} else {
		err = swap(dir, old, prog)
	}
	if err != nil {
		return &FilterError{Path: name, Verb: "restore", Err: err}
	}
	k.keep(name, old)
	return nil
}

// keep remembers the program of a group, nil for none, and lets go of the one
// before.
func (k *files) keep(name string, prog *ebpf.Program) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last := k.ours[name]; last != nil {
		last.Close()
	}
	if prog == nil {
		delete(k.ours, name)
		return
	}
	k.ours[name] = prog
}

// rights says whether this process could attach to a directory that nobody
// forbids: EPERM then has another cause.
func (k *files) rights() bool { return os.Geteuid() == 0 }

// explain joins our own condition to the library's error, whose texts speak of
// memory locks where rights are meant.
func explain(err error) error {
	switch {
	case errors.Is(err, ErrForeignManager):
		return err
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSYS):
		return errors.Join(ErrNoBPF, err)
	}
	return err
}

// Filters returns how many device programs are on the group itself, and how
// many of them are ours.
func (g Group) Filters() (all, ours int, err error) {
	k, ok := g.t.k.(*files)
	if !ok {
		return 0, 0, nil
	}
	dir, err := k.root.Open(g.path)
	if err != nil {
		return 0, 0, err
	}
	defer dir.Close()
	r, err := link.QueryPrograms(link.QueryOptions{Target: int(dir.Fd()), Attach: ebpf.AttachCGroupDevice})
	if err != nil {
		return 0, 0, &FilterError{Path: g.path, Verb: "query", Err: explain(err)}
	}
	for _, p := range r.Programs {
		prog, err := ebpf.NewProgramFromID(p.ID)
		if err != nil {
			return 0, 0, &FilterError{Path: g.path, Verb: "query", Err: explain(err)}
		}
		if info, err := prog.Info(); err == nil && info.Name == programName {
			ours++
		}
		prog.Close()
	}
	return len(r.Programs), ours, nil
}
