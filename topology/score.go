package topology

import "math/bits"

// BlockScore returns Slurm's measure of how fragmented the free nodes of a block
// topology are; 0 for other topologies. A base block is whole if at least the
// base size of its nodes is free. Every complete aggregate of an enforced level,
// up to the first that holds all base blocks, counts its size in nodes if it
// holds a base block that is not whole; to that the nodes of blocks that are not
// free are added. A trailing remainder counts nothing.
//
// Source: spec/topology.md 4.1 (bf_topopt_enable).
func (t *Topology) BlockScore(free *NodeSet) int64 {
	if t.kind != KindBlock {
		return 0
	}
	if free.Len() != t.nodes {
		panic("topology: node sets of different clusters")
	}
	bl := t.block
	words := free.Words()
	score := int64(0)
	var broken uint64 // levels whose aggregate at hand holds a broken base block
	top := maxLevel
	for k := range maxLevel + 1 {
		if bl.levels>>k&1 != 0 && 1<<k >= t.base {
			top = k
			break
		}
	}
	for b := range t.base {
		sp := &t.spans[b]
		n := sp.count(words)
		score += int64(int(sp.size) - n)
		if int64(n) < bl.baseSize {
			broken |= 1<<(top+1) - 1
		}
		// Aggregates that end with this base block: level k if 2^k divides b+1.
		for k := 0; k <= min(bits.TrailingZeros(uint(b+1)), top); k++ {
			if bl.levels>>k&1 != 0 && broken>>k&1 != 0 {
				score += bl.baseSize << k
			}
			broken &^= 1 << k
		}
	}
	return score
}
