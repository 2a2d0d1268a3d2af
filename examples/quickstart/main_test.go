package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var b strings.Builder
	if err := run(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"   0 s  job-submit 1\n        -> start job 1 on gpu1,gpu2\n",
		"  20 s  job-submit 4\n        -> start job 4 on gpu3\n",
		"  40 s  node-state gpu4 drain\n",
		"still waiting:\njob 3 PENDING, reason Resources\n",
		"\njob 5 PENDING, reason Priority\n",
		"  planned to start in 1h10m0s\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
