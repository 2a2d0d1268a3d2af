package gres

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The experiment of spec/fragmentation.md 5, on the lists of shared/data.

const sharedData = "../../shared/data"

// readShared returns the rows of a CSV file below shared/data, without its
// heading. The test is skipped if the folder is absent.
func readShared(t testing.TB, path string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sharedData, path))
	if os.IsNotExist(err) {
		t.Skipf("no data at %s", sharedData)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

type studyNode struct {
	name     string
	cpu, mem int64
	gpus     int
	model    string
}

type studyTask struct {
	name     string
	cpu, mem int64
	gpus     int
	milli    int64
	spec     string
}

func (t *studyTask) asked() int64 { return int64(t.gpus) * t.milli }

// A study is a cluster and a task list.
type study struct {
	nodes []studyNode // by name
	tasks []studyTask // by name
	table *DeviceTable
}

func num(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func loadStudy(t testing.TB, list string) *study {
	t.Helper()
	s := &study{table: NewDeviceTable()}
	for _, r := range readShared(t, "traces/openb/openb_node_list_gpu_node.csv") {
		s.nodes = append(s.nodes, studyNode{r[0], num(t, r[1]), num(t, r[2]), int(num(t, r[3])), r[4]})
	}
	for _, r := range readShared(t, "traces/openb/openb_pod_list_"+list+".csv.gz") {
		k := studyTask{name: r[0], cpu: num(t, r[1]), mem: num(t, r[2]), gpus: int(num(t, r[3]))}
		if k.gpus > 0 {
			k.milli = min(num(t, r[4]), 1000)
			if len(r) > 5 {
				k.spec = r[5]
			}
		}
		s.tasks = append(s.tasks, k)
	}
	slices.SortFunc(s.nodes, func(a, b studyNode) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(s.tasks, func(a, b studyTask) int { return strings.Compare(a.name, b.name) })
	return s
}

func (s *study) types(spec string) []TypeID {
	if spec == "" {
		return nil
	}
	var types []TypeID
	for m := range strings.SplitSeq(spec, "|") {
		types = append(types, s.table.InternType(m))
	}
	slices.Sort(types)
	return types
}

func (s *study) workload(cut int) *Workload {
	var shapes []TaskShape
	for i := range s.tasks {
		k := &s.tasks[i]
		shapes = append(shapes, TaskShape{MilliCPU: k.cpu, GPUs: int32(k.gpus), MilliGPU: k.milli, Types: s.types(k.spec), Label: k.spec, Count: 1})
	}
	return NewWorkload(shapes, cut)
}

// sequence returns the arrivals and the nodes in the order that breaks ties.
func (s *study) sequence(seed int64) (arrivals []studyTask, nodes []studyNode) {
	r := rand.New(rand.NewSource(seed))
	r.Int()
	arrivals = slices.Clone(s.tasks)
	r.Shuffle(len(arrivals), func(i, j int) { arrivals[i], arrivals[j] = arrivals[j], arrivals[i] })
	var asked, gpus int64
	for i := range arrivals {
		asked += arrivals[i].asked()
	}
	for i := range s.nodes {
		gpus += int64(s.nodes[i].gpus)
	}
	limit := float64(gpus) * 1000 * 1.3
	tooMany := float64(asked) > limit
	for float64(asked) > limit {
		k := r.Intn(len(arrivals))
		asked -= arrivals[k].asked()
		arrivals = slices.Delete(arrivals, k, k+1)
	}
	for !tooMany {
		k := s.tasks[r.Intn(len(s.tasks))]
		if float64(asked+k.milli) > limit {
			break
		}
		arrivals = append(arrivals, k)
		asked += k.asked()
	}
	for range 10 {
		r.Float64()
	}
	nodes = make([]studyNode, len(s.nodes))
	for i, rank := range r.Perm(len(s.nodes)) {
		nodes[rank] = s.nodes[i]
	}
	return arrivals, nodes
}

// A studyRun is what one run shows: the curves by arrived load in percent, and
// the totals at its end.
type studyRun struct {
	alloc, amount, ratio [131]float64
	dropped              int
	usedGPU, usedCPU     int64
	fragmented           float64
	first                []string // first placements
}

// run places the arrivals of a seed by a policy.
func (s *study) run(t testing.TB, policy Policy, seed int64) *studyRun {
	t.Helper()
	arrivals, nodes := s.sequence(seed)
	cut := 95
	if policy == FillUp {
		cut = 100
	}
	return s.place(t, policy, s.workload(cut), arrivals, nodes)
}

func (s *study) place(t testing.TB, policy Policy, work *Workload, arrivals []studyTask, nodes []studyNode) *studyRun {
	t.Helper()
	p := NewPool(len(nodes))
	shapes := map[studyNode]ShapeID{}
	var gpus int64
	for i := range nodes {
		n := nodes[i]
		n.name = ""
		id, ok := shapes[n]
		if !ok {
			g := GroupConfig{Name: NameGPU, Flags: Divisible}
			for range n.gpus {
				g.Devices = append(g.Devices, DeviceConfig{Type: s.table.InternType(n.model), Units: 1000})
			}
			sh, err := NewShape(ShapeConfig{MilliCPU: n.cpu, MemMiB: n.mem, Groups: []GroupConfig{g}})
			if err != nil {
				t.Fatal(err)
			}
			id = p.AddShape(sh)
			shapes[n] = id
		}
		p.SetNode(int32(i), id)
		gpus += int64(n.gpus)
	}
	views := map[string][]ViewID{}
	classes := map[studyTask]ClassID{}
	classOf := make([]ClassID, len(arrivals))
	for i := range arrivals {
		k := arrivals[i]
		if views[k.spec] == nil {
			w := make([]uint64, (len(nodes)+63)/64)
			for n := range nodes {
				if k.spec == "" || slices.Contains(strings.Split(k.spec, "|"), nodes[n].model) {
					w[n>>6] |= 1 << (n & 63)
				}
			}
			views[k.spec] = []ViewID{p.AddView(w)}
		}
		k.name = ""
		id, ok := classes[k]
		if !ok {
			r := Request{CPUsPerTask: 1, MinNodes: 1, MaxNodes: 1, MilliCPU: k.cpu, Mem: MemPerNode, MemMiB: k.mem, Flags: ConsumeMem}
			if k.gpus > 0 {
				need := Need{Name: NameGPU, PerNode: int64(k.gpus)}
				if k.milli < 1000 {
					need.Milli = k.milli
				}
				r.SetNeeds(need)
			}
			id = p.AddClass(&r)
			classes[k] = id
		}
		classOf[i] = id
	}
	out := &studyRun{}
	pl := NewPlacer(p, policy, work, 1)
	var g Grant
	var asked int64
	var sums [4][131]float64
	for i := range arrivals {
		k := &arrivals[i]
		asked += k.asked()
		if n := pl.Place(classOf[i], PassAny, views[k.spec], nil, &g); n >= 0 {
			p.Take(n, &g)
			p.Forget()
			pl.Started(classOf[i], n)
			out.usedGPU += k.asked()
			out.usedCPU += k.cpu
			if len(out.first) < 12 {
				var d []int16
				for _, x := range g.Devices {
					d = append(d, x.Device)
				}
				out.first = append(out.first, fmt.Sprint(k.name, nodes[n].name, d))
			}
		} else {
			out.dropped++
		}
		frag, free := pl.Fragmented()
		out.fragmented = frag
		if a := int(math.RoundToEven(float64(asked) / float64(10*gpus))); a <= 130 {
			sums[0][a] += round2(float64(out.usedGPU) / float64(10*gpus))
			sums[1][a] += round2(frag)
			sums[2][a] += round2(100 * frag / float64(free))
			sums[3][a]++
		}
	}
	for a := range sums[3] {
		lo, hi := a, a
		if sums[3][a] == 0 {
			lo, hi = max(a-1, 0), min(a+1, 130)
		}
		var v [4]float64
		for i := lo; i <= hi; i++ {
			for k := range v {
				v[k] += sums[k][i]
			}
		}
		out.alloc[a] = round2(v[0] / v[3])
		out.amount[a] = round2(100 * v[1] / v[3] / 1000 / float64(gpus))
		out.ratio[a] = v[2] / v[3]
	}
	return out
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }
