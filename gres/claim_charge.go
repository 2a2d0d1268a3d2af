package gres

// AddCharge adds to dst what c counts against quotas before it is allocated:
// of each request, kind by kind, the most that any alternative takes. Amounts
// that depend on the device are the largest of all devices that match on any
// node, times the count.
//
// Source: spec/quota.md 11.3, item 11.
func (v *Inventory) AddCharge(dst Vector, c *Claim) {
	for i := range c.Requests {
		r := &c.Requests[i]
		if r.Admin {
			continue
		}
		for k := range r.Alternatives {
			a := &r.Alternatives[k]
			if a.Charge.By == ChargeNothing || v.outdone(r, k) {
				continue
			}
			dst[a.Charge.Kind] = SatAdd(dst[a.Charge.Kind], v.mostOf(a))
		}
	}
}

// outdone reports whether another alternative of r charges the same kind with
// more, or as much and comes before.
func (v *Inventory) outdone(r *ClaimRequest, k int) bool {
	own := v.mostOf(&r.Alternatives[k])
	for o := range r.Alternatives {
		a := &r.Alternatives[o]
		if o == k || a.Charge.By == ChargeNothing || a.Charge.Kind != r.Alternatives[k].Charge.Kind {
			continue
		}
		if m := v.mostOf(a); m > own || m == own && o < k {
			return true
		}
	}
	return false
}

// mostOf returns the most that alternative a charges.
func (v *Inventory) mostOf(a *Alternative) int64 {
	n, each := int64(max(a.Count, 1)), int64(0)
	if a.All {
		n = 0
	}
	for d := range v.devices {
		dev := &v.devices[d]
		if !v.kindOf(a, dev) {
			continue
		}
		if a.All {
			n++
		}
		each = max(each, v.chargeOn(a, dev))
	}
	if a.Charge.By == ChargeDevices {
		return n
	}
	return SatMul(n, each)
}

// kindOf is matches on any node.
func (v *Inventory) kindOf(a *Alternative, d *ClaimDevice) bool {
	if c := v.Class(a.Class); a.Class != "" && (c == nil || !v.meets(d, c.Selectors, c.Predicate)) {
		return false
	}
	return v.meets(d, a.Selectors, a.Predicate)
}

// chargeOn returns what a charges if it gets device d.
func (v *Inventory) chargeOn(a *Alternative, d *ClaimDevice) int64 {
	switch a.Charge.By {
	case ChargeDevices:
		return 1
	case ChargeCounter:
		var sum int64
		for _, w := range d.Draws {
			if w.Counter == a.Charge.ID {
				sum = SatAdd(sum, w.Amount)
			}
		}
		return sum
	case ChargeCapacity:
		c := d.Capacity(AttrID(a.Charge.ID))
		if c == nil {
			return 0
		}
		var ask int64
		for _, x := range a.Capacities {
			if x.ID == c.ID {
				ask = x.Amount
			}
		}
		if !d.Many {
			return c.Value
		}
		n, _ := c.Round(ask)
		return n
	}
	return 0
}

// AddChargeOf adds to dst what an allocation of claim c really counts: the
// alternatives that were taken, on the devices that were taken. Sharing adds
// nothing.
func (v *Inventory) AddChargeOf(dst Vector, c *Claim, id AllocationID) {
	for _, it := range v.allocs[id].items {
		a := &c.Requests[it.Request].Alternatives[it.Alternative]
		if it.Admin || a.Charge.By == ChargeNothing {
			continue
		}
		dst[a.Charge.Kind] = SatAdd(dst[a.Charge.Kind], v.chargeOn(a, &v.devices[it.Device]))
	}
}
