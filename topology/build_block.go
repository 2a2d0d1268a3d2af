package topology

import (
	"math/bits"
	"strconv"
)

// maxLevel is the highest level of aggregates: 2^15 base blocks.
const maxLevel = 15

// A block is what the block fitter knows beside the units.
type block struct {
	blocks   int     // base blocks
	baseSize int64   // nodes of a base block as configured
	levels   uint32  // bit k: aggregates of 2^k base blocks are enforced
	sizes    []int64 // as configured, in file order
	// aggs[i] is the aggregate with UnitID blocks+i.
	aggs []aggregate
}

// An aggregate is 2^level base blocks from first on; last may be short of that.
type aggregate struct {
	first, last UnitID
	level       int32
}

func (bl *block) aggregate(u UnitID) (first, last UnitID) {
	a := &bl.aggs[int(u)-bl.blocks]
	return a.first, a.last
}

func (b *builder) block(spec *BlockSpec) {
	t := b.top
	t.kind, t.block = KindBlock, &block{blocks: len(spec.Blocks), sizes: spec.Sizes}
	if len(spec.Blocks) == 0 {
		b.problem(Fatal, ProblemNoUnits, "", "", b.spec.Line)
		return
	}
	first := int64(0)
	sizes := make([]int64, len(spec.Blocks))
	for i := range spec.Blocks {
		u := &spec.Blocks[i]
		b.unit(u.Name, u.Line)
		ids := b.ids(u.Name, u.Nodes, u.Line, false)
		b.own(i, ids, Fatal, u.Line)
		sizes[i] = int64(len(ids))
		if first == 0 {
			first = sizes[i]
		}
	}
	b.sizes(spec, first)
	if b.problems.Fatal() {
		return
	}
	for i := range spec.Blocks {
		if sizes[i] > 0 && sizes[i] < t.block.baseSize { // an empty one is a placeholder
			b.problem(Warning, ProblemSmallBlock, spec.Blocks[i].Name, strconv.FormatInt(sizes[i], 10), spec.Blocks[i].Line)
		}
	}
	b.aggregates()
}

// sizes works out the base size and the enforced levels.
func (b *builder) sizes(spec *BlockSpec, first int64) {
	bl := b.top.block
	if len(spec.Sizes) == 0 {
		if first == 0 {
			b.problem(Fatal, ProblemNoSizes, "", "", b.spec.Line)
			return
		}
		bl.baseSize, bl.levels = first, 1<<5-1
		return
	}
	for i, size := range spec.Sizes {
		text := strconv.FormatInt(size, 10)
		if size <= 0 {
			b.problem(Fatal, ProblemBlockSize, "", text, spec.SizesLine)
			continue
		}
		if i == 0 {
			bl.baseSize = size
		}
		if bl.baseSize <= 0 {
			continue
		}
		ratio := uint64(size / bl.baseSize)
		if size%bl.baseSize != 0 || ratio&(ratio-1) != 0 || ratio > 1<<maxLevel {
			b.problem(Fatal, ProblemSizeRatio, "", text, spec.SizesLine)
			continue
		}
		bl.levels |= 1 << bits.TrailingZeros64(ratio)
	}
}

// aggregates lists the aggregates of the enforced levels up to the first that
// holds all base blocks. A trailing remainder is listed if it covers more base
// blocks than the level below would.
func (b *builder) aggregates() {
	t := b.top
	bl := t.block
	lower := 1
	for k := 1; k <= maxLevel; k++ {
		if bl.levels>>k&1 == 0 {
			continue
		}
		if lower >= bl.blocks {
			break
		}
		width := 1 << k
		for lo := 0; lo < bl.blocks; lo += width {
			hi := min(lo+width, bl.blocks)
			if hi-lo < width && hi-lo <= lower {
				continue
			}
			var f folder
			for i := lo; i < hi; i++ {
				f.add(t.units[i].name)
			}
			bl.aggs = append(bl.aggs, aggregate{first: UnitID(lo), last: UnitID(hi), level: int32(k)})
			t.units = append(t.units, unit{name: string(f.end()), parent: NoUnit, level: int32(k)})
		}
		if bl.blocks%width != 0 && width < bl.blocks {
			b.problem(Warning, ProblemRemainder, "", strconv.FormatInt(bl.baseSize<<k, 10), b.spec.Block.SizesLine)
		}
		lower = width
	}
	for i := range t.units {
		lo, hi := UnitID(i), UnitID(i)+1
		if i >= bl.blocks {
			lo, hi = bl.aggregate(UnitID(i))
		}
		for j := bl.blocks; j < len(t.units); j++ {
			if a, z := bl.aggregate(UnitID(j)); t.units[j].level > t.units[i].level && a <= lo && hi <= z {
				t.units[i].parent = UnitID(j)
				break
			}
		}
	}
}
