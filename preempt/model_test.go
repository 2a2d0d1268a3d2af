package preempt

import (
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A pick returns a number from lo to hi.
type pick func(name string, lo, hi int) int

func rapidPick(t *rapid.T) pick {
	return func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
}

// A cluster is an obvious Trial: nodes with free GPUs in units, candidates that
// hold some, and a job that wants a number of nodes of one unit with a number of
// GPUs on each, anywhere in it, lowest nodes first.
type cluster struct {
	free  []int32
	unit  []int32
	units int
	held  Held
	costs []int64
	want  Demand

	ready []int // nodes ready by unit
	able  int   // units with enough of them
	stack []int32
	place []int32 // what was free when it last fitted
	bare  bool    // nobody asks where it fitted
}

func (c *cluster) slots(n int32) int { return b2i(c.free[n] >= c.want.PerNode) }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settle counts the ready nodes.
func (c *cluster) settle() {
	c.ready = make([]int, c.units)
	c.able = 0
	for n := range c.free {
		c.count(int32(n), c.slots(int32(n)))
	}
}

func (c *cluster) count(n int32, by int) {
	u := c.unit[n]
	c.able -= b2i(c.ready[u] >= c.want.Nodes)
	c.ready[u] += by
	c.able += b2i(c.ready[u] >= c.want.Nodes)
}

func (c *cluster) add(k int32, sign int32) {
	for i := c.held.First[k]; i < c.held.First[k+1]; i++ {
		n := c.held.Node[i]
		before := c.slots(n)
		c.free[n] += sign * c.held.Amount[i]
		if by := c.slots(n) - before; by != 0 {
			c.count(n, by)
		}
	}
}

func (c *cluster) Remove(k int32) {
	c.add(k, 1)
	c.stack = append(c.stack, k)
}

func (c *cluster) Undo(n int) {
	for ; n > 0; n-- {
		c.add(c.stack[len(c.stack)-1], -1)
		c.stack = c.stack[:len(c.stack)-1]
	}
}

func (c *cluster) Fits() bool {
	if c.able > 0 {
		if !c.bare {
			c.place = append(c.place[:0], c.free...)
		}
		return true
	}
	return false
}

// nodes are those of the last place.
func (c *cluster) nodes() (out []int32) {
	for u := range c.units {
		out = out[:0]
		for n, free := range c.place {
			if int(c.unit[n]) == u && free >= c.want.PerNode && len(out) < c.want.Nodes {
				out = append(out, int32(n))
			}
		}
		if len(out) == c.want.Nodes {
			return out
		}
	}
	return nil
}

func (c *cluster) Touches(k int32) int32 {
	t := int32(0)
	place := c.nodes()
	for i := c.held.First[k]; i < c.held.First[k+1]; i++ {
		for _, n := range place {
			t += int32(b2i(n == c.held.Node[i]))
		}
	}
	return t
}

// drawCluster draws a full little cluster: at most 6 nodes and 10 candidates, of
// which some are units of two allocations.
func drawCluster(pick pick) *cluster {
	nodes := pick("nodes", 1, 6)
	c := &cluster{units: pick("units", 1, 2)}
	for range nodes {
		c.free = append(c.free, int32(pick("gpus", 2, 4)))
		c.unit = append(c.unit, int32(pick("unit", 0, c.units-1)))
	}
	c.want = Demand{Nodes: pick("want", 1, nodes), PerNode: int32(pick("per", 1, 4)), Units: c.units}
	c.held.First = []int32{0}
	for range pick("jobs", 0, 10) {
		held := c.drawHeld(pick)
		if held && pick("unit of two", 0, 3) == 0 {
			c.drawHeld(pick)
		}
		if !held {
			continue
		}
		c.held.First = append(c.held.First, int32(len(c.held.Node)))
		c.costs = append(c.costs, int64(pick("cost", 0, 9)))
	}
	c.settle()
	return c
}

// drawHeld draws one allocation, if there is room for it.
func (c *cluster) drawHeld(pick pick) bool {
	nodes := len(c.free)
	wide := pick("wide", 1, min(3, nodes))
	first := pick("first", 0, nodes-wide)
	amount := int32(pick("amount", 1, 4))
	for n := first; n < first+wide; n++ {
		if c.free[n] < amount {
			return false
		}
	}
	for n := first; n < first+wide; n++ {
		c.free[n] -= amount
		c.held.Node = append(c.held.Node, int32(n))
		c.held.Amount = append(c.held.Amount, amount)
	}
	return true
}

// fitsWithout tries a set of candidates.
func (c *cluster) fitsWithout(set []int32) bool {
	for _, k := range set {
		c.Remove(k)
	}
	ok := c.Fits()
	c.Undo(len(set))
	return ok
}

// bruteForce tries every set.
func (c *cluster) bruteForce() (best int64, ok bool) {
	for m := range uint(1) << len(c.costs) {
		cost := int64(0)
		var set []int32
		for x := m; x != 0; x &= x - 1 {
			k := int32(bits.TrailingZeros(x))
			set = append(set, k)
			cost += c.costs[k]
		}
		if (!ok || cost < best) && c.fitsWithout(set) {
			best, ok = cost, true
		}
	}
	return best, ok
}

func (c *cluster) cost(set []int32) int64 {
	sum := int64(0)
	for _, k := range set {
		sum += c.costs[k]
	}
	return sum
}

// checkSet makes sure that a set serves and that nobody goes for nothing.
func (c *cluster) checkSet(t rapid.TB, set []int32) {
	if !c.fitsWithout(set) {
		t.Fatalf("does not fit without %v", set)
	}
	for i := range set {
		rest := slices.Delete(slices.Clone(set), i, i+1)
		if c.fitsWithout(rest) {
			t.Fatalf("victim %d of %v is not needed", set[i], set)
		}
	}
}

// checkLeast compares the least set with trying all sets, from any start; no
// victim of it can be left out, and it is never dearer than Slurm's.
func (c *cluster) checkLeast(t rapid.TB, s *Search, sl *Slots) {
	want, ok := c.bruteForce()
	start, bound, proposed := sl.Propose(nil, &c.want, c.free, c.unit, c.costs, &c.held)
	if proposed != ok {
		t.Fatalf("slots say %v, trying all sets %v", proposed, ok)
	}
	if bound > want {
		t.Fatalf("bound %d above the least cost %d", bound, want)
	}
	if proposed && !c.fitsWithout(start) {
		t.Fatalf("proposed %v does not serve", start)
	}
	order := AppendOrder(nil, make([]uint64, len(c.costs)))
	slurm, fits := s.Greedy(nil, order, 2, false, c)
	if fits != ok {
		t.Fatalf("greedy says %v, trying all sets %v", fits, ok)
	}
	if fits && !c.fitsWithout(slurm) {
		t.Fatalf("greedy %v does not serve", slurm)
	}
	for _, begin := range []Start{{}, {Victims: start, Bound: bound}} {
		got, res, found := s.Minimal(nil, c.costs, begin, c)
		if found != ok {
			t.Fatalf("minimal says %v, trying all sets %v", found, ok)
		}
		if len(c.stack) != 0 {
			t.Fatalf("left %v removed", c.stack)
		}
		if !ok {
			continue
		}
		c.checkSet(t, got)
		if cost := c.cost(got); cost != want || res.Cost != cost || res.Bound != cost || !res.Exact {
			t.Fatalf("%v costs %d, result %+v, least is %d", got, cost, res, want)
		}
		if c.cost(slurm) < want {
			t.Fatalf("greedy's %v is cheaper than the least", slurm)
		}
	}
}

func TestMinimalAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Search
		var sl Slots
		drawCluster(rapidPick(t)).checkLeast(t, &s, &sl)
	})
}

// The same over many cases; BERTH_DEEP=1 takes 10,000 that need victims.
func TestMinimalAgreesWithBruteForceOften(t *testing.T) {
	cases := 5000
	if os.Getenv("BERTH_DEEP") != "" {
		cases = 30_000
	}
	var s Search
	var sl Slots
	solved := 0
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		c := drawCluster(func(_ string, lo, hi int) int { return lo + r.IntN(hi-lo+1) })
		c.checkLeast(t, &s, &sl)
		if c.able == 0 && c.fitsWithout(all(len(c.costs))) {
			solved++
		}
	}
	t.Logf("%d cases, %d of them with victims", cases, solved)
	if solved < cases/4 {
		t.Errorf("only %d of %d cases need victims", solved, cases)
	}
}

func all(n int) (out []int32) {
	for i := range n {
		out = append(out, int32(i))
	}
	return out
}

// Beyond the budget the set is still irredundant, and its bound holds.
func TestMinimalWithinBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Search
		c := drawCluster(rapidPick(t))
		// Copies of what runs, on nodes of their own, make it many.
		n := len(c.costs)
		for k := 0; n > 0 && len(c.costs) <= ExactUpTo; k++ {
			c.free = append(c.free, 0)
			c.unit = append(c.unit, int32(k%c.units))
			c.held.Node = append(c.held.Node, int32(len(c.free)-1))
			c.held.Amount = append(c.held.Amount, int32(1+k%4))
			c.held.First = append(c.held.First, int32(len(c.held.Node)))
			c.costs = append(c.costs, int64(k%7))
		}
		c.settle()
		got, res, ok := s.Minimal(nil, c.costs, Start{Budget: rapid.IntRange(0, 200).Draw(t, "budget")}, c)
		if !ok {
			return
		}
		c.checkSet(t, got)
		if res.Cost != c.cost(got) || res.Bound > res.Cost {
			t.Fatalf("%v costs %d: %+v", got, c.cost(got), res)
		}
		best, full, _ := s.Minimal(nil, c.costs, Start{Budget: 1 << 30}, c)
		if !full.Exact || full.Cost > res.Cost || res.Bound > full.Cost {
			t.Fatalf("%v costs %+v, with more steps %v %+v", got, res, best, full)
		}
	})
}
