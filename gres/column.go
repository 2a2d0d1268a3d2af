package gres

import (
	"math"
	"math/bits"
)

// Columns says what each node could give a request. The slices have one entry
// for each node; only those of nodes in Fit are valid.
type Columns struct {
	// CPUs that the request could use on the node.
	CPUs []int32
	// Devices of what the request counts over the job (--gpus); all devices
	// that it asks for if it counts none so.
	Devices []int32
	// Near is the count by which Slurm orders nodes of one weight.
	Near []uint8
	// Fit are the nodes on which the request could run, in words.
	Fit []uint64
	// MostCPUs and MostDevices are the largest entries of the nodes in Fit as
	// filled, LeastCPUs and LeastDevices the smallest; 0 if there is none. Who
	// changes entries or Fit afterwards calls [Columns.Forget].
	MostCPUs, MostDevices, LeastCPUs, LeastDevices int32
}

// Forget sets the largest and smallest entries to 0, which says nothing of them.
func (c *Columns) Forget() { c.MostCPUs, c.MostDevices, c.LeastCPUs, c.LeastDevices = 0, 0, 0, 0 }

// devices returns what f adds to the Devices column.
func (c *class) devices(f *NodeFit) int32 {
	var all, job int32
	for i := range c.req.Needs[:c.req.NumNeeds] {
		all += int32(f.Devices[i])
		if c.req.Needs[i].PerJob > 0 {
			job += int32(f.Devices[i])
		}
	}
	if job > 0 {
		return job
	}
	return all
}

// Empty takes all nodes out of Fit.
func (c *Columns) Empty() {
	clear(c.Fit)
	c.Forget()
}

// Size makes room for n nodes. It allocates if n differs from before.
func (c *Columns) Size(n int) {
	if len(c.CPUs) == n {
		return
	}
	c.CPUs, c.Devices = make([]int32, n), make([]int32, n)
	c.Near, c.Fit = make([]uint8, n), make([]uint64, (n+63)/64)
}

// A columnState is what one column fill knows of a state.
type columnState struct {
	epoch         uint32
	cpus, devices int32
	near          uint8
	ok            uint8 // 1: the request could run
}

// Fill computes what each available node of within could give a request of
// class c, of which need nodes are still required, stores it in dst, which has
// the size of the pool, and returns the number of nodes in dst.Fit. A nil
// within holds every node. Entries of nodes that were evaluated and refused
// are 0; those of nodes that the index rules out are not touched.
//
// Each state is evaluated once, or remembered from before, which also yields the
// largest entries; a node then costs a look-up. O(nodes/64 + nodes of within that pass the index + states). It does
// not allocate in steady state.
func (p *Pool) Fill(dst *Columns, c ClassID, pass Pass, need int32, within []uint64) int {
	return p.FillAfter(dst, c, pass, need, &[MaxNeeds]int64{}, within)
}

// FillAfter is Fill when other nodes already give granted devices of each need,
// as [EvaluateAfter] has it. What it finds is not remembered from call to call
// unless granted is all zero.
func (p *Pool) FillAfter(dst *Columns, c ClassID, pass Pass, need int32, granted *[MaxNeeds]int64, within []uint64) int {
	cl := &p.classes[c]
	if n := len(p.states.meta); len(p.column) < n {
		p.column = make([]columnState, max(n+n/4, p.states.room))
	}
	if p.epoch++; p.epoch == 0 {
		clear(p.column)
		p.epoch = 1
	}
	dst.Forget()
	dst.LeastCPUs, dst.LeastDevices = math.MaxInt32, math.MaxInt32
	count := 0
	for w := range dst.Fit {
		x := p.candidates(cl, w, within)
		if x != 0 {
			x = p.fillWord(dst, cl, pass, need, granted, w<<6, x)
		}
		dst.Fit[w] = x
		count += bits.OnesCount64(x)
	}
	if count == 0 {
		dst.Forget()
	}
	return count
}

// fillWord fills the entries of the nodes base+i for the bits i of x and
// returns the bits of those that fit.
func (p *Pool) fillWord(dst *Columns, cl *class, pass Pass, need int32, granted *[MaxNeeds]int64, base int, x uint64) (fit uint64) {
	// Slices of one word's nodes let the compiler drop the bound checks.
	end := min(base+64, len(p.state))
	state, cpus := p.state[base:end], dst.CPUs[base:end]
	devices, near := dst.Devices[base:end], dst.Near[base:end]
	if x == ^uint64(0) {
		fit, i := uint64(0), 0
		for ; i < len(state); i++ {
			v := &p.column[state[i]]
			if v.epoch != p.epoch {
				break // the slow loop below evaluates, rarely
			}
			cpus[i], devices[i], near[i] = v.cpus, v.devices, v.near
			fit |= uint64(v.ok) << i
		}
		if i == len(state) {
			return fit
		}
	}
	for ; x != 0; x &= x - 1 {
		i := bits.TrailingZeros64(x)
		v := &p.column[state[i]]
		if v.epoch != p.epoch {
			f := p.fitAfter(cl, pass, need, granted, state[i])
			*v = columnState{epoch: p.epoch, cpus: f.CPUs, devices: cl.devices(f), near: f.Near}
			if f.Refusal == RefuseNone {
				v.ok = 1
				dst.MostCPUs, dst.MostDevices = max(dst.MostCPUs, v.cpus), max(dst.MostDevices, v.devices)
				dst.LeastCPUs, dst.LeastDevices = min(dst.LeastCPUs, v.cpus), min(dst.LeastDevices, v.devices)
			}
		}
		cpus[i], devices[i], near[i] = v.cpus, v.devices, v.near
		fit |= uint64(v.ok) << i
	}
	return fit
}

// FitOf returns what a request of class c could get on node, of which need
// nodes are still required; the zero NodeFit if the node is not there.
// Availability is not looked at.
func (p *Pool) FitOf(c ClassID, pass Pass, need, node int32) NodeFit {
	return p.FitAfter(c, pass, need, &[MaxNeeds]int64{}, node)
}

// FitAfter is FitOf when other nodes already give granted devices of each need.
func (p *Pool) FitAfter(c ClassID, pass Pass, need int32, granted *[MaxNeeds]int64, node int32) NodeFit {
	id := p.state[node]
	if id == noState {
		return NodeFit{}
	}
	return *p.fitAfter(&p.classes[c], pass, need, granted, id)
}

// fitAfter is fit after granted devices. The result is valid until the next
// call.
func (p *Pool) fitAfter(c *class, pass Pass, need int32, granted *[MaxNeeds]int64, id int32) *NodeFit {
	if *granted == [MaxNeeds]int64{} {
		return p.fit(c, pass, need, id)
	}
	p.after = EvaluateAfter(p.stateRow(id), &c.req, pass, int(need), granted, &p.scratch)
	return &p.after
}

// Candidates stores in dst, which has a word for each 64 nodes of the pool, the
// available nodes of within on which a request of class c may fit, by what each
// has free in all: no other node can take it, in any pass and whatever other
// nodes give. A nil within holds every node. O(nodes/64).
func (p *Pool) Candidates(dst []uint64, c ClassID, within []uint64) {
	cl := &p.classes[c]
	for w := range dst {
		dst[w] = p.candidates(cl, w, within)
	}
}

// candidates is word w of the nodes that the index does not rule out.
func (p *Pool) candidates(cl *class, w int, within []uint64) uint64 {
	x := p.up.w[w]
	if within != nil {
		x &= within[w]
	}
	for _, s := range cl.screens {
		if s.key < 0 {
			return 0
		}
		x &= p.index.keys[s.key].sets[s.level-1].w[w]
	}
	return x
}
