package slurmconf_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// FuzzLoad loads any text as slurm.conf, gres.conf, topology.conf and sacctmgr
// script together, and lints it. Whatever fails names a file.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"NodeName=DEFAULT CPUs=4 \\\n Weight=1\nNodeName=n[1-3] Gres=gpu:a:2,shard:8\nGresTypes=gpu,shard\nPartitionName=p Nodes=ALL MaxTime=1-0\n",
		"include slurm.conf\n", "NodeSet=s Feature=x\nDownNodes=n1 Reason=\"a # b\"\n", "SchedulerParameters=bf_window=5,bf_max_time=3\nPreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\n",
		"GresTypes=gpu\nNodeName=n1 Gres=gpu:1 Sockets=2\n\x00Name=gpu File=/dev/n[0-3] Cores=0-3 Links=0,-1\n\x00BlockName=b Nodes=n1\nBlockSizes=1,2\n\x00add qos q MaxTRESPU=cpu=4\nadd account a\nadd user u account=a\n",
		"TopologyPlugin=topology/tree\nNodeName=n1\n\x00\n\x00SwitchName=a Nodes=n1\nSwitchName=t Switches=a\n\x00Parent - 'root'\nAccount - 'x':GrpTRES=cpu=4:GrpJobs=1\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		part := strings.SplitN(text, "\x00", 4)
		fsys := fstest.MapFS{"slurm.conf": {Data: []byte(part[0])}}
		for i, name := range []string{"", "gres.conf", "topology.conf", "sacctmgr.script"} {
			if i > 0 && i < len(part) {
				fsys[name] = &fstest.MapFile{Data: []byte(part[i])}
			}
		}
		o := slurmconf.Options{}
		if len(part) == 4 {
			o.Accounts = []string{"sacctmgr.script"}
		}
		files, err := slurmconf.Read(fsys, o)
		if err != nil {
			if !strings.Contains(err.Error(), ".conf") && !strings.Contains(err.Error(), "sacctmgr") {
				t.Fatalf("no file in %v", err)
			}
			return
		}
		_, _, _, _ = files.Config()
		slurmconf.Lint(files, &slurmconf.Inventory{Nodes: []slurmconf.InventoryNode{{Names: "n[1-2]", GPUs: []string{"NVIDIA A", "b"}}}})
	})
}

// FuzzYAML reads and checks any text as topology.yaml.
func FuzzYAML(f *testing.F) {
	f.Add("- topology: t\n  block:\n    block_sizes: [4, 8]\n    blocks:\n      - {block: a, nodes: n[1-4]}\n")
	f.Add("- torus3d:\n    toruses:\n      - name: a\n        dims: {x: 2, y: 2, z: 2}\n        regions: [{anchor: {}, dims: {x: 1, y: 1, z: 1}, nodes: n1}]\n        placements: [{dims: {x: 1}}]\n")
	f.Add("topology: t\nflat: {alpha_step_rank: true}\n")
	f.Add("switches: {a: {switches: [b]}}\nblocks:\n- {switch: b, nodes: [n1], annotations: {accelerator.x: y}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		fsys := fstest.MapFS{"topology.yaml": {Data: []byte(text)}}
		if list, _, err := slurmconf.ReadTopology(fsys, "topology.yaml"); err == nil {
			_, _ = slurmconf.CheckTopologies(list, nil)
			out := slurmconf.AppendTopologies(nil, list)
			again, _, err := slurmconf.ReadTopology(fstest.MapFS{"topology.yaml": {Data: out}}, "topology.yaml")
			if err != nil {
				t.Fatalf("%q was read and written as %q: %v", text, out, err)
			}
			if w := slurmconf.AppendTopologies(nil, again); string(w) != string(out) {
				t.Fatalf("%q was written as\n%s\nand then as\n%s", text, out, w)
			}
		}
		_, _ = slurmconf.ReadModel(fsys, "topology.yaml")
	})
}

// FuzzCommand: a command that is read and written in full reads the same.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"add user u account=a fairshare=parent", "modify qos q set GrpTRES=cpu+=4,mem-=1G flags+=DenyOnLimit", "modify account where name=x set Description='a \"b\" c'", "delete user a,b where account=c", "modify account name== set Description=", "add account name=set,where"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") {
			return
		}
		c, err := slurmconf.ParseCommand(line)
		if err != nil {
			return
		}
		out := string(slurmconf.AppendCommand(nil, c))
		d, err := slurmconf.ParseCommand(out)
		if err != nil {
			t.Fatalf("%q was read and written as %q: %v", line, out, err)
		}
		if !reflect.DeepEqual(c, d) {
			t.Fatalf("%q is %+v, written as %q it is %+v", line, c, out, d)
		}
	})
}

// FuzzReservation reads arguments, one a line, writes them and reads them
// again.
func FuzzReservation(f *testing.F) {
	f.Add("Users=root\nStartTime=now+1800\nDuration=30\nNodes=n[1-2]\nFlags=MAINT,PURGE_COMP=5")
	f.Add("Accounts=-a\nStartTime=16:00\nEndTime=tomorrow\nCoreCnt=1,2")
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := slurmconf.ParseReservation(strings.Split(text, "\n"), now)
		if err != nil {
			return
		}
		args := slurmconf.AppendReservation(nil, &r, time.UTC)
		again, err := slurmconf.ParseReservation(args, now)
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%q is %+v, written as %q it is %+v, %v", text, r, args, again, err)
		}
	})
}
