package gres

import "math/bits"

// RowLen returns the number of words of a node's row: what is in use on it.
// A row of zeros is an idle node. Equal use gives equal words, so rows may be
// compared, hashed and stored as they are.
//
//	cores used, one bit a core    ⌈cores/64⌉ words
//	memory used, MiB              1 word
//	milli-CPU used                1 word, only if the node has no sockets
//	for each group                1 word of count, or one bit a device,
//	                              or one word of units a device
//	  its owners, if scoped       one word a device
func (s *Shape) RowLen() int { return s.rowLen }

// UsedCores returns the cores in use of row. It aliases row.
func (s *Shape) UsedCores(row []uint64) []uint64 { return row[:s.coreWords:s.coreWords] }

// SetUsedCores stores cores as the used cores of row; for nodes whose jobs
// share cores, see [CoreRows].
func (s *Shape) SetUsedCores(row, cores []uint64) { copy(row[:s.coreWords], cores) }

// UsedMem returns the memory in use, in MiB.
func (s *Shape) UsedMem(row []uint64) int64 { return int64(row[s.coreWords]) }

// FreeMem returns the memory not in use, in MiB.
func (s *Shape) FreeMem(row []uint64) int64 { return s.mem - int64(row[s.coreWords]) }

// FreeCores returns the number of cores that are neither used nor
// specialised.
func (s *Shape) FreeCores(row []uint64) int {
	n := 0
	for w, u := range s.usable {
		n += bits.OnesCount64(u &^ row[w])
	}
	return n
}

// FreeMilliCPU returns the free CPU capacity in thousandths: of the count, or
// of the free cores' threads.
func (s *Shape) FreeMilliCPU(row []uint64) int64 {
	if s.sockets == 0 {
		return s.milliCPU - int64(row[s.coreWords+1])
	}
	return int64(s.FreeCores(row)*s.threads) * 1000
}

// Idle reports whether nothing is in use. Instances of partitioned devices may
// exist idle.
func (s *Shape) Idle(row []uint64) bool {
	for i, w := range row {
		if w != 0 && !s.onlyIdleInstances(i, w) {
			return false
		}
	}
	return true
}

// UsedUnits returns the units in use of device d of group g.
func (s *Shape) UsedUnits(row []uint64, g, d int) int64 { return s.groups[g].used(row, d) }

// UsedCount returns what is in use of group g: devices, units of a shared
// group, or count. A device of a divisible group counts if any part is used.
func (s *Shape) UsedCount(row []uint64, g int) int64 {
	gr := &s.groups[g]
	if len(gr.devs) == 0 {
		return int64(row[gr.off])
	}
	var n int64
	for d := range gr.devs {
		u := gr.used(row, d)
		if gr.flags&Divisible != 0 {
			u = min(u, 1)
		}
		n += u
	}
	return n
}

// FreeUnits returns the units of device d of group g that a job could take:
// none if the device is taken through another group that shares it, whole or
// in parts.
func (s *Shape) FreeUnits(row []uint64, g, d int) int64 {
	if s.blocked(row, &s.groups[g], d) {
		return 0
	}
	return s.groups[g].devs[d].units - s.groups[g].used(row, d)
}

// FreeDevices returns how many whole devices of group g, and of type t unless
// t is 0, are free; of a shared group the free units; of a group without
// devices the free count. A group that is not consumed is always free.
func (s *Shape) FreeDevices(row []uint64, g int, t TypeID) int64 {
	gr := &s.groups[g]
	if gr.flags&NoConsume != 0 {
		return s.TypeCount(g, t)
	}
	if len(gr.devs) == 0 {
		if t != 0 {
			return 0
		}
		return gr.count - int64(row[gr.off])
	}
	if gr.part != nil {
		return s.roomOf(gr, row, t)
	}
	var n int64
	for d := range gr.devs {
		if t != 0 && gr.devs[d].typ != t || s.blocked(row, gr, d) {
			continue
		}
		free := gr.devs[d].units - gr.used(row, d)
		if gr.flags&Divisible != 0 {
			if free < gr.devs[d].units {
				continue
			}
			free = 1
		}
		n += free
	}
	return n
}

// DeviceOwner returns the owner word of device d of group g, 0 if nobody holds
// it or the group has no scope.
func (s *Shape) DeviceOwner(row []uint64, g, d int) uint64 {
	if s.groups[g].owner < 0 {
		return 0
	}
	return row[s.groups[g].owner+d]
}

func (g *group) used(row []uint64, d int) int64 {
	if g.part != nil {
		memory, _ := g.part.load(PartitionState(row[g.off+d]))
		return int64(bits.OnesCount8(memory))
	}
	if g.byUnits {
		return int64(row[g.off+d])
	}
	return int64(row[g.off+d>>6] >> (d & 63) & 1)
}

// blocked reports whether device d is in use under another name: a shared
// unit's GPU taken whole, or a GPU of which units are in use.
func (s *Shape) blocked(row []uint64, g *group, d int) bool {
	if g.over >= 0 {
		u := &s.groups[g.over]
		if u.used(row, d) != 0 {
			return true
		}
		return s.shared(row, u, d, g)
	}
	return len(g.sharers) > 0 && s.shared(row, g, d, nil)
}

// shared reports whether a group other than but uses units of device d of
// under.
func (s *Shape) shared(row []uint64, under *group, d int, but *group) bool {
	for _, i := range under.sharers {
		if g := &s.groups[i]; g != but && g.used(row, d) != 0 {
			return true
		}
	}
	return false
}

// Take books g on row. The caller has made sure that it fits, by a placement
// or by [Shape.CheckGrant]; Take does not look. It does not allocate.
func (s *Shape) Take(row []uint64, g *Grant) {
	if !g.SharedCores {
		for w := range g.Cores {
			row[w] |= g.Cores[w]
		}
	}
	row[s.coreWords] += uint64(g.MemMiB)
	if s.sockets == 0 {
		row[s.coreWords+1] += uint64(g.MilliCPU)
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		gr := &s.groups[d.Group]
		switch {
		case d.Units == 0 || gr.flags&NoConsume != 0:
		case d.Device < 0:
			row[gr.off] += uint64(d.Units)
		case gr.part != nil:
			w := &row[gr.off+int(d.Device)]
			state, _ := gr.part.Take(PartitionState(*w), gr.placeOf(d))
			*w = uint64(state)
		case gr.byUnits:
			row[gr.off+int(d.Device)] += uint64(d.Units)
		default:
			row[gr.off+int(d.Device)>>6] |= 1 << (d.Device & 63)
		}
		if gr.owner >= 0 && d.Device >= 0 && d.Units > 0 {
			row[gr.owner+int(d.Device)] = g.Owner.word(gr.scope)
		}
	}
}

// Give takes g off row: the exact inverse of [Shape.Take], but for instances of
// partitioned devices, which stay as idle ones. It does not allocate.
func (s *Shape) Give(row []uint64, g *Grant) {
	if !g.SharedCores {
		for w := range g.Cores {
			row[w] &^= g.Cores[w]
		}
	}
	row[s.coreWords] -= uint64(g.MemMiB)
	if s.sockets == 0 {
		row[s.coreWords+1] -= uint64(g.MilliCPU)
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		gr := &s.groups[d.Group]
		switch {
		case d.Units == 0 || gr.flags&NoConsume != 0:
		case d.Device < 0:
			row[gr.off] -= uint64(d.Units)
		case gr.part != nil:
			w := &row[gr.off+int(d.Device)]
			*w = uint64(gr.part.Give(PartitionState(*w), gr.placeOf(d)))
		case gr.byUnits:
			row[gr.off+int(d.Device)] -= uint64(d.Units)
		default:
			row[gr.off+int(d.Device)>>6] &^= 1 << (d.Device & 63)
		}
		if gr.owner >= 0 && d.Device >= 0 && gr.used(row, int(d.Device)) == 0 {
			row[gr.owner+int(d.Device)] = 0
		}
	}
}
