package qos

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
)

// deepLedger has a chain of accounts of the given depth with a user at the end,
// a limit at each level and limits on two QOS, none in the way.
func deepLedger(tb testing.TB, depth int) (*Ledger, *Job) {
	s, err := gres.NewSchema("gres/gpu", "gres/gpu:a100", "license/matlab")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := New(Config{Schema: s, Enforce: EnforceLimits | EnforceAssocs | EnforceQOS})
	if err != nil {
		tb.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	at := Root
	for i := range depth - 2 {
		at, err = l.AddAccount("a"+strconv.Itoa(i), at)
		must(err)
		must(l.SetLimits(at, Setting{GrpTRES, "cpu=100000,gres/gpu=1000"}, Setting{GrpJobs, "100000"}, Setting{MaxWall, "10000"}))
	}
	u, err := l.AddUser("u", at, "")
	must(err)
	job, err := l.AddQOS("job")
	must(err)
	part, err := l.AddQOS("part")
	must(err)
	must(l.SetQOSLimits(job, Setting{MaxTRESPerUser, "gres/gpu=640"}, Setting{MaxTRESPerJob, "node=64"}, Setting{MaxWall, "2-0"}))
	must(l.SetQOSLimits(part, Setting{GrpTRES, "cpu=50000"}, Setting{MaxJobsPerUser, "1000"}))
	j := &Job{Assoc: u, QOS: job, PartQOS: part, TRES: s.NewVector(), Limit: time.Hour, Billing: 8, Nodes: []int32{1}}
	must(gres.ParseTRES(s, j.TRES, "cpu=8,mem=16G,node=1,billing=8,gres/gpu=1"))
	return l, j
}

func BenchmarkAdmit(b *testing.B) {
	for _, depth := range []int{3, 6} {
		b.Run(fmt.Sprintf("depth=%d/qos=2", depth), func(b *testing.B) {
			l, j := deepLedger(b, depth)
			l.Charge(j)
			l.Forget()
			b.ReportAllocs()
			for b.Loop() {
				if !l.Admit(j).OK() {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkCheckEligible(b *testing.B) {
	l, j := deepLedger(b, 6)
	b.ReportAllocs()
	for b.Loop() {
		if !l.CheckEligible(j).OK() {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCheckSubmit(b *testing.B) {
	l, j := deepLedger(b, 6)
	b.ReportAllocs()
	for b.Loop() {
		if _, v := l.CheckSubmit(j); !v.OK() {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCharge(b *testing.B) {
	l, j := deepLedger(b, 6)
	b.ReportAllocs()
	for b.Loop() {
		l.Uncharge(l.Charge(j))
		l.Forget()
	}
}

func BenchmarkTryAndRollback(b *testing.B) {
	l, j := deepLedger(b, 6)
	b.ReportAllocs()
	for b.Loop() {
		m := l.Mark()
		l.Charge(j)
		l.Rollback(m)
	}
}

func BenchmarkAccrue(b *testing.B) {
	l, j := deepLedger(b, 6)
	j.Limit = Unlimited
	id := l.Charge(j)
	b.ReportAllocs()
	for b.Loop() {
		l.Accrue(id, 5*time.Minute, 299.9)
		l.Forget()
	}
}

// loadAssociations makes n user associations under n/50 accounts in a tree of
// degree 8.
func loadAssociations(tb testing.TB, n int) *Ledger {
	s, err := gres.NewSchema("gres/gpu")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := New(Config{Schema: s})
	if err != nil {
		tb.Fatal(err)
	}
	l.Reserve(n + n/50)
	accounts := []AssocID{Root}
	for i := range max(n/50, 1) {
		id, err := l.AddAccount("acct"+strconv.Itoa(i), accounts[i/8])
		if err != nil {
			tb.Fatal(err)
		}
		accounts = append(accounts, id)
		if i%10 == 0 {
			if err := l.SetLimits(id, Setting{GrpTRES, "gres/gpu=64"}, Setting{MaxJobs, "100"}); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for i := range n {
		if _, err := l.AddUser("user"+strconv.Itoa(i), accounts[1+i%(len(accounts)-1)], ""); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

func BenchmarkLoadAssociations(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var l *Ledger
			for b.Loop() {
				l = loadAssociations(b, n)
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "assocs/s")
			runtime.KeepAlive(l)
		})
	}
}

func BenchmarkColumns(b *testing.B) {
	l := loadAssociations(b, 100_000)
	var c Columns
	l.ColumnsTo(&c)
	b.ReportAllocs()
	for b.Loop() {
		l.ColumnsTo(&c)
	}
}
