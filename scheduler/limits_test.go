package scheduler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/scheduler"
)

// accountCluster is gpuCluster with an account tree and limits on each level.
func accountCluster(tb testing.TB, nodes, gpus int) scheduler.Scheduler {
	tb.Helper()
	par := scheduler.Parameters{MinJobAge: time.Second, Plan: scheduler.PlanParameters{Depth: 4}}
	par.Limits.Enforce = "limits,qos"
	par.Priority.FairShare = 1000
	s, err := scheduler.New(scheduler.Config{
		Nodes: []scheduler.NodeSpec{{Names: fmt.Sprintf("n[1-%d]", nodes), Sockets: 2, CoresPerSocket: 32, MemMiB: 1 << 20, GRES: "gpu:8"}},
		TRES:  []string{"gres/gpu"},
		QOS:   []scheduler.QOSSpec{{Name: "normal", Limits: []scheduler.LimitSpec{{Name: "MaxTRESPerUser", Value: fmt.Sprintf("gres/gpu=%d", gpus)}}}},
		Accounts: []scheduler.AssocSpec{
			{Account: "a", Limits: []scheduler.LimitSpec{{Name: "GrpTRES", Value: "cpu=1000000"}}}, {Account: "b", Parent: "a"},
			{Account: "b", User: "ann", DefaultAccount: true, Limits: []scheduler.LimitSpec{{Name: "MaxWall", Value: "1-0"}}},
		},
		Parameters: par,
	}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func submitCharged(tb testing.TB, s scheduler.Scheduler, now scheduler.Time, first, last scheduler.JobID) {
	tb.Helper()
	for id := first; id <= last; id++ {
		spec := scheduler.JobSpec{ID: id, User: "ann", Tasks: 1, CPUsPerTask: 4, GPUsPerNode: "1", MinNodes: 1, Mem: scheduler.MemPerNode, MemMiB: 1000, TimeLimit: time.Hour}
		if err := s.Apply(now, scheduler.Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestPassAllocsWithLimits demands no allocation of a pass that charges jobs and
// holds others back, once a few have warmed the books.
func TestPassAllocsWithLimits(t *testing.T) {
	if scheduler.Checking {
		t.Skip("checked builds walk the books with maps")
	}
	const gpus = 120
	s := accountCluster(t, 20, gpus)
	now, first := scheduler.Seconds(0), scheduler.JobID(1)
	dec := make([]scheduler.Decision, 0, 400)
	for round := range 6 {
		last := first + 199
		submitCharged(t, s, now, first, last)
		n := mallocs(func() { dec = s.Pass(now, dec[:0]) })
		if len(dec) != gpus {
			t.Fatalf("round %d: %d jobs started, want %d", round, len(dec), gpus)
		}
		if round > 3 && n != 0 {
			t.Errorf("round %d: Pass made %d allocations, want 0", round, n)
		}
		now = now.Add(10 * time.Second)
		for i := range dec {
			if err := s.Apply(now, scheduler.Ended(dec[i].Job, scheduler.JobEnd{})); err != nil {
				t.Fatal(err)
			}
		}
		for id := first; id <= last; id++ {
			_ = s.Apply(now, scheduler.Cancel(id))
		}
		first = last + 1
	}
}

// BenchmarkPassStartLimits is BenchmarkPassStart with an account tree; an
// operation is one job.
func BenchmarkPassStartLimits(b *testing.B) {
	const nodes = 1000
	s := accountCluster(b, nodes, 1000)
	now, first := scheduler.Seconds(0), scheduler.JobID(1)
	dec := make([]scheduler.Decision, 0, nodes)
	b.ReportAllocs()
	var spent time.Duration
	starts := 0
	for b.Loop() {
		last := first + nodes - 1
		submitCharged(b, s, now, first, last)
		from := time.Now()
		dec = s.Pass(now, dec[:0])
		spent += time.Since(from)
		starts += len(dec)
		now = now.Add(10 * time.Second)
		for i := range dec {
			if err := s.Apply(now, scheduler.Ended(dec[i].Job, scheduler.JobEnd{})); err != nil {
				b.Fatal(err)
			}
		}
		first = last + 1
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(starts), "ns/start")
}

func TestLimitErrorNamesTheLimit(t *testing.T) {
	s := accountCluster(t, 1, 8)
	ev := scheduler.Event{Kind: scheduler.EventLimit, Assoc: &scheduler.AssocSpec{
		Account: "b", User: "ann", Limits: []scheduler.LimitSpec{{Name: "MaxSubmitJobs", Value: "1"}},
	}}
	if err := s.Apply(0, ev); err != nil {
		t.Fatal(err)
	}
	submitCharged(t, s, 0, 1, 1)
	err := s.Apply(0, scheduler.Submit(&scheduler.JobSpec{ID: 2, User: "ann", Tasks: 1}))
	e, ok := errors.AsType[*scheduler.LimitError](err)
	if !ok || !errors.Is(err, scheduler.ErrLimit) {
		t.Fatalf("got %v, want a LimitError", err)
	}
	if b := e.Block; b.Reason.String() != "AssocMaxSubmitJobLimit" || b.Limit != 1 || b.Used != 1 || b.Asked != 1 || !strings.Contains(b.Object, "ann") {
		t.Errorf("got %+v", b)
	}
	if !strings.EqualFold(scheduler.ErrLimit.Error(), qos.TextPolicy) {
		t.Errorf("%q is not Slurm's text", scheduler.ErrLimit)
	}
}

// TestWrongAccountsAreNamed gives New what it must refuse.
func TestWrongAccountsAreNamed(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(*scheduler.Config)
	}{
		{`account "a": Limits`, func(c *scheduler.Config) {
			c.Accounts = []scheduler.AssocSpec{{Account: "a", Limits: []scheduler.LimitSpec{{Name: "GrpTRES", Value: "gres/none=1"}}}}
		}},
		{`account "a": parent "x"`, func(c *scheduler.Config) { c.Accounts = []scheduler.AssocSpec{{Account: "a", Parent: "x"}} }},
		{`account "a" user "u": Shares`, func(c *scheduler.Config) {
			c.Accounts = []scheduler.AssocSpec{{Account: "a"}, {Account: "a", User: "u", Shares: "many"}}
		}},
		{`QOS "q": Flags`, func(c *scheduler.Config) { c.QOS = []scheduler.QOSSpec{{Name: "q", Flags: []string{"Fast"}}} }},
		{`QOS "q": Preempt r`, func(c *scheduler.Config) { c.QOS = []scheduler.QOSSpec{{Name: "q", Preempt: []string{"r"}}} }},
		{`partition "p": QOS "x"`, func(c *scheduler.Config) {
			c.QOS = []scheduler.QOSSpec{{Name: "q"}}
			c.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", QOS: "x"}}
		}},
		{`partition "p": BillingWeights`, func(c *scheduler.Config) {
			c.Partitions = []scheduler.PartitionSpec{{Name: "p", Nodes: "ALL", BillingWeights: "CPU=x"}}
		}},
		{"Enforce", func(c *scheduler.Config) { c.Parameters.Limits.Enforce = "everything" }},
		{"priority flags", func(c *scheduler.Config) { c.Parameters.Priority.Flags = "FAST" }},
		{`licence "l"`, func(c *scheduler.Config) { c.Licenses = []scheduler.LicenseSpec{{Name: "l", Total: -1}} }},
	} {
		cfg := scheduler.Config{Nodes: []scheduler.NodeSpec{{Names: "n1"}}}
		c.edit(&cfg)
		if _, err := scheduler.New(cfg, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to name %s", err, c.want)
		}
	}
}
