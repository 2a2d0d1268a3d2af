package scheduler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// An accounting joins the books of accounts and QOS with the engine. An engine
// without accounts and QOS has none, and pays nothing for it.
type accounting struct {
	l        *qos.Ledger
	byUser   map[string]string // default account of a user; looked up, never ranged over
	partQOS  []qos.QOSID       // of each partition
	kinds    []deviceKind      // which kinds a device counts as
	kills    bool              // some limit ends running jobs
	accrues  bool              // some limit bounds the jobs that earn age
	shares   bool              // somebody looks at fair-share factors
	regrow   bool              // the tree changed since the ranking
	begun    bool              // usage has begun to decay
	charged  Time              // up to when usage has decayed
	sweep    Time              // next look for jobs that limits end
	reset    Time              // next reset of usage; 0 not known yet
	factor   []float64         // fair-share factor by association, of the last tick
	columns  qos.Columns
	tree     *priority.FairTree
	classic  *priority.Classic
	rank     []float64
	job      qos.Job // scratch of checks
	tres     gres.Vector
	alloc    gres.Vector
	parts    []qos.QOSID
	nodes    []int32
	over     []JobID
	waiting  []int32
	inUse    topology.NodeSet
	stopped  stopped
	verdicts []qos.Verdict
}

// jobAccount is what a job has in the books of accounts.
type jobAccount struct {
	assoc  qos.AssocID
	qos    qos.QOSID
	charge qos.ChargeID
	// used is up to when its usage is charged.
	used Time
	// limit is the time limit that limits give a job that has none.
	limit time.Duration
	// since is when it began to earn age if accruing.
	since    Time
	booked   bool // counted as submitted
	one      bool // counted as submitted in the partition it runs in alone
	accruing bool // counted as earning age
	late     bool // a limit kept it from earning age
	admin    bool // an operator set its time limit
	rebook   bool // scratch of bookAll
}

// A deviceKind says as what devices of a name and type count.
type deviceKind struct {
	name       gres.NameID
	typ        gres.TypeID
	plain      gres.Kind
	typed      gres.Kind
	hasPlain   bool
	hasTyped   bool
	partOfUnit bool
}

// accounted reports whether the configuration has accounts or QOS.
func accounted(c *Config) bool { return len(c.Accounts) > 0 || len(c.QOS) > 0 }

// checkAccounting finds what is wrong with the parameters of accounting.
func (p *Parameters) checkAccounting() []error {
	var errs []error
	if _, err := qos.ParseEnforce(p.Limits.Enforce); err != nil {
		errs = append(errs, fmt.Errorf("scheduler: check config: Enforce: %w", err))
	}
	if _, err := priorityFlags(p.Priority.Flags); err != nil {
		errs = append(errs, fmt.Errorf("scheduler: check config: priority flags: %w", err))
	}
	if _, err := resetPeriod(p.Priority.UsageReset); err != nil {
		errs = append(errs, fmt.Errorf("scheduler: check config: UsageReset: %w", err))
	}
	return errs
}

// buildAccounting makes the books of the configured accounts and QOS.
func (e *engine) buildAccounting() error {
	if err := e.buildBilling(); err != nil {
		return err
	}
	if !accounted(&e.cfg) {
		return nil
	}
	return e.openAccounting()
}

func (e *engine) openAccounting() error {
	enforce, err := qos.ParseEnforce(e.par.Limits.Enforce)
	if err != nil {
		return fmt.Errorf("scheduler: read parameters: Enforce: %w", err)
	}
	total := gres.Vector(e.totalTRES(nil))
	l, err := qos.New(qos.Config{Schema: e.schema, Enforce: enforce, Total: total})
	if err != nil {
		return fmt.Errorf("scheduler: read accounts: %w", err)
	}
	a := &accounting{l: l, byUser: map[string]string{}, tres: e.schema.NewVector(), alloc: e.schema.NewVector()}
	a.inUse.Init(len(e.nodes))
	a.kinds = e.deviceKinds()
	l.Reserve(len(e.cfg.Accounts))
	if err := errors.Join(a.addQualities(e.cfg.QOS), a.addAssociations(e.cfg.Accounts)); err != nil {
		return err
	}
	e.acct = a
	if err := e.attachPartitions(); err != nil {
		e.acct = nil
		return err
	}
	e.accountsChanged()
	return nil
}

// addQualities adds QOS; names that QOS give one another are looked up when all
// are there.
func (a *accounting) addQualities(list []QOSSpec) error {
	var errs []error
	seen := map[string]bool{}
	for i := range list {
		name := list[i].Name
		if seen[name] {
			errs = append(errs, fmt.Errorf("scheduler: read QOS %q: given twice: %w", name, ErrSpec))
			continue
		}
		seen[name] = true
		if a.l.FindQOS(name) == 0 {
			if _, err := a.l.AddQOS(name); err != nil {
				errs = append(errs, fmt.Errorf("scheduler: read QOS %q: %w", name, err))
			}
		}
	}
	for i := range list {
		if id := a.l.FindQOS(list[i].Name); id != 0 {
			errs = append(errs, a.setQuality(id, &list[i]))
		}
	}
	return errors.Join(errs...)
}

// setQuality makes a QOS as its spec says.
func (a *accounting) setQuality(id qos.QOSID, s *QOSSpec) error {
	bad := func(field string, err error) error {
		return fmt.Errorf("scheduler: read QOS %q: %s: %w", s.Name, field, err)
	}
	at := qos.Attributes{
		Priority: s.Priority, UsageFactor: 1, LimitFactor: s.LimitFactor, GraceTime: s.GraceTime, PreemptExemptTime: -1, PreemptMode: s.PreemptMode,
	}
	if s.UsageFactor != nil {
		at.UsageFactor = *s.UsageFactor
	}
	if s.ExemptTime != nil {
		at.PreemptExemptTime = *s.ExemptTime
	}
	if len(s.Flags) > 0 {
		var err error
		if at.Flags, err = qos.ParseFlags(0, strings.Join(s.Flags, ",")); err != nil {
			return bad("Flags", err)
		}
	}
	for _, n := range s.Preempt {
		p := a.l.FindQOS(n)
		if p == 0 {
			return bad("Preempt "+n, ErrUnknownQOS)
		}
		at.Preempt = append(at.Preempt, p)
	}
	list, err := limitSettings(s.Limits)
	if err != nil {
		return bad("Limits", err)
	}
	if s.UsageThreshold > 0 {
		list = append(list, qos.Setting{Limit: qos.UsageThreshold, Value: strconv.FormatFloat(s.UsageThreshold, 'f', -1, 64)})
	}
	if err := a.l.SetQOS(id, at); err != nil {
		return bad("attributes", err)
	}
	a.l.ClearQOSLimits(id)
	if err := a.l.SetQOSLimits(id, list...); err != nil {
		return bad("Limits", err)
	}
	return nil
}

// limitSettings are limits in the form that the books read.
func limitSettings(list []LimitSpec) ([]qos.Setting, error) {
	out := make([]qos.Setting, 0, len(list)+1)
	for _, s := range list {
		m, ok := qos.LimitNamed(s.Name)
		if !ok {
			return nil, fmt.Errorf("%q: %w", s.Name, qos.ErrUnknownName)
		}
		out = append(out, qos.Setting{Limit: m, Value: s.Value})
	}
	return out, nil
}

// addAssociations adds accounts, then users. Accounts may come in any order.
func (a *accounting) addAssociations(list []AssocSpec) error {
	var errs []error
	left := 0
	for i := range list {
		if list[i].User == "" {
			left++
		}
	}
	done := make([]bool, len(list))
	for progress := true; progress && left > 0; {
		progress = false
		for i := range list {
			s := &list[i]
			if done[i] || s.User != "" || s.Account != "root" && a.parentOf(s) == 0 {
				continue
			}
			done[i], progress = true, true
			left--
			errs = append(errs, a.addAssociation(s))
		}
	}
	for i := range list {
		switch s := &list[i]; {
		case done[i]:
		case s.User == "":
			errs = append(errs, fmt.Errorf("scheduler: read account %q: parent %q: %w", s.Account, s.Parent, ErrUnknownAccount))
		default:
			errs = append(errs, a.addAssociation(s))
		}
	}
	return errors.Join(errs...)
}

// parentOf is the association above the one of s, 0 if it is not there.
func (a *accounting) parentOf(s *AssocSpec) qos.AssocID {
	switch {
	case s.User != "":
		return a.l.FindAccount(s.Account)
	case s.Account == "root":
		return 0
	case s.Parent == "":
		return qos.Root
	}
	return a.l.FindAccount(s.Parent)
}

// addAssociation adds an account or a user and sets what its spec says. If that
// fails it is not there.
func (a *accounting) addAssociation(s *AssocSpec) error {
	bad := func(err error) error { return fmt.Errorf("scheduler: read %s: %w", assocName(s), err) }
	id := a.find(s)
	if id != 0 && id != qos.Root {
		return bad(qos.ErrExists)
	}
	if id == 0 {
		parent := a.parentOf(s)
		if parent == 0 {
			return bad(ErrUnknownAccount)
		}
		var err error
		if s.User == "" {
			id, err = a.l.AddAccount(s.Account, parent)
		} else {
			id, err = a.l.AddUser(s.User, parent, s.Partition)
		}
		if err != nil {
			return bad(err)
		}
	}
	if err := a.setAssociation(id, s); err != nil {
		if id != qos.Root {
			_ = a.l.Delete(id)
		}
		return err
	}
	return nil
}

// find returns the association of s, 0 if there is none.
func (a *accounting) find(s *AssocSpec) qos.AssocID {
	if s.User == "" {
		return a.l.FindAccount(s.Account)
	}
	return a.l.FindExact(s.Account, s.User, s.Partition)
}

func assocName(s *AssocSpec) string {
	name := fmt.Sprintf("account %q", s.Account)
	if s.User != "" {
		name += fmt.Sprintf(" user %q", s.User)
	}
	if s.Partition != "" {
		name += fmt.Sprintf(" partition %q", s.Partition)
	}
	return name
}

// setAssociation makes an association as its spec says, all or nothing.
func (a *accounting) setAssociation(id qos.AssocID, s *AssocSpec) error {
	bad := func(field string, err error) error {
		return fmt.Errorf("scheduler: read %s: %s: %w", assocName(s), field, err)
	}
	shares, err := parseShares(s.Shares)
	if err != nil {
		return bad("Shares", err)
	}
	var def qos.QOSID
	if s.DefaultQOS != "" {
		if def = a.l.FindQOS(s.DefaultQOS); def == 0 {
			return bad("DefaultQOS "+s.DefaultQOS, ErrUnknownQOS)
		}
	}
	var allowed []qos.QOSID
	for _, n := range s.QOS {
		q := a.l.FindQOS(n)
		if q == 0 {
			return bad("QOS "+n, ErrUnknownQOS)
		}
		allowed = append(allowed, q)
	}
	list, err := limitSettings(s.Limits)
	if err != nil {
		return bad("Limits", err)
	}
	// Limits are all or nothing; what comes after cannot fail.
	if err := a.l.SetLimits(id, list...); err != nil {
		return bad("Limits", err)
	}
	a.l.ClearLimits(id)
	if err := a.l.SetLimits(id, list...); err != nil {
		return bad("Limits", err)
	}
	a.l.SetShares(id, shares)
	a.l.SetDefaultQOS(id, def)
	if allowed != nil || id != qos.Root {
		a.l.SetAllowed(id, allowed)
	}
	a.l.SetPriority(id, s.Priority, s.Priority != 0)
	if s.DefaultAccount && s.User != "" {
		a.byUser[s.User] = s.Account
	}
	return nil
}

func parseShares(text string) (uint32, error) {
	switch {
	case text == "":
		return 1, nil
	case strings.EqualFold(text, "parent"):
		return qos.SharesParent, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, ErrSpec)
	}
	return uint32(n), nil
}

// attachPartitions looks up the QOS of partitions.
func (e *engine) attachPartitions() error {
	a := e.acct
	a.partQOS = make([]qos.QOSID, len(e.parts))
	for i := range e.parts {
		if err := e.attachPartition(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) attachPartition(p int32) error {
	a, spec := e.acct, &e.parts[p].spec
	if spec.QOS == "" {
		return nil
	}
	id := a.l.FindQOS(spec.QOS)
	if id == 0 {
		return fmt.Errorf("scheduler: read partition %q: QOS %q: %w", spec.Name, spec.QOS, ErrUnknownQOS)
	}
	if err := a.l.AttachPartition(id, e.totalTRES(&e.parts[p].nodes)); err != nil {
		return fmt.Errorf("scheduler: read partition %q: QOS %q: %w", spec.Name, spec.QOS, err)
	}
	a.partQOS[p] = id
	return nil
}

// deviceKinds lists what devices of the nodes count as.
func (e *engine) deviceKinds() []deviceKind {
	var out []deviceKind
	for s := range e.pool.NumShapes() {
		sh := e.pool.ShapeAt(gres.ShapeID(s))
		for g := range sh.NumGroups() {
			out = e.addDeviceKind(out, sh, g, 0)
			for d := range sh.NumDevices(g) {
				out = e.addDeviceKind(out, sh, g, sh.DeviceType(g, d))
			}
		}
	}
	return out
}

func (e *engine) addDeviceKind(list []deviceKind, sh *gres.Shape, g int, t gres.TypeID) []deviceKind {
	k := deviceKind{name: sh.GroupName(g), typ: t}
	for i := range list {
		if list[i].name == k.name && list[i].typ == t {
			return list
		}
	}
	name := "gres/" + e.devices.Name(k.name)
	k.plain, k.hasPlain = e.schema.Kind(name)
	if t != 0 && t != gres.NoType {
		k.typed, k.hasTyped = e.schema.Kind(name + ":" + e.devices.Type(t))
	}
	k.partOfUnit = sh.GroupFlags(g)&gres.Divisible != 0
	return append(list, k)
}

// totalTRES counts what a set of nodes has, nil standing for all.
func (e *engine) totalTRES(set *topology.NodeSet) []int64 {
	row := make([]int64, e.schema.Len())
	for i := range e.there.All() {
		if set != nil && !set.Has(i) {
			continue
		}
		s := e.pool.Shape(int32(i))
		row[gres.CPU] += s.MilliCPU() / 1000
		row[gres.Mem] += s.MemMiB()
		row[gres.Node]++
		for g := range s.NumGroups() {
			name := "gres/" + e.devices.Name(s.GroupName(g))
			if k, ok := e.schema.Kind(name); ok {
				row[k] += s.GroupCount(g)
			}
			for t := range e.devices.NumTypes() {
				id := gres.TypeID(t + 1)
				if k, ok := e.schema.Kind(name + ":" + e.devices.Type(id)); ok {
					row[k] += s.TypeCount(g, id)
				}
			}
		}
	}
	for i := range e.licenses.pools {
		if k, ok := e.schema.Kind("license/" + e.licenses.pools[i].name); ok && set == nil {
			row[k] += e.licenses.pools[i].total
		}
	}
	row[gres.Billing] = row[gres.CPU]
	return row
}
