package qos

import (
	"math"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
)

// newPair returns a ledger with one user in an account, and a job of his.
func newPair(t *testing.T) (*Ledger, *Job) {
	t.Helper()
	s, err := gres.NewSchema("gres/gpu")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Schema: s, Enforce: EnforceLimits})
	if err != nil {
		t.Fatal(err)
	}
	lab, err := l.AddAccount("lab", Root)
	if err != nil {
		t.Fatal(err)
	}
	u, err := l.AddUser("u", lab, "")
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Assoc: u, QOS: l.FindQOS("normal"), TRES: s.NewVector(), Nodes: []int32{0}}
	j.TRES[gres.CPU], j.TRES[gres.Node] = 4, 1
	return l, j
}

// TestWorkedExample is the example of the documentation: ten hours of two jobs
// cost the same by CPUs, and 4.5 times as much with weights for memory and GPUs.
func TestWorkedExample(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		want      float64
	}{{64, 2_304_000}, {576, 20_736_000}, {128, 4_608_000}} {
		for _, steps := range []int{1, 120, 36_000} {
			l, j := newPair(t)
			j.Billing = c.perSecond
			id := l.Charge(j)
			for range steps {
				d := 10 * time.Hour / time.Duration(steps)
				l.Accrue(id, d, d.Seconds())
				l.Forget()
			}
			l.Uncharge(id)
			for _, a := range []AssocID{j.Assoc, l.Parent(j.Assoc), Root} {
				if got := l.Usage(a); got != c.want {
					t.Errorf("%v per second in %d steps: %v, want %v", c.perSecond, steps, got, c.want)
				}
			}
			if got := l.QOSUsage(j.QOS); got != c.want {
				t.Errorf("QOS: %v, want %v", got, c.want)
			}
		}
	}
}

// TestUsageFactor: spec/priority.md 7, cases 45 to 48.
func TestUsageFactor(t *testing.T) {
	decay := math.Pow(1-0.693/(7*86400), 300)
	for _, c := range []struct {
		factor      float64
		flags       Flags
		assoc, qual float64
	}{
		{0, 0, 0, 0},
		{2.5, 0, 2998.97, 2998.97},
		{2.5, NoDecay, 2998.97, 3000},
	} {
		l, j := newPair(t)
		part, err := l.AddQOS("part")
		if err != nil {
			t.Fatal(err)
		}
		for id, f := range map[QOSID]float64{j.QOS: c.factor, part: 100} { // the partition's own factor never counts
			a := l.QOS(id)
			a.UsageFactor = f
			if id == j.QOS {
				a.Flags = c.flags
			}
			if err := l.SetQOS(id, a); err != nil {
				t.Fatal(err)
			}
		}
		j.PartQOS, j.Billing = part, 4
		l.Accrue(l.Charge(j), 5*time.Minute, 300*decay)
		for _, g := range []struct {
			what      string
			got, want float64
		}{{"association", l.Usage(j.Assoc), c.assoc}, {"job QOS", l.QOSUsage(j.QOS), c.qual}, {"partition QOS", l.QOSUsage(part), c.assoc}} {
			if math.Abs(g.got-g.want) > 0.01 {
				t.Errorf("factor %v flags %v: %s %v, want %v", c.factor, c.flags, g.what, g.got, g.want)
			}
		}
	}
}

// TestDecayIsLazy: years of decay neither lose nor invent usage, and marks hold
// across it.
func TestDecayIsLazy(t *testing.T) {
	l, j := newPair(t)
	l.AddUsage(j.Assoc, 1e9, 0, nil)
	for range 60 { // the scale is brought back twice on the way
		l.Decay(0.5)
		l.Forget()
		l.AddUsage(j.Assoc, 1000, 0, nil)
	}
	if got := l.Usage(j.Assoc); math.Abs(got-2000) > 0.01 {
		t.Errorf("usage %v, want 2000", got)
	}
	if got := l.Usage(Root); math.Abs(got-2000) > 0.01 {
		t.Errorf("root %v, want 2000", got)
	}
	before := l.AppendSnapshot(nil)
	m := l.Mark()
	l.Decay(0.25)
	l.Rollback(m)
	if string(before) != string(l.AppendSnapshot(nil)) {
		t.Error("rollback of decay left something")
	}
}

// TestResetOfAccount: spec/priority.md 5.4, the manual reset.
func TestResetOfAccount(t *testing.T) {
	l, j := newPair(t)
	other, err := l.AddAccount("other", Root)
	if err != nil {
		t.Fatal(err)
	}
	l.AddUsage(j.Assoc, 100, 10, nil)
	l.AddUsage(other, 50, 5, nil)
	l.ResetAssoc(l.Parent(j.Assoc))
	if l.Usage(j.Assoc) != 0 || l.Usage(Root) != 50 || l.Wall(Root) != 5 {
		t.Errorf("after the reset: user %v, root %v", l.Usage(j.Assoc), l.Usage(Root))
	}
	l.ResetUsage()
	if l.Usage(Root) != 0 {
		t.Errorf("after the reset of all: %v", l.Usage(Root))
	}
}

// TestAdminTRES: amounts that an administrator set are not checked.
func TestAdminTRES(t *testing.T) {
	l, j := newPair(t)
	if err := l.SetQOSLimits(j.QOS, Setting{MaxTRESPerJob, "cpu=2"}, Setting{GrpTRES, "node=0"}); err != nil {
		t.Fatal(err)
	}
	if v := l.Admit(j); v.Reason.String() != "QOSGrpNodeLimit" {
		t.Errorf("without: %v", v.Reason)
	}
	j.AdminTRES = []uint64{1<<gres.CPU | 1<<gres.Node}
	if v := l.Admit(j); !v.OK() {
		t.Errorf("with: %v", v.Reason)
	}
	if most, v := l.NodeCap(j, nil); !v.OK() || most != gres.Unlimited {
		t.Errorf("cap %d, %v", most, v.Reason)
	}
}

// TestSlips: calls that a program must not make panic as announced.
func TestSlips(t *testing.T) {
	l, j := newPair(t)
	id := l.Charge(j)
	l.Uncharge(id)
	mark := l.Mark()
	l.Forget()
	for name, f := range map[string]func(){
		"uncharge twice":        func() { l.Uncharge(id) },
		"no such association":   func() { l.Account(99) },
		"no such QOS":           func() { l.QOS(99) },
		"short vector":          func() { l.Admit(&Job{TRES: gres.Vector{1}}) },
		"total of other schema": func() { l.SetTotal(gres.Vector{1}) },
		"rollback too far":      func() { l.SetShares(Root, 1); l.Rollback(mark - 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestTreeErrors(t *testing.T) {
	l, j := newPair(t)
	lab := l.Parent(j.Assoc)
	id := l.Charge(j)
	for name, err := range map[string]error{
		"account twice":     second(l.AddAccount("lab", Root)),
		"account in a user": second(l.AddAccount("x", j.Assoc)),
		"account nowhere":   second(l.AddAccount("x", 99)),
		"empty account":     second(l.AddAccount("", Root)),
		"user twice":        second(l.AddUser("u", lab, "")),
		"user in a user":    second(l.AddUser("v", j.Assoc, "")),
		"empty user":        second(l.AddUser("", lab, "")),
		"delete root":       l.Delete(Root),
		"delete busy":       l.Delete(j.Assoc),
		"delete parent":     l.Delete(lab),
		"move root":         l.Move(Root, lab),
		"move below itself": l.Move(lab, lab),
		"move a user":       l.Move(j.Assoc, Root),
		"rename to taken":   l.RenameAccount(lab, "root"),
		"QOS twice":         second(l.AddQOS("normal")),
		"delete busy QOS":   l.DeleteQOS(j.QOS),
		"bad factor":        l.SetQOS(j.QOS, Attributes{UsageFactor: -1}),
		"bad preempt":       l.SetQOS(j.QOS, Attributes{Preempt: []QOSID{9}}),
		"limit of leaf":     l.SetLimits(j.Assoc, Setting{MinTRESPerJob, "cpu=1"}),
		"no schema":         Config{}.Validate(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	l.Uncharge(id)
	if err := l.Delete(j.Assoc); err != nil {
		t.Error(err)
	}
	again, err := l.AddUser("u", lab, "gpu")
	if err != nil || again != j.Assoc || l.Find("lab", "u", "gpu") != again || l.Find("lab", "u", "") != 0 || l.Partition(again) != "gpu" {
		t.Errorf("after deletion: %v %v", again, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestRunningJobChanges: a running job's time limit and price change, and a
// roll back finds the old limit.
func TestRunningJobChanges(t *testing.T) {
	l, j := newPair(t)
	j.Limit, j.Billing = time.Hour, 4
	id := l.Charge(j)
	if got := l.Committed(j.Assoc, gres.CPU); got != 4*3600 || l.Left(id) != time.Hour {
		t.Errorf("committed %d, left %v", got, l.Left(id))
	}
	m := l.Mark()
	l.SetLeft(id, 2*time.Hour)
	if got := l.QOSCommitted(j.QOS, gres.CPU); got != 4*7200 {
		t.Errorf("longer: committed %d", got)
	}
	l.Rollback(m)
	l.Accrue(id, 90*time.Minute, 5400) // beyond its limit: nothing is committed any more
	if got := l.Committed(Root, gres.CPU); got != 0 || l.Left(id) != 0 {
		t.Errorf("overrun: committed %d, left %v", got, l.Left(id))
	}
	l.SetBilling(id, 8)
	l.Accrue(id, time.Minute, 60)
	if got := l.Usage(Root); got != 4*5400+8*60 {
		t.Errorf("usage %v", got)
	}
}

// TestNodeCapWithin: nodes an owner uses already cost it nothing, if the job can
// get them.
func TestNodeCapWithin(t *testing.T) {
	l, j := newPair(t)
	if err := l.SetQOSLimits(j.QOS, Setting{GrpTRES, "node=3"}); err != nil {
		t.Fatal(err)
	}
	j.Nodes = []int32{1, 70}
	j.TRES[gres.Node] = 2
	l.Charge(j)
	for _, c := range []struct {
		eligible []uint64
		most     int64
		ok       bool
	}{
		{nil, 3, true},
		{[]uint64{1 << 1, 1 << 6}, 3, true},
		{[]uint64{1 << 1, 0}, 2, true},
		{[]uint64{1, 1}, 2, false}, // one is left, two are needed
		{[]uint64{1}, 2, false},    // a short set
	} {
		if most, v := l.NodeCap(j, c.eligible); most != c.most || v.OK() != c.ok {
			t.Errorf("eligible %x: cap %d %v", c.eligible, most, v.Reason)
		}
	}
	words := make([]uint64, 2)
	if !l.NodesInUse(words, j) || words[0] != 1<<1 || words[1] != 1<<6 {
		t.Errorf("nodes in use %x", words)
	}
}

// TestTotalsAndClearing: percentages follow the cluster; limits are taken away
// at once.
func TestTotalsAndClearing(t *testing.T) {
	l, j := newPair(t)
	a := l.QOS(j.QOS)
	a.Flags = Relative
	if err := l.SetQOS(j.QOS, a); err != nil {
		t.Fatal(err)
	}
	if err := l.SetQOSLimits(j.QOS, Setting{GrpTRES, "cpu=50"}); err != nil {
		t.Fatal(err)
	}
	total := l.Schema().NewVector()
	total[gres.CPU] = 9
	l.SetTotal(total)
	if n, ok := l.QOSLimit(j.QOS, GrpTRES, gres.CPU); !ok || n != 4 {
		t.Errorf("half of 9: %d", n)
	}
	total[gres.CPU] = 100
	if err := l.AttachPartition(j.QOS, total); err != nil {
		t.Fatal(err)
	}
	if n, _ := l.QOSLimit(j.QOS, GrpTRES, gres.CPU); n != 50 {
		t.Errorf("half of a partition of 100: %d", n)
	}
	l.DetachPartition(j.QOS)
	l.ClearQOSLimits(j.QOS)
	if err := l.SetLimits(Root, Setting{GrpTRES, "node=1"}, Setting{MaxJobs, "3"}, Setting{MinPrioThreshold, "7"}); err != nil {
		t.Fatal(err)
	}
	if n, ok := l.EffectiveLimit(j.Assoc, MaxJobs, 0); !ok || n != 3 || l.MinPriority(j) != 7 {
		t.Errorf("handed down: %d, %d", n, l.MinPriority(j))
	}
	l.ClearLimits(Root)
	if _, ok := l.EffectiveLimit(j.Assoc, MaxJobs, 0); ok || l.MinPriority(j) != 0 {
		t.Error("limits are still there")
	}
	if got := l.AppendQOS(nil); len(got) != 1 || got[0] != j.QOS {
		t.Errorf("QOS %v", got)
	}
	l.SetPriority(l.Parent(j.Assoc), 5, true)
	l.SetShares(j.Assoc, SharesParent)
	if l.Priority(j.Assoc) != 5 || l.Shares(j.Assoc) != SharesParent || l.Priority(Root) != 0 {
		t.Error("priority or shares")
	}
}
