package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// busyEngine has nodes of 8 GPUs that jobs of QOS low fill, seven of eight with 1 to
// 4 GPUs of a node, the others with two whole nodes, until so many run.
func busyEngine(tb testing.TB, running int, profile Profile, blocks ...int) *engine {
	tb.Helper()
	var units []UnitSpec
	for _, size := range blocks {
		for n := 1; n+size-1 <= running; n += size {
			units = append(units, UnitSpec{Name: fmt.Sprintf("b%d", n), Nodes: fmt.Sprintf("n[%d-%d]", n, n+size-1)})
		}
	}
	cfg := Config{
		Profile: profile,
		Nodes:   []NodeSpec{{Names: fmt.Sprintf("n[1-%d]", running), Sockets: 2, CoresPerSocket: 8, GRES: "gpu:8"}},
		QOS:     []QOSSpec{{Name: "low"}, {Name: "high", Preempt: []string{"low"}}},
	}
	if len(units) > 0 {
		cfg.Topologies = []TopologySpec{{Name: "block", BlockSizes: []int32{int32(blocks[0])}, Blocks: units}}
	}
	cfg.Parameters.Select.NoMemory = true
	cfg.Parameters.Plan.Mode = PlanNone
	cfg.Parameters.Preempt = PreemptParameters{Type: "qos", Mode: "CANCEL"}
	e, err := newEngine(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	seed := uint64(1)
	next := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed >> 33 % uint64(n))
	}
	id, node := JobID(1), 1
	submit := func(nodes int, list string, gpus int) {
		s := JobSpec{
			ID: id, QOS: []string{"low"}, MinNodes: int32(nodes), NodeList: list, Tasks: int32(nodes), GPUsPerNode: fmt.Sprint(gpus), TimeLimit: 100 * time.Hour,
			CheckpointEvery: time.Duration(1+next(1000)) * time.Second,
		}
		if err := e.Apply(0, Submit(&s)); err != nil {
			tb.Fatal(err)
		}
		id++
	}
	for int(id) <= running {
		if next(8) == 0 && (len(blocks) == 0 || node%blocks[0] != 0) {
			submit(2, fmt.Sprintf("n[%d-%d]", node, node+1), 8)
			node += 2
			continue
		}
		for left := 8; left > 0; node++ {
			for left > 0 {
				gpus := min(left, 1+next(4))
				submit(1, fmt.Sprintf("n%d", node), gpus)
				left -= gpus
			}
		}
	}
	// Nobody runs on the nodes that are left.
	if err := e.Apply(0, SetNodes(fmt.Sprintf("n[%d-%d]", node, running), NodeDrain, "test")); err != nil {
		tb.Fatal(err)
	}
	e.Pass(0, nil)
	if e.counts.Running != int(id)-1 {
		tb.Fatalf("%d of %d jobs run", e.counts.Running, id-1)
	}
	return e
}

// want submits a job of QOS high and returns its record.
func (e *engine) want(tb testing.TB, now Time, id JobID, nodes int, gpus string) record {
	tb.Helper()
	s := JobSpec{ID: id, QOS: []string{"high"}, MinNodes: int32(nodes), Tasks: int32(nodes), GPUsPerNode: gpus, TimeLimit: time.Hour}
	if err := e.Apply(now, Submit(&s)); err != nil {
		tb.Fatal(err)
	}
	r := e.jobs.find(id)
	return record{row: r, gen: e.jobs.rows[r].qgen, id: id}
}

// victimsOf runs the search for a record and tells nobody.
func (e *engine) victimsOf(rec record) int {
	p := &e.pre
	if !e.collectVictims(rec) {
		return 0
	}
	p.trial.open(e, rec, nil)
	e.narrowAll()
	found := e.leastVictims(&p.trial)
	p.trial.close()
	if found != searchFound {
		return 0
	}
	return len(p.victims)
}

func (e *engine) narrowAll() { e.pre.order = e.pre.order[:0]; e.narrow() }

// BenchmarkEngineVictims is the whole search of profile Best in the engine: the
// rule for every running job, costs, counts by node, and trials with placement.
func BenchmarkEngineVictims(b *testing.B) {
	for _, want := range []struct {
		name  string
		nodes int
		gpus  string
	}{{"1", 1, "1"}, {"8x8", 8, "8"}} {
		for _, kind := range []string{"flat", "block"} {
			b.Run("running=10000/want="+want.name+"/kind="+kind, func(b *testing.B) {
				var blocks []int
				if kind == "block" {
					blocks = []int{16}
				}
				e := busyEngine(b, 10_000, ProfileBest, blocks...)
				rec := e.want(b, Seconds(1000), 1_000_000, want.nodes, want.gpus)
				e.now = Seconds(1001)
				n := e.victimsOf(rec)
				if n == 0 {
					b.Fatal("no victims")
				}
				b.ReportAllocs()
				for b.Loop() {
					e.victimsOf(rec)
				}
				b.ReportMetric(float64(n), "victims")
				b.ReportMetric(float64(e.pre.trial.trials), "trials")
			})
		}
	}
}

// A search costs no more trials among many running jobs than among few, and does
// not allocate.
func TestVictimSteps(t *testing.T) {
	trials := func(running int, blocks ...int) int {
		e := busyEngine(t, running, ProfileBest, blocks...)
		rec := e.want(t, Seconds(1000), 1_000_000, 4, "8")
		e.now = Seconds(1001)
		if e.victimsOf(rec) == 0 {
			t.Fatal("no victims")
		}
		if n := testing.AllocsPerRun(3, func() { e.victimsOf(rec) }); n != 0 && !checking {
			t.Errorf("running %d: the search allocates %v times", running, n)
		}
		return e.pre.trial.trials
	}
	for _, blocks := range [][]int{nil, {16}} {
		if few, many := trials(200, blocks...), trials(2000, blocks...); many > 2*few+20 {
			t.Errorf("blocks of %v: %d trials among 200 jobs, %d among 2,000", blocks, few, many)
		}
	}
}

// Equal jobs for whom nobody can make room are searched for once a pass, until
// something changes.
func TestSearchIsNotRepeated(t *testing.T) {
	for _, profile := range []Profile{ProfileBest, ProfileSlurm} {
		e := busyEngine(t, 50, profile)
		e.par.Plan.Mode = PlanBackfill
		for id := JobID(1000); id < 1100; id++ {
			e.want(t, Seconds(10), id, 40, "8") // more nodes than are up
		}
		e.pre.made = 0
		e.Pass(Seconds(10), nil)
		if n := e.pre.made; n > 2 && profile == ProfileBest {
			t.Errorf("%s: %d searches in two phases for 100 equal jobs", profile, n)
		}
		e.pre.made = 0
		rec := record{row: e.jobs.find(1000)}
		rec.gen = e.jobs.rows[rec.row].qgen
		e.preempt(nil, rec, nil)
		e.preempt(nil, rec, nil)
		if n := e.pre.made; n > 1 {
			t.Errorf("%s: %d searches for one job in one state", profile, n)
		}
		// A job of higher rank may take more, and what ends changes everything.
		e.jobs.rows[rec.row].prio += 1000
		if e.searched(rec, nil) {
			t.Errorf("%s: a job of higher priority is not searched for", profile)
		}
		e.jobs.rows[rec.row].prio -= 1000
		if !e.searched(rec, nil) {
			t.Errorf("%s: an equal job is searched for", profile)
		}
		if err := e.Apply(Seconds(31), Ended(1, JobEnd{})); err != nil {
			t.Fatal(err)
		}
		if e.searched(rec, nil) {
			t.Errorf("%s: no search though a job has ended", profile)
		}
	}
}

// Turns allocate nothing once everybody has had one.
func TestTurnAllocs(t *testing.T) {
	if checking {
		t.Skip("checked builds walk the books with maps")
	}
	cfg := Config{
		Nodes:      []NodeSpec{{Names: "n[1-20]", CoresPerSocket: 4}},
		Partitions: []PartitionSpec{{Name: "f", Nodes: "ALL", Default: true, Oversubscribe: "FORCE:3"}},
	}
	cfg.Parameters.Select.NoMemory = true
	cfg.Parameters.Preempt.Mode = "GANG"
	e, err := newEngine(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id := JobID(1); id <= 60; id++ {
		s := JobSpec{ID: id, Tasks: 4, MinNodes: 1, TimeLimit: 100 * time.Hour}
		if err := e.Apply(0, Submit(&s)); err != nil {
			t.Fatal(err)
		}
	}
	now, dst := Time(0), make([]Decision, 0, 200)
	turn := func() {
		dst = e.Pass(now, dst[:0])
		at, ok := e.Wake()
		if !ok || at.Sub(now) != 30*time.Second {
			t.Fatalf("the next slice is at %d, now is %d", at, now)
		}
		now = at
	}
	for range 6 {
		turn()
	}
	if len(dst) != 40 {
		t.Fatalf("%d decisions in a turn of 20 nodes", len(dst))
	}
	if n := testing.AllocsPerRun(20, turn); n != 0 {
		t.Errorf("a turn allocates %v times", n)
	}
}
