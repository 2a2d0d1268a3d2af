package priority_test

import (
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

// recording is one file of recorded truth: a configuration, a state and cases.
type recording struct {
	Files struct {
		SlurmConf string   `json:"slurm.conf"`
		Sacctmgr  []string `json:"sacctmgr"`
	} `json:"files"`
	Usage []struct {
		Account  string  `json:"account"`
		User     string  `json:"user"`
		RawUsage float64 `json:"raw_usage"`
	} `json:"usage"`
	State struct {
		Sshare      []map[string]any `json:"sshare"`
		QOSPriority []string         `json:"qos_priority"`
		Assoc       []string         `json:"assoc"`
	} `json:"state"`
	Cases []recordedCase `json:"cases"`
}

type recordedCase struct {
	ID           string            `json:"id"`
	Conf         map[string]string `json:"conf"`
	DecaySeconds int64             `json:"decay_seconds"`
	Submit       []struct {
		Name string   `json:"name"`
		User string   `json:"user"`
		Args []string `json:"args"`
	} `json:"submit"`
	Expect      json.RawMessage  `json:"expect"`
	ExpectExact []map[string]any `json:"expect_exact"`
	Suspect     []string         `json:"suspect"`
}

// tally counts the cases of one area.
type tally struct{ agree, todo, exceptions, suspect, all int }

// committed is how many cases of each area agree; no change may lose one.
var committed = map[string]int{"fairshare": 62, "priority": 16}

// TestRecorded runs every recorded case: AREA/FILE/ID. With BERTH_RECORDED it
// runs the directory named there instead, and no list excuses a case.
func TestRecorded(t *testing.T) {
	dir, elsewhere := os.LookupEnv("BERTH_RECORDED")
	lists := [2][]string{}
	if !elsewhere {
		dir = filepath.Join("testdata", "recorded")
		lists = [2][]string{readList(t, "todo.txt"), readList(t, "exceptions.txt")}
	}
	areas := map[string]func(*recording, *recordedCase) []string{"fairshare": checkFairShare, "priority": checkPriority}
	for _, area := range []string{"fairshare", "priority"} {
		files, err := filepath.Glob(filepath.Join(dir, area, "*.json*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			if !elsewhere {
				t.Fatalf("no recorded files of area %s", area)
			}
			continue
		}
		slices.Sort(files)
		var n tally
		for _, f := range files {
			r := readRecording(t, f)
			name, _, _ := strings.Cut(filepath.Base(f), ".json")
			for i := range r.Cases {
				c := &r.Cases[i]
				id := area + "/" + name + "/" + c.ID
				t.Run(id, func(t *testing.T) { n.count(t, id, c, lists, areas[area](r, c)) })
			}
		}
		if !elsewhere && n.agree < committed[area] {
			t.Errorf("%s: %d cases agree, %d did", area, n.agree, committed[area])
		}
		fmt.Printf("recorded %s: %d of %d agree, %d todo, %d exceptions, %d suspect\n", area, n.agree, n.all, n.todo, n.exceptions, n.suspect)
	}
}

// count files one case under what came of it.
func (n *tally) count(t *testing.T, id string, c *recordedCase, lists [2][]string, diffs []string) {
	n.all++
	listed := [2]bool{slices.Contains(lists[0], id), slices.Contains(lists[1], id)}
	switch {
	case len(diffs) == 0:
		n.agree++
		if listed[0] || listed[1] {
			t.Errorf("%s agrees: take it off the list", id)
		}
	case listed[0]:
		n.todo++
	case listed[1]:
		n.exceptions++
	case len(c.Suspect) > 0:
		n.suspect++
		t.Logf("suspect (%s): %s", strings.Join(c.Suspect, "; "), diffs[0])
	default:
		t.Errorf("%d differences, the first:\n%s", len(diffs), strings.Join(diffs[:min(8, len(diffs))], "\n"))
	}
}

func readRecording(t *testing.T, path string) *recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var r recording
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &r
}

// readList reads case ids, the first word of each line; what follows says why.
func readList(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			ids = append(ids, f[0])
		}
	}
	return ids
}
