package scheduler_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A recordedFile is a file of cases recorded from a real Slurm 26.05.3.
type recordedFile struct {
	Area, Name string
	Files      map[string]json.RawMessage
	Cases      []recordedCase
}

type recordedCase struct {
	ID    string
	State struct {
		Drained      string
		Running      []recordedJob
		Limits       []recordedLimit
		Reservations []recordedReservation
	}
	Submit  []recordedJob
	Expect  map[string]json.RawMessage
	Suspect []string
}

type recordedJob struct {
	Name, User string
	Args       []string
	Result     *recordedAnswer
}

type recordedLimit struct{ Entity, Limit, Value string }

type recordedReservation struct {
	Name   string
	Args   []string
	Result *struct {
		Nodes      string
		Start, End int64
	}
	Error string
}

// A recordedAnswer is what became of a job.
type recordedAnswer struct {
	State, Reason string
	ReasonAlso    []string `json:"reason_also"`
	Nodelist      string
	NumNodes      int32  `json:"num_nodes"`
	NumCPUs       int64  `json:"num_cpus"`
	NumTasks      int32  `json:"num_tasks"`
	BatchHost     string `json:"batch_host"`
	TRES          string
	Alloc         []recordedAlloc
	Start, End    *int64
	TimeLimit     string `json:"time_limit"`
	SchedNodelist string `json:"sched_nodelist"`
	Error         string
}

type recordedAlloc struct {
	Nodes  string
	CPUIDs string `json:"cpu_ids"`
	Mem    int64
	GRES   string
}

// recordedAreas are the areas that the engine decides.
var recordedAreas = []string{"topology", "gres", "limits", "preempt", "backfill"}

// readRecorded reads the files of an area, in order of names.
func readRecorded(t *testing.T, dir, area string) []recordedFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, area, "*.json*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var out []recordedFile
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		var r io.Reader = f
		if strings.HasSuffix(p, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
		var file recordedFile
		if err := json.NewDecoder(r).Decode(&file); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		f.Close()
		out = append(out, file)
	}
	return out
}

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

// TestRecorded runs every recorded case. Subtests are AREA/FILE/ID. A case that
// disagrees fails unless a list names it: todo/AREA.txt (work to come; it only
// shrinks) or exceptions.txt (a reviewed line with the paragraph of the
// specification that says not to copy it). BERTH_RECORDED=dir runs another
// directory of the same layout, without lists. BERTH_TODO=dir writes the todo
// lists as they should be: a case and the subject that it waits for, a line.
func TestRecorded(t *testing.T) {
	dir, lists := "testdata/recorded", true
	if d := os.Getenv("BERTH_RECORDED"); d != "" {
		dir, lists = d, false
	}
	exceptions := map[string]string{}
	if lists {
		exceptions = readCaseList(t, "testdata/recorded/exceptions.txt")
	}
	for _, area := range recordedAreas {
		todo := map[string]string{}
		if lists {
			todo = readCaseList(t, filepath.Join("testdata/recorded/todo", area+".txt"))
		}
		runArea(t, dir, area, todo, exceptions)
	}
}

func runArea(t *testing.T, dir, area string, todo, exceptions map[string]string) {
	var agree, all, excepted, suspect int
	var open []string
	for _, f := range readRecorded(t, dir, area) {
		for i := range f.Cases {
			c := &f.Cases[i]
			id := area + "/" + f.Name + "/" + c.ID
			all++
			diff := runRecorded(&f, c)
			switch {
			case diff == "":
				agree++
				if _, ok := todo[id]; ok {
					t.Errorf("%s agrees now: take it off the todo list", id)
				}
				if _, ok := exceptions[id]; ok {
					t.Errorf("%s agrees: take it off the exceptions", id)
				}
			case len(c.Suspect) > 0:
				suspect++
			case exceptions[id] != "":
				excepted++
			default:
				open = append(open, id)
				if _, ok := todo[id]; !ok || testing.Verbose() && os.Getenv("BERTH_SHOW") != "" {
					if !ok {
						t.Run(id, func(t *testing.T) { t.Error(diff) })
					} else {
						fmt.Printf("--- todo %s\n%s\n", id, diff)
					}
				}
			}
		}
	}
	fmt.Printf("recorded %s: %d of %d agree, %d todo, %d exceptions, %d suspect\n", area, agree, all, len(open), excepted, suspect)
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
