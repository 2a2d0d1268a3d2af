package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// readOpenb reads a pod list of Alibaba's GPU cluster trace of 2023. Each pod
// is one task with a fraction of CPUs and devices. A pod that was never
// scheduled counts as running from its creation to its deletion.
func readOpenb(l lines) (*List, error) {
	t, err := openTable(l, ',', "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
	if err != nil {
		return nil, err
	}
	if _, ok := t.cols["creation_time"]; !ok {
		return nil, t.errorf("", errors.New("heading has no creation_time: an arrival sequence without times cannot be replayed"))
	}
	list := new(List)
	err = t.each(func() {
		j := Job{ID: t.text("name"), Line: t.line, Tasks: 1, Nodes: 1,
			MilliCPUPerTask: t.must("cpu_milli", maxCount),
			MemPerNodeMiB:   t.must("memory_mib", maxMemMiB),
			GPUs:            t.must("num_gpu", maxCount),
			QOS:             t.text("qos"),
			Submit:          t.seconds("creation_time"),
		}
		if j.GPUs > 0 {
			if j.GPUMilli = t.must("gpu_milli", 1000); j.GPUMilli == 0 {
				t.fail("gpu_milli", "0", errors.New("a device of which nothing is asked"))
			}
			if spec := t.text("gpu_spec"); spec != "" {
				j.GPUModels = strings.Split(spec, "|")
			}
		}
		start := j.Submit
		if t.text("scheduled_time") != "" {
			start = t.seconds("scheduled_time")
		}
		end := t.seconds("deletion_time")
		if j.Runtime = end - start; j.Runtime < 0 && t.err == nil {
			t.fail("deletion_time", t.text("deletion_time"), errors.New("before the start"))
		}
		list.Jobs = append(list.Jobs, j)
	})
	return list, err
}

// readPhilly reads one virtual cluster of Microsoft's Philly trace.
func readPhilly(l lines) (*List, error) {
	t, err := openTable(l, ',', "job", "arrival_s", "gpus", "duration_s")
	if err != nil {
		return nil, err
	}
	list := new(List)
	err = t.each(func() {
		j := Job{ID: t.text("job"), Line: t.line,
			Submit:  t.seconds("arrival_s"),
			Runtime: t.seconds("duration_s"),
			GPUs:    t.must("gpus", maxCount),
		}
		if j.GPUs == 0 {
			t.fail("gpus", "0", errors.New("no GPU asked"))
		}
		list.Jobs = append(list.Jobs, j)
	})
	return list, err
}

// readTiresias reads the job table of the Tiresias simulator.
func readTiresias(l lines) (*List, error) {
	t, err := openTable(l, ',', "job_id", "num_gpu", "submit_time", "duration", "model_name")
	if err != nil {
		return nil, err
	}
	list := new(List)
	err = t.each(func() {
		j := Job{ID: t.text("job_id"), Name: t.text("model_name"), Line: t.line,
			Submit:  t.seconds("submit_time"),
			Runtime: t.seconds("duration"),
			GPUs:    t.must("num_gpu", maxCount),
		}
		if j.GPUs == 0 {
			t.fail("num_gpu", "0", errors.New("no GPU asked"))
		}
		list.Jobs = append(list.Jobs, j)
	})
	return list, err
}

// readUBCCR reads the micro-cluster tables of UB CCR's Slurm simulator: run
// time -1 runs into the limit, limits are in minutes, memory in MB a node.
func readUBCCR(l lines) (*List, error) {
	t, err := openTable(l, ';', "dt", "job_id", "wall_time", "user", "wall_limit", "n_tasks", "ntasks_per_node",
		"account", "partition", "qos", "constraint", "mem", "gres")
	if err != nil {
		return nil, err
	}
	list := new(List)
	err = t.each(func() {
		j := Job{ID: t.text("job_id"), Line: t.line,
			Submit:        t.seconds("dt"),
			Limit:         t.must("wall_limit", maxSeconds/60) * 60 * Second,
			Tasks:         t.must("n_tasks", maxCount),
			TasksPerNode:  t.count("ntasks_per_node", maxCount),
			MemPerNodeMiB: t.count("mem", maxMemMiB),
			User:          t.text("user"), Account: t.text("account"), Partition: t.text("partition"),
			QOS: t.text("qos"), Constraint: t.text("constraint"),
		}
		if t.text("wall_time") == "-1" {
			j.Runtime = Forever
		} else {
			j.Runtime = t.seconds("wall_time")
		}
		if j.Tasks == 0 {
			t.fail("n_tasks", "0", errors.New("no task asked"))
		}
		if g := t.text("gres"); g != "" {
			n, err := parseCount(strings.TrimPrefix(g, "gpu:"), maxCount)
			if err != nil || !strings.HasPrefix(g, "gpu:") {
				t.fail("gres", g, errors.New("only gpu:N is known"))
			}
			j.GPUsPerNode = n
		}
		list.Jobs = append(list.Jobs, j)
	})
	return list, err
}

// readEasy reads the job table of the published EASY backfill run (Batsim).
func readEasy(l lines) (*List, error) {
	t, err := openTable(l, ',', "job", "submit_s", "nodes", "walltime_s", "runtime_s")
	if err != nil {
		return nil, err
	}
	list := new(List)
	err = t.each(func() {
		j := Job{ID: t.text("job"), Line: t.line,
			Submit:  t.seconds("submit_s"),
			Runtime: t.seconds("runtime_s"),
			Limit:   t.seconds("walltime_s"),
			Nodes:   t.must("nodes", maxCount),
		}
		if j.Nodes == 0 {
			t.fail("nodes", "0", errors.New("no nodes asked"))
		}
		list.Jobs = append(list.Jobs, j)
	})
	return list, err
}

// OpenNodes reads the list of nodes in the named file.
func OpenNodes(file string) ([]Node, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadNodes(f, file)
}

// ReadNodes reads a list of nodes: Alibaba's of 2023 (sn, cpu_milli,
// memory_mib, gpu, model) or of 2026 (gpu_model, gpu_capacity_num, cpu_num,
// node_name). file is its name in errors.

func ReadNodes(r io.Reader, file string) ([]Node, error) {
	l, head, err := openLines(r, file)
	if err != nil {
		return nil, err
	}
	read := readOpenbNode
	want := []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}
	if strings.HasPrefix(head, "gpu_model,") {
		read = readSpotNode
		want = []string{"gpu_model", "gpu_capacity_num", "cpu_num", "node_name"}
	}
	t, err := openTable(l, ',', want...)
	if errors.Is(err, io.EOF) {
		return nil, &Error{File: file, Err: errors.New("no nodes in it")}
	}
	if err != nil {
		return nil, err
	}
	var nodes []Node
	seen := make(map[string]int)
	err = t.each(func() {
		n := read(t)
		n.Line = t.line
		if n.Name == "" {
			t.fail("name", "", errors.New("a node without a name"))
		}
		if was, twice := seen[n.Name]; twice {
			t.fail("name", n.Name, fmt.Errorf("named before on line %d", was))
		}
		seen[n.Name] = t.line
		nodes = append(nodes, n)
	})
	if err == nil && len(nodes) == 0 {
		err = &Error{File: file, Err: errors.New("no nodes in it")}
	}
	return nodes, err
}

func readOpenbNode(t *table) Node {
	return Node{Name: t.text("sn"), MilliCPU: t.must("cpu_milli", maxCount), MemMiB: t.must("memory_mib", maxMemMiB),
		GPUs: t.count("gpu", maxCount), Model: t.text("model")}
}

// readSpotNode: the list has no memory; 8 GiB a CPU is assumed.
func readSpotNode(t *table) Node {
	cpus := t.must("cpu_num", maxCount/1000)
	return Node{Name: "spot-" + t.text("node_name"), MilliCPU: cpus * 1000, MemMiB: cpus * 8192,
		GPUs: t.count("gpu_capacity_num", maxCount), Model: t.text("gpu_model")}
}
