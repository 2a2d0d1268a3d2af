package slurmconf

import (
	"fmt"
	"slices"
)

// envFlags are the flags that say which variables a device sets.
var envFlags = []string{"nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env", "opencl_env", "no_gpu_env"}

// checkGroup tests the records of gres.conf that hold for one node together.
//
// Source: spec/gres.md 3.
func (b *builder) checkGroup(lines []int) {
	first := map[string]*GresLine{}
	bare := map[string]Origin{}
	files := map[string]Origin{}
	env := map[string][]string{}
	for _, i := range lines {
		l := &b.f.Gres[i]
		name := l.Name.V
		hasFile := l.File.IsSet() || l.MultipleFiles.IsSet()
		if f, ok := first[name]; !ok {
			first[name] = l
		} else {
			if hasFile != (f.File.IsSet() || f.MultipleFiles.IsSet()) {
				b.rd.fail(l.At, name, refusedErr("with File here and without at %s, or the reverse", f.At))
			}
			if l.Type.IsSet() != f.Type.IsSet() {
				b.rd.fail(l.At, name, refusedErr("with Type here and without at %s, or the reverse", f.At))
			}
		}
		if !hasFile && !l.Type.IsSet() {
			if at, ok := bare[name]; ok {
				b.rd.fail(l.At, name, fmt.Errorf("%w: %w at %s, with neither File nor Type", ErrRefused, ErrDuplicate, at))
			}
			bare[name] = l.At
		}
		for _, file := range b.expandFiles(l.File) {
			key := name + " " + file
			if at, ok := files[key]; ok {
				b.rd.fail(l.At, file, refusedErr("the file belongs to the record at %s", at))
				break
			}
			files[key] = l.At
		}
		b.checkEnv(l, env)
	}
}

// checkEnv tests the flags that set variables; a line without any inherits
// those of the name's previous line.
func (b *builder) checkEnv(l *GresLine, env map[string][]string) {
	var set []string
	for _, f := range l.Flags.V {
		if slices.Contains(envFlags, f) {
			set = append(set, f)
		}
	}
	if len(set) == 0 {
		return
	}
	slices.Sort(set)
	if len(set) > 1 && slices.Contains(set, "no_gpu_env") {
		b.rd.fail(l.Flags.At, "no_gpu_env", refusedErr("it excludes the other env flags"))
	}
	if was, ok := env[l.Name.V]; ok && !slices.Equal(was, set) {
		b.rd.fail(l.Flags.At, l.Name.V, refusedErr("other env flags than on the name's line before"))
	}
	env[l.Name.V] = set
}
