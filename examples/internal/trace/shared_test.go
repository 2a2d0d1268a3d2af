package trace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// shared returns the path of a file of the data that lies beside the
// repository, and skips the test where it is absent.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{"..", "..", "..", "..", "shared", "data"}, elem...)...)
	if m, _ := filepath.Glob(file); len(m) == 0 {
		t.Skipf("%s is absent: %v", file, fs.ErrNotExist)
	}
	return file
}

func TestSharedLogs(t *testing.T) {
	for _, tc := range []struct {
		file, format string
		jobs         int
		gpus, tasks  int64 // sums
		nodes        int64
		last         int64 // seconds
	}{
		{"traces/swf/NASA-iPSC-1993-3.1-cln.swf.gz", "swf", 18239, 0, 309953, 0, 7948936},
		{"traces/swf/alcf-theta-3000.txt", "alcf", 3000, 0, 0, 240833, 1515684829},
		{"traces/swf/alcf-anl-3000.txt", "alcf", 3000, 0, 0, 4748736, 1746663},
		{"traces/openb/openb_pod_list_default.csv.gz", "openb", 8152, 7433, 8152, 8152, 12901761},
		{"traces/openb/openb_pod_list_gpuspec33.csv.gz", "openb", 8152, 7433, 8152, 8152, 12901761},
		{"traces/philly-vc/6214e9.csv", "philly-vc", 2000, 2214, 0, 0, 4184082},
		{"traces/ubccr-micro/jobs500.csv", "ubccr", 500, 0, 7982, 0, 25103},
		{"traces/ubccr-micro/small.csv", "ubccr", 20, 0, 350, 0, 43},
		{"traces/tiresias/60_job.csv", "tiresias", 60, 170, 0, 0, 1779},
		{"traces/sacct/sacct_simple.log", "sacct", 4, 0, 100, 6, 1639146208},
		{"published/easy-backfill/jobs.csv", "easy", 801, 0, 0, 2180, 16000},
	} {
		t.Run(tc.file, func(t *testing.T) {
			list, err := Open(shared(t, tc.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if list.Format != tc.format || len(list.Jobs) != tc.jobs {
				t.Errorf("format %s, %d jobs, want %s, %d", list.Format, len(list.Jobs), tc.format, tc.jobs)
			}
			var gpus, tasks, nodes int64
			prev := int64(0)
			for _, j := range list.Jobs {
				gpus, tasks, nodes = gpus+j.GPUs, tasks+j.Tasks, nodes+j.Nodes
				if j.Submit < prev || j.Runtime < 0 || j.Limit < 0 {
					t.Fatalf("job %s: submit %d after %d, run %d, limit %d", j.ID, j.Submit, prev, j.Runtime, j.Limit)
				}
				prev = j.Submit
			}
			t.Logf("gpus %d tasks %d nodes %d last %d skipped %v", gpus, tasks, nodes, prev/Second, list.Skipped)
			for _, c := range []struct {
				what      string
				got, want int64
			}{{"GPUs", gpus, tc.gpus}, {"tasks", tasks, tc.tasks}, {"nodes", nodes, tc.nodes}, {"last submit", prev / Second, tc.last}} {
				if c.want != 0 && c.got != c.want {
					t.Errorf("sum of %s = %d, want %d", c.what, c.got, c.want)
				}
			}
		})
	}
}

func TestSharedPodLists(t *testing.T) {
	files, _ := filepath.Glob(shared(t, "traces/openb/openb_pod_list_*"))
	for _, file := range files {
		list, err := Open(file, "")
		if filepath.Base(file)[:len("openb_pod_list_multigpu")] == "openb_pod_list_multigpu" {
			if err == nil {
				t.Errorf("Open(%s) took a list without times", file)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: %d", file, len(list.Jobs))
	}
}

func TestSharedNodeLists(t *testing.T) {
	for _, tc := range []struct {
		file              string
		nodes             int
		gpus, milli, last int64
	}{
		{"traces/openb/openb_node_list_gpu_node.csv", 1213, 6212, 107_018_000, 0},
		{"traces/openb/openb_node_list_all_node.csv", 1523, 6212, 0, 0},
		{"traces/spot2026/node_info_df.csv", 4278, 0, 0, 0},
	} {
		nodes, err := OpenNodes(shared(t, tc.file))
		if err != nil {
			t.Fatal(err)
		}
		var gpus, milli int64
		for _, n := range nodes {
			gpus, milli = gpus+n.GPUs, milli+n.MilliCPU
		}
		t.Logf("%s: %d nodes, %d GPUs, %d milli-CPU", tc.file, len(nodes), gpus, milli)
		if len(nodes) != tc.nodes || tc.gpus != 0 && gpus != tc.gpus || tc.milli != 0 && milli != tc.milli {
			t.Errorf("%s: %d nodes, %d GPUs, %d milli-CPU; want %d, %d, %d", tc.file, len(nodes), gpus, milli, tc.nodes, tc.gpus, tc.milli)
		}
	}
}

func TestSharedSacctOddities(t *testing.T) {
	list, err := Open(shared(t, "traces/sacct/sacct_simple.log"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"job_00001", "job_0||0002", "job_0|0003", "job_|00004"}
	for i, j := range list.Jobs {
		if j.Name != want[i] {
			t.Errorf("job %s has the name %q, want %q", j.ID, j.Name, want[i])
		}
	}
	j := list.Jobs[2]
	if j.MemPerNodeMiB != 250*1024 || j.Nodes != 2 || j.Tasks != 18 || j.Limit != 3*86400*Second {
		t.Errorf("job 3: %+v", j)
	}
	list, err = Open(shared(t, "traces/sacct/sacct_dump2110.log"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list.Jobs {
		t.Logf("%d: %q constraint %q nodes %d tasks %d mem %d", j.Line, j.Name, j.Constraint, j.Nodes, j.Tasks, j.MemPerNodeMiB)
	}
}

func TestSharedNotSWF(t *testing.T) {
	_, err := Open(shared(t, "traces/ubccr-micro/jobs500.swf"), "")
	if !errors.Is(err, ErrFormat) {
		t.Fatalf("Open = %v, want %v", err, ErrFormat)
	}
	_, err = Open(shared(t, "traces/ubccr-micro/jobs500.swf"), "swf")
	if !errors.Is(err, ErrSyntax) {
		t.Fatalf("Open as SWF = %v, want %v", err, ErrSyntax)
	}
	t.Log(err)
}
