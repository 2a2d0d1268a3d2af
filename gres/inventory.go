package gres

import (
	"errors"
	"fmt"
	"slices"
)

// An AllocationID is the number of an allocation in an [Inventory]; numbers
// are given again after the allocation has ended for good.
type AllocationID int32

// An Inventory holds identified devices, what is allocated of them, and the
// counters that they share. It stands beside a [Pool], whose nodes it numbers
// alike: a claim is asked of the inventory, the rest of a request of the pool.
//
// Every change is logged until [Inventory.Forget]; [Inventory.Rollback] takes
// changes back, as in a pool. It is made by [NewInventory].
type Inventory struct {
	devices    []ClaimDevice
	classes    []DeviceClass
	predicates map[string]Predicate // looked up by name only
	wholeDraw  []int64              // by device: sum of its draws

	// use has, per device from off[i] on, the number of allocations and what
	// they take of each capacity, then the counters' use from counters on.
	use      []int64
	off      []int
	counters int
	limits   []int64
	hash     uint64

	allocs []allocation
	log    []claimLog
	search claimSearch
}

// An allocation is a claim that is satisfied.
type allocation struct {
	items     []ClaimItem
	tolerates [][]Toleration // by item
	consumers int32          // 0: not in use
	ended     bool           // since the last Forget
}

// A ClaimItem is one device of an allocation.
type ClaimItem struct {
	// Request and Alternative that it satisfies.
	Request, Alternative int32
	// Device by its index in the inventory.
	Device int32
	// Admin says that nothing is taken.
	Admin bool
	// Amounts taken of the device's capacities, in their order; nil if the
	// device is taken whole.
	Amounts []int64
}

// A claimLog is one change: a word of use that had a value, or the consumers
// of an allocation.
type claimLog struct {
	at    int // index in use; −1−id for an allocation
	value int64
}

// NewInventory returns an inventory of devices that share counters with the
// given limits. classes may be named by requests; of two with one Extended
// name the later wins. predicates are the registered conditions. Devices are
// copied; an error names the first that is wrong.
func NewInventory(devices []ClaimDevice, counters []int64, classes []DeviceClass, predicates map[string]Predicate) (*Inventory, error) {
	v := &Inventory{devices: slices.Clone(devices), classes: slices.Clone(classes), predicates: predicates, limits: slices.Clone(counters)}
	for i := range devices {
		d := &devices[i]
		for k := range i {
			if devices[k].Pool == d.Pool && devices[k].Name == d.Name {
				return nil, fmt.Errorf("gres: make inventory: device %q of pool %q: %w", d.Name, d.Pool, ErrDuplicate)
			}
		}
		var sum int64
		for _, w := range d.Draws {
			if w.Counter < 0 || int(w.Counter) >= len(counters) || w.Amount < 0 {
				return nil, fmt.Errorf("gres: make inventory: device %q draws %d of counter %d: %w", d.Name, w.Amount, w.Counter, ErrRange)
			}
			sum = SatAdd(sum, w.Amount)
		}
		for _, c := range d.Capacities {
			if c.Value < 0 || c.Default < 0 || c.Default > c.Value || c.Step < 0 {
				return nil, fmt.Errorf("gres: make inventory: device %q has capacity %d of %d: %w", d.Name, c.ID, c.Value, ErrRange)
			}
		}
		v.wholeDraw = append(v.wholeDraw, sum)
		v.off = append(v.off, len(v.use))
		v.use = append(v.use, make([]int64, 1+len(d.Capacities))...)
	}
	v.counters = len(v.use)
	v.use = append(v.use, make([]int64, len(counters))...)
	return v, nil
}

// Len returns the number of devices.
func (v *Inventory) Len() int { return len(v.devices) }

// Device returns device i. It aliases the inventory; do not change it.
func (v *Inventory) Device(i int32) *ClaimDevice { return &v.devices[i] }

// Class returns the class with the given name, nil if there is none.
func (v *Inventory) Class(name string) *DeviceClass {
	for i := len(v.classes) - 1; i >= 0; i-- {
		if v.classes[i].Name == name {
			return &v.classes[i]
		}
	}
	return nil
}

// ExtendedClaim returns the claim that count of an extended resource stands
// for: so many devices of the class that offers it. ok is false if no class
// does; the resource is then a matter of the node's shape.
func (v *Inventory) ExtendedClaim(resource string, count int32, charge Charge) (_ *Claim, ok bool) {
	for i := len(v.classes) - 1; i >= 0; i-- {
		if c := &v.classes[i]; resource != "" && c.Extended == resource {
			return &Claim{Requests: []ClaimRequest{{Name: resource, Alternatives: []Alternative{{Count: count, Class: c.Name, Charge: charge}}}}}, true
		}
	}
	return nil, false
}

// SetTaints replaces the taints of device i. It is not logged: a taint is a
// fact from outside.
func (v *Inventory) SetTaints(i int32, taints []Taint) { v.devices[i].Taints = slices.Clone(taints) }

// An Eviction says that an allocation must go because of a device.
type Eviction struct {
	Allocation AllocationID
	Device     int32
	Taint      Taint
}

// AppendEvictions appends the allocations that hold a device with a taint
// NoExecute that they do not tolerate, by number, the first such device each.
func (v *Inventory) AppendEvictions(dst []Eviction) []Eviction {
	for id := range v.allocs {
		a := &v.allocs[id]
		if a.consumers == 0 {
			continue
		}
	search:
		for k := range a.items {
			d := &v.devices[a.items[k].Device]
			for t := range d.Taints {
				if d.Taints[t].Effect == TaintNoExecute && !tolerated(a.tolerates[k], &d.Taints[t]) {
					dst = append(dst, Eviction{AllocationID(id), a.items[k].Device, d.Taints[t]})
					break search
				}
			}
		}
	}
	return dst
}

func tolerated(list []Toleration, t *Taint) bool {
	return slices.ContainsFunc(list, func(o Toleration) bool { return o.tolerates(t) })
}

// Items returns what an allocation holds. It aliases the inventory: valid
// until the allocation ends.
func (v *Inventory) Items(id AllocationID) []ClaimItem { return v.allocs[id].items }

// Consumers returns the number of consumers of an allocation, 0 if it ended.
func (v *Inventory) Consumers(id AllocationID) int { return int(v.allocs[id].consumers) }

// ErrNotShared says that an allocation cannot have a consumer on a node:
// returned by [Inventory.Share].
var ErrNotShared = errors.New("a device is not seen from the node")

// Share adds a consumer on node to an allocation, without a charge: the
// devices are taken once. It fails if the allocation has ended or the node
// does not see all devices.
func (v *Inventory) Share(id AllocationID, node int32) error {
	a := &v.allocs[id]
	for k := range a.items {
		if !v.sees(node, a.items[k].Device) {
			return fmt.Errorf("gres: share allocation %d on node %d: %w", id, node, ErrNotShared)
		}
	}
	if a.consumers == 0 {
		return fmt.Errorf("gres: share allocation %d: it has ended: %w", id, ErrNotShared)
	}
	v.setConsumers(id, a.consumers+1)
	return nil
}

// Release takes a consumer off an allocation; with the last one its devices
// are free, and last is true. It panics if the allocation has ended.
func (v *Inventory) Release(id AllocationID) (last bool) {
	a := &v.allocs[id]
	if a.consumers == 0 {
		panic("gres: release of an allocation that has ended")
	}
	if a.consumers > 1 {
		v.setConsumers(id, a.consumers-1)
		return false
	}
	for k := range a.items {
		v.book(&a.items[k], -1)
	}
	v.setConsumers(id, 0)
	return true
}

// setConsumers stores and logs the number of consumers.
func (v *Inventory) setConsumers(id AllocationID, n int32) {
	a := &v.allocs[id]
	v.log = append(v.log, claimLog{-1 - int(id), int64(a.consumers)})
	v.countConsumers(id, n)
}

func (v *Inventory) countConsumers(id AllocationID, n int32) {
	a := &v.allocs[id]
	v.hash += mix(uint64(id)<<32|uint64(n)) - mix(uint64(id)<<32|uint64(a.consumers))
	a.consumers, a.ended = n, n == 0
}

// set stores and logs a word of use.
func (v *Inventory) set(at int, value int64) {
	v.log = append(v.log, claimLog{at, v.use[at]})
	v.put(at, value)
}

func (v *Inventory) put(at int, value int64) {
	v.hash += mix(uint64(at)*0x9e3779b97f4a7c15^uint64(value)) - mix(uint64(at)*0x9e3779b97f4a7c15^uint64(v.use[at]))
	v.use[at] = value
}

// Mark returns a point to which Rollback can return.
func (v *Inventory) Mark() int { return len(v.log) }

// Rollback undoes all changes since mark, newest first. It cannot fail.
func (v *Inventory) Rollback(mark int) {
	for i := len(v.log) - 1; i >= mark; i-- {
		if r := v.log[i]; r.at >= 0 {
			v.put(r.at, r.value)
		} else {
			v.countConsumers(AllocationID(-1-r.at), int32(r.value))
		}
	}
	v.log = v.log[:mark]
}

// Forget makes all changes so far final and ends all marks; numbers of ended
// allocations may be given again.
func (v *Inventory) Forget() {
	v.log = v.log[:0]
	for id := range v.allocs {
		v.allocs[id].ended = false
	}
}

// Hash depends on what is allocated and nothing else.
func (v *Inventory) Hash() uint64 { return v.hash }

// sees reports whether node sees device d.
func (v *Inventory) sees(node, d int32) bool {
	w := v.devices[d].Nodes
	return w == nil || int(node>>6) < len(w) && w[node>>6]>>(node&63)&1 != 0
}

// book takes an item (sign 1) or gives it back (−1).
func (v *Inventory) book(it *ClaimItem, sign int64) {
	if it.Admin {
		return
	}
	d, o := &v.devices[it.Device], v.off[it.Device]
	v.set(o, v.use[o]+sign)
	for k, n := range it.Amounts {
		v.set(o+1+k, v.use[o+1+k]+sign*n)
	}
	for _, w := range d.Draws {
		// A device that is allocated many times draws once.
		if first := v.use[o] == (1+sign)/2; first {
			at := v.counters + int(w.Counter)
			v.set(at, v.use[at]+sign*w.Amount)
		}
	}
}
