package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var small = []string{"-conf", filepath.Join("testdata", "preempt"), "-trace", filepath.Join("testdata", "preempt", "jobs.csv")}

func with(args ...string) []string { return append(append([]string(nil), small...), args...) }

// TestShow: the tables of the books, and a report with shares and evictions.
func TestShow(t *testing.T) {
	status, out, errs, page := start(t, with("-show", "shares")...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, stderr %s", status, errs)
	}
	for _, want := range []string{
		"\nlost        0.1 GPU hours, 0.1 CPU hours of work to preemption\n", "\nlow        high          1         1 ", "\nshares ",
		"\n b                                       1    0.200000 ", "\n  b                         bob          1    1.000000 ", "LevelFS",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"<h2>Shares of accounts</h2>", "<h2>Fair-share factors</h2>", "<h2>Who preempted whom</h2>",
		"GPU hours lost to preemption"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the report", want)
		}
	}
}

// TestShowPriorities: the queue as sprio shows it, at an instant.
func TestShowPriorities(t *testing.T) {
	status, out, errs, _ := start(t, with("-show", "prio", "-at", "200s")...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, stderr %s", status, errs)
	}
	if !strings.Contains(out, "\npriorities of waiting jobs 3:01 after the first submission\n") || !strings.Contains(out, "\n              1 all            bob          b ") {
		t.Errorf("stdout\n%s", out)
	}
}

// TestReservedNodes: a job of four nodes waits for a reservation of one to pass;
// the report shows it and the job's plan.
func TestReservedNodes(t *testing.T) {
	status, out, errs, page := start(t, with("-reserve",
		"scontrol create reservation ReservationName=later StartTime=now+12minutes Duration=2 Nodes=n3 Users=root")...)
	if status != 0 || errs != "" || !strings.Contains(out, "\nmakespan    24:00\n") {
		t.Fatalf("status %d, stderr %s, stdout\n%s", status, errs, out)
	}
	for _, want := range []string{"reserved: later", `<rect class="band f3" x="300.00" y="0" width="50.00" height="100.0"><title>later: 1 node</title>`,
		"<h2>Promised and actual starts</h2>"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the report", want)
		}
	}
}

// TestCompare: both profiles in one table, for one input and for a list.
func TestCompare(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"-compare", "-jobs", "60"}, &out, &errs); status != 0 {
		t.Fatalf("status %d, stderr %s", status, &errs)
	}
	for _, want := range []string{"of 2: slurm, 60 jobs in ", "of 2: best, 60 jobs in "} {
		if !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 2 {
			t.Errorf("no %q, or more, in\n%s", want, &errs)
		}
	}
	rows, notes, _ := strings.Cut(out.String(), "\n\n")
	if !strings.Contains(notes, "bf_interval=30") {
		t.Errorf("notes\n%s", notes)
	}
	lines := strings.Split(rows, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "trace ") || !strings.Contains(lines[1], " slurm ") || !strings.Contains(lines[2], " best ") {
		t.Errorf("stdout\n%s", &out)
	}
	file := filepath.Join(t.TempDir(), "list")
	text := "# two inputs\n\nmade -jobs 40\nsmall -conf preempt -trace preempt/jobs.csv -reserve \"ReservationName=r StartTime=now Duration=1 Nodes=n3 Users=root\"\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if status := run([]string{"-suite", file, "-dir", "testdata"}, &out, &errs); status != 0 {
		t.Fatalf("status %d, stderr %s", status, &errs)
	}
	for _, want := range []string{"\nmade     slurm ", "\nsmall    slurm ", "\nall      slurm "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestBadAsks: each is one line, and status 1.
func TestBadAsks(t *testing.T) {
	for want, args := range map[string][]string{
		`-show "limits": shares or prio`: {"-show", "limits"},
		"-at goes with -show":            {"-at", "1h"},
		"-show goes with a single run":   {"-show", "prio", "-compare"},
		`-profile "k8s": best or slurm`:  {"-profile", "k8s"},
		`-reserve "Nodes=x Bad=1": `:     {"-reserve", "Nodes=x Bad=1"},
		"no such file":                   {"-suite", "none"},
	} {
		status, out, errs, _ := start(t, args...)
		if status != 1 || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, out, errs)
		}
	}
}

// TestScavengers: half of the jobs give way to the other half and run again.
func TestScavengers(t *testing.T) {
	status, out, errs, page := start(t, "-jobs", "300", "-load", "1.5", "-scavenge", "0.5", "-seed", "2")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, stderr %s", status, errs)
	}
	if !strings.Contains(out, "\nscavenger  regular ") || !strings.Contains(out, "\nlost ") || !bytes.Contains(page, []byte("<h2>Who preempted whom</h2>")) {
		t.Errorf("stdout\n%s", out)
	}
}
