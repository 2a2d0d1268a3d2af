package trace

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// checkList holds what every list that was read must satisfy.
func checkList(t *testing.T, list *List) {
	t.Helper()
	prev := int64(0)
	for _, j := range list.Jobs {
		if j.Submit < prev || j.Submit > (maxSeconds+1)*Second || j.Runtime < 0 || j.Limit < 0 || j.Limit > (maxSeconds+1)*Second ||
			j.Runtime != Forever && j.Runtime > (maxSeconds+1)*Second {
			t.Fatalf("times of %+v after %d", j, prev)
		}
		for _, n := range [...]int64{j.Nodes, j.Tasks, j.TasksPerNode, j.MilliCPUPerTask, j.GPUs, j.GPUsPerNode, j.GPUMilli} {
			if n < 0 || n > maxCount {
				t.Fatalf("counts of %+v", j)
			}
		}
		if j.MemPerNodeMiB < 0 || j.MemPerCPUMiB < 0 || j.MemPerNodeMiB > maxMemMiB+1 {
			t.Fatalf("memory of %+v", j)
		}
		prev = j.Submit
	}
}

func FuzzRead(f *testing.F) {
	f.Add("; MaxProcs: 5\n1 0 -1 1451 128 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n")
	f.Add("Job_name Submit Runtime Nodes Comment Perc\n1 0 7560 512 1 90\n")
	f.Add(openbHead + "openb-pod-0001,6000,12288,1,460,T4|G2,LS,Running,427061,12902960,427061\n")
	f.Add("job,arrival_s,gpus,duration_s\n0,0,1,3828694\n")
	f.Add(ubccrHead + "1;1002;-1;user1;60;1;1;account1;normal;normal;CPU-N;5;gpu:1\n")
	f.Add("job,submit_s,nodes,walltime_s,runtime_s\n0,0.000000,1,149.000000,88.510000\n")
	f.Add("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,vgg19,164,30")
	f.Add(sacctHead + "1|u|a|2021-12-10T14:23:28|2021-12-10T14:23:28|2021-12-11T13:56:53|COMPLETED|1|32|500G|cpu=32,gres/gpu=1|3-00:00:00|a|b|\n")
	f.Add("\x1f\x8b\x08\x00")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text), "f", "")
		if err != nil {
			if s := err.Error(); strings.ContainsAny(s, "\n\r") {
				t.Fatalf("error of more than a line: %q", s)
			}
			return
		}
		checkList(t, list)
	})
}

func FuzzReadNodes(f *testing.F) {
	f.Add("sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,2,P100\n")
	f.Add("gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := ReadNodes(strings.NewReader(text), "f")
		if err == nil && len(nodes) == 0 {
			t.Fatal("no nodes and no error")
		}
	})
}

// FuzzSWF reads, writes what was read as SWF, and reads that again.
func FuzzSWF(f *testing.F) {
	f.Add("1 0 -1 1451 128 -1 -1 64 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n")
	f.Add("; MaxNodes: 5\n1 7.25 -1 0 1 -1 -1 -1 5 4096 -1 7 1 -1 3 -1 -1 -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text), "f", "swf")
		if err != nil {
			return
		}
		checkList(t, list)
		again, err := Read(strings.NewReader(swfText(list)), "f", "swf")
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Jobs {
			list.Jobs[i].Line, again.Jobs[i].Line = 0, 0
		}
		if !reflect.DeepEqual(list.Jobs, again.Jobs) {
			t.Fatalf("read %+v\nagain %+v", list.Jobs, again.Jobs)
		}
	})
}

func swfText(list *List) string {
	var b strings.Builder
	num := func(kind, name string) string {
		if name == "" {
			return "-1"
		}
		return strings.TrimPrefix(name, kind)
	}
	sec := func(us int64) string { return fmt.Sprintf("%d.%06d", us/Second, us%Second) }
	for _, j := range list.Jobs {
		limit, mem := "-1", "-1"
		if j.Limit > 0 {
			limit = sec(j.Limit)
		}
		if j.MemPerCPUMiB > 0 {
			mem = strconv.FormatInt(j.MemPerCPUMiB*1024, 10)
		}
		fmt.Fprintln(&b, j.ID, sec(j.Submit), -1, sec(j.Runtime), j.Tasks, -1, -1, j.Tasks, limit, mem, 1,
			num("user", j.User), num("group", j.Account), -1, num("queue", j.Partition), -1, -1, -1)
	}
	return b.String()
}

// FuzzSplitFields splits, joins with quotes, and splits again.
func FuzzSplitFields(f *testing.F) {
	f.Add(`a,"b,""c",`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := splitFields(nil, s, ',')
		if err != nil {
			return
		}
		quoted := make([]string, len(got))
		for i, v := range got {
			quoted[i] = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		again, err := splitFields(nil, strings.Join(quoted, ","), ',')
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("split %q, again %q, %v", got, again, err)
		}
	})
}
