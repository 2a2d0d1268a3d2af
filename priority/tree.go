package priority

import (
	"cmp"
	"slices"
)

// SharesParent as a share means Fairshare=parent: an account that has it leaves
// the competition and its children compete one level up; a user that has it
// is first among its siblings. It is the number that package qos gives.
const SharesParent uint32 = 1<<32 - 1

// Tree are the columns of the associations, one row each: accounts and, below
// them, users (one association for every account a user is in). Row 0 is the
// root. Rows may come in any order.
type Tree struct {
	// Parent is the row of the account above; that of row 0 is not read, and
	// any other row with a negative one is not in the tree (a free row).
	Parent []int32
	// User says which rows are users; they are leaves, and a row below one
	// is not in the tree.
	User []bool
	// Shares is Fairshare: 1 unless set, or [SharesParent].
	Shares []uint32
	// Place is the place of a row among its siblings; equal places are
	// ordered by row. It matters where accounts tie and for nothing else.
	// Default: by row. Slurm: the order of its list of associations.
	Place []int32
}

// levels is a tree as fair-share sees it: accounts with Fairshare=parent are
// gone, and each remaining account has one level, the entries that compete
// below it. Entries of a level are neighbours, users first, then accounts, each
// in list order; so the order of entries decides equal level fair-shares.
type levels struct {
	// By level.
	start    []int32 // first entry; one more at the end
	accounts []int32 // first entry that is an account
	owner    []int32 // row of the account
	ownerEnt []int32 // its entry; -1 for the root
	total    []uint64

	// By entry.
	row   []int32
	raw   []uint32  // Fairshare
	share []float64 // normalised: of the level's total; parentUser
	kids  []int32   // an account's level; -1 for a user
	users []int32   // user associations at or below
	of    []int32   // the level it is in

	// By row.
	entry []int32 // -1: not in the tree, the root or an account that is gone
	above []int32 // level that the row is in or, if it is gone, would be in; -1: none

	people int32 // user associations in all

	// Scratch: children of each row, and accounts of the level being built.
	first, child, later []int32
}

// build reads t. It costs a step a row, and a sort of siblings if t has places.
func (v *levels) build(t *Tree) {
	n := len(t.Parent)
	if n == 0 || len(t.User) != n || len(t.Shares) != n || t.Place != nil && len(t.Place) != n {
		panic("priority: columns of a tree differ in length or are empty")
	}
	v.children(t)
	v.entry = fill(v.entry, n, -1)
	v.above = fill(v.above, n, -1)
	v.start, v.accounts = append(v.start[:0], 0), v.accounts[:0]
	v.owner, v.ownerEnt = append(v.owner[:0], 0), append(v.ownerEnt[:0], -1)
	v.total = v.total[:0]
	v.row, v.raw, v.share, v.kids, v.users, v.of = v.row[:0], v.raw[:0], v.share[:0], v.kids[:0], v.users[:0], v.of[:0]
	for l := 0; l < len(v.owner); l++ {
		v.later = v.later[:0]
		v.expand(t, v.owner[l], int32(l))
		v.accounts = append(v.accounts, int32(len(v.row)))
		for _, r := range v.later {
			v.add(t, r, int32(l), int32(len(v.owner)))
			v.ownerEnt = append(v.ownerEnt, int32(len(v.row)-1))
			v.owner = append(v.owner, r)
		}
		v.start = append(v.start, int32(len(v.row)))
		v.shareOut(l)
	}
	v.countUsers()
}

// expand adds the users below account r to level l, and puts its accounts aside;
// those that are gone stand for their children.
func (v *levels) expand(t *Tree, r, l int32) {
	for _, c := range v.child[v.first[r]:v.first[r+1]] {
		switch {
		case t.User[c]:
			v.add(t, c, l, -1)
		case t.Shares[c] == SharesParent:
			v.above[c] = l
			v.expand(t, c, l)
		default:
			v.later = append(v.later, c)
		}
	}
}

func (v *levels) add(t *Tree, r, l, kids int32) {
	v.entry[r], v.above[r] = int32(len(v.row)), l
	v.row = append(v.row, r)
	v.raw = append(v.raw, t.Shares[r])
	v.share = append(v.share, 0)
	v.kids = append(v.kids, kids)
	v.users = append(v.users, 0)
	v.of = append(v.of, l)
}

// shareOut gives the entries of level l their normalised shares.
func (v *levels) shareOut(l int) {
	var total uint64
	for e := v.start[l]; e < v.start[l+1]; e++ {
		if v.raw[e] != SharesParent {
			total += uint64(v.raw[e])
		}
	}
	v.total = append(v.total, total)
	for e := v.start[l]; e < v.start[l+1]; e++ {
		switch s := v.raw[e]; {
		case s == SharesParent:
			v.share[e] = parentUser
		case s != 0:
			v.share[e] = float64(s) / float64(total)
		}
	}
}

// countUsers fills users: levels below come later, so backwards.
func (v *levels) countUsers() {
	for l := len(v.owner) - 1; l >= 0; l-- {
		n := v.accounts[l] - v.start[l]
		for e := v.start[l]; e < v.accounts[l]; e++ {
			v.users[e] = 1
		}
		for e := v.accounts[l]; e < v.start[l+1]; e++ {
			n += v.users[e]
		}
		if l == 0 {
			v.people = n
		} else {
			v.users[v.ownerEnt[l]] = n
		}
	}
}

// depth is the number of levels from the root to the lowest one, which is the
// last.
func (v *levels) depth() int {
	d := 1
	for e := v.ownerEnt[len(v.owner)-1]; e >= 0; e = v.ownerEnt[v.of[e]] {
		d++
	}
	return d
}

// children lists the children of each row: those of r are
// child[first[r]:first[r+1]].
func (v *levels) children(t *Tree) {
	n := len(t.Parent)
	v.first = fill(v.first, n+1, 0)
	v.child = fill(v.child, n, 0)
	for r, p := range t.Parent {
		if r != 0 && p >= 0 {
			v.first[p]++
		}
	}
	at := int32(0)
	for r := range v.first {
		at += v.first[r]
		v.first[r] = at
	}
	// first[r] is the end of r's children now; filled backwards it becomes
	// their start.
	for r := n - 1; r > 0; r-- {
		if p := t.Parent[r]; p >= 0 {
			v.first[p]--
			v.child[v.first[p]] = int32(r)
		}
	}
	if t.Place == nil {
		return
	}
	for r := range n {
		slices.SortFunc(v.child[v.first[r]:v.first[r+1]], func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.Place[a], t.Place[b]), cmp.Compare(a, b))
		})
	}
}

// fill returns s with n elements, all v.
func fill[T any](s []T, n int, v T) []T {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = v
	}
	return s
}
