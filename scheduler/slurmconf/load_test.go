package slurmconf_test

import (
	"errors"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// shared is the folder of real inputs beside the repository.
const shared = "../../../shared/"

func sharedConfigs(t testing.TB) string {
	t.Helper()
	dir := shared + "data/configs"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared configurations are not beside the repository")
	}
	return dir
}

// TestSharedSlurmConfs loads every slurm.conf of the shared configurations; want
// is a part of the error that the file calls for.
func TestSharedSlurmConfs(t *testing.T) {
	dir := sharedConfigs(t)
	for _, tt := range []struct {
		dir, file string
		before    string // lines that a fragment needs in front
		nodes     int    // nodes of all specifications
		parts     int
		want      []string
	}{
		{dir: "site-cirrus", file: "slurm.conf", nodes: 407, parts: 11},
		{dir: "ubccr-micro", file: "slurm.conf", nodes: 10, parts: 2},
		{dir: "include-chain", file: "slurm.conf", nodes: 1, parts: 1},
		{dir: "dynamic-nodes", file: "slurm.conf", nodes: 0, parts: 2},
		{dir: "aws-pcluster", file: "slurm_parallelcluster.conf", want: []string{
			"slurm_parallelcluster.conf:11", "<DIR>/pcluster/slurm_parallelcluster_multiple_spot_partition.conf", "cannot include"}},
		{dir: "aws-pcluster", file: "custom_settings.conf", want: []string{
			"custom_settings.conf:10", "NodeName=test-wrong-node-[1-10]"}},
		{dir: "aws-pcluster/pcluster", file: "slurm_parallelcluster_gpu_partition.conf", before: "GresTypes=gpu", nodes: 15, parts: 1},
		{dir: "aws-pcluster/pcluster", file: "slurm_parallelcluster_efa_partition.conf", nodes: 5, parts: 1},
		{dir: "aws-pcluster/pcluster", file: "slurm_parallelcluster_multiple_spot_partition.conf", nodes: 15, parts: 1},
		{dir: "weird", file: "continuations.conf", nodes: 16, parts: 1},
		{dir: "weird", file: "default-inheritance.conf", nodes: 40, parts: 2},
		{dir: "weird", file: "default-inheritance-undefined-nodes.conf", want: []string{"node0", "node41", ":6:", ":7:"}},
		{dir: "weird", file: "docker-testbed-features.conf", nodes: 5, parts: 1},
		{dir: "weird", file: "typed-billing-many-slices.conf", before: "NodeName=g[01-04]", nodes: 4, parts: 1},
		{dir: "weird", file: "typed-billing-many-slices.conf", want: []string{"g01", ":3:"}},
	} {
		t.Run(tt.dir+"/"+tt.file, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for _, e := range mustReadDir(t, dir+"/"+tt.dir) {
				data, err := os.ReadFile(path.Join(dir, tt.dir, e))
				if err != nil {
					t.Fatal(err)
				}
				fsys[e] = &fstest.MapFile{Data: data}
			}
			o := slurmconf.Options{Slurm: tt.file}
			if tt.before != "" {
				fsys["wrap.conf"] = &fstest.MapFile{Data: []byte(tt.before + "\ninclude " + tt.file + "\n")}
				o.Slurm = "wrap.conf"
			}
			cfg, _, _, err := slurmconf.Load(fsys, o)
			if tt.want != nil {
				if err == nil {
					t.Fatal("loaded, want an error")
				}
				for _, w := range tt.want {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("error %q lacks %q", err, w)
					}
				}
				var e *slurmconf.Error
				if !errors.As(err, &e) {
					t.Errorf("%T, want *slurmconf.Error", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := countNodes(t, cfg); n != tt.nodes || len(cfg.Partitions) != tt.parts {
				t.Errorf("%d nodes and %d partitions, want %d and %d", n, len(cfg.Partitions), tt.nodes, tt.parts)
			}
			if _, err := scheduler.New(cfg, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// mustReadDir lists the files of a directory and of its directories.
func mustReadDir(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !e.IsDir() {
			out = append(out, e.Name())
			continue
		}
		for _, sub := range mustReadDir(t, dir+"/"+e.Name()) {
			out = append(out, e.Name()+"/"+sub)
		}
	}
	return out
}

func countNodes(t testing.TB, cfg scheduler.Config) int {
	t.Helper()
	n := 0
	for _, s := range cfg.Nodes {
		n += len(hosts(t, s.Names))
	}
	return n
}
