package slurmconf_test

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
	"github.com/google/go-cmp/cmp"
)

// A configuration without nodes makes a scheduler, and what joins runs jobs in
// the partitions of its features.
func TestDynamicNodesJoin(t *testing.T) {
	dir := sharedConfigs(t) + "/dynamic-nodes"
	f, err := slurmconf.Read(os.DirFS(dir), slurmconf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, _, err := f.Config()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.MaxNodes != 100 || len(cfg.Nodes) != 0 || len(cfg.NodeSets) == 0 {
		t.Fatalf("MaxNodes %d, %d nodes, node sets %v", cfg.MaxNodes, len(cfg.Nodes), cfg.NodeSets)
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := cfg.NodeSets[0]
	events, warnings, err := f.AddNodes("NodeName=d[1-2] CPUs=4 RealMemory=8000 Feature=" + set.Feature)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	part := ""
	for _, p := range cfg.Partitions {
		if p.Nodes == set.Name {
			part = p.Name
		}
	}
	for _, ev := range events {
		if err := s.Apply(0, ev); err != nil {
			t.Fatal(err)
		}
	}
	j := scheduler.JobSpec{ID: 1, MinNodes: 2, Partitions: []string{part}}
	if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
		t.Fatal(err)
	}
	d := s.Pass(0, nil)
	if len(d) != 1 || !cmp.Equal(d[0].Nodes, []string{"d1", "d2"}) {
		t.Fatalf("decided %v", d)
	}
}

func TestAddNodes(t *testing.T) {
	f, err := slurmconf.Read(fstest.MapFS{
		"slurm.conf": {Data: []byte("ClusterName=c\nMaxNodeCount=9\nGresTypes=gpu\nNodeSet=s Nodes=d[1-9]\nPartitionName=p Nodes=s Default=YES\n")},
		"gres.conf":  {Data: []byte("NodeName=d[1-9] Name=gpu Type=h100 File=/dev/nvidia[0-1]\n")},
	}, slurmconf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := f.AddNodes(`NodeName=d1 Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:h100:2 Topology="default:b1" Weight=3`)
	if err != nil {
		t.Fatal(err)
	}
	n := events[0].Node
	if len(events) != 1 || n.Sockets != 2 || n.Weight != 3 || n.Topology != "default:b1" || len(n.Devices) != 1 || n.Devices[0].File != "/dev/nvidia[0-1]" {
		t.Errorf("events %+v", n)
	}
	for _, bad := range []string{"", "CPUs=4", "NodeName=d[1 CPUs=4", "NodeName=d1 CPUs=many"} {
		if _, _, err := f.AddNodes(bad); err == nil {
			t.Errorf("%q: read, want an error", bad)
		} else if e, ok := errors.AsType[*slurmconf.Error](err); !ok || e.Origin.File != "--conf" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
