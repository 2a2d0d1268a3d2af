package scheduler

import "github.com/berth-sched/berth/gres"

// What a running job holds seldom changes, so forks share it until one writes:
// then the job gets a copy of its own.

// ownAlloc readies what the job holds for a change in place.
func (j *job) ownAlloc() {
	if j.common {
		var a arenas
		j.alloc, j.common = a.copyGrants(j.alloc), false
	}
}

// emptyAlloc leaves the job nothing. Memory of its own stays for what comes.
func (j *job) emptyAlloc() {
	if j.common {
		j.alloc, j.common = nil, false
	}
	j.alloc = j.alloc[:0]
}

// growAlloc makes room for n nodes' grants without a later allocation: words
// core words and devs devices on each.
func (j *job) growAlloc(n, words, devs int) {
	if cap(j.alloc) < n {
		grown := make([]nodeGrant, n)
		copy(grown, j.alloc[:cap(j.alloc)])
		j.alloc = grown
	}
	all := j.alloc[:cap(j.alloc)]
	for i := range all[:n] {
		g := &all[i].grant
		if cap(g.Cores) < words {
			g.Cores = make([]uint64, 0, words)
		}
		if cap(g.Devices) < devs {
			g.Devices = make([]gres.DeviceGrant, 0, devs)
		}
	}
	j.alloc = j.alloc[:0]
}

// devices is how many devices a node gives the class, for which room is made: no
// more than eight of a kind.
func (c *class) devices() int {
	n := 0
	for i := range c.req.Needs[:c.req.NumNeeds] {
		k, most := &c.req.Needs[i], int64(8)
		if a := max(k.PerNode, k.PerJob); a > 0 && k.PerSocket == 0 && k.PerTask == 0 && k.Milli == 0 && !c.req.Has(gres.WholeNode) {
			most = min(most, a)
		}
		n += int(most)
	}
	return n
}
