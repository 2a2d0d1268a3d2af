package outcome

import (
	"cmp"
	"slices"
	"strconv"
)

// slowdownFloor bounds the slowdown of short jobs: run times count as at
// least ten seconds, as in the literature on backfilling.
const slowdownFloor = 10 * Second

// A Dist says how a quantity is spread over jobs.
type Dist struct {
	N                      int
	Mean, Median, P95, Max float64
}

// distOf takes values in any order and sorts them.
func distOf(v []float64) Dist {
	if len(v) == 0 {
		return Dist{}
	}
	slices.Sort(v)
	var sum float64
	for _, x := range v {
		sum += x
	}
	return Dist{N: len(v), Mean: sum / float64(len(v)), Median: rank(v, 50), P95: rank(v, 95), Max: v[len(v)-1]}
}

// rank is the least value that p percent of the sorted values do not exceed.
func rank(v []float64, p int) float64 {
	return v[max((len(v)*p+99)/100, 1)-1]
}

// A Group is the jobs that have something in common.
type Group struct {
	Name       string
	Jobs       int
	GPUSeconds float64
	CPUSeconds float64
	Wait, Slow Dist // seconds; bounded slowdown
}

// A ReasonShare is what one reason cost all jobs together.
type ReasonShare struct {
	Reason  string
	Jobs    int // that waited for it at all
	Seconds float64
}

// A Count is a number of jobs under a name.
type Count struct {
	Name string
	Jobs int
}

// Figures are a run in numbers. Times are in seconds.
type Figures struct {
	Jobs, Requeues, Backfilled, Passes int
	States                             []Count
	First, Makespan                    float64
	GPUs, CPUs, Nodes                  float64 // of the cluster
	GPUSeconds, CPUSeconds             float64 // held by jobs
	GPUShare, CPUShare, NodeShare      float64 // of the capacity times the makespan
	GPUBusy, CPUBusy                   float64 // share in use while jobs waited
	Wait, Turnaround, Slow             Dist
	Sizes, Users, Accounts, Partitions []Group
	Reasons                            []ReasonShare
	Evictions                          []Eviction
	LostGPUSeconds, LostCPUSeconds     float64 // of work that evicted jobs do again
	Promises                           Promises
}

// Measure computes the figures of a run.
func Measure(r *Run) Figures {
	first, last := r.Span()
	gpus, cpus := r.Capacity()
	u := r.usage()
	f := Figures{
		Jobs: len(r.Jobs), Passes: r.Passes,
		First: seconds(first), Makespan: seconds(last - first),
		GPUs: float64(gpus) / 1000, CPUs: float64(cpus) / 1000, Nodes: float64(len(r.Nodes)),
		GPUSeconds: u.gpuJobs.units(), CPUSeconds: u.cpuJobs.units(),
	}
	f.GPUShare = share(f.GPUSeconds, f.GPUs*f.Makespan)
	f.CPUShare = share(f.CPUSeconds, f.CPUs*f.Makespan)
	f.NodeShare = share(u.nodesUsed.units(), f.Nodes*f.Makespan)
	f.GPUBusy, f.CPUBusy = r.busyWhileWaiting(gpus, cpus)

	all := newGrouping()
	sizes, users, accounts, partitions := newGrouping(), newGrouping(), newGrouping(), newGrouping()
	var turnaround []float64
	states := make(map[string]int)
	class := SizeClass(r)
	for i := range r.Jobs {
		j := &r.Jobs[i]
		states[j.State]++
		f.Requeues += max(len(j.Stays)-1, 0)
		for k := range j.Stays {
			if j.Stays[k].Backfill {
				f.Backfilled++
			}
		}
		turnaround = append(turnaround, seconds(j.End()-j.Submit))
		all.add("", j)
		sizes.add(class(j), j)
		users.add(j.User, j)
		accounts.add(j.Account, j)
		partitions.add(j.Partition, j)
	}
	for name, n := range states {
		f.States = append(f.States, Count{name, n})
	}
	slices.SortFunc(f.States, func(a, b Count) int { return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Name, b.Name)) })
	f.Turnaround = distOf(turnaround)
	whole := all.groups()[0]
	f.Wait, f.Slow = whole.Wait, whole.Slow
	f.Sizes = sizes.groups()
	slices.SortFunc(f.Sizes, func(a, b Group) int { return sizeRank(a.Name) - sizeRank(b.Name) })
	f.Users, f.Accounts, f.Partitions = byUse(users.groups()), byUse(accounts.groups()), byUse(partitions.groups())
	f.Reasons = reasons(r)
	f.evictions(r)
	f.promises(r)
	return f
}

func seconds(us int64) float64 { return float64(us) / Second }

func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// busyWhileWaiting is the mean share in use over the time in which at least
// one job waited: what was idle then could not be used, or was not.
func (r *Run) busyWhileWaiting(gpus, cpus int64) (gpu, cpu float64) {
	var g, c, t amount
	for i := 1; i < len(r.Samples); i++ {
		s := &r.Samples[i-1]
		if dt := r.Samples[i].At - s.At; s.Pending > 0 {
			g.add(s.GPUMilli, dt)
			c.add(s.MilliCPU, dt)
			t.add(1000, dt)
		}
	}
	return share(g.units()*1000, float64(gpus)*t.units()), share(c.units()*1000, float64(cpus)*t.units())
}

// grouping collects jobs under names.
type grouping struct {
	index map[string]int
	list  []Group
	wait  [][]float64
	slow  [][]float64
}

func newGrouping() *grouping { return &grouping{index: make(map[string]int)} }

func (g *grouping) add(name string, j *Job) {
	i, ok := g.index[name]
	if !ok {
		i = len(g.list)
		g.index[name] = i
		g.list = append(g.list, Group{Name: name})
		g.wait = append(g.wait, nil)
		g.slow = append(g.slow, nil)
	}
	wait := WaitOf(j)
	run := max(j.Ran(), slowdownFloor)
	g.list[i].Jobs++
	for k := range j.Stays {
		s := &j.Stays[k]
		gpu, cpu := s.held()
		g.list[i].GPUSeconds += float64(gpu) / 1000 * seconds(s.End-s.Start)
		g.list[i].CPUSeconds += float64(cpu) / 1000 * seconds(s.End-s.Start)
	}
	g.wait[i] = append(g.wait[i], seconds(wait))
	g.slow[i] = append(g.slow[i], max(seconds(wait+j.Ran())/seconds(run), 1))
}

// WaitOf is the time a job spent not running between submission and end.
func WaitOf(j *Job) int64 { return j.End() - j.Submit - j.Ran() }

func (g *grouping) groups() []Group {
	if len(g.list) == 0 {
		return []Group{{}}
	}
	for i := range g.list {
		g.list[i].Wait = distOf(g.wait[i])
		g.list[i].Slow = distOf(g.slow[i])
	}
	return g.list
}

// byUse sorts by what was held, and gives nil if all jobs are of one nameless
// group.
func byUse(list []Group) []Group {
	if len(list) == 1 && list[0].Name == "" {
		return nil
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.GPUSeconds, a.GPUSeconds), cmp.Compare(b.CPUSeconds, a.CPUSeconds), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func reasons(r *Run) []ReasonShare {
	index := make(map[string]int)
	var list []ReasonShare
	for i := range r.Jobs {
		for _, w := range r.Jobs[i].Waits {
			k, ok := index[w.Reason]
			if !ok {
				k = len(list)
				index[w.Reason] = k
				list = append(list, ReasonShare{Reason: w.Reason})
			}
			list[k].Jobs++
			list[k].Seconds += seconds(w.Time)
		}
	}
	slices.SortFunc(list, func(a, b ReasonShare) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// Size classes, in their order.
var sizeClasses = [...]string{
	"no GPU", "part of a GPU", "1 GPU", "2-7 GPUs", "8 GPUs", "9-32 GPUs", "33-128 GPUs", "more GPUs",
	"part of a node", "1 node", "2-8 nodes", "9-64 nodes", "65-512 nodes", "more nodes",
}

func sizeRank(name string) int { return slices.Index(sizeClasses[:], name) }

// SizeClass returns the function that names the size class of a job: by GPUs
// where any job holds one, else by nodes.
func SizeClass(r *Run) func(*Job) string {
	for i := range r.Jobs {
		if r.Jobs[i].GPUMilli() > 0 {
			return gpuClass
		}
	}
	return func(j *Job) string {
		switch n := j.Nodes(); {
		case n == 1 && r.Nodes[j.Stays[0].Places[0].Node].MilliCPU > j.Stays[0].Places[0].MilliCPU:
			return "part of a node"
		case n <= 1:
			return "1 node"
		case n <= 8:
			return "2-8 nodes"
		case n <= 64:
			return "9-64 nodes"
		case n <= 512:
			return "65-512 nodes"
		}
		return "more nodes"
	}
}

func gpuClass(j *Job) string {
	switch m := j.GPUMilli(); {
	case m == 0:
		return "no GPU"
	case m < 1000:
		return "part of a GPU"
	case m == 1000:
		return "1 GPU"
	case m < 8000:
		return "2-7 GPUs"
	case m == 8000:
		return "8 GPUs"
	case m <= 32000:
		return "9-32 GPUs"
	case m <= 128000:
		return "33-128 GPUs"
	}
	return "more GPUs"
}

// Span of time as people write it: 3.5 s, 12:05, 7:30:00, 2-07:30:00.
func Span(sec float64) string {
	switch {
	case sec < 0:
		return "-" + Span(-sec)
	case sec < 10:
		return strconv.FormatFloat(sec, 'f', 1, 64) + " s"
	case sec < 60:
		return strconv.FormatFloat(sec, 'f', 0, 64) + " s"
	}
	s := int64(sec + 0.5)
	two := func(n int64) string { return strconv.FormatInt(100+n, 10)[1:] }
	d, h, m := s/86400, s/3600%24, s/60%60
	switch {
	case d > 0:
		return strconv.FormatInt(d, 10) + "-" + two(h) + ":" + two(m) + ":" + two(s%60)
	case h > 0:
		return strconv.FormatInt(h, 10) + ":" + two(m) + ":" + two(s%60)
	}
	return strconv.FormatInt(m, 10) + ":" + two(s%60)
}
