package cgroupsv2

import (
	"io/fs"
	"path"
	"strings"
)

// A Mode says how control groups are mounted.
type Mode uint8

// The modes.
const (
	ModeNone    Mode = iota // nothing is mounted
	ModeLegacy              // version 1 alone
	ModeHybrid              // both
	ModeUnified             // version 2 alone
)

// A Report is what [Detect] saw.
type Report struct {
	Mode        Mode
	Mount       string   // of version 2; empty without
	Own         string   // this process's cgroup, from the mount's root on; / is the root
	Dir         string   // Mount and Own joined, where that is possible
	Controllers []string // what Own may give to its children, as the kernel lists them
	Legacy      []string // controllers of version 1 mounts, in the order of the mounts
	// Foreign says that Own lies outside of what the mount shows.
	Foreign bool
}

// Detect reads how control groups are mounted from the file system root fsys
// (os.DirFS("/"), or a copy for a test). It reads proc/self/mountinfo,
// proc/self/cgroup and cgroup.controllers; only the first two must be there.
//
// Source: specification cgroupsv2.md 1.
func Detect(fsys fs.FS) (Report, error) {
	var r Report
	mounts, err := fs.ReadFile(fsys, "proc/self/mountinfo")
	if err != nil {
		return r, err
	}
	own, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return r, err
	}
	root := r.mounts(string(mounts))
	for line := range strings.Lines(string(own)) {
		if at, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); ok {
			r.Own = at
		}
	}
	switch {
	case r.Mount != "" && len(r.Legacy) > 0:
		r.Mode = ModeHybrid
	case r.Mount != "":
		r.Mode = ModeUnified
	case len(r.Legacy) > 0:
		r.Mode = ModeLegacy
	}
	if r.Mount == "" || r.Own == "" {
		return r, nil
	}
	below, ok := strings.CutPrefix(r.Own, strings.TrimSuffix(root, "/"))
	if !ok || below != "" && below[0] != '/' || strings.HasPrefix(r.Own, "/..") {
		r.Foreign = true
		return r, nil
	}
	r.Dir = path.Join(r.Mount, below)
	if text, err := fs.ReadFile(fsys, strings.TrimPrefix(r.Dir, "/")+"/cgroup.controllers"); err == nil {
		r.Controllers = strings.Fields(string(text))
	}
	return r, nil
}

// mounts takes the lines of mountinfo and returns what the version 2 mount
// shows of its hierarchy.
func (r *Report) mounts(text string) (root string) {
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		at, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(at) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			if r.Mount == "" {
				root, r.Mount = unescape(at[3]), unescape(at[4])
			}
		case "cgroup":
			for option := range strings.SplitSeq(kind[2], ",") {
				switch option {
				case "cpuset", "cpu", "cpuacct", "memory", "devices", "freezer", "blkio", "pids", "hugetlb", "rdma", "misc", "net_cls", "net_prio", "perf_event":
					r.Legacy = append(r.Legacy, option)
				}
			}
		}
	}
	return root
}

// unescape undoes mountinfo's \040 and its kin.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Check says whether limits can work here: [ErrNotUnified], [ErrHybrid] or
// [ErrNamespace], else nil. Device filters and freezing work on a hybrid
// host's version 2 mount too, CPU and memory limits do not.
func (r *Report) Check() error {
	switch {
	case r.Mount == "":
		return ErrNotUnified
	case r.Mode == ModeHybrid:
		return ErrHybrid
	case r.Foreign:
		return ErrNamespace
	}
	return nil
}
