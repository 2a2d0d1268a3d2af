package scheduler_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// recordedAreas are the areas that the engine decides.
var recordedAreas = []string{"topology", "gres", "limits", "preempt", "backfill", "gpu-bind"}

// readCaseList reads a list of case ids, a line each with what follows after a
// blank; missing files are empty lists.
func readCaseList(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		id, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id != "" && !strings.HasPrefix(id, "#") {
			out[id] = why
		}
	}
	return out
}

// A recordedVerdict is a line of the program internal/recorded.
type recordedVerdict struct {
	Area, File, ID string
	Diff           string
	Suspect        bool
}

// TestRecorded runs every recorded case. Subtests are AREA/FILE/ID. A case that
// disagrees fails unless a list names it: todo/AREA.txt (work to come; it only
// shrinks) or exceptions.txt (a reviewed line with the paragraph of the
// specification that says not to copy it). BERTH_RECORDED=dir runs another
// directory of the same layout, without lists. BERTH_TODO=dir writes the todo
// lists as they should be: a case and the subject that it waits for, a line.
// BERTH_SHOW=1 with -v prints what disagrees in the cases of the todo lists.
//
// The cases run in a program of their own, internal/recorded, which says why.
func TestRecorded(t *testing.T) {
	dir, lists := "testdata/recorded", true
	if d := os.Getenv("BERTH_RECORDED"); d != "" {
		dir, lists = d, false
	}
	exceptions := map[string]string{}
	if lists {
		exceptions = readCaseList(t, "testdata/recorded/exceptions.txt")
	}
	verdicts := runRecorded(t, dir)
	for _, area := range recordedAreas {
		todo := map[string]string{}
		if lists {
			todo = readCaseList(t, filepath.Join("testdata/recorded/todo", area+".txt"))
		}
		checkArea(t, area, verdicts[area], todo, exceptions)
	}
}

// runRecorded builds the program with the tags and the race detector of this
// test, and runs it over all areas.
func runRecorded(t *testing.T, dir string) map[string][]recordedVerdict {
	t.Helper()
	readSources(t, "internal/recorded", "slurmconf", "sbatch", dir)
	program := filepath.Join(t.TempDir(), "recorded")
	args := []string{"build", "-o", program}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if (s.Key == "-tags" || s.Key == "-race") && s.Value != "" {
				args = append(args, s.Key+"="+s.Value)
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "./internal/recorded")...).CombinedOutput(); err != nil {
		t.Fatalf("go build ./internal/recorded: %v\n%s", err, out)
	}
	var complaints bytes.Buffer
	run := exec.CommandContext(t.Context(), program, append([]string{dir}, recordedAreas...)...)
	run.Stderr = &complaints
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	verdicts := map[string][]recordedVerdict{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var v recordedVerdict
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return verdicts
		} else if err != nil {
			t.Fatal(err)
		}
		verdicts[v.Area] = append(verdicts[v.Area], v)
	}
}

// readSources looks at every file of some directories. go test keeps a result
// until a file changes that the test itself looked at; what the program is
// built from and reads would be missed.
func readSources(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkArea(t *testing.T, area string, verdicts []recordedVerdict, todo, exceptions map[string]string) {
	t.Helper()
	var agree, excepted, suspect int
	var open []string
	for _, v := range verdicts {
		id := area + "/" + v.File + "/" + v.ID
		switch {
		case v.Diff == "":
			agree++
			if _, ok := todo[id]; ok {
				t.Errorf("%s agrees now: take it off the todo list", id)
			}
			if _, ok := exceptions[id]; ok {
				t.Errorf("%s agrees: take it off the exceptions", id)
			}
		case v.Suspect:
			suspect++
		case exceptions[id] != "":
			excepted++
		default:
			open = append(open, id)
			if _, ok := todo[id]; !ok {
				t.Run(id, func(t *testing.T) { t.Error(v.Diff) })
			} else if testing.Verbose() && os.Getenv("BERTH_SHOW") != "" {
				fmt.Printf("--- todo %s\n%s\n", id, v.Diff)
			}
		}
	}
	fmt.Printf("recorded %s: %d of %d agree, %d todo, %d exceptions, %d suspect\n", area, agree, len(verdicts), len(open), excepted, suspect)
	if path := os.Getenv("BERTH_TODO"); path != "" {
		var b strings.Builder
		for _, id := range open {
			fmt.Fprintf(&b, "%s %s\n", id, cmp.Or(todo[id], area))
		}
		if err := os.WriteFile(filepath.Join(path, area+".txt"), []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
