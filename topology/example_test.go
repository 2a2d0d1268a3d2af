package topology_test

import (
	"fmt"

	"github.com/berth-sched/berth/topology"
)

// A cluster of eight nodes, of which node 3 is busy: four nodes with a CPU each
// go to the smallest run of consecutive nodes that holds them.
func ExampleFitter() {
	names, _ := topology.NewNames([]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"})
	flat := topology.NewFlat("default", names.Len())
	f := flat.Fitter(topology.Options{Profile: topology.ProfileSlurm})

	// All of these live in the caller's scratch and are reused.
	var (
		ws   topology.Scratch
		res  topology.Result
		req  topology.Request
		elig topology.NodeSet
		cpus = []int32{4, 4, 4, 0, 4, 4, 4, 4} // what the job could use on each node
	)
	elig.Init(names.Len())
	elig.AddAll()
	elig.Remove(3)

	req = topology.Request{Eligible: &elig, CPUs: cpus, Min: 4, Want: 4, Max: 4, MinCPUs: 4}
	if f.Fit(&ws, &req, &res) {
		fmt.Println(string(names.AppendNodes(nil, res.Nodes)), res.CPUs)
	}

	req.Contiguous, req.Min, req.Want, req.Max = true, 5, 5, 5
	if !f.Fit(&ws, &req, &res) {
		r := res.Refusal
		fmt.Printf("%v: %d of %d %v\n", r.Rule, r.Have, r.Need, r.Lack)
	}
	// Output:
	// n[4-7] [1 1 1 1]
	// unit lacks resources: 4 of 5 nodes
}

func ExampleParseHostlist() {
	hosts, _ := topology.ParseHostlist("n[08-10],login")
	fmt.Println(hosts)
	fmt.Println(string(topology.AppendHostlist(nil, hosts)))
	// Output:
	// [n08 n09 n10 login]
	// n[08-10],login
}

// Four racks of 18 nodes with 16 free in each: 18 nodes do not fit, and the
// library says what is near.
func ExampleNew() {
	hosts, _ := topology.ParseHostlist("n[00-71]")
	names, _ := topology.NewNames(hosts)
	nvl, problems := topology.New(&topology.Spec{Name: "nvl72", Block: &topology.BlockSpec{
		Sizes: []int64{18},
		Blocks: []topology.UnitSpec{
			{Name: "r0", Nodes: "n[00-17]"}, {Name: "r1", Nodes: "n[18-35]"},
			{Name: "r2", Nodes: "n[36-53]"}, {Name: "r3", Nodes: "n[54-71]"},
		},
	}}, names)
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	var elig topology.NodeSet
	elig.Init(names.Len())
	elig.AddAll()
	cpus := make([]int32, names.Len())
	for i := range cpus {
		cpus[i] = 72
		if i%18 < 2 {
			elig.Remove(topology.NodeID(i)) // two trays of each rack are down
		}
	}
	f := nvl.Fitter(topology.Options{Profile: topology.ProfileSlurm})
	var ws topology.Scratch
	var res topology.Result
	req := topology.Request{Eligible: &elig, CPUs: cpus, Min: 18, MinCPUs: 18}
	if !f.Fit(&ws, &req, &res) {
		r := res.Refusal
		fmt.Printf("needs %d %v in one unit, the best has %d\n", r.Need, r.Lack, r.Have)
		s := topology.Suggest(f, &ws, &req, &res, 16)
		fmt.Printf("would fit with %d or %d nodes, or in segments of %d\n", s.Fewer, s.More, s.Segment)
	}
	// Output:
	// needs 18 nodes in one unit, the best has 16
	// would fit with 16 or 19 nodes, or in segments of 9
}

// Six workers and a leader in one rack, the workers in pairs per node.
func ExampleLevels_Fit() {
	racks := []string{"r0", "r0", "r0", "r1", "r1", "r1"}
	lv, _ := topology.NewLevels([]string{"rack"}, [][]string{racks}, 6)
	leader := new(topology.NodeSet)
	leader.Init(6)
	leader.AddAll()
	var ws topology.LevelScratch
	var res topology.LevelResult
	req := topology.LevelRequest{
		Count: 6, Capacity: []int32{1, 2, 3, 2, 2, 3},
		Want: topology.NoLevel, Must: 0, Exclusive: topology.NoLevel,
		Slices: []topology.Slice{{Level: 1, Size: 2}},
		Leader: true, LeaderFits: leader, WithLeader: []int32{0, 1, 2, 1, 1, 2},
	}
	fmt.Println(lv.Fit(&ws, &req, &res), res.Nodes, res.Members, "leader", res.Leader)
	// Output:
	// true [3 4 5] [2 2 2] leader 5
}
