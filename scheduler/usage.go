package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/priority"
	"github.com/berth-sched/berth/qos"
)

// flagWords are the words of PriorityFlags.
var flagWords = [...]struct {
	word string
	flag priority.Flags
}{
	{"ACCRUE_ALWAYS", priority.AccrueAlways}, {"CALCULATE_RUNNING", priority.CalculateRunning}, {"DEPTH_OBLIVIOUS", priority.DepthOblivious},
	{"NO_FAIR_TREE", priority.NoFairTree}, {"INCR_ONLY", priority.IncrOnly}, {"MAX_TRES", priority.MaxTRES}, {"MAX_TRES_GRES", priority.MaxTRESGRES},
	{"NO_NORMAL_ALL", priority.NoNormalAll}, {"NO_NORMAL_ASSOC", priority.NoNormalAssoc}, {"NO_NORMAL_PART", priority.NoNormalPart},
	{"NO_NORMAL_QOS", priority.NoNormalQOS}, {"NO_NORMAL_TRES", priority.NoNormalTRES}, {"SMALL_RELATIVE_TO_TIME", priority.SmallRelativeToTime},
	{"FAIR_TREE", 0},
}

// priorityFlags reads PriorityFlags.
func priorityFlags(text string) (priority.Flags, error) {
	var f priority.Flags
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		i := 0
		for i < len(flagWords) && !strings.EqualFold(flagWords[i].word, word) {
			i++
		}
		if i == len(flagWords) {
			return 0, fmt.Errorf("%q: %w", word, ErrSpec)
		}
		f |= flagWords[i].flag
	}
	return f, nil
}

// resetPeriod reads PriorityUsageResetPeriod.
func resetPeriod(text string) (priority.Period, error) {
	switch strings.ToUpper(text) {
	case "", "NONE":
		return priority.ResetNone, nil
	case "NOW":
		return priority.ResetNow, nil
	case "DAILY":
		return priority.ResetDaily, nil
	case "WEEKLY":
		return priority.ResetWeekly, nil
	case "MONTHLY":
		return priority.ResetMonthly, nil
	case "QUARTERLY":
		return priority.ResetQuarterly, nil
	case "YEARLY":
		return priority.ResetYearly, nil
	}
	return 0, fmt.Errorf("%q: %w", text, ErrSpec)
}

// buildBilling reads the billing weights of the partitions.
func (e *engine) buildBilling() error {
	flags, err := priorityFlags(e.par.Priority.Flags)
	if err != nil {
		return fmt.Errorf("scheduler: read priority flags: %w", err)
	}
	for i := range e.parts {
		p := &e.parts[i]
		if p.billing, err = e.readBilling(&p.spec, flags); err != nil {
			return err
		}
	}
	return nil
}

// readBilling returns what allocations cost in a partition; nil is a point a CPU.
func (e *engine) readBilling(s *PartitionSpec, flags priority.Flags) (*priority.Billing, error) {
	if s.BillingWeights == "" {
		return nil, nil
	}
	b, err := priority.ParseBilling(e.schema, s.BillingWeights, flags)
	if err != nil {
		return nil, fmt.Errorf("scheduler: read partition %q: BillingWeights: %w", s.Name, err)
	}
	return b, nil
}

// decay says how usage is forgotten.
func (e *engine) decay() priority.Decay {
	d := priority.Decay{HalfLife: e.par.Priority.DecayHalfLife, Exact: e.cfg.Profile != ProfileSlurm}
	if d.HalfLife == Infinite {
		d.HalfLife = 0
	}
	return d
}

// span is how much of the time since from counts now, and up to when: Slurm
// counts whole seconds.
func (e *engine) span(from, now Time) (time.Duration, Time) {
	t := now.Sub(from)
	if t <= 0 {
		return 0, from
	}
	if e.cfg.Profile == ProfileSlurm {
		t = t.Truncate(time.Second)
	}
	return t, from.Add(t)
}

// settle lets usage decay up to now, where it is exact at any instant.
func (e *engine) settle(now Time) {
	if e.cfg.Profile != ProfileSlurm {
		e.fade(now)
	}
}

func (e *engine) fade(now Time) {
	a := e.acct
	if !a.begun {
		a.begun, a.charged = true, now
		return
	}
	t, to := e.span(a.charged, now)
	if a.charged = to; t > 0 {
		a.l.Decay(e.decay().Keep(t))
	}
}

// accrueUse charges what a running job used since it was last charged.
func (e *engine) accrueUse(now Time, j *job) {
	t, to := e.span(j.acct.used, now)
	if j.acct.used = to; t > 0 {
		e.acct.l.Accrue(j.acct.charge, t, e.decay().Charge(1, t))
	}
}

// accountTick does what is due once in a calculation period: usage decays, what
// runs is charged, and shares are ranked (spec: priority 2.8, 5.2 to 5.4).
func (e *engine) accountTick() {
	a := e.acct
	if a == nil {
		return
	}
	e.resetUsage()
	e.fade(e.now)
	moved := false
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.acct.charge != 0 {
			e.accrueUse(e.now, j)
			moved = true
		}
	}
	if moved && a.l.Enforced()&qos.EnforceLimits != 0 {
		// Minutes committed to running jobs are fewer now.
		e.freed++
	}
	e.rankShares()
	e.accrueOn()
}

// resetUsage forgets all usage when a period of the calendar has ended.
func (e *engine) resetUsage() {
	a := e.acct
	period, _ := resetPeriod(e.par.Priority.UsageReset)
	if a.reset != 0 && e.now >= a.reset || a.reset == 0 && period == priority.ResetNow {
		a.l.ResetUsage()
	}
	if a.reset != 0 && e.now < a.reset {
		return
	}
	a.reset = Never
	cal := priority.Calendar{Offsets: []priority.Offset{{East: e.par.Priority.UTCOffset}}}
	if at, ok := period.Next(&cal, int64(e.now)); ok {
		a.reset = Time(at)
	}
}

// wantsShares reports whether the fair-share factor counts for anything.
func (e *engine) wantsShares() bool {
	return e.acct != nil && (e.par.Priority.FairShare > 0 && !e.par.Priority.Basic || e.acct.shares)
}

// rankShares computes the fair-share factor of every association.
func (e *engine) rankShares() {
	if !e.wantsShares() {
		return
	}
	a := e.acct
	flags, _ := priorityFlags(e.par.Priority.Flags)
	a.l.ColumnsTo(&a.columns)
	c := &a.columns
	if n := len(c.Assoc); len(a.rank) < n {
		a.rank = make([]float64, n)
	}
	if a.regrow || a.tree == nil && a.classic == nil {
		t := &priority.Tree{Parent: c.Parent, User: c.User, Shares: c.Shares}
		a.tree, a.classic, a.regrow = nil, nil, false
		if flags&(priority.NoFairTree|priority.DepthOblivious) != 0 {
			a.classic = priority.NewClassic(t, max(e.par.Priority.Dampening, 1), flags&priority.DepthOblivious != 0)
		} else {
			a.tree = priority.NewFairTree(t, priority.AsShipped)
		}
	}
	if a.classic != nil {
		a.classic.Rank(a.rank, c.Usage)
	} else {
		a.tree.Rank(a.rank, c.Usage)
	}
	clear(a.factor)
	for i, id := range c.Assoc {
		a.factor[id] = a.rank[i]
	}
}

// shareOf is the fair-share factor of an association at the last tick.
func (a *accounting) shareOf(id qos.AssocID) float64 {
	if int(id) < len(a.factor) {
		return a.factor[id]
	}
	return 0
}

// shareColumn has the fair-share factor of every association.
func (e *engine) shareColumn() []float64 {
	if e.acct == nil {
		return nil
	}
	return e.acct.factor
}

// killOver tells running jobs to end whose usage is over what limits allow, once
// a minute (spec: qos 4.6).
func (e *engine) killOver(dst []Decision) []Decision {
	a := e.acct
	if a == nil || !a.kills || e.counts.Running == 0 || e.now < a.sweep {
		return dst
	}
	a.sweep = e.now.Add(time.Minute)
	a.over = a.over[:0]
	for r := range e.jobs.rows {
		j := &e.jobs.rows[r]
		if j.acct.charge == 0 || j.flags&flagEnding != 0 {
			continue
		}
		if v := a.l.Overrun(j.acct.charge, e.now.Sub(j.start)); !v.OK() {
			j.endWhy = limitReason(&v)
			a.over = append(a.over, j.id)
		}
	}
	// In order of ids: rows are numbered anew when a snapshot is read.
	slices.Sort(a.over)
	for _, id := range a.over {
		r := e.jobs.find(id)
		j := &e.jobs.rows[r]
		j.flags |= flagEnding
		j.endState = StateTimeout
		dst = e.decide(dst, r, OpKill)
	}
	return dst
}

// accountWake is the next instant at which accounts alone change something.
func (e *engine) accountWake() Time {
	a := e.acct
	if a == nil {
		return Never
	}
	at := Never
	if e.counts.Running > 0 {
		if a.kills {
			at = min(at, a.sweep, e.nextCal)
		}
		if e.counts.Pending > 0 && a.l.Enforced()&qos.EnforceLimits != 0 {
			at = min(at, e.nextCal)
		}
	}
	if e.counts.Pending > 0 && (e.wantsShares() || a.accrues) {
		at = min(at, e.nextCal)
	}
	return at
}

// accrueOn lets waiting jobs earn age as far as limits allow, those that have
// been eligible for longest first (spec: priority 1.3).
func (e *engine) accrueOn() {
	a := e.acct
	if !a.accrues || e.rank.always {
		return
	}
	a.waiting = a.waiting[:0]
	for r := range e.jobs.rows {
		if j := &e.jobs.rows[r]; j.state == StatePending && j.id != 0 && j.eligible != Never && j.acct.booked && !j.acct.accruing {
			a.waiting = append(a.waiting, int32(r))
		}
	}
	slices.SortFunc(a.waiting, func(x, y int32) int {
		p, q := &e.jobs.rows[x], &e.jobs.rows[y]
		if p.eligible != q.eligible {
			return int(min(max(p.eligible-q.eligible, -1), 1))
		}
		if p.id < q.id {
			return -1
		}
		return 1
	})
	for _, r := range a.waiting {
		j := &e.jobs.rows[r]
		q := e.accruer(j)
		if a.l.AccrueRoom(q) <= 0 {
			j.acct.late = true
			continue
		}
		a.l.ChargeAccrue(q)
		j.acct.accruing, j.acct.since = true, j.eligible
		if j.acct.late {
			j.acct.since = e.now
		}
	}
}

// accrueOff takes a job out of the counts of those that earn age.
func (e *engine) accrueOff(j *job) {
	if !j.acct.accruing {
		return
	}
	e.acct.l.UnchargeAccrue(e.accruer(j))
	j.acct.accruing, j.acct.late = false, false
}

// ageFrom is since when a pending job earns age; Never if it does not.
func (e *engine) ageFrom(j *job) Time {
	if e.rank.always {
		return j.submit
	}
	if e.acct == nil || !e.acct.accrues {
		return j.eligible
	}
	if !j.acct.accruing {
		return Never
	}
	return j.acct.since
}

// rankAccounts gives the ranker the priorities of QOS and associations.
func (e *engine) rankAccounts(c *priority.Cluster) {
	a := e.acct
	if a == nil {
		return
	}
	for _, id := range a.l.AppendQOS(nil) {
		for len(c.QOSPriority) <= int(id) {
			c.QOSPriority = append(c.QOSPriority, 0)
		}
		c.QOSPriority[id] = a.l.QOS(id).Priority
	}
	c.AssocPriority = make([]uint32, len(a.factor))
	for _, id := range a.columns.Assoc {
		c.AssocPriority[id] = a.l.Priority(id)
	}
}
