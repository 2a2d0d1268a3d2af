package slurmconf_test

import (
	"fmt"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// A configuration loads as a whole or not at all.
func ExampleLoad() {
	fsys := fstest.MapFS{
		"slurm.conf": {Data: []byte(`
ClusterName=lab
GresTypes=gpu
include nodes.conf
PartitionName=gpu Nodes=g[1-4] Default=YES MaxTime=2-0
`)},
		"nodes.conf": {Data: []byte("NodeName=g[1-4] Sockets=2 CoresPerSocket=32 RealMemory=512000 Gres=gpu:h100:8\n")},
	}
	cfg, _, _, err := slurmconf.Load(fsys, slurmconf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Cluster, cfg.Nodes[0].Names, cfg.Nodes[0].GRES, cfg.Partitions[0].MaxTime)

	fsys["nodes.conf"].Data = []byte("NodeName=g[1-3] Sockets=two\n")
	_, _, _, err = slurmconf.Load(fsys, slurmconf.Options{})
	fmt.Println(err)
	// Output:
	// lab g[1-4] gpu:h100:8 48h0m0s
	// slurmconf: read nodes.conf:1: "Sockets=two": invalid value: a number is wanted
}

// The linter says what works against its writer, and where.
func ExampleLint() {
	fsys := fstest.MapFS{"slurm.conf": {Data: []byte(`PartitionName=p MaxTime=7-0
PriorityMaxAge=00:00:20
`)}}
	files, err := slurmconf.Read(fsys, slurmconf.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range slurmconf.Lint(files, nil) {
		fmt.Println(f)
	}
	// Output:
	// slurm.conf:1: warning bf-window: bf_window is 1440 min, partition p allows 10080 min; set bf_window=10080 (longer jobs get no reservation and may starve)
	// slurm.conf:2: info maxage-minutes: PriorityMaxAge=20s; write whole minutes (the age is rounded up to minutes)
}
