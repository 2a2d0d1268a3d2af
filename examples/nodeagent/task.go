package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// A taskSpec is what a task's process does before it becomes the program. It
// runs inside the fence and as the user, so that files are opened with the
// user's rights and affinity is cut to the fence.
type taskSpec struct {
	Argv, Env             []string
	Dir                   string
	Stdin, Stdout, Stderr string
	CPUs                  []uint64 // the kernel's numbers, nil for all
}

// taskMain becomes the program: it reads its specification from file 3. Like a
// shell it ends with 127 if there is no such program and 126 if it cannot be
// run; 125 says that a file or directory could not be had.
func taskMain() int {
	runtime.LockOSThread() // what is set for this thread is the program's
	in := os.NewFile(3, "specification")
	var s taskSpec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return refuse(125, err)
	}
	in.Close()
	if s.Dir != "" {
		if err := os.Chdir(s.Dir); err != nil {
			return refuse(125, err)
		}
	}
	if err := s.files(); err != nil {
		return refuse(125, err)
	}
	if s.CPUs != nil {
		var set [1024]uint64
		n := copy(set[:], s.CPUs)
		if _, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, uintptr(n*8), uintptr(unsafe.Pointer(&set))); e != 0 {
			return refuse(125, fmt.Errorf("set affinity: %w", e))
		}
	}
	env := append(s.Env, "SLURM_TASK_PID="+strconv.Itoa(os.Getpid()))
	path, err := find(s.Argv[0], env)
	if err != nil {
		return refuse(127, err)
	}
	return refuse(126, &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, s.Argv, env)})
}

func refuse(code int, err error) int {
	fmt.Fprintln(os.Stderr, "nodeagent:", err)
	return code
}

// files puts the three streams in their places. Errors go where output goes if
// no other place is named.
func (s *taskSpec) files() error {
	put := func(path string, flags, at int) error {
		if path == "" {
			path = os.DevNull
		}
		f, err := os.OpenFile(path, flags, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		return syscall.Dup3(int(f.Fd()), at, 0)
	}
	const out = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if err := put(s.Stdin, os.O_RDONLY, 0); err != nil {
		return err
	}
	if err := put(s.Stdout, out, 1); err != nil {
		return err
	}
	if s.Stderr == "" || s.Stderr == s.Stdout {
		return syscall.Dup3(1, 2, 0)
	}
	return put(s.Stderr, out, 2)
}

// find looks a program up in the PATH of its own environment.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	dirs := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs = p
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
