package qos

import "slices"

// access is which QOS an association may use: a list of its own, or changes to
// what it inherits. It is never changed in place, as copies of a ledger share it.
type access struct {
	own         bool
	list        []QOSID // if own
	plus, minus []QOSID // else
}

// without returns a without a QOS.
func (a *access) without(id QOSID) *access {
	return &access{a.own, without(a.list, id), without(a.plus, id), without(a.minus, id)}
}

// SetAllowed gives an association a list of QOS of its own that its jobs, and
// those of all below it without a list, may have; nil makes it inherit. Slurm:
// qos=.
func (l *Ledger) SetAllowed(id AssocID, list []QOSID) {
	a := l.at(id)
	a.access = nil
	if list != nil {
		a.access = &access{own: true, list: append([]QOSID(nil), list...)}
	}
}

// Allow adds a QOS to what an association may use, Disallow takes one away; if
// it has no list of its own they change what it inherits. Slurm: qos+=, qos-=.
func (l *Ledger) Allow(id AssocID, q QOSID) {
	c := l.accessWithout(id, q)
	if c.own {
		c.list = append(c.list, q)
	} else {
		c.plus = append(c.plus, q)
	}
}

// Disallow is the opposite of [Ledger.Allow].
func (l *Ledger) Disallow(id AssocID, q QOSID) {
	if c := l.accessWithout(id, q); !c.own {
		c.minus = append(c.minus, q)
	}
}

// accessWithout gives an association a new access that does not speak of q.
func (l *Ledger) accessWithout(id AssocID, q QOSID) *access {
	a := l.at(id)
	if a.access == nil {
		a.access = &access{}
	}
	a.access = a.access.without(q)
	return a.access
}

// MayUse reports whether jobs of an association may have a QOS. It walks up
// until something speaks of q, and does not allocate.
func (l *Ledger) MayUse(id AssocID, q QOSID) bool {
	for l.at(id); id != 0; id = l.assocs[id].parent {
		c := l.assocs[id].access
		switch {
		case c == nil:
		case c.own:
			return slices.Contains(c.list, q)
		case slices.Contains(c.plus, q):
			return true
		case slices.Contains(c.minus, q):
			return false
		}
	}
	return false
}

// SetDefaultQOS sets the QOS of jobs that name none; 0 makes an association
// inherit it.
func (l *Ledger) SetDefaultQOS(id AssocID, q QOSID) { l.at(id).defQOS = q }

// DefaultQOS returns the QOS of jobs that name none: the association's, that of
// the nearest account above with one, or the QOS named "normal"; 0 if there is
// no such QOS either, or id is 0.
func (l *Ledger) DefaultQOS(id AssocID) QOSID {
	if id == 0 {
		return 0
	}
	for l.at(id); id != 0; id = l.assocs[id].parent {
		if q := l.assocs[id].defQOS; q != 0 {
			return q
		}
	}
	return l.qosByID["normal"]
}

// CheckQOS reports whether jobs of an association may have q as their QOS: it
// exists, the association may use it, it is not a Relative QOS of a partition,
// and the job has a reservation if the QOS requires one. If QOS are not
// enforced only that last rule holds.
func (l *Ledger) CheckQOS(id AssocID, q QOSID, reservation bool) Verdict {
	bad := Verdict{Reason: InvalidQOS, Reject: true}
	if q == 0 {
		if l.enforce&EnforceQOS == 0 {
			return Verdict{}
		}
		return bad
	}
	if !l.validQOS(q) {
		return bad
	}
	bad.Object = Object{Scope: ScopeQOS, ID: int32(q)}
	f := l.qos[q].attr.Flags
	switch {
	case f&RequiresReservation != 0 && !reservation,
		f&Relative != 0 && l.qos[q].part,
		l.enforce&EnforceQOS != 0 && (id == 0 || !l.MayUse(id, q)):
		return bad
	}
	return Verdict{}
}

// CheckAssoc reports whether a job may do without a valid association: only if
// associations are not enforced.
func (l *Ledger) CheckAssoc(id AssocID) Verdict {
	if l.enforce&EnforceAssocs != 0 && (!l.valid(id) || l.assocs[id].user == 0) {
		return Verdict{Reason: InvalidAccount, Reject: true}
	}
	return Verdict{}
}
