package priority

import (
	"math/big"
	"slices"

	"pgregory.net/rapid"
)

// slowTree ranks as the specification's text says, with big numbers and sorts
// of whole levels. It shares nothing with the code it checks.
type slowTree struct {
	t         *Tree
	usage     []float64
	ties      TieMode
	n         int
	next, cur int
	rank      []int
}

// slowFactors is the factor of every row.
func slowFactors(t *Tree, usage []float64, ties TieMode) []float64 {
	s := &slowTree{t: t, usage: usage, ties: ties, rank: make([]int, len(t.Parent))}
	s.n = s.count(0)
	s.next, s.cur = s.n, s.n
	s.visit([]int{0}, false)
	f := make([]float64, len(t.Parent))
	for i, r := range s.rank {
		if r > 0 {
			f[i] = float64(r) / float64(s.n)
		}
	}
	return f
}

func (s *slowTree) children(r int) []int {
	var c []int
	for i, p := range s.t.Parent {
		if i != 0 && int(p) == r {
			c = append(c, i)
		}
	}
	slices.SortStableFunc(c, func(a, b int) int {
		if s.t.Place == nil {
			return 0
		}
		return int(s.t.Place[a]) - int(s.t.Place[b])
	})
	return c
}

func (s *slowTree) count(r int) int {
	if s.t.User[r] {
		return 1
	}
	n := 0
	for _, c := range s.children(r) {
		n += s.count(c)
	}
	return n
}

// rivals are the effective children of account r in list order.
func (s *slowTree) rivals(r int) []int {
	var out []int
	for _, c := range s.children(r) {
		if !s.t.User[c] && s.t.Shares[c] == SharesParent {
			out = append(out, s.rivals(c)...)
		} else {
			out = append(out, c)
		}
	}
	return out
}

// slowEntry is one rival with its level fair-share: lf is nil for infinity.
type slowEntry struct {
	row int
	lf  *big.Rat
}

func (s *slowTree) entries(r int) []slowEntry {
	rivals := s.rivals(r)
	total := int64(0)
	for _, c := range rivals {
		if s.t.Shares[c] != SharesParent {
			total += int64(s.t.Shares[c])
		}
	}
	var out []slowEntry
	for _, c := range rivals {
		e := slowEntry{row: c}
		switch {
		case s.t.Shares[c] == SharesParent:
		case s.t.Shares[c] == 0:
			e.lf = new(big.Rat)
		case s.usage[c] == 0 || s.usage[r] == 0:
		default:
			e.lf = s.quotient(s.t.Shares[c], total, s.usage[c], s.usage[r])
		}
		out = append(out, e)
	}
	return out
}

func (s *slowTree) quotient(share uint32, total int64, usage, above float64) *big.Rat {
	u, p := new(big.Rat).SetFloat64(usage), new(big.Rat).SetFloat64(above)
	if s.ties == Documented {
		r := big.NewRat(int64(share), total)
		return r.Quo(r, u.Quo(u, p))
	}
	// A double, divided by a long double, is a long double.
	long := func() *big.Float { return new(big.Float).SetPrec(64) }
	uu := long().Quo(big.NewFloat(usage).SetPrec(64), big.NewFloat(above).SetPrec(64))
	lf, _ := long().Quo(big.NewFloat(float64(share)/float64(total)).SetPrec(64), uu).Rat(nil)
	return lf
}

func (e slowEntry) cmp(o slowEntry) int {
	switch {
	case e.lf == nil && o.lf == nil:
		return 0
	case e.lf == nil:
		return 1
	case o.lf == nil:
		return -1
	}
	return e.lf.Cmp(o.lf)
}

// visit ranks the children of owners, which are one account unless merged.
func (s *slowTree) visit(owners []int, tied bool) {
	var list []slowEntry
	for _, r := range owners {
		list = append(list, s.entries(r)...)
	}
	slices.SortStableFunc(list, func(a, b slowEntry) int {
		if c := b.cmp(a); c != 0 {
			return c
		}
		if s.t.User[a.row] != s.t.User[b.row] {
			if s.t.User[a.row] {
				return -1
			}
			return 1
		}
		return 0
	})
	for i := 0; i < len(list); i++ {
		e, same := list[i], tied
		if i > 0 {
			same = e.cmp(list[i-1]) == 0
		}
		if s.t.User[e.row] {
			if !same {
				s.cur = s.next
			}
			s.next--
			s.rank[e.row] = s.cur
			continue
		}
		merged := []int{e.row}
		for s.ties == Documented && i+1 < len(list) && list[i+1].cmp(e) == 0 {
			i++
			merged = append(merged, list[i].row)
		}
		s.visit(merged, same)
	}
}

// drawTree draws a tree of up to most rows in any order, deep or wide, with
// zero and parent shares, many ties, and usage summed up in order of rows.
func drawTree(rt *rapid.T, most int) (*Tree, []float64) {
	n := rapid.IntRange(1, most).Draw(rt, "rows")
	t := &Tree{Parent: make([]int32, n), User: make([]bool, n), Shares: make([]uint32, n)}
	deep := rapid.IntRange(1, 8).Draw(rt, "deep")
	shares := rapid.SampledFrom([]uint32{0, 1, 1, 1, 2, 3, 6, SharesParent})
	if rapid.Bool().Draw(rt, "fine") {
		shares = rapid.Uint32Range(1, 1000)
	}
	user := rapid.SampledFrom([]bool{true, true, false})
	for i := 1; i < n; i++ {
		p := rapid.IntRange(max(0, i-deep*deep), i-1).Draw(rt, "parent")
		for t.User[p] {
			p = int(t.Parent[p])
		}
		t.Parent[i], t.User[i], t.Shares[i] = int32(p), user.Draw(rt, "user"), shares.Draw(rt, "share")
	}
	usage := make([]float64, n)
	for i := range usage {
		if t.User[i] {
			charge(t, usage, i, drawUsage(rt))
		}
	}
	return t, usage
}

func drawUsage(rt *rapid.T) float64 {
	switch rapid.IntRange(0, 9).Draw(rt, "usage of") {
	case 0, 1, 2:
		return 0
	case 3:
		return rapid.Float64Range(1e-300, 1e12).Draw(rt, "usage")
	}
	return float64(rapid.SampledFrom([]int{1, 2, 3, 4, 6, 12, 100, 300, 3600, 7200}).Draw(rt, "usage"))
}

// charge adds u to row and all above.
func charge(t *Tree, usage []float64, row int, u float64) {
	for ; row != 0; row = int(t.Parent[row]) {
		usage[row] += u
	}
	usage[0] += u
}

// shuffled is t and usage with rows renumbered, the order of siblings kept in
// Place; row i became at[i].
func shuffled(rt *rapid.T, t *Tree, usage []float64) (*Tree, []float64, []int) {
	n := len(t.Parent)
	rest := rapid.Permutation(seq(1, n)).Draw(rt, "order")
	at := append([]int{0}, rest...)
	out := &Tree{Parent: make([]int32, n), User: make([]bool, n), Shares: make([]uint32, n), Place: make([]int32, n)}
	moved := make([]float64, n)
	for i, r := range at {
		out.Parent[r], out.User[r], out.Shares[r], out.Place[r] = int32(at[t.Parent[i]]), t.User[i], t.Shares[i], int32(i)
		moved[r] = usage[i]
	}
	return out, moved, at
}

func seq(lo, hi int) []int {
	s := make([]int, 0, hi-lo)
	for i := lo; i < hi; i++ {
		s = append(s, i)
	}
	return s
}
