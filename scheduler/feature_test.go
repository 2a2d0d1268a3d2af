package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
	"github.com/berth-sched/berth/topology"
	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// featureCluster is the one of spec/cores.md, Cases: six nodes of 4 CPUs.
func featureCluster() scheduler.Config {
	c := scheduler.Config{Profile: scheduler.ProfileSlurm}
	for i, f := range []string{"a,b", "a,c", "b,c", "d,a", "d", "d,c"} {
		n := scheduler.NodeSpec{Names: fmt.Sprintf("n%d", i+1), CoresPerSocket: 4, MemMiB: 1000, TmpMiB: 1000, Features: strings.Split(f, ",")}
		if i == 4 || i == 5 {
			n.TmpMiB = 5000
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.Parameters.Select.NoMemory = true
	return c
}

// submitLine submits a line of sbatch options as job id.
func submitLine(s scheduler.Scheduler, now scheduler.Time, id scheduler.JobID, line string) error {
	sub, err := sbatch.Parse(sbatch.Input{Args: strings.Fields(line), Script: "#!/bin/sh\n", Now: time.UnixMicro(int64(now)).UTC()})
	if err != nil {
		return err
	}
	spec := sub.Specs()[0]
	spec.ID = id
	return s.Apply(now, scheduler.Submit(&spec))
}

// TestFeatureScripts runs testdata/features. Each line of a "run" is the options
// of a job that is alone on the cluster; busy= names nodes that are full,
// profile=best and defects are settings.
func TestFeatureScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/features", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				b.WriteString(featureLine(t, d, strings.TrimSpace(line)))
			}
			return b.String()
		})
	})
}

func featureLine(t *testing.T, d *datadriven.TestData, line string) string {
	cfg := featureCluster()
	if d.HasArg("best") {
		cfg.Profile = scheduler.ProfileBest
	}
	cfg.Defects = d.HasArg("defects")
	if d.HasArg("weight") {
		cfg.Nodes[0].Weight, cfg.Nodes[1].Weight = 5, 5
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := scheduler.JobID(1)
	if d.HasArg("busy") {
		var busy string
		d.ScanArgs(t, "busy", &busy)
		if err := submitLine(s, 0, id, fmt.Sprintf("-N%d -w %s --exclusive -t1", strings.Count(busy, "+")+1, strings.ReplaceAll(busy, "+", ","))); err != nil {
			t.Fatal(err)
		}
		s.Pass(0, nil)
		id++
	}
	if err := submitLine(s, 0, id, line); err != nil {
		return "refused: " + err.Error() + "\n"
	}
	for _, dec := range s.Pass(0, nil) {
		if dec.Job == id && dec.Op == scheduler.OpStart {
			return string(topology.AppendHostlist(nil, dec.Nodes)) + "\n"
		}
	}
	x, err := s.Explain(id)
	if err != nil {
		t.Fatal(err)
	}
	if d.Cmd == "explain" {
		return x.String()
	}
	out := "waits, " + x.Reason.String()
	if x.Planned {
		out += fmt.Sprintf(", planned %d", x.Start/1e6)
	}
	return out + "\n"
}

// The scheduler and sbatch read one grammar.
func TestFeatureGrammarIsSbatchs(t *testing.T) {
	cfg := featureCluster()
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := scheduler.JobID(0)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("abcd&|,()[]*12"))).Draw(t, "expression")
		if text == "" {
			return
		}
		f, want := sbatch.ParseFeatures(text)
		known := !slices.ContainsFunc(f.Names(), func(n string) bool { return len(n) > 1 || !strings.Contains("abcd", n) })
		id++
		err := s.Apply(0, scheduler.Submit(&scheduler.JobSpec{ID: id, Constraint: text}))
		if err == nil {
			err = s.Apply(0, scheduler.Cancel(id))
		}
		malformed := err != nil && strings.Contains(err.Error(), scheduler.ErrFeature.Error())
		if malformed != (want != nil || !known) {
			t.Fatalf("%q: sbatch says %v, the scheduler %v", text, want, err)
		}
	})
}
