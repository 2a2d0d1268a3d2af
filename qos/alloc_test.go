package qos

import (
	"testing"
	"time"
)

func TestAllocs(t *testing.T) {
	if checking {
		t.Skip("invariants are checked in this build, which allocates")
	}
	l, j := deepLedger(t, 6)
	refused := *j
	refused.TRES = append(refused.TRES[:0:0], j.TRES...)
	refused.TRES[0] = 1 << 40
	l.Uncharge(l.Charge(j))
	l.ChargeSubmit(j, nil)
	running := l.Charge(j)
	l.Accrue(running, time.Minute, 60)
	l.Forget()
	words := make([]uint64, 1)
	var dst []byte
	dst = l.AppendVerdict(dst, l.Admit(&refused))
	var list []Verdict
	list = l.AppendVerdicts(list, &refused, AfterNodes)
	var cols Columns
	l.ColumnsTo(&cols)
	for name, f := range map[string]func(){
		"CheckSubmit":    func() { l.CheckSubmit(j) },
		"CheckEligible":  func() { l.CheckEligible(j) },
		"NodeCap":        func() { l.NodeCap(j, words) },
		"NodesInUse":     func() { l.NodesInUse(words, j) },
		"Admit":          func() { l.Admit(j) },
		"Admit refused":  func() { l.Admit(&refused) },
		"AppendVerdicts": func() { list = l.AppendVerdicts(list[:0], &refused, AfterNodes) },
		"AppendVerdict":  func() { dst = l.AppendVerdict(dst[:0], list[0]) },
		"AppendReject":   func() { dst = list[0].AppendRejection(dst[:0]) },
		"Overrun":        func() { l.Overrun(running, time.Hour) },
		"Charge":         func() { l.Uncharge(l.Charge(j)); l.Forget() },
		"Rollback":       func() { m := l.Mark(); l.Charge(j); l.Rollback(m) },
		"Submit":         func() { l.ChargeSubmit(j, nil); l.UnchargeSubmit(j, nil); l.Forget() },
		"Accrue":         func() { l.Accrue(running, time.Second, 1); l.Decay(0.9999); l.Forget() },
		"Find":           func() { l.Find("a3", "u", "p") },
		"MayUse":         func() { l.MayUse(j.Assoc, j.QOS); l.DefaultQOS(j.Assoc) },
		"ColumnsTo":      func() { l.ColumnsTo(&cols) },
		"ParseTimeLimit": func() { _, _ = ParseTimeLimit("1-12:00:00") },
		"AppendTime":     func() { dst = AppendTimeLimit(dst[:0], 36*time.Hour) },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocs per run, want 0", name, got)
		}
	}
}
