package scheduler_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// A leastCase is a little cluster on which jobs of QOS low run, pinned to their
// nodes, and a job of QOS high that may take their places.
type leastCase struct {
	cfg   scheduler.Config
	reg   scheduler.Registry
	low   []scheduler.JobSpec
	high  scheduler.JobSpec
	costs map[scheduler.JobID]int64

	propose bool // begin with a proposal
}

func drawLeast(r *rand.Rand) *leastCase {
	pick := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	c := &leastCase{costs: map[scheduler.JobID]int64{}}
	c.propose = pick(0, 1) == 0
	nodes := pick(1, 6)
	c.cfg = scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: fmt.Sprintf("n[1-%d]", nodes), CoresPerSocket: 16, GRES: "gpu:4"}},
		QOS:   []scheduler.QOSSpec{{Name: "low"}, {Name: "high", Preempt: []string{"low"}}},
	}
	if nodes > 3 && pick(0, 1) == 0 {
		c.cfg.Topologies = []scheduler.TopologySpec{{Name: "b", BlockSizes: []int32{3}, Blocks: []scheduler.UnitSpec{
			{Name: "b1", Nodes: "n[1-3]"}, {Name: "b2", Nodes: fmt.Sprintf("n[4-%d]", nodes)},
		}}}
	}
	c.cfg.Parameters.Select.NoMemory = true
	c.cfg.Parameters.Preempt = scheduler.PreemptParameters{Type: "qos", Mode: "CANCEL", Cost: "table"}
	c.reg.Costs = map[string]func(*scheduler.VictimInfo) int64{"table": func(v *scheduler.VictimInfo) int64 { return c.costs[v.Job] }}
	free := make([]int, nodes)
	for n := range free {
		free[n] = 4
	}
	for id := scheduler.JobID(1); id <= 10; id++ {
		wide, gpus := pick(1, min(3, nodes)), pick(1, 4)
		first := pick(0, nodes-wide)
		fits := len(c.cfg.Topologies) == 0 || first/3 == (first+wide-1)/3
		for n := first; n < first+wide; n++ {
			fits = fits && free[n] >= gpus
		}
		if !fits {
			continue
		}
		var on []string
		for n := first; n < first+wide; n++ {
			free[n] -= gpus
			on = append(on, fmt.Sprintf("n%d", n+1))
		}
		c.low = append(c.low, scheduler.JobSpec{
			ID: id, QOS: []string{"low"}, MinNodes: int32(wide), NodeList: strings.Join(on, ","), Tasks: int32(wide), TasksPerNode: 1,
			GPUsPerNode: fmt.Sprint(gpus), TimeLimit: time.Hour,
		})
		c.costs[id] = int64(pick(0, 9))
	}
	want := pick(1, nodes)
	if len(c.cfg.Topologies) > 0 {
		want = pick(1, 3)
	}
	c.high = scheduler.JobSpec{
		ID: 100, QOS: []string{"high"}, MinNodes: int32(want), Tasks: int32(want), TasksPerNode: 1, GPUsPerNode: fmt.Sprint(pick(1, 4)), TimeLimit: time.Hour,
	}
	return c
}

// begin returns a scheduler on which the low jobs run and the high one waits.
func (c *leastCase) begin(t *testing.T, profile scheduler.Profile) scheduler.Scheduler {
	cfg := c.cfg
	cfg.Profile = profile
	s, err := scheduler.New(cfg, &c.reg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.low {
		if err := s.Apply(0, scheduler.Submit(&c.low[i])); err != nil {
			t.Fatal(err)
		}
	}
	started := 0
	for _, d := range s.Pass(0, nil) {
		if d.Op != scheduler.OpStart {
			t.Fatalf("%s of job %d", d.Op, d.Job)
		}
		if err := s.Apply(0, scheduler.Started(&d)); err != nil {
			t.Fatal(err)
		}
		started++
	}
	if started != len(c.low) {
		t.Fatalf("%d of %d jobs started", started, len(c.low))
	}
	return s
}

// choose submits the high job and returns its victims; started says that it
// needed none.
func (c *leastCase) choose(t *testing.T, s scheduler.Scheduler) (set []scheduler.JobID, started bool) {
	if err := s.Apply(scheduler.Seconds(1), scheduler.Submit(&c.high)); err != nil {
		return nil, true // it never runs here
	}
	for _, d := range s.Pass(scheduler.Seconds(1), nil) {
		switch {
		case d.Op == scheduler.OpStart:
			started = true
		case d.Op == scheduler.OpKill && d.For == c.high.ID:
			set = append(set, d.Job)
		default:
			t.Fatalf("%s of job %d", d.Op, d.Job)
		}
	}
	return set, started
}

// startsWithout reports whether the high job starts once the jobs of set have
// ended, on a copy of what begin returned.
func (c *leastCase) startsWithout(t *testing.T, s scheduler.Scheduler, set []scheduler.JobID) bool {
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range set {
		if err := f.Apply(0, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Apply(scheduler.Seconds(1), scheduler.Submit(&c.high)); err != nil {
		t.Fatal(err)
	}
	f.Pass(scheduler.Seconds(1), nil)
	ok := false
	f.View(func(v scheduler.View) {
		j, _ := v.Job(c.high.ID)
		ok = j.State == scheduler.StateRunning
	})
	return ok
}

func (c *leastCase) cost(set []scheduler.JobID) (sum int64) {
	for _, id := range set {
		sum += c.costs[id]
	}
	return sum
}

// check compares with trying every set.
func (c *leastCase) check(t *testing.T) (victims int) {
	s := c.begin(t, scheduler.ProfileBest)
	fresh, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	if c.propose {
		scheduler.AlwaysPropose(s)
	}
	got, started := c.choose(t, s)
	if started {
		return 0
	}
	best, ok := int64(0), false
	var enough []uint // sets that do, none within another
	for m := range uint(1) << len(c.low) {
		if slices.ContainsFunc(enough, func(k uint) bool { return k&m == k }) {
			continue
		}
		var set []scheduler.JobID
		for x := m; x != 0; x &= x - 1 {
			set = append(set, c.low[bits.TrailingZeros(x)].ID)
		}
		if cost := c.cost(set); (!ok || cost < best) && c.startsWithout(t, fresh, set) {
			best, ok = cost, true
			enough = append(enough, m)
		}
	}
	if ok != (len(got) > 0) || ok && c.cost(got) != best {
		t.Fatalf("victims %v cost %d, the least is %d (%v)\n%+v", got, c.cost(got), best, ok, c)
	}
	if !ok {
		return 0
	}
	if !c.startsWithout(t, fresh, got) {
		t.Fatalf("it does not start without %v", got)
	}
	for i := range got {
		rest := append(append([]scheduler.JobID(nil), got[:i]...), got[i+1:]...)
		if c.startsWithout(t, fresh, rest) {
			t.Fatalf("victim %d of %v is not needed", got[i], got)
		}
	}
	slurm, _ := c.choose(t, c.begin(t, scheduler.ProfileSlurm))
	if len(slurm) > 0 && c.cost(slurm) < best {
		t.Fatalf("Slurm's victims %v cost %d, the least is %d", slurm, c.cost(slurm), best)
	}
	return len(got)
}

// The victims of the whole engine, with placement and topology in the loop, are
// those of least cost, none is needless, and Slurm's are no cheaper. BERTH_DEEP=1
// takes 1,000 cases.
func TestLeastVictims(t *testing.T) {
	cases := 25
	switch {
	case os.Getenv("BERTH_DEEP") != "":
		cases = 1_000
	case scheduler.Checking:
		cases = 8
	}
	chosen := 0
	for seed := range cases {
		c := drawLeast(rand.New(rand.NewPCG(uint64(seed), 7)))
		if c.check(t) > 0 {
			chosen++
		}
	}
	t.Logf("%d of %d cases have victims", chosen, cases)
	if chosen < cases/4 {
		t.Errorf("only %d of %d cases have victims", chosen, cases)
	}
}
