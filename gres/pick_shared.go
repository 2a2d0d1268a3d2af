package gres

// milli takes d.Milli of each of n devices: the ones with the least left that
// still hold it, lowest index on ties.
func (pk *picker) milli(n int64) Refusal {
	for ; n > 0; n-- {
		best := -1
		for x, u := range pk.p.units {
			if u >= pk.d.Milli && pk.s.sel.taken[x] == 0 && (best < 0 || u < pk.p.units[best]) {
				best = x
			}
		}
		if best < 0 {
			return RefuseNotEnough
		}
		pk.s.sel.taken[best] = pk.d.Milli
	}
	return RefuseNone
}

// sharedUnits takes n units of shared devices: all of one device, or with
// MultipleSharing of several.
//
// Source: spec/gres.md 11.3.
func (pk *picker) sharedUnits(n int64) Refusal {
	pk.orderShared()
	if t := pk.d.PerTask; t > 0 && pk.r.Has(MultipleSharing) {
		return pk.sharedTasks(t)
	}
	for _, x := range pk.s.sel.visit {
		if pk.left(int(x)) >= n {
			pk.s.sel.taken[x] += n
			return RefuseNone
		}
	}
	if !pk.r.Has(MultipleSharing) {
		return RefuseNotEnough
	}
	for _, x := range pk.s.sel.visit {
		k := min(pk.left(int(x)), n)
		pk.s.sel.taken[x] += k
		n -= k
	}
	if n > 0 {
		return RefuseNotEnough
	}
	return RefuseNone
}

// sharedTasks gives each task t units of one device, of the socket that the
// task counts on if one has room, else wherever it is.
func (pk *picker) sharedTasks(t int64) Refusal {
	c, v := pk.r.perTask(), pk.r.threads(pk.sh)
	left, missing := pk.tasks, 0
	for q := range pk.sh.sockets {
		if pk.used>>q&1 == 0 {
			continue
		}
		k := min(tasksOn(pk.s.freeCPU[q], c, v), left)
		left -= k
		for ; k > 0 && pk.sharedTask(t, 1<<q); k-- {
		}
		missing += k
	}
	for missing += left; missing > 0; missing-- {
		if !pk.sharedTask(t, 0) {
			return RefuseNotEnough
		}
	}
	return RefuseNone
}

// sharedTask gives one task t units of the first device that has them, near
// one of sockets unless that is 0.
func (pk *picker) sharedTask(t int64, sockets uint64) bool {
	for _, x := range pk.s.sel.visit {
		if pk.left(int(x)) < t || pk.s.sel.taken[x] > 0 && pk.r.Has(OneTaskPerSharing) {
			continue
		}
		if sockets == 0 || pk.sockets(int(x))&sockets != 0 {
			pk.s.sel.taken[x] += t
			return true
		}
	}
	return false
}

// orderShared stores in visit the usable devices pool by pool: used sockets,
// any, others; inside a pool by index, or by free share: most first if
// LeastLoaded, least first if PackShared.
func (pk *picker) orderShared() {
	v := pk.s.sel.visit[:0]
	pool := func(match func(m uint64) bool) {
		start := len(v)
		for x := range pk.gr.devs {
			if pk.p.units[x] == 0 || !match(pk.sockets(x)) {
				continue
			}
			v = append(v, int16(x))
			sign := int64(1)
			if pk.r.Has(PackShared) {
				sign = -1
			} else if !pk.r.Has(LeastLoaded) {
				continue
			}
			for j := len(v) - 1; j > start && sign*pk.freeShare(int(v[j-1])) < sign*pk.freeShare(x); j-- {
				v[j-1], v[j] = v[j], v[j-1]
			}
		}
	}
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 {
			pool(func(m uint64) bool { return m>>q&1 != 0 && m&pk.used&(1<<q-1) == 0 })
		}
	}
	pool(func(m uint64) bool { return m == 0 })
	if !pk.r.Has(EnforceBinding) {
		pool(func(m uint64) bool { return m != 0 && m&pk.used == 0 })
	}
	pk.s.sel.visit = v
}

// freeShare is the free part of device x on the scale of the node's total.
func (pk *picker) freeShare(x int) int64 {
	return pk.p.units[x] * pk.gr.count / max(pk.gr.devs[x].units, 1)
}
