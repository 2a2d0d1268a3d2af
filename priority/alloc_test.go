package priority

import (
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
)

// TestNoAllocations runs every function whose comment says so.
func TestNoAllocations(t *testing.T) {
	if checking {
		t.Skip("self-checks are on")
	}
	tree, usage := benchTree(2000)
	tied := make([]float64, len(usage))
	dst := make([]float64, len(usage))
	shipped, documented := NewFairTree(tree, AsShipped), NewFairTree(tree, Documented)
	classic, live := NewClassic(tree, 1, true), NewLiveTree(tree, AsShipped, usage)
	cfg, c, j, share := benchJobs(1000)
	m := NewMultifactor(cfg, c)
	prio := make([]uint32, j.Len())
	pairs := &Pairs{Job: j.QOS, Partition: j.Partition, QOS: j.QOS}
	var b Breakdown
	m.RankPairs(prio, j, share, pairs)
	m.RankRows(prio, j, share, j.Partition)
	m.Breakdown(&b, j, share, 0)
	s, err := gres.NewSchema("gres/gpu")
	if err != nil {
		t.Fatal(err)
	}
	bill, counts := NewBilling(s, nil, MaxTRES), s.NewVector()
	exact := Decay{HalfLife: DefaultHalfLife, Exact: true}
	charges := &Charges{Assoc: []int32{5, 1999}, Points: []float64{1, 2}, For: []time.Duration{time.Minute, time.Hour}}
	cal := &Calendar{Offsets: []Offset{{0, 3600e9}, {1e15, 7200e9}}}
	row := int32(0)
	text := make([]byte, 0, 64)
	for name, f := range map[string]func(){
		"FairTree.Rank":            func() { shipped.Rank(dst, usage) },
		"FairTree.Rank of ties":    func() { shipped.Rank(dst, tied) },
		"FairTree.Rank documented": func() { documented.Rank(dst, usage) },
		"FairTree.SetTree":         func() { shipped.SetTree(tree) },
		"FairTree.LevelFS":         func() { shipped.LevelFS(dst, usage) },
		"Classic.Rank":             func() { classic.Rank(dst, usage) },
		"LiveTree":                 func() { row = (row + 7) % 2000; usage[row]++; live.Update(usage, row); live.Factor(row) },
		"LiveTree.SetUsage":        func() { live.SetUsage(tied); live.Factor(row) },
		"Multifactor.Rank":         func() { m.Rank(prio, j, share) },
		"Multifactor.RankPairs":    func() { m.RankPairs(prio, j, share, pairs) },
		"Multifactor.RankRows":     func() { m.RankRows(prio, j, share, j.Partition) },
		"Multifactor.Breakdown":    func() { m.Breakdown(&b, j, share, 5) },
		"Multifactor.SetCluster":   func() { m.SetCluster(c) },
		"Billing.Points":           func() { bill.Points(counts) },
		"Decay":                    func() { exact.Fade(dst, time.Hour); exact.Add(usage, tree.Parent, charges) },
		"Period.Next":              func() { ResetQuarterly.Next(cal, 123456789) },
		"AppendTRESPoints":         func() { text = AppendTRESPoints(text[:0], s, b.TRES[:2]) },
	} {
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
