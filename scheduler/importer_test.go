package scheduler_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhatAnImporterPays makes a module that imports scheduler alone. Its go.mod
// names the requirements of scheduler and of what stands below it, its go.sum
// beside them only what their tests use (go mod tidy keeps those sums too), and
// neither an adapter nor cgo is linked.
func TestWhatAnImporterPays(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	readSources(t, ".", "../go.mod", "../gres", "../topology", "../priority", "../qos", "../preempt", "../bind")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module tiny\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n",
		"main.go": `package main

import "` + module + `/scheduler"

func main() { _, _ = scheduler.New(scheduler.Config{}, nil) }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goCommand := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		// What the module needs is what this test was built from, so it is in
		// the module cache.
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	goCommand("mod", "tidy")

	linked := []string{module, "github.com/bits-and-blooms/bitset", "github.com/google/btree", "golang.org/x/exp"}
	tests := []string{"github.com/google/go-cmp", "pgregory.net/rapid", "github.com/cockroachdb/datadriven", "github.com/pmezard/go-difflib"}
	for required := range strings.Lines(goCommand("mod", "edit", "-json")) {
		if _, path, ok := strings.Cut(required, `"Path": "`); ok {
			path, _, _ = strings.Cut(path, `"`)
			if path != "tiny" && path != root && !slices.Contains(linked, path) {
				t.Errorf("go.mod names %s", path)
			}
		}
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		if path, _, _ := strings.Cut(line, " "); !slices.Contains(linked, path) && !slices.Contains(tests, path) {
			t.Errorf("go.sum names %s", path)
		}
	}
	for path := range strings.FieldsSeq(goCommand("list", "-deps", ".")) {
		first, _, _ := strings.Cut(path, "/")
		switch own, ours := strings.CutPrefix(path, module+"/"); {
		case path == "runtime/cgo" || path == "C":
			t.Errorf("%s is linked", path)
		case ours && !slices.Contains(rows["scheduler"].ours, own) && own != "scheduler":
			t.Errorf("%s is linked", path)
		case !ours && strings.Contains(first, ".") && !slices.ContainsFunc(linked, func(m string) bool { return strings.HasPrefix(path+"/", m+"/") }):
			t.Errorf("%s is linked", path)
		}
	}
	goCommand("build", "-o", os.DevNull, ".")
}
