package priority

import "slices"

// TieMode says what accounts with equal level fair-share do.
type TieMode uint8

const (
	// AsShipped is what Slurm does: tied accounts are visited one after the
	// other, and the tie shows only in the first user of the later one, who
	// has the rank of the user before. Level fair-shares are quotients of 64
	// bits.
	AsShipped TieMode = iota
	// Documented is what Slurm's documentation says: the children of tied
	// accounts are ranked as one pool. Level fair-shares are exact.
	Documented
)

// FairTree ranks users by account and then by user: if one account's level
// fair-share is above its sibling's, every user below it ranks above every
// user below the sibling. Make it with [NewFairTree]. It holds scratch: one
// caller at a time.
//
// Source: spec priority 2; slurm.conf(5), PriorityFlags.
type FairTree struct {
	lv   levels
	ties TieMode

	sorted, spare []placed // by entry: each level in its order; in list order
	stack         []visit
	pools         pools
}

// placed is an entry in the order of its level. hi and lo are its key turned
// round, so that the largest comes first in ascending order.
type placed struct {
	hi  uint64
	lo  uint32
	ent int32
}

func (p placed) tiesWith(q placed) bool { return p.hi == q.hi && p.lo == q.lo }

// visit is where the walk stands in one level.
type visit struct {
	at, start, end int32
	tied           bool // the account that owns the level was tied
}

// NewFairTree returns a FairTree of t. Nothing of t is kept.
func NewFairTree(t *Tree, ties TieMode) *FairTree {
	f := &FairTree{ties: ties}
	f.SetTree(t)
	return f
}

// SetTree takes over t: call it when associations come, go, move or change
// their shares. It costs a few steps a row and allocates only to grow. Nothing
// of t is kept. It panics if the columns differ in length or are empty.
func (f *FairTree) SetTree(t *Tree) {
	f.lv.build(t)
	n := len(f.lv.row)
	f.sorted = fill(f.sorted, n, placed{})
	f.spare = fill(f.spare, n, placed{})
	f.stack = slices.Grow(f.stack[:0], f.lv.depth())
	f.pools.entries = slices.Grow(f.pools.entries[:0], n)
}

// Users is the number of user associations in the tree: what ranks are divided
// by.
func (f *FairTree) Users() int { return int(f.lv.people) }

// Rank stores in dst the fair-share factor of every row: rank over number of
// users, 1 for the best; 0 for accounts. usage is the decayed usage of each
// row, an account's being the sum over its subtree; only ratios count.
//
// It takes O(n) steps for n rows (sorting by radix) in mode [AsShipped], n log n
// in mode [Documented], and allocates nothing. It panics if dst or usage is
// shorter than the tree.
func (f *FairTree) Rank(dst, usage []float64) {
	dst = dst[:len(f.lv.entry)]
	clear(dst)
	if f.ties == Documented {
		f.rankPools(dst, usage)
		return
	}
	for l := range f.lv.owner {
		f.lv.arrange(f.sorted, f.spare, l, usage)
	}
	f.walk(dst)
}

// arrange puts the entries of level l into order: level fair-share descending,
// users before accounts, then list order.
func (v *levels) arrange(sorted, spare []placed, l int, usage []float64) {
	lo, hi := v.start[l], v.start[l+1]
	p := split(cleanUsage(usage[v.owner[l]]))
	for e := lo; e < hi; e++ {
		k := levelKey(v.share[e], cleanUsage(usage[v.row[e]]), p)
		spare[e] = placed{hi: ^k.hi, lo: uint32(lowMask ^ k.lo), ent: e}
	}
	sortPlaced(sorted[lo:hi], spare[lo:hi])
}

// walk gives ranks: depth first, best first. next is the rank of the next user
// that does not tie, cur the rank given last.
func (f *FairTree) walk(dst []float64) {
	v := &f.lv
	n := float64(v.people)
	next, cur := v.people, v.people
	factor := 1.0
	f.stack = append(f.stack[:0], visit{end: v.start[1]})
	for len(f.stack) > 0 {
		top := &f.stack[len(f.stack)-1]
		if top.at == top.end {
			f.stack = f.stack[:len(f.stack)-1]
			continue
		}
		p := f.sorted[top.at]
		tied := top.tied
		if top.at > top.start {
			tied = p.tiesWith(f.sorted[top.at-1])
		}
		top.at++
		if l := v.kids[p.ent]; l >= 0 {
			f.stack = append(f.stack, visit{at: v.start[l], start: v.start[l], end: v.start[l+1], tied: tied})
			continue
		}
		if !tied && cur != next {
			cur = next
			factor = float64(cur) / n
		}
		next--
		dst[v.row[p.ent]] = factor
	}
}

// LevelFS stores in dst the level fair-share of every row as a float64: shares
// over usage, each of the level's; +Inf where there is no usage, 0 for the
// root, for rows not in the tree and for accounts with [SharesParent]. usage is
// as in [FairTree.Rank].
func (f *FairTree) LevelFS(dst, usage []float64) {
	v := &f.lv
	dst = dst[:len(v.entry)]
	clear(dst)
	for e, r := range v.row {
		p := split(cleanUsage(usage[v.owner[v.of[e]]]))
		dst[r] = levelKey(v.share[e], cleanUsage(usage[r]), p).float()
	}
}
