package qos

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
	"pgregory.net/rapid"
)

// limited is a model whose limits are drawn once, on slots that do not mask one
// another: associations limit CPUs and nodes, QOS limit GPUs and jobs.
func limited(t *rapid.T) *model {
	m := newModel(t)
	for _, id := range append(m.accounts(), m.leaves...) {
		for s, name := range map[slotOf]string{{GrpTRES, int(gres.CPU)}: "cpu=", {GrpTRES, int(gres.Node)}: "node="} {
			if n := rapid.Int64Range(-1, 6).Draw(t, "limit"); n >= 0 {
				if err := m.l.SetLimits(id, Setting{s.m, name + string(rune('0'+n))}); err != nil {
					t.Fatal(err)
				}
				store(m.w.assocs[id].own, s, n)
			}
		}
	}
	for _, id := range m.quals {
		for _, s := range []slotOf{{GrpTRES, 8}, {MaxTRESPerUser, 8}, {MaxTRESPerAccount, 8}, {GrpJobs, -1}, {MaxJobsPerUser, -1}} {
			if n := rapid.Int64Range(-1, 6).Draw(t, "limit"); n >= 0 {
				value := string(rune('0' + n))
				if s.k == 8 {
					value = "gres/gpu=" + value
				}
				if err := m.l.SetQOSLimits(id, Setting{s.m, value}); err != nil {
					t.Fatal(err)
				}
				store(m.w.quals[id].own, s, n)
			}
		}
	}
	return m
}

// TestNoLimitIsPassed: whatever starts and ends, nobody ever has more than a
// limit of his allows.
func TestNoLimitIsPassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := limited(t)
		for range 25 {
			j := m.drawJob(t)
			if rapid.IntRange(0, 3).Draw(t, "end") == 0 && len(m.w.jobs) > 0 {
				m.end(rapid.IntRange(0, len(m.w.jobs)-1).Draw(t, "job"))
			} else if m.l.CheckEligible(&j).OK() && m.l.Admit(&j).OK() {
				m.start(j)
			}
			for id, a := range m.w.assocs {
				for s, n := range a.own {
					if has := m.w.used(m.w.ofAssoc(id), s.k); has > n {
						t.Fatalf("association %d: %v of kind %d is %d, limit %d", id, s.m, s.k, has, n)
					}
				}
			}
			for id, q := range m.w.quals {
				m.passed(t, id, q)
			}
		}
	})
}

func (m *model) passed(t *rapid.T, id QOSID, q *twinQOS) {
	masked := func(j *Job, s slotOf) bool { // by the partition QOS
		if j.PartQOS == id || j.PartQOS == 0 {
			return false
		}
		_, set := m.w.quals[j.PartQOS].own[s]
		return set
	}
	for s, n := range q.own {
		free := func(in func(*Job) bool) scope { // without jobs for which another QOS decides
			return scope{in: func(j *Job) bool { return in(j) && !masked(j, s) }}
		}
		for _, leaf := range m.leaves {
			has := int64(0)
			a := m.w.assocs[leaf]
			switch s.m {
			case GrpTRES:
				has = m.w.used(free(m.w.ofQOS(id).in), s.k)
			case GrpJobs:
				has = m.w.running(free(m.w.ofQOS(id).in))
			case MaxTRESPerUser:
				has = m.w.used(free(m.w.ofUser(id, a.user).in), s.k)
			case MaxTRESPerAccount:
				has = m.w.used(free(m.w.ofAccount(id, a.account).in), s.k)
			case MaxJobsPerUser:
				has = m.w.running(free(m.w.ofUser(id, a.user).in))
			}
			if has > n {
				t.Fatalf("QOS %d: %v is %d, limit %d", id, s.m, has, n)
			}
		}
	}
}

// TestEventsCommute: charges, submissions and accruals of different jobs give the
// same books in any order, and taking all back gives the books of the beginning.
func TestEventsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.setSome(t, 4)
		jobs := make([]Job, rapid.IntRange(1, 6).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = m.drawJob(t)
			jobs[i].Billing = rapid.Float64Range(0, 10).Draw(t, "billing")
		}
		empty := m.l.AppendSnapshot(nil)
		play := func(order []int) ([]byte, *Ledger) {
			l := m.l.Clone()
			// Numbers of charges are given in the order of charging; in one order
			// here, so that they match.
			ids := make([]ChargeID, len(jobs))
			for i := range jobs {
				ids[i] = l.Charge(&jobs[i])
			}
			for _, i := range order {
				l.ChargeSubmit(&jobs[i], nil)
				l.Accrue(ids[i], time.Minute*time.Duration(i+1), 61.7*float64(i+1))
				l.ChargeAccrue(&jobs[i])
			}
			l.Forget()
			snap := l.AppendSnapshot(nil)
			for _, i := range order {
				l.UnchargeAccrue(&jobs[i])
				l.Uncharge(ids[i])
				l.UnchargeSubmit(&jobs[i], nil)
			}
			l.ResetUsage()
			return snap, l
		}
		order := make([]int, len(jobs))
		for i := range order {
			order[i] = i
		}
		first, l := play(order)
		if !bytes.Equal(l.AppendSnapshot(nil), empty) {
			t.Fatal("what was taken back left something")
		}
		second, _ := play(rapid.Permutation(order).Draw(t, "order"))
		if !bytes.Equal(first, second) {
			t.Fatal("order matters")
		}
	})
}

// TestDecaySteps: many small steps of decay are one large one, and charging in
// parts is charging at once.
func TestDecaySteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		leaf := m.leaves[0]
		a, b := m.l, m.l.Clone()
		usage := rapid.Float64Range(1, 1e12).Draw(t, "usage")
		a.AddUsage(leaf, usage, usage, nil)
		b.AddUsage(leaf, usage, usage, nil)
		n := rapid.IntRange(1, 400).Draw(t, "steps")
		f := rapid.Float64Range(0.5, 1).Draw(t, "factor")
		for range n {
			a.Decay(f)
			a.Forget()
		}
		b.Decay(math.Pow(f, float64(n)))
		b.Forget()
		want := usage * math.Pow(f, float64(n))
		for _, l := range []*Ledger{a, b} {
			for _, id := range []AssocID{leaf, Root} {
				if got := l.Usage(id); math.Abs(got-want) > 1e-9*want+1e-5 {
					t.Fatalf("usage after %d × %v: %v, want %v", n, f, got, want)
				}
			}
		}
	})
}

// TestNoDecayKeeps: a QOS with NoDecay keeps what it has when everything else
// decays, also when it gets or loses the flag, and a reset zeroes it too.
func TestNoDecayKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		q := m.quals[0]
		want := 0.0
		j := m.drawJob(t)
		j.QOS, j.PartQOS, j.Billing = q, 0, 3
		id := m.l.Charge(&j)
		flat := false
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				flat = !flat
				a := m.l.QOS(q)
				a.Flags ^= NoDecay
				if err := m.l.SetQOS(q, a); err != nil {
					t.Fatal(err)
				}
			case 1:
				m.l.Decay(0.25)
				if !flat {
					want *= 0.25
				}
			case 2:
				m.l.Accrue(id, time.Minute, 40)
				if flat {
					want += 180
				} else {
					want += 120
				}
			}
			if got := m.l.QOSUsage(q); math.Abs(got-want) > 1e-4 {
				t.Fatalf("usage %v, want %v", got, want)
			}
		}
		m.l.ResetUsage()
		if m.l.QOSUsage(q) != 0 || m.l.Usage(Root) != 0 {
			t.Fatal("reset left usage")
		}
	})
}

// TestNodeCapNeverRefusesWhatFits: a job that Admit passes on some nodes is not
// refused by NodeCap, and never gets more nodes than the cap.
func TestNodeCapNeverRefusesWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := limited(t)
		for range 15 {
			j := m.drawJob(t)
			most, v := m.l.NodeCap(&j, nil)
			if admitted := m.l.Admit(&j); admitted.OK() {
				if !v.OK() || int64(len(j.Nodes)) > most {
					t.Fatalf("admitted on %d nodes, cap %d, %+v", len(j.Nodes), most, v)
				}
				if m.l.CheckEligible(&j).OK() {
					m.start(j)
				}
			} else if !v.OK() && v.Kind != gres.Node {
				t.Fatalf("cap spoke of kind %d", v.Kind)
			}
		}
	})
}

func TestNodeCountsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c nodeCounts
		c.reset()
		want := make(map[int32]int32)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := rapid.Int32Range(0, 40).Draw(t, "node") * rapid.SampledFrom([]int32{1, 16, 1024}).Draw(t, "stride")
				c.add(n)
				want[n]++
			},
			"remove": func(t *rapid.T) {
				var have []int32
				for n := range want {
					have = append(have, n)
				}
				if len(have) == 0 {
					return
				}
				slices.Sort(have)
				n := rapid.SampledFrom(have).Draw(t, "node")
				c.remove(n)
				if want[n]--; want[n] == 0 {
					delete(want, n)
				}
			},
			"": func(t *rapid.T) {
				if c.n != len(want) {
					t.Fatalf("%d nodes, want %d", c.n, len(want))
				}
				for n, count := range want {
					if i := c.find(n); c.node[i] != n || c.count[i] != count {
						t.Fatalf("node %d: %d, want %d", n, c.count[i], count)
					}
				}
			},
		})
	})
}

// TestWide compares the 128-bit numbers with math/big.
func TestWide(t *testing.T) {
	toBig := func(a wide) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(a.hi), 64)
		return n.Add(n, new(big.Int).SetUint64(a.lo))
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e25, 1e25).Draw(t, "x") / rapid.SampledFrom([]float64{1, 1e10, 1e20, 1e30}).Draw(t, "scale")
		y := rapid.Float64Range(0, 1e20).Draw(t, "y")
		a, b := fixed(x), fixed(y)
		// x·2^20 to the nearest integer.
		f := new(big.Float).SetPrec(200).SetFloat64(x)
		f.Mul(f, big.NewFloat(1<<20))
		half, _ := new(big.Float).Sub(f, new(big.Float).SetInt(toBig(a))).Float64()
		if math.Abs(half) > 0.5 {
			t.Fatalf("fixed(%v) is off by %v", x, half)
		}
		if got, _ := new(big.Float).SetInt(toBig(a)).Float64(); a.unfixed() != math.Ldexp(got, -20) {
			t.Fatalf("unfixed(%v) = %v, want %v", a, a.unfixed(), math.Ldexp(got, -20))
		}
		if toBig(a.add(b)).Cmp(new(big.Int).Add(toBig(a), toBig(b))) != 0 || toBig(a.sub(b)).Cmp(new(big.Int).Sub(toBig(a), toBig(b))) != 0 {
			t.Fatal("sum or difference")
		}
		if a.less(b) != (toBig(a).Cmp(toBig(b)) < 0) {
			t.Fatal("less")
		}
		n, k := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "k")
		if toBig(mulWide(n, k)).Cmp(new(big.Int).Mul(big.NewInt(n), big.NewInt(k))) != 0 {
			t.Fatal("product")
		}
		s := uint(rapid.IntRange(0, 63).Draw(t, "shift"))
		if toBig(a.shiftRight(s)).Cmp(new(big.Int).Rsh(toBig(a), s)) != 0 {
			t.Fatalf("%v >> %d = %v", a, s, a.shiftRight(s))
		}
	})
}
