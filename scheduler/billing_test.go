package scheduler_test

import (
	"math"
	"testing"
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// billed is a cluster of two nodes of 64 CPUs and 1 TiB, one with 8 GPUs, and an
// account for each.
func billed(t *testing.T, profile scheduler.Profile, weights string, p scheduler.PriorityParameters, qos ...scheduler.QOSSpec) scheduler.Scheduler {
	t.Helper()
	if p.DecayHalfLife == 0 {
		p.DecayHalfLife = scheduler.Infinite
	}
	cfg := scheduler.Config{
		Profile: profile,
		Nodes: []scheduler.NodeSpec{
			{Names: "a", Sockets: 1, CoresPerSocket: 64, MemMiB: 1 << 20, GRES: "gpu:8"}, {Names: "b", Sockets: 1, CoresPerSocket: 64, MemMiB: 1 << 20},
		},
		Partitions: []scheduler.PartitionSpec{{Name: "all", Nodes: "ALL", Default: true, BillingWeights: weights}},
		TRES:       []string{"gres/gpu"},
		QOS:        append(qos, scheduler.QOSSpec{Name: "normal"}),
		Accounts: []scheduler.AssocSpec{
			{Account: "gpu"}, {Account: "cpu"}, {Account: "gpu", User: "ann", DefaultAccount: true}, {Account: "cpu", User: "bob", DefaultAccount: true},
		},
		Parameters: scheduler.Parameters{Priority: p},
	}
	s, err := scheduler.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runFor runs ann's and bob's job for so long, in the QOS named, with a pass in
// each minute.
func runFor(t *testing.T, s scheduler.Scheduler, d time.Duration, qos ...string) scheduler.Time {
	t.Helper()
	for _, spec := range []scheduler.JobSpec{
		{ID: 1, User: "ann", QOS: qos, Tasks: 64, MinNodes: 1, Mem: scheduler.MemPerNode, MemMiB: 1 << 20, GPUsPerNode: "8"},
		{ID: 2, User: "bob", QOS: qos, Tasks: 64, MinNodes: 1, Mem: scheduler.MemPerNode, MemMiB: 1 << 18},
	} {
		submitPairs(t, s, 0, spec)
	}
	if n := len(s.Pass(0, nil)); n != 2 {
		t.Fatalf("%d jobs start", n)
	}
	end := scheduler.Time(0).Add(d)
	for now := scheduler.Seconds(60); now < end; now = now.Add(time.Minute) {
		s.Pass(now, nil)
	}
	for id := scheduler.JobID(1); id <= 2; id++ {
		if err := s.Apply(end, scheduler.Ended(id, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
	}
	return end
}

// used is the raw usage of an account.
func used(s scheduler.Scheduler, account string) (u float64) {
	s.View(func(v scheduler.View) {
		for _, l := range v.AppendShares(nil) {
			if l.Account == account && l.User == "" {
				u = l.Usage
			}
		}
	})
	return u
}

// TestBilling: the worked example of ten hours on a GPU node and on a CPU node
// (spec: priority 5.1), as the engine's own books end up with it.
func TestBilling(t *testing.T) {
	const weights = "CPU=1.0,Mem=0.25G,GRES/gpu=32"
	for _, tc := range []struct {
		weights, flags string
		gpu, cpu       float64
	}{
		{"", "", 2_304_000, 2_304_000},
		{weights, "", 20_736_000, 4_608_000},
		{weights, "MAX_TRES", 256 * 36000, 64 * 36000},
		{weights, "MAX_TRES_GRES", 512 * 36000, 64 * 36000},
		{weights, "MAX_TRES,MAX_TRES_GRES", 512 * 36000, 64 * 36000},
	} {
		for _, profile := range []scheduler.Profile{scheduler.ProfileSlurm, scheduler.ProfileBest} {
			s := billed(t, profile, tc.weights, scheduler.PriorityParameters{Flags: tc.flags})
			runFor(t, s, 10*time.Hour)
			if g, c := used(s, "gpu"), used(s, "cpu"); g != tc.gpu || c != tc.cpu {
				t.Errorf("%s: weights %q, flags %q: usage %v and %v, want %v and %v", profile, tc.weights, tc.flags, g, c, tc.gpu, tc.cpu)
			}
		}
	}
}

// TestUsageFactorOfQOS: a QOS charges by its factor, 0 being free.
func TestUsageFactorOfQOS(t *testing.T) {
	half, none := 0.5, 0.0
	for name, want := range map[string]float64{"half": 32 * 3600, "free": 0, "normal": 64 * 3600} {
		s := billed(t, scheduler.ProfileSlurm, "", scheduler.PriorityParameters{}, scheduler.QOSSpec{Name: "half", UsageFactor: &half},
			scheduler.QOSSpec{Name: "free", UsageFactor: &none})
		runFor(t, s, time.Hour, name)
		if got := used(s, "cpu"); got != want {
			t.Errorf("QOS %s: usage %v, want %v", name, got, want)
		}
	}
}

// TestDecay: usage halves in a half-life, exactly so in profile Best and as
// Slurm approximates it in profile Slurm (spec: priority 5.3); whether it is
// looked at often or once does not matter in Best.
func TestDecay(t *testing.T) {
	after := func(profile scheduler.Profile, step time.Duration) float64 {
		s := billed(t, profile, "", scheduler.PriorityParameters{DecayHalfLife: time.Hour})
		now := runFor(t, s, time.Minute)
		before := used(s, "cpu")
		for end := now.Add(time.Hour); now < end; {
			now = now.Add(step)
			s.Pass(now, nil)
		}
		submitPairs(t, s, now, scheduler.JobSpec{ID: 3, User: "ann", Tasks: 1, TimeLimit: time.Minute}) // the books are brought up to now
		s.Pass(now, nil)
		if err := s.Apply(now, scheduler.Ended(3, scheduler.JobEnd{})); err != nil {
			t.Fatal(err)
		}
		return used(s, "cpu") / before
	}
	for _, step := range []time.Duration{5 * time.Minute, time.Minute, time.Hour} {
		if got := after(scheduler.ProfileBest, step); math.Abs(got-0.5) > 1e-9 {
			t.Errorf("best, step %s: %v is left, want half", step, got)
		}
	}
	// Slurm's decay covers the minute before the charge too.
	want := math.Pow(1-0.693/3600, 3660)
	if got := after(scheduler.ProfileSlurm, 5*time.Minute); math.Abs(got-want) > 1e-9 {
		t.Errorf("slurm: %v is left, want %v", got, want)
	}
}

// TestUsageReset: usage is forgotten at the first pass after midnight, by the
// configured zone.
func TestUsageReset(t *testing.T) {
	for zone, want := range map[time.Duration][2]float64{0: {64 * 3600, 0}, 2 * time.Hour: {0, 0}} {
		s := billed(t, scheduler.ProfileSlurm, "", scheduler.PriorityParameters{UsageReset: "DAILY", UTCOffset: zone})
		runFor(t, s, time.Hour)
		s.Pass(scheduler.Seconds(23*3600), nil) // 1:00 two hours further east
		if got := used(s, "cpu"); got != want[0] {
			t.Errorf("zone %s: usage %v at 23:00, want %v", zone, got, want[0])
		}
		s.Pass(scheduler.Seconds(24*3600+300), nil)
		if got := used(s, "cpu"); got != want[1] {
			t.Errorf("zone %s: usage %v after midnight, want %v", zone, got, want[1])
		}
	}
}
