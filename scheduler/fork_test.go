package scheduler_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/scheduler/schedtest"
	"pgregory.net/rapid"
)

func TestForkSharesNothing(t *testing.T) {
	s := mixedCluster(t, 20, 200)
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range scheduler.SharedMemory(s, f) {
		t.Errorf("a fork shares %s", x)
	}
}

// forkEvery is of how many calls one is made on a fork too.
var forkEvery = func() int {
	switch {
	case os.Getenv("BERTH_DEEP") != "":
		return 1
	case scheduler.Checking: // each call walks the books as well
		return 40
	}
	return 5
}()

// A forking scheduler makes each call on a fork first, and goes on with the fork
// or the original in turn. What is left behind must stay as it was.
type forking struct {
	scheduler.Scheduler
	t     testingT
	calls int
	left  scheduler.Scheduler
	image []byte // of left
}

type testingT interface {
	Helper()
	Fatalf(string, ...any)
}

func (f *forking) imageOf(s scheduler.Scheduler) []byte {
	f.t.Helper()
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		f.t.Fatalf("AppendSnapshot: %v", err)
	}
	return b
}

// both makes a call on a fork and on the original.
func (f *forking) both(what string, call func(scheduler.Scheduler) string) {
	f.t.Helper()
	if f.calls++; f.calls%forkEvery != 1%forkEvery {
		call(f.Scheduler)
		return
	}
	twin, err := f.Scheduler.Fork()
	if err != nil {
		f.t.Fatalf("Fork: %v", err)
	}
	changed := func() []string { return nil }
	if f.calls%(8*forkEvery) == 1%forkEvery {
		changed = scheduler.Freeze(twin)
		for _, x := range scheduler.SharedMemory(f.Scheduler, twin) {
			f.t.Fatalf("a fork shares %s", x)
		}
	}
	before := f.imageOf(f.Scheduler)
	if !bytes.Equal(before, f.imageOf(twin)) {
		f.t.Fatalf("before %s: the snapshot of the fork differs", what)
	}
	got := call(twin)
	if !bytes.Equal(before, f.imageOf(f.Scheduler)) {
		f.t.Fatalf("%s on a fork changed the original", what)
	}
	if f.left != nil && !bytes.Equal(f.image, f.imageOf(f.left)) {
		f.t.Fatalf("%s changed what was forked before", what)
	}
	after := f.imageOf(twin)
	want := call(f.Scheduler)
	if got != want {
		f.t.Fatalf("%s: the fork says\n%s\nthe original\n%s", what, got, want)
	}
	if !bytes.Equal(after, f.imageOf(f.Scheduler)) || !bytes.Equal(after, f.imageOf(twin)) {
		f.t.Fatalf("after %s: the snapshots differ", what)
	}
	for _, x := range changed() {
		f.t.Fatalf("%s changed %s, which forks share", what, x)
	}
	if f.left, f.image = twin, after; f.calls/forkEvery%2 == 0 {
		f.left, f.Scheduler = f.Scheduler, twin
	}
}

func (f *forking) Apply(now scheduler.Time, ev scheduler.Event) (err error) {
	f.both("Apply "+ev.Kind.String(), func(s scheduler.Scheduler) string {
		err = s.Apply(now, ev)
		return fmt.Sprint(err)
	})
	return err
}

func (f *forking) Pass(now scheduler.Time, dst []scheduler.Decision) []scheduler.Decision {
	n := len(dst)
	f.both("Pass", func(s scheduler.Scheduler) string {
		dst = s.Pass(now, dst[:n])
		return fmt.Sprint(dst[n:])
	})
	return dst
}

// TestScriptsOnForks runs the golden scripts on forks.
func TestScriptsOnForks(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			schedtest.RunScript(t, file, func(cfg scheduler.Config) (scheduler.Scheduler, error) {
				s, err := scheduler.New(cfg, nil)
				if err != nil {
					return nil, err
				}
				return &forking{Scheduler: s, t: t}, nil
			})
		})
	}
}

// propForks drives forks with random events, as CheckLaws does one scheduler.
func propForks(t *rapid.T) {
	schedtest.Laws(t, func(cfg scheduler.Config) (scheduler.Scheduler, error) {
		s, err := scheduler.New(cfg, nil)
		if err != nil {
			return nil, err
		}
		return &forking{Scheduler: s, t: t}, nil
	})
}

func TestForksDoNotLeak(t *testing.T) { rapid.Check(t, propForks) }
