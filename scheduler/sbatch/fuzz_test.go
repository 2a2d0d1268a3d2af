package sbatch_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/sbatch"
)

// again is the law of every grammar: what is parsed and appended parses to the
// same value.
func again[T any](f *testing.F, parse func(string) (T, error), app func([]byte, T) []byte, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		if err != nil {
			return
		}
		out := string(app(nil, v))
		w, err := parse(out)
		if err != nil {
			t.Fatalf("%q was read and written as %q: %v", text, out, err)
		}
		if !reflect.DeepEqual(v, w) {
			t.Fatalf("%q is %+v, written as %q it is %+v", text, v, out, w)
		}
	})
}

func FuzzArray(f *testing.F) {
	again(f, sbatch.ParseArray, sbatch.AppendArray, "0-15%4", "1,3,5-9:2%1", "[0-3]", "0-10:4,4")
}

func FuzzDependency(f *testing.F) {
	again(f, sbatch.ParseDependency, scheduler.AppendDependency, "afterok:12:13", "after:1+5?singleton", "12_3", "expand:4,afterany:5_*")
}

func FuzzFeatures(f *testing.F) {
	again(f, sbatch.ParseFeatures, sbatch.AppendFeatures, "a&b|c", "[a*1&d*2]", "x&[(a|b)|c]", "a*2", "(a|d)&c", "a|")
}

func FuzzSignal(f *testing.F) {
	again(f, sbatch.ParseSignal, sbatch.AppendSignal, "USR1@300", "RB:10", "B:SIGTERM@1", "64")
}

func FuzzMemory(f *testing.F) {
	again(f, sbatch.ParseMemory, sbatch.AppendMemory, "64G", "8GB", "1025K", "0", "3T")
}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{"now+1hour", "16:00", "2026-12-01T08:00:00", "12/25/27-10:00pm", "teatime", "uts1", "25.12"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := sbatch.ParseWhen(text, at)
		if err != nil || v.Year() < 1 || v.Year() > 9999 {
			return
		}
		out := v.Format("2006-01-02T15:04:05")
		w, err := sbatch.ParseWhen(out, at)
		if err != nil || w.Unix() != v.Unix() {
			t.Fatalf("%q is %v, written as %q it is %v, %v", text, v, out, w, err)
		}
	})
}

// FuzzArgs reads a command line, one word a line, writes the options and reads
// them again.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{"-N4\n--gpus-per-node=8\n--exclusive\nrun.sh\n-x", "-n\n4\n-c2\n:\n-n8\n--mem=4G\nx", "--container-image\nx\n--wrap=a b",
		"-HQn4\n--tres-per-task=cpu:2,gres/gpu:1", "--signal=B:USR1@30\n-a\n0-9%2", "--gres=gpu:h100:2,shard\n-C\n[a|b]&c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sbatch.Parse(sbatch.Input{Args: strings.Split(text, "\n"), Now: at})
		if err != nil {
			return
		}
		for i := range s.Components {
			args := s.Components[i].AppendArgs(nil)
			w, err := sbatch.Parse(sbatch.Input{Args: args, Now: at})
			if err != nil {
				t.Fatalf("%q was read and written as %q: %v", text, args, err)
			}
			want, got := s.Components[i].Spec, w.Components[0].Spec
			want.Component, want.Name, got.Name = 0, "", ""
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%q, written as %q (-want +got)\n%s", text, args, d)
			}
		}
	})
}

// FuzzScript reads and lints any text as a script.
func FuzzScript(f *testing.F) {
	for _, s := range []string{"#!/bin/sh\n#SBATCH -n4 --mem='4 G'\nsrun x\n#SBATCH -n5\n", "#SBATCH hetjob\n#SBATCH \\\n", "#SBATCH --signal=USR1\ntrap x USR1\n"} {
		f.Add(s)
	}
	cfg := lintConfig(f)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = sbatch.Lint(sbatch.Input{Script: text, Now: at}, &cfg)
	})
}
