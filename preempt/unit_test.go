package preempt

import (
	"slices"
	"testing"
	"time"
)

// Cases 12 and 41, and P09 of the seed cases: a heterogeneous job goes whole or
// not at all, and in one way.
func TestUnits(t *testing.T) {
	mode := func(m Mode) Modes { return Modes{Mode: m, Set: true} }
	q := []QOS{
		{Priority: 10, Exempt: -1},                             // low
		{Priority: 20, Exempt: -1},                             // normal, not listed
		{Priority: 5, Modes: mode(ModeCancel), Exempt: -1},     // standby
		{Preempt: []int32{0, 2}, Exempt: -1},                   // high
		{Priority: 7, Modes: mode(ModeSuspend), Exempt: -1},    // idle
		{Priority: 8, Exempt: time.Hour, Modes: mode(ModeOff)}, // protected while young
	}
	r := Rule{Type: TypeQOS, Cluster: mode(ModeRequeue), Parameters: DefaultParameters()}
	me := Job{QOS: &q[3], QOSID: 3}
	job := func(id int32) Job { return Job{QOS: &q[id], QOSID: id, Nodes: 1, Age: time.Minute, Requeueable: true} }
	low, normal, standby := job(0), job(1), job(2)
	if r.EligibleUnit(&me, []Job{low, normal}) || r.EligibleUnit(&me, []Job{normal, low}) {
		t.Error("a unit is taken of which one component may not be")
	}
	if !r.EligibleUnit(&me, []Job{low, low, standby}) {
		t.Error("a unit is not taken of which every component may be")
	}
	if r.EligibleUnit(&me, nil) {
		t.Error("nothing is taken")
	}
	if m := r.ModeOfUnit([]Job{low, standby}); m != ModeRequeue {
		t.Errorf("REQUEUE and CANCEL together are %s", m)
	}
	stuck := low
	stuck.Requeueable = false
	if m := r.ModeOfUnit([]Job{low, stuck}); m != ModeCancel {
		t.Errorf("a unit that cannot be requeued whole is %s", m)
	}
	if m := r.ModeOfUnit([]Job{low, job(4)}); m != ModeSuspend {
		t.Errorf("REQUEUE and SUSPEND together are %s", m)
	}

	// In a search it is one candidate that holds nodes of all its components: the
	// unit 0 of nodes 0 and 3 goes whole, though node 0 alone is wanted; its cost
	// is paid once.
	c := &cluster{units: 1, free: []int32{0, 0, 0, 0}, unit: []int32{0, 0, 0, 0}, want: Demand{Nodes: 2, PerNode: 4, Units: 1},
		costs: []int64{5, 4, 4}, held: Held{First: []int32{0, 2, 3, 4}, Node: []int32{0, 3, 1, 2}, Amount: []int32{4, 4, 4, 4}}}
	c.settle()
	var s Search
	got, res, ok := s.Minimal(nil, c.costs, Start{}, c)
	if !ok || !slices.Equal(got, []int32{0}) || res.Cost != 5 {
		t.Errorf("%v %+v %v", got, res, ok)
	}
}

// Who keeps nodes to a user or a label neither takes others nor is taken by them
// (spec: preempt 3).
func TestEligibleAlone(t *testing.T) {
	q := []QOS{{Exempt: -1}, {Preempt: []int32{0}, Exempt: -1}}
	r := Rule{Type: TypeQOS, Cluster: Modes{Mode: ModeCancel, Set: true}}
	for _, c := range []struct {
		name     string
		me, it   Alone
		same     bool
		expected bool
	}{
		{"plain", WithAll, WithAll, false, true},
		{"user takes another's", WithUser, WithAll, false, false},
		{"user takes another's exclusive", WithUser, WithNone, false, true},
		{"user takes its own", WithUser, WithAll, true, true},
		{"another takes user's", WithAll, WithUser, false, false},
		{"its own takes user's", WithAll, WithUser, true, true},
		{"exclusive takes user's", WithNone, WithUser, false, false},
		{"label takes another's", WithLabel, WithAll, false, false},
		{"label takes another's exclusive", WithLabel, WithNone, false, true},
		{"another takes label's", WithAll, WithLabel, false, false},
		{"user takes label's", WithUser, WithLabel, false, false},
	} {
		me := Job{QOS: &q[1], QOSID: 1, Alone: c.me, User: 1, Label: 1}
		it := Job{QOS: &q[0], Alone: c.it, User: 2, Label: 2}
		if c.same {
			it.User, it.Label = 1, 1
		}
		if got := r.Eligible(&me, &it); got != c.expected {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	r.MCS = true
	if r.Eligible(&Job{QOS: &q[1], QOSID: 1, Label: 1}, &Job{QOS: &q[0]}) {
		t.Error("labels differ and are enforced")
	}
}

// Who borrowed nodes of a reservation gives them back to it, whatever the pair
// rule says (spec: preempt 3 and 6).
func TestBorrowed(t *testing.T) {
	q := []QOS{{Modes: Modes{Mode: ModeSuspend, Set: true}, Exempt: -1}, {Exempt: -1}}
	r := Rule{Type: TypeQOS, Cluster: Modes{Mode: ModeRequeue, Set: true}}
	it := Job{QOS: &q[0], Reservation: 3, Borrowed: true, Requeueable: true}
	me := Job{QOS: &q[1], QOSID: 1, Reservation: 3}
	if !r.Eligible(&me, &it) {
		t.Error("the reservation does not get its nodes back")
	}
	if m := r.ModeOf(&it); m != ModeCancel {
		t.Errorf("a borrower under SUSPEND is %s", m)
	}
	q[0].Modes = Modes{}
	if m := r.ModeOf(&it); m != ModeRequeue {
		t.Errorf("a borrower under REQUEUE is %s", m)
	}
	if me.Reservation = 4; r.Eligible(&me, &it) {
		t.Error("another reservation takes it")
	}
	if me.Reservation = 0; r.Eligible(&me, &it) {
		t.Error("a job without reservation takes it")
	}
}
