package slurmconf_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// TestSharedGresFiles reads the gres.conf files of the shared configurations.
func TestSharedGresFiles(t *testing.T) {
	dir := os.DirFS(sharedConfigs(t))
	for _, tt := range []struct {
		file  string
		lines int
		test  func([]slurmconf.GresLine) bool
	}{
		{"gres/mig-multiplefiles.conf", 3, func(l []slurmconf.GresLine) bool {
			return l[1].MultipleFiles.V == "/dev/nvidia0,/dev/nvidia-caps/nvidia-cap75,/dev/nvidia-caps/nvidia-cap76" && l[1].AutoDetect.V == "nvml"
		}},
		{"gres/mig-mixed-with-whole.conf", 4, func(l []slurmconf.GresLine) bool {
			return l[0].File.V == "/dev/nvidia[0-1]" && l[0].Cores.V == "8-15" && l[3].Type.V == "nvidia_a100_1g.10gb"
		}},
		{"gres/mps-per-device-mixed-case.conf", 5, func(l []slurmconf.GresLine) bool {
			return l[0].AutoDetect.V == "nvml" && l[1].Cores.V == "0,1" && l[4].Count.V == 100
		}},
		{"gres/shard-total-vs-per-device.conf", 10, func(l []slurmconf.GresLine) bool { return l[1].Count.V == 32 && l[9].Count.V == 8 }},
		{"gres/oci-mi300x.conf", 1, func(l []slurmconf.GresLine) bool {
			return l[0].Type.V == "MI300X" && l[0].File.V == "/dev/dri/renderD[128,136,144,152,160,168,176,184]"
		}},
		{"ubccr-micro/gres.conf", 2, func(l []slurmconf.GresLine) bool { return l[0].AutoDetect.V == "off" && l[1].Nodes.V == "g1" }},
		{"dynamic-nodes/gres.conf", 2, func(l []slurmconf.GresLine) bool { return l[1].Type.V == "nvidia" }},
		{"aws-pcluster/pcluster/slurm_parallelcluster_gpu_gres.conf", 3, func(l []slurmconf.GresLine) bool { return l[2].Nodes.V == "gpu-dy-gpu-p3dn24xlarge-[1-10]" }},
		{"aws-pcluster/pcluster/slurm_parallelcluster_multiple_spot_gres.conf", 0, nil},
		{"aws-pcluster/pcluster/slurm_parallelcluster_efa_gres.conf", 0, nil},
	} {
		lines, warnings, err := slurmconf.ReadGres(dir, tt.file)
		if err != nil || len(warnings) > 0 || len(lines) != tt.lines || tt.test != nil && !tt.test(lines) {
			t.Errorf("%s: %d lines, %v, %v: %+v", tt.file, len(lines), warnings, err, lines)
		}
	}
	// The placeholder of a generated file is an error that names it.
	_, _, err := slurmconf.ReadGres(dir, "aws-pcluster/slurm_parallelcluster_gres.conf")
	if err == nil || !strings.Contains(err.Error(), "slurm_parallelcluster_gres.conf:4") || !strings.Contains(err.Error(), "<DIR>/pcluster") {
		t.Errorf("placeholder: %v", err)
	}
	for _, name := range []string{"dynamic-nodes/cgroup.conf", "aws-pcluster/slurm_parallelcluster_cgroup.conf"} {
		if _, warnings, err := slurmconf.ReadCgroup(dir, name); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, err, warnings)
		}
	}
}

// TestSharedDevices: a total of shards and one line a device mean the same
// amounts; records go to the nodes that they name.
func TestSharedDevices(t *testing.T) {
	data, err := os.ReadFile(sharedConfigs(t) + "/gres/shard-total-vs-per-device.conf")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, warnings, err := slurmconf.Load(fstest.MapFS{
		"slurm.conf": {Data: []byte("GresTypes=gpu,shard\nNodeName=a,b,c Gres=gpu:A100:4,shard:32\nPartitionName=p Nodes=ALL\n")},
		"gres.conf":  {Data: data},
	}, slurmconf.Options{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	got := map[string]int{}
	for _, n := range cfg.Nodes {
		sum := 0
		for _, d := range n.Devices {
			if d.Name == "shard" {
				sum += int(d.Count)
			}
		}
		got[n.Names] = sum
	}
	if len(got) != 3 || got["a"] != 32 || got["b"] != 32 || got["c"] != 0 {
		t.Errorf("shards by node: %v", got)
	}
}

// TestSharedTopologies reads the topology files and checks them as Slurm would.
func TestSharedTopologies(t *testing.T) {
	dir := os.DirFS(sharedConfigs(t))
	for _, tt := range []struct {
		file  string
		kinds string // kinds and numbers of units
		want  string // part of the error, empty if the file is good
	}{
		{"topology/azure-block.conf", "block4", ""},
		{"topology/azure-tree.conf", "tree6", ""},
		{"topology/azure-ib-guid-tree.conf", "tree49", "the switches form a cycle"},
		{"topology/topograph-oci-tree.conf", "tree19", ""},
		{"topology/topograph-dra-block.conf", "block12", ""},
		{"topology/topology-multi.yaml", "block2 tree7 flat0", ""},
		{"ubccr-micro/topology.conf", "tree4", ""},
		{"topology/models/nvl72.yaml", "", "exactly one of flat, tree, block, ring and torus3d"},
		{"topology/models/medium.yaml", "", "exactly one of flat, tree, block, ring and torus3d"},
		{"topology/models/small-tree.yaml", "", "exactly one of flat, tree, block, ring and torus3d"},
	} {
		list, _, err := slurmconf.ReadTopology(dir, tt.file)
		if err == nil {
			_, err = slurmconf.CheckTopologies(list, nil)
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.want)
		}
		var kinds []string
		for _, x := range list {
			kinds = append(kinds, x.Kind.String()+itoa(len(x.Units)))
		}
		if got := strings.Join(kinds, " "); got != tt.kinds {
			t.Errorf("%s: %s, want %s", tt.file, got, tt.kinds)
		}
	}
}

// TestSharedModels: the models of topograph's simulator are not in Slurm's
// format; [slurmconf.ReadModel] makes a tree and blocks of them.
func TestSharedModels(t *testing.T) {
	dir := os.DirFS(sharedConfigs(t))
	for _, tt := range []struct {
		file             string
		switches, blocks int
		nodes            int
	}{{"nvl72", 7, 4, 72}, {"medium", 7, 4, 8}, {"small-tree", 3, 2, 6}} {
		list, err := slurmconf.ReadModel(dir, "topology/models/"+tt.file+".yaml")
		if err != nil || len(list) != 2 {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		if _, err := slurmconf.CheckTopologies(list, nil); err != nil {
			t.Errorf("%s: %v", tt.file, err)
		}
		nodes := 0
		for _, u := range list[1].Units {
			nodes += len(hosts(t, u.Nodes.V))
		}
		if len(list[0].Units) != tt.switches || len(list[1].Units) != tt.blocks || nodes != tt.nodes {
			t.Errorf("%s: %d switches, %d blocks, %d nodes", tt.file, len(list[0].Units), len(list[1].Units), nodes)
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// TestSharedAccounts reads the sacctmgr files.
func TestSharedAccounts(t *testing.T) {
	dir := os.DirFS(sharedConfigs(t))
	dump, _, err := slurmconf.ReadAccounts(dir, "sacctmgr-dump-small.cfg")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range dump {
		b.Write(append(slurmconf.AppendCommand(nil, c), '\n'))
	}
	const want = `add cluster synctest
add account amexp_alloc set GrpTRES=node=10,mem=200000 GrpTRESMins=cpu=1000000 GrpJobs=20 Parent=root
add account superhero_alloc set GrpTRES=node=10,mem=200000 GrpTRESMins=cpu=5000000 GrpJobs=20 Parent=root
add user user01 set MaxJobsAccrue=5 MaxJobs=5 Account=amexp_alloc
add user user02 set MaxJobsAccrue=5 MaxJobs=5 Account=amexp_alloc
add user user03 set MaxJobsAccrue=5 MaxJobs=5 Account=superhero_alloc
add user user04 set MaxJobsAccrue=5 MaxJobs=5 Account=superhero_alloc
add user user05 set MaxJobsAccrue=5 MaxJobs=5 Account=superhero_alloc
`
	if got := b.String(); got != want {
		t.Errorf("dump:\n%s\nwant:\n%s", got, want)
	}
	if _, _, err := slurmconf.ReadAccounts(dir, "ubccr-micro/sacctmgr.script"); err != nil {
		t.Error(err)
	}
	cfg, _, _, err := slurmconf.Load(fstest.MapFS{
		"slurm.conf": {Data: []byte("NodeName=n1\nPartitionName=p Nodes=n1\n")},
		"dump":       {Data: mustRead(t, sharedConfigs(t)+"/sacctmgr-dump-small.cfg")},
	}, slurmconf.Options{Accounts: []string{"dump"}})
	if err != nil || len(cfg.Accounts) != 3+1+5 || cfg.Accounts[1].Limits[0].Value != "mem=200000M,node=10" {
		t.Errorf("%v: %+v", err, cfg.Accounts)
	}
}

func mustRead(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
