package gres

// bindDevices joins cores and devices: it cuts s.cand to the cores that the
// devices of every need allow and stores in fit how many devices and CPUs the
// node gives.
//
// Source: spec/gres.md 8 (3 to 7) and 10.
func (s *Scratch) bindDevices(n *NodeRow, r *Request, pass Pass, need int, granted *[MaxNeeds]int64, fit *NodeFit) Refusal {
	for i := range r.Needs[:r.NumNeeds] {
		if f := s.placeDevices(n, r, i, fit); f != RefuseNone {
			return f
		}
	}
	fit.Near = s.nearGPUs(n, r)
	b := binding{n: n, r: r, sh: n.Shape, near: pass.near(), enforce: r.Has(EnforceBinding),
		c: r.perTask(), v: r.threads(n.Shape), t: n.Shape.threads}
	if r.ThreadsPerCore > 0 {
		b.t = min(b.t, int(r.ThreadsPerCore))
	}
	b.taskRange(fit, need)
	// Names with a need per socket, then tracked ones, then the rest.
	for round := range 3 {
		for i := range r.Needs[:r.NumNeeds] {
			p := &s.pools[i]
			class := 2
			if p.tracked {
				class = 1
			}
			if r.Needs[i].PerSocket > 0 {
				class = 0
			}
			if class != round {
				continue
			}
			b.d, b.p = &r.Needs[i], p
			if f := s.bindNeed(&b, need, granted[i], fit); f != RefuseNone {
				return f
			}
			fit.Devices[i] = uint16(min(b.total, 1<<16-1))
		}
	}
	s.settle(&b, fit)
	return enoughForTasks(r, int(fit.CPUs))
}

// A binding is the state of one node's step from need to need.
type binding struct {
	n             *NodeRow
	sh            *Shape
	r             *Request
	d             *Need
	p             *pool
	near, enforce bool
	c, v, t       int // CPUs of a task, usable and counted CPUs of a core
	tmin, tmax    int // tasks on the node
	total         int64
	cpg           int64 // CPUs per device, 0 none
	lim           int64 // devices at most, −1 no bound
}

const unlimitedTasks = 1 << 30

// taskRange finds how many tasks the node may take.
func (b *binding) taskRange(fit *NodeFit, need int) {
	r := b.r
	n, g := int(r.Tasks), int(r.TasksPerGPU)
	known := r.TasksKnown == Given
	b.tmin, b.tmax = 1, unlimitedTasks
	switch {
	case r.TasksPerNode > 0:
		b.tmin, b.tmax = int(r.TasksPerNode), int(r.TasksPerNode)
	case r.TasksPerSocket > 0:
		b.tmin, b.tmax = int(r.TasksPerSocket), int(r.TasksPerSocket)*b.sh.sockets
	case r.TasksPerCore > 0:
		b.tmin, b.tmax = int(r.TasksPerCore), int(r.TasksPerCore)*(b.sh.cores-b.sh.specCores)
	case g > 0:
		b.tmin = g
		if known {
			b.tmax = n
		}
		if known && r.MinNodes == r.MaxNodes && r.MinNodes > 0 {
			b.tmin = n / int(r.MinNodes)
			b.tmax = b.tmin
		}
	case known && r.MaxNodes == 1:
		b.tmin, b.tmax = n, n
	case known && (n == 1 || n == int(r.MinNodes) && n == int(r.MaxNodes)):
		b.tmax = 1
	}
	if !r.Has(Overcommit) {
		b.tmax = min(b.tmax, int(fit.CPUs)/b.c)
	}
	if known {
		b.tmax = min(b.tmax, n)
	}
}

// bindNeed handles one need; its steps are those of spec/gres.md 10.
func (s *Scratch) bindNeed(b *binding, need int, granted int64, fit *NodeFit) Refusal {
	if f := b.limit(need, granted); f != RefuseNone {
		return f
	}
	b.perDevice()
	if f := s.visitSockets(b); f != RefuseNone {
		return f
	}
	if f := b.lowerTasks(); f != RefuseNone {
		return f
	}
	if len(b.sh.groups[b.p.group].devs) == 0 {
		return RefuseNone // counts ask nothing of cores
	}
	return s.trimCores(b, fit)
}

// limit is step 0: the bound of this node.
func (b *binding) limit(need int, granted int64) Refusal {
	d := b.d
	b.lim = -1
	if b.p.cap < 0 {
		return RefuseNone
	}
	rem := d.PerNode
	switch {
	case d.PerJob > granted:
		rem = d.PerJob - granted - int64(need-1)
	case rem == 0:
		rem = max(1, d.PerTask, d.PerSocket*int64(max(b.r.SocketsPerNode, 1)))
	}
	if d.PerTask > 0 {
		if rem < SatMul(d.PerTask, int64(b.tmin)) {
			return RefuseTasks
		}
		rem = min(rem, SatMul(d.PerTask, int64(b.tmax)))
	}
	b.lim = min(b.p.cap, rem)
	if d.PerNode > b.lim || d.PerSocket*int64(max(b.r.SocketsPerNode, 1)) > b.lim {
		return RefuseNotEnough
	}
	if d.PerNode > 0 && d.PerTask > 0 {
		if t := d.PerNode / d.PerTask; t < int64(b.tmin) || t > int64(b.tmax) {
			return RefuseTasks
		}
	}
	return RefuseNone
}

// perDevice is step 1: the CPUs that go with each device.
func (b *binding) perDevice() {
	r, d := b.r, b.d
	b.cpg = 0
	n, j, c := int64(r.Tasks), d.PerJob, int64(b.c)
	gpu := d.Name == NameGPU
	switch {
	case gpu && r.CPUsPerGPU > 0:
		b.cpg = int64(r.CPUsPerGPU)
	case gpu && r.TasksPerGPU > 0:
		b.cpg = int64(r.TasksPerGPU) * c
	case gpu && r.DefCPUsPerGPU > 0:
		b.cpg = int64(r.DefCPUsPerGPU)
	case !b.near || b.p.shared || n == 0 || j == 0:
	case n >= j && n%j == 0:
		b.cpg = n / j * c
	case n < j && j%n == 0 && c%(j/n) == 0:
		b.cpg = c / (j / n)
	}
}

// visitSockets is step 2: which sockets the devices require, and how many
// devices there are.
func (s *Scratch) visitSockets(b *binding) Refusal {
	s.sortSockets()
	clear(s.need)
	target := b.lim
	if b.d.PerNode > 0 {
		target = b.d.PerNode
	}
	least := ceilDiv(max(b.tmin, 1)*b.c, b.t)
	b.total = b.p.any
	for _, q := range s.order {
		a := b.p.bySock[q]
		if (b.enforce || b.near) && b.cpg > 0 {
			a = min(a, int64(s.count[q]*b.v)/b.cpg)
		}
		if b.near && s.count[q] == 0 && !b.r.Has(DisableBinding) {
			a = 0
		}
		if b.d.PerSocket > a+b.p.any || a+b.p.any == 0 {
			if b.near && len(b.sh.groups[b.p.group].devs) > 0 {
				s.takeAway(b.sh, q, least)
			}
			if b.enforce || b.d.PerSocket > 0 {
				b.p.bySock[q] = 0
			}
			continue
		}
		switch {
		case b.p.any > 0 && s.count[q] > 0:
			s.need[q] = true
		case target < 0 || b.total < target:
			s.need[q] = a > 0
		}
		b.total += a
	}
	if b.lim >= 0 {
		b.total = min(b.total, b.lim)
	}
	if b.p.most >= 0 {
		b.total = min(b.total, b.p.most)
	}
	if b.d.PerNode > 0 {
		b.total = min(b.total, b.d.PerNode)
	}
	if b.cpg > 0 {
		b.total = min(b.total, int64(s.sumCount()*b.v)/b.cpg)
	}
	if b.total == 0 || b.total < b.d.PerNode || b.total < b.d.PerTask {
		return RefuseNoNearCores
	}
	return RefuseNone
}

// sortSockets stores in s.order the sockets by candidate cores, most first,
// lowest index on ties.
func (s *Scratch) sortSockets() {
	for k := range s.order {
		j := k
		for ; j > 0 && s.count[s.order[j-1]] < s.count[k]; j-- {
			s.order[j] = s.order[j-1]
		}
		s.order[j] = k
	}
}

func (s *Scratch) sumCount() int {
	sum := 0
	for _, c := range s.count {
		sum += c
	}
	return sum
}

// takeAway removes cores of socket q, highest first, while more than least
// remain on the node.
func (s *Scratch) takeAway(sh *Shape, q, least int) {
	k := min(s.count[q], max(s.sumCount()-least, 0))
	dropHighest(s.cand, q*sh.perSocket, (q+1)*sh.perSocket, k)
	s.count[q] -= k
}

// lowerTasks is step 3: no more tasks than the devices serve.
func (b *binding) lowerTasks() Refusal {
	c := int64(b.c)
	t := int64(b.tmax)
	if b.cpg > 0 {
		k := b.cpg * b.total / c
		if b.cpg*b.total < int64(b.tmin)*c {
			k = int64(b.tmin)
		}
		t = min(t, k)
	}
	if b.d.PerTask > 0 {
		t = min(t, b.total/b.d.PerTask)
	}
	if g := int64(b.r.TasksPerGPU); g > 0 && b.d.Name == NameGPU {
		t = min(t, b.total*g)
	}
	if b.tmin > 1 {
		t -= t % int64(b.tmin)
	}
	if t <= 0 {
		return RefuseTasks
	}
	b.tmax = int(t)
	return RefuseNone
}

// trimCores is steps 4 to 8: it drops the cores that the devices do not need.
func (s *Scratch) trimCores(b *binding, fit *NodeFit) Refusal {
	sh := b.sh
	if b.enforce || b.near {
		for q := range s.count {
			if !s.need[q] {
				clearRange(s.cand, q*sh.perSocket, (q+1)*sh.perSocket)
				s.count[q] = 0
			}
		}
	}
	if f := s.keepRestricted(b); f != RefuseNone {
		return f
	}
	avail := s.sumCount()
	needed, f := s.neededCores(b, avail)
	if f != RefuseNone {
		return f
	}
	if b.r.Unit != UnitSocket {
		if !b.near && !b.enforce {
			for q := range s.count {
				if k := min(s.count[q], avail-needed); !s.need[q] && k > 0 {
					dropHighest(s.cand, q*sh.perSocket, (q+1)*sh.perSocket, k)
					s.count[q] -= k
					avail -= k
				}
			}
		}
		s.trimRequired(b, avail-needed)
	}
	gpu := b.d.Name == NameGPU
	if b.enforce || gpu && (b.r.CPUsPerGPU > 0 || b.r.DefCPUsPerGPU > 0) {
		fit.MinCPUs = max(fit.MinCPUs, int32(needed*b.v))
	}
	return RefuseNone
}

// trimRequired removes surplus cores one at a time from the required socket
// with most cores, lowest index on ties.
func (s *Scratch) trimRequired(b *binding, surplus int) {
	if surplus <= 0 {
		return
	}
	copy(s.freeCPU, s.count) // what was there
	for ; surplus > 0; surplus-- {
		most := -1
		for q := range s.count {
			if s.need[q] && s.count[q] > 0 && (most < 0 || s.count[q] > s.count[most]) {
				most = q
			}
		}
		if most < 0 {
			break
		}
		s.count[most]--
	}
	for q := range s.count {
		if k := s.freeCPU[q] - s.count[q]; k > 0 {
			dropHighest(s.cand, q*b.sh.perSocket, (q+1)*b.sh.perSocket, k)
		}
	}
}

// neededCores is step 5: the cores that tasks and devices need of avail.
func (s *Scratch) neededCores(b *binding, avail int) (int, Refusal) {
	c := b.c
	if b.r.TasksPerCore == 1 {
		c = ceilDiv(c, b.sh.threads) * b.sh.threads
	}
	follows := b.d.PerNode == 0 && (b.d.PerTask > 0 || b.r.TasksPerGPU > 0 && b.d.Name == NameGPU)
	if ceilDiv(b.tmax*c, b.t) > avail {
		b.tmax = max(b.tmin, 1, avail*b.t/c) // lower by what does not fit
	}
	if follows {
		if b.d.PerTask > 0 {
			b.total = min(b.total, b.d.PerTask*int64(b.tmax))
		} else {
			b.total = min(b.total, int64(b.tmax)/int64(b.r.TasksPerGPU))
		}
	}
	needed := ceilDiv(b.tmax*c, b.t)
	if b.cpg > 0 {
		k := b.total
		switch {
		case b.d.PerNode > 0:
			k = b.d.PerNode
		case b.d.PerSocket > 0:
			k = b.d.PerSocket * int64(max(b.r.SocketsPerNode, 1))
		case b.d.PerTask > 0:
			k = b.d.PerTask * int64(b.tmax)
		}
		needed = max(needed, ceilDiv(int(b.cpg*k), b.t))
	}
	if b.enforce {
		k := 0
		for q := range s.need {
			if s.need[q] {
				k++
			}
		}
		needed = max(needed, k)
	}
	if needed > avail {
		return 0, RefuseCores
	}
	return needed, RefuseNone
}

// settle stores the outcome in fit.
func (s *Scratch) settle(b *binding, fit *NodeFit) {
	u := min(int(fit.CPUs), s.sumCount()*b.v)
	if !(b.r.Has(OneTaskPerCore) && b.c == 1) && !b.r.Has(Overcommit) {
		u = min(u, max(b.tmax*b.c, int(fit.MinCPUs)))
	}
	fit.CPUs = int32(u)
	fit.MinTasks = int32(b.tmin)
	if b.tmax < unlimitedTasks {
		fit.MaxTasks = int32(b.tmax)
	}
}
