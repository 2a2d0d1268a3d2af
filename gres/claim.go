package gres

import "slices"

// A claim asks for identified devices by what they are, as Kubernetes' dynamic
// resource allocation does. How its objects map:
//
//	ResourceSlice, Device     [ClaimDevice], with the nodes that see it
//	attributes, capacities    [Attr], [Capacity] with its request policy
//	sharedCounters            counters of [NewInventory], drawn by [Draw]
//	device taints             [Taint]; tolerations in an [Alternative]
//	DeviceClass               [DeviceClass]: selectors added to each request
//	extendedResourceName      [Inventory.ExtendedClaim]
//	ResourceClaim             [Claim]
//	request, exactly          [ClaimRequest] with one alternative
//	request, firstAvailable   [ClaimRequest] with several, in order
//	mode All, adminAccess     [Alternative].All, [ClaimRequest].Admin
//	matchAttribute,           [ClaimConstraint]
//	distinctAttribute
//	CEL selector              [Selector]s, or a [Predicate] under a name
//	reservedFor               [Inventory.Share], [Inventory.Release]
//
// Source: spec/quota.md 11.

// An AttrID is the number of an attribute, a capacity or a counter, given by
// the caller: an index in its own table of names.
type AttrID uint16

// A ValueKind says what a [Value] is.
type ValueKind uint8

const (
	NoValue ValueKind = iota
	BoolValue
	IntValue
	StringValue
	VersionValue
)

// A Value is a typed attribute value. Compare values with [Value.Compare].
type Value struct {
	Kind ValueKind
	// Int is the number, 1 or 0 for a bool, or a version as
	// major<<40 | minor<<20 | patch.
	Int  int64
	Text string
}

// IntOf returns an int value.
func IntOf(n int64) Value { return Value{Kind: IntValue, Int: n} }

// BoolOf returns a bool value.
func BoolOf(b bool) Value {
	v := Value{Kind: BoolValue}
	if b {
		v.Int = 1
	}
	return v
}

// TextOf returns a string value.
func TextOf(s string) Value { return Value{Kind: StringValue, Text: s} }

// VersionOf returns a version value; each part is at most 2²⁰−1.
func VersionOf(major, minor, patch int64) Value {
	return Value{Kind: VersionValue, Int: major<<40 | minor<<20 | patch}
}

// Compare returns −1, 0 or 1, and false if the kinds differ.
func (v Value) Compare(o Value) (_ int, ok bool) {
	if v.Kind != o.Kind || v.Kind == NoValue {
		return 0, false
	}
	a, b := v.Int, o.Int
	if v.Kind == StringValue {
		switch {
		case v.Text < o.Text:
			return -1, true
		case v.Text > o.Text:
			return 1, true
		}
		return 0, true
	}
	switch {
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	}
	return 0, true
}

// An Attr is an attribute of a device.
type Attr struct {
	ID    AttrID
	Value Value
}

// A Capacity is an amount that a device has, of which each allocation takes a
// part if the device may be allocated more than once.
type Capacity struct {
	ID    AttrID
	Value int64
	// Default is taken if a request does not say; 0 is all of Value.
	Default int64
	// Min, Max and Step round what is asked up to Min + k·Step, at most Max;
	// 0 is no bound. Valid, ascending, are the only amounts if not empty.
	Min, Max, Step int64
	Valid          []int64
}

// Round returns what an allocation takes that asks for n, 0 for the default;
// ok is false if no valid amount is large enough.
//
// Source: spec/quota.md 11.2, requestPolicy.
func (c *Capacity) Round(n int64) (_ int64, ok bool) {
	if n == 0 {
		if n = c.Default; n == 0 {
			n = c.Value
		}
		return n, n <= c.Value
	}
	if len(c.Valid) > 0 {
		i, _ := slices.BinarySearch(c.Valid, n)
		if i == len(c.Valid) {
			return 0, false
		}
		n = c.Valid[i]
	} else {
		n = max(n, c.Min)
		if over := n - c.Min; c.Step > 0 && over%c.Step != 0 {
			n += c.Step - over%c.Step
		}
		if c.Max > 0 && n > c.Max {
			return 0, false
		}
	}
	return n, n <= c.Value
}

// A Draw is what allocating a device takes of a shared counter: a partition
// and the whole draw on the same ones.
type Draw struct {
	Counter int32
	Amount  int64
}

// A TaintEffect says what a taint does to who does not tolerate it.
type TaintEffect uint8

const (
	TaintNone TaintEffect = iota
	// TaintNoSchedule: no new allocation.
	TaintNoSchedule
	// TaintNoExecute: no new allocation, and what runs is evicted.
	TaintNoExecute
)

// A Taint marks a device as unfit for most.
type Taint struct {
	Key, Value string
	Effect     TaintEffect
}

// A Toleration lets a request use devices with matching taints. Empty Key is
// every key, empty Value every value, TaintNone every effect.
type Toleration struct {
	Key, Value string
	Effect     TaintEffect
}

func (t *Toleration) tolerates(x *Taint) bool {
	return (t.Key == "" || t.Key == x.Key) && (t.Value == "" || t.Value == x.Value) && (t.Effect == TaintNone || t.Effect == x.Effect)
}

// A ClaimDevice is a device of an [Inventory].
type ClaimDevice struct {
	// Pool and Name identify it.
	Pool, Name string
	// Nodes that see the device, as words in node order; nil is all nodes. A
	// device on a fabric is seen by several.
	Nodes      []uint64
	Attrs      []Attr
	Capacities []Capacity
	Draws      []Draw
	// Many says that the device may be allocated many times while capacities
	// last.
	Many   bool
	Taints []Taint
}

// Attr returns the value of an attribute, NoValue if the device lacks it.
func (d *ClaimDevice) Attr(id AttrID) Value {
	for i := range d.Attrs {
		if d.Attrs[i].ID == id {
			return d.Attrs[i].Value
		}
	}
	return Value{}
}

// Capacity returns a capacity of the device, nil if it lacks it.
func (d *ClaimDevice) Capacity(id AttrID) *Capacity {
	for i := range d.Capacities {
		if d.Capacities[i].ID == id {
			return &d.Capacities[i]
		}
	}
	return nil
}

// A SelectOp compares in a [Selector].
type SelectOp uint8

const (
	SelectEqual SelectOp = iota
	SelectNotEqual
	SelectAtLeast
	SelectAtMost
	SelectExists
	// SelectCapacity asks for a capacity of at least the value, an int.
	SelectCapacity
)

// A Selector is a condition on a device. A device that lacks the attribute
// does not meet it, whatever the operator.
type Selector struct {
	ID    AttrID
	Op    SelectOp
	Value Value
}

func (s *Selector) meets(d *ClaimDevice) bool {
	if s.Op == SelectCapacity {
		c := d.Capacity(s.ID)
		return c != nil && c.Value >= s.Value.Int
	}
	v := d.Attr(s.ID)
	if s.Op == SelectExists {
		return v.Kind != NoValue
	}
	c, ok := v.Compare(s.Value)
	if !ok {
		return false
	}
	switch s.Op {
	case SelectNotEqual:
		return c != 0
	case SelectAtLeast:
		return c >= 0
	case SelectAtMost:
		return c <= 0
	}
	return c == 0
}

// A Predicate says whether a device meets a condition that selectors cannot
// express; the caller registers it under a name (a compiled CEL expression,
// say). It must depend on nothing but the device. An error makes the whole
// claim infeasible where the device is seen.
type Predicate func(d *ClaimDevice) (bool, error)

// A DeviceClass is a named template: its selectors are added to those of each
// request that names it.
type DeviceClass struct {
	Name string
	// Extended is the resource name that asks for devices of the class, ""
	// for none.
	Extended  string
	Selectors []Selector
	Predicate string
}

// A Claim is a set of requests that are satisfied together or not at all.
type Claim struct {
	Requests    []ClaimRequest
	Constraints []ClaimConstraint
}

// A ClaimRequest asks for one of its alternatives, the first that works.
type ClaimRequest struct {
	Name         string
	Alternatives []Alternative
	// Admin looks at devices without taking them: it is granted whatever is
	// allocated, and charged nothing.
	Admin bool
}

// An Alternative asks for devices of one form.
type Alternative struct {
	// Count of devices, 0 is one. All asks for every matching device instead,
	// of which there must be one, and none in use.
	Count int32
	All   bool
	// Class names a [DeviceClass], "" none.
	Class     string
	Selectors []Selector
	// Predicate names a registered condition, "" none.
	Predicate string
	// Capacities asked of each device; an ID that the device lacks excludes
	// it.
	Capacities  []CapacityAsk
	Tolerations []Toleration
	// Charge says how the alternative counts against quotas.
	Charge Charge
}

// A CapacityAsk asks for an amount of a capacity on each device.
type CapacityAsk struct {
	ID     AttrID
	Amount int64
}

// A ClaimConstraint binds the devices of several requests, by index; no index
// is all requests.
type ClaimConstraint struct {
	Requests []int
	Attr     AttrID
	// Distinct asks for different values; otherwise all are equal. A device
	// without the attribute does not do.
	Distinct bool
}

func (c *ClaimConstraint) covers(request int) bool {
	return len(c.Requests) == 0 || slices.Contains(c.Requests, request)
}

// A ChargeBy says what is counted.
type ChargeBy uint8

const (
	ChargeNothing ChargeBy = iota
	// ChargeDevices counts devices.
	ChargeDevices
	// ChargeCounter counts what the devices draw of a counter.
	ChargeCounter
	// ChargeCapacity counts what is taken of a capacity, rounded.
	ChargeCapacity
)

// A Charge says which kind of a schema an alternative is charged to, and what
// is counted.
type Charge struct {
	Kind Kind
	By   ChargeBy
	// ID of the capacity or counter.
	ID int32
}
