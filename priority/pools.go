package priority

import (
	"cmp"
	"math/bits"
	"slices"
)

// pools is the walk of mode Documented: accounts with equal level fair-share
// are merged, and their children compete as one pool.
type pools struct {
	entries   []pooled // every entry, the pool it is in its neighbours
	next, cur int32
}

// pooled is an entry with its level fair-share in short: the exact value is
// share · parent's usage / (level's shares · usage).
type pooled struct {
	key key
	ent int32
}

// nearKeys is how far apart in last places two keys may be while the exact
// values are equal: their shares were rounded to 53 bits, which is up to 2^11 places
// each, and their quotients to 64.
const nearKeys = 1 << 13

func (f *FairTree) rankPools(dst, usage []float64) {
	p, v := &f.pools, &f.lv
	p.next, p.cur = v.people, v.people
	p.entries = v.appendLevel(p.entries[:0], 0, usage)
	f.rankPool(dst, usage, 0, len(p.entries), false)
}

// appendLevel appends the entries of level l.
func (v *levels) appendLevel(dst []pooled, l int32, usage []float64) []pooled {
	above := split(cleanUsage(usage[v.owner[l]]))
	for e := v.start[l]; e < v.start[l+1]; e++ {
		dst = append(dst, pooled{key: levelKey(v.share[e], cleanUsage(usage[v.row[e]]), above), ent: e})
	}
	return dst
}

// rankPool ranks the entries from lo to hi; tied says whether the accounts that
// own them were.
func (f *FairTree) rankPool(dst, usage []float64, lo, hi int, tied bool) {
	p, v := &f.pools, &f.lv
	pool := p.entries[lo:hi]
	slices.SortFunc(pool, func(a, b pooled) int {
		return cmp.Or(v.compareExact(usage, b, a), cmp.Compare(min(v.kids[a.ent], 0), min(v.kids[b.ent], 0)), cmp.Compare(a.ent, b.ent))
	})
	for i := 0; i < len(pool); {
		j := i + 1
		for ; j < len(pool) && v.compareExact(usage, pool[i], pool[j]) == 0; j++ {
		}
		// A run of ties: users first, then accounts.
		same := tied && i == 0
		for ; i < j && v.kids[pool[i].ent] < 0; i++ {
			if !same {
				p.cur, same = p.next, true
			}
			p.next--
			dst[v.row[pool[i].ent]] = float64(p.cur) / float64(v.people)
		}
		if i < j {
			end := len(p.entries)
			for _, a := range pool[i:j] {
				p.entries = v.appendLevel(p.entries, v.kids[a.ent], usage)
			}
			f.rankPool(dst, usage, end, len(p.entries), same)
		}
		i = j
	}
}

// compareExact compares the exact level fair-shares of two entries.
func (v *levels) compareExact(usage []float64, a, b pooled) int {
	if a.key.apart(b.key) > nearKeys || a.key.hi == 0 || a.key.hi == infHi {
		return a.key.cmp(b.key)
	}
	left := v.crossed(usage, a.ent, b.ent)
	right := v.crossed(usage, b.ent, a.ent)
	return left.cmp(right)
}

// crossed is a's share times its parent's usage times the shares of b's level
// times b's usage: greater than the same with a and b exchanged if and only if
// a has the greater level fair-share. None is 0.
func (v *levels) crossed(usage []float64, a, b int32) wide {
	la, lb := v.of[a], v.of[b]
	share, total := whole64(uint64(v.raw[a])), whole64(v.total[lb])
	return multiply(share, split(cleanUsage(usage[v.owner[la]])), total, split(cleanUsage(usage[v.row[b]])))
}

// whole64 is n, which must not be 0, as a num.
func whole64(n uint64) num {
	z := bits.LeadingZeros64(n)
	return num{mant: n << z, exp: int32(63 - z)}
}

// wide is a product of four nums, exact: a mantissa of 256 bits with its top
// bit set, most significant word first.
type wide struct {
	w   [4]uint64
	exp int32
}

func multiply(a, b, c, d num) wide {
	h1, l1 := bits.Mul64(a.mant, b.mant)
	h2, l2 := bits.Mul64(c.mant, d.mant)
	var w [4]uint64
	var carry uint64
	w[2], w[3] = bits.Mul64(l1, l2)
	w[0], w[1] = bits.Mul64(h1, h2)
	for _, x := range [2][2]uint64{{h1, l2}, {l1, h2}} {
		hi, lo := bits.Mul64(x[0], x[1])
		w[2], carry = bits.Add64(w[2], lo, 0)
		w[1], carry = bits.Add64(w[1], hi, carry)
		w[0] += carry
	}
	exp := a.exp + b.exp + c.exp + d.exp
	if z := bits.LeadingZeros64(w[0]); z > 0 {
		exp -= int32(z)
		for i := range 3 {
			w[i] = w[i]<<z | w[i+1]>>(64-z)
		}
		w[3] <<= z
	}
	return wide{w: w, exp: exp}
}

func (a wide) cmp(b wide) int {
	if a.exp != b.exp {
		return cmp.Compare(a.exp, b.exp)
	}
	return slices.Compare(a.w[:], b.w[:])
}
