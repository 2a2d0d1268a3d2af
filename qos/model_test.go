package qos

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-sched/berth/gres"
	"pgregory.net/rapid"
)

// model drives a ledger and its twin with the same calls.
type model struct {
	schema *gres.Schema
	l      *Ledger
	w      *twin
	leaves []AssocID
	quals  []QOSID
}

func newModel(t *rapid.T) *model {
	s, err := gres.NewSchema("gres/gpu")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Schema: s, Enforce: EnforceLimits | EnforceAssocs})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{schema: s, l: l, quals: []QOSID{1}, w: &twin{
		assocs: map[AssocID]*twinAssoc{Root: {account: "root", own: map[slotOf]int64{}, history: map[int]float64{}}},
		quals:  map[QOSID]*twinQOS{1: {own: map[slotOf]int64{}, usageFactor: 1, history: map[int]float64{}}},
	}}
	for _, a := range []struct{ name, parent string }{{"A", "root"}, {"A1", "A"}, {"B", "root"}} {
		m.addAccount(t, a.name, l.FindAccount(a.parent))
	}
	m.addUser(t, "u", l.FindAccount("A1"))
	m.addUser(t, "u", l.FindAccount("B"))
	m.addUser(t, "v", l.FindAccount("A"))
	for _, name := range []string{"q", "p"} {
		m.addQOS(t, name)
	}
	return m
}

func (m *model) addAccount(t *rapid.T, name string, parent AssocID) {
	id, err := m.l.AddAccount(name, parent)
	if err != nil {
		t.Fatal(err)
	}
	m.w.assocs[id] = &twinAssoc{parent: parent, account: name, own: map[slotOf]int64{}, history: map[int]float64{}}
}

func (m *model) addUser(t *rapid.T, name string, account AssocID) {
	id, err := m.l.AddUser(name, account, "")
	if err != nil {
		t.Fatal(err)
	}
	m.w.assocs[id] = &twinAssoc{parent: account, account: m.w.assocs[account].account, user: name,
		own: map[slotOf]int64{}, history: map[int]float64{}}
	m.leaves = append(m.leaves, id)
}

func (m *model) addQOS(t *rapid.T, name string) {
	id, err := m.l.AddQOS(name)
	if err != nil {
		t.Fatal(err)
	}
	m.w.quals[id] = &twinQOS{own: map[slotOf]int64{}, usageFactor: 1, history: map[int]float64{}}
	m.quals = append(m.quals, id)
}

func (m *model) accounts() []AssocID {
	var ids []AssocID
	for id := range AssocID(len(m.l.assocs)) {
		if m.l.isAccount(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// drawJob draws a job small enough to meet small limits.
func (m *model) drawJob(t *rapid.T) Job {
	j := Job{
		Assoc:   rapid.SampledFrom(m.leaves).Draw(t, "assoc"),
		QOS:     rapid.SampledFrom(append([]QOSID{0}, m.quals...)).Draw(t, "qos"),
		PartQOS: rapid.SampledFrom(append([]QOSID{0}, m.quals...)).Draw(t, "partition qos"),
		TRES:    m.schema.NewVector(),
		Limit:   time.Duration(rapid.SampledFrom([]int{0, 1, 2, 5, 10}).Draw(t, "minutes")) * time.Minute,
	}
	for n := range int32(3) {
		if rapid.Bool().Draw(t, "node") {
			j.Nodes = append(j.Nodes, n)
		}
	}
	if len(j.Nodes) == 0 {
		j.Nodes = []int32{0}
	}
	j.TRES[gres.Node] = int64(len(j.Nodes))
	j.TRES[gres.CPU] = rapid.Int64Range(1, 4).Draw(t, "cpus")
	j.TRES[8] = rapid.Int64Range(0, 2).Draw(t, "gpus")
	return j
}

// drawSetting draws a limit that belongs to a place, and a value: -1 clears it.
func drawSetting(t *rapid.T, where Place) (Setting, slotOf, int64) {
	var fit []Limit
	for m := GrpTRES; m < numLimits; m++ {
		if catalogue[m].Where&where != 0 && catalogue[m].Phases&(phA|phB|phC) != 0 && m != UsageThreshold {
			fit = append(fit, m)
		}
	}
	m := rapid.SampledFrom(fit).Draw(t, "limit")
	n := rapid.Int64Range(-1, 8).Draw(t, "value")
	if catalogue[m].Unit == UnitMinutes {
		n *= 4
	}
	n = max(n, -1)
	if !m.HasTRES() {
		return Setting{m, strconv.FormatInt(n, 10)}, slotOf{m, -1}, n
	}
	k := rapid.SampledFrom([]int{int(gres.CPU), int(gres.Node), 8}).Draw(t, "kind")
	name := map[int]string{int(gres.CPU): "cpu", int(gres.Node): "node", 8: "gres/gpu"}[k]
	return Setting{m, fmt.Sprintf("%s=%d", name, n)}, slotOf{m, k}, n
}

func store(own map[slotOf]int64, s slotOf, n int64) {
	delete(own, s)
	if n >= 0 {
		own[s] = n
	}
}

// same compares the verdicts of both, in order.
func (m *model) same(t *rapid.T, what string, got []Verdict, want []said) {
	text := func(list []said) string {
		var b strings.Builder
		for _, s := range list {
			fmt.Fprintf(&b, "%+v\n", s)
		}
		return b.String()
	}
	var have []said
	for _, v := range got {
		k := -1
		if v.Limit.HasTRES() {
			k = int(v.Kind)
		}
		if v.Short < 1 || !v.Limit.HasTRES() && v.Kind != 0 {
			t.Fatalf("%s: bad verdict %+v", what, v)
		}
		have = append(have, said{v.Reason.String(), v.Limit, k, v.Max, v.Used, v.Asked})
	}
	if !slices.Equal(have, want) {
		t.Fatalf("%s:\n got %s want %s", what, text(have), text(want))
	}
}

// checks compares all checks of a job, and that the single ones give the first.
func (m *model) checks(t *rapid.T, j *Job) (pass bool) {
	before, after := m.l.AppendVerdicts(nil, j, BeforeNodes), m.l.AppendVerdicts(nil, j, AfterNodes)
	m.same(t, "before nodes", before, m.w.before(j))
	m.same(t, "after nodes", after, m.w.after(j))
	for _, c := range []struct {
		v    Verdict
		list []Verdict
	}{{m.l.CheckEligible(j), before}, {m.l.Admit(j), after}} {
		if want := append(c.list, Verdict{})[0]; c.v != want {
			t.Fatalf("first verdict %+v, want %+v", c.v, want)
		}
	}
	return len(before)+len(after) == 0
}

func (m *model) start(j Job) {
	factor := 1.0
	if j.QOS != 0 {
		factor = m.w.quals[j.QOS].usageFactor
	}
	tj := &twinJob{job: j, tasks: 1, running: true, factor: factor, left: j.Limit, nodes: map[int32]bool{}}
	if j.Limit == 0 {
		tj.left = Unlimited
	}
	for _, n := range j.Nodes {
		tj.nodes[n] = true
	}
	m.l.ChargeSubmit(&j, nil)
	tj.charge = m.l.Charge(&j)
	m.w.jobs = append(m.w.jobs, tj)
}

func (m *model) end(i int) {
	tj := m.w.jobs[i]
	if tj.running {
		m.l.Uncharge(tj.charge)
	}
	j := tj.job
	j.Tasks = tj.tasks
	m.l.UnchargeSubmit(&j, nil)
	m.w.jobs = slices.Delete(m.w.jobs, i, i+1)
}

func (m *model) runningJobs() []*twinJob {
	var list []*twinJob
	for _, j := range m.w.jobs {
		if j.running {
			list = append(list, j)
		}
	}
	return list
}

// setSome sets a few limits, on QOS and associations alike.
func (m *model) setSome(t *rapid.T, most int) {
	for range rapid.IntRange(1, most).Draw(t, "limits") {
		if rapid.Bool().Draw(t, "of QOS") {
			id := rapid.SampledFrom(m.quals).Draw(t, "qos")
			set, s, n := drawSetting(t, OnQOS)
			if err := m.l.SetQOSLimits(id, set); err != nil {
				t.Fatal(err)
			}
			store(m.w.quals[id].own, s, n)
			continue
		}
		id := rapid.SampledFrom(append(m.accounts(), m.leaves...)).Draw(t, "association")
		set, s, n := drawSetting(t, OnLeaf|OnGroup)
		if err := m.l.SetLimits(id, set); err != nil {
			t.Fatal(err)
		}
		store(m.w.assocs[id].own, s, n)
	}
}

func propModel(t *rapid.T) {
	m := newModel(t)
	m.setSome(t, 12)
	actions := m.jobActions()
	for _, more := range []map[string]func(*rapid.T){m.limitActions(), m.treeActions(), m.stateActions()} {
		maps.Copy(actions, more)
	}
	t.Repeat(actions)
}

// jobActions submit, start, run and end jobs.
func (m *model) jobActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"start if admitted": func(t *rapid.T) {
			for range rapid.IntRange(1, 4).Draw(t, "jobs") {
				if j := m.drawJob(t); m.checks(t, &j) {
					m.start(j)
				}
			}
		},
		"start anyway": func(t *rapid.T) {
			j := m.drawJob(t)
			m.checks(t, &j)
			m.start(j)
		},
		"submit": func(t *rapid.T) {
			j := m.drawJob(t)
			j.Tasks = rapid.Int64Range(1, 3).Draw(t, "tasks")
			limit, v := m.l.CheckSubmit(&j)
			wantLimit, want := m.w.submission(&j, j.Tasks)
			m.same(t, "submit", m.l.AppendVerdicts(nil, &j, AtSubmit), want)
			// The default time limit is that of all limits up to the first violation.
			if v.OK() && limit != wantLimit {
				t.Fatalf("time limit %v, want %v", limit, wantLimit)
			}
			if v.OK() {
				m.l.ChargeSubmit(&j, nil)
				m.w.jobs = append(m.w.jobs, &twinJob{job: j, tasks: j.Tasks})
			}
		},
		"end": func(t *rapid.T) {
			if len(m.w.jobs) == 0 {
				return // no skip: a fuzzer may draw nothing but this action
			}
			m.end(rapid.IntRange(0, len(m.w.jobs)-1).Draw(t, "job"))
		},
		"run on": func(t *rapid.T) {
			d := time.Duration(rapid.IntRange(1, 3).Draw(t, "minutes")) * time.Minute
			for _, tj := range m.runningJobs() {
				m.l.Accrue(tj.charge, d, d.Seconds())
				m.w.accrue(tj, d)
			}
		},
	}
}

// limitActions change limits and QOS.
func (m *model) limitActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"set limits": func(t *rapid.T) { m.setSome(t, 4) },
		"set QOS": func(t *rapid.T) {
			id := rapid.SampledFrom(m.quals).Draw(t, "qos")
			a := m.l.QOS(id)
			a.Flags = Flags(rapid.Uint16().Draw(t, "flags")) & (DenyOnLimit | OverPartQOS | UsageFactorSafe)
			a.UsageFactor = rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "usage factor")
			a.LimitFactor = rapid.SampledFrom([]float64{0, 0, 1.5, 2}).Draw(t, "limit factor")
			if err := m.l.SetQOS(id, a); err != nil {
				t.Fatal(err)
			}
			q := m.w.quals[id]
			q.deny, q.over, q.factorSafe = a.Flags&DenyOnLimit != 0, a.Flags&OverPartQOS != 0, a.Flags&UsageFactorSafe != 0
			q.usageFactor, q.limitFactor = a.UsageFactor, a.LimitFactor
		},
		"safe or not": func(t *rapid.T) {
			m.w.safe = !m.w.safe
			m.l.SetEnforce(m.l.Enforced() ^ EnforceSafe)
		},
	}
}

// treeActions change the account tree.
func (m *model) treeActions() map[string]func(*rapid.T) {
	names := 0
	return map[string]func(*rapid.T){
		"move": func(t *rapid.T) {
			ids := m.accounts()
			id, to := rapid.SampledFrom(ids).Draw(t, "account"), rapid.SampledFrom(ids).Draw(t, "to")
			err := m.l.Move(id, to)
			if cycle := id == Root || m.w.below(&Job{Assoc: to}, id); cycle != (err != nil) {
				t.Fatalf("move: %v, cycle %v", err, cycle)
			}
			if err == nil {
				m.w.move(id, to)
			}
		},
		"add": func(t *rapid.T) {
			names++
			account := rapid.SampledFrom(m.accounts()).Draw(t, "account")
			if rapid.Bool().Draw(t, "user") {
				m.addUser(t, "u"+strconv.Itoa(names), account)
			} else {
				m.addAccount(t, "a"+strconv.Itoa(names), account)
			}
		},
		"delete": func(t *rapid.T) {
			ids := append(m.accounts(), m.leaves...)
			id := rapid.SampledFrom(ids).Draw(t, "association")
			busy := id == Root || len(m.leaves) == 1 && id == m.leaves[0] || m.w.busy(id)
			if len(m.leaves) == 1 && id == m.leaves[0] {
				return
			}
			if err := m.l.Delete(id); (err != nil) != busy {
				t.Fatalf("delete: %v, busy %v", err, busy)
			}
			if !busy {
				m.w.remove(id)
				m.leaves = slices.DeleteFunc(m.leaves, func(a AssocID) bool { return a == id })
			}
		},
		"rename": func(t *rapid.T) {
			names++
			id := rapid.SampledFrom(m.accounts()).Draw(t, "account")
			if id == Root {
				return
			}
			old, name := m.l.AccountName(m.l.Account(id)), "r"+strconv.Itoa(names)
			if err := m.l.RenameAccount(id, name); err != nil {
				t.Fatal(err)
			}
			for _, a := range m.w.assocs {
				if a.account == old {
					a.account = name
				}
			}
		},
	}
}

// stateActions go back, restore and copy; the empty one checks everything.
func (m *model) stateActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"try and take back": func(t *rapid.T) {
			m.l.Forget()
			snap := m.l.AppendSnapshot(nil)
			mark := m.l.Mark()
			for range rapid.IntRange(1, 3).Draw(t, "steps") {
				j := m.drawJob(t)
				if running := m.runningJobs(); len(running) > 0 && rapid.Bool().Draw(t, "end one") {
					// Each at most once: the model still has it.
					c := rapid.SampledFrom(running).Draw(t, "which").charge
					if m.l.books.charges[c].live {
						m.l.Accrue(c, time.Minute, 40)
						m.l.Uncharge(c)
					}
				}
				m.l.ChargeSubmit(&j, m.quals)
				m.l.Accrue(m.l.Charge(&j), time.Minute, 60)
				m.l.Decay(0.5)
			}
			m.l.Rollback(mark)
			if !bytes.Equal(snap, m.l.AppendSnapshot(nil)) {
				t.Fatal("rollback left something")
			}
		},
		"restore": func(t *rapid.T) {
			m.l.Forget()
			snap := m.l.AppendSnapshot(nil)
			l, err := RestoreLedger(m.schema, snap)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(snap, l.AppendSnapshot(nil)) {
				t.Fatal("restored books differ")
			}
			m.l = l
		},
		"clone": func(t *rapid.T) {
			c := m.l.Clone()
			j := m.drawJob(t)
			m.l.Uncharge(m.l.Charge(&j)) // nothing of the abandoned one shows
			for _, tj := range m.runningJobs() {
				m.l.Uncharge(tj.charge)
			}
			m.l = c
		},
		"": func(t *rapid.T) {
			m.l.check()
			m.compare(t)
			if rapid.Bool().Draw(t, "commit") {
				m.l.Forget()
			}
		},
	}
}

// compare checks all counters against sums over the model's jobs.
func (m *model) compare(t *rapid.T) {
	owner := func(what string, c Counters, s scope, committed func(gres.Kind) int64, used func(gres.Kind) float64, wall float64) {
		if c.Running != m.w.running(s) || c.Submitted != m.w.submitted(s) {
			t.Fatalf("%s: %+v, want %d running, %d submitted", what, c, m.w.running(s), m.w.submitted(s))
		}
		for _, k := range []gres.Kind{gres.CPU, 8} {
			if got, want := c.Use[k], m.w.used(s, int(k)); got != want {
				t.Fatalf("%s: kind %d: %d in use, want %d", what, k, got, want)
			}
			if committed != nil && committed(k) != m.w.committed(s, int(k)) {
				t.Fatalf("%s: kind %d: %d committed, want %d", what, k, committed(k), m.w.committed(s, int(k)))
			}
			if used != nil && used(k) != s.history[int(k)] {
				t.Fatalf("%s: kind %d: %v used, want %v", what, k, used(k), s.history[int(k)])
			}
		}
		if used != nil && wall != s.history[-1] {
			t.Fatalf("%s: wall %v, want %v", what, wall, s.history[-1])
		}
	}
	for id := range m.w.assocs {
		owner(string(m.l.AppendAssoc(nil, id)), m.l.Counters(id), m.w.ofAssoc(id),
			func(k gres.Kind) int64 { return m.l.Committed(id, k) },
			func(k gres.Kind) float64 { return m.l.UsageOf(id, k) }, m.l.Wall(id))
	}
	for _, id := range m.quals {
		owner(m.l.QOSName(id), m.l.QOSCounters(id), m.w.ofQOS(id),
			func(k gres.Kind) int64 { return m.l.QOSCommitted(id, k) },
			func(k gres.Kind) float64 { return m.l.QOSUsageOf(id, k) }, m.l.QOSWall(id))
		for _, leaf := range m.leaves {
			user, acct := m.w.assocs[leaf].user, m.w.assocs[leaf].account
			owner("user "+user, m.l.UserCounters(id, m.l.User(leaf)), m.w.ofUser(id, user), nil, nil, 0)
			owner("account "+acct, m.l.AccountCounters(id, m.l.Account(leaf)), m.w.ofAccount(id, acct), nil, nil, 0)
		}
	}
}

func TestModel(t *testing.T) { rapid.Check(t, propModel) }
func FuzzModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propModel)) }
