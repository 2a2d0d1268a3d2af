package scheduler

// reclaimLicenses chooses victims for a record that the gate has turned away for
// want of licences alone (spec: preempt 1, reclaim_licenses).
func (e *engine) reclaimLicenses(dst []Decision, rec record) []Decision {
	p := &e.pre
	if !p.lacking {
		return dst
	}
	if p.on && p.rule.Parameters.ReclaimLicenses {
		dst = e.preempt(dst, rec, nil)
	}
	p.lacking = false
	return dst
}

// holdsLicense reports whether v holds licences that j asks for and cannot have.
func (e *engine) holdsLicense(j, v *job) bool {
	if !e.pre.lacking {
		return false
	}
	for _, a := range j.licenses.asks {
		p := &e.licenses.pools[a.pool]
		if p.used+a.count > p.total && v.licenses.holds(a.pool) > 0 {
			return true
		}
	}
	return false
}

// holds is how many of a pool's licences a running job has.
func (u *licenseUse) holds(pool int32) (n int64) {
	for i, a := range u.asks {
		if a.pool == pool && (!u.or || int(u.pick) == i) {
			n += a.count
		}
	}
	return n
}
