package gres

import "math/bits"

// pickNeed chooses the devices of need k on node i and adds them to g. For a
// need counted over the job it is the first phase; see fillUp.
//
// Source: spec/gres.md 11.
func (s *Scratch) pickNeed(g *Grant, nodes []Chosen, i int, r *Request, k int) Refusal {
	c, d, p := &nodes[i], &r.Needs[k], &s.pools[k]
	sh := c.Node.Shape
	gr := &sh.groups[p.group]
	pk := &s.sel.pk
	*pk = picker{s: s, sh: sh, r: r, d: d, p: p, gr: gr, cores: g.Cores, need: k}
	pk.tasks = int(s.sel.tasks[i])
	switch {
	case gr.flags&NoConsume != 0 && len(gr.devs) == 0:
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(p.group), Device: CountOnly})
		return RefuseNone
	case len(gr.devs) == 0:
		n := pk.count(nodes, i)
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(p.group), Device: CountOnly, Units: n})
		s.sel.jobTaken[k] += n
		return RefuseNone
	}
	s.sel.taken = zeroedInts(s.sel.taken, len(gr.devs))
	pk.weighSockets()
	var f Refusal
	switch {
	case gr.part != nil:
		return pk.instances(g, nodes[i].Node.Row, pk.count(nodes, i))
	case d.Milli > 0:
		f = pk.milli(pk.count(nodes, i))
	case p.shared:
		f = pk.sharedUnits(pk.count(nodes, i))
	case !p.tracked && d.PerJob > 0 && d.PerNode+d.PerTask+d.PerSocket == 0:
		pk.any(max(d.PerJob-s.sel.jobTaken[k]-int64(len(nodes)-i-1), 1))
	case !p.tracked:
		pk.any(pk.count(nodes, i))
	case d.PerNode > 0:
		f = pk.perNode()
	case d.PerSocket > 0:
		f = pk.perSocket()
	case d.PerTask > 0:
		f = pk.perTask()
	default:
		f = pk.perJob(pk.jobShare(nodes, i, len(nodes)-i))
	}
	if f != RefuseNone {
		return f
	}
	pk.hand(g)
	return RefuseNone
}

// A picker chooses devices of one need on one node.
type picker struct {
	s     *Scratch
	sh    *Shape
	r     *Request
	d     *Need
	p     *pool
	gr    *group
	cores []uint64 // of the job
	need  int
	tasks int
	used  uint64 // sockets with a core of the job
	total int    // cores of the job
}

// weighSockets counts the job's cores by socket in s.freeCPU: those kept for
// GPUs, if the job has any of them.
func (pk *picker) weighSockets() {
	only := false
	if pk.sh.restrictedPerGPU > 0 && pk.d.Name == NameGPU {
		for w := range pk.cores {
			only = only || pk.cores[w]&pk.sh.restricted[w] != 0
		}
	}
	for q := range pk.sh.sockets {
		n := 0
		for k := q * pk.sh.perSocket; only && k < (q+1)*pk.sh.perSocket; k++ {
			n += int((pk.cores[k>>6] & pk.sh.restricted[k>>6]) >> (k & 63) & 1)
		}
		if !only {
			n = countRange(pk.cores, q*pk.sh.perSocket, (q+1)*pk.sh.perSocket)
		}
		pk.s.freeCPU[q] = n
		pk.total += n
		if n > 0 {
			pk.used |= 1 << q
		}
	}
}

// count returns what the node gives of a need without regard to sockets.
func (pk *picker) count(nodes []Chosen, i int) int64 {
	switch d := pk.d; {
	case d.PerNode > 0:
		return d.PerNode
	case d.PerTask > 0 && pk.tasks > 0:
		return d.PerTask * int64(pk.tasks)
	case d.PerSocket > 0:
		return d.PerSocket * int64(max(bits.OnesCount64(pk.used), 1))
	}
	return int64(nodes[i].Devices[pk.need])
}

// In says which devices a step looks at.
type in uint8

const (
	inSocket in = iota // near one socket
	inAny              // without a socket
	inOther            // near sockets without a core of the job
)

// take takes up to n devices of a pool, in index order or as links say, and
// returns how many it took.
func (pk *picker) take(where in, socket int, n int64) int64 {
	var got int64
	match := func(x int) bool {
		m := pk.sockets(x)
		switch where {
		case inSocket:
			return m>>socket&1 != 0
		case inAny:
			return m == 0
		}
		return m != 0 && m&pk.used == 0
	}
	if pk.linked() {
		return pk.takeLinked(match, n)
	}
	for x := 0; x < len(pk.gr.devs) && got < n; x++ {
		if k := min(pk.left(x), n-got); k > 0 && match(x) {
			pk.s.sel.taken[x] += k
			got += k
		}
	}
	return got
}

// sockets returns the sockets of device x, 0 for any.
func (pk *picker) sockets(x int) uint64 {
	if !pk.p.tracked {
		return 0
	}
	return pk.gr.devs[x].sockets
}

// left returns what is usable and not yet taken of device x.
func (pk *picker) left(x int) int64 { return pk.p.units[x] - pk.s.sel.taken[x] }

// any takes n devices in index order, for groups whose positions do not
// matter.
func (pk *picker) any(n int64) {
	for x := range pk.gr.devs {
		k := min(pk.left(x), n)
		pk.s.sel.taken[x] += k
		n -= k
	}
}

// share returns the part of n that the job's cores on socket q call for.
func (pk *picker) share(q int, n int64) int64 {
	if pk.total == 0 {
		return 0
	}
	return int64(float32(pk.s.freeCPU[q]) * float32(n) / float32(pk.total))
}

// perNode takes N devices: proportional to cores on used sockets, then any,
// then the rest of used sockets, then others.
func (pk *picker) perNode() Refusal {
	n := pk.d.PerNode
	if pk.best(int(n)) {
		return RefuseNone
	}
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 {
			n -= pk.take(inSocket, q, min(pk.share(q, pk.d.PerNode), n))
		}
	}
	return pk.rest(n)
}

// rest takes n more: any, then used sockets, then others.
func (pk *picker) rest(n int64) Refusal {
	n -= pk.take(inAny, 0, n)
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 && n > 0 {
			n -= pk.take(inSocket, q, n)
		}
	}
	if n > 0 && !pk.r.Has(EnforceBinding) {
		n -= pk.take(inOther, 0, n)
	}
	if n > 0 {
		return RefuseNotEnough
	}
	return RefuseNone
}

// perSocket takes S devices for every used socket, near it or else without a
// socket, and then S from each other socket until there are enough for the
// sockets asked. A shortage is accepted.
func (pk *picker) perSocket() Refusal {
	n := pk.d.PerSocket * int64(max(int(pk.r.SocketsPerNode), bits.OnesCount64(pk.used)))
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 {
			k := pk.take(inSocket, q, pk.d.PerSocket)
			n -= k + pk.take(inAny, 0, pk.d.PerSocket-k)
		}
	}
	for q := 0; q < pk.sh.sockets && n > 0 && !pk.r.Has(EnforceBinding); q++ {
		if pk.used>>q&1 == 0 {
			n -= pk.take(inSocket, q, min(n, pk.d.PerSocket))
		}
	}
	return RefuseNone
}

// perTask takes T devices for each task from the socket that the task counts
// on, then any, then wherever they are.
func (pk *picker) perTask() Refusal {
	c, v := pk.r.perTask(), pk.r.threads(pk.sh)
	left, missing := pk.tasks, int64(0)
	for q := range pk.sh.sockets {
		if pk.used>>q&1 == 0 || left == 0 {
			continue
		}
		t := min(tasksOn(pk.s.freeCPU[q], c, v), left)
		left -= t
		n := int64(t) * pk.d.PerTask
		missing += n - pk.take(inSocket, q, n)
	}
	missing += int64(left) * pk.d.PerTask
	missing -= pk.take(inAny, 0, missing)
	if !pk.r.Has(EnforceBinding) {
		for q := 0; q < pk.sh.sockets && missing > 0; q++ {
			missing -= pk.take(inSocket, q, missing)
		}
	}
	if missing > 0 {
		return RefuseNotEnough
	}
	return RefuseNone
}

// tasksOn returns how many tasks of c CPUs begin on n cores of v CPUs.
func tasksOn(n, c, v int) int {
	if v >= 2*c {
		return n * (v / c)
	}
	return ceilDiv(n*v, c)
}

// jobShare returns how many devices node i gives in the first phase when r
// nodes are left.
func (pk *picker) jobShare(nodes []Chosen, i, left int) int64 {
	m := min(pk.d.PerJob-pk.s.sel.jobTaken[pk.need]-int64(left-1), int64(nodes[i].Devices[pk.need]))
	if c := pk.r.CPUsPerGPU; c > 0 && pk.d.Name == NameGPU {
		m = min(m, int64(pk.s.sel.cpus[i]/c))
	}
	return max(m, 1)
}

// perJob takes up to m devices: near the job's cores, or else exactly one.
func (pk *picker) perJob(m int64) Refusal {
	if pk.best(int(m)) {
		return RefuseNone
	}
	if m > 1 && pk.linked() {
		return pk.perJobLinked(m)
	}
	n := m
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 {
			n -= pk.take(inSocket, q, min(pk.share(q, m), n))
		}
	}
	n -= pk.take(inAny, 0, n)
	for q := range pk.sh.sockets {
		if pk.used>>q&1 != 0 && n > 0 {
			n -= pk.take(inSocket, q, n)
		}
	}
	if n == m && !pk.r.Has(EnforceBinding) {
		n -= pk.take(inOther, 0, 1)
	}
	if n == m {
		return RefuseNotEnough
	}
	return RefuseNone
}

// fillUp is the second phase of needs counted over the job: what is still
// missing comes from the first nodes that have it.
func (s *Scratch) fillUp(dst []Grant, nodes []Chosen, r *Request) Refusal {
	if r.Has(WholeNode) {
		return RefuseNone
	}
	for k := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[k]
		if d.PerJob == 0 || d.PerNode > 0 || d.PerSocket > 0 || d.PerTask > 0 {
			continue
		}
		tracked := false
		for i := 0; i < len(nodes) && s.sel.jobTaken[k] < d.PerJob; i++ {
			sh := nodes[i].Node.Shape
			x := sh.Group(d.Name)
			if g := &sh.groups[x]; g.flags&Tracked == 0 || g.over >= 0 || d.Milli > 0 {
				continue
			}
			tracked = true
			if f := s.fillNode(&dst[i], &nodes[i], r, k); f != RefuseNone {
				return f
			}
		}
		if tracked && s.sel.jobTaken[k] < d.PerJob {
			return RefuseNotEnough
		}
	}
	return RefuseNone
}

// fillNode adds to g what is missing of need k over the job.
func (s *Scratch) fillNode(g *Grant, c *Chosen, r *Request, k int) Refusal {
	sh := c.Node.Shape
	if f := s.findDevices(&c.Node, r, k); f != RefuseNone {
		return f
	}
	p := &s.pools[k]
	gr := &sh.groups[p.group]
	pk := &s.sel.pk
	*pk = picker{s: s, sh: sh, r: r, d: &r.Needs[k], p: p, gr: gr, cores: g.Cores, need: k}
	s.sel.taken = zeroedInts(s.sel.taken, len(gr.devs))
	s.resetSockets(sh.sockets)
	pk.weighSockets()
	n := pk.d.PerJob - s.sel.jobTaken[k]
	for i := range g.Devices {
		if e := &g.Devices[i]; int(e.Group) == p.group && e.Device >= 0 {
			p.units[e.Device] = 0
		}
	}
	pk.startSecondPhase(g)
	for q := range sh.sockets {
		n -= pk.take(inSocket, q, n)
	}
	pk.take(inAny, 0, n)
	pk.hand(g)
	return RefuseNone
}

// hand adds the devices taken to g.
func (pk *picker) hand(g *Grant) {
	for x, u := range pk.s.sel.taken {
		if u == 0 {
			continue
		}
		pk.s.sel.jobTaken[pk.need] += u
		if pk.gr.flags&Divisible != 0 && pk.d.Milli == 0 {
			u = pk.gr.devs[x].units
		}
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(pk.p.group), Device: int16(x), Units: u})
	}
}
