package gres

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// How partitioned devices live in a shape, its rows and grants: one word of
// [PartitionState] a device; a request names a profile as the type of its need,
// a grant names device, profile and start.

// validatePartition returns the first problem of a partitioned group.
func (g *GroupConfig) validatePartition() error {
	m := g.Partition
	switch {
	case g.Over != 0 || g.Flags&(Divisible|NoConsume|OneSharing|OneUnit) != 0:
		return errors.New("a partitioned group cannot be shared or divided otherwise")
	case len(g.Devices) == 0:
		return errors.New("a partitioned group needs devices")
	case len(m.Profiles) == 0 || len(m.Profiles) > 15 || len(g.Profiles) != len(m.Profiles):
		return fmt.Errorf("%d types for %d profiles: want one each, at most 15", len(g.Profiles), len(m.Profiles))
	case m.MemorySlices < 1 || m.MemorySlices > 8 || m.ComputeSlices < 1 || m.ComputeSlices > 8:
		return fmt.Errorf("%d memory and %d compute slices: want 1 to 8", m.MemorySlices, m.ComputeSlices)
	}
	for k, p := range m.Profiles {
		if p.Compute < 1 || p.Memory < 1 || p.Most < 1 || p.Starts == 0 || bits.Len8(p.Starts)-1+p.Memory > m.MemorySlices {
			return fmt.Errorf("profile %q: does not fit the device", p.Name)
		}
		if g.Profiles[k] == 0 || slices.Contains(g.Profiles[:k], g.Profiles[k]) {
			return fmt.Errorf("profile %q: no type of its own", p.Name)
		}
	}
	if g.Plain != 0 && !slices.Contains(g.Profiles, g.Plain) {
		return errors.New("the plain profile is none of the model")
	}
	return nil
}

// cutGroup makes g a partitioned group.
func (s *Shape) cutGroup(g *group, c *GroupConfig) {
	m := *c.Partition
	m.Profiles = slices.Clone(m.Profiles)
	g.part, g.byUnits, g.plain = &m, true, c.Plain
	g.types = slices.Clone(c.Profiles)
	for i := range g.devs {
		g.devs[i].typ, g.devs[i].units = 0, int64(m.MemorySlices)
	}
}

// profile returns the number of the profile with type t, −1 if there is none.
func (g *group) profile(t TypeID) int {
	if t == 0 {
		t = g.plain
	}
	return slices.Index(g.types, t)
}

// placeOf returns the instance of a grant.
func (g *group) placeOf(d *DeviceGrant) PartitionPlace {
	return PartitionPlace{uint8(g.profile(d.Type)), d.Start}
}

// roomOf returns how many instances of the profile t a node could still give;
// row nil is an idle node. Without a type it is the most of any profile.
func (s *Shape) roomOf(g *group, row []uint64, t TypeID) int64 {
	best := int64(0)
	if t == 0 {
		t = g.plain
	}
	for k := range g.types {
		if t != 0 && g.types[k] != t {
			continue
		}
		var n int64
		for d := range g.devs {
			w := PartitionState(0)
			if row != nil {
				w = PartitionState(row[g.off+d])
			}
			n += int64(g.part.Room(w, k))
		}
		best = max(best, n)
	}
	return best
}

// PartitionState returns what device d of the partitioned group g is cut into.
func (s *Shape) PartitionState(row []uint64, g, d int) PartitionState {
	return PartitionState(row[s.groups[g].off+d])
}

// onlyIdleInstances reports whether word i of a row, with value w, says no
// more than that instances exist idle.
func (s *Shape) onlyIdleInstances(i int, w uint64) bool {
	for k := range s.groups {
		if g := &s.groups[k]; g.part != nil && i >= g.off && i < g.off+len(g.devs) {
			return PartitionState(w).Held() == 0
		}
	}
	return false
}

// instances returns how many instances of need d device k could still hold.
func (g *group) instances(row []uint64, r *Request, d *Need, k int) (int64, Refusal) {
	p := g.profile(d.Type)
	if p < 0 || d.Milli > 0 {
		return 0, RefuseWrongType
	}
	w := PartitionState(row[g.off+k])
	if g.owner >= 0 && w.Held() != 0 && row[g.owner+k] != r.Owner.word(g.scope) {
		return 0, RefuseScope
	}
	if n := g.part.Room(w, p); n > 0 {
		return int64(n), RefuseNone
	}
	return 0, RefuseNotEnough
}

// instances places n instances of the need on the usable devices, one after
// the other, each so that least is lost, and adds them to g.
func (pk *picker) instances(g *Grant, row []uint64, n int64) Refusal {
	gr := pk.gr
	p := gr.profile(pk.d.Type)
	states := pk.s.sel.parts[:0]
	for d := range gr.devs {
		states = append(states, PartitionState(row[gr.off+d]))
	}
	pk.s.sel.parts = states
	// What other needs of this request took on the same devices.
	for i := range g.Devices {
		if e := &g.Devices[i]; &pk.sh.groups[e.Group] == gr {
			states[e.Device], _ = gr.part.Take(states[e.Device], gr.placeOf(e))
		}
	}
	for ; n > 0; n-- {
		d, place, ok := gr.part.place(states, pk.p.units, p)
		if !ok {
			return RefuseNotEnough
		}
		var recut bool
		states[d], recut = gr.part.Take(states[d], place)
		pk.s.sel.jobTaken[pk.need]++
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(pk.p.group), Type: gr.types[p], Device: int16(d), Start: place.Start, Recut: recut, Units: 1})
	}
	return RefuseNone
}

// Recuts reports whether devices must be cut anew before the job can start.
func (g *Grant) Recuts() bool {
	for i := range g.Devices {
		if g.Devices[i].Recut {
			return true
		}
	}
	return false
}

// checkInstance is checkDevice for an instance.
func (s *Shape) checkInstance(row []uint64, g *Grant, i int) error {
	d := &g.Devices[i]
	gr := &s.groups[d.Group]
	p := gr.profile(d.Type)
	if p < 0 || d.Device < 0 || int(d.Device) >= len(gr.devs) || d.Start > 7 || d.Units != 1 {
		return fmt.Errorf("gres: check grant: device %d has no such instance: %w", d.Device, ErrGrant)
	}
	w := PartitionState(row[gr.off+int(d.Device)])
	if gr.owner >= 0 && w.Held() != 0 && row[gr.owner+int(d.Device)] != g.Owner.word(gr.scope) {
		return fmt.Errorf("gres: check grant: device %d belongs to another %s: %w", d.Device, gr.scope, ErrGrant)
	}
	for j := range g.Devices[:i] {
		if o := &g.Devices[j]; o.Group == d.Group && o.Device == d.Device {
			w, _ = gr.part.Take(w, gr.placeOf(o))
		}
	}
	if !gr.part.fits(w, p, int(d.Start)) {
		return fmt.Errorf("gres: check grant: device %d has no room at slice %d: %w", d.Device, d.Start, ErrGrant)
	}
	return nil
}

// union returns a state in which at least the slices of both are in use: the
// smallest instances stand for them. What fits on it fits beside either.
func (m *PartitionModel) union(a, b PartitionState) PartitionState {
	switch {
	case a.Held() == b.Held() || b.Held() == 0:
		return a
	case a.Held() == 0:
		return b
	}
	ma, _ := m.load(a)
	mb, _ := m.load(b)
	cover := ma | mb
	least := m.Profiles[0].Memory
	for k := range m.Profiles {
		least = min(least, m.Profiles[k].Memory)
	}
	// Variants are limited in number, so theirs come first; the plain ones
	// fill what is left.
	var w PartitionState
	for k := len(m.Profiles) - 1; k >= 0; k-- {
		if m.Profiles[k].Memory != least {
			continue
		}
		n := max(m.count(a, k), m.count(b, k))
		if k == 0 {
			n = 8
		}
		for ; n > 0 && cover != 0; n-- {
			w |= PartitionState(k+1) << (4 * bits.TrailingZeros8(cover))
			cover &= cover - 1
		}
	}
	return w
}

// appendInstances appends ":1g.10gb:2(IDX:0@4,0@5)": device and start of each
// instance of a run.
func appendInstances(dst []byte, t *DeviceTable, run []DeviceGrant) []byte {
	dst = append(dst, ':')
	dst = append(dst, t.Type(run[0].Type)...)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, int64(len(run)), 10)
	dst = append(dst, "(IDX:"...)
	for i := range run {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(run[i].Device), 10)
		dst = append(dst, '@')
		dst = strconv.AppendInt(dst, int64(run[i].Start), 10)
	}
	return append(dst, ')')
}

// appendUsedInstances appends the instances of a node in use, profile by
// profile; "gpu:0" if there are none.
func (s *Shape) appendUsedInstances(dst []byte, t *DeviceTable, row []uint64, g int) []byte {
	gr := &s.groups[g]
	start := len(dst)
	for p, typ := range gr.types {
		var run []DeviceGrant
		for d := range gr.devs {
			for i := range 8 {
				if s.PartitionState(row, g, d).at(i) == p+1 {
					run = append(run, DeviceGrant{Type: typ, Device: int16(d), Start: uint8(i)})
				}
			}
		}
		if len(run) > 0 {
			dst = appendInstances(append(appendSep(dst, start), t.Name(gr.name)...), t, run)
		}
	}
	if len(dst) == start {
		dst = append(append(dst, t.Name(gr.name)...), ":0"...)
	}
	return dst
}

// parseInstances reads what appendInstances wrote between the brackets.
func parseInstances(dst []DeviceGrant, gr *group, e DeviceGrant, in string, at int) ([]DeviceGrant, int, error) {
	list, ok := strings.CutPrefix(in, "IDX:")
	if !ok || gr.profile(e.Type) < 0 {
		return dst, at, ErrSyntax
	}
	at += 4
	for item := range strings.SplitSeq(list, ",") {
		device, start, ok := strings.Cut(item, "@")
		d, err := strconv.ParseUint(device, 10, 15)
		i, err2 := strconv.ParseUint(start, 10, 8)
		switch {
		case !ok || err != nil || err2 != nil:
			return dst, at, ErrSyntax
		case int(d) >= len(gr.devs) || i > 7:
			return dst, at, ErrRange
		}
		e.Device, e.Start, e.Units = int16(d), uint8(i), 1
		dst = append(dst, e)
		at += len(item) + 1
	}
	return dst, 0, nil
}

// AppendIdle appends the instances of node that exist and are not in use, as
// grants of one each, by group, device and start. They are what [Pool.AddIdle]
// takes.
func (p *Pool) AppendIdle(dst []DeviceGrant, node int32) []DeviceGrant {
	sh, row := p.Shape(node), p.Row(node)
	if sh == nil {
		return dst
	}
	for k := range sh.groups {
		g := &sh.groups[k]
		if g.part == nil {
			continue
		}
		for d := range g.devs {
			w := PartitionState(row[g.off+d])
			for i := range g.part.MemorySlices {
				if at := w.idleAt(i); at > 0 {
					dst = append(dst, DeviceGrant{Group: uint16(k), Type: g.types[at-1], Device: int16(d), Start: uint8(i), Units: 1})
				}
			}
		}
	}
	return dst
}

// AddIdle says that an instance exists on node and is not in use, and reports
// whether that can be; if not, nothing changes. It allocates.
func (p *Pool) AddIdle(node int32, d *DeviceGrant) bool {
	if node < 0 || int(node) >= p.Len() {
		return false
	}
	sh := p.Shape(node)
	if sh == nil || int(d.Group) >= len(sh.groups) || sh.groups[d.Group].part == nil {
		return false
	}
	g := &sh.groups[d.Group]
	k := g.profile(d.Type)
	if k < 0 || d.Device < 0 || int(d.Device) >= len(g.devs) || d.Start > 7 {
		return false
	}
	row := slices.Clone(p.Row(node))
	w := &row[g.off+int(d.Device)]
	before := PartitionState(*w)
	if !g.part.fits(before, k, int(d.Start)) {
		return false
	}
	state, _ := g.part.Take(before, g.placeOf(d))
	state = g.part.Give(state, g.placeOf(d))
	if len(g.part.AppendPlaces(nil, state)) != len(g.part.AppendPlaces(nil, before))+1 {
		return false // it would displace another
	}
	*w = uint64(state)
	p.SetRow(node, row)
	return true
}

// SameUse reports whether rows a and b say that the same is in use, whatever
// instances exist idle.
func (s *Shape) SameUse(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] && !s.sameHeld(i, a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameHeld reports whether word i of a row is the state of a device that is
// cut, and a and b have the same instances in use.
func (s *Shape) sameHeld(i int, a, b uint64) bool {
	for k := range s.groups {
		if g := &s.groups[k]; g.part != nil && i >= g.off && i < g.off+len(g.devs) {
			return PartitionState(a).Held() == PartitionState(b).Held()
		}
	}
	return false
}

// GrantMilli returns what d takes of whole devices, in thousandths: its units,
// or of a device that is divided or cut, its part of it.
func (s *Shape) GrantMilli(d *DeviceGrant) int64 {
	g := &s.groups[d.Group]
	switch {
	case g.part != nil:
		return d.Units * 1000 * int64(g.part.Profiles[g.profile(d.Type)].Memory) / int64(g.part.MemorySlices)
	case d.Device >= 0 && g.flags&Divisible != 0:
		return d.Units * 1000 / g.devs[d.Device].units
	}
	return d.Units * 1000
}

// WholeDevices returns the number of devices of group g, the count of one
// without devices.
func (s *Shape) WholeDevices(g int) int64 {
	if n := len(s.groups[g].devs); n > 0 && s.groups[g].over < 0 {
		return int64(n)
	}
	return s.groups[g].count
}
