package scheduler

import (
	"math"

	"github.com/berth-sched/berth/qos"
)

// visitAccounts visits the books of accounts. They come before the jobs, which
// refer to them.
func (e *engine) visitAccounts(c *codec) {
	has := e.acct != nil
	c.bool(&has)
	if !has || c.err != nil {
		return
	}
	if c.reading && e.acct == nil {
		if err := e.openAccounting(); err != nil {
			c.fail("accounts")
			return
		}
	}
	a := e.acct
	var books string
	if !c.reading {
		books = string(a.l.AppendSnapshot(nil))
	}
	c.str(&books)
	if c.reading {
		l, err := qos.RestoreLedger(e.schema, []byte(books))
		if err != nil {
			c.fail("accounts")
			return
		}
		a.l = l
		for i := range a.partQOS {
			a.partQOS[i] = 0
			if name := e.parts[i].spec.QOS; name != "" {
				if a.partQOS[i] = l.FindQOS(name); a.partQOS[i] == 0 {
					c.fail("QOS of a partition")
					return
				}
			}
		}
		a.factor = nil
		e.accountsChanged()
	}
	c.bool(&a.begun)
	num(c, &a.charged)
	num(c, &a.sweep)
	num(c, &a.reset)
	n := len(a.factor)
	list(c, &a.factor, (*codec).float)
	if c.reading && (len(a.factor) < n || e.buildRanker() != nil) {
		c.fail("shares")
	}
}

// visitJobAccount visits what a job has in those books.
func (e *engine) visitJobAccount(c *codec, j *job, has bool) {
	x := &j.acct
	if has {
		num(c, &x.assoc)
		num(c, &x.qos)
		num(c, &x.charge)
		num(c, &x.used)
		num(c, &x.limit)
		num(c, &x.since)
		for _, b := range []*bool{&x.booked, &x.one, &x.accruing, &x.late, &x.admin} {
			c.bool(b)
		}
	}
	num(c, &j.licenses.pick)
	if !c.reading || c.err != nil {
		return
	}
	if !e.claimStands(j) {
		c.fail("claim of a job")
		return
	}
	if e.acct == nil {
		if *x != (jobAccount{admin: x.admin, limit: x.limit}) {
			c.fail("account of a job")
		}
		return
	}
	l := e.acct.l
	if x.assoc != 0 && !l.HasAssoc(x.assoc) || x.qos != 0 && l.QOSName(x.qos) == "" || x.charge != 0 && !l.Charged(x.charge) ||
		(x.booked || x.charge != 0) && j.state.Ended() || x.charge != 0 && !j.running() {
		c.fail("account of a job")
	}
}

// hashAccounts folds the books of accounts into one number that does not depend
// on how they came to be.
func (e *engine) hashAccounts() uint64 {
	h := uint64(len(e.licenses.pools))
	for i := range e.licenses.pools {
		p := &e.licenses.pools[i]
		h = mix(h ^ uint64(p.used)<<32 ^ uint64(p.total) ^ uint64(p.external)<<48)
		for u := range p.units {
			h = mix(h ^ uint64(p.units[u].used))
		}
	}
	a := e.acct
	if a == nil {
		return h
	}
	owner := func(c qos.Counters, usage, wall float64) {
		for _, v := range [...]uint64{uint64(c.Submitted), uint64(c.Running), uint64(c.Accruing), math.Float64bits(usage), math.Float64bits(wall)} {
			h = mix(h ^ v)
		}
		for _, v := range c.Use {
			h = mix(h ^ uint64(v))
		}
	}
	text := func(list []LimitSpec) {
		for _, s := range list {
			h = mix(h ^ checksum([]byte(s.Name+"="+s.Value)))
		}
	}
	var cols qos.Columns
	a.l.ColumnsTo(&cols)
	for i, id := range cols.Assoc {
		h = mix(h ^ checksum(a.l.AppendAssoc(nil, id)))
		h = mix(h ^ uint64(cols.Shares[i])<<32 ^ uint64(a.l.Priority(id)))
		owner(a.l.Counters(id), cols.Usage[i], a.l.Wall(id))
		text(a.assocLimits(id))
		h = mix(h ^ math.Float64bits(a.shareOf(id)))
	}
	for _, q := range a.l.AppendQOS(nil) {
		at := a.l.QOS(q)
		h = mix(h ^ checksum([]byte(a.l.QOSName(q))) ^ uint64(at.Flags)<<32 ^ uint64(at.Priority))
		owner(a.l.QOSCounters(q), a.l.QOSUsage(q), a.l.QOSWall(q))
		text(a.qosLimits(q))
	}
	return mix(h ^ uint64(a.charged) ^ uint64(a.l.Enforced()))
}
