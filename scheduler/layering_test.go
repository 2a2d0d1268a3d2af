package scheduler_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/berth-sched/berth"

// The house: what each package may import of ours, and of others beside the
// standard library. Test files are free to use more.
var rows = map[string]struct {
	ours, others []string
	pure         bool
}{
	".":                   {},
	"gres":                {pure: true, others: []string{"github.com/bits-and-blooms/bitset", "golang.org/x/exp/constraints"}},
	"topology":            {pure: true, others: []string{"github.com/bits-and-blooms/bitset"}},
	"priority":            {pure: true, ours: []string{"gres"}},
	"qos":                 {pure: true, ours: []string{"gres"}},
	"qos/cohort":          {pure: true, ours: []string{"gres", "qos"}},
	"preempt":             {pure: true, ours: []string{"gres", "topology"}, others: []string{"github.com/bits-and-blooms/bitset"}},
	"bind":                {pure: true, ours: []string{"gres", "topology"}},
	"bind/wiring":         {ours: []string{"gres", "topology"}},
	"scheduler":           {pure: true, ours: []string{"gres", "topology", "priority", "qos", "qos/cohort", "preempt", "bind"}, others: []string{"github.com/google/btree", "github.com/bits-and-blooms/bitset"}},
	"scheduler/slurmconf": {ours: []string{"gres", "topology", "priority", "qos", "qos/cohort", "scheduler", "scheduler/sbatch", "scheduler/internal/schedwords"}, others: []string{"go.yaml.in/yaml/v3"}},
	"scheduler/sbatch":    {ours: []string{"gres", "topology", "qos", "scheduler"}},
	// The program of TestRecorded.
	"scheduler/internal/recorded":   {ours: []string{"gres", "topology", "qos", "bind", "scheduler", "scheduler/sbatch", "scheduler/slurmconf"}},
	"scheduler/internal/schedwords": {ours: []string{"scheduler"}},
	"scheduler/journal":             {ours: []string{"scheduler"}},
	"scheduler/locked":              {ours: []string{"scheduler"}},
	"scheduler/schedtest":           {ours: []string{"gres", "topology", "priority", "qos", "qos/cohort", "preempt", "bind", "scheduler", "scheduler/internal/schedwords"}, others: []string{"pgregory.net/rapid", "github.com/google/go-cmp/cmp", "github.com/cockroachdb/datadriven"}},
	"cgroupsv2":                     {ours: []string{"bind", "gres"}, others: []string{"github.com/cilium/ebpf", "golang.org/x/sys"}},
	"nvml":                          {ours: []string{"gres", "topology"}},
	"nvml/nvmltest":                 {ours: []string{"nvml"}},
}

// What pure packages may not import, and which selectors they may not use.
var impure = []string{"os", "io/fs", "net", "log", "log/slog", "context", "sync", "sync/atomic", "unsafe", "reflect", "encoding/json", "syscall", "runtime"}

var forbiddenSelectors = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep", "Local", "LoadLocation"},
	"rand": {"Int", "IntN", "Int64", "Int64N", "Uint64", "Float64", "Perm", "Shuffle", "N"},
	"math": {"Exp", "Exp2", "Log", "Log2", "Log10", "Log1p", "Expm1", "Sin", "Cos"},
}

// sources yields the Go files that ship, by package directory.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "examples" || strings.HasPrefix(name, ".") && name != "..") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			dir, _ := filepath.Rel("..", filepath.Dir(path))
			out[filepath.ToSlash(dir)] = append(out[filepath.ToSlash(dir)], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportsGoDownward(t *testing.T) {
	for dir, files := range sources(t) {
		row, ok := rows[dir]
		if !ok {
			t.Errorf("package %s has no row in the table of the house", dir)
			continue
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if why := refuse(path, row.ours, row.others, row.pure); why != "" {
					t.Errorf("%s imports %s: %s; its row allows of ours %v, of others %v", file, path, why, row.ours, row.others)
				}
			}
		}
	}
}

func refuse(path string, ours, others []string, pure bool) string {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		if !slices.Contains(ours, own) {
			return "not below it"
		}
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		for _, o := range others {
			if path == o || strings.HasPrefix(path, o+"/") {
				return ""
			}
		}
		return "not among its requirements"
	}
	if pure && (slices.Contains(impure, path) || strings.HasPrefix(path, "net/")) {
		return "not pure"
	}
	return ""
}

func TestPurePackagesReadNoClockAndStartNothing(t *testing.T) {
	for dir, files := range sources(t) {
		if !rows[dir].pure {
			continue
		}
		for _, file := range files {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a goroutine", set.Position(n.Pos()))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && slices.Contains(forbiddenSelectors[x.Name], n.Sel.Name) {
						t.Errorf("%s: %s.%s", set.Position(n.Pos()), x.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// TestFilesAreShort keeps files below 500 lines of code and the house free of
// rooms without a subject.
func TestFilesAreShort(t *testing.T) {
	for dir, files := range sources(t) {
		switch base := filepath.Base(dir); base {
		case "util", "utils", "common", "helper", "helpers", "base", "types", "misc":
			t.Errorf("package %s is named for nothing", dir)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code := 0
			for line := range strings.Lines(string(b)) {
				if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "//") {
					code++
				}
			}
			if code > 500 {
				t.Errorf("%s has %d lines of code, 500 is the most", file, code)
			}
		}
	}
}
