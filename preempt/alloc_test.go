package preempt

import (
	"testing"
	"time"
)

func TestAllocs(t *testing.T) {
	if checking {
		t.Skip("checked builds allocate")
	}
	var s Search
	var sl Slots
	c := busyCluster(1_000, 8, 8, true)
	keys := make([]uint64, len(c.costs))
	start, dst, _, _ := victims(&s, &sl, nil, nil, c)
	order := AppendOrder(nil, keys)
	dst, _ = s.Greedy(dst[:0], order, 2, false, c)
	if n := testing.AllocsPerRun(5, func() {
		start, dst, _, _ = victims(&s, &sl, start, dst, c)
	}); n != 0 {
		t.Errorf("Minimal allocates %v times", n)
	}
	if n := testing.AllocsPerRun(5, func() {
		order = AppendOrder(order[:0], keys)
		dst, _ = s.Greedy(dst[:0], order, 2, false, c)
	}); n != 0 {
		t.Errorf("Greedy allocates %v times", n)
	}
	var g Gang
	cores := coresOf(0b0011, 0b1100, 0b0011, 0b1111)
	list, on := all(4), make([]bool, 4)
	g.Choose(on, nil, list, cores)
	g.Rotate(list, on)
	if n := testing.AllocsPerRun(20, func() {
		g.Choose(on, list[:1], list[1:], cores)
		g.Rotate(list, on)
	}); n != 0 {
		t.Errorf("a turn allocates %v times", n)
	}
	r := Rule{Type: TypeQOS, Cluster: Modes{Mode: ModeRequeue, Set: true}, Parameters: DefaultParameters()}
	q := []QOS{{Exempt: -1}, {Preempt: []int32{0}, Exempt: -1}}
	p := Partition{}
	hi, lo := Job{QOS: &q[1], QOSID: 1, Part: &p}, Job{QOS: &q[0], Part: &p}
	line := make([]Notice, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		if !r.Eligible(&hi, &lo) || r.Key(&lo) != 0 {
			t.Fatal("not eligible")
		}
		line = r.Parameters.AppendTimeline(line[:0], ModeCancel, time.Minute, time.Second, &UserSignal{})
	}); n != 0 {
		t.Errorf("the rule allocates %v times", n)
	}
}

// Steps grow with the entries and nothing faster; trials do not grow at all.
func TestSlotsSteps(t *testing.T) {
	for _, want := range []struct {
		nodes int
		per   int32
	}{{1, 1}, {8, 8}} {
		count := func(running int) (steps, trials int) {
			var s Search
			var sl Slots
			c := busyCluster(running, want.nodes, want.per, true)
			_, _, res, ok := victims(&s, &sl, nil, nil, c)
			if !ok {
				t.Fatal("no victims")
			}
			return sl.steps, res.Trials
		}
		steps, trials := count(1_000)
		more, tried := count(10_000)
		if more > 11*steps {
			t.Errorf("want %v: %d steps among 1,000 jobs, %d among 10,000", want, steps, more)
		}
		if tried > 2*trials+20 {
			t.Errorf("want %v: %d trials among 1,000 jobs, %d among 10,000", want, trials, tried)
		}
	}
}
