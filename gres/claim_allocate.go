package gres

import (
	"cmp"
	"math/bits"
	"slices"
)

// A ClaimRefusal says why a claim cannot be satisfied on a node; 0 is that it
// can.
type ClaimRefusal uint8

const (
	ClaimFits ClaimRefusal = iota
	// ClaimNoDevice: no device that the node sees is what a request asks for.
	ClaimNoDevice
	// ClaimTainted: devices would do but for taints.
	ClaimTainted
	// ClaimInUse: they are allocated.
	ClaimInUse
	// ClaimCounters: a shared counter would be overdrawn.
	ClaimCounters
	// ClaimCapacity: no device has enough of a capacity left.
	ClaimCapacity
	// ClaimConstraints: enough devices, but not with values as asked.
	ClaimConstraints
	// ClaimPredicate: a registered condition failed, or is not registered.
	ClaimPredicate
	// ClaimEffort: the search was given up.
	ClaimEffort
	numClaimRefusals
)

var claimRefusalNames = [numClaimRefusals]string{"Fits", "NoDevice", "Tainted", "InUse", "Counters", "Capacity", "Constraints", "Predicate", "Effort"}

// String returns the name of r.
func (r ClaimRefusal) String() string {
	if r < numClaimRefusals {
		return claimRefusalNames[r]
	}
	return "ClaimRefusal?"
}

// claimEffort bounds the devices tried for one claim on one node.
const claimEffort = 100_000

// claimSearch is the state of one search, reused.
type claimSearch struct {
	node   int32
	claim  *Claim
	items  []ClaimItem
	amount []int64 // arena of the items' amounts
	cands  []int32 // arena of candidates, a run for each request under way
	steps  int
	why    ClaimRefusal
	seen   bool // a constraint stood in the way
}

// Allocate satisfies c on node, books the devices for one consumer and returns
// the number of the allocation, or says why it cannot: then nothing changes.
//
// Of each request the first alternative with which all others can be satisfied
// too is taken. Devices that draw least on shared counters go first, among
// those allocated many times the fullest that do; then the lowest index. It
// searches all combinations, up to 100,000 devices tried.
func (v *Inventory) Allocate(node int32, c *Claim) (AllocationID, ClaimRefusal) {
	mark := v.Mark()
	if why := v.find(node, c); why != ClaimFits {
		v.Rollback(mark)
		return -1, why
	}
	id := AllocationID(slices.IndexFunc(v.allocs, func(a allocation) bool { return a.consumers == 0 && !a.ended }))
	if id < 0 {
		id = AllocationID(len(v.allocs))
		v.allocs = append(v.allocs, allocation{})
	}
	a := &v.allocs[id]
	a.items, a.tolerates = a.items[:0], a.tolerates[:0]
	for _, it := range v.search.items {
		it.Amounts = slices.Clone(it.Amounts)
		a.items = append(a.items, it)
		a.tolerates = append(a.tolerates, slices.Clone(c.Requests[it.Request].Alternatives[it.Alternative].Tolerations))
	}
	v.setConsumers(id, 1)
	return id, ClaimFits
}

// Fits says whether c could be satisfied on node, and why not. Nothing
// changes.
func (v *Inventory) Fits(node int32, c *Claim) ClaimRefusal {
	mark := v.Mark()
	why := v.find(node, c)
	v.Rollback(mark)
	return why
}

// Filter clears in words the nodes on which c cannot be satisfied and returns
// the number of those left. A claim without requests is satisfied everywhere.
func (v *Inventory) Filter(words []uint64, c *Claim) int {
	n := 0
	for w := range words {
		for x := words[w]; x != 0; x &= x - 1 {
			if v.Fits(int32(w<<6|bits.TrailingZeros64(x)), c) != ClaimFits {
				words[w] &^= x & -x
			} else {
				n++
			}
		}
	}
	return n
}

// find books the devices of c and leaves them in v.search.items.
func (v *Inventory) find(node int32, c *Claim) ClaimRefusal {
	s := &v.search
	s.node, s.claim, s.items, s.amount, s.cands = node, c, s.items[:0], s.amount[:0], s.cands[:0]
	s.steps, s.why, s.seen = 0, ClaimFits, false
	if v.request(0) {
		return ClaimFits
	}
	switch {
	case s.why == ClaimPredicate:
		return s.why
	case s.steps >= claimEffort:
		return ClaimEffort
	case s.why != ClaimFits && s.why != ClaimInUse:
		return s.why
	case s.seen:
		return ClaimConstraints
	case s.why == ClaimFits:
		return ClaimNoDevice
	}
	return s.why
}

// note keeps the hardest obstacle met: a later one in the list of refusals.
func (s *claimSearch) note(why ClaimRefusal) { s.why = max(s.why, why) }

// request satisfies the requests from i on.
func (v *Inventory) request(i int) bool {
	s := &v.search
	if i == len(s.claim.Requests) {
		return true
	}
	r := &s.claim.Requests[i]
	for k := range r.Alternatives {
		a := &r.Alternatives[k]
		if a.All {
			if v.all(i, k) {
				return true
			}
			continue
		}
		start := len(s.cands)
		v.candidates(i, k)
		end := len(s.cands)
		if n := max(int(a.Count), 1); end-start >= n && v.devicesFor(i, k, start, end, n) {
			return true
		}
		s.cands = s.cands[:start]
	}
	return false
}

// candidates appends the devices that alternative k of request i could use, in
// the order in which they are tried.
func (v *Inventory) candidates(i, k int) {
	s := &v.search
	start := len(s.cands)
	for d := range int32(len(v.devices)) {
		s.steps++
		if v.usable(i, k, d) {
			s.cands = append(s.cands, d)
		}
	}
	slices.SortFunc(s.cands[start:], func(a, b int32) int {
		return cmp.Or(cmp.Compare(v.wholeDraw[a], v.wholeDraw[b]), cmp.Compare(v.left(a), v.left(b)), cmp.Compare(a, b))
	})
}

// left returns what a device that is allocated many times has left of its
// capacities, so that the fullest goes first.
func (v *Inventory) left(d int32) int64 {
	var sum int64
	if dev := &v.devices[d]; dev.Many {
		for k := range dev.Capacities {
			sum = SatAdd(sum, dev.Capacities[k].Value-v.use[v.off[d]+1+k])
		}
	}
	return sum
}

// devicesFor gives n more of the candidates from to end to alternative k of
// request i, and satisfies the rest.
func (v *Inventory) devicesFor(i, k, from, end, n int) bool {
	s := &v.search
	if n == 0 {
		return v.request(i + 1)
	}
	r := &s.claim.Requests[i]
	for p := from; p+n <= end && s.steps < claimEffort; p++ {
		s.steps++
		mark, items, amount := v.Mark(), len(s.items), len(s.amount)
		if v.give(r, i, k, s.cands[p]) && v.constrained(i, s.cands[p]) && v.devicesFor(i, k, p+1, end, n-1) {
			return true
		}
		v.Rollback(mark)
		s.items, s.amount = s.items[:items], s.amount[:amount]
	}
	return false
}

// all gives every device of alternative k to request i, and satisfies the
// rest.
func (v *Inventory) all(i, k int) bool {
	s := &v.search
	r := &s.claim.Requests[i]
	mark, items, amount := v.Mark(), len(s.items), len(s.amount)
	found := false
	for d := range int32(len(v.devices)) {
		s.steps++
		if !v.matches(&r.Alternatives[k], d) {
			continue
		}
		found = true
		if !v.usable(i, k, d) || !v.give(r, i, k, d) || !v.constrained(i, d) {
			found = false
			break
		}
	}
	if found && v.request(i+1) {
		return true
	}
	v.Rollback(mark)
	s.items, s.amount = s.items[:items], s.amount[:amount]
	return false
}

// matches reports whether a device is what an alternative asks for, seen from
// the node.
func (v *Inventory) matches(a *Alternative, d int32) bool {
	dev := &v.devices[d]
	if !v.sees(v.search.node, d) {
		return false
	}
	if a.Class != "" {
		c := v.Class(a.Class)
		if c == nil || !v.meets(dev, c.Selectors, c.Predicate) {
			return false
		}
	}
	return v.meets(dev, a.Selectors, a.Predicate)
}

func (v *Inventory) meets(d *ClaimDevice, selectors []Selector, predicate string) bool {
	for i := range selectors {
		if !selectors[i].meets(d) {
			return false
		}
	}
	if predicate == "" {
		return true
	}
	p := v.predicates[predicate]
	if p == nil {
		v.search.fail()
		return false
	}
	ok, err := p(d)
	if err != nil {
		v.search.fail()
		return false
	}
	return ok
}

// fail makes the claim infeasible on the node.
func (s *claimSearch) fail() {
	s.note(ClaimPredicate)
	s.steps = max(s.steps, 2*claimEffort)
}

// usable reports whether a device matches and has no taint that the
// alternative does not tolerate.
func (v *Inventory) usable(i, k int, d int32) bool {
	s := &v.search
	r := &s.claim.Requests[i]
	a := &r.Alternatives[k]
	if !v.matches(a, d) {
		return false
	}
	dev := &v.devices[d]
	for t := range dev.Taints {
		if dev.Taints[t].Effect != TaintNone && !tolerated(a.Tolerations, &dev.Taints[t]) {
			s.note(ClaimTainted)
			return false
		}
	}
	return true
}

// give books a device for alternative k of request i if it is free enough.
func (v *Inventory) give(r *ClaimRequest, i, k int, d int32) bool {
	s := &v.search
	it := ClaimItem{Request: int32(i), Alternative: int32(k), Device: d, Admin: r.Admin}
	if r.Admin {
		s.items = append(s.items, it)
		return true
	}
	dev, o := &v.devices[d], v.off[d]
	if v.use[o] > 0 && !dev.Many {
		s.note(ClaimInUse)
		return false
	}
	if v.use[o] == 0 {
		for _, w := range dev.Draws {
			if SatAdd(v.use[v.counters+int(w.Counter)], w.Amount) > v.limits[w.Counter] {
				s.note(ClaimCounters)
				return false
			}
		}
	}
	if !v.amounts(&it, &r.Alternatives[k], dev, o) {
		s.note(ClaimCapacity)
		return false
	}
	v.book(&it, 1)
	s.items = append(s.items, it)
	return true
}

// amounts stores in it what is taken of the capacities of a device that may be
// allocated many times, and tests what any device must have.
func (v *Inventory) amounts(it *ClaimItem, a *Alternative, dev *ClaimDevice, o int) bool {
	for _, ask := range a.Capacities {
		c := dev.Capacity(ask.ID)
		if c == nil {
			return false
		}
		if _, ok := c.Round(ask.Amount); !ok {
			return false
		}
	}
	if !dev.Many {
		return true
	}
	s := &v.search
	start := len(s.amount)
	for k := range dev.Capacities {
		c := &dev.Capacities[k]
		var ask int64
		for _, x := range a.Capacities {
			if x.ID == c.ID {
				ask = x.Amount
			}
		}
		n, ok := c.Round(ask)
		if !ok || v.use[o+1+k]+n > c.Value {
			return false
		}
		s.amount = append(s.amount, n)
	}
	it.Amounts = s.amount[start:len(s.amount):len(s.amount)]
	return true
}

// constrained tests the constraints that cover request i for the device given
// last.
func (v *Inventory) constrained(i int, d int32) bool {
	s := &v.search
	for c := range s.claim.Constraints {
		x := &s.claim.Constraints[c]
		if !x.covers(i) {
			continue
		}
		val := v.devices[d].Attr(x.Attr)
		ok := val.Kind != NoValue
		for k := range s.items[:len(s.items)-1] {
			it := &s.items[k]
			if !ok || !x.covers(int(it.Request)) {
				continue
			}
			cmp, same := val.Compare(v.devices[it.Device].Attr(x.Attr))
			ok = ok && (same && cmp == 0) != x.Distinct
		}
		if !ok {
			s.seen = true
			return false
		}
	}
	return true
}
