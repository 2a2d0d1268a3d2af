package slurmconf_test

import (
	"testing"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// TestC04 is how nodes of R1 are shown.
func TestC04(t *testing.T) {
	cfg, _, _, err := slurmconf.LoadDir("testdata/r1")
	if err != nil {
		t.Fatal(err)
	}
	// What the nodes find by themselves (AutoDetect=nvml).
	gpu := func(typ, file, cores string) scheduler.DeviceSpec {
		return scheduler.DeviceSpec{Name: "gpu", Type: typ, File: file, Cores: cores}
	}
	for i := range cfg.Nodes {
		switch n := &cfg.Nodes[i]; n.GRES {
		case "gpu:h100:8":
			n.Devices = []scheduler.DeviceSpec{gpu("h100", "/dev/nvidia[0-3]", "0-55"), gpu("h100", "/dev/nvidia[4-7]", "56-111")}
		case "gpu:l40s:4,shard:64":
			n.Devices = []scheduler.DeviceSpec{gpu("l40s", "/dev/nvidia[0-1]", "0-31"), gpu("l40s", "/dev/nvidia[2-3]", "32-63")}
		}
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.View(func(v scheduler.View) {
		for _, tt := range []struct{ node, want string }{
			{"gpu001", "Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:0(IDX:N/A)"},
			{"gsh01", "Gres=gpu:l40s:4(S:0-1),shard:l40s:64(S:0-1) GresUsed=gpu:l40s:0(IDX:N/A),shard:l40s:0(0/16,0/16,0/16,0/16)"},
			{"nowhere", ""},
		} {
			if got := string(v.AppendNodeGRES(nil, tt.node)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.node, got, tt.want)
			}
		}
	})
}
