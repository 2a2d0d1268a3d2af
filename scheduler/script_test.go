package scheduler_test

import (
	"testing"

	"github.com/berth-sched/berth/scheduler/schedtest"
	"github.com/cockroachdb/datadriven"
)

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		schedtest.RunScript(t, path, newScheduler)
	})
}
