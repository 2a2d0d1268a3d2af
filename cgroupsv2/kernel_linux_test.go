package cgroupsv2

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// The test binary is also the process that is fenced: its first argument
// after "inside" says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "inside" {
		os.Exit(inside(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func inside(args []string) int {
	switch args[0] {
	case "open": // path, flags: prints the error's name or ok
		flags, _ := strconv.Atoi(args[2])
		fd, err := syscall.Open(args[1], flags, 0)
		fmt.Print(name(err))
		if err == nil {
			syscall.Close(fd)
		}
	case "mknod": // path, major, minor
		major, _ := strconv.Atoi(args[2])
		minor, _ := strconv.Atoi(args[3])
		fmt.Print(name(syscall.Mknod(args[1], syscall.S_IFCHR|0o600, major<<8|minor)))
		os.Remove(args[1])
	case "cpus": // list: asks for it, prints the answer and what it may use
		var set [128]uint64
		words, _ := ParseList(args[1])
		copy(set[:], words)
		runtime.LockOSThread()
		_, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, 1024, uintptr(unsafe.Pointer(&set)))
		var got [128]uint64
		syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, 1024, uintptr(unsafe.Pointer(&got)))
		var err error
		if e != 0 {
			err = e
		}
		fmt.Printf("%s %s", name(err), AppendList(nil, got[:]))
	case "eat": // MiB: touches as much, says so, waits for its input's end
		mib, _ := strconv.Atoi(args[1])
		var hold [][]byte
		for range mib {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = byte(i >> 12)
			}
			hold = append(hold, b)
		}
		fmt.Println("full")
		io.Copy(io.Discard, os.Stdin)
		runtime.KeepAlive(hold)
	case "wait":
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	case "spin": // prints a number again and again
		for i := 0; ; i++ {
			fmt.Println(i)
			time.Sleep(time.Millisecond)
		}
	}
	return 0
}

func name(err error) string {
	if err == nil {
		return "ok"
	}
	for n, e := range map[string]error{"EPERM": syscall.EPERM, "ENXIO": syscall.ENXIO, "EINVAL": syscall.EINVAL, "ENOENT": syscall.ENOENT} {
		if errors.Is(err, e) {
			return n
		}
	}
	return err.Error()
}

// missing skips; in the guest, where everything must be there, it fails.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("VMTEST") == "1" {
		t.Fatal("the guest lacks: " + why)
	}
	t.Skip(why)
}

// open opens a new directory of a cgroup2 mount, which is removed at the end,
// with whatever is inside.
func open(t *testing.T, controllers ...string) *Tree {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs root")
	}
	r, err := Detect(os.DirFS("/"))
	if err != nil {
		missing(t, err.Error())
	}
	if r.Mount == "" {
		missing(t, "no cgroup2 mount")
	}
	top, err := Open(r.Mount)
	if err != nil {
		missing(t, err.Error())
	}
	t.Cleanup(func() { top.Close() })
	for _, c := range controllers {
		have, err := top.words("cgroup.controllers")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(have, c) {
			missing(t, "controller "+c+" is not in the cgroup2 mount at "+r.Mount)
		}
	}
	dir := "berth-" + t.Name() + "-" + strconv.Itoa(os.Getpid())
	ops := []Op{{Kind: OpMkdir, Path: dir}}
	if len(controllers) > 0 {
		ops = slices.Insert(ops, 0, Op{Kind: OpEnable, Path: ".", Controllers: controllers})
	}
	if err := top.Apply(ops); err != nil {
		missing(t, err.Error())
	}
	t.Cleanup(func() {
		g := top.Group(dir)
		if _, err := g.Kill(); err != nil {
			t.Error(err)
		}
		if err := g.Remove(soon(t)); err != nil || g.Exists() {
			t.Errorf("left: %v", err)
		}
	})
	tree, err := Open(filepath.Join(r.Mount, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func soon(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(stop)
	return ctx
}

func command(args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", append([]string{"inside"}, args...)...)
	c.Env = []string{"GOMAXPROCS=1"}
	return c
}

// ask runs a command inside and returns what it printed.
func ask(t *testing.T, g Group, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	c := command(args...)
	c.Stdout, c.Stderr = &out, &complaint
	if err := g.Start(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %v %s", args, err, complaint.Bytes())
	}
	return out.String()
}

// A proc is a process inside that waits for the end of its input.
type proc struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func begin(t *testing.T, g Group, args ...string) *proc {
	t.Helper()
	p := &proc{Cmd: command(args...)}
	in, err := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	p.in, p.out = in, bufio.NewReader(out)
	if err := errors.Join(err, err2, g.Start(p.Cmd)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	return p
}

func (p *proc) line() string {
	s, _ := p.out.ReadString('\n')
	return strings.TrimSpace(s)
}

// killed says whether the process ended by SIGKILL.
func (p *proc) killed() bool {
	p.Wait()
	ws, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

const null, zero, full = "/dev/null", "/dev/zero", "/dev/full"

func apply(t *testing.T, tree *Tree, ops ...Op) {
	t.Helper()
	if err := tree.Apply(ops); err != nil {
		if errors.Is(err, ErrNoBPF) {
			missing(t, err.Error())
		}
		t.Fatal(err)
	}
}

func rw(minor uint32, allow bool) Rule {
	return Rule{Device: Device{CharDevice, 1, minor}, Allow: allow}
}

// A job with two devices and its tasks with one each, by the planner.
func TestDevicesOfJobStepAndTask(t *testing.T) {
	tree := open(t)
	c := DefaultConf()
	c.ConstrainDevices = true
	var n Node
	for _, path := range []string{null, zero, full} {
		d, err := Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n.Records = append(n.Records, []Device{d})
	}
	// The null device has to stay open for the programs: all hold it.
	j := Job{SLUID: 7, Held: []uint64{7}}
	s := Step{Held: []uint64{7}, Tasks: []Task{{Rank: 0, Bound: true, Held: []uint64{3}}, {Rank: 1, Bound: true, Held: []uint64{5}}, {Rank: 2}}}
	apply(t, tree, c.AppendStart(nil, &n, &j, &s)...)
	rdwr := strconv.Itoa(os.O_RDWR)
	for rank, want := range []map[string]string{
		{null: "ok", zero: "ok", full: "EPERM"}, {null: "ok", zero: "EPERM", full: "ok"}, {null: "ok", zero: "ok", full: "ok"},
	} {
		g := tree.Group(c.TaskPath(&j, 0, int32(rank)))
		for path, answer := range want {
			if got := ask(t, g, "open", path, rdwr); got != answer {
				t.Errorf("task %d opens %s: %s, want %s", rank, path, got, answer)
			}
		}
	}
	// A copy of the file under another name is the same device.
	copied := filepath.Join(t.TempDir(), "zero")
	if err := syscall.Mknod(copied, syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Fatal(err)
	}
	g := tree.Group(c.TaskPath(&j, 0, 1))
	if got := ask(t, g, "open", copied, "0"); got == "ok" {
		t.Error("a task opened a copy of a device that it does not have")
	}
	if got := ask(t, g, "mknod", copied+"2", "1", "5"); got != "EPERM" {
		t.Errorf("mknod: %s", got)
	}
}

func TestReadRuleDoesNotWrite(t *testing.T) {
	tree := open(t)
	apply(t, tree, Op{Kind: OpMkdir, Path: "r"}, Op{Kind: OpFilter, Path: "r", Filter: &Filter{Rules: []Rule{
		rw(3, true), {Device: Device{CharDevice, 1, 5}, Access: Read, Allow: true}, {Device: Device{CharDevice, 1, 7}, Access: Write}, rw(7, true),
	}}})
	for _, c := range []struct {
		path  string
		flags int
		want  string
	}{
		{zero, os.O_RDONLY, "ok"}, {zero, os.O_RDWR, "EPERM"}, {zero, os.O_WRONLY, "EPERM"},
		{full, os.O_RDONLY, "ok"}, {full, os.O_RDWR, "EPERM"}, {"/dev/urandom", os.O_RDONLY, "EPERM"},
	} {
		if got := ask(t, tree.Group("r"), "open", c.path, strconv.Itoa(c.flags)); got != c.want {
			t.Errorf("open %s with %d: %s, want %s", c.path, c.flags, got, c.want)
		}
	}
}

// A child cannot widen; a replacement can, in one step; another manager's
// program is left alone; a failed list puts the old program back.
func TestFiltersNarrowReplaceAndComeBack(t *testing.T) {
	tree := open(t)
	deny := &Filter{Rules: []Rule{rw(5, false)}, Allow: true}
	wide := &Filter{Allow: true}
	apply(t, tree, Op{Kind: OpMkdir, Path: "a"}, Op{Kind: OpFilter, Path: "a", Filter: deny}, Op{Kind: OpMkdir, Path: "a/b"}, Op{Kind: OpFilter, Path: "a/b", Filter: wide})
	b := tree.Group("a/b")
	look := func(want string) {
		t.Helper()
		if got := ask(t, b, "open", zero, "0"); got != want {
			t.Fatalf("open: %s, want %s", got, want)
		}
	}
	look("EPERM")
	for range 70 { // more than the kernel takes side by side
		apply(t, tree, Op{Kind: OpFilter, Path: "a", Filter: wide})
	}
	look("ok")
	// Another handle on the tree, as after a restart of its owner.
	again, err := Open(tree.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	err = again.Apply([]Op{{Kind: OpFilter, Path: "a", Filter: deny}, {Kind: OpMkdir, Path: "a/x"}, {Kind: OpWrite, Path: "a", File: "cgroup.nothing", Value: "1"}})
	if err == nil || errors.Is(err, ErrNoBPF) {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*UndoError](err); ok || again.Group("a/x").Exists() {
		t.Fatal(err)
	}
	look("ok")
	if err := again.Apply([]Op{{Kind: OpFilter, Path: "a", Filter: deny}}); err != nil {
		t.Fatal(err)
	}
	look("EPERM")
	if all, ours, err := again.Group("a").Filters(); all != 1 || ours != 1 || err != nil {
		t.Fatal(all, ours, err)
	}
}

func TestForeignFilterIsLeftAlone(t *testing.T) {
	tree := open(t)
	apply(t, tree, Op{Kind: OpMkdir, Path: "a"}, Op{Kind: OpMkdir, Path: "a/b"})
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "somebody", Type: ebpf.CGroupDevice, License: "GPL", Instructions: (&Filter{Allow: true}).Compile()})
	if err != nil {
		missing(t, err.Error())
	}
	defer prog.Close()
	dir, err := os.Open(filepath.Join(tree.Dir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, flags := range []uint32{allowMulti, 0} { // beside it, and forbidding all below
		raw := link.RawAttachProgramOptions{Target: int(dir.Fd()), Program: prog, Attach: ebpf.AttachCGroupDevice, Flags: flags}
		if err := link.RawAttachProgram(raw); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"a", "a/b"} {
			if flags == allowMulti && path == "a/b" {
				continue // a foreign program above ours is fine
			}
			err := tree.Apply([]Op{{Kind: OpFilter, Path: path, Filter: &Filter{Allow: true}}})
			if !errors.Is(err, ErrForeignManager) {
				t.Errorf("flags %d, filter on %s: %v", flags, path, err)
			}
		}
		if err := link.RawDetachProgram(link.RawDetachProgramOptions{Target: int(dir.Fd()), Program: prog, Attach: ebpf.AttachCGroupDevice}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFreezeKillAdoptRemove(t *testing.T) {
	tree := open(t)
	apply(t, tree, Op{Kind: OpMkdir, Path: "g"}, Op{Kind: OpMkdir, Path: "g/one"}, Op{Kind: OpMkdir, Path: "g/two"}, Op{Kind: OpMkdir, Path: "h"})
	g := tree.Group("g")
	spin := begin(t, tree.Group("g/one"), "spin")
	wait := begin(t, tree.Group("h"), "wait")
	wait.line()
	if err := tree.Group("g/two").Adopt(wait.Process.Pid); err != nil {
		t.Fatal(err)
	}
	pids, err := g.Pids()
	if slices.Sort(pids); err != nil || len(pids) != 2 {
		t.Fatal(pids, err)
	}
	if e, err := tree.Group("h").Events(); err != nil || e.Populated {
		t.Fatal(e, err)
	}
	spin.line()
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Wait(soon(t), Still); err != nil {
		t.Fatal(err)
	}
	// Removing what has processes waits, then says which.
	short, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	err = g.Remove(short)
	if e, ok := errors.AsType[*BusyError](err); !ok || len(e.Pids) != 2 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := g.Thaw(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Wait(soon(t), func(e Events) bool { return !e.Frozen }); err != nil {
		t.Fatal(err)
	}
	for range 100 { // more than what the pipe may have held
		spin.line()
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if how, err := g.Kill(); err != nil || how != KilledByKernel {
		t.Fatal(how, err)
	}
	if _, err := g.Wait(soon(t), Empty); err != nil {
		t.Fatal(err)
	}
	if !spin.killed() || !wait.killed() {
		t.Error("not killed")
	}
	if err := errors.Join(g.Remove(soon(t)), g.Remove(soon(t))); err != nil || g.Exists() {
		t.Fatal(err)
	}
	if err := tree.Group("h").Adopt(pids[0]); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("adopt a dead process: %v", err)
	}
	if err := tree.Apply([]Op{{Kind: OpMove, Path: "h", PID: pids[0]}}); err != nil {
		t.Errorf("move a dead process: %v", err)
	}
}

func TestOpenTellsWhy(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotUnified) {
		t.Error(err)
	}
	if _, err := Open("/nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	tree := open(t)
	if err := tree.Group("../..").Adopt(1); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("a path that leads out: %v", err)
	}
}
