package slurmconf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// lintRules are the codes of the traps of configurations.
var lintRules = strings.Fields(`
tres-typed-only tres-untracked-limit tres-gres-missing bill-cpu-only bill-double bill-uneven qos-prio-no-weight
prio-weight-no-dbd qos-preempt-no-type part-preempt-ignored qos-prio-not-preempt preempt-mode-off preempt-suspend-gpu
preempt-suspend-no-gang preempt-grace-suspend preempt-noreserve preempt-grace-short requeue-off weight-over-topology
gres-autodetect-no-count gres-type-mismatch gres-undercount gres-overcount gres-name-undeclared gres-shard-no-gpu
gres-shard-and-mps gres-shard-uneven gres-cores-socket gres-nofile gres-typed-untyped gres-mixed-pool gpu-defmem gpu-defcpu
gpu-in-cpu-part gpu-cpu-cap cgroup-v1 cgroup-devices-off cgroup-task-missing cgroup-proctrack cgroup-mem-untracked
cgroup-contain cgroup-path topo-block-sizes topo-block-small topo-block-remainder topo-unknown-node topo-uncovered
topo-two-files topo-dup-node topo-ring-16 topo-torus-conf topo-all-links topo-no-top topo-excl-tree time-none bf-window
decay-zero maxage-minutes enforce-missing limit-typed-leak qos-relative-twice qos-usagefactor-safe deny-missing
`)

// sections cuts a text at its "-- name --" lines. What stands before the first
// is slurm.conf. Account files are sacctmgr, the inventory is a file of lines
// "hostlist: device, device" and "script NAME: text".
func sections(t testing.TB, text string) (fstest.MapFS, slurmconf.Options, *slurmconf.Inventory) {
	t.Helper()
	fsys := fstest.MapFS{}
	var o slurmconf.Options
	inv := new(slurmconf.Inventory)
	name := "slurm.conf"
	fsys[name] = &fstest.MapFile{}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			name, _, _ = strings.Cut(rest, " --")
			fsys[name] = &fstest.MapFile{}
			if name == "sacctmgr" {
				o.Accounts = []string{name}
			}
			continue
		}
		if name == "inventory" {
			key, val, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if script, ok := strings.CutPrefix(key, "script "); ok {
				inv.Scripts = append(inv.Scripts, slurmconf.InventoryScript{Name: script, Text: val})
			} else if key != "" {
				inv.Nodes = append(inv.Nodes, slurmconf.InventoryNode{Names: key, GPUs: strings.Split(val, ", ")})
			}
			continue
		}
		fsys[name].Data = append(fsys[name].Data, line...)
	}
	return fsys, o, inv
}

func lint(t testing.TB, text string) []slurmconf.Finding {
	t.Helper()
	fsys, o, inv := sections(t, text)
	f, err := slurmconf.Read(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return slurmconf.Lint(f, inv)
}

// TestLintRules runs testdata/lint: for each rule a file with a configuration
// that triggers it, a line of dashes, and one that does not.
func TestLintRules(t *testing.T) {
	for _, rule := range lintRules {
		t.Run(rule, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "lint", rule+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			bad, good, ok := strings.Cut(string(data), "\n======\n")
			if !ok {
				t.Fatal("no line of ======")
			}
			where, bad, _ := strings.Cut(bad, "\n")
			found := false
			for _, f := range lint(t, bad) {
				if f.Rule != rule {
					continue
				}
				found = true
				if got := fmt.Sprintf("%s:%d %v", f.File, f.Line, f.Severity); got != where {
					t.Errorf("found at %q, want %q", got, where)
				}
				if f.Text == "" || f.Cost == "" {
					t.Errorf("no text or cost: %v", f)
				}
				t.Log(f)
				break
			}
			if !found {
				t.Error("not found")
			}
			for _, f := range lint(t, good) {
				if f.Rule == rule {
					t.Errorf("found where it must be silent: %v", f)
				}
			}
		})
	}
	files, err := filepath.Glob("testdata/lint/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if rule := strings.TrimSuffix(filepath.Base(f), ".txt"); !slices.Contains(lintRules, rule) {
			t.Errorf("%s is no rule", f)
		}
	}
}
