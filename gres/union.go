package gres

// Union makes dst what is in use at any time: the cores and devices in use in
// dst or in row, and the larger of memory, units and counts. A request that
// fits on the union fits beside either. Rows are those of one node at different
// times. It does not allocate.
func (s *Shape) Union(dst, row []uint64) {
	for w := range s.coreWords {
		dst[w] |= row[w]
	}
	for w := s.coreWords; w < s.coreWords+1 || s.sockets == 0 && w < s.coreWords+2; w++ {
		dst[w] = max(dst[w], row[w])
	}
	for i := range s.groups {
		g := &s.groups[i]
		switch {
		case g.part != nil:
			for w := g.off; w < g.off+len(g.devs); w++ {
				dst[w] = uint64(g.part.union(PartitionState(dst[w]), PartitionState(row[w])))
			}
		case len(g.devs) == 0:
			dst[g.off] = max(dst[g.off], row[g.off])
		case g.byUnits:
			for w := g.off; w < g.off+len(g.devs); w++ {
				dst[w] = max(dst[w], row[w])
			}
		default:
			for w := g.off; w < g.off+(len(g.devs)+63)/64; w++ {
				dst[w] |= row[w]
			}
		}
		if g.owner >= 0 {
			for w := g.owner; w < g.owner+len(g.devs); w++ {
				dst[w] = max(dst[w], row[w])
			}
		}
	}
}
