package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const (
	openbHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	ubccrHead = "dt;job_id;wall_time;user;wall_limit;n_tasks;ntasks_per_node;account;partition;qos;constraint;mem;gres\n"
	sacctHead = "JobID|User|Account|Submit|Start|End|State|NNodes|ReqCPUS|ReqMem|ReqTRES|Timelimit|JobName|NTasks\n"
)

func zipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression) // cut at a byte of the text
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Job
	}{
		{"SWF: requested values before used ones, sorted by submission",
			"; MaxNodes: 128 (16 of them I/O)\n" +
				"2 50 -1 7.5 4 -1 -1 8 60 2049 1 3 -1 -1 1 -1 1 -1\n\n" +
				"  1 0 -1 10 4 -1 -1 -1 -1 -1 1 -1 2 -1 -1 -1 -1 -1\r\n",
			[]Job{
				{ID: "1", Line: 4, Runtime: 10 * Second, Tasks: 4, Account: "group2"},
				{ID: "2", Line: 2, Submit: 50 * Second, Runtime: 7_500_000, Limit: 60 * Second, Tasks: 8, MemPerCPUMiB: 3, After: "1", User: "user3", Partition: "queue1"},
			}},
		{"ALCF", "Job_name Submit Runtime Nodes Comment Perc\n9 1514764835 11956 128 1 50\n",
			[]Job{{ID: "9", Line: 2, Submit: 1514764835 * Second, Runtime: 11956 * Second, Nodes: 128}}},
		{"openb: part of a device, any of two models, never scheduled",
			openbHead + "p0,6500,12288,1,460,V100M16|V100M32,BE,Pending,10,25,\np1,1000,1024,0,0,,LS,Running,11,31,21\n",
			[]Job{
				{ID: "p0", Line: 2, Submit: 10 * Second, Runtime: 15 * Second, Nodes: 1, Tasks: 1, MilliCPUPerTask: 6500, MemPerNodeMiB: 12288,
					GPUs: 1, GPUMilli: 460, GPUModels: []string{"V100M16", "V100M32"}, QOS: "BE"},
				{ID: "p1", Line: 3, Submit: 11 * Second, Runtime: 10 * Second, Nodes: 1, Tasks: 1, MilliCPUPerTask: 1000, MemPerNodeMiB: 1024, QOS: "LS"},
			}},
		{"Philly", "job,arrival_s,gpus,duration_s\n0,0,16,3828694\n",
			[]Job{{ID: "0", Line: 2, Runtime: 3828694 * Second, GPUs: 16}}},
		{"UB CCR: -1 runs into the limit",
			ubccrHead + "1;1002;-1;user1;60;24;12;account1;normal;normal;CPU-N;5000;gpu:2\n",
			[]Job{{ID: "1002", Line: 2, Submit: Second, Runtime: Forever, Limit: 3600 * Second, Tasks: 24, TasksPerNode: 12, MemPerNodeMiB: 5000,
				GPUsPerNode: 2, User: "user1", Account: "account1", Partition: "normal", QOS: "normal", Constraint: "CPU-N"}}},
		{"EASY: microseconds", "job,submit_s,nodes,walltime_s,runtime_s,expected_start_s,expected_finish_s,expected_hosts\n10,4.709164,2,399.000000,265.800000,4.709164,270.509164,1-2\n",
			[]Job{{ID: "10", Line: 2, Submit: 4_709_164, Nodes: 2, Limit: 399 * Second, Runtime: 265_800_000}}},
		{"Tiresias", "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n1,8,30,133,vgg11,147,23",
			[]Job{{ID: "1", Name: "vgg11", Line: 2, Submit: 30 * Second, Runtime: 147 * Second, GPUs: 8}}},
		{"sacct: steps and jobs that never ran left out, '|' in a name kept",
			sacctHead +
				"7|u|a|2021-12-10T14:23:28|2021-12-10T14:23:31|2021-12-10T14:57:00|COMPLETED|2|18|500G|billing=18,cpu=18,gres/gpu=8,gres/gpu:a100=8,node=2|3-00:00:00|a|b||c|\n" +
				"7.batch||a|2021-12-10T14:23:28|2021-12-10T14:23:31|2021-12-10T14:57:00|COMPLETED|1|9||||batch|1\n" +
				"8|u|a|2021-12-10T14:23:28|Unknown|2021-12-10T14:57:00|CANCELLED by 5|2|18|4Gc||UNLIMITED|x|\n" +
				"9|u|a|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:02|FAILED|1|2|1.5Gc||UNLIMITED|x|\n",
			[]Job{
				{ID: "9", Name: "x", Line: 5, Submit: 60 * Second, Runtime: Second, Nodes: 1, Tasks: 2, MemPerCPUMiB: 1536, User: "u", Account: "a"},
				{ID: "7", Name: "a|b||c", Line: 2, Submit: 1639146208 * Second, Runtime: 2009 * Second, Limit: 259200 * Second, Nodes: 2, Tasks: 18,
					MemPerNodeMiB: 250 * 1024, GPUs: 8, GPUModels: []string{"a100"}, User: "u", Account: "a"},
			}},
		{"byte order mark, blank lines, quoted fields", "\ufeff\n\njob,arrival_s,gpus,duration_s\n\"a\"\"b,c\",1,1,2\n",
			[]Job{{ID: `a"b,c`, Line: 4, Submit: Second, Runtime: 2 * Second, GPUs: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, text := range []string{tc.text, zipped(t, tc.text)} {
				list, err := Read(strings.NewReader(text), "log", "")
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(list.Jobs, tc.want) {
					t.Fatalf("Read gives\n%+v\nwant\n%+v", list.Jobs, tc.want)
				}
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	const philly = "job,arrival_s,gpus,duration_s\n"
	swf := func(f string) string { return "; Version: 2.2\n" + f + "\n" }
	for _, tc := range []struct {
		name, file, text, want string
		is                     error
	}{
		{"truncated gzip", "a.gz", zipped(t, philly+strings.Repeat("0,0,1,5\n", 10000))[:80], "a.gz:6: compressed data ends too soon, the file is cut short", ErrTruncated},
		{"named gz but plain", "a.gz", philly, `a.gz: "jo": named .gz but does not start as gzip does`, nil},
		{"damaged gzip", "a", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff", "a: compressed data is damaged: flate: corrupt input before offset 1", ErrDamaged},
		{"empty", "a", "", "a: no jobs in it", ErrEmpty},
		{"only a heading", "a", philly, "a: no jobs in it", ErrEmpty},
		{"only SWF comments", "a", "; Version: 2.2\n", "a: no jobs in it", ErrEmpty},
		{"no known form", "a", "hello\n", `a:1: "hello": unknown format: first line is of no known form`, ErrFormat},
		{"SWF-like", "a.swf", "1;0;-1;15;12;-1;-1;-1;420;-1;-1;user5;account2;-1;normal;normal;;-1;\n",
			`a.swf:1: "1;0;-1;15;12;-1;-1;-1;420;-1;-1;user5;account2;-1;normal;nor...": unknown format: looks like SWF, but fields are apart by ';' where SWF has blanks`, ErrFormat},
		{"a node list", "a", "sn,cpu_milli,memory_mib,gpu,model\n", `a:1: "sn,cpu_milli,memory_mib,gpu,model": unknown format: a list of nodes, not of jobs`, ErrFormat},
		{"SWF with too few fields", "a", swf("1 2 3"), `a:2: "1 2 3": syntax: 3 fields, SWF has 18`, ErrSyntax},
		{"negative processors", "a", swf("1 0 -1 10 -4 -1 -1 -1 -1 -1 1 -1 2 -1 -1 -1 -1 -1"), `a:2: "-4": field 5: negative`, ErrNegative},
		{"2^63 seconds", "a", swf("1 0 -1 9223372036854775808 4 -1 -1 -1 -1 -1 1 -1 2 -1 -1 -1 -1 -1"), `a:2: "9223372036854775808": field 4: out of range, at most 8589934592`, ErrRange},
		{"2^63 GPUs", "a", philly + "0,0,9223372036854775808,5\n", `a:2: "9223372036854775808": column gpus: out of range, at most 1073741824`, ErrRange},
		{"negative GPUs", "a", philly + "0,0,1,5\n1,0,-3,5\n", `a:3: "-3": column gpus: negative`, ErrNegative},
		{"no GPUs", "a", philly + "0,0,0,5\n", `a:2: "0": column gpus: no GPU asked`, nil},
		{"a word for a number", "a", philly + "0,0,two,5\n", `a:2: "two": column gpus: not a whole number`, ErrNumber},
		{"a word for seconds", "a", philly + "0,soon,1,5\n", `a:2: "soon": column arrival_s: not a number of seconds`, ErrDecimal},
		{"negative fraction", "a", philly + "0,-0.5,1,5\n", `a:2: "-0.5": column arrival_s: negative`, ErrNegative},
		{"a field too many", "a", philly + "0,0,1,5,6\n", `a:2: "0,0,1,5,6": syntax: 5 fields, the heading has 4`, ErrSyntax},
		{"a quote without end", "a", philly + "\"0,0,1,5\n", `a:2: "\"0,0,1,5": syntax: quoted field without its end`, ErrSyntax},
		{"a column is missing", "a", "job,arrival_s,gpus,duration_s2\n", `a:1: "job,arrival_s,gpus,duration_s2": unknown format: heading has no column duration_s`, ErrFormat},
		{"a column is named twice", "a", "job,arrival_s,gpus,duration_s,job\n", `a:1: "job": column named twice`, nil},
		{"deleted before it started", "a", openbHead + "p,1,1,0,0,,BE,Failed,10,12,20\n", `a:2: "12": column deletion_time: before the start`, nil},
		{"more than a device of each device", "a", openbHead + "p,1,1,1,1500,,BE,Failed,10,12,10\n", `a:2: "1500": column gpu_milli: out of range, at most 1000`, ErrRange},
		{"a list without times", "a", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", `a:1: heading has no creation_time: an arrival sequence without times cannot be replayed`, nil},
		{"unknown gres", "a", ubccrHead + "0;1;15;u;7;12;12;a;n;n;;;fpga:1\n", `a:2: "fpga:1": column gres: only gpu:N is known`, nil},
		{"'|' that fits nowhere", "a", sacctHead + "9|u|a|x|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:02|FAILED|1|2|1G||UNLIMITED|x|\n",
			`a:2: "9|u|a|x|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T0...": syntax: 15 fields, the heading has 14, and no reading of '|' as text fits the columns`, ErrSyntax},
		{"'|' in one of two names", "a", "JobID|Submit|Start|End|State|JobName|SubmitLine\n9|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:02|FAILED|x|y|z\n",
			`a:2: "9|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:0...": ambiguous: '|' inside a text, which may belong to more than one column`, nil},
		{"too few sacct fields", "a", sacctHead + "9|u\n", `a:2: "9|u": syntax: 2 fields, the heading has 14`, ErrSyntax},
		{"sacct time", "a", sacctHead + "9|u|a|1970-13-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:02|FAILED|1|2|1G||UNLIMITED|x|\n",
			`a:2: "1970-13-01T00:01:00": column Submit: not a date and time such as 2021-12-10T14:23:28`, nil},
		{"sacct memory", "a", sacctHead + "9|u|a|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:02|FAILED|1|2|lots||UNLIMITED|x|\n",
			`a:2: "lots": column ReqMem: not an amount of memory such as 4000M`, nil},
		{"sacct ends before it starts", "a", sacctHead + "9|u|a|1970-01-01T00:01:00|1970-01-01T00:01:01|1970-01-01T00:01:00|FAILED|1|2|1G||UNLIMITED|x|\n",
			`a:2: "1970-01-01T00:01:00": column End: before the start`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := Read(strings.NewReader(tc.text), tc.file, "")
			if err == nil {
				t.Fatalf("Read gives %+v, want an error", list.Jobs)
			}
			if err.Error() != tc.want {
				t.Errorf("Read says\n%s\nwant\n%s", err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("Read = %v, which is no %v", err, tc.is)
			}
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("Read gives %T, want *Error", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Read says more than a line: %q", err)
			}
		})
	}
}

func TestReadNamedFormat(t *testing.T) {
	_, err := Read(strings.NewReader("x\n"), "a", "lsf")
	if want := `a: "lsf": unknown format, known are swf, alcf, openb, philly-vc, ubccr, easy, tiresias, sacct`; err == nil || err.Error() != want {
		t.Errorf("Read = %v, want %s", err, want)
	}
}

func TestSkipped(t *testing.T) {
	list, err := Read(strings.NewReader("; c\n"+
		"1 0 -1 -1 4 -1 -1 -1 -1 -1 5 -1 2 -1 -1 -1 -1 -1\n"+
		"2 0 -1 3 -1 -1 -1 -1 -1 -1 5 -1 2 -1 -1 -1 -1 -1\n"+
		"3 0 -1 -1 4 -1 -1 -1 -1 -1 5 -1 2 -1 -1 -1 -1 -1\n"+
		"4 0 -1 1 4 -1 -1 -1 -1 -1 5 -1 2 -1 -1 -1 -1 -1\n"), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Skip{{"no run time", 2, 2}, {"no processors", 1, 3}}
	if !reflect.DeepEqual(list.Skipped, want) || len(list.Jobs) != 1 {
		t.Errorf("%d jobs, skipped %v, want 1, %v", len(list.Jobs), list.Skipped, want)
	}
}

func TestReadNodes(t *testing.T) {
	nodes, err := ReadNodes(strings.NewReader("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,96000,1024,0,\n"), "n")
	want := []Node{{Name: "a", MilliCPU: 64000, MemMiB: 262144, GPUs: 2, Model: "P100", Line: 2}, {Name: "b", MilliCPU: 96000, MemMiB: 1024, Line: 3}}
	if err != nil || !reflect.DeepEqual(nodes, want) {
		t.Errorf("ReadNodes = %+v, %v, want %+v", nodes, err, want)
	}
	for text, want := range map[string]string{
		"sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\na,1,1,0,\n": `n:3: "a": column name: named before on line 2`,
		"sn,cpu_milli,memory_mib,gpu,model\na,1,1,-1,\n":          `n:2: "-1": column gpu: negative`,
		"job,arrival_s,gpus,duration_s\n":                         `n:1: "job,arrival_s,gpus,duration_s": unknown format: heading has no column sn`,
		"":                                                        `n: no nodes in it`,
	} {
		if _, err := ReadNodes(strings.NewReader(text), "n"); err == nil || err.Error() != want {
			t.Errorf("ReadNodes(%q) = %v, want %s", text, err, want)
		}
	}
}

func TestParseMiB(t *testing.T) {
	for s, want := range map[string]int64{"4000M": 4000, "1.5G": 1536, "2T": 2 << 20, "1K": 1, "1025K": 2, "7": 7, "0.0001G": 1, "0": 0} {
		if got, err := parseMiB(s); err != nil || got != want {
			t.Errorf("parseMiB(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "M", "x", "-1G", "9999999999T", "1e3"} {
		if got, err := parseMiB(s); err == nil {
			t.Errorf("parseMiB(%q) = %d, want an error", s, got)
		}
	}
}
