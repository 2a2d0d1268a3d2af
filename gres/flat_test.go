package gres

import (
	"cmp"
	"maps"
	"slices"
)

// cluster is nodes with their use, as a test schedules on them.
type cluster struct {
	tab     *DeviceTable
	params  Params
	names   []string
	shapes  []*Shape
	rows    [][]uint64
	weight  []int
	limits  []*CPULimits
	lln     bool
	drained []int
	maxMem  MemLimits
	tooFew  int // usable nodes of the last choice among several
}

func (c *cluster) index(name string) int { return slices.Index(c.names, name) }

// outcome of a placement.
type outcome struct {
	nodes  []int
	grants []Grant
	why    Refusal
	ok     bool
	// found says that nodes were found, though Select may have failed.
	found bool
}

// place runs both passes on the eligible nodes as flat topology does. With
// ever it asks whether the request could run on idle nodes; then nothing is
// selected.
func (c *cluster) place(r *Request, eligible, required []int, rows [][]uint64, ever bool) outcome {
	var s Scratch
	var best outcome
	least, most := r.NodeRange()
	if most > 0 && least > most {
		return best
	}
	req := *r
	req.MinNodes, req.MaxNodes = least, most
	r = &req
	for _, pass := range []Pass{PassNear, PassAny} {
		if ever {
			pass |= PassEver
		}
		chosen, nodes := c.choose(r, eligible, required, rows, pass, &s)
		if chosen == nil {
			if r.MaxNodes != 1 && c.tooFew > 0 && c.tooFew < int(r.MinNodes) {
				break // some nodes do, but not enough: no second pass
			}
			continue
		}
		best.found, best.nodes = true, nodes
		if ever {
			best.ok = true
			return best
		}
		best.grants = make([]Grant, len(chosen))
		best.why = Select(best.grants, chosen, r, pass, int(max(r.MinNodes, 1)), &s)
		best.ok = best.why == RefuseNone
		return best
	}
	return best
}

func (c *cluster) view(i int, rows [][]uint64) NodeRow {
	n := NodeRow{Shape: c.shapes[i], Row: rows[i]}
	if c.limits != nil {
		n.Limits = c.limits[i]
		if &rows[0] != &c.rows[0] {
			n.Limits = &CPULimits{PerNode: n.Limits.PerNode, PerSocket: n.Limits.PerSocket}
		}
	}
	return n
}

func (c *cluster) choose(r *Request, eligible, required []int, rows [][]uint64, pass Pass, s *Scratch) ([]Chosen, []int) {
	c.tooFew = 0
	if len(eligible) < int(r.MinNodes) {
		return nil, nil
	}
	if r.MaxNodes == 1 {
		return c.chooseOne(r, eligible, required, rows, pass, s)
	}
	f := flat{c: c, r: r, fits: make([]NodeFit, len(c.names)), rows: rows, pass: pass, s: s}
	f.t.Start(r)
	for _, i := range required {
		if !f.take(i) {
			return nil, nil
		}
	}
	f.before, f.need = f.t.Granted, max(f.t.Nodes, 1)
	for _, i := range eligible {
		if slices.Contains(required, i) {
			f.nodes = append(f.nodes, i)
			continue
		}
		f.fits[i] = EvaluateAfter(c.view(i, rows), r, pass, int(f.need), &f.before, s)
		if f.fits[i].Refusal == RefuseNone {
			f.nodes = append(f.nodes, i)
		}
	}
	c.tooFew = len(f.nodes)
	start, first := f.t, maps.Clone(f.taken)
	for {
		f.t, f.taken = start, maps.Clone(first)
		if ch, nodes := f.fit(required); ch != nil {
			return ch, nodes
		}
		// Drop the weakest node and try again.
		if len(f.nodes) <= int(r.MinNodes) || len(f.nodes) == 0 {
			return nil, nil
		}
		weak := -1
		for x, i := range f.nodes {
			if !slices.Contains(required, i) && (weak < 0 || f.strength(i) < f.strength(f.nodes[weak])) {
				weak = x
			}
		}
		if weak < 0 {
			return nil, nil
		}
		f.nodes = slices.Delete(f.nodes, weak, weak+1)
	}
}

// chooseOne is the one-node path: the first node in (weight, index) order that
// does alone; devices counted over the job add up over the nodes tried.
func (c *cluster) chooseOne(r *Request, eligible, required []int, rows [][]uint64, pass Pass, s *Scratch) ([]Chosen, []int) {
	order := slices.Clone(eligible)
	if len(required) > 0 {
		order = slices.Clone(required)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.weight[a], c.weight[b]) })
	var granted [MaxNeeds]int64
	for _, i := range order {
		fit := EvaluateAfter(c.view(i, rows), r, pass, 1, &granted, s)
		if fit.Refusal != RefuseNone {
			continue
		}
		var t Taking
		t.Start(r)
		t.Granted = granted
		ch := Chosen{Node: c.view(i, rows), Fit: fit, Before: granted}
		ch.CPUs, ch.Devices = t.Take(c.shapes[i], r, &fit)
		if t.Enough(r) || r.Has(WholeNode) && t.CPUs <= 0 {
			return []Chosen{ch}, []int{i}
		}
		if t.CPUs > 0 {
			continue
		}
		granted = t.Granted
	}
	return nil, nil
}

// flat is the state of one fit on flat topology.
type flat struct {
	c     *cluster
	r     *Request
	nodes []int
	fits  []NodeFit
	rows  [][]uint64
	pass  Pass
	s     *Scratch
	t     Taking
	taken map[int]Chosen
	// before and need are what the nodes that are not required were
	// evaluated with.
	before [MaxNeeds]int64
	need   int32
}

// take evaluates node i in its turn and takes it.
func (f *flat) take(i int) bool {
	need, before := max(f.t.Nodes, 1), f.t.Granted
	f.fits[i] = EvaluateAfter(f.c.view(i, f.rows), f.r, f.pass, int(need), &before, f.s)
	if f.fits[i].Refusal != RefuseNone {
		return false
	}
	f.add(i, need, before)
	return true
}

func (f *flat) add(i int, need int32, before [MaxNeeds]int64) {
	ch := Chosen{Node: f.c.view(i, f.rows), Fit: f.fits[i], Need: need, Before: before}
	ch.CPUs, ch.Devices = f.t.Take(f.c.shapes[i], f.r, &f.fits[i])
	if f.taken == nil {
		f.taken = map[int]Chosen{}
	}
	f.taken[i] = ch
}

func (f *flat) devices(i int) int {
	n := 0
	for k := range f.r.Needs[:f.r.NumNeeds] {
		if f.r.Needs[k].PerJob > 0 {
			n += int(f.fits[i].Devices[k])
		}
	}
	return n
}

func (f *flat) strength(i int) int {
	n := int(f.fits[i].CPUs)
	if f.r.WantsGPU() {
		k := 0
		for j := range f.r.Needs[:f.r.NumNeeds] {
			k += int(f.fits[i].Devices[j])
		}
		n *= k
	}
	return n
}

func (f *flat) weight(i int) int {
	near := 0
	if f.r.WantsGPU() {
		near = int(f.fits[i].Near)
	}
	return f.c.weight[i]<<16 + 255 - near
}

type run struct {
	nodes                []int
	cpus, devs, w, first int // first required node, -1
}

func (f *flat) fit(required []int) ([]Chosen, []int) {
	r := f.r
	minN, maxN := int(max(r.MinNodes, 1)), int(r.MaxNodes)
	if maxN == 0 {
		maxN = 1 << 30
	}
	req := maxN
	if r.MaxNodes == 0 || r.Has(ImpliedMaxNodes) {
		req = minN
	}
	if r.WantsJobDevices() {
		req = min(req, minN)
	}
	t := &f.t
	rem, maxRem := req-len(f.taken), maxN-len(f.taken)
	take := func(i int) {
		f.add(i, f.need, f.before)
		rem--
		maxRem--
	}
	need := func() int {
		if req <= minN {
			return rem
		}
		return rem - (req - minN)
	}
	devLeft := func() int64 {
		var n int64
		for k := range r.Needs[:r.NumNeeds] {
			if p := r.Needs[k].PerJob; p > t.Granted[k] {
				n += p - t.Granted[k]
			}
		}
		return n
	}
	done := func() bool { return rem <= 0 && t.Enough(r) }
	runs := f.runs(required)
	if f.c.lln {
		return f.leastLoaded(done, &rem, &maxRem, minN)
	}
	for !done() && maxRem > 0 {
		best := -1
		suff := func(x *run) bool {
			return x.cpus >= int(t.CPUs) && len(x.nodes) >= need() && int64(x.devs) >= devLeft()
		}
		for x := range runs {
			a := &runs[x]
			if len(a.nodes) == 0 {
				continue
			}
			if best < 0 {
				best = x
				continue
			}
			b := &runs[best]
			switch {
			case a.first >= 0 && b.first < 0, a.w < b.w:
				best = x
			case a.w == b.w && (suff(a) && !suff(b) || suff(a) && a.cpus < b.cpus || !suff(a) && a.cpus > b.cpus):
				best = x
			}
		}
		if best < 0 {
			break
		}
		b := &runs[best]
		nodes := b.nodes
		b.nodes = nil
		if b.first >= 0 {
			up := slices.Clone(nodes)
			var down []int
			for _, i := range nodes {
				if i < b.first {
					down = append([]int{i}, down...)
				}
			}
			up = slices.DeleteFunc(up, func(i int) bool { return i < b.first })
			nodes = append(up, down...)
		} else if rem <= 1 {
			one := -1
			for _, i := range nodes {
				if f.fits[i].CPUs >= t.CPUs && int64(f.devices(i)) >= devLeft() && (one < 0 || f.fits[i].CPUs < f.fits[one].CPUs) {
					one = i
				}
			}
			if one >= 0 {
				nodes = []int{one}
			}
		}
		for _, i := range nodes {
			if done() || maxRem <= 0 {
				break
			}
			if maxRem == 1 && f.fits[i].CPUs < t.CPUs {
				continue
			}
			take(i)
		}
	}
	if !done() && !(t.Enough(r) && len(f.taken) >= minN) {
		return nil, nil
	}
	return f.result(f.taken)
}

// leastLoaded takes the emptiest nodes; each is evaluated when its turn comes.
func (f *flat) leastLoaded(done func() bool, rem, maxRem *int, minN int) ([]Chosen, []int) {
	order := slices.Clone(f.nodes)
	slices.SortStableFunc(order, func(a, b int) int {
		if d := cmp.Compare(f.weight(a), f.weight(b)); d != 0 {
			return d
		}
		x := int(f.fits[a].CPUs) * f.c.shapes[b].CPUs()
		y := int(f.fits[b].CPUs) * f.c.shapes[a].CPUs()
		return cmp.Compare(y, x)
	})
	for _, i := range order {
		if done() || *maxRem <= 0 {
			break
		}
		if _, ok := f.taken[i]; !ok && f.take(i) {
			*rem--
			*maxRem--
		}
	}
	if !done() && !(f.t.Enough(f.r) && len(f.taken) >= minN) {
		return nil, nil
	}
	return f.result(f.taken)
}

func (f *flat) result(taken map[int]Chosen) ([]Chosen, []int) {
	var nodes []int
	var out []Chosen
	for i := range f.c.names {
		if ch, ok := taken[i]; ok {
			nodes = append(nodes, i)
			out = append(out, ch)
		}
	}
	return out, nodes
}

func (f *flat) runs(required []int) []run {
	var runs []run
	prev := -2
	for _, i := range f.nodes {
		w := f.weight(i)
		if prev != i-1 || runs[len(runs)-1].w != w {
			runs = append(runs, run{w: w, first: -1})
		}
		prev = i
		b := &runs[len(runs)-1]
		if slices.Contains(required, i) {
			if b.first < 0 {
				b.first = i
			}
			continue
		}
		b.nodes = append(b.nodes, i)
		b.cpus += int(f.fits[i].CPUs)
		b.devs += f.devices(i)
	}
	return slices.DeleteFunc(runs, func(b run) bool { return len(b.nodes) == 0 })
}
