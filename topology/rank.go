package topology

import (
	"math/bits"
	"slices"
	"strconv"
)

// AppendNodeOrder appends the nodes of the cluster in the order in which
// TopologyParam=SwitchAsNodeRank or BlockAsNodeRank puts the node table at the
// start: nodes of one leaf switch or base block together, in file order, each in
// the order they have now; nodes in no unit first.
//
// Source: spec/topology.md 1.5.
func (t *Topology) AppendNodeOrder(dst []NodeID) []NodeID {
	n := len(dst)
	for id := range t.nodes {
		dst = append(dst, NodeID(id))
	}
	if t.unitOf != nil {
		slices.SortStableFunc(dst[n:], func(a, b NodeID) int { return int(t.unitOf[a]) - int(t.unitOf[b]) })
	}
	return dst
}

// AppendRanks appends the rank of each of nodes, the nodes of a job ascending,
// by which the tasks of a step are laid out: the unit in the high half, the
// position in it in the low half. The unit is the base block, the leaf switch
// counted from 1, the ring, or the torus counted from 1; the position is that in
// the job's stretch of the ring, or interleaves the bits of the coordinates in
// the job's box of the torus. Of flat it is 0, or with AlphaStepRank the place in
// natural order of names. Nodes in no unit have rank 0.
//
// Source: spec/topology.md 2.13.
func (t *Topology) AppendRanks(dst []uint32, nodes []NodeID, names *Names) []uint32 {
	base := len(dst)
	for _, id := range nodes {
		r := uint32(0)
		if t.unitOf != nil && t.unitOf[id] != NoUnit {
			u := t.unitOf[id]
			switch t.kind {
			case KindTree:
				r = uint32(t.tree.leafAt[u]+1) << 16
			case KindTorus3D:
				r = uint32(u+1) << 16
			default:
				r = uint32(u) << 16
			}
		}
		dst = append(dst, r)
	}
	out := dst[base:]
	switch {
	case t.kind == KindRing:
		t.ringRanks(out, nodes)
	case t.kind == KindTorus3D:
		t.torusRanks(out, nodes)
	case t.kind == KindFlat && t.alphaRank:
		order := make([]int, len(nodes))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return CompareHosts(names.Name(nodes[a]), names.Name(nodes[b])) })
		for rank, i := range order {
			out[i] = uint32(rank)
		}
	}
	return dst
}

// ringRanks adds the position of each node in the job's stretch of its ring.
func (t *Topology) ringRanks(out []uint32, nodes []NodeID) {
	for u, ring := range t.ring.nodes {
		mask := uint16(0)
		for _, id := range nodes {
			if t.unitOf[id] == UnitID(u) {
				mask |= 1 << slices.Index(ring, id)
			}
		}
		if mask == 0 {
			continue
		}
		start := 0 // the position after the longest gap; 0 for a whole ring
		if n := len(ring); bits.OnesCount16(mask) < n {
			start = gapEnd(func(p int) bool { return mask>>p&1 != 0 }, n)
		}
		for i, id := range nodes {
			if t.unitOf[id] == UnitID(u) {
				out[i] |= uint32((slices.Index(ring, id) - start + len(ring)) % len(ring))
			}
		}
	}
}

// gapEnd returns the position that follows the longest stretch of a circle of n
// that is not used, the lowest of equals; 0 if all are.
func gapEnd(used func(int) bool, n int) int {
	best, end := 0, 0
	for p := range n {
		if !used(p) {
			continue
		}
		gap := 0
		for gap < n && !used((p-1-gap+2*n)%n) {
			gap++
		}
		if gap > best {
			best, end = gap, p
		}
	}
	return end
}

// torusRanks adds the interleaved coordinates of each node in the smallest
// wrapped box of the job's nodes in its torus.
func (t *Topology) torusRanks(out []uint32, nodes []NodeID) {
	for u := range t.torus.units {
		tu := &t.torus.units[u]
		var at []Coord
		var index []int
		for i, id := range nodes {
			if t.unitOf[id] == UnitID(u) {
				at = append(at, tu.coord(int32(slices.Index(tu.cells, id))))
				index = append(index, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		var origin, extent [3]int32
		for axis := range 3 {
			n := tu.dims.at(axis)
			used := make([]bool, n)
			for _, c := range at {
				used[c.at(axis)] = true
			}
			origin[axis] = int32(gapEnd(func(p int) bool { return used[p] }, int(n)))
			for _, c := range at {
				extent[axis] = max(extent[axis], (c.at(axis)-origin[axis]+n)%n)
			}
		}
		shift, width := mortonWidths(extent)
		for j, c := range at {
			var v [3]int32
			for axis := range 3 {
				n := tu.dims.at(axis)
				v[axis] = (c.at(axis) - origin[axis] + n) % n >> shift[axis]
			}
			out[index[j]] |= morton(v, width)
		}
	}
}

// coord returns the position of a cell.
func (tu *torusUnit) coord(c int32) Coord {
	return Coord{c % tu.dims.X, c / tu.dims.X % tu.dims.Y, c / tu.dims.X / tu.dims.Y}
}

// mortonWidths returns the bits of each coordinate that are interleaved, 16 in
// all, and by how much each is shifted for that; the widest axis gives way.
func mortonWidths(extent [3]int32) (shift, width [3]int) {
	for {
		total, widest := 0, 0
		for axis, e := range extent {
			width[axis] = bits.Len32(uint32(e >> shift[axis]))
			total += width[axis]
			if width[axis] > width[widest] {
				widest = axis
			}
		}
		if total <= 16 {
			return shift, width
		}
		shift[widest]++
	}
}

// morton interleaves the bits of x, y and z from the low end; an axis that has
// no bits left is passed over.
func morton(v [3]int32, width [3]int) uint32 {
	out, pos := uint32(0), 0
	for bit := range 16 {
		for axis := range 3 {
			if bit < width[axis] {
				out |= uint32(v[axis]>>bit&1) << pos
				pos++
			}
		}
	}
	return out
}

// AppendAddress appends the address of node id (SLURM_TOPOLOGY_ADDR): the
// switches from the top down and the node for a tree, "block.node",
// "ring:position.node", "torus:x:y:z.node", else the node alone.
//
// Source: spec/topology.md 2.13.
func (t *Topology) AppendAddress(dst []byte, id NodeID, names *Names) []byte {
	return t.appendAddress(dst, id, func(dst []byte, u UnitID) []byte {
		return append(dst, t.units[u].name...)
	}, names.Name(id))
}

// AppendAddressPattern appends what the parts of the address are
// (SLURM_TOPOLOGY_ADDR_PATTERN): "switch.switch.node", "block.node",
// "ring:position.node", "torus:x:y:z.node" or "node".
func (t *Topology) AppendAddressPattern(dst []byte, id NodeID) []byte {
	return t.appendAddress(dst, id, nil, "node")
}

var unitWord = [...]string{"", "switch", "block", "ring", "torus"}

// appendAddress writes an address with unit writing units, or the pattern if
// unit is nil.
func (t *Topology) appendAddress(dst []byte, id NodeID, unit func([]byte, UnitID) []byte, node string) []byte {
	if t.unitOf == nil || t.unitOf[id] == NoUnit {
		return append(dst, node...)
	}
	u := t.unitOf[id]
	word := func(dst []byte, u UnitID) []byte {
		if unit == nil {
			return append(dst, unitWord[t.kind]...)
		}
		return unit(dst, u)
	}
	number := func(dst []byte, v int32, name string) []byte {
		if unit == nil {
			return append(append(dst, ':'), name...)
		}
		return strconv.AppendInt(append(dst, ':'), int64(v), 10)
	}
	switch t.kind {
	case KindTree:
		var path []UnitID
		for v := u; v != NoUnit; v = t.units[v].parent {
			path = append(path, v)
		}
		for i := len(path) - 1; i > 0; i-- {
			dst = append(word(dst, path[i]), '.')
		}
		dst = word(dst, u)
	case KindRing:
		dst = number(word(dst, u), int32(slices.Index(t.ring.nodes[u], id)), "position")
	case KindTorus3D:
		c := t.torus.units[u].coord(int32(slices.Index(t.torus.units[u].cells, id)))
		dst = number(number(number(word(dst, u), c.X, "x"), c.Y, "y"), c.Z, "z")
	default:
		dst = word(dst, u)
	}
	return append(append(dst, '.'), node...)
}
