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

// Steps grow with the entries and nothing faster.
func TestSlotsSteps(t *testing.T) {
	steps := func(running int) int {
		var s Search
		var sl Slots
		c := busyCluster(running, 8, 8, true)
		_, _, res, ok := victims(&s, &sl, nil, nil, c)
		if !ok {
			t.Fatal("no victims")
		}
		return res.Trials
	}
	if a, b := steps(1_000), steps(10_000); b > 2*a+200 {
		t.Errorf("%d trials among 1,000 jobs, %d among 10,000", a, b)
	}
}
