package outcome

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// small is a run of three jobs on two nodes that keeps all laws: job b waits
// for job a's GPU, job c runs for no time, job b is requeued once.
func small() *Run {
	gpu := func(i int32) []Device { return []Device{{Index: i, Milli: 1000}} }
	return &Run{
		Title: "small",
		Nodes: []Node{{Name: "n0", MilliCPU: 4000, GPUs: 2, Type: "a"}, {Name: "n1", MilliCPU: 4000}},
		Jobs: []Job{
			{ID: 1, Name: "a", User: "u", State: "COMPLETED", Submit: 0,
				Stays: []Stay{{Start: 0, End: 10 * Second, Places: []Place{{Node: 0, MilliCPU: 4000, Devices: gpu(0)}}}}},
			{ID: 2, Name: "b", User: "v", State: "TIMEOUT", Submit: 2 * Second,
				Stays: []Stay{
					{Start: 10 * Second, End: 12 * Second, Places: []Place{{Node: 0, MilliCPU: 1000, Devices: gpu(0)}}},
					{Start: 15 * Second, End: 20 * Second, Places: []Place{{Node: 0, MilliCPU: 1000, Devices: []Device{{Index: 1, Milli: 500}}}}},
				},
				Waits: []Wait{{"Resources", 8 * Second}, {"BeginTime", 3 * Second}}},
			{ID: 3, Name: "c", User: "u", State: "COMPLETED", Submit: 3 * Second,
				Stays: []Stay{{Start: 3 * Second, End: 3 * Second, Backfill: true, Places: []Place{{Node: 1, MilliCPU: 4000}}}}},
		},
		Samples: []Sample{
			{At: 0, GPUMilli: 1000, MilliCPU: 4000, Nodes: 1, Running: 1},
			{At: 2 * Second, GPUMilli: 1000, MilliCPU: 4000, Nodes: 1, Running: 1, Pending: 1},
			{At: 10 * Second, GPUMilli: 1000, MilliCPU: 1000, Nodes: 1, Running: 1},
			{At: 12 * Second, Pending: 1},
			{At: 15 * Second, GPUMilli: 500, MilliCPU: 1000, Nodes: 1, Running: 1},
			{At: 20 * Second},
		},
		Passes: 6,
	}
}

func TestCheck(t *testing.T) {
	if err := Check(small()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, want string
		spoil      func(*Run)
	}{
		{"a lost job", "outcome: job c: never started ()", func(r *Run) { r.Jobs[2].Stays, r.Jobs[2].State = nil, "" }},
		{"a negative wait", "outcome: job b: runs from 10000000 to 12000000, not before 11000000", func(r *Run) { r.Jobs[1].Submit = 11 * Second }},
		{"an end before the start", "outcome: job c: runs from 3000000 to 2000000, not before 3000000", func(r *Run) { r.Jobs[2].Stays[0].End = 2 * Second }},
		{"a start before the last end", "not before 12000000", func(r *Run) { r.Jobs[1].Stays[1].Start = 11 * Second }},
		{"a job on no node", "outcome: job c: runs nowhere", func(r *Run) { r.Jobs[2].Stays[0].Places = nil }},
		{"a GPU given twice", "outcome: job b: GPU 0 of node n0 given twice", func(r *Run) { r.Jobs[1].Stays[0].Start = 9 * Second }},
		{"a GPU that is not there", "outcome: job a: GPU 2 of node n0, which has 2", func(r *Run) { r.Jobs[0].Stays[0].Places[0].Devices[0].Index = 2 }},
		{"counted GPUs beyond the node", "outcome: job c: node n1 gives 4000 milli-CPU of 4000, 1000 milli-GPU of 0",
			func(r *Run) { r.Jobs[2].Stays[0].Places[0].Devices = []Device{{-1, 1000}} }},
		{"CPUs beyond the node", "outcome: job c: node n1 gives 5000 milli-CPU of 4000, 0 milli-GPU of 0", func(r *Run) { r.Jobs[2].Stays[0].Places[0].MilliCPU = 5000 }},
		{"GPU time unaccounted", "outcome: jobs held 14.500 GPU seconds, the integral of GPUs in use is 14.000", func(r *Run) { r.Samples[4].GPUMilli = 400 }},
		{"CPU time unaccounted", "outcome: jobs held 47.000 CPU seconds, the integral of CPUs in use is 48.000", func(r *Run) { r.Samples[4].MilliCPU = 1200 }},
	} {
		r := small()
		tc.spoil(r)
		if err := Check(r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Check = %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestMeasure(t *testing.T) {
	f := Measure(small())
	if f.Jobs != 3 || f.Requeues != 1 || f.Backfilled != 1 || f.Makespan != 20 || f.GPUs != 2 || f.GPUSeconds != 14.5 || f.GPUShare != 14.5/40 {
		t.Errorf("Measure = %+v", f)
	}
	if want := (Dist{3, 11.0 / 3, 0, 11, 11}); f.Wait != want {
		t.Errorf("Wait = %+v, want %+v", f.Wait, want)
	}
	if want := (Dist{3, 28.0 / 3, 10, 18, 18}); f.Turnaround != want {
		t.Errorf("Turnaround = %+v, want %+v", f.Turnaround, want)
	}
	if want := (Dist{3, (1 + 1.8 + 1) / 3, 1, 1.8, 1.8}); math.Abs(f.Slow.Mean-want.Mean) > 1e-12 || f.Slow.P95 != want.P95 {
		t.Errorf("Slow = %+v, want %+v", f.Slow, want)
	}
	if want := 11.0; f.GPUBusy*2*want != 8 { // 8 s with one of two GPUs, 3 s with none
		t.Errorf("GPUBusy = %v", f.GPUBusy)
	}
	const want = `jobs        3  2 COMPLETED, 1 TIMEOUT
requeues    1
backfilled  1 of 4 starts, 6 passes
makespan    20 s
nodes       2       42.5 % in use
CPUs        8       29.4 % in use, 36.4 % while jobs waited
GPUs        2       36.2 % in use, 36.4 % while jobs waited

                   mean  median   p95   max
wait              3.7 s   0.0 s  11 s  11 s
turnaround        9.3 s    10 s  18 s  18 s
bounded slowdown   1.27    1.00  1.80  1.80

size           jobs  GPU hours   share  wait mean  median    p95  slowdown  median   p95
no GPU            1        0.0   0.0 %      0.0 s   0.0 s  0.0 s      1.00    1.00  1.00
part of a GPU     1        0.0  31.0 %       11 s    11 s   11 s      1.80    1.80  1.80
1 GPU             1        0.0  69.0 %      0.0 s   0.0 s  0.0 s      1.00    1.00  1.00

user  jobs  GPU hours   share  wait mean  median    p95  slowdown  median   p95
u        2        0.0  69.0 %      0.0 s   0.0 s  0.0 s      1.00    1.00  1.00
v        1        0.0  31.0 %       11 s    11 s   11 s      1.80    1.80  1.80

waited for  jobs  job hours   share
Resources      1        0.0  72.7 %
BeginTime      1        0.0  27.3 %
`
	if got := string(AppendText(nil, &f)); got != want {
		t.Errorf("AppendText gives\n%s\nwant\n%s", got, want)
	}
}

func TestAmount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var a amount
		want := new(big.Int)
		for range 10 {
			n, d := rng.Int64N(1<<45), rng.Int64N(1<<60)
			a.add(n, d)
			want.Add(want, new(big.Int).Mul(big.NewInt(n), big.NewInt(d)))
		}
		got := new(big.Int).SetUint64(a.hi)
		got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(a.lo))
		if got.Cmp(want) != 0 {
			t.Fatalf("amount = %v, want %v", got, want)
		}
		f, _ := new(big.Float).SetInt(want).Float64()
		if u := a.units(); math.Abs(u*1e9-f) > f*1e-12 {
			t.Fatalf("units = %v, want %v", u, f/1e9)
		}
	}
}

func TestRank(t *testing.T) {
	v := make([]float64, 20)
	for i := range v {
		v[i] = float64(i + 1)
	}
	for p, want := range map[int]float64{1: 1, 50: 10, 95: 19, 96: 20, 100: 20} {
		if got := rank(v, p); got != want {
			t.Errorf("rank(1..20, %d) = %v, want %v", p, got, want)
		}
	}
	if rank([]float64{7}, 1) != 7 {
		t.Error("rank of one value")
	}
}

func TestSpan(t *testing.T) {
	for sec, want := range map[float64]string{0: "0.0 s", 9.94: "9.9 s", 59: "59 s", 60: "1:00", 725: "12:05", 27000: "7:30:00", 199800: "2-07:30:00", -3: "-3.0 s"} {
		if got := Span(sec); got != want {
			t.Errorf("Span(%v) = %q, want %q", sec, got, want)
		}
	}
}

func TestMeasureNothing(t *testing.T) {
	f := Measure(&Run{})
	AppendText(nil, &f)
	if f.Jobs != 0 || f.GPUShare != 0 {
		t.Errorf("Measure of nothing = %+v", f)
	}
}
