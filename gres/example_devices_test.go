package gres_test

import (
	"fmt"

	"github.com/berth-sched/berth/gres"
)

// A MIG device is cut as jobs need it. The second job's instance exists when
// it comes, so nothing is cut; the third's does not.
func Example_mig() {
	model, _ := gres.PartitionModelByName("H100-80GB")
	table := gres.NewDeviceTable()
	var types []gres.TypeID
	for _, p := range model.Profiles {
		types = append(types, table.InternType(p.Name))
	}
	shape, err := gres.NewShape(gres.ShapeConfig{
		MilliCPU: 64_000, MemMiB: 256 << 10,
		Groups: []gres.GroupConfig{{Name: gres.NameGPU, Devices: make([]gres.DeviceConfig, 1), Partition: model, Profiles: types}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := gres.NewPool(1)
	pool.SetNode(0, pool.AddShape(shape))
	all := []gres.ViewID{pool.AddView([]uint64{1})}
	place := func(profile string) *gres.Grant {
		typ, _ := table.TypeID(profile)
		req := gres.Request{Tasks: 1, TasksKnown: gres.Given, CPUsPerTask: 1, MinCPUs: 1, MinNodes: 1, MaxNodes: 1}
		req.SetNeeds(gres.Need{Name: gres.NameGPU, Type: typ, PerNode: 1})
		g := new(gres.Grant)
		if pool.PlaceOne(pool.AddClass(&req), gres.PassAny, all, nil, g) < 0 {
			fmt.Println(profile, "waits")
			return nil
		}
		pool.Take(0, g)
		pool.Forget()
		fmt.Printf("%s, cut anew: %v\n", shape.AppendGRES(nil, table, g), g.Recuts())
		return g
	}
	first := place("3g.40gb")
	pool.Give(0, first)
	place("3g.40gb")
	place("2g.20gb")
	place("7g.80gb")
	// Output:
	// gpu:3g.40gb:1(IDX:0@4), cut anew: true
	// gpu:3g.40gb:1(IDX:0@4), cut anew: false
	// gpu:2g.20gb:1(IDX:0@0), cut anew: true
	// 7g.80gb waits
}

// One h100, or else two a100: on a node with two a100 the second alternative
// works. Before the choice both count against their quotas, after it what was
// taken.
func Example_claim() {
	const typ = gres.AttrID(0)
	is := func(name string) []gres.Selector {
		return []gres.Selector{{ID: typ, Op: gres.SelectEqual, Value: gres.TextOf(name)}}
	}
	a100 := []gres.Attr{{ID: typ, Value: gres.TextOf("a100")}}
	inv, err := gres.NewInventory([]gres.ClaimDevice{{Name: "gpu0", Attrs: a100}, {Name: "gpu1", Attrs: a100}}, nil, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	const h100Cell, a100Cell = gres.Kind(0), gres.Kind(1)
	claim := &gres.Claim{Requests: []gres.ClaimRequest{{Name: "gpu", Alternatives: []gres.Alternative{
		{Count: 1, Selectors: is("h100"), Charge: gres.Charge{Kind: h100Cell, By: gres.ChargeDevices}},
		{Count: 2, Selectors: is("a100"), Charge: gres.Charge{Kind: a100Cell, By: gres.ChargeDevices}},
	}}}}
	before, after := make(gres.Vector, 2), make(gres.Vector, 2)
	inv.AddCharge(before, claim)
	id, why := inv.Allocate(0, claim)
	if why != gres.ClaimFits {
		fmt.Println(why)
		return
	}
	inv.AddChargeOf(after, claim, id)
	for _, it := range inv.Items(id) {
		fmt.Println(inv.Device(it.Device).Name)
	}
	fmt.Println("charged before", before, "after", after)
	// Output:
	// gpu0
	// gpu1
	// charged before [1 2] after [0 2]
}

// A job of eight cores runs steps of three: two fit, the third waits for one
// of them.
func ExampleSteps() {
	shape, err := gres.NewShape(gres.ShapeConfig{Sockets: 1, CoresPerSocket: 8, MemMiB: 16 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	job := &gres.Grant{Cores: []uint64{0xff}, CPUs: 8, MemMiB: 8 << 10}
	steps := gres.NewSteps([]gres.StepNode{{Shape: shape, Grant: job}})
	for id := range uint32(3) {
		steps.Submit(id, &gres.StepRequest{Tasks: 1, CPUsPerTask: 3})
	}
	run := func() {
		for id, g, ok := steps.Next(); ok; id, g, ok = steps.Next() {
			fmt.Printf("step %d on cores %08b\n", id, g.Grants[0].Cores[0])
		}
	}
	run()
	fmt.Println("step 2:", steps.Why(2))
	steps.End(0)
	run()
	// Output:
	// step 0 on cores 00000111
	// step 1 on cores 00111000
	// step 2: Requested nodes are busy
	// step 2 on cores 00000111
}
