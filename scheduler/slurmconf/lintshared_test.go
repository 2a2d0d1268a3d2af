package slurmconf_test

import (
	"flag"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

var rewrite = flag.Bool("rewrite-findings", false, "write testdata/shared-findings.txt anew")

// TestSharedFindings lints every slurm.conf of the shared configurations. The
// golden file says for each rule why its findings are right.
func TestSharedFindings(t *testing.T) {
	dir := sharedConfigs(t)
	var b strings.Builder
	for _, c := range []struct{ dir, file string }{
		{"site-cirrus", "slurm.conf"}, {"ubccr-micro", "slurm.conf"}, {"include-chain", "slurm.conf"}, {"dynamic-nodes", "slurm.conf"},
		{"aws-pcluster", "slurm_parallelcluster.conf"}, {"aws-pcluster/pcluster", "slurm_parallelcluster_gpu_partition.conf"},
		{"weird", "continuations.conf"}, {"weird", "default-inheritance.conf"}, {"weird", "default-inheritance-undefined-nodes.conf"},
		{"weird", "docker-testbed-features.conf"}, {"weird", "typed-billing-many-slices.conf"},
	} {
		fsys := fstest.MapFS{}
		for _, e := range mustReadDir(t, path.Join(dir, c.dir)) {
			data, err := os.ReadFile(path.Join(dir, c.dir, e))
			if err != nil {
				t.Fatal(err)
			}
			if c.dir == "aws-pcluster" {
				e = "<DIR>/" + e // the generator fills the placeholder in
				if e == "<DIR>/"+c.file {
					fsys[c.file] = &fstest.MapFile{Data: data}
				}
			}
			fsys[e] = &fstest.MapFile{Data: data}
		}
		o := slurmconf.Options{Slurm: c.file}
		if _, ok := fsys["sacctmgr.script"]; ok {
			o.Accounts = []string{"sacctmgr.script"}
		}
		f, err := slurmconf.Read(fsys, o)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("== " + c.dir + "/" + c.file + "\n")
		for _, f := range slurmconf.Lint(f, nil) {
			b.WriteString(f.String() + "\n")
		}
		b.WriteString("\n")
	}
	const golden = "testdata/shared-findings.txt"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	// Lines of comment are the justifications.
	var lines []string
	for l := range strings.Lines(string(want)) {
		if !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	if got := b.String(); got != strings.Join(lines, "") {
		t.Errorf("findings differ from %s:\n%s", golden, got)
	}
}
