package bind

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// The slow twin of Solver: tries everything, straight from the words of Solve.

type naiveAnswer struct {
	gpus  uint64
	score Score
	order []int32
	lack  Lack
}

// naiveGroups are all sets that a switch, a reach of class or a NUMA node make.
func naiveGroups(m *topology.Machine) map[uint64]bool {
	n := len(m.GPUs)
	groups := map[uint64]bool{}
	for limit := topology.PathNVLink; limit < topology.PathSys; limit++ {
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
			for j := range reach {
				reach[i][j] = m.GPUWire(i, j).Class <= limit
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		for i := range n {
			g := uint64(0)
			for j := range n {
				if reach[i][j] {
					g |= 1 << j
				}
			}
			groups[g] = true
		}
	}
	for i := range n {
		sw, nu := uint64(0), uint64(0)
		for j := range n {
			if m.GPUs[i].Switch >= 0 && m.GPUs[i].Switch == m.GPUs[j].Switch {
				sw |= 1 << j
			}
			if m.GPUs[i].Memory >= 0 && m.GPUs[i].Memory == m.GPUs[j].Memory {
				nu |= 1 << j
			}
		}
		groups[sw], groups[nu] = true, true
	}
	for g := range groups {
		if c := bits.OnesCount64(g); c < 2 || c == n {
			delete(groups, g)
		}
	}
	return groups
}

func naiveNIC(m *topology.Machine, gpus []int, nics []int, used map[int]int, most int) int {
	if len(gpus) == 0 {
		return 0
	}
	best := 1 << 30
	for _, r := range nics {
		if used[r] < most {
			used[r]++
			best = min(best, int(m.NICWire(gpus[0], r).Class)+naiveNIC(m, gpus[1:], nics, used, most))
			used[r]--
		}
	}
	return best
}

func members(set uint64) (list []int) {
	for i := range 64 {
		if set>>i&1 == 1 {
			list = append(list, i)
		}
	}
	return list
}

func naiveSet(m *topology.Machine, r *SolveRequest, set uint64, tasks int) (Score, bool) {
	var sc Score
	list := members(set)
	near := map[int32]bool{}
	for a, i := range list {
		if n := m.GPUs[i].Memory; n >= 0 {
			near[n] = true
		}
		for _, j := range list[a+1:] {
			sc.Worst = max(sc.Worst, m.GPUWire(i, j).Class)
			sc.GBps += int64(m.GPUWire(i, j).Bandwidth())
		}
	}
	sc.NUMANodes = len(near)
	if r.NUMA != NeedNone && r.TaskCPUs == nil {
		have := 0
		for _, c := range m.CPUs {
			if hasBit(r.FreeCPUs, c.ID) && (len(near) == 0 || near[c.Memory]) {
				have++
			}
		}
		sc.CPUsFar = max(tasks*r.CPUsPerTask-have, 0)
	}
	nics := members(r.FreeNICs)
	if r.NICs != NICNone && len(nics) > 0 {
		sc.NICs = naiveNIC(m, list, nics, map[int]int{}, (len(list)+len(nics)-1)/len(nics))
	}
	for g := range naiveGroups(m) {
		if g&^r.FreeGPUs == 0 && g&set != 0 && g&^set != 0 {
			sc.Broken++
		}
	}
	if r.NUMA == NeedRequire && (len(near) > 1 || sc.CPUsFar > 0) || r.Link == NeedRequire && sc.Worst > topology.PathNVLink {
		return sc, false
	}
	return sc, true
}

// naiveKey lists the criteria in the order of the policy, all to be least.
func naiveKey(r *SolveRequest, s Score) [6]int64 {
	numa, far := int64(s.NUMANodes), int64(s.CPUsFar)
	if r.NUMA == NeedNone && r.Policy != PolicySpread {
		numa, far = 0, 0
	}
	w, b, n, k := int64(s.Worst), -s.GBps, int64(s.NICs), int64(s.Broken)
	switch r.Policy {
	case PolicyPack:
		return [6]int64{k, w, b, numa, far, n}
	case PolicySpread:
		return [6]int64{-numa, w, b, far, n, k}
	}
	return [6]int64{w, b, numa, far, n, k}
}

func less(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func permutations(list []int32, visit func([]int32)) {
	var rec func(k int)
	rec = func(k int) {
		if k == len(list) {
			visit(list)
			return
		}
		for i := k; i < len(list); i++ {
			// Rotate, so that permutations come in lexical order.
			x := list[i]
			copy(list[k+1:i+1], list[k:i])
			list[k] = x
			rec(k + 1)
			copy(list[k:i], list[k+1:i+1])
			list[i] = x
		}
	}
	rec(0)
}

func naiveSolve(m *topology.Machine, r *SolveRequest) naiveAnswer {
	tasks := r.Tasks
	if tasks == 0 {
		tasks = max(r.GPUs, 1)
	}
	ans := naiveAnswer{lack: LackGPUs}
	for _, set := range subsets(len(m.GPUs), r.GPUs) {
		if set&^r.FreeGPUs != 0 {
			continue
		}
		sc, ok := naiveSet(m, r, set, tasks)
		if !ok {
			continue
		}
		a, b := naiveKey(r, sc), naiveKey(r, ans.score)
		if ans.lack != LackNothing || less(a[:], b[:]) {
			ans = naiveAnswer{gpus: set, score: sc}
		}
	}
	if ans.lack == LackNothing {
		naiveOrder(m, r, &ans, tasks)
	}
	return ans
}

// subsets lists all sets of k of n, lexically.
func subsets(n, k int) (sets []uint64) {
	var rec func(from, left int, set uint64)
	rec = func(from, left int, set uint64) {
		if left == 0 {
			sets = append(sets, set)
			return
		}
		for i := from; i < n; i++ {
			rec(i+1, left-1, set|1<<i)
		}
	}
	rec(0, k, 0)
	return sets
}

func naiveOrder(m *topology.Machine, r *SolveRequest, ans *naiveAnswer, tasks int) {
	var list []int32
	for _, i := range members(ans.gpus) {
		list = append(list, int32(i))
	}
	best := []int64{1 << 60, 0}
	permutations(list, func(p []int32) {
		dist, chain := int64(0), int64(0)
		for k := range min(tasks, len(r.TaskCPUs)) {
			lo, hi := naiveShare(k, tasks, len(p))
			for _, g := range p[lo:hi] {
				dist += naiveDistance(m, g, r.TaskCPUs[k])
			}
		}
		for i := 1; i < len(p); i++ {
			wire := m.GPUWire(int(p[i-1]), int(p[i]))
			chain += int64(wire.Class)<<20 + 8191 - int64(wire.Bandwidth())
		}
		if key := []int64{dist, chain}; less(key, best) {
			best = key
			ans.order = append(ans.order[:0], p...)
		}
	})
	if len(list) == 0 {
		best = []int64{0, 0}
	}
	ans.score.Distance, ans.score.Chain = best[0], best[1]
}

// naiveShare gives each task its part of the order: whole parts, or one GPU
// for several tasks.
func naiveShare(k, tasks, gpus int) (lo, hi int) {
	if gpus == 0 {
		return 0, 0
	}
	if tasks > gpus {
		return k * gpus / tasks, k*gpus/tasks + 1
	}
	return k * gpus / tasks, (k + 1) * gpus / tasks
}

func naiveDistance(m *topology.Machine, g int32, cpus []uint64) int64 {
	best := int64(-1)
	for _, c := range m.CPUs {
		if hasBit(cpus, c.ID) {
			if d := int64(m.Distance(m.GPUs[g].Memory, c.Memory)); best < 0 || d < best {
				best = d
			}
		}
	}
	return max(best, 0)
}

// naiveWhole tries every way of putting tasks whole into NUMA nodes and
// returns the least sum of distances.
func naiveWhole(m *topology.Machine, sol *Solution, free []uint64, tasks, c int) int64 {
	room := make([]int, len(m.Memory))
	for _, cpu := range m.CPUs {
		if hasBit(free, cpu.ID) {
			room[cpu.Memory]++
		}
	}
	best := int64(1 << 60)
	var rec func(k int, sum int64)
	rec = func(k int, sum int64) {
		if k == tasks {
			best = min(best, sum)
			return
		}
		for n := range room {
			if room[n] >= c {
				room[n] -= c
				d := int64(0)
				for _, g := range sol.Task(k) {
					d += int64(m.Distance(m.GPUs[g].Memory, int32(n)))
				}
				rec(k+1, sum+d*int64(c))
				room[n] += c
			}
		}
	}
	rec(0, 0)
	return best
}
