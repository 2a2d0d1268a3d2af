package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/qos"
	"github.com/berth-sched/berth/topology"
)

// A LimitError says that a limit of an account or a QOS refuses a job. It is
// [ErrLimit].
type LimitError struct {
	// Job is the job's id.
	Job JobID
	// Block is the limit and its numbers.
	Block LimitBlock
}

// Error names the job, the limit and the numbers.
func (e *LimitError) Error() string {
	b := &e.Block
	return fmt.Sprintf("scheduler: submit job %d: %s of %s: %s limit %d, used %d, asked %d: %v",
		e.Job, b.Reason, b.Object, b.TRES, b.Limit, b.Used, b.Asked, ErrLimit)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }

// stopped remembers whose jobs are not tried any more in a pass, since one of
// them is over a limit. Slurm: assoc_limit_stop.
type stopped struct {
	assoc []uint64 // number of the pass, by association
	qos   []uint64
}

func stamp(list *[]uint64, i int, pass uint64) {
	if i >= len(*list) {
		*list = append(*list, make([]uint64, i+1-len(*list))...)
	}
	(*list)[i] = pass
}

func stamped(list []uint64, i int, pass uint64) bool { return i < len(list) && list[i] == pass }

// limitReason is the scheduler's number of a verdict's reason.
func limitReason(v *qos.Verdict) Reason { return reasonLimits + Reason(v.Reason) }

// resolve finds the association and the QOS of a job.
func (e *engine) resolve(s *JobSpec, parts []int32) (jobAccount, error) {
	a := e.acct
	if a == nil {
		return jobAccount{}, nil
	}
	var ja jobAccount
	name := s.Account
	if name == "" {
		name = a.defaultAccount(s.User)
	}
	part := ""
	if len(parts) > 0 {
		part = e.parts[parts[0]].spec.Name
	}
	if ja.assoc = a.l.Find(name, s.User, part); ja.assoc == 0 && s.User == "" {
		ja.assoc = a.l.FindAccount(name)
	}
	if v := a.l.CheckAssoc(ja.assoc); !v.OK() {
		return ja, fmt.Errorf("account %q, user %q: %w", name, s.User, ErrUnknownAccount)
	}
	ja.qos = a.l.DefaultQOS(ja.assoc)
	for i, n := range s.QOS {
		q := a.l.FindQOS(n)
		if v := a.l.CheckQOS(ja.assoc, q, len(s.Reservations) > 0); q == 0 || !v.OK() {
			return ja, fmt.Errorf("QOS %q: %w", n, ErrUnknownQOS)
		}
		// Of several the one of the highest priority heads the job.
		if i == 0 || a.l.QOS(q).Priority > a.l.QOS(ja.qos).Priority {
			ja.qos = q
		}
	}
	if v := a.l.CheckQOS(ja.assoc, ja.qos, len(s.Reservations) > 0); !v.OK() {
		return ja, fmt.Errorf("QOS %q: %w", a.l.QOSName(ja.qos), ErrUnknownQOS)
	}
	return ja, nil
}

// defaultAccount is the account of a user who names none: the one marked so, or
// the first.
func (a *accounting) defaultAccount(user string) string {
	if name, ok := a.byUser[user]; ok {
		return name
	}
	if list := a.l.AppendAssocsOf(nil, a.l.FindUser(user)); len(list) > 0 {
		return a.l.AccountName(a.l.Account(list[0]))
	}
	return ""
}

// account resolves and checks a job that is submitted or changed; it books
// nothing.
func (e *engine) account(verb string, s *JobSpec, parts, classes []int32, admin bool) (jobAccount, error) {
	ja, err := e.resolve(s, parts)
	if err != nil {
		return ja, fmt.Errorf("scheduler: %s job %d: %w", verb, s.ID, err)
	}
	a := e.acct
	if a == nil {
		return ja, nil
	}
	ja.admin = admin
	use, err := e.usesOf(s)
	if err != nil {
		return ja, fmt.Errorf("scheduler: %s job %d: %w", verb, s.ID, err)
	}
	for i, p := range parts {
		j := e.subject(&ja, p, classes[i], &use)
		if j.Limit = s.TimeLimit; j.Limit == 0 {
			j.Limit = e.parts[p].spec.DefaultTime
		}
		got, v := a.l.CheckSubmit(j)
		if !v.OK() {
			return ja, &LimitError{Job: s.ID, Block: a.block(&v)}
		}
		if j.Limit == 0 && got != 0 && (ja.limit == 0 || got < ja.limit) {
			ja.limit = got
		}
	}
	return ja, nil
}

// subject fills the scratch with a job as limits see it before nodes are chosen.
func (e *engine) subject(ja *jobAccount, part, class int32, use *licenseUse) *qos.Job {
	a, c := e.acct, &e.classes.rows[class]
	copy(a.tres, c.tres)
	e.licenses.count(a.tres, use, int64(c.min))
	b := e.parts[part].points(a.tres)
	a.tres[gres.Billing] = priority.WholePoints(b)
	a.job = qos.Job{
		Assoc: ja.assoc, QOS: ja.qos, PartQOS: a.partQOS[part], TRES: a.tres, Billing: b, AdminLimit: ja.admin, Fairshare: a.shareOf(ja.assoc),
	}
	return &a.job
}

// points is what counts cost a second in the partition.
func (p *partition) points(counts []int64) float64 {
	if p.billing == nil {
		return float64(counts[gres.CPU])
	}
	return p.billing.Points(counts)
}

// candidate is subject for a record of the queue.
func (e *engine) candidate(j *job, pair int) *qos.Job {
	q := e.subject(&j.acct, j.parts[pair], j.classes[pair], &j.licenses)
	q.Limit, q.QOS = e.timeLimit(j, pair), j.pairQOS(pair)
	return q
}

// gate makes the checks before nodes are searched: limits, then licences. If it
// says no, the job's reason says why, and it is not tried.
func (e *engine) gate(rec record) bool {
	if rec.resv != 0 && !e.resvGate(rec) {
		return false
	}
	if e.acct == nil && len(e.licenses.pools) == 0 {
		return true
	}
	j := &e.jobs.rows[rec.row]
	e.pre.lacking = false
	if e.acct != nil {
		e.stepAside(rec)
		if !e.mayStart(j, rec) {
			return false
		}
	}
	if len(j.licenses.asks) > 0 && !e.licensesFree(j, rec.resv, e.now, e.timeLimit(j, int(rec.pair))) {
		j.reason = ReasonLicenses
		e.pre.lacking = true
		return false
	}
	return true
}

func (e *engine) mayStart(j *job, rec record) bool {
	a, s := e.acct, &e.try
	s.capNodes, s.prefer = 0, false
	if e.par.Queue.AssocLimitStop && (stamped(a.stopped.assoc, int(j.acct.assoc), e.passNo) || stamped(a.stopped.qos, int(j.pairQOS(int(rec.pair))), e.passNo)) {
		if j.reason == ReasonNone || j.reason == ReasonResources {
			j.reason = ReasonPriority
		}
		return false
	}
	q := e.candidate(j, int(rec.pair))
	if v := a.l.CheckEligible(q); !v.OK() {
		e.limited(j, int(rec.pair), &v)
		return false
	}
	c := &e.classes.rows[j.classes[rec.pair]]
	most, v := a.l.NodeCap(q, c.nodes.Words())
	if !v.OK() {
		e.limited(j, int(rec.pair), &v)
		return false
	}
	if most < int64(max(c.fit.Want, c.fit.Max)) {
		s.capNodes = int32(most)
	}
	a.inUse.Clear()
	s.prefer = a.l.NodesInUse(a.inUse.Words(), q)
	return true
}

// limited notes that a limit holds a job back.
func (e *engine) limited(j *job, pair int, v *qos.Verdict) {
	j.reason = limitReason(v)
	if !e.par.Queue.AssocLimitStop {
		return
	}
	st := &e.acct.stopped
	if v.Object.Scope == qos.ScopeAssoc {
		stamp(&st.assoc, int(j.acct.assoc), e.passNo)
	} else if q := j.pairQOS(pair); q != 0 {
		stamp(&st.qos, int(q), e.passNo)
	}
}

// admits makes the checks of a record whose allocation is in the scratch.
func (e *engine) admits(rec record) bool {
	a, j := e.acct, &e.jobs.rows[rec.row]
	if j.licenses.scoped && !e.scopedFits(j) {
		j.reason = ReasonLicenses
		return false
	}
	if a == nil {
		return true
	}
	clear(a.alloc)
	for i, n := range e.try.nodes {
		e.addGrant(a.alloc, n, &e.try.grants[i])
	}
	q := e.allocated(j, int(rec.pair), len(e.try.nodes))
	a.nodes = a.nodes[:0]
	for _, n := range e.try.nodes {
		a.nodes = append(a.nodes, int32(n))
	}
	q.Nodes = a.nodes
	if v := a.l.Admit(q); !v.OK() {
		e.limited(j, int(rec.pair), &v)
		return false
	}
	return true
}

// admitsAsked makes the same checks of what a record asks at least: who is over a
// limit makes nobody leave.
func (e *engine) admitsAsked(rec record) bool {
	a := e.acct
	if a == nil {
		return true
	}
	j := &e.jobs.rows[rec.row]
	if v := a.l.Admit(e.candidate(j, int(rec.pair))); !v.OK() {
		e.limited(j, int(rec.pair), &v)
		return false
	}
	return true
}

// allocated completes the scratch for a job whose allocation is counted in
// alloc: CPUs, memory and nodes count as given, generic resources as asked.
func (e *engine) allocated(j *job, pair, nodes int) *qos.Job {
	a := e.acct
	part, c := j.parts[pair], &e.classes.rows[j.classes[pair]]
	e.licenses.count(a.alloc, &j.licenses, int64(nodes))
	points := e.parts[part].points(a.alloc)
	a.alloc[gres.Billing] = priority.WholePoints(points)
	q := e.candidate(j, pair)
	e.needsOn(a.tres, c, int64(nodes))
	for _, k := range [...]gres.Kind{gres.CPU, gres.Mem, gres.Node, gres.Billing} {
		a.tres[k] = a.alloc[k]
	}
	q.Alloc, q.Billing = a.alloc, points
	return q
}

// needsOn adds what a class asks of generic resources because it got more nodes
// than its least.
func (e *engine) needsOn(dst gres.Vector, c *class, nodes int64) {
	more := nodes - int64(c.key.req.MinNodes)
	if more <= 0 {
		return
	}
	for i := range c.req.Needs[:c.req.NumNeeds] {
		n := &c.req.Needs[i]
		if n.PerNode == 0 {
			continue
		}
		for k := range e.acct.kinds {
			d := &e.acct.kinds[k]
			if d.name != n.Name || d.typ != n.Type {
				continue
			}
			if d.hasPlain {
				dst[d.plain] += n.PerNode * more
			}
			if d.hasTyped {
				dst[d.typed] += n.PerNode * more
			}
		}
	}
}

// addGrant counts what a grant holds.
func (e *engine) addGrant(dst gres.Vector, n topology.NodeID, g *gres.Grant) {
	dst[gres.CPU] += max(g.CPUs, (g.MilliCPU+999)/1000)
	dst[gres.Mem] += g.MemMiB
	dst[gres.Node]++
	sh := e.pool.Shape(int32(n))
	for i := range g.Devices {
		d := &g.Devices[i]
		name := sh.GroupName(int(d.Group))
		for k := range e.acct.kinds {
			x := &e.acct.kinds[k]
			if x.name != name || x.typ != d.Type {
				continue
			}
			units := d.Units
			if x.partOfUnit {
				units = 1
			}
			if x.hasPlain {
				dst[x.plain] += units
			}
			if x.hasTyped {
				dst[x.typed] += units
			}
		}
	}
}

// block puts a verdict into names and numbers.
func (a *accounting) block(v *qos.Verdict) LimitBlock {
	b := LimitBlock{Reason: limitReason(v), Limit: v.Max, Used: v.Used, Asked: v.Asked, Short: v.Short}
	switch l := a.l; v.Object.Scope {
	case qos.ScopeAssoc:
		b.Object = string(l.AppendAssoc(nil, qos.AssocID(v.Object.ID)))
	case qos.ScopeQOS:
		b.Object = "QOS " + l.QOSName(qos.QOSID(v.Object.ID))
	case qos.ScopeQOSUser:
		b.Object = "QOS " + l.QOSName(qos.QOSID(v.Object.ID)) + ", user " + l.UserName(qos.UserID(v.Object.Of))
	case qos.ScopeQOSAccount:
		b.Object = "QOS " + l.QOSName(qos.QOSID(v.Object.ID)) + ", account " + l.AccountName(qos.AccountID(v.Object.Of))
	}
	b.TRES = v.Limit.String()
	if v.Limit.HasTRES() {
		b.TRES += " " + a.l.Schema().Name(v.Kind)
	}
	return b
}

// appendLimits lists the limits in the way of a pending job in one partition of
// its list.
func (e *engine) appendLimits(dst []LimitBlock, j *job, pair int) []LimitBlock {
	a := e.acct
	if a == nil {
		return dst
	}
	q := e.candidate(j, pair)
	a.verdicts = a.l.AppendVerdicts(a.verdicts[:0], q, qos.BeforeNodes)
	if _, v := a.l.NodeCap(q, e.classes.rows[j.classes[pair]].nodes.Words()); !v.OK() {
		a.verdicts = append(a.verdicts, v)
	}
	from := len(a.verdicts)
	a.verdicts = a.l.AppendVerdicts(a.verdicts, q, qos.AfterNodes)
	for i := range a.verdicts {
		v := &a.verdicts[i]
		if i >= from && slices.ContainsFunc(a.verdicts[:from], func(o qos.Verdict) bool { return o.Reason == v.Reason && o.Object == v.Object }) {
			continue
		}
		dst = append(dst, a.block(v))
	}
	return dst
}

// accountName and qosName are what a job is charged to, by name.
func (e *engine) accountName(j *job) string {
	if e.acct == nil || j.acct.assoc == 0 {
		return j.own.Account
	}
	return e.acct.l.AccountName(e.acct.l.Account(j.acct.assoc))
}

func (e *engine) qosName(j *job) string {
	if e.acct != nil && j.acct.qos != 0 {
		return e.acct.l.QOSName(j.acct.qos)
	}
	if len(j.spec.QOS) > 0 {
		return j.spec.QOS[0]
	}
	return ""
}

// flagsOf are the flags of the QOS of a job's record and of its partition's.
func (e *engine) flagsOf(j *job, pair int) qos.Flags {
	if e.acct == nil {
		return 0
	}
	return e.acct.l.FlagsOf(j.pairQOS(pair), e.acct.partQOS[j.parts[pair]])
}

// reserves reports whether a waiting job may keep nodes for a start in the
// future: it may block others, and its QOS has no NoReserve (spec: backfill 2.3).
func (e *engine) reserves(j *job, pair int) bool {
	return e.flagsOf(j, pair)&qos.NoReserve == 0 && e.mayPlan(j, pair)
}

// mayPlan reports whether a waiting job may block others: not if a limit holds
// it, nor below MinPrioThreshold.
func (e *engine) mayPlan(j *job, pair int) bool {
	if e.acct == nil {
		return true
	}
	if j.reason >= reasonLimits {
		return false
	}
	return j.pairPrio(pair) >= e.acct.l.MinPriority(e.candidate(j, pair))
}

// placePreferred finds the node of a one-node request when the job's owner has
// a limit on nodes: those that it uses already cost it nothing, and all others
// count as one weight unit heavier. first is what any node would give; it is in
// the scratch (spec: qos 1.2).
func (e *engine) placePreferred(c *class, pass gres.Pass, p *partition, within []uint64, first topology.NodeID) topology.NodeID {
	s, a := &e.try, e.acct
	if a.inUse.Has(first) {
		return first
	}
	words := a.inUse.Words()
	if within != nil {
		for i := range words {
			words[i] &= within[i]
		}
	}
	s.need(2)
	n := topology.NodeID(e.pool.PlaceOne(c.pool, pass, p.views, words, &s.grants[1]))
	if n < 0 || e.weightOf(n) > e.weightOf(first)+1 || e.weightOf(n) == e.weightOf(first)+1 && first < n {
		return first
	}
	s.grants[0], s.grants[1] = s.grants[1], s.grants[0]
	return n
}

// weightFor is the weight of a node for the job that is tried.
func (e *engine) weightFor(n topology.NodeID) uint32 {
	w := e.weightOf(n)
	if e.try.prefer && !e.acct.inUse.Has(n) {
		w++
	}
	if b := e.try.features.better; b != nil && !b.Has(n) {
		w++
	}
	return w
}

// closeAccounts commits what a call did to the books of accounts.
func (e *engine) closeAccounts() {
	e.try.capNodes, e.try.prefer = 0, false
	if e.acct != nil {
		e.acct.l.Forget()
	}
}

// changeLimits says of limits in the way what would have to change. Where nodes
// are free they are all that does.
func changeLimits(x *Explanation) {
	if len(x.Limits) == 0 {
		return
	}
	var text strings.Builder
	text.WriteString("if these limits allowed it:")
	for i := range x.Limits {
		b := &x.Limits[i]
		text.WriteString(fmt.Sprintf(" %s of %s (%d short)", b.TRES, b.Object, b.Short))
	}
	if n := len(x.Funnel); n > 0 && x.Funnel[n-1].Stage == StageTopology && len(x.Changes) > 0 {
		x.Changes = []Change{{Text: text.String(), Nodes: x.Changes[0].Nodes}}
		return
	}
	for i := range x.Changes {
		x.Changes[i].Text += ", and " + text.String()
	}
}
