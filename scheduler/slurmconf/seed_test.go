package slurmconf_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// totals counts nodes, CPUs, MiB and units of GRES of a configuration.
func totals(t testing.TB, cfg scheduler.Config) map[string]int64 {
	t.Helper()
	sum := map[string]int64{}
	for _, n := range cfg.Nodes {
		k := int64(len(hosts(t, n.Names)))
		cpus := int64(n.CPUs)
		if cpus == 0 {
			cpus = int64(n.Sockets) * int64(n.CoresPerSocket) * int64(n.ThreadsPerCore)
		}
		sum["nodes"] += k
		sum["cpus"] += k * cpus
		sum["mem"] += k * n.MemMiB
		if n.GRES != "" {
			sum["gpu nodes"] += k
			sum["gpu cpus"] += k * cpus
			sum["gpu mem"] += k * n.MemMiB
		}
		for item := range strings.SplitSeq(n.GRES, ",") {
			f := strings.Split(item, ":")
			units := int64(0)
			for _, c := range f[len(f)-1] {
				units = units*10 + int64(c-'0')
			}
			if item != "" {
				sum[strings.Join(f[:len(f)-1], ":")] += k * units
			}
		}
	}
	return sum
}

// TestReferenceMachines loads R1 with R1T, R2 and R3 and counts them (C01, C03,
// T15).
func TestReferenceMachines(t *testing.T) {
	for _, tt := range []struct {
		dir  string
		want map[string]int64
	}{
		{"r1", map[string]int64{"nodes": 44, "cpus": 3840 + 512, "mem": 62_800_000 + 2_000_000, "gpu nodes": 36, "gpu cpus": 3840, "gpu mem": 62_800_000,
			"gpu:h100": 256, "gpu:l40s": 16, "shard": 256}},
		{"r2", map[string]int64{"nodes": 16, "cpus": 1792, "mem": 32_000_000, "gpu nodes": 16, "gpu cpus": 1792, "gpu mem": 32_000_000, "gpu:h100": 128}},
		{"r3", map[string]int64{"nodes": 72, "cpus": 10368, "mem": 69_120_000, "gpu nodes": 72, "gpu cpus": 10368, "gpu mem": 69_120_000, "gpu:gb200": 288}},
	} {
		cfg, events, warnings, err := slurmconf.LoadDir("testdata/" + tt.dir)
		if tt.dir == "r2" && len(warnings) == 1 && strings.Contains(warnings[0].Text, "one socket of 112 cores") {
			warnings = nil // R2 gives CPUs alone
		}
		if err != nil || len(events) > 0 || len(warnings) > 0 {
			t.Errorf("%s: %v, events %v, warnings %v", tt.dir, err, events, warnings)
		}
		if d := cmp.Diff(tt.want, totals(t, cfg)); d != "" {
			t.Errorf("%s: mismatch (-want +got)\n%s", tt.dir, d)
		}
	}
}

// TestR1 looks at what R1 says beside its nodes (C02's weights, C05, L01's
// ladder).
func TestR1(t *testing.T) {
	cfg, _, _, err := slurmconf.LoadDir("testdata/r1")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Profile != scheduler.ProfileSlurm {
		t.Errorf("profile %v", cfg.Profile)
	}
	// C02: one node bills 112 + 1900000/4096 + 256 = 831, all bill 26619.
	p := cfg.Partitions[0]
	if p.Name != "gpu" || p.BillingWeights != "CPU=1.0,Mem=0.25G,GRES/gpu=32" || p.MaxTime != 48*time.Hour {
		t.Errorf("%+v", p)
	}
	schema, err := gres.NewSchema(cfg.TRES...)
	if err != nil {
		t.Fatal(err)
	}
	bill, err := priority.ParseBilling(schema, p.BillingWeights, 0)
	if err != nil {
		t.Fatal(err)
	}
	for nodes, want := range map[int64]int64{1: 831, 32: 26619} {
		v := schema.NewVector()
		if err := gres.ParseTRES(schema, v, fmt.Sprintf("cpu=%d,mem=%d,node=%d,gres/gpu=%d,gres/gpu:h100=%d", 112*nodes, 1_900_000*nodes, nodes, 8*nodes, 8*nodes)); err != nil {
			t.Fatal(err)
		}
		if got := priority.WholePoints(bill.Points(v)); got != want {
			t.Errorf("%d nodes bill %d, want %d", nodes, got, want)
		}
	}
	// C05: what is tracked.
	wantTRES := []string{"gres/gpu", "gres/gpu:h100", "gres/gpu:l40s", "gres/shard", "gres/gpumem", "gres/gpuutil"}
	if d := cmp.Diff(wantTRES, cfg.TRES); d != "" {
		t.Errorf("TRES: mismatch (-want +got)\n%s", d)
	}
	if d := cfg.Partitions[3].Defaults; d.DefCPUPerGPU != 12 || d.DefMemPerGPU != 200000 {
		t.Errorf("gpudef: %+v", d)
	}
	wantTopo := []scheduler.TopologySpec{{Name: "line", Flat: true}, {Name: "racks", BlockSizes: []int32{8, 16, 32}, Blocks: []scheduler.UnitSpec{
		{Name: "b1", Nodes: "gpu[001-008]"}, {Name: "b2", Nodes: "gpu[009-016]"}, {Name: "b3", Nodes: "gpu[017-024]"}, {Name: "b4", Nodes: "gpu[025-032]"}}}}
	if d := cmp.Diff(wantTopo, cfg.Topologies); d != "" {
		t.Errorf("topologies: mismatch (-want +got)\n%s", d)
	}
	zero := 0.0
	wantQOS := []scheduler.QOSSpec{
		{Name: "normal"},
		{Name: "gpu-normal", Priority: 100, Preempt: []string{"gpu-scavenger"}, Limits: []scheduler.LimitSpec{{Name: "MaxTRESPerUser", Value: "gres/gpu=16"}, {Name: "MaxWall", Value: "2-00:00:00"}}},
		{Name: "gpu-scavenger", UsageFactor: &zero, Flags: []string{"NoReserve"}, GraceTime: 120 * time.Second},
		{Name: "gpu-hero", Flags: []string{"RequiresReservation"}, Limits: []scheduler.LimitSpec{{Name: "MaxTRESPerJob", Value: "gres/gpu=256"}}},
	}
	if d := cmp.Diff(wantQOS, cfg.QOS); d != "" {
		t.Errorf("QOS: mismatch (-want +got)\n%s", d)
	}
	wantAssoc := []scheduler.AssocSpec{
		{Account: "root"},
		{Account: "mylab", Shares: "10", DefaultQOS: "gpu-normal", QOS: []string{"gpu-normal", "gpu-scavenger"}},
		{Account: "root", User: "root", DefaultAccount: true, Admin: "Administrator"},
		{Account: "mylab", User: "tu001", DefaultAccount: true, QOS: []string{"gpu-normal", "gpu-scavenger", "gpu-hero"}},
	}
	if d := cmp.Diff(wantAssoc, cfg.Accounts); d != "" {
		t.Errorf("accounts: mismatch (-want +got)\n%s", d)
	}
}

// TestC06: without Gres= on the node line the controller expects no GPU,
// whatever gres.conf detects.
func TestC06(t *testing.T) {
	cfg, _, _, err := slurmconf.Load(fstest.MapFS{
		"slurm.conf": {Data: []byte("GresTypes=gpu\nNodeName=g[1-4] CPUs=112\nPartitionName=p Nodes=ALL\n")},
		"gres.conf":  {Data: []byte("AutoDetect=nvml\nName=gpu Type=h100 File=/dev/nvidia[0-7]\n")},
	}, slurmconf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := cfg.Nodes[0]; n.GRES != "" || n.Devices != nil {
		t.Errorf("%+v", n)
	}
}

// TestC12 are the words of AutoDetect, for all nodes and for some.
func TestC12(t *testing.T) {
	read := func(v string) error {
		_, _, err := slurmconf.ReadGres(fstest.MapFS{"gres.conf": {Data: []byte("AutoDetect=" + v + "\nNodeName=n1 AutoDetect=" + v + "\n")}}, "gres.conf")
		return err
	}
	for _, v := range []string{"nvml", "rsmi", "oneapi", "nrt", "nvidia", "off", "full", "NVML", "nvml,nrt"} {
		if err := read(v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{"cuda", "on", "offline"} {
		if err := read(v); err == nil {
			t.Errorf("%s: accepted", v)
		}
	}
}

// TestUBCCR looks at the micro cluster: inheritance, accounts and QOS.
func TestUBCCR(t *testing.T) {
	cfg, _, _, err := slurmconf.LoadDir(sharedConfigs(t) + "/ubccr-micro")
	if err != nil {
		t.Fatal(err)
	}
	var b1 scheduler.NodeSpec
	for _, n := range cfg.Nodes {
		if n.Names == "b1" {
			b1 = n
		}
	}
	if b1.MemMiB != 512000 || b1.CPUs != 12 || !slices.Equal(b1.Features, []string{"IB", "CPU-G", "BigMem"}) {
		t.Errorf("b1: %+v", b1)
	}
	pr := cfg.Parameters.Priority
	if pr.FairShare != 50000 || pr.Partition != 1_000_000 || pr.DecayHalfLife != 4*time.Hour || pr.MaxAge != 5*time.Hour || pr.Dampening != 5 {
		t.Errorf("priority: %+v", pr)
	}
	pl := cfg.Parameters.Plan
	if pl.Window != 24*time.Hour || pl.Interval != 30*time.Second || pl.MaxTest != 1200 || pl.MaxUser != 200 || pl.MaxSteps != 240_000_000 || cfg.Parameters.Queue.Depth != 1200 {
		t.Errorf("plan: %+v, queue %+v", pl, cfg.Parameters.Queue)
	}
	if cfg.Parameters.EnforcePartLimits != "ALL" || !cfg.Parameters.NoRequeue || cfg.Parameters.Limits.Enforce != "associations,limits,qos" {
		t.Errorf("%+v", cfg.Parameters)
	}
	if len(cfg.Topologies) != 1 || len(cfg.Topologies[0].Switches) != 4 {
		t.Errorf("topology: %+v", cfg.Topologies)
	}
	var users []string
	for _, a := range cfg.Accounts {
		if a.User == "" || a.User == "root" {
			continue
		}
		users = append(users, a.User+"@"+a.Account)
		if a.User != "admin" && (!slices.Equal(a.QOS, []string{"normal", "supporters"}) || !a.DefaultAccount || len(a.Limits) != 1 || a.Limits[0].Value != "1000") {
			t.Errorf("%+v", a)
		}
	}
	want := "admin@account0 user1@account1 user2@account1 user3@account1 user4@account2 user5@account2"
	if got := strings.Join(users, " "); got != want {
		t.Errorf("users %s, want %s", got, want)
	}
	if len(cfg.QOS) != 2 || cfg.QOS[1].Name != "supporters" || cfg.QOS[1].Priority != 100 {
		t.Errorf("QOS: %+v", cfg.QOS)
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.View(func(v scheduler.View) {
		accounts, qos := slices.Collect(v.Accounts()), slices.Collect(v.QOS())
		if d := cmp.Diff(cfg.Accounts, accounts); d != "" {
			t.Errorf("accounts of the view (-configured +shown)\n%s", d)
		}
		if d := cmp.Diff(cfg.QOS, qos); d != "" {
			t.Errorf("QOS of the view (-configured +shown)\n%s", d)
		}
	})
	// A job is charged to its user's default account and runs with its QOS.
	j := scheduler.JobSpec{ID: 1, User: "user4", QOS: []string{"supporters"}, Tasks: 1, Mem: scheduler.MemPerNode, MemMiB: 100}
	if err := s.Apply(0, scheduler.Submit(&j)); err != nil {
		t.Fatal(err)
	}
	if d := s.Pass(0, nil); len(d) != 1 || d[0].Op != scheduler.OpStart || d[0].QOS != "supporters" {
		t.Errorf("decided %+v", d)
	}
	s.View(func(v scheduler.View) {
		if w, _ := v.Job(1); w.Account != "account2" || w.QOS != "supporters" {
			t.Errorf("job %+v", w)
		}
	})
	stranger := scheduler.JobSpec{ID: 2, User: "nobody", Tasks: 1}
	if err := s.Apply(0, scheduler.Submit(&stranger)); !errors.Is(err, scheduler.ErrUnknownAccount) {
		t.Errorf("a user without account: %v", err)
	}
}
