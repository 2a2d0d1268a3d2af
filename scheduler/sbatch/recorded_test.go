package sbatch_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler/sbatch"
)

// TestRecordedOptions reads the options of every recorded submission and
// compares what the command itself refused with ours.
func TestRecordedOptions(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/vectors/*/*.json")
	if len(files) == 0 {
		t.Skip("the recorded cases are not beside the repository")
	}
	type job struct {
		Name string
		Args []string
	}
	var read, refused int
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Cases []struct {
				ID     string
				State  struct{ Running []job }
				Submit []job
				Expect json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &f); err != nil {
			continue // fair-share tables have another shape
		}
		for _, c := range f.Cases {
			var expect map[string]struct{ State, Error string }
			_ = json.Unmarshal(c.Expect, &expect)
			for _, j := range append(c.State.Running, c.Submit...) {
				if j.Args == nil {
					continue
				}
				read++
				_, err := sbatch.Parse(sbatch.Input{Args: j.Args, Now: time.Unix(0, 0)})
				want := expect[j.Name].Error
				fatal, client := strings.CutPrefix(want, "fatal: ")
				if !client && strings.HasPrefix(want, "error: Invalid --gpu-bind") {
					fatal, client = strings.CutPrefix(want, "error: ")
				}
				switch {
				case client && err == nil:
					t.Errorf("%s %s %v: accepted, want %q", filepath.Base(name), c.ID, j.Args, want)
				case client:
					refused++
					var e *sbatch.Error
					if !errors.As(err, &e) || e.Err.Error() != fatal {
						t.Errorf("%s %s %v: got %v, want %q", filepath.Base(name), c.ID, j.Args, err, fatal)
					}
				case err != nil:
					t.Errorf("%s %s %v: %v", filepath.Base(name), c.ID, j.Args, err)
				}
			}
		}
	}
	t.Logf("%d submissions read, %d refused by the command", read, refused)
}

// TestRecordedSteps reads the options of every recorded srun and salloc.
func TestRecordedSteps(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/vectors/gpu-bind/*.json")
	if len(files) == 0 {
		t.Skip("the recorded cases are not beside the repository")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Cases []struct {
				ID          string
				Args, Alloc []string
				Steps       [][]string
			}
		}
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			for i, args := range append([][]string{c.Alloc, c.Args}, c.Steps...) {
				cmd := sbatch.Srun
				if i == 0 {
					cmd = sbatch.Salloc
				}
				_, err := sbatch.Parse(sbatch.Input{Command: cmd, Args: args, Now: time.Unix(0, 0)})
				bad := strings.Contains(strings.Join(args, " "), "--gpu-bind=foo")
				if (err != nil) != bad {
					t.Errorf("%s %s %v: %v", filepath.Base(name), c.ID, args, err)
				}
			}
		}
	}
}
