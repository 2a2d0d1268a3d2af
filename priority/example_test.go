package priority_test

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
)

// Two jobs in one partition: age, size and GPUs count.
func ExampleMultifactor() {
	schema, _ := gres.NewSchema("gres/gpu")
	tres, _ := priority.ParseWeights(nil, schema, "GRES/gpu=3000")
	total := schema.NewVector()
	_ = gres.ParseTRES(schema, total, "cpu=3584,node=32,gres/gpu=256")
	m := priority.NewMultifactor(priority.Config{
		Weights: priority.Weights{Age: 1000, JobSize: 500, TRES: tres},
	}, &priority.Cluster{Nodes: 32, CPUs: 3584, PartitionFactor: []uint32{1}, PartitionTRES: total, Kinds: schema.Len()})

	jobs := priority.Jobs{
		Partition: []int32{0, 0},
		Age:       []time.Duration{84 * time.Hour, time.Hour},
		Nodes:     []int32{1, 16},
		CPUs:      []int32{112, 1792},
		TRES:      make([]int64, 2*schema.Len()),
		Nice:      []int32{0, 100},
	}
	gpu, _ := schema.Kind("gres/gpu")
	jobs.TRES[int(gpu)], jobs.TRES[schema.Len()+int(gpu)] = 8, 128

	dst := make([]uint32, jobs.Len())
	m.Rank(dst, &jobs, nil)
	fmt.Println(dst)

	var b priority.Breakdown
	m.Breakdown(&b, &jobs, nil, 1)
	fmt.Printf("age %.2f, size %.0f, %s, nice -%d\n", b.Age.Points, b.JobSize.Points, priority.AppendTRESPoints(nil, schema, b.TRES), b.Nice)
	// Output:
	// [609 1655]
	// age 5.95, size 250, gres/gpu=1500, nice -100
}

// The example of Slurm's documentation: account A has used less of its share
// than D, and D's users come first all the same, because D has used still less.
func ExampleFairTree() {
	//   row:      0 root, 1 A, 2 D, 3 G, 4 U1 and 5 U2 in A, 6 U4 in D, 7 U6 in G
	tree := &priority.Tree{
		Parent: []int32{-1, 0, 0, 0, 1, 1, 2, 3},
		User:   []bool{false, false, false, false, true, true, true, true},
		Shares: []uint32{1, 40, 60, 0, 30, 10, 25, 1},
	}
	usage := []float64{100, 45, 25, 30, 20, 25, 25, 30}

	f := priority.NewFairTree(tree, priority.AsShipped)
	factor := make([]float64, len(usage))
	f.Rank(factor, usage)
	fmt.Println(factor[4:])
	// Output: [0.75 0.5 1 0.25]
}

// One job ends and is charged; its user's factor is asked for at once.
func ExampleLiveTree() {
	tree := &priority.Tree{Parent: []int32{-1, 0, 0, 1, 1, 2}, User: []bool{false, false, false, true, true, true}, Shares: []uint32{1, 1, 1, 1, 1, 1}}
	usage := []float64{60, 20, 40, 5, 15, 40}
	live := priority.NewLiveTree(tree, priority.AsShipped, usage)
	fmt.Printf("%.2f\n", live.Factor(3))

	exact := priority.Decay{HalfLife: priority.DefaultHalfLife, Exact: true}
	exact.Add(usage, tree.Parent, &priority.Charges{Assoc: []int32{3}, Points: []float64{8}, For: []time.Duration{time.Hour}})
	live.Update(usage, 3)
	fmt.Printf("%.2f\n", live.Factor(3))
	// Output:
	// 1.00
	// 0.33
}

// Ten hours of a job with eight GPUs and of one without: by CPUs alone they cost
// the same, with weights the first costs four and a half times as much.
func ExampleParseBilling() {
	schema, _ := gres.NewSchema("gres/gpu")
	a, b := schema.NewVector(), schema.NewVector()
	_ = gres.ParseTRES(schema, a, "cpu=64,mem=1024G,gres/gpu=8")
	_ = gres.ParseTRES(schema, b, "cpu=64,mem=256G")
	for _, weights := range []string{"", "CPU=1.0,Mem=0.25G,GRES/gpu=32"} {
		bill, _ := priority.ParseBilling(schema, weights, 0)
		var kept priority.Decay // no half-life
		fmt.Println(kept.Charge(bill.Points(a), 10*time.Hour), kept.Charge(bill.Points(b), 10*time.Hour))
	}
	// Output:
	// 2.304e+06 2.304e+06
	// 2.0736e+07 4.608e+06
}

// A node has 112 CPUs, 1,900,000 MiB and eight GPUs. Whoever takes a GPU and
// nothing else leaves its eighth of the rest idle sooner or later: 14 CPUs at 1
// and 237,500 MiB at 0.25 a GiB, 14 + 57.98 = 71.98, so 72.
func ExampleStrandedWeights() {
	schema, _ := gres.NewSchema("gres/gpu")
	node := schema.NewVector()
	_ = gres.ParseTRES(schema, node, "cpu=112,mem=1900000M,node=1,gres/gpu=8")
	prices, _ := priority.ParseBilling(schema, "CPU=1,Mem=0.25G", 0)

	weights := priority.StrandedWeights(nil, schema, []gres.Vector{node}, prices.Weights())
	fmt.Printf("%s\n", priority.AppendWeights(nil, schema, weights))

	bill := priority.NewBilling(schema, weights, 0)
	for _, job := range []string{"cpu=8,mem=64G,gres/gpu=8", "cpu=112,mem=64G,gres/gpu=1"} {
		v := schema.NewVector()
		_ = gres.ParseTRES(schema, v, job)
		fmt.Println(bill.Points(v), job)
	}
	// Output:
	// cpu=1,mem=0.000244140625,gres/gpu=72
	// 600 cpu=8,mem=64G,gres/gpu=8
	// 200 cpu=112,mem=64G,gres/gpu=1
}
