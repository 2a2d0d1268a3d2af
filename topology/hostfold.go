package topology

import (
	"cmp"
	"slices"
	"strconv"
)

// AppendHostlist appends to dst the hostlist that expands to names in their
// order, duplicates included, folded as Slurm folds it: consecutive names with
// the same text before their trailing digits share a bracket, and in it numbers
// that follow each other and pad alike form a range. "n01 n2 n03" is
// "n[01,2,03]", "n09 n10 n11" is "n[09-11]". Nothing is reordered; see
// [SortHosts]. The names must be free of brackets and separators, as names out
// of [ParseHostlist] are but for a lone "]".
//
// Cost: O(bytes). It does not allocate if dst has room.
//
// Source: spec/topology.md 1.7.
func AppendHostlist(dst []byte, names []string) []byte {
	var f folder
	f.dst = dst
	for _, s := range names {
		f.add(s)
	}
	return f.end()
}

// A folder writes names one after the other as a hostlist. The range in hand is
// lo to hi, printed with width digits.
type folder struct {
	dst    []byte
	prefix string
	lo, hi uint64
	width  int
	held   bool   // prefix, lo, hi are in hand
	first  string // the whole first name while nothing follows it in a bracket
	open   bool   // a bracket is open
	begun  bool
}

// splitHost cuts the trailing digits off a name: "rack1n08" is "rack1n", "08".
// Digits past the 17th last belong to the text, for numbers stay below 1e17.
func splitHost(s string) (prefix, number string) {
	i := len(s)
	for i > 0 && s[i-1]-'0' <= 9 && len(s)-i < 17 {
		i--
	}
	return s[:i], s[i:]
}

func (f *folder) add(s string) {
	prefix, number := splitHost(s)
	if number == "" {
		f.flush()
		f.sep()
		f.dst = append(f.dst, s...)
		return
	}
	v, _ := strconv.ParseUint(number, 10, 64) // up to 17 digits: cannot fail
	if f.held && prefix == f.prefix {
		if v == f.hi+1 && v-f.lo < MaxRangeHosts && len(number) == max(digits(v), f.width) {
			f.hi = v
			return
		}
		f.item()
	} else {
		f.flush()
		f.prefix, f.held, f.first = prefix, true, s
	}
	f.lo, f.hi, f.width = v, v, len(number)
}

// item writes the range in hand into the bracket, opening it if need be.
func (f *folder) item() {
	if f.open {
		f.dst = append(f.dst, ',')
	} else {
		f.sep()
		f.dst = append(f.dst, f.prefix...)
		f.dst = append(f.dst, '[')
		f.open = true
	}
	f.dst = appendPadded(f.dst, f.lo, f.width)
	if f.hi > f.lo {
		f.dst = append(f.dst, '-')
		f.dst = appendPadded(f.dst, f.hi, f.width)
	}
}

// flush writes what is in hand and closes the bracket.
func (f *folder) flush() {
	switch {
	case !f.held:
	case !f.open && f.lo == f.hi:
		f.sep()
		f.dst = append(f.dst, f.first...)
	default:
		f.item()
		f.dst = append(f.dst, ']')
	}
	f.held, f.open = false, false
}

func (f *folder) sep() {
	if f.begun {
		f.dst = append(f.dst, ',')
	}
	f.begun = true
}

func (f *folder) end() []byte {
	f.flush()
	return f.dst
}

// SortHosts sorts names in Slurm's host order: natural order of the text before
// the trailing digits, then by number; numbers whose paddings do not agree go by
// width. A name without trailing digits comes before those with.
func SortHosts(names []string) { slices.SortFunc(names, CompareHosts) }

// CompareHosts compares two names as [SortHosts] orders them; it is 0 only for
// equal names.
func CompareHosts(a, b string) int {
	ap, an := splitHost(a)
	bp, bn := splitHost(b)
	if c := compareNatural(ap, bp); c != 0 {
		return c
	}
	// A number of the same width compares as text. If the widths differ, either
	// the paddings disagree and the width decides, or they agree and the longer
	// number is the larger one: the width decides both.
	if c := cmp.Compare(len(an), len(bn)); c != 0 {
		return c
	}
	if c := cmp.Compare(an, bn); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// compareNatural compares texts with the digit runs in them taken as numbers;
// texts that differ in leading zeros alone compare byte by byte.
func compareNatural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if a[i]-'0' <= 9 && b[j]-'0' <= 9 {
			ni, nj := digitRun(a, i), digitRun(b, j)
			x, y := trimZeros(a[i:ni]), trimZeros(b[j:nj])
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c
			}
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
			i, j = ni, nj
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i++
		j++
	}
	if c := cmp.Compare(len(a)-i, len(b)-j); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

func digitRun(s string, i int) int {
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}
