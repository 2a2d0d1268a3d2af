package bind

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berth-sched/berth/topology"
)

// benchMachine has n GPUs over two NUMA nodes behind an NVSwitch, a NIC each.
func benchMachine(n int) *topology.Machine {
	gpuNode := make([]int32, n)
	for i := range gpuNode {
		gpuNode[i] = int32(i * 2 / n)
	}
	m := testMachine(2, 1, 64, gpuNode, nvswitch(18), n, func(i, r int) topology.PathClass {
		switch {
		case i == r:
			return topology.PathPIX
		case i*2/n == r*2/n:
			return topology.PathNode
		}
		return topology.PathSys
	})
	for i := range m.GPUs {
		m.GPUs[i].Switch = int32(i / 2)
	}
	return m
}

// treeMachine has n GPUs without NVLink: pairs under switches, four to a host
// bridge, two NUMA nodes.
func treeMachine(n int) *topology.Machine {
	gpuNode := make([]int32, n)
	for i := range gpuNode {
		gpuNode[i] = int32(i * 2 / n)
	}
	return testMachine(2, 1, 64, gpuNode, func(i, j int) topology.Wire {
		c := topology.PathSys
		switch {
		case i/2 == j/2:
			c = topology.PathPIX
		case i/4 == j/4:
			c = topology.PathPHB
		case i*2/n == j*2/n:
			c = topology.PathNode
		}
		return topology.Wire{Class: c}
	}, n/2, func(i, r int) topology.PathClass {
		if i/2 == r {
			return topology.PathPIX
		}
		return topology.PathSys
	})
}

// rugMachine has wires without any order.
func rugMachine(n int) *topology.Machine {
	rng := rand.New(rand.NewPCG(16, 16))
	gpuNode := make([]int32, n)
	for i := range gpuNode {
		gpuNode[i] = int32(i * 2 / n)
	}
	drawn := make([]topology.Wire, n*n)
	for i := range drawn {
		drawn[i] = topology.Wire{Class: topology.PathClass(1 + rng.IntN(6)), GBps: int32(10 + rng.IntN(20))}
	}
	return testMachine(2, 1, 64, gpuNode, func(i, j int) topology.Wire { return drawn[n*i+j] }, n,
		func(i, r int) topology.PathClass { return topology.PathClass(2 + rng.IntN(5)) })
}

func benchSolve(b *testing.B, m *topology.Machine, r SolveRequest) {
	w := mustWiring(b, m)
	r.FreeCPUs, r.FreeGPUs, r.FreeNICs, r.NICs = allCPUs(m), all(len(m.GPUs)), all(len(m.NICs)), NICNearest
	var s Solver
	var sol Solution
	b.ReportAllocs()
	for b.Loop() {
		if lack := s.Solve(&sol, w, &r); lack != LackNothing {
			b.Fatal(lack)
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{8, 16} {
		b.Run(fmt.Sprintf("tasks=%d/gpus=%d", n, n), func(b *testing.B) {
			benchSolve(b, benchMachine(n), SolveRequest{GPUs: n, Tasks: n, CPUsPerTask: 8})
		})
	}
	for _, wiring := range []struct {
		name string
		make func(int) *topology.Machine
	}{{"nvswitch", benchMachine}, {"tree", treeMachine}, {"random", rugMachine}} {
		for _, c := range []struct{ tasks, gpus, of int }{{4, 4, 8}, {8, 8, 8}, {8, 8, 16}, {16, 16, 16}} {
			name := fmt.Sprintf("wiring=%s/tasks=%d/gpus=%d/of=%d", wiring.name, c.tasks, c.gpus, c.of)
			b.Run(name, func(b *testing.B) {
				benchSolve(b, wiring.make(c.of), SolveRequest{GPUs: c.gpus, Tasks: c.tasks, CPUsPerTask: 4})
			})
			b.Run(name+"/bound=true", func(b *testing.B) {
				r := SolveRequest{GPUs: c.gpus, Tasks: c.tasks}
				for k := range c.tasks { // Slurm's cyclic: socket after socket
					mask := make([]uint64, 2)
					mask[k%2] = 0xf << (4 * (k / 2))
					r.TaskCPUs = append(r.TaskCPUs, mask)
				}
				benchSolve(b, wiring.make(c.of), r)
			})
		}
	}
}
