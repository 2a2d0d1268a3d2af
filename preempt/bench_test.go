package preempt

import (
	"fmt"
	"testing"
)

// busyCluster has running jobs on full nodes of 8 GPUs, in units of 16 nodes or
// one flat unit: seven of eight jobs hold 1 to 4 GPUs of a node, the others the
// whole of two.
func busyCluster(running, nodes int, per int32, block bool) *cluster {
	c := &cluster{units: 1, want: Demand{Nodes: nodes, PerNode: per}}
	c.held.First = []int32{0}
	seed := uint64(1)
	next := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed >> 33 % uint64(n))
	}
	node := func() int32 {
		c.free = append(c.free, 0)
		c.unit = append(c.unit, 0)
		return int32(len(c.free) - 1)
	}
	job := func() {
		c.held.First = append(c.held.First, int32(len(c.held.Node)))
		c.costs = append(c.costs, int64(next(100_000)))
	}
	hold := func(n, a int32) {
		c.held.Node, c.held.Amount = append(c.held.Node, n), append(c.held.Amount, a)
	}
	for len(c.costs) < running {
		if next(8) == 0 {
			hold(node(), 8)
			hold(node(), 8)
			job()
			continue
		}
		n := node()
		for left := int32(8); left > 0; {
			a := min(left, int32(1+next(4)))
			hold(n, a)
			job()
			left -= a
		}
	}
	if block {
		c.units = (len(c.free) + 15) / 16
		for n := range c.unit {
			c.unit[n] = int32(n / 16)
		}
	}
	c.want.Units = c.units
	c.settle()
	return c
}

// victims is one whole choice.
func victims(s *Search, sl *Slots, start, dst []int32, c *cluster) ([]int32, []int32, Result, bool) {
	start, bound, _ := sl.Propose(start[:0], &c.want, c.free, c.unit, c.costs, &c.held)
	dst, res, ok := s.Minimal(dst[:0], c.costs, Start{Victims: start, Bound: bound, Budget: 4000}, c)
	return start, dst, res, ok
}

func BenchmarkVictims(b *testing.B) {
	for _, want := range []struct {
		name  string
		nodes int
		per   int32
	}{{"1", 1, 1}, {"8x8", 8, 8}} {
		for _, kind := range []string{"flat", "block"} {
			b.Run(fmt.Sprintf("running=10000/want=%s/kind=%s", want.name, kind), func(b *testing.B) {
				var s Search
				var sl Slots
				c := busyCluster(10_000, want.nodes, want.per, kind == "block")
				c.bare = true
				start, dst, res, ok := victims(&s, &sl, nil, nil, c)
				if !ok {
					b.Fatal("no victims")
				}
				b.ReportAllocs()
				for b.Loop() {
					start, dst, res, _ = victims(&s, &sl, start, dst, c)
				}
				b.ReportMetric(float64(len(dst)), "victims")
				b.ReportMetric(float64(res.Cost-res.Bound)/float64(max(res.Cost, 1)), "gap")
			})
		}
	}
}

// BenchmarkGreedy is Slurm's choice on the same cluster, candidates in order of
// submission.
func BenchmarkGreedy(b *testing.B) {
	var s Search
	c := busyCluster(10_000, 8, 8, false)
	order := AppendOrder(nil, make([]uint64, len(c.costs)))
	dst, _ := s.Greedy(nil, order, 2, false, c)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = s.Greedy(dst[:0], order, 2, false, c)
	}
	b.ReportMetric(float64(len(dst)), "victims")
}
