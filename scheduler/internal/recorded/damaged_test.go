package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damaged is a file of one case; what stands for @ is left out or replaced.
const damaged = `{"name": "damaged", "note": "keys that nobody knows", @top
 "files": {"slurm.conf": "SelectType=select/cons_tres\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nSchedulerParameters=bf_resolution=1"@files},
 "cases": [{"id": "c1", "more": 1, "state": {"running": [{"name": "r1", "args": ["-N1", "-t", "5"], "result": @result}], "reservations": [@resv]},
  "submit": [{"name": "j1", "args": ["-N2", "-t", "5", "--exclusive"]}], "expect": {@expect}}]}`

const (
	heldFirst = `{"start": 0, "end": 300, "num_cpus": 4, "num_nodes": 1, "alloc": [{"nodes": "n1", "cpu_ids": "0-3"}]}`
	waits     = `"j1": {"state": "PENDING", "reason": "Resources", "start": 300}`
)

// Files of the recorder's form, and damaged ones, are run or said to be wrong
// where they are; nothing is a panic, and one bad file leaves the others.
func TestDamagedFiles(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		with       map[string]string
	}{
		{"whole", "", nil},
		{"no result", `running "r1": no result`, map[string]string{"@result": "null"}},
		{"node unknown", `no node "n9"`, map[string]string{"@result": strings.Replace(heldFirst, "n1", "n9", 1)}},
		{"cpu ids", "cpu_ids", map[string]string{"@result": strings.Replace(heldFirst, "0-3", "0-x", 1)}},
		{"cpu ids huge", "out of range", map[string]string{"@result": strings.Replace(heldFirst, "0-3", "0-9999999", 1)}},
		{"gres", "gres", map[string]string{"@result": strings.Replace(heldFirst, `"cpu_ids"`, `"gres": "shard:1(x)", "cpu_ids"`, 1)}},
		{"files", `files "gres.conf"`, map[string]string{"@files": `, "gres.conf": 5`}},
		{"expected job", "not among the submissions", map[string]string{"@expect": waits + `, "j7": {"state": "RUNNING"}`}},
		{"answer", `expect "j1"`, map[string]string{"@expect": `"j1": 5`}},
		{"reservation", `reservation "x"`, map[string]string{"@resv": `{"name": "x", "args": ["Foo=1"]}`}},
		{"reservation's nodes", "reservation x on n2, recorded n1", map[string]string{
			"@resv": `{"name": "x", "args": ["ReservationName=x", "Users=root", "StartTime=now+7200", "Duration=5", "Nodes=n2"], "result": {"nodes": "n1", "start": 7200, "end": 7500}}`}},
		{"type", "damaged.json", map[string]string{"@top": `"area": 7,`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := damaged
			for key, plain := range map[string]string{"@top": "", "@files": "", "@result": heldFirst, "@resv": "", "@expect": waits} {
				if with, ok := tt.with[key]; ok {
					plain = with
				}
				text = strings.Replace(text, key, plain, 1)
			}
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "backfill"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "backfill", "damaged.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := runArea(&b, dir, "backfill"); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(b.String(), `\"`, `"`)
			if !strings.Contains(got, `"File":"damaged"`) || !strings.Contains(got, tt.want) || strings.Contains(got, "panic") || tt.want == "" && !strings.Contains(got, `"Diff":""`) {
				t.Errorf("got %s, want %q", got, tt.want)
			}
		})
	}
}
