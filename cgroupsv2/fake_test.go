package cgroupsv2

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
)

// fake is a table that behaves as the kernel's tree does where the executor
// can notice. It fails at the operation number fail (from 1), if that is set.
type fake struct {
	dirs  map[string]*fakeDir
	calls int
	fail  int
}

type fakeDir struct {
	files  map[string]string
	filter *Filter
}

var fakeFiles = map[string][]string{
	"cgroup": {"cgroup.procs", "cgroup.type", "cgroup.freeze", "cgroup.kill", "cgroup.events"},
	"cpuset": {"cpuset.cpus", "cpuset.mems"},
	"memory": {"memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "memory.current", "memory.swap.current"},
	"pids":   {"pids.max"},
}

func newFake(controllers ...string) *fake {
	k := &fake{dirs: map[string]*fakeDir{".": {files: map[string]string{
		"cgroup.controllers": strings.Join(controllers, " "), "cgroup.subtree_control": "", "cgroup.procs": "", "cgroup.events": "populated 0\n",
		"cpuset.cpus": "", "cpuset.cpus.effective": "0-7", "cpuset.mems": "", "cpuset.mems.effective": "0-1",
	}}}}
	return k
}

func (k *fake) tree() *Tree { return &Tree{k: k, dir: "/fake", close: func() error { return nil }} }

// trip counts a change and fails the one that was asked for.
func (k *fake) trip() error {
	if k.calls++; k.calls == k.fail {
		return syscall.EIO
	}
	return nil
}

func (k *fake) dir(name string) (*fakeDir, error) {
	if d := k.dirs[path.Clean(name)]; d != nil {
		return d, nil
	}
	return nil, fs.ErrNotExist
}

func (k *fake) read(name string) (string, error) {
	d, err := k.dir(path.Dir(name))
	if err != nil {
		return "", err
	}
	v, ok := d.files[path.Base(name)]
	if !ok {
		return "", fs.ErrNotExist
	}
	return v + "\n", nil
}

func (k *fake) write(name, value string) error {
	d, err := k.dir(path.Dir(name))
	if err != nil {
		return err
	}
	file := path.Base(name)
	if _, ok := d.files[file]; !ok {
		return fs.ErrNotExist
	}
	if err := k.trip(); err != nil {
		return err
	}
	switch {
	case file == "cgroup.subtree_control":
		k.control(path.Dir(name), d, value)
		return nil
	case strings.HasPrefix(file, "cpuset.") && !strings.HasSuffix(file, ".effective"):
		set, err := ParseList(value)
		if err != nil {
			return syscall.EINVAL
		}
		up, err := ParseList(k.dirs[path.Dir(path.Dir(name))].files[file+".effective"])
		if err != nil {
			return err
		}
		both := make([]uint64, min(len(set), len(up)))
		for i := range both {
			both[i] = set[i] & up[i]
		}
		if equalSets(both, nil) {
			both = up
		}
		d.files[file+".effective"] = string(AppendList(nil, both))
	}
	d.files[file] = value
	return nil
}

// control adds or removes a controller's files in the children.
func (k *fake) control(name string, d *fakeDir, value string) {
	on := strings.Fields(d.files["cgroup.subtree_control"])
	if value[0] == '+' {
		on = append(on, value[1:])
	} else {
		on = slices.DeleteFunc(on, func(s string) bool { return s == value[1:] })
	}
	slices.Sort(on)
	d.files["cgroup.subtree_control"] = strings.Join(on, " ")
	for at, c := range k.dirs {
		if at != "." && path.Dir(at) == path.Clean(name) {
			k.fill(at, c, on)
		}
	}
}

func (k *fake) fill(at string, d *fakeDir, controllers []string) {
	old := d.files
	d.files = map[string]string{"cgroup.controllers": strings.Join(controllers, " "), "cgroup.subtree_control": old["cgroup.subtree_control"]}
	for _, c := range append([]string{"cgroup"}, controllers...) {
		for _, f := range fakeFiles[c] {
			d.files[f] = old[f]
			if strings.HasPrefix(f, "cpuset.") {
				d.files[f+".effective"] = k.dirs[path.Dir(at)].files[f+".effective"]
			}
		}
	}
	if d.files["cgroup.events"] == "" {
		d.files["cgroup.events"] = "populated 0"
	}
}

func (k *fake) mkdir(name string) error {
	name = path.Clean(name)
	up, err := k.dir(path.Dir(name))
	if err != nil {
		return err
	}
	if k.dirs[name] != nil {
		return fs.ErrExist
	}
	if err := k.trip(); err != nil {
		return err
	}
	d := &fakeDir{}
	k.fill(name, d, strings.Fields(up.files["cgroup.subtree_control"]))
	k.dirs[name] = d
	return nil
}

func (k *fake) rmdir(name string) error {
	d, err := k.dir(name)
	if err != nil {
		return err
	}
	below, _ := k.list(name)
	if len(below) > 0 || strings.TrimSpace(d.files["cgroup.procs"]) != "" {
		return syscall.EBUSY
	}
	if err := k.trip(); err != nil {
		return err
	}
	delete(k.dirs, path.Clean(name))
	return nil
}

func (k *fake) list(name string) ([]string, error) {
	if _, err := k.dir(name); err != nil {
		return nil, err
	}
	var names []string
	for at := range k.dirs {
		if at != "." && path.Dir(at) == path.Clean(name) {
			names = append(names, path.Base(at))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (k *fake) setFilter(name string, f *Filter) (func() error, error) {
	d, err := k.dir(name)
	if err != nil {
		return nil, err
	}
	if err := k.trip(); err != nil {
		return nil, &FilterError{Path: name, Verb: "load", Err: err}
	}
	old := d.filter
	d.filter = f
	return func() error { d.filter = old; return nil }, nil
}

// dump is the whole state as text.
func (k *fake) dump() string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(k.dirs)) {
		d := k.dirs[at]
		for _, f := range slices.Sorted(maps.Keys(d.files)) {
			fmt.Fprintf(&b, "%s/%s %s\n", at, f, d.files[f])
		}
		if d.filter != nil {
			fmt.Fprintf(&b, "%s filter\n%s", at, d.filter.Append(nil))
		}
	}
	return b.String()
}
