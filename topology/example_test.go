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
