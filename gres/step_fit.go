package gres

import "slices"

// ever tests r against the whole allocation.
//
// Source: spec/bind.md 5.
func (s *Steps) ever(r *StepRequest) StepReason {
	if r.MinNodes > int32(len(s.nodes)) || r.MinNodes > r.MaxNodes {
		return StepNodes
	}
	// Devices of a kind that the job has, and enough of them in all.
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		var total, most int64
		for k := range s.nodes {
			n := s.nodes[k].devicesOf(d, true)
			total += n
			most = max(most, n)
		}
		switch {
		case total == 0 && d.PerJob+d.PerNode+d.PerTask > 0, d.PerJob > total:
			return StepInvalidDevices
		case d.PerNode > most, d.PerTask > most:
			return StepDevices
		}
	}
	var tasks, cpus int64
	memory := 0
	for k := range s.nodes {
		n := &s.nodes[k]
		cpus += int64(n.all / r.CPUsPerTask)
		if n.mem >= r.MemMiB {
			memory++
		}
		tasks += int64(n.tasks(r, true))
	}
	switch {
	case cpus < int64(r.Tasks):
		return StepTooManyCPUs
	case memory < int(r.MinNodes):
		return StepMemory
	case !s.choose(r, true, 0):
		if tasks < int64(r.Tasks) && r.NumNeeds > 0 {
			return StepDevices
		}
		return StepNodes
	}
	return StepRuns
}

// fitsNow reports whether a step of class c can start, and leaves in s.fits
// the tasks on each node.
func (s *Steps) fitsNow(c *stepClass) bool {
	r := &c.req
	if r.Flags&StepOverlap != 0 {
		return s.choose(r, true, 0)
	}
	for c.cursor < int32(len(s.nodes)) && s.nodes[c.cursor].tasks(r, false) == 0 {
		s.looks++
		c.cursor++
	}
	return s.choose(r, false, c.cursor)
}

// choose stores in s.fits[from:] how many tasks each node gets: the first nodes
// with room, as many as asked and then more until all tasks have one.
func (s *Steps) choose(r *StepRequest, whole bool, from int32) bool {
	var nodes, room int32
	last := from
	s.fits = s.fits[:len(s.nodes)]
	for k := from; k < int32(len(s.nodes)) && (nodes < r.MinNodes || room < r.Tasks); k++ {
		s.fits[k] = 0
		if nodes == r.MaxNodes {
			return false
		}
		s.looks++
		if n := s.nodes[k].tasks(r, whole); n > 0 {
			s.fits[k] = n
			nodes++
			room += min(n, r.Tasks)
			last = k + 1
		}
	}
	if nodes < r.MinNodes || room < r.Tasks || !s.enoughDevices(r, whole, from, last, nodes) {
		return false
	}
	s.fits = s.fits[:last]
	s.share(r, from)
	return true
}

// enoughDevices tests the needs counted over the step.
func (s *Steps) enoughDevices(r *StepRequest, whole bool, from, last, nodes int32) bool {
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		if d.PerJob == 0 {
			continue
		}
		var have int64
		for k := from; k < last; k++ {
			if s.fits[k] > 0 {
				have += s.nodes[k].devicesOf(d, whole)
			}
		}
		if have < d.PerJob || d.PerJob < int64(nodes) {
			return false
		}
	}
	return true
}

// share turns the room in s.fits[from:] into tasks: evenly, the first nodes
// having one more, or node after node if the step packs. Every chosen node
// gets one.
func (s *Steps) share(r *StepRequest, from int32) {
	part := s.fits[from:]
	sum := func(level int32) (n int32) {
		for _, v := range part {
			n += min(v, level)
		}
		return n
	}
	// The highest level to which all nodes can be filled; with packing, one.
	level := int32(1)
	if r.Flags&StepPack == 0 {
		for low, high := int32(1), r.Tasks; low <= high; {
			if mid := (low + high) / 2; sum(mid) <= r.Tasks {
				level, low = mid, mid+1
			} else {
				high = mid - 1
			}
		}
	}
	left := r.Tasks - sum(level)
	for k, v := range part {
		part[k] = min(v, level)
		if v > level && left > 0 {
			more := int32(1)
			if r.Flags&StepPack != 0 {
				more = min(v-level, left)
			}
			part[k] += more
			left -= more
		}
	}
}

// tasks returns how many tasks of r the node holds: of what is free, or of the
// whole allocation.
func (n *stepNode) tasks(r *StepRequest, whole bool) int32 {
	cpus, mem := n.freeCPUs, n.freeMem
	if whole {
		cpus, mem = n.all, n.mem
	}
	if mem < r.MemMiB || r.Flags&StepWhole != 0 && cpus < n.all {
		return 0
	}
	k := cpus / r.CPUsPerTask
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		have := n.devicesOf(d, whole)
		switch {
		case d.PerNode > have, d.PerJob > 0 && have == 0:
			return 0
		case d.PerTask > 0:
			k = int32(min(int64(k), have/d.PerTask))
		}
	}
	if r.NumNeeds == 0 && r.Flags&StepNoDevices == 0 && !whole {
		for i := range n.devices {
			if n.devices[i].free < n.devices[i].grant.Units {
				return 0 // it takes all of them
			}
		}
	}
	return k
}

// devicesOf returns how much the node has for need d: of what is free, or of
// the whole allocation.
func (n *stepNode) devicesOf(d *Need, whole bool) int64 {
	var sum int64
	for i := range n.devices {
		e := &n.devices[i]
		if !n.matches(e, d) {
			continue
		}
		switch units := e.grant.Units; {
		case !n.counted(e):
			if whole || e.free == units {
				sum++
			}
		case whole:
			sum += units
		default:
			sum += e.free
		}
	}
	return sum
}

// counted reports whether an entry is taken in units rather than whole.
func (n *stepNode) counted(e *stepDevice) bool {
	g := &n.shape.groups[e.grant.Group]
	return e.grant.Device < 0 || g.over >= 0
}

// matches reports whether an entry is of the name and type of d. A need
// without type takes any; a typed one takes devices of that type however the
// job asked for them.
func (n *stepNode) matches(e *stepDevice, d *Need) bool {
	g := &n.shape.groups[e.grant.Group]
	if g.name != d.Name {
		return false
	}
	typ := e.grant.Type
	if typ == 0 && e.grant.Device >= 0 {
		typ = g.devs[e.grant.Device].typ
	}
	return d.Type == 0 || d.Type == typ
}

// start gives a step of class c its part of the nodes with tasks in s.fits.
func (s *Steps) start(id uint32, c *stepClass) *StepGrant {
	r := &c.req
	k := int32(len(s.records))
	if n := len(s.spare); n > 0 {
		k = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		s.records = append(s.records, stepRecord{})
	}
	s.running[id] = k
	rec := &s.records[k]
	rec.flags = r.Flags
	g := &rec.grant
	g.Nodes, g.Tasks, g.Grants = g.Nodes[:0], g.Tasks[:0], g.Grants[:0]
	var from int32
	if r.Flags&StepOverlap == 0 {
		from = c.cursor
	}
	var nodes int32
	for i := from; i < int32(len(s.fits)); i++ {
		if s.fits[i] > 0 {
			nodes++
		}
	}
	var taken [MaxNeeds]int64
	for i := from; i < int32(len(s.fits)); i++ {
		if s.fits[i] == 0 {
			continue
		}
		g.Nodes, g.Tasks = append(g.Nodes, i), append(g.Tasks, s.fits[i])
		if len(g.Grants) < cap(g.Grants) {
			g.Grants = g.Grants[:len(g.Grants)+1]
		} else {
			g.Grants = append(g.Grants, Grant{})
		}
		nodes--
		s.nodes[i].take(&g.Grants[len(g.Grants)-1], r, s.fits[i], nodes, &taken)
	}
	return g
}

// take fills g with what tasks of r get on the node, and books it unless the
// step overlaps. after is the number of nodes that follow, taken what needs
// counted over the step have by now.
func (n *stepNode) take(g *Grant, r *StepRequest, tasks, after int32, taken *[MaxNeeds]int64) {
	overlap := r.Flags&StepOverlap != 0
	g.Reset(len(n.cores))
	cpus := tasks * r.CPUsPerTask
	if r.Flags&StepWhole != 0 {
		cpus = n.all
	}
	g.MemMiB = r.MemMiB
	if n.shape.sockets == 0 {
		g.CPUs, g.MilliCPU = int64(cpus), int64(cpus)*1000
	} else {
		t := int32(n.shape.threads)
		left := (cpus + t - 1) / t
		g.CPUs = int64(left * t)
		from := n.free
		if overlap {
			from = n.cores
		}
		for c := nextBit(from, 0); c >= 0 && left > 0; c = nextBit(from, c+1) {
			g.Cores[c>>6] |= 1 << (c & 63)
			left--
		}
	}
	for i := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[i]
		want := max(d.PerNode, d.PerTask*int64(tasks))
		if d.PerJob > 0 {
			want = min(d.PerJob-taken[i]-int64(after), n.devicesOf(d, overlap))
		}
		taken[i] += want
		n.takeDevices(g, d, want, overlap)
	}
	if r.NumNeeds == 0 && r.Flags&StepNoDevices == 0 {
		for i := range n.devices {
			g.Devices = append(g.Devices, n.devices[i].grant)
		}
	}
	if !overlap {
		n.book(g, 1)
	}
}

// takeDevices adds want of need d to g: devices near the step's cores first,
// then any, both ascending.
//
// Source: spec/bind.md 5.
func (n *stepNode) takeDevices(g *Grant, d *Need, want int64, overlap bool) {
	for _, near := range [2]bool{true, false} {
		for i := range n.devices {
			e := &n.devices[i]
			if want <= 0 {
				return
			}
			if !n.matches(e, d) || n.near(e, g.Cores) != near {
				continue
			}
			have, units := e.free, int64(0)
			if overlap {
				have = e.grant.Units
			}
			if n.counted(e) {
				units = min(have, want)
				want -= units
			} else if have == e.grant.Units {
				units = have
				want--
			}
			if units > 0 {
				x := e.grant
				x.Units = units
				g.Devices = append(g.Devices, x)
			}
		}
	}
}

// near reports whether a device is near one of cores, or has no cores of its
// own.
func (n *stepNode) near(e *stepDevice, cores []uint64) bool {
	g := &n.shape.groups[e.grant.Group]
	if e.grant.Device < 0 || len(g.devs[e.grant.Device].cores) == 0 {
		return true
	}
	for w, x := range g.devs[e.grant.Device].cores {
		if w < len(cores) && cores[w]&x != 0 {
			return true
		}
	}
	return false
}

func (n *stepNode) give(g *Grant) { n.book(g, -1) }

// book takes g off what is free (sign 1) or gives it back (−1).
func (n *stepNode) book(g *Grant, sign int64) {
	for w, c := range g.Cores {
		if sign > 0 {
			n.free[w] &^= c
		} else {
			n.free[w] |= c
		}
	}
	n.freeCPUs -= int32(sign * g.CPUs)
	n.freeMem -= sign * g.MemMiB
	for i := range g.Devices {
		d := &g.Devices[i]
		n.devices[n.entry(d)].free -= sign * d.Units
	}
}

// entry finds the entry of the job's grant that d is a part of, −1 if there is
// none.
func (n *stepNode) entry(d *DeviceGrant) int {
	return slices.IndexFunc(n.devices, func(e stepDevice) bool {
		return e.grant.Group == d.Group && e.grant.Type == d.Type && e.grant.Device == d.Device && e.grant.Start == d.Start
	})
}
