package scheduler_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-sched/berth/scheduler"
)

var dependencySeeds = []string{
	"afterok:12:13", "after:1+5?singleton", "12_3", "expand:4,afterany:5_*", "AfterNotOK:7,aftercorr:9_3", "afterburstbuffer:1", "after:2+16777216",
}

// FuzzDependency reads any text: no panic, and what is read and written reads
// the same.
func FuzzDependency(f *testing.F) {
	for _, s := range dependencySeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := scheduler.ParseDependency(text)
		if err != nil {
			e, ok := errors.AsType[*scheduler.DependencyError](err)
			if !ok || e.Offset < 0 || e.Offset > len(text) || !errors.Is(err, scheduler.ErrDependency) {
				t.Fatalf("ParseDependency(%q): error %#v", text, err)
			}
			return
		}
		out := string(scheduler.AppendDependency(nil, d))
		again, err := scheduler.ParseDependency(out)
		if diff := cmp.Diff(d, again); err != nil || diff != "" {
			t.Fatalf("%q, written as %q: %v (-want +got)\n%s", text, out, err, diff)
		}
	})
}

func TestDependencyErrorsNameTheToken(t *testing.T) {
	for _, tt := range []struct {
		text string
		at   int
	}{
		{"", 0}, {"afterok", 7}, {"afterok:", 8}, {"afterok:0", 8}, {"afterok:1,never:4", 10}, {"afterok:1+5", 9}, {"afterok:1,after:2?after:3", 17},
		{"after:1+", 8}, {"after:1+16777217", 8}, {"singleton:4", 9}, {"12_x", 3}, {"12_4000001", 3}, {"9223372036854775808", 0},
	} {
		_, err := scheduler.ParseDependency(tt.text)
		e, ok := errors.AsType[*scheduler.DependencyError](err)
		if !ok || e.Offset != tt.at {
			t.Errorf("ParseDependency(%q): %v, want an error at %d", tt.text, err, tt.at)
		}
	}
}
