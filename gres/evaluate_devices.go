package gres

// findDevices stores in s.pools[i] the devices that need i of r could use on
// n, before it is known which cores are free, and tests the counts.
//
// Source: spec/gres.md 8 (1, 2).
func (s *Scratch) findDevices(n *NodeRow, r *Request, i int) Refusal {
	sh, d, p := n.Shape, &r.Needs[i], &s.pools[i]
	p.group = sh.Group(d.Name)
	if p.group < 0 {
		return RefuseWrongType
	}
	g := &sh.groups[p.group]
	p.shared = g.over >= 0 || d.Milli > 0
	p.tracked = g.flags&Tracked != 0
	p.total, p.any, p.best, p.cap, p.most = 0, 0, 0, -1, -1
	p.units = p.units[:0]
	least := max(d.PerNode, d.PerSocket, d.PerTask, min(d.PerJob, 1))
	if len(g.devs) == 0 {
		if d.Type != 0 {
			return RefuseWrongType
		}
		p.total = sh.FreeDevices(n.Row, p.group, 0)
		p.any, p.best = p.total, p.total
		if p.total < least {
			return RefuseNotEnough
		}
		return RefuseNone
	}
	if g.flags&OneUnit != 0 && least > 1 {
		return RefuseUnits
	}
	busyOnly := g.flags&OneSharing != 0 && sh.UsedCount(n.Row, p.group) > 0
	why, typed := RefuseNotEnough, false
	for k := range g.devs {
		u, f := s.deviceUnits(n, r, d, g, k, busyOnly)
		typed = typed || f != RefuseWrongType
		if f == RefuseBusyShared || f == RefuseScope {
			why = f
		}
		p.units = append(p.units, u)
		p.total += u
		p.best = max(p.best, u)
	}
	switch {
	case !typed:
		return RefuseWrongType
	case p.total < least:
		return why
	}
	return RefuseNone
}

// deviceUnits returns how much of device k need d could use: 1 for a whole
// device, units of a shared one.
func (s *Scratch) deviceUnits(n *NodeRow, r *Request, d *Need, g *group, k int, busyOnly bool) (int64, Refusal) {
	sh := n.Shape
	if g.part != nil {
		return g.instances(n.Row, r, d, k)
	}
	if d.Type != 0 && g.devs[k].typ != d.Type {
		return 0, RefuseWrongType
	}
	units := g.devs[k].units
	if g.flags&NoConsume != 0 {
		return units, RefuseNone
	}
	if sh.blocked(n.Row, g, k) {
		return 0, RefuseBusyShared
	}
	used := g.used(n.Row, k)
	if g.owner >= 0 && used != 0 && n.Row[g.owner+k] != r.Owner.word(g.scope) {
		return 0, RefuseScope
	}
	if busyOnly && used == 0 {
		return 0, RefuseBusyShared
	}
	free := units - used
	switch {
	case d.Milli > 0:
		if free < d.Milli {
			return 0, RefuseNotEnough
		}
		return free, RefuseNone
	case g.flags&Divisible != 0:
		if free < units {
			return 0, RefuseBusyShared
		}
		return 1, RefuseNone
	case g.over < 0 || d.PerTask == 0:
		return free, RefuseNone
	case r.Has(OneTaskPerSharing):
		free = min(free, d.PerTask)
	}
	if free -= free % d.PerTask; free == 0 {
		return 0, RefuseNotEnough
	}
	return free, RefuseNone
}

// placeDevices sorts the devices of need i into sockets and any, given the
// candidate cores in s.count, applies the per-socket need and finds the upper
// bound on what the node gives.
//
// Source: spec/gres.md 8 (3 to 6).
func (s *Scratch) placeDevices(n *NodeRow, r *Request, i int, fit *NodeFit) Refusal {
	sh, d, p := n.Shape, &r.Needs[i], &s.pools[i]
	g := &sh.groups[p.group]
	p.bySock = zeroedInts(p.bySock, sh.sockets)
	enforce := r.Has(EnforceBinding)
	if len(g.devs) > 0 {
		p.any, p.total, p.best = 0, 0, 0
		for k := range g.devs {
			u := p.units[k]
			if u == 0 {
				continue
			}
			m := g.devs[k].sockets
			if !p.tracked {
				m = 0
			}
			if m == 0 {
				p.any += u
			} else {
				open := false
				for q := range p.bySock {
					if m>>q&1 != 0 && (!enforce || s.count[q] > 0) {
						p.bySock[q] += u
						open = true
					}
				}
				if !open {
					p.units[k] = 0
					continue
				}
			}
			p.total += u
			p.best = max(p.best, u)
		}
	}
	if d.PerSocket > 0 {
		if f := s.perSocket(r, d, p); f != RefuseNone {
			return f
		}
	}
	return s.boundNode(n, r, d, p, fit)
}

// perSocket drops sockets with fewer devices than asked on each, and what
// exceeds the ask on the others. That there are as many sockets as asked is
// tested only if cores and devices are bound to each other.
func (s *Scratch) perSocket(r *Request, d *Need, p *pool) Refusal {
	enough := 0
	p.total = p.any
	for q := range p.bySock {
		if p.bySock[q] < d.PerSocket {
			p.bySock[q] = 0
			continue
		}
		p.bySock[q] = d.PerSocket
		p.total += d.PerSocket
		enough++
	}
	if r.Has(EnforceBinding) && enough < max(int(r.SocketsPerNode), 1) {
		return RefuseNotEnough
	}
	return RefuseNone
}

// boundNode finds p.cap and tests it.
func (s *Scratch) boundNode(n *NodeRow, r *Request, d *Need, p *pool, fit *NodeFit) Refusal {
	least := max(d.PerNode, d.PerSocket, d.PerTask, min(d.PerJob, 1))
	switch {
	case d.PerNode > 0:
		p.cap = d.PerNode
	case d.PerJob > 0:
		p.cap = d.PerJob
	}
	if p.shared && !r.Has(MultipleSharing) && d.Milli == 0 && !(s.ever && d.PerNode > 0) {
		if p.cap < 0 {
			p.cap = p.best
		}
		p.cap = min(p.cap, p.best)
	}
	why := RefuseNotEnough
	if d.Name == NameGPU {
		c := int64(r.CPUsPerGPU)
		if c == 0 {
			c = int64(r.TasksPerGPU) * int64(r.perTask())
		}
		if c > 0 {
			k := int64(fit.CPUs) / c
			if k == 0 {
				return RefuseCPUPerGPU
			}
			if p.cap < 0 || k < p.cap {
				p.cap, why = k, RefuseCPUPerGPU
			}
		}
		if r.Mem == MemPerGPU && r.MemMiB > 0 && r.Has(ConsumeMem) {
			if k := n.Shape.FreeMem(n.Row) / r.MemMiB; k < p.total {
				p.total, p.most, why = k, k, RefuseMemPerGPU
			}
		}
	}
	if p.total < least || p.cap >= 0 && p.cap < least {
		return why
	}
	return RefuseNone
}

// nearGPUs returns the GPUs on sockets with free cores or without a socket,
// at most their bound and 255.
//
// Source: spec/gres.md 8 (7).
func (s *Scratch) nearGPUs(n *NodeRow, r *Request) uint8 {
	var near int64
	for i := range r.Needs[:r.NumNeeds] {
		p := &s.pools[i]
		if r.Needs[i].Name != NameGPU {
			continue
		}
		k := p.any
		g := &n.Shape.groups[p.group]
		for x := range g.devs {
			m := g.devs[x].sockets
			if m == 0 || !p.tracked {
				continue
			}
			for q := range s.count {
				if m>>q&1 != 0 && s.count[q] > 0 {
					k += p.units[x]
					break
				}
			}
		}
		if p.cap >= 0 && !r.Has(WholeNode) {
			k = min(k, p.cap)
		}
		near += min(k, p.total)
	}
	return uint8(min(near, 255))
}

func zeroedInts(s []int64, n int) []int64 {
	if cap(s) < n {
		return make([]int64, n)
	}
	s = s[:n]
	clear(s)
	return s
}
