package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// start runs the program with a report in a new directory.
func start(t *testing.T, args ...string) (status int, stdout, stderr string, report []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	var out, errs bytes.Buffer
	status = run(append([]string{"-report", file}, args...), &out, &errs)
	report, err := os.ReadFile(file)
	if err != nil && status == 0 {
		t.Error(err)
	}
	return status, strings.Replace(out.String(), file, "report.html", 1), errs.String(), report
}

// TestMainJob: without a log it makes up jobs, and twice is the same.
func TestMainJob(t *testing.T) {
	status, out, errs, page := start(t, "-jobs", "1500")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, stderr %s", status, errs)
	}
	for _, want := range []string{"built-in jobs on 40 nodes with 320 GPUs\n", "\njobs        1500  ", "\nGPUs        320 ", "\nwait ", "\nbounded slowdown ",
		"\nsize ", "\naccount ", "\nuser ", "\npartition ", "\nwaited for ", "\nreport: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"<h2>Who ran where</h2>", "<h2>In use</h2>", "<h2>Queue</h2>", "<h2>Waits</h2>", "<svg"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the report", want)
		}
	}
	_, out2, _, page2 := start(t, "-jobs", "1500")
	if out2 != out || !bytes.Equal(page, page2) {
		t.Error("the second run writes other bytes")
	}
}

// TestPolicies: jobs wait less with backfill than in strict order.
func TestPolicies(t *testing.T) {
	var backfilled []bool
	for _, policy := range []string{"none", "easy", "conservative"} {
		status, out, errs, _ := start(t, "-jobs", "1000", "-seed", "3", "-policy", policy)
		if status != 0 {
			t.Fatalf("%s: status %d, %s", policy, status, errs)
		}
		backfilled = append(backfilled, !strings.Contains(out, "backfilled  0 of"))
	}
	if backfilled[0] || !backfilled[1] || !backfilled[2] {
		t.Errorf("backfilled %v, want all but in strict order", backfilled)
	}
}

func shared(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join("..", "..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(file); err != nil {
		t.Skipf("data is absent: %v", err)
	}
	return file
}

// TestSharedData runs real logs; every run holds itself to the laws.
func TestSharedData(t *testing.T) {
	for _, tc := range []struct {
		trace string
		args  []string
		jobs  string
		deep  bool
	}{
		{trace: "traces/openb/openb_pod_list_default.csv.gz", args: []string{"-nodelist", "traces/openb/openb_node_list_gpu_node.csv"}, jobs: "8152"},
		{trace: "traces/swf/NASA-iPSC-1993-3.1-cln.swf.gz", jobs: "18239"},
		{trace: "traces/philly-vc/6214e9.csv", args: []string{"-nodes", "32", "-gpus", "8"}, jobs: "2000"},
		{trace: "traces/philly-vc/e13805.csv", args: []string{"-nodes", "6", "-gpus", "8", "-policy", "conservative"}, jobs: "607"},
		{trace: "traces/ubccr-micro/jobs500.csv", jobs: "500"},
		{trace: "traces/ubccr-micro/small.csv", args: []string{"-policy", "none"}, jobs: "20"},
		{trace: "published/easy-backfill/jobs.csv", args: []string{"-nodes", "32"}, jobs: "801"},
		{trace: "traces/ubccr-micro/small.csv", args: []string{"-conf", "configs/ubccr-micro"}, jobs: "20"},
		{trace: "traces/ubccr-micro/jobs500.csv", args: []string{"-conf", "configs/ubccr-micro"}, jobs: "500", deep: true},
		{trace: "traces/sacct/sacct_dump2110.log", args: []string{"-nodes", "4", "-cpus", "32", "-mem", "600000"}, jobs: "5"},
		{trace: "traces/sacct/sacct_simple.log", args: []string{"-nodes", "4", "-cpus", "32", "-mem", "600000"}, jobs: "4"},
		{trace: "traces/tiresias/60_job.csv", args: []string{"-nodes", "15", "-gpus", "4"}, jobs: "60"},
		{trace: "traces/swf/alcf-theta-3000.txt", args: []string{"-nodes", "4392"}, jobs: "3000", deep: true},
	} {
		t.Run(tc.trace, func(t *testing.T) {
			if tc.deep && os.Getenv("BERTH_DEEP") == "" {
				t.Skip("takes long; set BERTH_DEEP=1")
			}
			args := []string{"-trace", shared(t, tc.trace)}
			for i, a := range tc.args {
				if i > 0 && (tc.args[i-1] == "-nodelist" || tc.args[i-1] == "-conf") {
					a = shared(t, a)
				}
				args = append(args, a)
			}
			status, out, errs, page := start(t, args...)
			if status != 0 || errs != "" {
				t.Fatalf("status %d: %s", status, errs)
			}
			if !strings.Contains(out, "\njobs        "+tc.jobs+"  ") {
				t.Errorf("not %s jobs:\n%s", tc.jobs, out)
			}
			if len(page) > 5<<20 {
				t.Errorf("report of %d bytes", len(page))
			}
			t.Logf("report of %d bytes", len(page))
		})
	}
}

// TestBadInput: each is one line that says where and what, and status 1.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	const (
		philly = "job,arrival_s,gpus,duration_s\n"
		sacct  = "JobID|JobName|Submit|Start|End|State|NNodes\n"
		stamps = "2021-12-10T14:23:28|2021-12-10T14:23:28|2021-12-10T14:57:00|COMPLETED|1\n"
	)
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write([]byte(philly + strings.Repeat("0,0,1,5\n", 5000))); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	small := []string{"-nodes", "2", "-gpus", "8"}
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"truncated gz", "cut.csv.gz:", append([]string{"-trace", file("cut.csv.gz", zipped.String()[:zipped.Len()/2])}, small...)},
		{"'|' inside a job name that may end in two places",
			`two.log:2: "1|a|b|c|2021-12-10T14:23:28|2021-12-10T14:23:28|2021-12-10T1...": ambiguous: '|' inside a text`,
			append([]string{"-trace", file("two.log", "JobID|JobName|Constraints|Submit|Start|End|State|NNodes\n1|a|b|c|"+stamps)}, small...)},
		{"'|' that no reading explains", `bad.log:2: "1|a|b|`, append([]string{"-trace", file("bad.log", sacct+"1|a|b|x|"+stamps[20:])}, small...)},
		{"SWF-like but not SWF", `x.swf:1: "1;0;-1;15;12;-1;-1;-1;420;-1;-1;u;a;-1;n;n;;-1;": unknown format: looks like SWF, but fields are apart by ';'`,
			[]string{"-trace", file("x.swf", "1;0;-1;15;12;-1;-1;-1;420;-1;-1;u;a;-1;n;n;;-1;\n")}},
		{"negative count", `neg.csv:3: "-3": column gpus: negative`, append([]string{"-trace", file("neg.csv", philly+"0,0,1,5\n1,0,-3,5\n")}, small...)},
		{"2^63", `big.csv:2: "9223372036854775808": column duration_s: out of range`, append([]string{"-trace", file("big.csv", philly+"0,0,1,9223372036854775808\n")}, small...)},
		{"a job larger than the cluster", `wide.csv:2: job 7: 3 nodes needed, 2 have what is asked`, append([]string{"-trace", file("wide.csv", philly+"7,0,24,5\n")}, small...)},
		{"no such file", "no such file", []string{"-trace", filepath.Join(dir, "none.csv")}},
		{"an empty file", "empty.csv: no jobs in it", append([]string{"-trace", file("empty.csv", "")}, small...)},
		{"a missing column", `col.csv:1: "job,arrival_s,gpus,duration_sec": unknown format: heading has no column duration_s`,
			append([]string{"-trace", file("col.csv", "job,arrival_s,gpus,duration_sec\n")}, small...)},
		{"a node list for jobs", "a list of nodes, not of jobs", []string{"-trace", file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,x\n")}},
		{"a node named twice", `twice.csv:3: "a": column name: named before on line 2`,
			[]string{"-nodelist", file("twice.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1000,1,1,x\na,1000,1,1,x\n")}},
		{"no cluster", "say what cluster", []string{"-trace", file("good.csv", philly+"0,0,1,5\n")}},
		{"both clusters", "only one of them", []string{"-nodes", "1", "-nodelist", "x"}},
		{"an unknown policy", `-policy "best"`, []string{"-policy", "best"}},
		{"an unknown format", `"lsf": unknown format`, []string{"-trace", file("ok.csv", philly), "-format", "lsf"}},
		{"arguments", `"x": no arguments are taken`, []string{"x"}},
		{"a negative cluster", "a negative number", []string{"-nodes", "-4"}},
	} {
		status, out, errs, _ := start(t, tc.args...)
		if status != 1 || out != "" || !strings.HasPrefix(errs, "replay: ") || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want one line with %q", tc.name, status, out, errs, tc.want)
		} else {
			t.Logf("%s", strings.TrimSuffix(strings.ReplaceAll(errs, dir+"/", ""), "\n"))
		}
	}
}

// TestPublishedEasyRun: with the published rule the published figures come out
// (summary.csv: mean wait 9.516 s, at most 316.7 s; turnaround 160.9 s, 758 s;
// makespan 16088.5 s).
func TestPublishedEasyRun(t *testing.T) {
	status, out, errs, _ := start(t, "-trace", shared(t, "published/easy-backfill/jobs.csv"), "-nodes", "32", "-policy", "easy", "-lowest")
	if status != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"\nmakespan    4:28:09\n", "\nwait              9.5 s   0.0 s  1:04   5:17\n", "\nturnaround         2:41    1:29  9:54  12:38\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestConf: a site's files describe the cluster, jobs are made up for it.
func TestConf(t *testing.T) {
	status, out, errs, _ := start(t, "-conf", filepath.Join("testdata", "blocks"), "-jobs", "200", "-load", "1.5")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	if !strings.Contains(out, "built-in jobs on 72 nodes with 288 GPUs\n") || !strings.Contains(out, "\njobs        200  ") {
		t.Errorf("stdout\n%s", out)
	}
}

func TestLeaveOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.csv")
	if err := os.WriteFile(file, []byte("job,arrival_s,gpus,duration_s\n1,0,8,5\n2,0,64,5\n3,1,8,5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errs, _ := start(t, "-trace", file, "-nodes", "2", "-gpus", "8", "-leave-out")
	if status != 0 || !strings.Contains(out, "\njobs        2  2 COMPLETED\n") || !strings.Contains(out, "1 jobs that this cluster can never run were left out.") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
}

// TestPrecedingJob: a job waits for the one that its log says it follows.
func TestPrecedingJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.swf")
	text := "; MaxNodes: 4\n; MaxProcs: 4\n" +
		"1 0 -1 100 1 -1 -1 1 200 -1 1 -1 -1 -1 -1 -1 -1 -1\n" +
		"2 0 -1 100 1 -1 -1 1 200 -1 1 -1 -1 -1 -1 -1 1 -1\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errs, _ := start(t, "-trace", file)
	if status != 0 || !strings.Contains(out, "\nmakespan    3:20\n") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
}
