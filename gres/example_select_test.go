package gres_test

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
)

// exampleNode is a node of two sockets with two GPUs of one type on each,
// every GPU shared in four units.
func exampleNode(table *gres.DeviceTable) *gres.Shape {
	a100, h100 := table.InternType("a100"), table.InternType("h100")
	low, high := []uint64{0x0f}, []uint64{0xf0}
	shape, err := gres.NewShape(gres.ShapeConfig{
		Sockets: 2, CoresPerSocket: 4, MemMiB: 64000,
		Groups: []gres.GroupConfig{
			{Name: gres.NameGPU, Flags: gres.Tracked, Devices: []gres.DeviceConfig{
				{Type: a100, Cores: low}, {Type: a100, Cores: low}, {Type: h100, Cores: high}, {Type: h100, Cores: high}}},
			{Name: gres.NameShard, Over: gres.NameGPU, Flags: gres.Tracked, Devices: []gres.DeviceConfig{
				{Units: 4}, {Units: 4}, {Units: 4}, {Units: 4}}},
		},
	})
	if err != nil {
		panic(err)
	}
	return shape
}

// exampleStart derives, evaluates, selects and books one job on one node, and
// prints what it got.
func exampleStart(table *gres.DeviceTable, shape *gres.Shape, row []uint64, o gres.Options) {
	r, err := gres.Derive(&o, &gres.Params{ConsumeMem: true, Cluster: gres.MemDefaults{PerCPU: 500}}, table)
	if err != nil {
		fmt.Println(err)
		return
	}
	var work gres.Scratch
	node := gres.NodeRow{Shape: shape, Row: row}
	for _, pass := range []gres.Pass{gres.PassNear, gres.PassAny} {
		fit := gres.Evaluate(node, &r, pass, 1, &work)
		if fit.Refusal != gres.RefuseNone {
			if pass == gres.PassAny {
				fmt.Println("waits:", fit.Refusal)
			}
			continue
		}
		var taking gres.Taking
		taking.Start(&r)
		chosen := gres.Chosen{Node: node, Fit: fit}
		chosen.CPUs, chosen.Devices = taking.Take(shape, &r, &fit)
		grants := make([]gres.Grant, 1)
		if why := gres.Select(grants, []gres.Chosen{chosen}, &r, pass, 1, &work); why != gres.RefuseNone {
			fmt.Println("waits:", why)
			return
		}
		shape.Take(row, &grants[0])
		fmt.Printf("CPUs %s, %d MiB, %s\n", shape.AppendCPUIDs(nil, grants[0].Cores), grants[0].MemMiB,
			shape.AppendGRES(nil, table, &grants[0]))
		return
	}
}

// GPUs by type: the cores come from the socket of the devices.
func ExampleSelect_typed() {
	table := gres.NewDeviceTable()
	shape := exampleNode(table)
	row := make([]uint64, shape.RowLen())
	for range 3 {
		o := gres.NewOptions()
		o.Tasks = 1
		o.Asks, _ = gres.ParseAsks(nil, gres.PerNode, "gres", "gpu:h100:1")
		exampleStart(table, shape, row, o)
	}
	// Output:
	// CPUs 4, 500 MiB, gpu:h100:1(IDX:2)
	// CPUs 5, 500 MiB, gpu:h100:1(IDX:3)
	// waits: NotEnough
}

// A whole node: all cores and all devices, memory as asked.
func ExampleSelect_whole() {
	table := gres.NewDeviceTable()
	shape := exampleNode(table)
	row := make([]uint64, shape.RowLen())
	o := gres.NewOptions()
	o.Exclusive, o.Mem = true, 32000
	exampleStart(table, shape, row, o)
	exampleStart(table, shape, row, o)
	// Output:
	// CPUs 0-7, 32000 MiB, gpu:a100:2(IDX:0-1),gpu:h100:2(IDX:2-3)
	// waits: Busy
}

// Shares of a GPU: all units of a job come from one device, and a device taken
// in shares is not given whole.
func ExampleSelect_shard() {
	table := gres.NewDeviceTable()
	shape := exampleNode(table)
	row := make([]uint64, shape.RowLen())
	for _, ask := range []string{"shard:3", "shard:2", "gpu:3", "gpu:2"} {
		o := gres.NewOptions()
		o.Tasks = 1
		o.Asks, _ = gres.ParseAsks(nil, gres.PerNode, "gres", ask)
		exampleStart(table, shape, row, o)
	}
	fmt.Printf("%s\n", shape.AppendNodeUsed(nil, table, row))
	// Output:
	// CPUs 0, 500 MiB, shard:3(3/4,0/4,0/4,0/4)
	// CPUs 4, 500 MiB, shard:2(0/4,0/4,2/4,0/4)
	// waits: BusyShared
	// CPUs 5, 500 MiB, gpu:a100:1(IDX:1),gpu:h100:1(IDX:3)
	// gpu:a100:1(IDX:1),gpu:h100:1(IDX:3),shard:5(3/4,-/4,2/4,-/4)
}
