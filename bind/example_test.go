package bind_test

import (
	"fmt"

	"github.com/berth-sched/berth/bind"
	"github.com/berth-sched/berth/bind/wiring"
)

// A step of four tasks on a node with two GPUs near each socket, whose tasks
// are bound to CPUs of alternating sockets.
func ExampleBinder_Bind() {
	b, err := bind.ParseGPUBind("single:1")
	if err != nil {
		fmt.Println(err)
		return
	}
	d := bind.Devices{
		Index: []int32{0, 1, 2, 3},
		Near:  [][]uint64{{0x00ff}, {0x00ff}, {0xff00}, {0xff00}},
	}
	var binder bind.Binder
	var bound bind.Bound
	binder.Bind(&bound, &b, &d, [][]uint64{{0x0001}, {0x0100}, {0x0002}, {0x0200}})
	for k := range bound.Tasks() {
		fmt.Println(k, d.AppendGlobal(nil, bound.Task(k)))
	}
	// Output:
	// 0 [0]
	// 1 [2]
	// 2 [1]
	// 3 [3]
}

// A machine read from nvidia-smi topo -m, and the best two GPUs for two tasks.
func ExampleSolver_Solve() {
	m, err := wiring.Topo("\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n" +
		"GPU0\tX\tSYS\tNV4\t0-7\t0\n" +
		"GPU1\tSYS\tX\tSYS\t8-15\t1\n" +
		"GPU2\tNV4\tSYS\tX\t0-7\t0\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := bind.NewWiring(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	var s bind.Solver
	var sol bind.Solution
	lack := s.Solve(&sol, w, &bind.SolveRequest{
		GPUs: 2, Tasks: 2, CPUsPerTask: 2, FreeGPUs: 0b111, FreeCPUs: []uint64{0xffff},
	})
	if lack != bind.LackNothing {
		fmt.Println(lack)
		return
	}
	fmt.Print(string(bind.AppendWhy(nil, w, &sol)))
	// Output:
	// GPUs 0,2: worst pair NV, 100 GB/s between pairs, 1 NUMA node, 0 free groups broken
	// task 0: GPU 0  CPUs 0-1  memory 0  -NV->
	// task 1: GPU 2  CPUs 2-3  memory 0
}
