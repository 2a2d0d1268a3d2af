package topology

import (
	"slices"
	"strconv"
)

// A torus is what the torus fitter knows beside the units.
type torus struct {
	units []torusUnit
	grids []*cellGrid // of the toruses with a placement of one cell; empty if one has none
}

// A torusUnit is one torus.
type torusUnit struct {
	dims   Coord
	cells  []NodeID // by x + X·y + X·Y·z; NoNode where a cell is empty
	shapes []shape  // by volume, then file order
}

// A shape is a placement with all anchors where it can stand.
type shape struct {
	spec    PlacementSpec
	dims    Coord
	volume  int32
	axis    [3][]int32 // anchor positions along x, y, z
	anchors []anchor   // x outermost, z innermost; anchors with an empty cell have no words
	larger  int32      // index of the first shape of the torus with more volume, or -1
	clash   bool       // it can overlap an anchor of its own volume
}

// An anchor is a box of cells as words: all bits of mask[i] of word[i].
type anchor struct {
	word []int32
	mask []uint64
}

// free reports whether all nodes of the box are in w.
func (a *anchor) free(w []uint64) bool {
	for i, at := range a.word {
		if w[at]&a.mask[i] != a.mask[i] {
			return false
		}
	}
	return len(a.word) > 0
}

func (c Coord) at(axis int) int32 { return [3]int32{c.X, c.Y, c.Z}[axis] }

func (c Coord) volume() int64 { return int64(c.X) * int64(c.Y) * int64(c.Z) }

// maxTorus bounds the cells of a torus, which keeps volumes within an int32.
const maxTorus = 1 << 24

func (b *builder) torus(spec *TorusSpec) {
	t := b.top
	t.kind, t.torus = KindTorus3D, &torus{}
	if len(spec.Toruses) == 0 {
		b.problem(Fatal, ProblemNoUnits, "", "", b.spec.Line)
		return
	}
	t.placeable = make([]uint64, (t.nodes+63)>>6)
	for i := range spec.Toruses {
		u := &spec.Toruses[i]
		b.unit(u.Name, u.Line)
		tu := torusUnit{dims: u.Dims}
		if !b.dims(u.Name, u.Dims, u.Line) {
			t.torus.units = append(t.torus.units, tu)
			continue
		}
		tu.cells = b.cells(u)
		b.own(i, tu.cells, Fatal, u.Line)
		for j := range u.Placements {
			if sh, ok := b.shape(u, &u.Placements[j]); ok {
				tu.shapes = append(tu.shapes, sh)
			}
		}
		if !b.problems.Fatal() {
			tu.place()
			if len(tu.shapes) > 0 {
				for _, id := range tu.cells {
					if id != NoNode {
						setBit(t.placeable, id)
					}
				}
			}
		}
		t.torus.units = append(t.torus.units, tu)
	}
	if !b.problems.Fatal() {
		t.torus.layGrids()
	}
}

func (b *builder) dims(unit string, d Coord, line int) bool {
	if min(d.X, d.Y, d.Z) > 0 && max(d.X, d.Y, d.Z) <= maxTorus && d.volume() <= maxTorus && d.volume() > 0 {
		return true
	}
	b.problem(Fatal, ProblemTorusDims, unit, coordText(d), line)
	return false
}

func coordText(c Coord) string {
	return strconv.Itoa(int(c.X)) + "x" + strconv.Itoa(int(c.Y)) + "x" + strconv.Itoa(int(c.Z))
}

// cells lays out the nodes of a torus.
func (b *builder) cells(u *TorusUnitSpec) []NodeID {
	volume := int(u.Dims.volume())
	cells := slices.Repeat([]NodeID{NoNode}, volume)
	if u.Nodes != "" && len(u.Regions) > 0 {
		b.problem(Fatal, ProblemTorusCells, u.Name, "", u.Line)
		return cells
	}
	if len(u.Regions) == 0 {
		if u.Nodes == "" {
			return cells // no nodes at all is accepted
		}
		ids := b.ids(u.Name, u.Nodes, u.Line, true)
		if len(ids) != volume {
			b.problem(Fatal, ProblemTorusCells, u.Name, strconv.Itoa(len(ids)), u.Line)
			return cells
		}
		return ids
	}
	used := make([]bool, volume)
	for i := range u.Regions {
		b.region(u, &u.Regions[i], cells, used)
	}
	return cells
}

func (b *builder) region(u *TorusUnitSpec, r *RegionSpec, cells []NodeID, used []bool) {
	if !b.dims(u.Name, r.Dims, r.Line) {
		return
	}
	for axis := range 3 {
		if a, d, n := r.Anchor.at(axis), r.Dims.at(axis), u.Dims.at(axis); a < 0 || d > n || a > n-d {
			b.problem(Fatal, ProblemRegion, u.Name, coordText(r.Anchor), r.Line)
			return
		}
	}
	ids := b.ids(u.Name, r.Nodes, r.Line, true)
	if int64(len(ids)) != r.Dims.volume() {
		b.problem(Fatal, ProblemTorusCells, u.Name, strconv.Itoa(len(ids)), r.Line)
		return
	}
	for i, id := range ids {
		x := r.Anchor.X + int32(i)%r.Dims.X
		y := r.Anchor.Y + int32(i)/r.Dims.X%r.Dims.Y
		z := r.Anchor.Z + int32(i)/r.Dims.X/r.Dims.Y
		c := cell(u.Dims, x, y, z)
		if used[c] {
			b.problem(Fatal, ProblemRegion, u.Name, coordText(r.Anchor), r.Line)
			return
		}
		used[c], cells[c] = true, id
	}
}

// cell returns the index of a position, which may lie up to one length outside.
func cell(dims Coord, x, y, z int32) int32 {
	return x%dims.X + dims.X*(y%dims.Y+dims.Y*(z%dims.Z))
}

// shape checks a placement and lists its anchor positions along each axis.
func (b *builder) shape(u *TorusUnitSpec, p *PlacementSpec) (shape, bool) {
	sh := shape{spec: *p, dims: p.Dims, larger: -1}
	for axis := range 3 {
		d, n := p.Dims.at(axis), u.Dims.at(axis)
		seed, stride := p.Seed.at(axis), p.Spacing.at(axis)
		if stride == 0 {
			stride = d
		}
		if d <= 0 || d > n || stride < 0 || stride > n || seed < 0 || seed >= n {
			b.problem(Fatal, ProblemPlacement, u.Name, coordText(p.Dims), p.Line)
			return sh, false
		}
		for at := seed; ; {
			sh.axis[axis] = append(sh.axis[axis], at)
			if at = (at + stride) % n; at == seed {
				break
			}
		}
	}
	sh.volume = int32(p.Dims.volume())
	return sh, true
}

// stride returns the spacing of a shape along an axis.
func (sh *shape) stride(axis int) int32 {
	if s := sh.spec.Spacing.at(axis); s != 0 {
		return s
	}
	return sh.dims.at(axis)
}

// place sorts the shapes, lays their boxes out, and finds which shapes can clash
// with others of their volume.
func (tu *torusUnit) place() {
	slices.SortStableFunc(tu.shapes, func(a, b shape) int { return int(a.volume - b.volume) })
	for i := range tu.shapes {
		sh := &tu.shapes[i]
		for j := i + 1; j < len(tu.shapes) && sh.larger < 0; j++ {
			if tu.shapes[j].volume > sh.volume {
				sh.larger = int32(j)
			}
		}
		for j := range tu.shapes {
			if o := &tu.shapes[j]; o.volume == sh.volume {
				sh.clash = sh.clash || i == j && sh.overlapsItself(tu.dims) || i != j && sh.overlaps(o, tu.dims)
			}
		}
		for _, x := range sh.axis[0] {
			for _, y := range sh.axis[1] {
				for _, z := range sh.axis[2] {
					sh.anchors = append(sh.anchors, tu.box(sh.dims, x, y, z))
				}
			}
		}
	}
}

// box returns the words of the wrapped box at x, y, z; none if a cell is empty.
func (tu *torusUnit) box(d Coord, x, y, z int32) anchor {
	var ids []NodeID
	for k := range d.Z {
		for j := range d.Y {
			for i := range d.X {
				id := tu.cells[cell(tu.dims, x+i, y+j, z+k)]
				if id == NoNode {
					return anchor{}
				}
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	var a anchor
	for _, id := range ids {
		if n := len(a.word); n == 0 || a.word[n-1] != int32(id>>6) {
			a.word, a.mask = append(a.word, int32(id>>6)), append(a.mask, 0)
		}
		a.mask[len(a.mask)-1] |= 1 << (uint(id) & 63)
	}
	return a
}

func (sh *shape) overlapsItself(dims Coord) bool {
	for axis := range 3 {
		if gcd(sh.stride(axis), dims.at(axis)) < sh.dims.at(axis) {
			return true
		}
	}
	return false
}

// overlaps reports whether some anchor of sh can overlap some anchor of o.
func (sh *shape) overlaps(o *shape, dims Coord) bool {
	for axis := range 3 {
		g := gcd(gcd(sh.stride(axis), o.stride(axis)), dims.at(axis))
		off := ((o.spec.Seed.at(axis)-sh.spec.Seed.at(axis))%g + g) % g
		if off >= sh.dims.at(axis) && g-off >= o.dims.at(axis) {
			return false
		}
	}
	return true
}

func gcd(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// contains reports whether all of w is in the box.
func (a *anchor) contains(w []uint64) bool {
	at := 0
	for i, x := range w {
		m := uint64(0)
		if at < len(a.word) && int(a.word[at]) == i {
			m = a.mask[at]
			at++
		}
		if x&^m != 0 {
			return false
		}
	}
	return true
}
