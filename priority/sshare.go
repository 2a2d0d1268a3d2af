package priority

import (
	"math"
	"strconv"
)

// A Share is what one association has and is due: a line of sshare as data.
type Share struct {
	// Raw is Fairshare as it was set, or [SharesParent].
	Raw uint32
	// Norm is the share of the siblings' shares (Fair Tree) or of the whole
	// (classic).
	Norm float64
	// Usage is the decayed usage, NormUsage its part of the root's; not a
	// number for the root.
	Usage, NormUsage float64
	// Effective is usage as it counts: of the effective parent's (Fair Tree)
	// or mixed with those of the accounts above (classic).
	Effective float64
	// Factor is the fair-share factor; Fair Tree gives accounts none.
	Factor float64
	// LevelFS is the level fair-share of Fair Tree, +Inf without usage; not
	// a number for the root and for an account with [SharesParent]. Classic
	// has 0.
	LevelFS float64
	// IsUser says that the association is a user's, IsRoot that it is the root.
	IsUser, IsRoot bool
}

// rootNorm is what Slurm says the root's normalised share is under Fair Tree,
// where nothing reads it: 1 over a number that means unset.
const rootNorm = 1.0 / (1<<32 - 2)

// AppendShares appends a Share for each of rows. usage is as in
// [FairTree.Rank], factor what that stored.
func (f *FairTree) AppendShares(dst []Share, rows []int32, usage, factor []float64) []Share {
	v := &f.lv
	all := split(cleanUsage(usage[0]))
	for _, r := range rows {
		l := v.above[r]
		if l < 0 {
			dst = append(dst, Share{Raw: 1, Norm: rootNorm, Usage: usage[r], NormUsage: math.NaN(), Effective: 1, LevelFS: math.NaN(), IsRoot: true})
			continue
		}
		s := Share{Raw: SharesParent, Usage: usage[r], Factor: factor[r], LevelFS: math.NaN()}
		u, above := split(cleanUsage(usage[r])), split(cleanUsage(usage[v.owner[l]]))
		s.NormUsage, s.Effective = ratio(u, all), ratio(u, above)
		s.Norm = rootNorm
		if e := v.ownerEnt[l]; e >= 0 {
			s.Norm = v.share[e]
		}
		if e := v.entry[r]; e >= 0 {
			s.IsUser, s.Raw = v.kids[e] < 0, v.raw[e]
			if v.share[e] != parentUser {
				s.Norm = v.share[e]
			}
			s.LevelFS = levelKey(v.share[e], cleanUsage(usage[r]), above).float()
		}
		dst = append(dst, s)
	}
	return dst
}

// AppendShares appends a Share for each of rows. usage is as in
// [FairTree.Rank], factor what [Classic.Rank] stored.
func (c *Classic) AppendShares(dst []Share, rows []int32, usage, factor []float64) []Share {
	v := &c.lv
	c.spread(usage)
	all := split(cleanUsage(usage[0]))
	for _, r := range rows {
		l := v.above[r]
		if l < 0 {
			dst = append(dst, Share{Raw: 1, Norm: 1, Usage: usage[r], NormUsage: math.NaN(), Effective: 1, IsRoot: true})
			continue
		}
		like := c.standsFor(r)
		s := Share{Raw: SharesParent, Usage: usage[r], Factor: factor[r], NormUsage: ratio(split(cleanUsage(usage[r])), all)}
		s.Norm, s.Effective = c.norm[like], c.effective[like]
		if int(like) == len(v.row) {
			s.Effective = s.NormUsage
		}
		if e := v.entry[r]; e >= 0 {
			s.IsUser, s.Raw = v.kids[e] < 0, v.raw[e]
		}
		dst = append(dst, s)
	}
	return dst
}

// ratio is a/b as a float64, 0 if b is.
func ratio(a, b num) float64 {
	if b.mant == 0 {
		return 0
	}
	return a.over(b).float()
}

// A ShareLine names the association of a [Share] for [AppendSshare].
type ShareLine struct {
	Account, User string // User is empty for an account
	Depth         int    // below the root
	Share
}

// The columns of [AppendSshare]: header and width; negative is left-aligned.
var sshareColumns = [...]struct {
	name  string
	width int
}{
	{"Account", -20}, {"User", 10}, {"RawShares", 10}, {"NormShares", 11}, {"RawUsage", 11},
	{"NormUsage", 11}, {"EffectvUsage", 13}, {"FairShare", 10}, {"LevelFS", 10},
}

// AppendSshare appends a table of lines like that of sshare -a -l, without its
// limits: a header, a rule, and a line for each, indented by depth. Texts longer
// than their column are cut.
func AppendSshare(dst []byte, lines []ShareLine) []byte {
	for _, c := range sshareColumns {
		dst = appendCell(dst, []byte(c.name), max(c.width, -c.width))
	}
	dst = append(dst, '\n')
	for _, c := range sshareColumns {
		for range max(c.width, -c.width) {
			dst = append(dst, '-')
		}
		dst = append(dst, ' ')
	}
	dst = append(dst, '\n')
	var cell []byte
	for i := range lines {
		l := &lines[i]
		for k, c := range sshareColumns {
			cell = l.AppendCell(cell[:0], k)
			dst = appendCell(dst, cell, c.width)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// AppendCell appends the text of column k of [AppendSshare], uncut: 0 is the
// account, 1 the user, then raw shares, normalised shares, raw usage,
// normalised usage, effective usage, fair-share and level fair-share. What
// sshare leaves empty is empty.
func (l *ShareLine) AppendCell(dst []byte, k int) []byte {
	switch k {
	case 0:
		for range l.Depth {
			dst = append(dst, ' ')
		}
		return append(dst, l.Account...)
	case 1:
		return append(dst, l.User...)
	case 2:
		switch {
		case l.IsRoot:
			return dst
		case l.Raw == SharesParent:
			return append(dst, "parent"...)
		}
		return strconv.AppendUint(dst, uint64(l.Raw), 10)
	case 3:
		return appendFixed(dst, l.Norm)
	case 4:
		return strconv.AppendUint(dst, uint64(cleanUsage(min(l.Usage, 1<<63))), 10)
	case 5:
		return appendFixed(dst, l.NormUsage)
	case 6:
		return appendFixed(dst, l.Effective)
	case 7:
		if !l.IsUser {
			return dst
		}
		return appendFixed(dst, l.Factor)
	}
	if l.Raw == SharesParent {
		return dst
	}
	return appendFixed(dst, l.LevelFS)
}

// appendFixed appends f with six decimals; what is no number is empty.
func appendFixed(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return dst
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	}
	return strconv.AppendFloat(dst, f, 'f', 6, 64)
}

// appendCell appends text and a blank, aligned in width, to the left if that is
// negative, and cut to it.
func appendCell(dst, text []byte, width int) []byte {
	left := width < 0
	if left {
		width = -width
	}
	pad := width - len(text)
	if pad < 0 {
		text, pad = text[:width], 0
	}
	if left {
		dst = append(dst, text...)
	}
	for range pad {
		dst = append(dst, ' ')
	}
	if !left {
		dst = append(dst, text...)
	}
	return append(dst, ' ')
}
