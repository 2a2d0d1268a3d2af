package slurmconf_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/slurmconf"
)

// TestCommands reads command lines and writes them in full.
func TestCommands(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"add account a01 parent=root fairshare=40", "add account a01 set Parent=root Fairshare=40"},
		{"sacctmgr -i create account name=a,b Description='two words'", `add account a b set Description="two words"`},
		{"add user tu001 account=a defaultqos=normal priority=5", "add user tu001 set Account=a DefaultQOS=normal Priority=5"},
		{"modify user tu001,tu002 set qos+=q1,q2", "modify user tu001 tu002 set QOS+=q1,q2"},
		{"modify user set qoslevel=\"normal,supporters\"", "modify user set QOS=normal,supporters"},
		{"modify QOS set normal Priority=0", "modify qos normal set Priority=0"},
		{"update user where name=u account=a set MaxJobs=-1", "modify user u where Account=a set MaxJobs=-1"},
		{"modify account a set GrpTRES=gres/gpu+=2,cpu=4", "modify account a set GrpTRES=gres/gpu+=2,cpu=4"},
		{"modify qos q set flags+=DenyOnLimit MaxTRESPU=cpu=2 MaxSubmitJobsPA=4", "modify qos q set Flags+=DenyOnLimit MaxTRESPerUser=cpu=2 MaxSubmitJobsPerAccount=4"},
		{"modify qos q set MaxCPUsPerUser=8 MaxNodes=2 GrpMem=100", "modify qos q set MaxTRESPerUser=cpu=8 MaxTRESPerJob=node=2 GrpTRES=mem=100"},
		{"modify account a set MaxCPUs=8 MaxWallDurationPerJob=60 Fairs=parent", "modify account a set MaxTRES=cpu=8 MaxWall=60 Fairshare=parent"},
		{"delete user u where account=a", "delete user u where Account=a"},
		{"remove qos q", "delete qos q"},
		{"add cluster micro Fairshare=1 QOS=normal", "add cluster micro set Fairshare=1 QOS=normal"},
		{"list associations format=Account tree", "show"},
		{"modify qos q set preempt=a,b preemptmode=requeue gracetime=120 usagefactor=0.5", "modify qos q set Preempt=a,b PreemptMode=requeue GraceTime=120 UsageFactor=0.5"},
	} {
		c, err := slurmconf.ParseCommand(tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
		} else if got := string(slurmconf.AppendCommand(nil, c)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
	for _, bad := range []string{"", "frobnicate user u", "add", "add dragon x", "add account", "modify qos q", "modify qos q set Color=red", "modify qos q set flags=Shiny",
		"modify qos q set MaxWall=soon", "modify qos q set GrpJobs=many", "modify account a set fairshare=mine", "modify qos q set GrpTRES=cpu", "modify qos q set priority+=4",
		"modify user u set adminlevel=king", "modify qos q set preemptmode=kindly", "add account 'open", "modify qos q set Max=4"} {
		c, err := slurmconf.ParseCommand(bad)
		var e *slurmconf.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v", bad, c, err)
		}
	}
}

// books runs commands on an empty database.
func books(t testing.TB, tres string, commands ...string) (scheduler.Config, error) {
	t.Helper()
	cfg, _, _, err := load(t, "AccountingStorageTRES="+tres+"\nNodeName=n1\n-- sacctmgr --\n"+strings.Join(commands, "\n")+"\n")
	return cfg, err
}

// TestLimitArithmetic has the assignments of spec/qos.md 7 and case L10.
func TestLimitArithmetic(t *testing.T) {
	for _, tt := range []struct {
		sets []string
		want string
	}{
		{[]string{"cpu=16,mem=32G", "gres/gpu=2"}, "cpu=16,mem=32G,gres/gpu=2"},
		{[]string{"mem=32G,gres/gpu=0", "mem-=8G,gres/gpu+=2"}, "mem=24G,gres/gpu=2"},
		{[]string{"cpu=4,node=2", "cpu=-1"}, "node=2"},
		{[]string{"gres/gpu=4", "gres/gpu-=10"}, "gres/gpu=0"},
		{[]string{"gres/gpu=4", "gres/gpu+=2"}, "gres/gpu=6"},
		{[]string{"gres/gpu+=2"}, "gres/gpu=2"},
		{[]string{"cpu=4", "-1"}, ""},
		{[]string{"cpu=2k,mem=1T"}, "cpu=2048,mem=1T"},
	} {
		var cmds []string
		cmds = append(cmds, "add account a")
		for _, s := range tt.sets {
			cmds = append(cmds, "modify account a set GrpTRES="+s)
		}
		cfg, err := books(t, "gres/gpu", cmds...)
		got := ""
		if err == nil && len(cfg.Accounts[1].Limits) > 0 {
			got = cfg.Accounts[1].Limits[0].Value
		}
		if err != nil || got != tt.want {
			t.Errorf("%v: %q, %v; want %q", tt.sets, got, err, tt.want)
		}
	}
}

// TestBooks covers the tree: parents, several accounts, deletion, QOS lists.
func TestBooks(t *testing.T) {
	cfg, err := books(t, "cpu",
		"add qos q1", "add qos q2", "add qos gone", "delete qos gone",
		"add account a QOS=normal,q1", "add account b parent=a", "add account c", "modify account c set parent=b", "add account d",
		"add user u1 account=b,d", "add user u2 account=c partition=p1,p2 maxjobs=3", "add user u3 account=d",
		"modify user u1 where account=b set qos+=q2 fairshare=7", "modify user u1 set defaultaccount=d", "modify user u3 set adminlevel=operator",
		"modify account a set qos-=normal", "modify cluster micro set GrpJobs=9", "delete account d")
	if err != nil {
		t.Fatal(err)
	}
	want := []scheduler.AssocSpec{
		{Account: "root", Limits: []scheduler.LimitSpec{{Name: "GrpJobs", Value: "9"}}},
		{Account: "a", QOS: []string{"q1"}},
		{Account: "b", Parent: "a"},
		{Account: "c", Parent: "b"},
		{Account: "root", User: "root", DefaultAccount: true, Admin: "Administrator"},
		{Account: "b", User: "u1", QOS: []string{"normal", "q1", "q2"}, Shares: "7"},
		{Account: "c", User: "u2", Partition: "p1", DefaultAccount: true, Limits: []scheduler.LimitSpec{{Name: "MaxJobs", Value: "3"}}},
		{Account: "c", User: "u2", Partition: "p2", Limits: []scheduler.LimitSpec{{Name: "MaxJobs", Value: "3"}}},
	}
	if d := cmp.Diff(want, cfg.Accounts); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
	if len(cfg.QOS) != 3 {
		t.Errorf("QOS: %+v", cfg.QOS)
	}
	for _, bad := range []string{"add user u account=nowhere", "add user u", "modify account nowhere set grpjobs=1", "modify account root set qos=nowhere", "delete qos nowhere",
		"add account x parent=nowhere", "add account y\nmodify account y set parent=y", "modify user root set defaultaccount=nowhere"} {
		if _, err := books(t, "cpu", bad); !errors.Is(err, slurmconf.ErrValue) || !strings.Contains(err.Error(), "sacctmgr:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestDumpTypes: a colon inside a TRES list is no separator.
func TestDumpTypes(t *testing.T) {
	cfg, err := books(t, "gres/gpu,gres/gpu:a100", "Cluster - 'c':Fairshare=1:QOS='normal'", "Parent - 'root'",
		"Account - 'a':Description='x:y':GrpTRES=cpu=4,gres/gpu:a100=2:GrpJobs=3", "Parent - 'a'", "User - 'u':DefaultAccount='a':MaxWall=60")
	if err != nil {
		t.Fatal(err)
	}
	want := []scheduler.LimitSpec{{Name: "GrpTRES", Value: "cpu=4,gres/gpu:a100=2"}, {Name: "GrpJobs", Value: "3"}}
	if d := cmp.Diff(want, cfg.Accounts[1].Limits); d != "" {
		t.Errorf("mismatch (-want +got)\n%s", d)
	}
	if u := cfg.Accounts[3]; u.User != "u" || u.Account != "a" || !u.DefaultAccount {
		t.Errorf("%+v", u)
	}
}
