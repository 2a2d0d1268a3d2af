package topology_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/topology"
)

// A machine is a cluster for tests: what each node has and has free.
type machine struct {
	names      *topology.Names
	cpus, gpus []int32 // of the node
	free       []int32 // CPUs
	freeGPUs   []int32
	weight     []uint32
	up         topology.NodeSet
	unroll     int
	lln        bool
	whole      bool
	serialEnd  bool
}

func newMachine(names []string, cpus, gpus int32) (*machine, error) {
	t, err := topology.NewNames(names)
	if err != nil {
		return nil, err
	}
	n := t.Len()
	m := &machine{names: t, cpus: make([]int32, n), gpus: make([]int32, n), free: make([]int32, n), freeGPUs: make([]int32, n), weight: make([]uint32, n)}
	for i := range n {
		m.cpus[i], m.free[i], m.gpus[i], m.freeGPUs[i], m.weight[i] = cpus, cpus, gpus, gpus, 1
	}
	m.up.Init(n)
	m.up.AddAll()
	return m, nil
}

// An ask is a job's request in the words of sbatch, as far as it concerns the
// choice of nodes by CPUs alone.
type ask struct {
	count                        topology.NodeCount
	hasN                         bool
	n, c, tpn                    int32
	list, exclude                string
	whole, topo                  bool
	contiguous, spread, minNodes bool
	segment                      int32
	spreadSeg, consolidate       bool
	switches                     int32
	switchWait                   time.Duration
	gpus, gpusPerNode            int32
	lln, serial                  bool
	partition                    string
	unknown                      []string
}

// parseAsk reads sbatch options.
func parseAsk(args []string) (*ask, error) {
	a := &ask{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		val := func(prefix string) string {
			v := strings.TrimPrefix(arg, prefix)
			if v == "" && i+1 < len(args) {
				i++
				v = args[i]
			}
			return v
		}
		num := func(s string) int32 {
			v, err := strconv.ParseInt(s, 10, 32)
			if err != nil {
				a.unknown = append(a.unknown, arg)
			}
			return int32(v)
		}
		key, eq, _ := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-N"):
			c, err := topology.ParseNodeCount(val("-N"))
			if err != nil {
				return nil, err
			}
			a.count, a.hasN = c, true
		case strings.HasPrefix(arg, "-n"):
			a.n = num(val("-n"))
		case strings.HasPrefix(arg, "-c"):
			a.c = num(val("-c"))
		case strings.HasPrefix(arg, "-w"):
			a.list = val("-w")
		case strings.HasPrefix(arg, "-x"):
			a.exclude = val("-x")
		case strings.HasPrefix(arg, "-p"):
			a.partition = val("-p")
		case arg == "--exclusive":
			a.whole = true
		case arg == "--exclusive=topo":
			a.topo = true
		case arg == "--contiguous":
			a.contiguous = true
		case arg == "--spread-job":
			a.spread = true
		case arg == "--use-min-nodes":
			a.minNodes = true
		case arg == "--spread-segments":
			a.spreadSeg = true
		case arg == "--consolidate-segments":
			a.consolidate = true
		case arg == "--lln":
			a.lln = true
		case arg == "--pack-serial-at-end":
			a.serial = true
		case key == "--ntasks-per-node":
			a.tpn = num(eq)
		case key == "--segment":
			a.segment = num(eq)
		case key == "--gpus":
			a.gpus = num(eq)
		case key == "--gpus-per-node":
			a.gpusPerNode = num(eq)
		case key == "--gres" && strings.HasPrefix(eq, "gpu:"):
			a.gpusPerNode = num(strings.TrimPrefix(eq, "gpu:"))
		case key == "--switches":
			count, at, ok := strings.Cut(eq, "@")
			a.switches = num(count)
			if ok {
				d, err := topology.ParseSwitchWait(at)
				if err != nil {
					return nil, err
				}
				a.switchWait = d
			}
		default:
			a.unknown = append(a.unknown, arg)
		}
	}
	return a, nil
}

// A query is a request with the memory it points to.
type query struct {
	topology.Request
	elig, list  topology.NodeSet
	cpus, gpus  []int32
	weights     []int64
	tasks       int32
	perNodeCPUs int32
}

// request turns a into a request on m's free resources; within are the nodes of
// the partition. The numbers follow spec/cores.md 2 and 3 for one thread a core.
func (m *machine) request(a *ask, within *topology.NodeSet) (*query, error) {
	n := m.names.Len()
	q := &query{cpus: make([]int32, n), gpus: make([]int32, n), weights: make([]int64, n)}
	q.elig.Init(n)
	q.list.Init(n)
	c := max(a.c, 1)
	lo, hi := a.count.Min, a.count.Max
	if a.list != "" {
		ids, err := m.names.AppendIDs(nil, a.list)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			q.list.Add(id)
		}
		q.List = &q.list
		if !a.hasN {
			lo, hi = int32(q.list.Count()), 0
		}
	}
	tasks, known := a.n, a.n > 0
	est := max(a.n, 1)
	fixed := (a.hasN && a.count.Min == a.count.Max) || (!a.hasN && lo > 0)
	switch {
	case a.hasN && known && !a.minNodes && len(a.count.Sizes) == 0 && hi > a.n:
		hi = a.n
		if lo > a.n {
			lo = a.n
		}
	case !known && a.tpn == 0 && (fixed || len(a.count.Sizes) > 0):
		est = max(lo, 1)
	case !known && a.tpn > 0 && fixed:
		est = max(lo, 1) * a.tpn
	}
	if a.tpn > 0 && known && !a.hasN && lo == 0 {
		lo = (a.n + a.tpn - 1) / a.tpn
	}
	lo = max(lo, 1)
	if !known && a.tpn > 0 {
		tasks, known = lo*a.tpn, true
	}
	minCPUs := est * c
	if tasks > est {
		minCPUs = tasks * c
	}
	if hi == 0 && tasks > 0 {
		hi = max(tasks, lo)
	}
	q.Min, q.Want, q.Max = lo, hi, hi
	if !a.hasN || a.minNodes {
		q.Want = lo
	}
	if !a.hasN && a.gpus == 0 && hi == lo {
		q.Want = lo
	}
	q.Sizes = a.count.Sizes
	if m.unroll > 0 && len(q.Sizes) == 0 && a.hasN {
		sizes, ok := topology.AppendUnrolled(nil, lo, hi, int32(m.unroll))
		if !ok {
			return nil, fmt.Errorf("invalid node count")
		}
		q.Sizes = sizes
	}
	if a.n > 0 {
		q.Tasks = a.n
	}
	q.TasksPerNode = a.tpn
	if a.tpn > 0 && a.n == 0 {
		q.Tasks, q.TasksPerNode = 0, 0
	}
	q.TaskCPUs = c
	q.MinCPUs = int64(minCPUs)
	p := c
	if a.tpn > 0 && tasks > 1 {
		p = c * a.tpn
	}
	q.NodeCPUs, q.tasks, q.perNodeCPUs = p, tasks, p
	q.WholeNode = a.whole || m.whole
	q.Contiguous, q.Spread, q.LLN, q.SerialAtEnd = a.contiguous, a.spread, a.lln || m.lln, a.serial || m.serialEnd
	q.Segment, q.SpreadSegments, q.Consolidate = a.segment, a.spreadSeg, a.consolidate
	q.Switches, q.SwitchWait = a.switches, a.switchWait
	q.GPUs = int64(a.gpus)
	q.TotalCPUs, q.FreeCPUs = m.cpus, m.free
	q.elig.Copy(within)
	q.elig.And(&m.up)
	if a.exclude != "" {
		ids, err := m.names.AppendIDs(nil, a.exclude)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			q.elig.Remove(id)
		}
	}
	floor := c
	switch {
	case a.tpn > 0:
		floor = c * a.tpn
	case hi == 1 && a.n > 0:
		floor = c * a.n
	}
	for i := range n {
		u := m.free[i] / c
		if q.WholeNode && m.free[i] < m.cpus[i] {
			u = 0
		}
		if a.tpn > 0 && !q.WholeNode {
			u = min(u, a.tpn)
		}
		u *= c
		if u < floor || u < p {
			u = 0
		}
		near := int32(0)
		if a.gpus > 0 || a.gpusPerNode > 0 {
			g := m.freeGPUs[i]
			need := max(a.gpusPerNode, 1)
			if g < need {
				u = 0
			}
			if a.gpusPerNode > 0 {
				g = min(g, a.gpusPerNode)
			} else {
				g = min(g, a.gpus-(lo-1))
			}
			q.gpus[i], near = g, g
			q.NodeGPUs = q.gpus
		}
		q.cpus[i] = u
		q.weights[i] = topology.Weight(0, m.weight[i], near)
		if u == 0 {
			q.elig.Remove(topology.NodeID(i))
		}
	}
	q.Eligible, q.CPUs, q.Weights = &q.elig, q.cpus, q.weights
	return q, nil
}
