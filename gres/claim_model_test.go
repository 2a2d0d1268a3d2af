package gres

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// claimTwin knows the devices and who holds them, and nothing else.
type claimTwin struct {
	devices  []ClaimDevice
	counters []int64
	live     map[AllocationID][]ClaimItem
}

// fits reports whether the live allocations and more stay within every device
// and counter.
func (m *claimTwin) fits(more []ClaimItem) bool {
	count := make([]int64, len(m.devices))
	caps := map[[2]int]int64{}
	used := make([]int64, len(m.counters))
	add := func(items []ClaimItem) {
		for _, it := range items {
			if it.Admin {
				continue
			}
			count[it.Device]++
			for k, n := range it.Amounts {
				caps[[2]int{int(it.Device), k}] += n
			}
		}
	}
	for _, items := range m.live {
		add(items)
	}
	add(more)
	for d := range m.devices {
		dev := &m.devices[d]
		if count[d] > 1 && !dev.Many {
			return false
		}
		for k := range dev.Capacities {
			if caps[[2]int{d, k}] > dev.Capacities[k].Value {
				return false
			}
		}
		if count[d] > 0 {
			for _, w := range dev.Draws {
				used[w.Counter] += w.Amount
			}
		}
	}
	for c, n := range used {
		if n > m.counters[c] {
			return false
		}
	}
	return true
}

// possible tries everything.
func (m *claimTwin) possible(node int32, c *Claim, request int, have []ClaimItem) bool {
	if !m.fits(have) || !m.constraints(c, have) {
		return false
	}
	if request == len(c.Requests) {
		return true
	}
	r := &c.Requests[request]
	for k := range r.Alternatives {
		a := &r.Alternatives[k]
		var match []ClaimItem
		for d := range m.devices {
			dev := &m.devices[d]
			ok := dev.Nodes == nil || dev.Nodes[0]>>node&1 != 0
			for i := range a.Selectors {
				v := dev.Attr(a.Selectors[i].ID)
				ok = ok && v == a.Selectors[i].Value
			}
			for _, t := range dev.Taints {
				ok = ok && (t.Effect == TaintNone || len(a.Tolerations) > 0)
			}
			it := ClaimItem{Request: int32(request), Alternative: int32(k), Device: int32(d), Admin: r.Admin}
			if dev.Many && !r.Admin {
				for i := range dev.Capacities {
					n := dev.Capacities[i].Value
					for _, ask := range a.Capacities {
						if ask.ID == dev.Capacities[i].ID {
							n = ask.Amount
						}
					}
					it.Amounts = append(it.Amounts, n)
				}
			}
			for _, ask := range a.Capacities {
				cp := dev.Capacity(ask.ID)
				ok = ok && (r.Admin || cp != nil && ask.Amount <= cp.Value)
			}
			if ok {
				match = append(match, it)
			}
		}
		n := max(int(a.Count), 1)
		for mask := range 1 << len(match) {
			items := slices.Clone(have)
			bits := 0
			for i := range match {
				if mask>>i&1 != 0 {
					items = append(items, match[i])
					bits++
				}
			}
			if bits == n && m.possible(node, c, request+1, items) {
				return true
			}
		}
	}
	return false
}

func (m *claimTwin) constraints(c *Claim, items []ClaimItem) bool {
	for i := range c.Constraints {
		x := &c.Constraints[i]
		var values []Value
		for _, it := range items {
			if x.covers(int(it.Request)) {
				values = append(values, m.devices[it.Device].Attr(x.Attr))
			}
		}
		for a := range values {
			if values[a].Kind == NoValue {
				return false
			}
			for b := range a {
				if (values[a] == values[b]) == x.Distinct {
					return false
				}
			}
		}
	}
	return true
}

func drawInventory(t *rapid.T) ([]ClaimDevice, []int64) {
	counters := []int64{rapid.Int64Range(0, 6).Draw(t, "limit"), 4}
	var devices []ClaimDevice
	for i := range rapid.IntRange(1, 5).Draw(t, "devices") {
		d := ClaimDevice{Name: string(rune('a' + i))}
		if rapid.Bool().Draw(t, "somewhere") {
			d.Nodes = []uint64{uint64(rapid.IntRange(1, 3).Draw(t, "nodes"))}
		}
		for a := range AttrID(2) {
			if v := rapid.Int64Range(0, 2).Draw(t, "attr"); v > 0 {
				d.Attrs = append(d.Attrs, Attr{a, IntOf(v)})
			}
		}
		if rapid.Bool().Draw(t, "cap") {
			d.Capacities = []Capacity{{ID: 7, Value: rapid.Int64Range(1, 4).Draw(t, "value")}}
			d.Many = rapid.Bool().Draw(t, "many")
		}
		for c := range int32(2) {
			if n := rapid.Int64Range(0, 3).Draw(t, "draw"); n > 0 {
				d.Draws = append(d.Draws, Draw{c, n})
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "tainted") == 0 {
			d.Taints = []Taint{{Key: "x", Effect: TaintNoSchedule}}
		}
		devices = append(devices, d)
	}
	return devices, counters
}

func drawClaim(t *rapid.T) *Claim {
	c := &Claim{}
	for range rapid.IntRange(1, 2).Draw(t, "requests") {
		r := ClaimRequest{Admin: rapid.IntRange(0, 9).Draw(t, "admin") == 0}
		for range rapid.IntRange(1, 2).Draw(t, "alternatives") {
			a := Alternative{Count: rapid.Int32Range(0, 2).Draw(t, "count")}
			if v := rapid.Int64Range(0, 2).Draw(t, "select"); v > 0 {
				a.Selectors = []Selector{{ID: AttrID(rapid.IntRange(0, 1).Draw(t, "by")), Value: IntOf(v)}}
			}
			if rapid.IntRange(0, 2).Draw(t, "asks") == 0 {
				a.Capacities = []CapacityAsk{{7, rapid.Int64Range(1, 3).Draw(t, "ask")}}
			}
			if rapid.Bool().Draw(t, "tolerates") {
				a.Tolerations = []Toleration{{Key: "x"}}
			}
			r.Alternatives = append(r.Alternatives, a)
		}
		c.Requests = append(c.Requests, r)
	}
	if rapid.Bool().Draw(t, "constrained") {
		x := ClaimConstraint{Attr: AttrID(rapid.IntRange(0, 1).Draw(t, "on")), Distinct: rapid.Bool().Draw(t, "distinct")}
		if rapid.Bool().Draw(t, "one") {
			x.Requests = []int{0}
		}
		c.Constraints = append(c.Constraints, x)
	}
	return c
}

func TestClaimsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices, counters := drawInventory(t)
		v, err := NewInventory(devices, counters, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &claimTwin{devices, counters, map[AllocationID][]ClaimItem{}}
		empty := v.Hash()
		t.Repeat(map[string]func(*rapid.T){
			"allocate": func(t *rapid.T) {
				c, node := drawClaim(t), rapid.Int32Range(0, 1).Draw(t, "node")
				want := m.possible(node, c, 0, nil)
				before := v.Hash()
				if got := v.Fits(node, c); (got == ClaimFits) != want || v.Hash() != before {
					t.Fatalf("Fits = %v, want %v; hash %x, was %x", got, want, v.Hash(), before)
				}
				mark := v.Mark()
				id, why := v.Allocate(node, c)
				if (why == ClaimFits) != want {
					t.Fatalf("Allocate: %v, want %v", why, want)
				}
				if !want {
					if v.Hash() != before {
						t.Fatal("a refused claim leaves a trace")
					}
					return
				}
				items := slices.Clone(v.Items(id))
				if !m.fits(items) || !m.constraints(c, items) {
					t.Fatalf("the allocation breaks something: %+v", items)
				}
				for r := range c.Requests {
					n, alt := int32(0), int32(-1)
					for _, it := range items {
						if int(it.Request) == r {
							n++
							alt = it.Alternative
						}
					}
					if alt < 0 || n != max(c.Requests[r].Alternatives[alt].Count, 1) {
						t.Fatalf("request %d gets %d devices: %+v", r, n, items)
					}
				}
				if rapid.Bool().Draw(t, "take back") {
					v.Rollback(mark)
					if v.Hash() != before {
						t.Fatal("a rollback leaves a trace")
					}
					return
				}
				if _, ok := m.live[id]; ok {
					t.Fatalf("allocation %d is given twice", id)
				}
				m.live[id] = items
			},
			"release": func(t *rapid.T) {
				var ids []AllocationID
				for id := range AllocationID(len(v.allocs)) {
					if _, ok := m.live[id]; ok {
						ids = append(ids, id)
					}
				}
				if len(ids) == 0 {
					return
				}
				id := rapid.SampledFrom(ids).Draw(t, "allocation")
				mark, before := v.Mark(), v.Hash()
				if rapid.Bool().Draw(t, "tentative") {
					v.Release(id)
					v.Rollback(mark)
					if v.Hash() != before || v.Consumers(id) != 1 || !slices.EqualFunc(v.Items(id), m.live[id], func(a, b ClaimItem) bool { return a.Device == b.Device }) {
						t.Fatal("a release taken back leaves a trace")
					}
					return
				}
				if !v.Release(id) {
					t.Fatal("a single consumer is not the last")
				}
				delete(m.live, id)
			},
			"forget": func(*rapid.T) { v.Forget() },
			"": func(t *rapid.T) {
				if len(m.live) == 0 && v.Hash() != empty {
					t.Fatal("an empty inventory is not what it was")
				}
			},
		})
	})
}

func TestInventoryErrors(t *testing.T) {
	for name, d := range map[string][]ClaimDevice{
		"twice":    {{Name: "a"}, {Name: "a"}},
		"counter":  {{Name: "a", Draws: []Draw{{3, 1}}}},
		"negative": {{Name: "a", Draws: []Draw{{0, -1}}}},
		"default":  {{Name: "a", Capacities: []Capacity{{Value: 1, Default: 2}}}},
	} {
		if _, err := NewInventory(d, []int64{1}, nil, nil); err == nil {
			t.Errorf("%s: NewInventory succeeded", name)
		}
	}
}
