package slurmconf_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
	"github.com/berth-sched/berth/topology"
)

func hosts(t testing.TB, list string) []string {
	t.Helper()
	names, err := topology.ParseHostlist(list)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestRecordedConfigurations loads the files of every recorded case, and reads
// the reservations and limits of their states.
func TestRecordedConfigurations(t *testing.T) {
	files, _ := filepath.Glob(shared + "vectors/*/*.json")
	if len(files) == 0 {
		t.Skip("the recorded cases are not beside the repository")
	}
	now := time.Unix(1_800_000_000, 0).UTC()
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Files map[string]json.RawMessage
			Cases []struct{ State json.RawMessage }
		}
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		fsys := fstest.MapFS{}
		var o slurmconf.Options
		for file, raw := range f.Files {
			var text string
			if file == "sacctmgr" {
				var lines []string
				if err := json.Unmarshal(raw, &lines); err != nil {
					t.Fatal(err)
				}
				text = strings.Join(lines, "\n")
				o.Accounts = []string{file}
			} else if err := json.Unmarshal(raw, &text); err != nil {
				t.Fatal(err)
			}
			fsys[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if fsys["slurm.conf"] == nil {
			// A fair-share table has its parameters in each case.
			fsys["slurm.conf"] = &fstest.MapFile{Data: []byte("PriorityType=priority/multifactor\n")}
		}
		cfg, _, warnings, err := slurmconf.Load(fsys, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(cfg.Nodes) > 0 {
			if _, err := scheduler.New(cfg, nil); err != nil && !errors.Is(err, scheduler.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, w := range warnings {
			if strings.Contains(w.Text, "jobs cannot span") {
				continue // a tree of islands, on purpose
			}
			t.Errorf("%s: %v", name, w)
		}
		for _, c := range f.Cases {
			var state struct {
				Reservations []struct{ Args []string }
				Limits       []struct{ Entity, Limit, Value string }
			}
			_ = json.Unmarshal(c.State, &state)
			for _, r := range state.Reservations {
				if _, err := slurmconf.ParseReservation(r.Args, now); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, l := range state.Limits {
				if _, err := slurmconf.ParseCommand("modify " + l.Entity + " set " + l.Limit + "=" + l.Value); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
