package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestStudy(t *testing.T) {
	data := "../../../shared/data"
	if _, err := os.Stat(data); err != nil {
		t.Skipf("no data at %s", data)
	}
	var out, errs bytes.Buffer
	if status := run([]string{"-data", data, "-lists", "default", "-policies", "BestFit,FGD"}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s%s", status, out.String(), errs.String())
	}
	if !strings.Contains(out.String(), "95.2") {
		t.Errorf("no allocation of 95.2 in\n%s", out.String())
	}
}

func TestBadInput(t *testing.T) {
	for _, args := range [][]string{{"-policies", "None"}, {"-seeds", "x"}, {"-data", t.TempDir()}, {"extra"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 1 || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("run(%q) = %d with %q, want 1 and one line", args, status, errs.String())
		}
	}
}
