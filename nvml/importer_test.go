package nvml_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImporterPaysNothing builds a module that imports the scheduler alone and
// looks at what it must carry: this module and what the core needs, nothing of
// the adapters, no cgo.
func TestImporterPaysNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module user\n\ngo 1.26.0\n\nrequire github.com/berth-sched/berth v0.0.0\n\nreplace github.com/berth-sched/berth => "+root+"\n")
	write("main.go", "package main\n\nimport _ \"github.com/berth-sched/berth/scheduler\"\n\nfunc main() {}\n")
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GONOSUMDB=*", "GONOSUMCHECK=1", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("mod", "tidy")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	allowed := []string{"github.com/berth-sched/berth", "github.com/bits-and-blooms/bitset", "github.com/google/btree", "golang.org/x/exp"}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) v`).FindAllStringSubmatch(read("go.mod"), -1) {
		if !slices.Contains(allowed, m[1]) {
			t.Errorf("go.mod of the importer names %s\n%s", m[1], read("go.mod"))
		}
	}
	// go mod tidy also writes checksums of what the tests of an imported package
	// use; those are not the adapters'.
	for _, word := range []string{"cilium/ebpf", "golang.org/x/sys"} {
		if strings.Contains(read("go.sum"), word) {
			t.Errorf("go.sum of the importer names %s\n%s", word, read("go.sum"))
		}
	}
	for dep := range strings.FieldsSeq(run("list", "-deps", ".")) {
		if dep == "runtime/cgo" || strings.HasPrefix(dep, "github.com/berth-sched/berth/nvml") || strings.HasPrefix(dep, "github.com/berth-sched/berth/cgroupsv2") ||
			strings.HasPrefix(dep, "github.com/cilium") || strings.HasPrefix(dep, "github.com/berth-sched/berth/bind/wiring") {
			t.Errorf("the importer depends on %s", dep)
		}
	}
}
