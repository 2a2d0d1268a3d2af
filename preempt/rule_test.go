package preempt

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// The pair rule, row by row (spec: preempt 9, pair rule).
func TestMay(t *testing.T) {
	mode := func(s string) Modes {
		m, err := ParseModes(s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	// standby 0, low 1, high 2.
	qos := func(highModes string) []QOS {
		return []QOS{
			{Priority: 5, Exempt: -1}, {Priority: 10, Preempt: []int32{0}, Exempt: -1},
			{Priority: 100, Preempt: []int32{1}, Modes: mode(highModes), Exempt: -1},
		}
	}
	for _, c := range []struct {
		name           string
		cluster, high  string
		from, to       int32
		prio, victim   uint32
		tier, under    uint16
		partMode       string
		part, expected bool
	}{
		{name: "listed", cluster: "REQUEUE", from: 2, to: 1, expected: true},
		{name: "not listed", cluster: "REQUEUE", from: 1, to: 2},
		{name: "not transitive", cluster: "REQUEUE", from: 2, to: 0},
		{name: "same QOS", cluster: "REQUEUE", from: 2, to: 2, prio: 9, victim: 1},
		{name: "within, above", cluster: "REQUEUE", high: "REQUEUE,WITHIN", from: 2, to: 2, prio: 2000, victim: 1666, expected: true},
		{name: "within, equal", cluster: "REQUEUE,WITHIN", from: 2, to: 2, prio: 2000, victim: 2000},
		{name: "priority, equal", cluster: "REQUEUE,PRIORITY", from: 2, to: 1, prio: 500, victim: 500},
		{name: "priority, above", cluster: "REQUEUE,PRIORITY", from: 2, to: 1, prio: 501, victim: 500, expected: true},
		{name: "priority of its QOS", cluster: "REQUEUE", high: "PRIORITY", from: 2, to: 1, prio: 666, victim: 1200},
		{name: "tiers equal", part: true, cluster: "CANCEL", tier: 5, under: 5},
		{name: "tier above", part: true, cluster: "CANCEL", tier: 5, under: 1, expected: true},
		{name: "partition off", part: true, cluster: "CANCEL", partMode: "OFF", tier: 5, under: 1},
		{name: "partition priority, below", part: true, cluster: "CANCEL", partMode: "CANCEL,PRIORITY", tier: 5, under: 1, prio: 499, victim: 500},
		{name: "partition priority, equal", part: true, cluster: "REQUEUE,PRIORITY", tier: 5, under: 1, prio: 500, victim: 500, expected: true},
	} {
		q := qos(c.high)
		r := Rule{Type: TypeQOS, Cluster: mode(c.cluster), Parameters: DefaultParameters()}
		if c.part {
			r.Type = TypePartition
		}
		me := Job{Priority: c.prio, QOS: &q[c.from], QOSID: c.from, Part: &Partition{Tier: c.tier}}
		it := Job{Priority: c.victim, QOS: &q[c.to], QOSID: c.to, Part: &Partition{Tier: c.under, Modes: mode(c.partMode)}}
		if got := r.May(&me, &it); got != c.expected {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var none Rule
	if none.May(&Job{}, &Job{}) {
		t.Error("nobody preempts without a type")
	}
}

func TestEligible(t *testing.T) {
	low := QOS{Exempt: -1}
	high := QOS{Preempt: []int32{0}, Exempt: -1}
	r := Rule{Type: TypeQOS, Cluster: Modes{Mode: ModeRequeue, Set: true}, Exempt: time.Hour}
	me := Job{QOS: &high, QOSID: 1}
	it := Job{QOS: &low, Age: time.Minute, Requeueable: true}
	if r.Eligible(&me, &it) {
		t.Error("young job taken")
	}
	low.Exempt = 0
	if !r.Eligible(&me, &it) {
		t.Error("the QOS's zero does not cancel the cluster's exempt time")
	}
	r.Parameters.Exempt, r.Parameters.MinExemptPriority = true, 1000
	it.Priority = 1000
	if !r.Eligible(&me, &it) {
		t.Error("exactly min_exempt_priority is exempt")
	}
	if it.Priority = 1001; r.Eligible(&me, &it) {
		t.Error("above min_exempt_priority is taken")
	}
	if m := r.ModeOf(&it); m != ModeRequeue {
		t.Error(m)
	}
	if it.Requeueable = false; r.ModeOf(&it) != ModeCancel {
		t.Error("what cannot be requeued is not cancelled")
	}
	low.Modes, low.Grace = Modes{Mode: ModeSuspend, Set: true}, time.Minute
	if r.ModeOf(&it) != ModeSuspend || r.GraceOf(&it) != 0 {
		t.Error("suspension has no grace")
	}
	low.Modes = Modes{Set: true} // OFF is the cluster's
	if r.ModeOf(&it) != ModeCancel || r.GraceOf(&it) != time.Minute {
		t.Error("a QOS's OFF is not the cluster's mode")
	}
	if Together([]Mode{ModeRequeue, ModeCancel}) != ModeRequeue || Together([]Mode{ModeSuspend, ModeCancel}) != ModeSuspend {
		t.Error("components do not share the highest mode")
	}
}

func TestKey(t *testing.T) {
	r := Rule{Type: TypeQOS}
	q := []QOS{{Priority: 10}, {Priority: 5}, {Priority: 1 << 20}}
	jobs := []Job{{QOS: &q[0], Nodes: 1}, {QOS: &q[1], Nodes: 4}, {QOS: &q[1], Nodes: 1}, {QOS: &q[1], Nodes: 1}, {QOS: &q[2], Nodes: 1 << 20}}
	keys := make([]uint64, len(jobs))
	order := func() []int32 {
		for i := range jobs {
			keys[i] = r.Key(&jobs[i])
		}
		return AppendOrder(nil, keys)
	}
	if got := order(); !slices.Equal(got, []int32{2, 3, 1, 0, 4}) {
		t.Error(got)
	}
	for i := range jobs {
		jobs[i].Age = time.Duration(5 - i/2)
		jobs[i].Part = &Partition{Tier: uint16(9 - i)}
	}
	r.Parameters.YoungestFirst = true
	if got := order(); !slices.Equal(got, []int32{4, 2, 3, 0, 1}) {
		t.Error(got)
	}
	r.Type, r.Cluster.Gang = TypePartition, true // youngest_first is ignored
	if got := order(); !slices.Equal(got, []int32{4, 3, 2, 1, 0}) {
		t.Error(got)
	}
}

// rows is a Trial of whole nodes: the job wants count of them, or one by name.
type rows struct {
	busy  []int // candidates on each node that are not removed
	on    [][]int32
	only  int32
	count int
	stack []int32
	place []int32
}

func (r *rows) Remove(c int32) {
	for _, n := range r.on[c] {
		r.busy[n]--
	}
	r.stack = append(r.stack, c)
}

func (r *rows) Undo(n int) {
	for ; n > 0; n-- {
		for _, k := range r.on[r.stack[len(r.stack)-1]] {
			r.busy[k]++
		}
		r.stack = r.stack[:len(r.stack)-1]
	}
}

func (r *rows) Fits() bool {
	place := []int32{}
	for n, b := range r.busy {
		if b == 0 && (r.only < 0 || r.only == int32(n)) {
			place = append(place, int32(n))
		}
	}
	if len(place) < r.count {
		return false
	}
	r.place = place[:r.count]
	return true
}

func (r *rows) Touches(c int32) (t int32) {
	for _, n := range r.on[c] {
		if slices.Contains(r.place, n) {
			t++
		}
	}
	return t
}

func newRows(nodes, count int, only int32, on ...[]int32) *rows {
	r := &rows{busy: make([]int, nodes), on: on, only: only, count: count}
	for _, l := range on {
		for _, n := range l {
			r.busy[n]++
		}
	}
	return r
}

// Slurm's choice with re-ordering (spec: preempt 9, 15 to 23).
func TestGreedy(t *testing.T) {
	one := func(n int) (out [][]int32) {
		for i := range n {
			out = append(out, []int32{int32(i)})
		}
		return out
	}
	grown := [][]int32{{0}, {1, 2}, {3, 4, 5, 6}, {7}}
	for _, c := range []struct {
		name    string
		t       *rows
		order   []int32
		passes  int
		strict  bool
		victims []int32
		ok      bool
	}{
		{"the two oldest", newRows(8, 2, -1, one(8)...), []int32{0, 1, 2, 3, 4, 5, 6, 7}, 2, false, []int32{1, 0}, true},
		{"a named node spares the rest", newRows(8, 1, 5, one(8)...), []int32{0, 1, 2, 3, 4, 5, 6, 7}, 2, false, []int32{5}, true},
		{"the large one alone", newRows(8, 4, -1, grown...), []int32{0, 1, 2}, 2, false, []int32{2}, true},
		{"one re-order is enough", newRows(8, 4, -1, grown...), []int32{0, 1, 2}, 1, false, []int32{2}, true},
		{"strictly", newRows(8, 4, -1, grown...), []int32{0, 1, 2}, 2, true, []int32{2}, true},
		{"no re-order", newRows(8, 4, -1, grown...), []int32{0, 1, 2}, 0, false, []int32{0, 1, 2}, true},
		{"not enough with all", newRows(8, 9, -1, one(8)...), []int32{0, 1, 2, 3, 4, 5, 6, 7}, 2, false, nil, false},
		{"free nodes suffice", newRows(8, 1, -1, one(7)...), []int32{0, 1, 2, 3, 4, 5, 6}, 2, false, nil, true},
	} {
		var s Search
		got, ok := s.Greedy(nil, c.order, c.passes, c.strict, c.t)
		slices.Sort(got)
		slices.Sort(c.victims)
		if !slices.Equal(got, c.victims) || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", c.name, got, ok, c.victims, c.ok)
		}
		if len(c.t.stack) > 0 {
			t.Errorf("%s: left %v removed", c.name, c.t.stack)
		}
	}
}

func TestTimeline(t *testing.T) {
	p := DefaultParameters()
	u := UserSignal{Signal: 10}
	for _, c := range []struct {
		name  string
		mode  Mode
		grace time.Duration
		own   bool
		user  UserSignal
		want  []Notice
	}{
		{"at once", ModeCancel, 0, false, u, []Notice{{0, 18, ToAll}, {0, 15, ToAll}, {30, 9, ToAll}}},
		{"steps first", ModeRequeue, 120, false, u, []Notice{{0, 18, ToSteps}, {0, 15, ToSteps}, {120, 18, ToAll}, {120, 15, ToAll}, {150, 9, ToAll}}},
		{"own signal", ModeCancel, 20, true, u, []Notice{{0, 18, ToSteps}, {0, 10, ToSteps}, {20, 18, ToAll}, {20, 15, ToAll}, {50, 9, ToAll}}},
		{"own signal to the shell", ModeCancel, 20, true, UserSignal{Signal: 10, Batch: true}, []Notice{{0, 18, ToBatch}, {0, 10, ToBatch}, {20, 18, ToAll}, {20, 15, ToAll}, {50, 9, ToAll}}},
		{"own signal sent", ModeCancel, 20, true, UserSignal{Signal: 10, Sent: true}, []Notice{{0, 18, ToSteps}, {0, 15, ToSteps}, {20, 18, ToAll}, {20, 15, ToAll}, {50, 9, ToAll}}},
		{"stop", ModeSuspend, 0, false, u, []Notice{{0, 20, ToSteps}, {2, 19, ToSteps}}},
		{"off", ModeOff, 0, false, u, nil},
	} {
		p.SendUserSignal = c.own
		got := p.AppendTimeline(nil, c.mode, c.grace*time.Second, 30*time.Second, &c.user)
		for i := range got {
			got[i].After /= time.Second
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestGrammars(t *testing.T) {
	for _, s := range []string{"", "OFF", "CANCEL", "REQUEUE,GANG", "SUSPEND,GANG,PRIORITY,WITHIN", "WITHIN"} {
		m, err := ParseModes(s)
		if err != nil || string(AppendModes(nil, m)) != s {
			t.Errorf("mode %q: %+v %v", s, m, err)
		}
	}
	if m, err := ParseModes("cluster"); err != nil || m != (Modes{}) {
		t.Error(m, err)
	}
	if _, err := ParseModes("CANCEL,REQUEUE"); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	if _, err := ParseModes("CANCEL,"); !errors.Is(err, ErrSyntax) {
		t.Error(err)
	}
	for _, s := range []string{"", "reorder_count=3", "strict_order,youngest_first,min_exempt_priority=0,reclaim_licenses,send_user_signal,suspend_grace_time=9"} {
		p, err := ParseParameters(s)
		if err != nil || string(AppendParameters(nil, &p)) != s {
			t.Errorf("parameters %q: %+v %v", s, p, err)
		}
	}
	for _, s := range []string{"reorder_count", "reorder_count=-1", "strict_order=1", "x", "min_exempt_priority=4294967296"} {
		if _, err := ParseParameters(s); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"none", "partition_prio", "qos"} {
		if typ, err := ParseType("preempt/" + s); err != nil || typ.String() != s {
			t.Error(s, typ, err)
		}
	}
	if _, err := ParseType("fair"); !errors.Is(err, ErrSyntax) {
		t.Error(err)
	}
}

func FuzzParseModes(f *testing.F) {
	f.Add("SUSPEND,GANG,PRIORITY,WITHIN")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseModes(s)
		if err != nil {
			return
		}
		text := AppendModes(nil, m)
		if again, err := ParseModes(string(text)); err != nil || again != m {
			t.Errorf("%q: %+v, again %q: %+v %v", s, m, text, again, err)
		}
	})
}

func FuzzParseParameters(f *testing.F) {
	f.Add("reorder_count=3,min_exempt_priority=7")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseParameters(s)
		if err != nil {
			return
		}
		text := AppendParameters(nil, &p)
		if again, err := ParseParameters(string(text)); err != nil || again != p {
			t.Errorf("%q: %+v, again %q: %+v %v", s, p, text, again, err)
		}
	})
}
