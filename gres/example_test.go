package gres_test

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
)

// A cluster of two nodes with two GPUs each; jobs of one GPU fill the first
// node, then the second.
func Example_pool() {
	shape, err := gres.NewShape(gres.ShapeConfig{
		Sockets: 1, CoresPerSocket: 8, MemMiB: 64 << 10,
		Groups: []gres.GroupConfig{{Name: gres.NameGPU, Devices: make([]gres.DeviceConfig, 2)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := gres.NewPool(2)
	id := pool.AddShape(shape)
	pool.SetNode(0, id)
	pool.SetNode(1, id)
	all := pool.AddView([]uint64{0b11})

	req := gres.Request{Tasks: 1, TasksKnown: gres.Given, CPUsPerTask: 1, MinCPUs: 1, MinNodes: 1, MaxNodes: 1,
		Mem: gres.MemPerNode, MemMiB: 1024, Flags: gres.ConsumeMem}
	req.SetNeeds(gres.Need{Name: gres.NameGPU, PerNode: 1})
	class := pool.AddClass(&req)

	var grant gres.Grant
	for range 3 {
		node := pool.PlaceOne(class, gres.PassNear, []gres.ViewID{all}, nil, &grant)
		pool.Take(node, &grant)
		pool.Forget()
		fmt.Printf("node %d: cores %08b, GPU %d\n", node, grant.Cores[0], grant.Devices[0].Device)
	}
	// Output:
	// node 0: cores 00000001, GPU 0
	// node 0: cores 00000010, GPU 1
	// node 1: cores 00000001, GPU 0
}
