package gres

import "slices"

// An index says which nodes have at least so much free of each key: CPUs, and
// per device name, and per name and type, devices or units in all and units on
// one device. Amounts are cut into levels: level l of a key holds the nodes
// with at least levels[l] free, so the sets are a superset of what fits and
// are kept by comparing the levels of a node's old and new state.
type index struct {
	nodes int
	keys  []indexKey
	parts [][]shapeKey // by shape: how its keys are counted
}

// An indexKey is one thing that is counted; its sets are one per level.
type indexKey struct {
	name   NameID // 0: CPUs, in thousandths, or idle nodes
	typ    TypeID // 0: any
	single bool   // the most that one device has free, not the sum
	levels []int64
	sets   []nodeBits
}

// A shapeKey says that key of the index counts group of a shape.
type shapeKey struct {
	key   int
	group int
}

// idleType in a key without a name says that it holds the nodes on which no
// core and no device is in use.
const idleType TypeID = 1

// maxLevels fits a level in a byte.
const maxLevels = 255

func (x *index) init() {
	*x = index{keys: []indexKey{{}, {typ: idleType}}}
}

// find returns the number of a key, −1 if no shape has it.
func (x *index) find(name NameID, typ TypeID, single bool) int {
	for i := range x.keys {
		if k := &x.keys[i]; k.name == name && k.typ == typ && k.single == single {
			return i
		}
	}
	return -1
}

// addShape adds the keys and levels that s needs and reports whether the sets
// must be rebuilt for it.
func (x *index) addShape(s *Shape) (grown bool) {
	var parts []shapeKey
	add := func(name NameID, typ TypeID, single bool, group int, most int64) {
		i := x.find(name, typ, single)
		if i < 0 {
			i = len(x.keys)
			x.keys = append(x.keys, indexKey{name: name, typ: typ, single: single})
			grown = true
		}
		grown = x.keys[i].extend(most) || grown
		parts = append(parts, shapeKey{i, group})
	}
	add(0, 0, false, -1, s.MilliCPU())
	add(0, idleType, false, -1, 1)
	for g := range s.groups {
		gr := &s.groups[g]
		for _, typ := range append([]TypeID{0}, gr.types...) {
			add(gr.name, typ, false, g, s.TypeCount(g, typ))
			if gr.part == nil && (gr.byUnits || gr.over >= 0) {
				add(gr.name, typ, true, g, s.largestDevice(g, typ))
			}
		}
	}
	x.parts = append(x.parts, parts)
	return grown
}

// largestDevice returns the units of the largest device of type t (0: any).
func (s *Shape) largestDevice(g int, t TypeID) int64 {
	if len(s.groups[g].devs) == 0 {
		return s.groups[g].count
	}
	var n int64
	for i := range s.groups[g].devs {
		if d := &s.groups[g].devs[i]; t == 0 || d.typ == t {
			n = max(n, d.units)
		}
	}
	return n
}

// bestDevice returns the most units free on one device of type t (0: any).
func (s *Shape) bestDevice(row []uint64, g int, t TypeID) int64 {
	if len(s.groups[g].devs) == 0 {
		return s.FreeDevices(row, g, t)
	}
	var n int64
	for i := range s.groups[g].devs {
		if t == 0 || s.groups[g].devs[i].typ == t {
			n = max(n, s.FreeUnits(row, g, i))
		}
	}
	return n
}

// extend adds levels so that amounts up to most are told apart: every piece up
// to 16, then steps of a half to a third; CPUs in halves up to 4, parts of a
// device in sixteenths.
func (k *indexKey) extend(most int64) (grown bool) {
	top := int64(0)
	if n := len(k.levels); n > 0 {
		top = k.levels[n-1]
	}
	for len(k.levels) < maxLevels {
		next := top + 1
		switch {
		case k.name == 0 && k.typ == 0:
			next = max(top+500, top+top/8/500*500)
		case k.single && most > 16:
			next = top + (most+15)/16
		case top >= 16:
			next = top + top/4
		}
		if next > most {
			break
		}
		top = next
		k.levels = append(k.levels, top)
		grown = true
	}
	return grown
}

// levelOf returns how many levels of k are at most n; the last of them is the
// set to look in for a need of n.
func (k *indexKey) levelOf(n int64) int {
	i, found := slices.BinarySearch(k.levels, n)
	if found {
		i++
	}
	return i
}

// fill stores in dst the levels of a state.
func (x *index) fill(dst []uint8, shape int32, s *Shape, row []uint64) {
	clear(dst)
	for _, p := range x.parts[shape] {
		k := &x.keys[p.key]
		var n int64
		switch {
		case p.group < 0 && k.typ == idleType:
			if nr := (NodeRow{Shape: s, Row: row}); nr.idle() {
				n = 1
			}
		case p.group < 0:
			n = s.FreeMilliCPU(row)
		case k.single:
			n = s.bestDevice(row, p.group, k.typ)
		default:
			n = s.FreeDevices(row, p.group, k.typ)
		}
		dst[p.key] = uint8(k.levelOf(n))
	}
}

// build lays out empty sets for n nodes.
func (x *index) build(n int) {
	x.nodes = n
	words := nodeBitsWords(n)
	for i := range x.keys {
		k := &x.keys[i]
		k.sets = make([]nodeBits, len(k.levels))
		arena := make([]uint64, words*len(k.levels))
		for l := range k.sets {
			k.sets[l] = nodeBitsOf(n, arena[l*words:(l+1)*words])
		}
	}
}

// move changes the sets for a node whose levels change from old to now; nil
// stands for a node that is not there.
func (x *index) move(node int32, old, now []uint8) {
	for i := range x.keys {
		var a, b uint8
		if old != nil {
			a = old[i]
		}
		if now != nil {
			b = now[i]
		}
		sets := x.keys[i].sets
		for ; a < b; a++ {
			sets[a].set(node)
		}
		for ; a > b; a-- {
			sets[a-1].clear(node)
		}
	}
}
