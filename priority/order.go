package priority

import (
	"cmp"
	"slices"
)

// Order sorts rows so that who goes first stands first: the higher priority,
// then the earlier submission, then the smaller id. All columns are indexed by
// row; ids are all different, so the order is total. It is the end of Slurm's
// queue order; what comes before priority (preemption, reservations, tiers) is
// the scheduler's. It sorts in place and allocates nothing. Source: spec
// priority 6, steps 5 to 7.
func Order(rows []int32, prio []uint32, submit []int64, id []uint64) {
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(prio[b], prio[a]), cmp.Compare(submit[a], submit[b]), cmp.Compare(id[a], id[b]))
	})
}
