package scheduler

import (
	"iter"
	"slices"
)

// visitReservations visits the reservations.
func (e *engine) visitReservations(c *codec) {
	t := &e.resv
	num(c, &t.nextID)
	c.uint(&t.turns)
	c.uint(&t.ups)
	c.bool(&t.stale)
	last := int32(0)
	list(c, &t.all, func(c *codec, x *reservation) {
		e.visitReservation(c, x)
		if c.reading && (x.id <= last || x.id > t.nextID) {
			c.fail("reservation id")
		}
		last = x.id
	})
	next := t.nextAt
	if c.reading && c.err == nil {
		e.countReservations()
		t.clock = e.now
	}
	num(c, &next)
	t.nextAt = next
}

func (e *engine) visitReservation(c *codec, x *reservation) {
	visitReservationSpec(c, &x.spec)
	num(c, &x.flags)
	for _, t := range []*Time{&x.start, &x.end, &x.offset, &x.idleSince} {
		num(c, t)
	}
	num(c, &x.id)
	c.bool(&x.counted)
	if c.reading {
		x.nodes.Init(len(e.nodes))
	}
	words := x.nodes.Words()
	for w := range words {
		c.uint(&words[w])
	}
	if tail := uint(len(e.nodes)) & 63; c.reading && tail != 0 && words[len(words)-1]>>tail != 0 {
		c.fail("reserved nodes")
	}
	if c.reading && c.err == nil {
		x.nodes.And(&e.there)
	}
	list(c, &x.cores, func(c *codec, a *nodeGrant) {
		num(c, &a.node)
		visitGrant(c, &a.grant)
		if c.reading && c.err == nil && (!e.placed(a.node) || len(a.grant.Cores) != e.pool.Shape(int32(a.node)).CoreWords()) {
			c.fail("reserved cores")
		}
	})
	list(c, &x.devices, func(c *codec, d *resvCount) {
		num(c, &d.kind)
		num(c, &d.count)
		if c.reading && int(d.kind) >= e.schema.Len() {
			c.fail("reserved devices")
		}
	})
	list(c, &x.licenses, func(c *codec, a *licenseAsk) {
		num(c, &a.pool)
		num(c, &a.count)
		if c.reading && (a.pool < 0 || int(a.pool) >= len(e.licenses.pools)) {
			c.fail("reserved licences")
		}
	})
}

// hashReservations folds the reservations into one number.
func (e *engine) hashReservations() uint64 {
	h := uint64(0)
	for i := range e.resv.all {
		x := &e.resv.all[i]
		h += mix(mix(mix(uint64(x.id)^uint64(x.start))^uint64(x.end)) ^ uint64(x.flags)<<32 ^ uint64(x.idleSince))
		for n := range x.nodes.All() {
			h += mix(uint64(x.id)<<32 ^ uint64(n))
		}
		for k, a := range x.licenses {
			h += mix(uint64(x.id)<<40 ^ uint64(k)<<32 ^ uint64(a.count))
		}
	}
	return h
}

// shown is a reservation as it is now: when, its nodes, and all its flags.
func (e *engine) shown(x *reservation) ReservationSpec {
	s := cloneReservation(&x.spec)
	s.Start, s.End, s.Duration = x.start, x.end, 0
	s.Nodes, s.NodeCount = string(e.names.AppendSet(nil, &x.nodes)), int32(x.nodes.Count())
	s.Flags = x.flags.words()
	if len(x.cores) > 0 {
		s.CoreCount = s.CoreCount[:0]
		for i := range x.cores {
			n := 0
			for _, w := range x.cores[i].grant.Cores {
				for ; w != 0; w &= w - 1 {
					n++
				}
			}
			s.CoreCount = append(s.CoreCount, int32(n))
		}
	}
	return s
}

// Reservations yields them in order of creation.
func (v *view) Reservations() iter.Seq[ReservationSpec] {
	return func(yield func(ReservationSpec) bool) {
		for i := range v.e.resv.all {
			if !yield(v.e.shown(&v.e.resv.all[i])) {
				return
			}
		}
	}
}

// reserved names the reservation that holds node n now, and says whether it is
// for maintenance.
func (e *engine) reserved(n int32) (name string, maint bool) {
	for i := range e.resv.all {
		x := &e.resv.all[i]
		if words := x.nodes.Words(); words[n>>6]&(1<<(n&63)) == 0 || !x.during(e.now, e.now+1) {
			continue
		}
		if x.flags&resvMaint != 0 {
			return x.spec.Name, true
		}
		if name == "" {
			name = x.spec.Name
		}
	}
	return name, false
}

// resvFailed reports whether a job of the record's reservation found no place in
// this pass already.
func (e *engine) resvFailed(rec record) bool {
	at := e.resvAt(rec.resv)
	return at >= 0 && e.resv.all[at].failedIn == e.passNo
}

// reservedNodesChanged notes that nodes of reservations may have to be replaced.
func (e *engine) reservedNodesChanged() {
	t := &e.resv
	t.ups++
	if slices.ContainsFunc(t.all, func(x reservation) bool { return x.counted }) {
		t.stale = true
		t.nextAt = min(t.nextAt, e.now)
	}
}
