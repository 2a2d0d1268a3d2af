package slurmconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/scheduler"
)

// setAssoc applies settings to an association.
func (k *book) setAssoc(a *assocEntry, list []Setting) {
	for _, s := range list {
		switch s.Key {
		case "Fairshare":
			a.spec.Shares = strings.ToLower(s.Value)
		case "Parent":
			k.setParent(a, s)
		case "DefaultQOS":
			a.spec.DefaultQOS = s.Value
		case "QOS":
			k.setQOSList(a, s)
		case "Priority":
			a.spec.Priority = 0
			if n, err := strconv.ParseUint(s.Value, 10, 32); err == nil {
				a.spec.Priority = uint32(n)
			}
		case "AdminLevel":
			k.setAdmin(a, s)
		case "Account", "Partition", "DefaultAccount", "User", "Cluster", "Description", "Organization", "Comment", "DefaultWCKey",
			"WCKeys", "Coordinator", "Flags", "Classification", "Name", "NewName", "RawUsage":
		default:
			k.limit(&a.limits, s)
		}
	}
}

func (k *book) setAdmin(a *assocEntry, s Setting) {
	switch strings.ToLower(s.Value) {
	case "operator":
		k.admin[a.spec.User] = "Operator"
	case "admin", "administrator":
		k.admin[a.spec.User] = "Administrator"
	default:
		delete(k.admin, a.spec.User)
	}
}

func (k *book) setParent(a *assocEntry, s Setting) {
	if a.spec.User != "" {
		return
	}
	for p := s.Value; p != "root"; {
		e := k.accounts[p]
		if e == nil {
			k.fail(s.At, "Parent="+s.Value, "there is no such account: %q", p)
			return
		}
		if e == a {
			k.fail(s.At, "Parent="+s.Value, "the account would be below itself")
			return
		}
		p = parentOf(e)
	}
	if s.Value != "root" || a.spec.Account != "root" {
		a.spec.Parent = s.Value
	}
	if a.spec.Parent == "root" {
		a.spec.Parent = ""
	}
}

// setQOSList changes the QOS that an association may use. += and -= start from
// what it inherits if it has no list of its own.
func (k *book) setQOSList(a *assocEntry, s Setting) {
	list := splitList(s.Value)
	for _, n := range list {
		if k.quality(n) == nil {
			k.fail(s.At, n, "there is no such QOS")
			return
		}
	}
	if s.Op == '=' {
		a.spec.QOS = list
		return
	}
	have := slices.Clone(k.inherited(a))
	for _, n := range list {
		i := slices.Index(have, n)
		switch {
		case s.Op == '+' && i < 0:
			have = append(have, n)
		case s.Op == '-' && i >= 0:
			have = slices.Delete(have, i, i+1)
		}
	}
	a.spec.QOS = have
}

// inherited returns the QOS that an association may use.
func (k *book) inherited(a *assocEntry) []string {
	for a != nil {
		switch {
		case len(a.spec.QOS) > 0:
			return a.spec.QOS
		case a.spec.User != "":
			a = k.accounts[a.spec.Account]
		case a.spec.Account == "root":
			a = nil
		default:
			a = k.accounts[parentOf(a)]
		}
	}
	return []string{"normal"}
}

// setQOS applies one setting to a QOS.
func (k *book) setQOS(q *qosEntry, s Setting) {
	v := s.Value
	number := func() float64 { f, _ := strconv.ParseFloat(v, 64); return f }
	switch s.Key {
	case "Priority":
		n, _ := strconv.ParseUint(v, 10, 32)
		q.spec.Priority = uint32(n)
	case "Preempt":
		q.spec.Preempt = editList(q.spec.Preempt, splitList(v), s.Op)
	case "Flags":
		if v == "-1" {
			q.spec.Flags = nil
			return
		}
		q.spec.Flags = editList(q.spec.Flags, canonicalFlags(v), s.Op)
	case "PreemptMode":
		mode := strings.ToUpper(v)
		if mode == "CLUSTER" || mode == "OFF" {
			mode = ""
		}
		q.spec.PreemptMode = mode
	case "GraceTime":
		q.spec.GraceTime, _ = parseDuration60(v)
		if v == "-1" {
			q.spec.GraceTime = 0
		}
	case "PreemptExemptTime":
		q.spec.ExemptTime = nil
		if d, err := parseDuration(v); err == nil && v != "-1" {
			q.spec.ExemptTime = &d
		}
	case "UsageFactor":
		q.spec.UsageFactor = nil
		if f := number(); v != "-1" && f >= 0 {
			q.spec.UsageFactor = &f
		}
	case "LimitFactor":
		q.spec.LimitFactor = max(number(), 0)
	case "UsageThreshold":
		q.spec.UsageThreshold = max(number(), 0)
	case "Name", "NewName", "Cluster", "Comment", "Description", "RawUsage":
	default:
		k.limit(&q.limits, s)
	}
}

// canonicalFlags spells QOS flags as Slurm does.
func canonicalFlags(v string) []string {
	var out []string
	for _, f := range splitList(v) {
		for _, known := range qosFlags {
			if strings.EqualFold(f, known) {
				out = append(out, known)
			}
		}
	}
	return out
}

func editList(have, list []string, op byte) []string {
	if op == '=' {
		return list
	}
	out := slices.Clone(have)
	for _, n := range list {
		i := slices.Index(out, n)
		switch {
		case op == '+' && i < 0:
			out = append(out, n)
		case op == '-' && i >= 0:
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// limit stores one limit. TRES lists are merged into what is set already.
func (k *book) limit(l *limitSet, s Setting) {
	if !slices.Contains(l.order, s.Key) {
		l.order = append(l.order, s.Key)
	}
	if l.tres == nil {
		l.tres, l.text = map[string]gres.Vector{}, map[string]string{}
	}
	i := slices.IndexFunc(qosKeys, func(q acctKey) bool { return q.name == s.Key })
	tres := i >= 0 && qosKeys[i].kind == kindTRES || slices.Contains([]string{"MaxTRES", "MaxTRESMins", "MaxTRESRunMins"}, s.Key)
	if !tres {
		l.text[s.Key] = s.Value
		if s.Value == "-1" {
			delete(l.text, s.Key)
		}
		return
	}
	v, ok := l.tres[s.Key]
	if !ok || s.Value == "-1" {
		v = k.schema.NewVector()
		gres.Fill(v, gres.Unlimited)
	}
	if s.Value != "-1" {
		if err := gres.ParseTRES(k.schema, v, s.Value); err != nil {
			k.b.rd.fail(s.At, s.Key+"="+s.Value, fmt.Errorf("%w: only resources of AccountingStorageTRES can be limited: %w", ErrValue, err))
			return
		}
	}
	l.tres[s.Key] = v
}

// specs returns the limits in the order in which they were first set.
func (l *limitSet) specs(s *gres.Schema) []scheduler.LimitSpec {
	var out []scheduler.LimitSpec
	for _, key := range l.order {
		text, ok := l.text[key]
		if v, isTRES := l.tres[key]; isTRES {
			text = string(gres.AppendLimits(nil, s, v))
			ok = text != ""
		}
		if ok {
			out = append(out, scheduler.LimitSpec{Name: key, Value: text})
		}
	}
	return out
}
