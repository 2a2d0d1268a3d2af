package slurmconf_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// bigSite makes a site of n nodes. Racks are lines of 32 nodes; with single
// each node has a line of its own, in the worst case a gres.conf line too.
func bigSite(n int, single bool) fstest.MapFS {
	var b, g, t strings.Builder
	b.WriteString("ClusterName=big\nGresTypes=gpu\nTopologyPlugin=topology/tree\nNodeName=DEFAULT Sockets=2 CoresPerSocket=56 RealMemory=1900000 Gres=gpu:h100:8\n")
	if !single {
		g.WriteString("Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=0-55\nName=gpu Type=h100 File=/dev/nvidia[4-7] Cores=56-111\n")
	}
	const rack = 32
	racks := 0
	for i := 0; i < n; i += rack {
		last := min(i+rack, n) - 1
		racks++
		fmt.Fprintf(&t, "SwitchName=leaf%d Nodes=n[%06d-%06d]\n", racks, i, last)
		if !single {
			fmt.Fprintf(&b, "NodeName=n[%06d-%06d] Feature=rack%d Weight=%d\n", i, last, racks, 1+racks%3)
			continue
		}
		for j := i; j <= last; j++ {
			fmt.Fprintf(&b, "NodeName=n%06d NodeAddr=10.0.%d.%d Feature=rack%d\n", j, j/256, j%256, racks)
			fmt.Fprintf(&g, "NodeName=n%06d Name=gpu Type=h100 File=/dev/nvidia[0-7]\n", j)
		}
	}
	fmt.Fprintf(&t, "SwitchName=top Switches=leaf[1-%d]\n", racks)
	fmt.Fprintf(&b, "PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0\nPartitionName=half Nodes=n[%06d-%06d] MaxTime=1-0\n", 0, n/2)
	return fstest.MapFS{"slurm.conf": {Data: []byte(b.String())}, "gres.conf": {Data: []byte(g.String())}, "topology.conf": {Data: []byte(t.String())}}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for _, lines := range []string{"rack", "node"} {
			fsys := bigSite(n, lines == "node")
			b.Run(fmt.Sprintf("nodes=%d/lines=%s", n, lines), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, _, err := slurmconf.Load(fsys, slurmconf.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

func BenchmarkLint(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		files, err := slurmconf.Read(bigSite(n, false), slurmconf.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				slurmconf.Lint(files, nil)
			}
		})
	}
}
