package main

import (
	"fmt"
	"math"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth/gres"
)

type node struct {
	name     string
	cpu, mem int64
	gpus     int
	model    string
}

type task struct {
	name     string
	cpu, mem int64
	gpus     int
	milli    int64
	spec     string // acceptable models, "A|B"; empty is any
}

func (t *task) asked() int64 { return int64(t.gpus) * t.milli }

// A study is a cluster and a task list, both by name.
type study struct {
	nodes []node
	tasks []task
	table *gres.DeviceTable
	gpus  int64
}

func loadStudy(data, list string) (*study, error) {
	s := &study{table: gres.NewDeviceTable()}
	rows, err := readCSV(filepath.Join(data, "traces/openb/openb_node_list_gpu_node.csv"))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		n := node{name: r.text(0), cpu: r.num(1), mem: r.num(2), gpus: int(r.num(3)), model: r.text(4)}
		s.nodes = append(s.nodes, n)
		s.gpus += int64(n.gpus)
	}
	tasks, err := readCSV(filepath.Join(data, "traces/openb/openb_pod_list_"+list+".csv.gz"))
	if err != nil {
		return nil, err
	}
	for _, r := range tasks {
		t := task{name: r.text(0), cpu: r.num(1), mem: r.num(2), gpus: int(r.num(3))}
		if t.gpus > 0 {
			t.milli, t.spec = min(r.num(4), 1000), r.text(5)
		}
		s.tasks = append(s.tasks, t)
	}
	for _, r := range append(rows, tasks...) {
		if r.err != nil {
			return nil, r.err
		}
	}
	slices.SortFunc(s.nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(s.tasks, func(a, b task) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

func (s *study) types(spec string) []gres.TypeID {
	var types []gres.TypeID
	for m := range strings.SplitSeq(spec, "|") {
		if m != "" {
			types = append(types, s.table.InternType(m))
		}
	}
	slices.Sort(types)
	return types
}

// workload returns the list's task shapes as target.
func (s *study) workload(cut int) *gres.Workload {
	var shapes []gres.TaskShape
	for i := range s.tasks {
		t := &s.tasks[i]
		shapes = append(shapes, gres.TaskShape{MilliCPU: t.cpu, GPUs: int32(t.gpus), MilliGPU: t.milli, Types: s.types(t.spec), Label: t.spec, Count: 1})
	}
	return gres.NewWorkload(shapes, cut)
}

// sequence returns the arrivals of a seed, 130 % of the cluster's GPUs, and
// the nodes in the order that breaks ties. The order of the draws is the
// study's.
func (s *study) sequence(seed int64) (arrivals []task, nodes []node) {
	r := rand.New(rand.NewSource(seed))
	r.Int()
	arrivals = slices.Clone(s.tasks)
	r.Shuffle(len(arrivals), func(i, j int) { arrivals[i], arrivals[j] = arrivals[j], arrivals[i] })
	var asked int64
	for i := range arrivals {
		asked += arrivals[i].asked()
	}
	limit := float64(s.gpus) * 1000 * 1.3
	tooMany := float64(asked) > limit
	for float64(asked) > limit {
		k := r.Intn(len(arrivals))
		asked -= arrivals[k].asked()
		arrivals = slices.Delete(arrivals, k, k+1)
	}
	for !tooMany {
		t := s.tasks[r.Intn(len(s.tasks))]
		if float64(asked+t.milli) > limit {
			break
		}
		arrivals = append(arrivals, t)
		asked += t.asked()
	}
	for range 10 {
		r.Float64()
	}
	nodes = make([]node, len(s.nodes))
	for i, rank := range r.Perm(len(s.nodes)) {
		nodes[rank] = s.nodes[i]
	}
	return arrivals, nodes
}

// A result has the curves by arrived load in percent.
type result struct {
	alloc, amount, ratio [131]float64
	dropped              int
}

// A cluster is the pool with what the run needs of it.
type cluster struct {
	pool    *gres.Pool
	views   map[string][]gres.ViewID
	classes map[task]gres.ClassID
}

func (s *study) cluster(nodes []node) (*cluster, error) {
	c := &cluster{gres.NewPool(len(nodes)), map[string][]gres.ViewID{}, map[task]gres.ClassID{}}
	shapes := map[node]gres.ShapeID{}
	for i := range nodes {
		n := nodes[i]
		n.name = ""
		id, ok := shapes[n]
		if !ok {
			g := gres.GroupConfig{Name: gres.NameGPU, Flags: gres.Divisible}
			for range n.gpus {
				g.Devices = append(g.Devices, gres.DeviceConfig{Type: s.table.InternType(n.model), Units: 1000})
			}
			shape, err := gres.NewShape(gres.ShapeConfig{MilliCPU: n.cpu, MemMiB: n.mem, Groups: []gres.GroupConfig{g}})
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", nodes[i].name, err)
			}
			id = c.pool.AddShape(shape)
			shapes[n] = id
		}
		c.pool.SetNode(int32(i), id)
	}
	return c, nil
}

// class returns the request class of t and the nodes of the models it takes.
func (c *cluster) class(t task, nodes []node) (gres.ClassID, []gres.ViewID) {
	if c.views[t.spec] == nil {
		words := make([]uint64, (len(nodes)+63)/64)
		for n := range nodes {
			if t.spec == "" || slices.Contains(strings.Split(t.spec, "|"), nodes[n].model) {
				words[n>>6] |= 1 << (n & 63)
			}
		}
		c.views[t.spec] = []gres.ViewID{c.pool.AddView(words)}
	}
	t.name = ""
	id, ok := c.classes[t]
	if !ok {
		r := gres.Request{CPUsPerTask: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: t.cpu, Mem: gres.MemPerNode, MemMiB: t.mem, Flags: gres.ConsumeMem}
		if t.gpus > 0 {
			need := gres.Need{Name: gres.NameGPU, PerNode: int64(t.gpus)}
			if t.milli < 1000 {
				need.Milli = t.milli
			}
			r.SetNeeds(need)
		}
		id = c.pool.AddClass(&r)
		c.classes[t] = id
	}
	return id, c.views[t.spec]
}

// run places the arrivals of a seed one after the other; what does not fit is
// dropped, nothing ends.
func (s *study) run(policy gres.Policy, cut int, seed int64) (*result, error) {
	arrivals, nodes := s.sequence(seed)
	c, err := s.cluster(nodes)
	if err != nil {
		return nil, err
	}
	placer := gres.NewPlacer(c.pool, policy, s.workload(cut), 1)
	out := &result{}
	var g gres.Grant
	var asked, used int64
	var curves sums
	for i := range arrivals {
		t := &arrivals[i]
		asked += t.asked()
		class, views := c.class(*t, nodes)
		if n := placer.Place(class, gres.PassAny, views, nil, &g); n >= 0 {
			c.pool.Take(n, &g)
			c.pool.Forget()
			placer.Started(class, n)
			used += t.asked()
		} else {
			out.dropped++
		}
		frag, free := placer.Fragmented()
		percent := float64(10 * s.gpus)
		curves.add(int(math.RoundToEven(float64(asked)/percent)), round2(float64(used)/percent), round2(frag), round2(100*frag/float64(free)))
	}
	curves.into(out, float64(s.gpus))
	return out, nil
}

// sums collects the records of a run by arrived load.
type sums [4][131]float64

func (s *sums) add(a int, v ...float64) {
	if a > 130 {
		return
	}
	for k := range v {
		s[k][a] += v[k]
	}
	s[3][a]++
}

// into stores the means in r; a load without records takes its neighbours'.
func (s *sums) into(r *result, gpus float64) {
	for a := range s[3] {
		lo, hi := a, a
		if s[3][a] == 0 {
			lo, hi = max(a-1, 0), min(a+1, 130)
		}
		var v [4]float64
		for i := lo; i <= hi; i++ {
			for k := range v {
				v[k] += s[k][i]
			}
		}
		r.alloc[a] = round2(v[0] / v[3])
		r.amount[a] = round2(100 * v[1] / v[3] / 1000 / gpus)
		r.ratio[a] = v[2] / v[3]
	}
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }
