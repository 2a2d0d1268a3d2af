package slurmconf

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-sched/berth/scheduler"
)

// elsewhereParams are the parameters that are read and concern no decision: names,
// ids that the program gives, plug-ins and programs that others run.
var elsewhereParams = words(`
AccountingStorageType FirstJobID JobAcctGatherType JobSubmitPlugins LaunchParameters MaxJobID PrologFlags Prolog Epilog
TaskProlog ProctrackType ReturnToService SelectType SlurmctldParameters SlurmdParameters TaskPlugin TopologyPlugin`)

// elsewhereParts are those of partitions.
var elsewhereParts = words(`Hidden CpuBind PartitionName SuspendTimeout ResumeTimeout`)

// samples are values of which some key takes some.
var samples = []string{
	"7", "60", "YES", "NO", "n1", "x", "ALL", "sched/builtin", "preempt/qos", "priority/basic", "CR_CPU", "CR_Socket_Memory", "bf_window=7", "REQUEUE",
	"max_depend_depth=7", "topooptional", "cpu=1", "cpu=1,mem=2", "limits", "WEEKLY", "gres/x", "node", "drain", "FORCE:3", "NODE", "NO_FAIR_TREE", "CANCEL",
	"DefCpuPerGPU=3", "CR_Socket", "1", "select/cons_tres", "topology/flat", "preempt/qos\nPreemptMode=REQUEUE",
}

// effect says what a line does to a configuration: whether the line is taken, and
// whether something of the configuration but Unheeded follows it.
func effect(t *testing.T, line, part string) (taken, acts, named bool) {
	t.Helper()
	file := func(extra, part string) (scheduler.Config, error) {
		text := extra + "\nNodeName=n[1-2] CPUs=4 RealMemory=100\nPartitionName=p Nodes=n1 " + part + "\n"
		cfg, _, _, err := Load(fstest.MapFS{"slurm.conf": &fstest.MapFile{Data: []byte(text)}}, Options{})
		return cfg, err
	}
	base, err := file("", "")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := file(line, part)
	if err != nil {
		return false, false, false
	}
	named = len(scheduler.Unenforced(&cfg)) > 0
	cfg.Parameters.Unheeded = nil
	return true, !reflect.DeepEqual(base, cfg), named
}

// TestEveryParameterHasOneUse walks over the parameters that are read: each
// changes the configuration, or is named by Unenforced, or is known to concern no
// decision.
func TestEveryParameterHasOneUse(t *testing.T) {
	keys := func(m map[string]bool, more ...string) []string {
		for k := range m {
			more = append(more, k)
		}
		slices.Sort(more)
		return slices.Compact(more)
	}
	var params, parts []string
	for k := range paramKeys {
		params = append(params, k)
	}
	for k := range unheededKeys {
		params = append(params, k)
	}
	for k := range partitionKeys {
		if k != "partitionname" && k != "nodes" && k != "topology" { // that needs a topology.yaml
			parts = append(parts, k)
		}
	}
	check := func(list []string, elsewhere map[string]bool, line func(k, v string) (string, string)) {
		for _, k := range keys(elsewhere, list...) {
			acts, named, taken := false, false, false
			for _, v := range samples {
				if strings.Contains(v, "\n") && k != "preempttype" {
					continue // two parameters
				}
				a, b := line(k, v)
				ok, act, name := effect(t, a, b)
				taken, acts, named = taken || ok, acts || act, named || name
			}
			switch {
			case !taken:
				t.Errorf("%s: none of the samples is taken", k)
			case elsewhere[k] && k != "partitionname" && (acts || named):
				t.Errorf("%s concerns no decision, but acts is %v and named is %v", k, acts, named)
			case !elsewhere[k] && !acts && !named:
				t.Errorf("%s is read, and neither acts nor is named by Unenforced", k)
			}
		}
	}
	check(params, elsewhereParams, func(k, v string) (string, string) { return k + "=" + v, "" })
	check(parts, elsewhereParts, func(k, v string) (string, string) { return "", k + "=" + v })
	for k := range unheededKeys {
		if paramKeys[k] == nil && !otherKeys[k] {
			t.Errorf("%s: not read at all", k)
		}
	}
}
