// Package workload makes job lists that look like those of GPU clusters.
//
// Input is a seed, a number of jobs, and the cluster's partitions; [Generate]
// returns jobs in order of submission. Two populations are mixed: a language
// model shop after Acme's Seren cluster (many short jobs, some very wide ones,
// a third without GPUs) and a deep learning shop after Microsoft's Philly
// (fewer, longer, narrower jobs).
//
// The same input gives the same list.
//
// Figures: AcmeTrace's cluster_summary.csv (InternLM/AcmeTrace, CC-BY-4.0: Hu
// et al., "Characterization of Large Language Model Development in the
// Datacenter", NSDI'24) and the GPU counts of Philly's virtual clusters
// (msr-fiddle/philly-traces, CC-BY-4.0: Jeon et al., "Analysis of Large-Scale
// Multi-Tenant GPU Clusters for DNN Training Workloads", ATC'19), as selected
// by Gavel (MIT).
//
// Only numbers are taken over, not the logs; what they do not say (users,
// limits, hours of the day) is made up.
package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/examples/internal/trace"
)

// A Partition is a part of the cluster that takes jobs.
type Partition struct {
	Name string
	GPUs int64 // devices in all; 0: it takes jobs without GPUs
}

// Config says what to make. All fields but Load are needed.
type Config struct {
	Seed       uint64
	Jobs       int
	Partitions []Partition
	// Load is the GPU time asked over the GPU time that passes until the last
	// submission. Default: 0.9.
	Load float64
}

// longest is where run times are cut: one day, the partitions' limit.
const longest = 24 * 3600

// count is a number of GPUs and how often it is asked for.
type count struct {
	gpus   int64
	weight int
}

// A population is a kind of user.
type population struct {
	weight         int // of its jobs among all
	accounts       []account
	gpuShare       float64 // of jobs with GPUs
	gpus           []count
	median, mean   float64 // run time of jobs with GPUs, seconds
	cpuMed, cpuAvg float64 // without
}

type account struct {
	name   string
	users  int
	weight int
}

var populations = [...]population{
	{ // Seren: 1,031,550 jobs, 663,813 with GPUs, 5.68 of them on average, median 1
		weight:   60,
		accounts: []account{{"evals", 6, 50}, {"align", 5, 30}, {"pretrain", 3, 20}},
		gpuShare: 663813.0 / 1031550,
		gpus:     []count{{1, 600}, {2, 80}, {4, 70}, {8, 160}, {16, 45}, {32, 25}, {64, 13}, {128, 7}},
		median:   122, mean: 1414.335,
		cpuMed: 14, cpuAvg: 733.894,
	},
	{ // Philly: run times of the summary, GPU counts of the ten virtual clusters
		weight:   40,
		accounts: []account{{"vision", 8, 50}, {"speech", 5, 30}, {"biology", 4, 20}},
		gpuShare: 1,
		gpus:     []count{{1, 4146}, {2, 351}, {4, 1379}, {8, 1260}, {16, 119}, {32, 75}},
		median:   874, mean: 18006.055,
	},
}

// hourly weighs the submissions of the hours of a day.
var hourly = [24]int{3, 2, 2, 1, 1, 1, 2, 3, 6, 9, 10, 9, 7, 9, 10, 10, 9, 8, 6, 5, 5, 5, 4, 4}

// limits are the time limits that users write, in seconds.
var limits = [...]int64{900, 1800, 3600, 7200, 4 * 3600, 8 * 3600, 12 * 3600, longest}

// Generate returns the jobs in order of submission.
func Generate(c Config) []trace.Job {
	rng := rand.New(rand.NewPCG(c.Seed, 0x6a09e667f3bcc908))
	load := c.Load
	if load == 0 {
		load = 0.9
	}
	jobs := make([]trace.Job, c.Jobs)
	var work, gpus int64 // GPU seconds; CPU seconds where there is no GPU
	for _, p := range c.Partitions {
		gpus += p.GPUs
	}
	for i := range jobs {
		jobs[i] = one(rng, c.Partitions)
		work += jobs[i].GPUs * jobs[i].Runtime / trace.Second
	}
	span := 3600.0
	if gpus > 0 {
		span = max(span, float64(work)/(float64(gpus)*load))
	}
	for i := range jobs {
		jobs[i].Submit = arrival(rng, int64(span))
	}
	slices.SortStableFunc(jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	asked := make([]int64, len(c.Partitions)) // GPU seconds
	for i := range jobs {
		jobs[i].Partition = choose(c.Partitions, asked, &jobs[i])
		jobs[i].ID = strconv.Itoa(i + 1)
		jobs[i].Line = i + 1
	}
	return jobs
}

// one makes one job without a time of submission.
func one(rng *rand.Rand, parts []Partition) trace.Job {
	p := &populations[pick(rng, len(populations), func(i int) int { return populations[i].weight })]
	a := &p.accounts[pick(rng, len(p.accounts), func(i int) int { return p.accounts[i].weight })]
	j := trace.Job{Account: a.name, QOS: "normal"}
	// A user is twice as busy as the next one, down to the fourth.
	user := pick(rng, a.users, func(i int) int { return 8 >> min(i, 3) })
	j.User = a.name + "-" + string(rune('a'+user))

	median, mean := p.median, p.mean
	widest := widestPart(parts)
	if rng.Float64() < p.gpuShare && widest.GPUs > 0 {
		j.GPUs = p.gpus[pick(rng, len(p.gpus), func(i int) int { return p.gpus[i].weight })].gpus
		for j.GPUs > widest.GPUs {
			j.GPUs /= 2
		}
		j.Tasks = j.GPUs
		j.MilliCPUPerTask = 6000
	} else {
		if p.cpuMed > 0 {
			median, mean = p.cpuMed, p.cpuAvg
		}
		j.Tasks = 1
		j.MilliCPUPerTask = 1000 << rng.IntN(5)
	}
	j.MemPerCPUMiB = 4096
	run := lognormal(rng, median, mean)
	j.Runtime = run * trace.Second
	j.Limit = limitOf(rng, run) * trace.Second
	return j
}

// lognormal draws a run time in seconds from the log-normal distribution with
// the given median and mean, cut at longest.
func lognormal(rng *rand.Rand, median, mean float64) int64 {
	sigma := math.Sqrt(2 * math.Log(mean/median))
	return max(int64(min(median*math.Exp(sigma*rng.NormFloat64()), longest)), 1)
}

// limitOf is what a user writes who knows the run time badly: two to ten times
// of it; one in thirty writes too little.
func limitOf(rng *rand.Rand, run int64) int64 {
	want := run + int64(float64(run)*(1+8*rng.Float64()))
	if rng.IntN(30) == 0 {
		want = run / 2
	}
	for _, l := range limits {
		if l >= want {
			return l
		}
	}
	return longest
}

// arrival draws a second of submission in [0, span) by the hour of the day,
// the first of which is 6:00.
func arrival(rng *rand.Rand, span int64) int64 {
	for {
		at := rng.Int64N(span)
		if rng.IntN(10) < hourly[(at/3600+6)%24] {
			return at * trace.Second
		}
	}
}

// pick draws an index below n by integer weights.
func pick(rng *rand.Rand, n int, weight func(int) int) int {
	total := 0
	for i := range n {
		total += weight(i)
	}
	x := rng.IntN(total)
	for i := range n {
		if x -= weight(i); x < 0 {
			return i
		}
	}
	panic("workload: weights changed")
}

func widestPart(parts []Partition) Partition {
	return slices.MaxFunc(parts, func(a, b Partition) int { return cmp.Compare(a.GPUs, b.GPUs) })
}

// choose is the partition that a user goes to: the one that has been asked for
// least of those that are half as wide again as the job, or the widest. Jobs
// without GPUs go to the partition that has none, if any.
func choose(parts []Partition, asked []int64, j *trace.Job) string {
	best := -1
	for i, p := range parts {
		switch {
		case j.GPUs == 0 && p.GPUs == 0:
			return p.Name
		case j.GPUs+j.GPUs/2 > p.GPUs || p.GPUs == 0:
		case best < 0 || float64(asked[i])/float64(p.GPUs) < float64(asked[best])/float64(parts[best].GPUs):
			best = i
		}
	}
	if best < 0 {
		best = slices.Index(parts, widestPart(parts))
	}
	asked[best] += j.GPUs * j.Runtime / trace.Second
	return parts[best].Name
}
