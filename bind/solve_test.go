package bind

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-sched/berth/topology"
)

// testMachine has nodes NUMA nodes of cores CPUs each, one a socket unless
// perSocket says more, and GPUs and NICs wired by class.
func testMachine(nodes, perSocket, cores int, gpuNode []int32, gpu func(i, j int) topology.Wire, nics int, nic func(i, r int) topology.PathClass) *topology.Machine {
	m := &topology.Machine{}
	for n := range nodes {
		mem := topology.MachineMemory{ID: int32(n)}
		for c := range cores {
			id := int32(n*cores + c)
			m.CPUs = append(m.CPUs, topology.MachineCPU{ID: id, Core: id, Socket: int32(n / perSocket), Memory: int32(n)})
			for int(id>>6) >= len(mem.CPUs) {
				mem.CPUs = append(mem.CPUs, 0)
			}
			mem.CPUs[id>>6] |= 1 << (id & 63)
		}
		for o := range nodes {
			d := int32(32)
			if o == n {
				d = 10
			} else if o/perSocket == n/perSocket {
				d = 12
			}
			mem.Distance = append(mem.Distance, d)
		}
		m.Memory = append(m.Memory, mem)
	}
	for i, n := range gpuNode {
		m.GPUs = append(m.GPUs, topology.MachineGPU{Memory: n, Minor: int32(i), Switch: -1})
		for j := range gpuNode {
			w := topology.Wire{}
			if i != j {
				w = gpu(min(i, j), max(i, j))
			}
			m.GPUWires = append(m.GPUWires, w)
		}
		for r := range nics {
			m.NICWires = append(m.NICWires, topology.Wire{Class: nic(i, r)})
		}
	}
	for r := range nics {
		m.NICs = append(m.NICs, topology.MachineNIC{Name: fmt.Sprintf("mlx5_%d", r), Memory: -1})
	}
	return m
}

func nvswitch(lanes uint8) func(i, j int) topology.Wire {
	return func(i, j int) topology.Wire { return topology.Wire{Class: topology.PathNVLink, Lanes: lanes} }
}

func mustWiring(t testing.TB, m *topology.Machine) *Wiring {
	t.Helper()
	w, err := NewWiring(m)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func allCPUs(m *topology.Machine) []uint64 {
	words := []uint64{}
	for _, c := range m.CPUs {
		for int(c.ID>>6) >= len(words) {
			words = append(words, 0)
		}
		words[c.ID>>6] |= 1 << (c.ID & 63)
	}
	return words
}

// TestSolveSpecCases are the cases 38 to 41 of specification bind.md.
func TestSolveSpecCases(t *testing.T) {
	pairs := testMachine(2, 1, 4, []int32{0, 0, 1, 1}, func(i, j int) topology.Wire {
		if i/2 == j/2 {
			return topology.Wire{Class: topology.PathNVLink, Lanes: 4}
		}
		return topology.Wire{Class: topology.PathSys}
	}, 0, nil)
	eight := testMachine(2, 1, 8, []int32{0, 0, 0, 0, 1, 1, 1, 1}, nvswitch(18), 0, nil)
	switches := testMachine(2, 1, 8, []int32{0, 0, 0, 0, 1, 1, 1, 1}, nvswitch(18), 0, nil)
	for i := range switches.GPUs {
		switches.GPUs[i].Switch = int32(i / 2)
	}
	for _, c := range []struct {
		name string
		m    *topology.Machine
		free uint64
		g    int
		want uint64
	}{
		{"38 linked pair", pairs, 0xf, 2, 0b11},
		{"39 its first GPU busy", pairs, 0xe, 2, 0b1100},
		{"40 one NUMA node", eight, 0xfc, 4, 0xf0},
		{"41 the orphan", switches, 0xfe, 1, 0b10},
		{"41 a whole switch", switches, 0xfe, 2, 0b1100},
	} {
		var s Solver
		var sol Solution
		lack := s.Solve(&sol, mustWiring(t, c.m), &SolveRequest{GPUs: c.g, FreeGPUs: c.free})
		if lack != LackNothing || sol.GPUs != c.want {
			t.Errorf("%s: %#b %v, want %#b", c.name, sol.GPUs, lack, c.want)
		}
	}
}

// A randomMachine draws up to most GPUs with any wires.
func randomMachine(t *rapid.T, most int) *topology.Machine {
	nodes := rapid.IntRange(1, 3).Draw(t, "NUMA nodes")
	gpus := rapid.IntRange(0, most).Draw(t, "GPUs")
	nics := rapid.IntRange(0, 4).Draw(t, "NICs")
	gpuNode := make([]int32, gpus)
	for i := range gpuNode {
		gpuNode[i] = int32(rapid.IntRange(-1, nodes-1).Draw(t, "node"))
	}
	classes := rapid.IntRange(0, 2).Draw(t, "kinds of wire")
	wires := map[[2]int]topology.Wire{}
	m := testMachine(nodes, rapid.IntRange(1, 2).Draw(t, "nodes a socket"), rapid.IntRange(1, 4).Draw(t, "cores"), gpuNode, func(i, j int) topology.Wire {
		w, ok := wires[[2]int{i, j}]
		if !ok {
			w.Class = topology.PathClass(rapid.IntRange(1, 1+3*classes).Draw(t, "class"))
			if w.Class == topology.PathNVLink {
				w.Lanes = uint8(rapid.IntRange(1, 2).Draw(t, "lanes"))
			}
			wires[[2]int{i, j}] = w
		}
		return w
	}, nics, func(i, r int) topology.PathClass {
		return topology.PathClass(rapid.IntRange(2, 7).Draw(t, "NIC class"))
	})
	for i := range m.GPUs {
		m.GPUs[i].Switch = int32(rapid.IntRange(-1, 2).Draw(t, "switch"))
	}
	return m
}

func randomRequest(t *rapid.T, m *topology.Machine) *SolveRequest {
	n := len(m.GPUs)
	r := &SolveRequest{
		GPUs:        rapid.IntRange(0, n).Draw(t, "wanted"),
		Tasks:       rapid.IntRange(0, 5).Draw(t, "tasks"),
		CPUsPerTask: rapid.IntRange(0, 2).Draw(t, "CPUs a task"),
		FreeGPUs:    all(n),
		FreeNICs:    rapid.Uint64Range(0, all(len(m.NICs))).Draw(t, "free NICs"),
		FreeCPUs:    allCPUs(m),
		Policy:      Policy(rapid.IntRange(0, 2).Draw(t, "policy")),
		NUMA:        Need(rapid.IntRange(0, 2).Draw(t, "NUMA")),
		NICs:        NICChoice(rapid.IntRange(0, 1).Draw(t, "NIC choice")),
	}
	if rapid.Bool().Draw(t, "some busy") {
		r.FreeGPUs = rapid.Uint64Range(0, all(n)).Draw(t, "free GPUs")
	}
	r.FreeCPUs[0] &= rapid.Uint64().Draw(t, "free CPUs")
	if rapid.IntRange(0, 9).Draw(t, "link") == 0 {
		r.Link = NeedRequire
	}
	if rapid.Bool().Draw(t, "tasks bound") {
		for range max(r.Tasks, r.GPUs) {
			r.TaskCPUs = append(r.TaskCPUs, []uint64{rapid.Uint64().Draw(t, "task CPUs") & allCPUs(m)[0]})
		}
	}
	return r
}

// checkSolve compares a solver's answer with the slow twin's.
func checkSolve(t interface{ Fatalf(string, ...any) }, s *Solver, m *topology.Machine, w *Wiring, r *SolveRequest) {
	var sol Solution
	lack := s.Solve(&sol, w, r)
	tasks := r.Tasks
	if tasks == 0 {
		tasks = max(r.GPUs, 1)
	}
	switch lack {
	case LackNICs:
		if r.FreeNICs != 0 {
			t.Fatalf("no NIC of %b", r.FreeNICs)
		}
		return
	case LackCPUs:
		free := 0
		for _, word := range r.FreeCPUs {
			free += bits.OnesCount64(word)
		}
		if free >= tasks*r.CPUsPerTask {
			t.Fatalf("no CPUs, but %d are free", free)
		}
		return
	}
	want := naiveSolve(m, r)
	if (lack == LackNothing) != (want.lack == LackNothing) {
		if lack == LackNUMA && want.lack == LackNothing && want.score.NUMANodes == 0 {
			return // the twin does not look for a node where no GPU has one
		}
		t.Fatalf("Solve = %v, want %v (%+v)", lack, want.lack, want)
	}
	if lack != LackNothing {
		return
	}
	if sol.GPUs != want.gpus || !slices.Equal(sol.Order(), want.order) {
		t.Fatalf("GPUs %b order %v, want %b %v\ngot  %+v\nwant %+v", sol.GPUs, sol.Order(), want.gpus, want.order, sol.Score, want.score)
	}
	got, exp := sol.Score, want.score
	if r.NUMA == NeedNone && r.Policy != PolicySpread {
		exp.CPUsFar = 0
	}
	if r.TaskCPUs == nil && r.CPUsPerTask > 0 {
		if got.NodeSplit == 0 && r.NUMA != NeedRequire {
			exp.Distance = naiveWhole(m, &sol, r.FreeCPUs, tasks, r.CPUsPerTask)
		} else {
			exp.Distance = got.Distance
		}
		checkDeal(t, m, r, &sol, tasks)
		exp.NodeSplit, exp.SocketSplit = got.NodeSplit, got.SocketSplit
	}
	if got != exp {
		t.Fatalf("score\ngot  %+v\nwant %+v", got, exp)
	}
}

// checkDeal checks that CPUs are dealt once, from the free ones, and that no
// more tasks are split than must be.
func checkDeal(t interface{ Fatalf(string, ...any) }, m *topology.Machine, r *SolveRequest, sol *Solution, tasks int) {
	used := make([]uint64, len(r.FreeCPUs))
	byNode, bySocket := map[int32]int{}, map[int32]int{}
	for _, c := range m.CPUs {
		if hasBit(r.FreeCPUs, c.ID) {
			byNode[c.Memory]++
			bySocket[c.Socket]++
		}
	}
	nodeSplit, socketSplit := 0, 0
	for k := range tasks {
		count := 0
		nodes, sockets := map[int32]bool{}, map[int32]bool{}
		for _, c := range m.CPUs {
			if !hasBit(sol.CPUs(k), c.ID) {
				continue
			}
			if !hasBit(r.FreeCPUs, c.ID) || hasBit(used, c.ID) {
				t.Fatalf("task %d has CPU %d, which is not free", k, c.ID)
			}
			used[c.ID>>6] |= 1 << (c.ID & 63)
			nodes[c.Memory], sockets[c.Socket] = true, true
			count++
		}
		if count != r.CPUsPerTask {
			t.Fatalf("task %d has %d CPUs, want %d", k, count, r.CPUsPerTask)
		}
		if len(nodes) > 1 {
			nodeSplit++
		}
		if len(sockets) > 1 {
			socketSplit++
		}
	}
	whole := func(by map[int32]int) (n int) {
		for _, have := range by {
			n += have / r.CPUsPerTask
		}
		return max(tasks-n, 0)
	}
	if nodeSplit != whole(byNode) || socketSplit != whole(bySocket) ||
		nodeSplit != sol.Score.NodeSplit || socketSplit != sol.Score.SocketSplit {
		t.Fatalf("%d and %d tasks split, score says %+v, must be %d and %d", nodeSplit, socketSplit, sol.Score, whole(byNode), whole(bySocket))
	}
}

func TestSolveIsBruteForce(t *testing.T) {
	var s Solver
	rapid.Check(t, func(t *rapid.T) {
		m := randomMachine(t, 5)
		w, err := NewWiring(m)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			checkSolve(t, &s, m, w, randomRequest(t, m))
		}
	})
}

// TestSolveEverySmallMachine walks all machines of up to five GPUs whose
// wires are NVLink or not and whose NUMA nodes are in any split, with up to
// five tasks.
func TestSolveEverySmallMachine(t *testing.T) {
	var s Solver
	deep := os.Getenv("BERTH_DEEP") != ""
	for n := 1; n <= 5; n++ {
		pairs, stride := n*(n-1)/2, 1
		if n == 5 && !deep {
			stride = 37 // all of them in deep runs
		}
		for wires := 0; wires < 1<<pairs; wires += stride {
			for split := range n + 1 {
				gpuNode := make([]int32, n)
				for i := range gpuNode {
					if i >= split {
						gpuNode[i] = 1
					}
				}
				at := 0
				m := testMachine(2, 1, 2, gpuNode, func(i, j int) topology.Wire {
					at = j*(j-1)/2 + i
					if wires>>at&1 == 1 {
						return topology.Wire{Class: topology.PathNVLink, Lanes: 2}
					}
					return topology.Wire{Class: topology.PathPHB}
				}, 0, nil)
				w := mustWiring(t, m)
				for g := 1; g <= n; g++ {
					for tasks := 1; tasks <= 5; tasks++ {
						checkSolve(t, &s, m, w, &SolveRequest{GPUs: g, Tasks: tasks, FreeGPUs: all(n), FreeCPUs: allCPUs(m), CPUsPerTask: 1})
					}
				}
			}
		}
	}
}

func TestSolveRandomEight(t *testing.T) {
	var s Solver
	checks := 6
	rng := rand.New(rand.NewPCG(8, 8))
	for range checks {
		var drawn [64]topology.Wire
		for i := range drawn {
			drawn[i] = topology.Wire{Class: topology.PathClass(1 + rng.IntN(6)), GBps: int32(10 + rng.IntN(3))}
		}
		m := testMachine(2, 1, 8, []int32{0, 0, 0, 0, 1, 1, 1, 1}, func(i, j int) topology.Wire { return drawn[8*i+j] }, 8, func(i, r int) topology.PathClass { return topology.PathClass(2 + rng.IntN(5)) })
		w := mustWiring(t, m)
		r := &SolveRequest{GPUs: 8, Tasks: 8, FreeGPUs: 0xff, FreeCPUs: allCPUs(m), FreeNICs: 0xff, NICs: NICNearest, CPUsPerTask: 2}
		checkSolve(t, &s, m, w, r)
		r.TaskCPUs = nil
		for k := range 8 {
			r.TaskCPUs = append(r.TaskCPUs, []uint64{3 << (2 * ((k*5 + int(rng.Uint32()&1)) % 8))})
		}
		checkSolve(t, &s, m, w, r)
		r.GPUs, r.Tasks, r.TaskCPUs = 4, 4, nil
		checkSolve(t, &s, m, w, r)
	}
}
