package gres

import (
	"math/bits"
	"slices"
)

// A PartitionModel is a kind of device that is cut into instances while it is
// in use: NVIDIA's MIG. An instance of a profile covers a run of memory slices
// from one of the profile's starts and some compute slices; both are counters
// that may not be overdrawn (Kubernetes: sharedCounters, consumesCounters).
//
// Source: NVIDIA MIG User Guide, supported profiles; nvidia-smi mig -lgipp.
type PartitionModel struct {
	// Name of the device, as [PartitionModelByName] finds it.
	Name string
	// MemorySlices and ComputeSlices of the whole device, at most 8.
	MemorySlices, ComputeSlices int
	// Profiles, at most 15.
	Profiles []PartitionProfile
}

// A PartitionProfile is a size in which a partitionable device can be had.
type PartitionProfile struct {
	// Name as the driver says it: "1g.10gb". With "mig-" before it, it is the
	// resource name of Kubernetes' mixed strategy.
	Name string
	// Compute slices and memory slices that an instance takes.
	Compute, Memory int
	// Starts are the memory slices at which an instance may begin, bit by bit.
	Starts uint8
	// Most is how many instances a device can have.
	Most int
	// MiB of memory of an instance.
	MiB int64
}

// A PartitionState is what a device is cut into: by memory slice at which an
// instance begins, its profile plus 1, in four bits; 32 bits for instances in
// use, above them 32 bits for instances that exist and are idle. Zero is a
// whole, idle device.
type PartitionState uint64

// A PartitionPlace is an instance: a profile at a start.
type PartitionPlace struct {
	Profile, Start uint8
}

// at returns the instance that begins at slice i, as profile plus 1.
func (w PartitionState) at(i int) int { return int(w >> (4 * i) & 15) }

// idleAt is at for idle instances.
func (w PartitionState) idleAt(i int) int { return int(w >> (32 + 4*i) & 15) }

// Held returns w without its idle instances: what is in use.
func (w PartitionState) Held() PartitionState { return w & (1<<32 - 1) }

// load returns the memory slices in use and the compute slices in use.
func (m *PartitionModel) load(w PartitionState) (memory uint8, compute int) {
	for i := range m.MemorySlices {
		if k := w.at(i); k > 0 {
			memory |= m.cover(k-1, i)
			compute += m.Profiles[k-1].Compute
		}
	}
	return memory, compute
}

// cover returns the memory slices of an instance.
func (m *PartitionModel) cover(profile, start int) uint8 {
	return uint8((1<<m.Profiles[profile].Memory - 1) << start)
}

// count returns how many instances of profile are in use.
func (m *PartitionModel) count(w PartitionState, profile int) int {
	n := 0
	for i := range m.MemorySlices {
		if w.at(i) == profile+1 {
			n++
		}
	}
	return n
}

// Room returns how many more instances of profile a device in state w can
// hold, whatever idle instances it has.
func (m *PartitionModel) Room(w PartitionState, profile int) int {
	memory, compute := m.load(w)
	return m.room(memory, compute, m.count(w, profile), profile)
}

// room counts starts from below: instances of one size that do not overlap
// are most if each begins as early as it can.
func (m *PartitionModel) room(memory uint8, compute, have, profile int) int {
	p := &m.Profiles[profile]
	n, most := 0, min((m.ComputeSlices-compute)/p.Compute, p.Most-have)
	for s := p.Starts; s != 0 && n < most; s &= s - 1 {
		c := m.cover(profile, bits.TrailingZeros8(s))
		if memory&c == 0 {
			memory |= c
			n++
		}
	}
	return max(n, 0)
}

// worth values what a device can still become: for each profile the instances
// it has room for, by their memory. A placement that costs least of it keeps
// the largest profiles possible. A variant of an earlier profile (with media
// extensions) adds nothing.
func (m *PartitionModel) worth(w PartitionState) int {
	memory, compute := m.load(w)
	sum := 0
	for k := range m.Profiles {
		p := &m.Profiles[k]
		if k > 0 && p.Compute == m.Profiles[k-1].Compute && p.Memory == m.Profiles[k-1].Memory {
			continue
		}
		sum += m.room(memory, compute, m.count(w, k), k) * p.Memory * p.Memory
	}
	return sum
}

// fits reports whether an instance may begin at start.
func (m *PartitionModel) fits(w PartitionState, profile, start int) bool {
	p := &m.Profiles[profile]
	memory, compute := m.load(w)
	return p.Starts>>start&1 != 0 && memory&m.cover(profile, start) == 0 &&
		compute+p.Compute <= m.ComputeSlices && m.count(w, profile) < p.Most
}

// Place chooses where on one of devices an instance of profile goes so that
// least of what they could still become is lost; on ties the lowest device,
// there where it exists idle already, then the lowest start. ok is false if
// there is no room. O(devices · starts · profiles).
func (m *PartitionModel) Place(devices []PartitionState, profile int) (device int, place PartitionPlace, ok bool) {
	return m.place(devices, nil, profile)
}

// place is Place on the devices with usable[i] not 0; nil is all.
func (m *PartitionModel) place(devices []PartitionState, usable []int64, profile int) (device int, place PartitionPlace, ok bool) {
	best, bestIdle := 0, false
	for d, w := range devices {
		if usable != nil && usable[d] == 0 {
			continue
		}
		worth := -1
		for s := m.Profiles[profile].Starts; s != 0; s &= s - 1 {
			start := bits.TrailingZeros8(s)
			if !m.fits(w, profile, start) {
				continue
			}
			if worth < 0 {
				worth = m.worth(w)
			}
			loss := worth - m.worth(w.Held()|PartitionState(profile+1)<<(4*start))
			idle := w.idleAt(start) == profile+1
			if !ok || loss < best || loss == best && device == d && idle && !bestIdle {
				device, place, ok = d, PartitionPlace{uint8(profile), uint8(start)}, true
				best, bestIdle = loss, idle
			}
		}
	}
	return device, place, ok
}

// Take returns the state after an instance goes into use at place, which must
// fit. changed says that the device must be cut anew for it: the instance did
// not exist, and idle ones in its way go. Instances in use are never touched.
func (m *PartitionModel) Take(w PartitionState, place PartitionPlace) (_ PartitionState, changed bool) {
	k, start := int(place.Profile), int(place.Start)
	changed = w.idleAt(start) != k+1
	cover := m.cover(k, start)
	_, compute := m.load(w)
	compute += m.Profiles[k].Compute
	w |= PartitionState(k+1) << (4 * start)
	if !changed {
		return w &^ (15 << (32 + 4*start)), false
	}
	// Idle instances stay as far as slices last, from below.
	for i := range m.MemorySlices {
		j := w.idleAt(i)
		if j == 0 {
			continue
		}
		if c := m.Profiles[j-1].Compute; m.cover(j-1, i)&cover != 0 || compute+c > m.ComputeSlices {
			w &^= 15 << (32 + 4*i)
		} else {
			compute += c
		}
	}
	return w, true
}

// Give returns the state after the instance at place went out of use. It stays
// as an idle one.
func (m *PartitionModel) Give(w PartitionState, place PartitionPlace) PartitionState {
	at := 4 * int(place.Start)
	return w&^(15<<at) | PartitionState(place.Profile+1)<<(32+at)
}

// AppendPlaces appends the instances of w, in use and idle, by start.
func (m *PartitionModel) AppendPlaces(dst []PartitionPlace, w PartitionState) []PartitionPlace {
	for i := range m.MemorySlices {
		if k := w.at(i) | w.idleAt(i); k > 0 {
			dst = append(dst, PartitionPlace{uint8(k - 1), uint8(i)})
		}
	}
	return dst
}

// Profile returns the number of the profile with the given name, with or
// without "mig-" in front; ok is false if there is none.
func (m *PartitionModel) Profile(name string) (_ int, ok bool) {
	if len(name) > 4 && name[:4] == "mig-" {
		name = name[4:]
	}
	k := slices.IndexFunc(m.Profiles, func(p PartitionProfile) bool { return p.Name == name })
	return max(k, 0), k >= 0
}

// valid reports whether a state could have come about by Take and Give.
func (m *PartitionModel) valid(w PartitionState) bool {
	var memory uint8
	compute := 0
	for i := range 8 {
		a, b := w.at(i), w.idleAt(i)
		k := a | b
		if k == 0 {
			continue
		}
		if a != 0 && b != 0 || k > len(m.Profiles) || m.Profiles[k-1].Starts>>i&1 == 0 || memory&m.cover(k-1, i) != 0 {
			return false
		}
		memory |= m.cover(k-1, i)
		compute += m.Profiles[k-1].Compute
	}
	return compute <= m.ComputeSlices
}
