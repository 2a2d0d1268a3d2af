package sbatch_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// TestSpellings are the ways to write one option.
func TestSpellings(t *testing.T) {
	for _, args := range [][]string{
		{"--ntasks=4"}, {"--ntasks", "4"}, {"-n4"}, {"-n", "4"}, {"-Hn4"}, {"-HQn", "4"}, {"--tasks=4"},
	} {
		s := parse(t, sbatch.Input{Args: args})
		if got := s.Components[0].Spec.Tasks; got != 4 {
			t.Errorf("%v: %d tasks", args, got)
		}
	}
	if got := parse(t, sbatch.Input{Args: []string{"--gpus-per-n=3"}}).Components[0].Spec.GPUsPerNode; got != "3" {
		t.Errorf("a unique beginning: %q", got)
	}
	s := parse(t, sbatch.Input{Args: []string{"-n4", "--", "-x.sh", "-n", "5"}})
	if s.Script != "-x.sh" || len(s.Arguments) != 2 {
		t.Errorf("after --: %q %q", s.Script, s.Arguments)
	}
	s = parse(t, sbatch.Input{Args: []string{"-n4", "run", "-n5"}})
	if s.Components[0].Spec.Tasks != 4 || s.Script != "run" || s.Arguments[0] != "-n5" {
		t.Errorf("the script's own options were read: %+v", s)
	}
}

// TestOptionalArguments are the options that may stand alone.
func TestOptionalArguments(t *testing.T) {
	for _, tt := range []struct {
		args string
		test func(scheduler.JobSpec) bool
	}{
		{"--nice x", func(s scheduler.JobSpec) bool { return s.Nice == 100 }},
		{"--nice=-5 x", func(s scheduler.JobSpec) bool { return s.Nice == -5 }},
		{"-k x", func(s scheduler.JobSpec) bool { return s.NoKill }},
		{"--no-kill=off x", func(s scheduler.JobSpec) bool { return !s.NoKill }},
		{"--exclusive=user x", func(s scheduler.JobSpec) bool { return s.Exclusive == scheduler.ExclusiveUser }},
		{"--exclusive=mcs x", func(s scheduler.JobSpec) bool { return s.Exclusive == scheduler.ExclusiveMCS }},
		{"--priority=TOP x", func(s scheduler.JobSpec) bool { return s.Priority == 4294967294 }},
		{"-N 2-8 x", func(s scheduler.JobSpec) bool { return s.MinNodes == 2 && s.MaxNodes == 8 && s.NodesRange }},
		{"-N1-15:4 x", func(s scheduler.JobSpec) bool { return len(s.NodeSizes) == 4 && s.NodeSizes[3] == 13 }},
		{"-t UNLIMITED x", func(s scheduler.JobSpec) bool { return s.TimeLimit == scheduler.Infinite }},
		{"-t 0 x", func(s scheduler.JobSpec) bool { return s.TimeLimit == scheduler.Infinite }},
		{"-t 0:30 x", func(s scheduler.JobSpec) bool { return s.TimeLimit == time.Minute }},
		{"--begin=now+1800 x", func(s scheduler.JobSpec) bool { return s.Begin == scheduler.Time(at.Add(30*time.Minute).UnixMicro()) }},
		{"-B 2:*:1 x", func(s scheduler.JobSpec) bool { return s.ExtraNodeInfo == "2:*:1" }},
		{"-S0 x", func(s scheduler.JobSpec) bool { return s.CoreSpecSet && s.CoreSpec == 0 }},
		{"--tmp=2G x", func(s scheduler.JobSpec) bool { return s.TmpMiB == 2048 }},
		{"-m block:cyclic,Pack x", func(s scheduler.JobSpec) bool { return s.Distribution == "block:cyclic,Pack" }},
		{"-m plane=4 x", func(s scheduler.JobSpec) bool { return s.Distribution == "plane=4" }},
		{"-L matlab:2,ansys x", func(s scheduler.JobSpec) bool { return s.Licenses == "matlab:2,ansys" }},
		{"--hint=nomultithread x", func(s scheduler.JobSpec) bool { return s.Hint == "nomultithread" }},
		{"-p a,b -q c,d x", func(s scheduler.JobSpec) bool { return len(s.Partitions) == 2 && s.QOS[1] == "d" }},
	} {
		if s := parse(t, sbatch.Input{Args: words(tt.args)}).Components[0].Spec; !tt.test(s) {
			t.Errorf("%s: %+v", tt.args, s)
		}
	}
}

// TestBadOptions are refused with a typed error that names the option.
func TestBadOptions(t *testing.T) {
	for _, tt := range []struct {
		args string
		want error
	}{
		{"--gpu-count=4 x", sbatch.ErrUnknownOption}, {"-y x", sbatch.ErrUnknownOption}, {"--= x", sbatch.ErrUnknownOption},
		{"--het-group=1 x", sbatch.ErrUnknownOption}, // srun's
		{"--mem-per=4 x", sbatch.ErrAmbiguous}, {"--gpus-per=4 x", sbatch.ErrAmbiguous},
		{"--hold=yes x", sbatch.ErrArgument}, {"-n", sbatch.ErrArgument}, {"--ntasks", sbatch.ErrArgument},
		{"-n 0 x", sbatch.ErrValue}, {"-n -4 x", sbatch.ErrValue}, {"-c x x", sbatch.ErrValue}, {"--mem=1.5G x", sbatch.ErrValue},
		{"--mem=8X x", sbatch.ErrValue}, {"--mem=G x", sbatch.ErrValue}, {"-t 1:2:3:4 x", sbatch.ErrValue}, {"-a 5-1 x", sbatch.ErrValue},
		{"-d sometime:4 x", sbatch.ErrValue}, {"-C a**2 x", sbatch.ErrValue}, {"--signal=FOO x", sbatch.ErrValue},
		{"--gpu-bind=foo x", sbatch.ErrValue}, {"--gpu-freq=warp x", sbatch.ErrValue}, {"--hint=fast x", sbatch.ErrValue},
		{"--begin=whenever x", sbatch.ErrValue}, {"--exclusive=me x", sbatch.ErrValue}, {"--nice=1e3 x", sbatch.ErrValue},
		{"--switches=0 x", sbatch.ErrValue}, {"--gres-flags=x x", sbatch.ErrValue}, {"--tres-per-task=mem=5 x", sbatch.ErrValue},
		{"--tres-per-task=cpu x", sbatch.ErrValue}, {"-m sideways x", sbatch.ErrValue}, {"-B 1:2:3:4 x", sbatch.ErrValue},
		{"-L a,b|c x", sbatch.ErrValue}, {"--kill-on-invalid-dep=perhaps x", sbatch.ErrValue}, {"-F hosts x", sbatch.ErrValue},
		{"--gpus= x", sbatch.ErrValue},
	} {
		_, err := sbatch.Parse(sbatch.Input{Args: words(tt.args), Now: at})
		var e *sbatch.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Option == "" || e.Origin.Line == 0 {
			t.Errorf("%s: %v, want %v", tt.args, err, tt.want)
		}
	}
	for _, args := range []string{"-w n[3-1] x", "-N 0 x", "-N 8-2 x"} {
		if _, err := sbatch.Parse(sbatch.Input{Args: words(args), Now: at}); err == nil {
			t.Errorf("%s: accepted", args)
		}
	}
	_, err := sbatch.Parse(sbatch.Input{Args: words("-N8 --segment=3 x"), Now: at}) // T05
	var seg *sbatch.SegmentError
	if !errors.As(err, &seg) || err.Error() != `sbatch: parse "--segment=3" at argument 2: --segment=3 does not fit the job size (8): node count must be evenly divisible by segment size` {
		t.Errorf("segment: %v", err)
	}
	_, err = sbatch.Parse(sbatch.Input{Args: words("-n2 --ntasks-per-core=2 --threads-per-core=1 x"), Now: at})
	var tpc *sbatch.TasksPerCoreError
	if !errors.As(err, &tpc) {
		t.Errorf("tasks per core: %v", err)
	}
}

// TestScript covers where directives end, quoting and comments.
func TestScript(t *testing.T) {
	const body = "#!/bin/bash\r\n" +
		"#SBATCH -J \"a job\" --comment='it''s' # not read -n 9\r\n" +
		"  #SBATCH -n 7\n" + // not at the beginning of the line
		"#SBATCHX -n 8\n" +
		"\n" +
		"# a comment\n" +
		"#SBATCH -n\t4\n" +
		"##SBATCH -n 6\n" +
		"#SBATCH --output=a\\ b\n" +
		"hostname\n" +
		"#SBATCH -n 5\n"
	s := parse(t, sbatch.Input{Script: body}).Components[0]
	want := scheduler.JobSpec{Name: "a job", Comment: "its", Tasks: 4, Kept: kept("output", "a b")}
	if d := cmp.Diff(want, s.Spec); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
	if g, _ := s.Last("ntasks"); g.At != (sbatch.Origin{Source: sbatch.FromScript, Line: 7}) {
		t.Errorf("origin of -n: %v", g.At)
	}
	for _, bad := range []string{"#SBATCH foo\n", "#SBATCH -n 4 : -n 5\n", "#SBATCH -J 'open\n", "#SBATCH --nope\n"} {
		_, err := sbatch.Parse(sbatch.Input{Script: "#!/bin/sh\n" + bad, Now: at})
		var e *sbatch.Error
		if !errors.As(err, &e) || e.Origin.Line != 2 || e.Origin.Source != sbatch.FromScript {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPrecedence: the command line beats the environment, which beats the
// script; a conflicting variable is dropped in silence.
func TestPrecedence(t *testing.T) {
	in := sbatch.Input{Script: "#!/bin/sh\n#SBATCH -A script -p script -t 1\n", Env: []string{"SBATCH_ACCOUNT=env", "SBATCH_PARTITION=env", "SBATCH_EXCLUSIVE=", "HOME=/"},
		Args: words("-A args")}
	s := parse(t, in).Components[0].Spec
	if s.Account != "args" || s.Partitions[0] != "env" || s.TimeLimit != time.Minute || s.Exclusive != scheduler.ExclusiveNode {
		t.Errorf("%+v", s)
	}
	s = parse(t, sbatch.Input{Args: words("--mem=100"), Env: []string{"SBATCH_MEM_PER_CPU=5"}}).Components[0].Spec
	if s.Mem != scheduler.MemPerNode || s.MemMiB != 100 {
		t.Errorf("a variable beat an option: %+v", s)
	}
	_, err := sbatch.Parse(sbatch.Input{Script: "#!/bin/sh\n#SBATCH --mem=100\n", Args: words("--mem-per-cpu=5"), Now: at})
	if !errors.Is(err, sbatch.ConflictMem) {
		t.Errorf("script against command line: %v", err)
	}
}

// TestPlugins: pyxis is built in, other plug-ins come by a list.
func TestPlugins(t *testing.T) {
	in := sbatch.Input{Plugins: []string{"nhc-skip", "site-image="}, Args: words("--container-image x --container-writable --site-image y --nhc-skip --container=oci --container-new=1 run")}
	o := parse(t, in).Components[0]
	want := kept("container-image", "x", "container-writable", "", "site-image", "y", "nhc-skip", "", "container", "oci", "container-new", "1")
	if d := cmp.Diff(want, o.Spec.Kept); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
	if g, _ := o.Last("site-image"); !g.Plugin || g.Value != "y" {
		t.Errorf("%+v", g)
	}
	if _, err := sbatch.Parse(sbatch.Input{Args: words("--site-image y run"), Now: at}); !errors.Is(err, sbatch.ErrUnknownOption) {
		t.Errorf("an option of no plug-in: %v", err)
	}
}

// TestNodeFile reads -F and a -w with a slash.
func TestNodeFile(t *testing.T) {
	files := fstest.MapFS{"etc/hosts.txt": {Data: []byte("n1\nn2\nn3\n")}}
	for _, args := range []string{"-F etc/hosts.txt x", "-w /etc/hosts.txt x"} {
		s := parse(t, sbatch.Input{Args: words(args), Files: files}).Components[0].Spec
		if s.NodeList != "n[1-3]" {
			t.Errorf("%s: node list %q", args, s.NodeList)
		}
	}
	if _, err := sbatch.Parse(sbatch.Input{Args: words("-F gone x"), Files: files, Now: at}); !errors.Is(err, sbatch.ErrValue) {
		t.Errorf("missing file: %v", err)
	}
}

// TestAcceptedOptions are the options of spec/commands.md 1.10: all must be
// read.
func TestAcceptedOptions(t *testing.T) {
	const all = `-A=a -a=1 -C=f -c=2 -D=/ -d=singleton -e=f -G=1 -H -i=f -J=n -M=c -N=1 -n=1 -o=f -p=p -q=q -t=1 -w=n -x=n --begin=now
--clusters=c --comment=c --constraint=f --cpus-per-gpu=1 --cpus-per-task=1 --dependency=afterok:1 --exclude=n --exclusive --exclusive=user --exclusive=mcs
--exclusive=topo --export=ALL --gpus=1 --gpus-per-node=1 --gpus-per-socket=1 --gpus-per-task=1 --gpu-bind=closest --gpu-freq=high --gres=gpu:1
--gres-flags=enforce-binding --hold --mail-type=END --mail-user=u --mem=1 --mem-per-cpu=1 --mem-per-gpu=1 --nice --no-requeue --nodelist=n
--ntasks-per-gpu=1 --ntasks-per-node=1 --tasks-per-node=1 --ntasks-per-socket=1 --open-mode=append --parsable --priority=1 --qos=q --requeue
--reservation=r --segment=1 --consolidate-segments --spread-segments --signal=B:USR1@60 --switches=1 --time-min=1 --tres-per-task=cpu:1 --wckey=k
--wrap=w --test-only -W -V -Q`
	for opt := range strings.FieldsSeq(all) {
		args := []string{opt}
		if !strings.HasPrefix(opt, "--") {
			args = strings.SplitN(opt, "=", 2)
		}
		if _, err := sbatch.Parse(sbatch.Input{Args: args, Now: at}); err != nil {
			t.Errorf("%s: %v", opt, err)
		}
	}
}
