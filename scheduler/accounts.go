package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/qos"
)

// accountsChanged makes what depends on the account tree and on limits follow
// them.
func (e *engine) accountsChanged() {
	a := e.acct
	a.regrow = true
	a.kills, a.accrues, a.shares = false, false, false
	a.l.ColumnsTo(&a.columns)
	top := 0
	for _, id := range a.columns.Assoc {
		top = max(top, int(id))
		a.look(func(m qos.Limit) bool { return len(a.l.AppendLimit(nil, id, m)) > 0 })
	}
	for _, q := range a.l.AppendQOS(nil) {
		a.look(func(m qos.Limit) bool { return len(a.l.AppendQOSLimit(nil, q, m)) > 0 })
		if a.l.QOS(q).Flags&qos.EnforceUsageThreshold != 0 {
			a.shares = true
		}
	}
	a.kills = a.kills && a.l.Enforced()&qos.EnforceLimits != 0 && a.l.Enforced()&qos.EnforceSafe == 0
	if n := top + 1 - len(a.factor); n > 0 {
		a.factor = append(a.factor, make([]float64, n)...)
	}
}

// look notes which kinds of limits an owner has.
func (a *accounting) look(has func(qos.Limit) bool) {
	for _, m := range [...]qos.Limit{qos.GrpTRESMins, qos.GrpWall, qos.MaxTRESMinsPerJob} {
		a.kills = a.kills || has(m)
	}
	for _, m := range [...]qos.Limit{
		qos.GrpJobsAccrue, qos.MaxJobsAccrue, qos.MaxJobsAccruePerUser, qos.MaxJobsAccruePerAccount,
	} {
		a.accrues = a.accrues || has(m)
	}
}

// setAccounts applies an event about accounts, users, QOS and their limits. What
// is refused changes nothing; what changes counts from the next pass on.
func (e *engine) setAccounts(now Time, ev *Event) error {
	bad := func(what string, err error) error {
		return fmt.Errorf("scheduler: apply %s: %s: %w", ev.Kind, what, err)
	}
	fresh := e.acct == nil
	if fresh {
		if ev.Kind == EventUsageReset {
			return nil
		}
		if err := e.openAccounting(); err != nil {
			return err
		}
	}
	var err error
	switch {
	case ev.Kind == EventUsageReset:
		err = e.forgetUsage(ev.Text)
	case ev.QOS != nil && (ev.Kind == EventQOS || ev.Kind == EventLimit):
		err = e.changeQOS(ev)
	case ev.Assoc != nil && (ev.Kind == EventAccount || ev.Kind == EventUser || ev.Kind == EventLimit):
		err = e.changeAssoc(ev)
	default:
		err = ErrSpec
	}
	if err != nil {
		if fresh {
			e.acct = nil
		}
		return bad("", err)
	}
	e.accountsChanged()
	if err := errors.Join(e.buildRanker(), e.buildPreempt()); err != nil {
		return err
	}
	e.freed++
	e.findAllQOS()
	e.rerank(now)
	return nil
}

// forgetUsage zeroes the usage of an account and all below it; of everyone if
// none is named.
func (e *engine) forgetUsage(account string) error {
	if account == "" {
		e.acct.l.ResetUsage()
		return nil
	}
	id := e.acct.l.FindAccount(account)
	if id == 0 {
		return fmt.Errorf("account %q: %w", account, ErrUnknownAccount)
	}
	e.acct.l.ResetAssoc(id)
	return nil
}

func (e *engine) changeQOS(ev *Event) error {
	a, s := e.acct, ev.QOS
	id := a.l.FindQOS(s.Name)
	at := slices.IndexFunc(e.cfg.QOS, func(q QOSSpec) bool { return q.Name == s.Name })
	switch {
	case id == 0 && (ev.Remove || ev.Kind == EventLimit):
		return fmt.Errorf("QOS %q: %w", s.Name, ErrUnknownQOS)
	case ev.Remove:
		if err := e.mayDropQOS(id); err != nil {
			return err
		}
		if err := a.l.DeleteQOS(id); err != nil {
			return err
		}
		if at >= 0 {
			e.cfg.QOS = slices.Delete(e.cfg.QOS, at, at+1)
		}
		e.forgetQOS(id, s.Name)
		return nil
	case ev.Kind == EventLimit:
		list, err := limitSettings(s.Limits)
		if err != nil {
			return err
		}
		if err := a.l.SetQOSLimits(id, list...); err != nil {
			return err
		}
	case id == 0:
		if err := a.addQualities([]QOSSpec{*s}); err != nil {
			if id = a.l.FindQOS(s.Name); id != 0 {
				_ = a.l.DeleteQOS(id)
			}
			return err
		}
		id = a.l.FindQOS(s.Name)
	default:
		if err := a.replaceQOS(id, s); err != nil {
			return err
		}
	}
	spec := *s
	if at >= 0 && ev.Kind == EventLimit {
		spec = e.cfg.QOS[at]
	} else if ev.Kind == EventLimit {
		spec = QOSSpec{Name: s.Name}
	}
	spec.Limits = a.qosLimits(id)
	spec = cloneQOS(&spec)
	if at >= 0 {
		e.cfg.QOS[at] = spec
	} else {
		e.cfg.QOS = append(e.cfg.QOS, spec)
	}
	return nil
}

// replaceQOS makes a QOS as s says, or leaves it as it was.
func (a *accounting) replaceQOS(id qos.QOSID, s *QOSSpec) error {
	attr := a.l.QOS(id)
	attr.Preempt = slices.Clone(attr.Preempt)
	var limits []qos.Setting
	for m := qos.NoLimit + 1; m.Info().Name != ""; m++ {
		if text := a.l.AppendQOSLimit(nil, id, m); len(text) > 0 && qosOwn(m) {
			limits = append(limits, qos.Setting{Limit: m, Value: string(text)})
		}
	}
	err := a.setQuality(id, s)
	if err != nil {
		_ = a.l.SetQOS(id, attr)
		a.l.ClearQOSLimits(id)
		_ = a.l.SetQOSLimits(id, limits...)
	}
	return err
}

// qosOwn reports whether m is a QOS's own name of a limit, not an alias.
func qosOwn(m qos.Limit) bool { return m.Info().Where&qos.OnQOS != 0 }

// mayDropQOS refuses to drop a QOS that a partition has.
func (e *engine) mayDropQOS(id qos.QOSID) error {
	for p, q := range e.acct.partQOS {
		if q == id {
			return fmt.Errorf("QOS of partition %q: %w", e.parts[p].spec.Name, qos.ErrBusy)
		}
	}
	return nil
}

// forgetQOS takes a QOS that is gone out of the configuration and of ended jobs,
// which keep its name.
func (e *engine) forgetQOS(id qos.QOSID, name string) {
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.acct.qos == id {
			e.foldQOS(j, name)
		}
	}
	not := func(n string) bool { return n == name }
	for i := range e.cfg.QOS {
		e.cfg.QOS[i].Preempt = slices.DeleteFunc(slices.Clone(e.cfg.QOS[i].Preempt), not)
	}
	for i := range e.cfg.Accounts {
		s := &e.cfg.Accounts[i]
		s.QOS = slices.DeleteFunc(slices.Clone(s.QOS), not)
		if s.DefaultQOS == name {
			s.DefaultQOS = ""
		}
	}
}

func (e *engine) changeAssoc(ev *Event) error {
	a, s := e.acct, ev.Assoc
	id := a.find(s)
	at := slices.IndexFunc(e.cfg.Accounts, func(o AssocSpec) bool {
		return o.Account == s.Account && o.User == s.User && o.Partition == s.Partition
	})
	switch {
	case id == 0 && (ev.Remove || ev.Kind == EventLimit):
		return fmt.Errorf("%s: %w", assocName(s), ErrUnknownAccount)
	case ev.Remove:
		if err := e.dropAssoc(id, s); err != nil {
			return err
		}
		if at >= 0 {
			e.cfg.Accounts = slices.Delete(e.cfg.Accounts, at, at+1)
		}
		e.defaultAccounts()
		return nil
	case ev.Kind == EventLimit:
		list, err := limitSettings(s.Limits)
		if err != nil {
			return err
		}
		if err := a.l.SetLimits(id, list...); err != nil {
			return err
		}
	case id == 0:
		if err := a.addAssociation(s); err != nil {
			return err
		}
		id = a.find(s)
	default:
		if err := a.replaceAssoc(id, s); err != nil {
			return err
		}
	}
	spec := *s
	if at >= 0 && ev.Kind == EventLimit {
		spec = e.cfg.Accounts[at]
	} else if ev.Kind == EventLimit {
		spec = AssocSpec{Account: s.Account, User: s.User, Partition: s.Partition}
	}
	spec.Limits = a.assocLimits(id)
	spec = cloneAssoc(&spec)
	if at >= 0 {
		e.cfg.Accounts[at] = spec
	} else {
		e.cfg.Accounts = append(e.cfg.Accounts, spec)
	}
	e.defaultAccounts()
	return nil
}

// replaceAssoc makes an association as s says, or leaves it as it was.
func (a *accounting) replaceAssoc(id qos.AssocID, s *AssocSpec) error {
	parent := a.parentOf(s)
	move := s.User == "" && id != qos.Root && parent != a.l.Parent(id)
	if move {
		if parent == 0 {
			return fmt.Errorf("parent %q: %w", s.Parent, ErrUnknownAccount)
		}
		for p := parent; p != 0; p = a.l.Parent(p) {
			if p == id {
				return fmt.Errorf("parent %q: %w", s.Parent, qos.ErrCycle)
			}
		}
	}
	limits := settingsOf(a.assocLimits(id))
	if err := a.setAssociation(id, s); err != nil {
		a.l.ClearLimits(id)
		_ = a.l.SetLimits(id, limits...)
		return err
	}
	if move {
		return a.l.Move(id, parent)
	}
	return nil
}

// dropAssoc removes an association that no job has.
func (e *engine) dropAssoc(id qos.AssocID, s *AssocSpec) error {
	for r := range e.jobs.rows {
		// Jobs that ended are remembered, not counted: they keep their names.
		if j := &e.jobs.rows[r]; j.id != 0 && j.acct.assoc == id && !j.state.Ended() {
			return fmt.Errorf("%s: job %d: %w", assocName(s), j.id, qos.ErrBusy)
		}
	}
	if err := e.acct.l.Delete(id); err != nil {
		return err
	}
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.acct.assoc == id {
			own := *j.own
			own.Account, j.own = s.Account, &own
			j.acct.assoc = 0
		}
	}
	return nil
}

// defaultAccounts finds the default account of users anew.
func (e *engine) defaultAccounts() {
	clear(e.acct.byUser)
	for i := range e.cfg.Accounts {
		if s := &e.cfg.Accounts[i]; s.DefaultAccount && s.User != "" {
			e.acct.byUser[s.User] = s.Account
		}
	}
}

// assocLimits and qosLimits are limits as set now.
func (a *accounting) assocLimits(id qos.AssocID) []LimitSpec {
	var out []LimitSpec
	for m := qos.NoLimit + 1; m.Info().Name != ""; m++ {
		if m.Info().Where&(qos.OnLeaf|qos.OnGroup) == 0 {
			continue
		}
		if text := a.l.AppendLimit(nil, id, m); len(text) > 0 {
			out = append(out, LimitSpec{Name: m.String(), Value: string(text)})
		}
	}
	return out
}

func (a *accounting) qosLimits(id qos.QOSID) []LimitSpec {
	var out []LimitSpec
	for m := qos.NoLimit + 1; m.Info().Name != ""; m++ {
		if !qosOwn(m) || m == qos.UsageThreshold {
			continue
		}
		if text := a.l.AppendQOSLimit(nil, id, m); len(text) > 0 {
			out = append(out, LimitSpec{Name: m.String(), Value: string(text)})
		}
	}
	return out
}

func settingsOf(list []LimitSpec) []qos.Setting {
	out, _ := limitSettings(list)
	return out
}

func cloneAssoc(s *AssocSpec) AssocSpec {
	w := codec{}
	visitAssocSpec(&w, s)
	var out AssocSpec
	visitAssocSpec(&codec{buf: w.buf, reading: true}, &out)
	return out
}

func cloneQOS(s *QOSSpec) QOSSpec {
	w := codec{}
	visitQOSSpec(&w, s)
	var out QOSSpec
	visitQOSSpec(&codec{buf: w.buf, reading: true}, &out)
	return out
}
