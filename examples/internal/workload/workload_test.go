package workload

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/berth-sched/berth/examples/internal/trace"
)

var parts = []Partition{{"h100", 192}, {"a100", 128}, {"cpu", 0}}

func TestGenerate(t *testing.T) {
	jobs := Generate(Config{Seed: 1, Jobs: 4000, Partitions: parts})
	if len(jobs) != 4000 {
		t.Fatalf("%d jobs", len(jobs))
	}
	var gpuTime, prev int64
	timeouts := 0
	for _, j := range jobs {
		if j.Submit < prev || j.Runtime < trace.Second || j.Runtime > longest*trace.Second || j.Limit <= 0 || j.User == "" || j.Account == "" {
			t.Fatalf("job %+v", j)
		}
		if j.GPUs > 192 || j.GPUs > 128 && j.Partition != "h100" || (j.GPUs == 0) != (j.Partition == "cpu") {
			t.Fatalf("job %+v in the wrong partition", j)
		}
		if j.Limit < j.Runtime {
			timeouts++
		}
		prev = j.Submit
		gpuTime += j.GPUs * j.Runtime / trace.Second
	}
	if load := float64(gpuTime) / 320 / float64(prev/trace.Second); math.Abs(load-0.9) > 0.02 {
		t.Errorf("load %.3f, want 0.9", load)
	}
	if timeouts == 0 || timeouts > 4000/20 {
		t.Errorf("%d jobs exceed their limit", timeouts)
	}
	if !reflect.DeepEqual(jobs, Generate(Config{Seed: 1, Jobs: 4000, Partitions: parts})) {
		t.Error("the same seed gives another list")
	}
	if reflect.DeepEqual(jobs, Generate(Config{Seed: 2, Jobs: 4000, Partitions: parts})) {
		t.Error("another seed gives the same list")
	}
}

// TestProportions compares both populations with the published figures.
func TestProportions(t *testing.T) {
	jobs := Generate(Config{Seed: 3, Jobs: 60000, Partitions: parts})
	seren, philly := [2][]trace.Job{}, []trace.Job(nil)
	for _, j := range jobs {
		switch {
		case slices.Contains([]string{"vision", "speech", "biology"}, j.Account):
			philly = append(philly, j)
		case j.GPUs > 0:
			seren[0] = append(seren[0], j)
		default:
			seren[1] = append(seren[1], j)
		}
	}
	near := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s = %.4g, want %.4g ± %.0f %%", what, got, want, tolerance*100)
		}
	}
	near("share of jobs with GPUs", float64(len(seren[0]))/float64(len(seren[0])+len(seren[1])), 0.644, 0.02)
	near("mean GPUs, Seren", meanOf(seren[0], func(j trace.Job) int64 { return j.GPUs }), 5.68, 0.05)
	near("median run time, Seren", median(seren[0]), 122, 0.05)
	near("mean run time, Seren", meanOf(seren[0], runtime), 1414, 0.2) // cut at a day
	near("median run time without GPU", median(seren[1]), 14, 0.1)
	near("median run time, Philly", median(philly), 874, 0.05)
	near("share of 1-GPU jobs, Philly", meanOf(philly, func(j trace.Job) int64 {
		if j.GPUs == 1 {
			return 1
		}
		return 0
	}), 4146.0/7330, 0.03)
	slices.SortFunc(seren[0], func(a, b trace.Job) int { return int(a.GPUs - b.GPUs) })
	near("GPUs of the median job, Seren", float64(seren[0][len(seren[0])/2].GPUs), 1, 0)
}

func runtime(j trace.Job) int64 { return j.Runtime / trace.Second }

func meanOf(jobs []trace.Job, f func(trace.Job) int64) float64 {
	var sum int64
	for _, j := range jobs {
		sum += f(j)
	}
	return float64(sum) / float64(len(jobs))
}

func median(jobs []trace.Job) float64 {
	var v []int64
	for _, j := range jobs {
		v = append(v, runtime(j))
	}
	slices.Sort(v)
	return float64(v[len(v)/2])
}

func TestSmallCluster(t *testing.T) {
	for _, p := range [][]Partition{{{"x", 4}}, {{"x", 0}}} {
		for _, j := range Generate(Config{Seed: 1, Jobs: 500, Partitions: p}) {
			if j.GPUs > p[0].GPUs || j.Partition != "x" || j.Submit < 0 {
				t.Fatalf("job %+v on %v", j, p)
			}
		}
	}
}
