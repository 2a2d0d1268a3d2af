package slurmconf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// load loads the sections of a text; see sections.
func load(t testing.TB, text string) (scheduler.Config, []scheduler.Event, []slurmconf.Warning, error) {
	t.Helper()
	fsys, o, _ := sections(t, text)
	return slurmconf.Load(fsys, o)
}

func mustLoad(t testing.TB, text string) scheduler.Config {
	t.Helper()
	cfg, _, _, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestInheritance: DEFAULT lines add up and hold for later lines only.
func TestInheritance(t *testing.T) {
	cfg := mustLoad(t, `
NodeName=a
nodename=DEFAULT Sockets=2 CoresPerSocket=4
NodeName=b threadspercore=2
NodeName=default RealMemory=1000 Sockets=1
NodeName=c CPUs=4
PartitionName=DEFAULT MaxTime=60 Nodes=a
PartitionName=p
PartitionName=DEFAULT MaxNodes=2
PartitionName=q Nodes=ALL MaxTime=1-0
`)
	var got []string
	for _, n := range cfg.Nodes {
		got = append(got, fmt.Sprint(n.Names, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore, n.CPUs, n.MemMiB))
	}
	want := []string{"a1 1 1 0 1", "b2 4 2 0 1", "c1 4 1 4 1000"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nodes: mismatch (-want +got)\n%s", d)
	}
	p, q := cfg.Partitions[0], cfg.Partitions[1]
	if p.Nodes != "a" || p.MaxTime != time.Hour || p.MaxNodes != 0 || q.Nodes != "ALL" || q.MaxTime != 24*time.Hour || q.MaxNodes != 2 {
		t.Errorf("%+v\n%+v", p, q)
	}
}

// TestLexer covers blanks, quotes, comments and continuations.
func TestLexer(t *testing.T) {
	cfg := mustLoad(t, "ClusterName = x # not=read\r\n"+
		"NodeName=\\\n  n1 \\\n# this comment ends the record\n"+
		"NodeName=n2 Reason=\"two words \\# one\" State=DOWN\n"+
		"  partitionNAME=p nodes=n1,n2 \\  \n maxtime=5\n"+
		"PartitionName=q Nodes=n1 MaxTime=7\\")
	if cfg.Cluster != "x" || len(cfg.Nodes) != 2 || cfg.Nodes[1].Reason != "two words # one" || cfg.Partitions[0].MaxTime != 5*time.Minute || cfg.Partitions[1].MaxTime != 7*time.Minute {
		t.Errorf("%+v", cfg)
	}
}

// gpu2 is a node with two GPUs, and the beginning of its gres.conf.
const gpu2 = "GresTypes=gpu\nNodeName=n Gres=gpu:2\n-- gres.conf --\n"

// TestErrors: each names the file, the line and the word, and nothing is
// loaded.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		is   error
		want []string
	}{
		{"NodeName=n1\nPartitionName=p MaxTime=soon\n", slurmconf.ErrValue, []string{"slurm.conf:2", `"MaxTime=soon"`}},
		{"NodeName=n1 \\\n CPUs=4 \\\n Weight=heavy\n", slurmconf.ErrValue, []string{"slurm.conf:3", `"Weight=heavy"`}},
		{"NodeName=n1 CPUs=0\n", slurmconf.ErrValue, []string{"[1, 65535]"}},
		{"NodeName=n1 Reason=\"open\n", slurmconf.ErrSyntax, []string{"slurm.conf:1", "quote"}},
		{"NodeName\n", slurmconf.ErrSyntax, []string{"slurm.conf:1", `"NodeName"`}},
		{"NodeName=n1 State=SLEEPY\n", slurmconf.ErrValue, []string{"State=SLEEPY"}},
		{"ClusterName=c NodeName=n1\n", slurmconf.ErrSyntax, []string{"must be the first word"}},
		{"NodeName=n[1-3]\nNodeName=n3\n", slurmconf.ErrDuplicate, []string{"slurm.conf:2", `"n3"`, "slurm.conf:1"}},
		{"NodeName=n[3-1]\n", nil, []string{"slurm.conf:1", "n[3-1]"}},
		{"NodeName=n1\nPartitionName=p Nodes=n[1-3]\n", slurmconf.ErrUnknownNode, []string{"slurm.conf:2", "n2, n3"}},
		{"NodeName=n1\nNodeSet=s Nodes=n9\n", slurmconf.ErrUnknownNode, []string{"slurm.conf:2", "n9"}},
		{"NodeSet=s\nNodeSet=s\n", slurmconf.ErrDuplicate, []string{"slurm.conf:2"}},
		{"PartitionName=p\nPartitionName=p\n", slurmconf.ErrRefused, []string{"slurm.conf:2", "slurm.conf:1"}},
		{"include other.conf\n", slurmconf.ErrInclude, []string{"slurm.conf:1", `"other.conf"`}},
		{"include ../etc.conf\n", slurmconf.ErrInclude, []string{"leaves the configuration's directory"}},
		{"include /etc/slurm/a.conf\n", slurmconf.ErrInclude, []string{"absolute"}},
		{"include a.conf\n-- a.conf --\ninclude b.conf\n-- b.conf --\n\ninclude slurm.conf\n", slurmconf.ErrInclude, []string{"b.conf:2", "slurm.conf > a.conf > b.conf > slurm.conf"}},
		{"GresTypes=shard\n", slurmconf.ErrRefused, []string{"needs gpu"}},
		{"GresTypes=gpu\nNodeName=n Gres=gpu:1,gpu:a:1\n", slurmconf.ErrRefused, []string{"with and without a type"}},
		{"GresTypes=gpu\nNodeName=n Gres=gpu:a:b:1\n", slurmconf.ErrValue, []string{"slurm.conf:2"}},
		{"NodeName=n CoreSpecCount=1 CpuSpecList=0\n", slurmconf.ErrRefused, nil},
		{"SelectTypeParameters=CR_Memory\n", slurmconf.ErrRefused, nil},
		{"SelectTypeParameters=CR_CPU,CR_ONE_TASK_PER_CORE\n", slurmconf.ErrRefused, nil},
		{"SelectTypeParameters=CR_Board\n", slurmconf.ErrValue, []string{"CR_Board"}},
		{"SelectType=select/linear\n", slurmconf.ErrRefused, nil},
		{"SchedulerParameters=bf_window=0\n", slurmconf.ErrValue, []string{"bf_window=0", "[1, 43200]"}},
		{"SchedulerParameters=bf_max_time=x\n", slurmconf.ErrValue, []string{"bf_max_time=x"}},
		{"PreemptType=preempt/qos\n", slurmconf.ErrRefused, nil},
		{"PreemptMode=SUSPEND\n", slurmconf.ErrRefused, nil},
		{"PriorityDecayHalfLife=0\n", slurmconf.ErrRefused, nil},
		{"PriorityMaxAge=0\n", slurmconf.ErrValue, nil},
		{"Licenses=a:x\n", slurmconf.ErrValue, []string{`"a:x"`}},
		{"AccountingStorageTRES=gpus\n", slurmconf.ErrValue, []string{`"gpus"`}},
		{"PriorityWeightTRES=CPU=x\n", slurmconf.ErrValue, []string{"slurm.conf:1", "CPU=x"}},
		{"PartitionName=p TRESBillingWeights=CPU=1,GRES/gpu=2\n", slurmconf.ErrValue, []string{"slurm.conf:1", "GRES/gpu=2"}},
		{"GresTypes=gpu\n-- gres.conf --\nNodeName=n[1-2] AutoDetect=nvml\nNodeName=n2 AutoDetect=off\n", slurmconf.ErrRefused, []string{"gres.conf:2", "gres.conf:1"}},
		{"PartitionName=p Topology=t\n", slurmconf.ErrRefused, []string{"no such topology"}},
		{"TopologyPlugin=topology/torus3d\n", slurmconf.ErrRefused, nil},
		{"ClusterName=c\n-- gres.conf --\nName=gpu Count=x\n", slurmconf.ErrValue, []string{"gres.conf:1", "Count=x"}},
		{"GresTypes=gpu\n-- gres.conf --\nName=gpu Count=3 File=/dev/n[0-1]\n", slurmconf.ErrRefused, []string{"gres.conf:1", "Count=3 with 2 files"}},
		{"GresTypes=gpu\n-- gres.conf --\nName=gpu File=/dev/n0 MultipleFiles=/dev/a,/dev/b\n", slurmconf.ErrRefused, nil},
		{"GresTypes=gpu\n-- gres.conf --\nName=gpu MultipleFiles=/dev/a\n", slurmconf.ErrRefused, nil},
		{gpu2 + "Name=gpu File=/dev/a\nName=gpu\n", slurmconf.ErrRefused, []string{"gres.conf:2", "gres.conf:1"}},
		{gpu2 + "Name=gpu Type=x File=/dev/a\nName=gpu File=/dev/b\n", slurmconf.ErrRefused, []string{"gres.conf:2", "Type"}},
		{gpu2 + "Name=gpu\nName=gpu\n", slurmconf.ErrDuplicate, []string{"gres.conf:2"}},
		{gpu2 + "Name=gpu File=/dev/a\nName=gpu File=/dev/a\n", slurmconf.ErrRefused, []string{"gres.conf:2", "/dev/a"}},
		{gpu2 + "Name=gpu File=/dev/a Flags=no_gpu_env,opencl_env\n", slurmconf.ErrRefused, []string{"gres.conf:1"}},
		{gpu2 + "Name=gpu File=/dev/a Flags=nvidia_gpu_env\nName=gpu File=/dev/b Flags=opencl_env\n", slurmconf.ErrRefused, []string{"gres.conf:2"}},
		{"ClusterName=c\n-- topology.conf --\nSwitchName=a Weight=4\n", slurmconf.ErrRefused, []string{"topology.conf:1", "Weight=4"}},
		{"ClusterName=c\n-- topology.yaml --\n- topology: t\n  flat: [\n", slurmconf.ErrSyntax, []string{"topology.yaml"}},
		{"ClusterName=c\n-- topology.yaml --\n", slurmconf.ErrRefused, []string{"empty"}},
		{"ClusterName=c\n-- sacctmgr --\nadd acount x\n", slurmconf.ErrSyntax, []string{"sacctmgr:1", `"acount"`}},
		{"ClusterName=c\n-- sacctmgr --\nadd qos q MaxTRESPU=gres/gpu=1\n", slurmconf.ErrValue, []string{"sacctmgr:1", "AccountingStorageTRES"}}, // L11
	} {
		cfg, events, warnings, err := load(t, tt.text)
		if err == nil {
			t.Errorf("%q: loaded", tt.text)
			continue
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%q: %v is not %v", tt.text, err, tt.is)
		}
		var e *slurmconf.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %T", tt.text, err)
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q lacks %q", tt.text, err, w)
			}
		}
		if d := cmp.Diff(scheduler.Config{}, cfg); d != "" || events != nil || warnings != nil {
			t.Errorf("%q: half loaded", tt.text)
		}
	}
	// All errors come at once, in order.
	_, _, _, err := load(t, "NodeName=n1 CPUs=x\nNodeName=n2 CPUs=y\n")
	if err == nil || !strings.Contains(err.Error(), "CPUs=x") || !strings.Contains(err.Error(), "CPUs=y") {
		t.Errorf("not all errors: %v", err)
	}
}

// TestWarnings: unknown keys and the like are told, and the rest is loaded.
func TestWarnings(t *testing.T) {
	_, _, warnings, err := load(t, "Colour=blue\nSlurmctldHost=a\nNodeName=n1 Colour=red Weight=1 weight=2 CPUs=3 Sockets=2 CoresPerSocket=4\nSchedulerParameters=bf_magic,bf_continue\nDownNodes=n7\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		`slurm.conf:1: "Colour=blue": unknown parameter, ignored`,
		`slurm.conf:3: "Colour=red": unknown key of a NodeName line, ignored`,
		`slurm.conf:3: "weight=2": the key stands twice on the line, the last one counts`,
		`slurm.conf:3: "n1": CPUs=3 is neither the cores (8) nor the threads (8) of the node, 8 is taken`,
		`slurm.conf:5: "n7": no NodeName line has this node, the state is ignored`,
		`slurm.conf:4: "bf_magic": unknown word of SchedulerParameters, ignored`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
}

// TestIncludeRoot: absolute names below the root are read.
func TestIncludeRoot(t *testing.T) {
	fsys := fstest.MapFS{"slurm.conf": {Data: []byte("include /etc/slurm/nodes/a.conf\nInclude \"nodes/b.conf\"\n")},
		"nodes/a.conf": {Data: []byte("NodeName=a\n")}, "nodes/b.conf": {Data: []byte("NodeName=b\n")}}
	cfg, _, _, err := slurmconf.Load(fsys, slurmconf.Options{Root: "/etc/slurm"})
	if err != nil || len(cfg.Nodes) != 2 {
		t.Errorf("%v: %+v", err, cfg.Nodes)
	}
}

// TestPartitionNodes: ALL, node sets by list and by feature, and plain lists.
func TestPartitionNodes(t *testing.T) {
	cfg := mustLoad(t, "NodeName=a[1-2] Features=x\nNodeName=b[1-2] Feature=x,y\nNodeSet=some Nodes=a1\nNodeSet=y Feature=y\nNodeSet=both Nodes=a1 Feature=y\nNodeSet=none Feature=z\n"+
		"PartitionName=p1 Nodes=all\nPartitionName=p2 Nodes=some,b[1,2]\nPartitionName=p3 Nodes=y\nPartitionName=p4 Nodes=both\nPartitionName=p5 Nodes=none\n")
	var got []string
	for _, p := range cfg.Partitions {
		got = append(got, p.Nodes)
	}
	if d := cmp.Diff([]string{"ALL", "a1,b[1,2]", "b[1-2]", "a1,b[1-2]", ""}, got); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
}

// TestDownNodes makes an event of the line.
func TestDownNodes(t *testing.T) {
	_, events, _, err := load(t, "NodeName=n[1-4]\nDownNodes=n[2-3] State=DRAIN Reason=\"bad fan\"\n")
	want := []scheduler.Event{scheduler.SetNodes("n[2-3]", scheduler.NodeDrain, "bad fan")}
	if d := cmp.Diff(want, events); d != "" || err != nil {
		t.Errorf("%v: mismatch (-want +got)\n%s", err, d)
	}
}

// TestOldKeys are spellings of earlier versions.
func TestOldKeys(t *testing.T) {
	cfg := mustLoad(t, "NodeName=n1 Procs=4 Feature=a State=CLOUD\nPartitionName=p Shared=FORCE:2 Priority=7\nPartitionName=q OverSubscribe=EXCLUSIVE ExclusiveUser=NO\nPartitionName=r ExclusiveTopo=YES AllowAccounts=ALL MaxNodes=UNLIMITED\n")
	p, q, r := cfg.Partitions[0], cfg.Partitions[1], cfg.Partitions[2]
	if p.Oversubscribe != "FORCE:2" || *p.Tier != 7 || *p.JobFactor != 7 || q.Exclusive != scheduler.ExclusiveNode || r.Exclusive != scheduler.ExclusiveTopo ||
		r.AllowAccounts != nil || r.MaxNodes != 0 || cfg.Nodes[0].State != scheduler.NodePoweredDown || cfg.Nodes[0].Sockets != 4 {
		t.Errorf("%+v\n%+v\n%+v\n%+v", cfg.Nodes[0], p, q, r)
	}
}

// TestParameters maps what has a counterpart.
func TestParameters(t *testing.T) {
	p := mustLoad(t, `
SelectTypeParameters=CR_Socket,CR_LLN
SchedulerType=sched/backfill
SchedulerParameters=bf_window=60,bf_resolution=600,bf_interval=1,max_sched_time=3,bf_max_time=10,bf_yield_interval=1000000,bf_yield_sleep=1000000,default_queue_depth=7,bf_hetjob_immediate,max_switch_wait=9,sched_interval=-1
PriorityWeightTRES=CPU=100
PriorityCalcPeriod=00:01
PriorityMaxAge=00:00:20
PriorityFlags=no_fair_tree,max_tres
PreemptType=preempt/partition_prio
PreemptMode=suspend,gang
PreemptParameters=reorder_count=3,youngest_first
PreemptExemptTime=1:00:00
AccountingStorageEnforce=associations,safe
DependencyParameters=kill_invalid_depend,max_depend_depth=4
JobRequeue=0
KillWait=60
MessageTimeout=20
ResvOverRun=5
CompleteWait=32
MaxArraySize=100
DefMemPerGPU=2000
`).Parameters
	want := scheduler.Parameters{
		Queue:    scheduler.QueueParameters{Depth: 7, Disabled: true, MaxSteps: 3 * slurmconf.StepsPerSecond},
		Plan:     scheduler.PlanParameters{Window: time.Hour, Resolution: 10 * time.Minute, Interval: time.Second, MaxSteps: 10 * slurmconf.StepsPerSecond / 2, HetPrio: "min", HetImmediate: true},
		Priority: scheduler.PriorityParameters{TRES: "CPU=100", MaxAge: time.Minute, CalcPeriod: time.Minute, Flags: "NO_FAIR_TREE,MAX_TRES"},
		Select: scheduler.SelectParameters{Unit: "CR_Socket", NoMemory: true, Flags: []string{"CR_LLN"}, MaxSwitchWait: 9 * time.Second,
			Defaults: scheduler.ResourceDefaults{DefMemPerGPU: 2000}},
		Preempt:  scheduler.PreemptParameters{Type: "partition_prio", Mode: "SUSPEND,GANG", ExemptTime: time.Hour, Parameters: "reorder_count=3,youngest_first"},
		Limits:   scheduler.LimitParameters{Enforce: "associations,safe"},
		KillWait: time.Minute, MessageTimeout: 20 * time.Second, ResvOverRun: 5 * time.Minute, CompleteWait: 32 * time.Second, NoRequeue: true, MaxArraySize: 100, KillInvalidDep: true, MaxDependDepth: 4,
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
}
