package gres

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// ParseTRES applies a TRES list such as "cpu=16,mem=32G,gres/gpu:h100=4" to
// dst, a vector of s. Kinds that are not named keep their amount, so the
// caller first fills dst with 0 (a request) or [Unlimited] (limits).
//
// An item is KIND=N, KIND+=N or KIND-=N. N is a count with an optional suffix
// K M G T P (1024ⁿ, any case); for kinds in MiB a number without suffix is
// MiB and K is ignored. "=-1" stores Unlimited. Subtraction stops at 0;
// adding to Unlimited counts from 0. Each item is applied to the amount that
// dst had before the call, so of two items for one kind the last wins. Numbers
// above the largest amount become Unlimited.
//
// On error, a *[ParseError], dst is unchanged. It does not allocate.
//
// Source: spec/qos.md 7, sacctmgr(1).
func ParseTRES(s *Schema, dst Vector, text string) error {
	if len(dst) != s.Len() {
		panic(badLen)
	}
	// Two walks: the first proves that the second cannot fail.
	if err := eachTRES(s, text, nil); err != nil {
		return err
	}
	return eachTRES(s, text, dst)
}

// eachTRES reads text and, if dst is not nil, applies it. Items are applied
// from the last to the first seen per kind: an item is skipped if a later one
// names the same kind.
func eachTRES(s *Schema, text string, dst Vector) error {
	for off := 0; off < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[off:], ','); i >= 0 {
			end = off + i
		}
		k, op, n, at, err := parseItem(s, text[off:end])
		if err != nil {
			return &ParseError{text, off + at, err}
		}
		if dst != nil && !namedLater(s, text, end+1, k) {
			dst[k] = applyTRES(dst[k], op, n)
		}
		if off = end + 1; off == len(text) {
			return &ParseError{text, off, ErrSyntax} // trailing comma
		}
	}
	return nil
}

// namedLater reports whether an item of text from off on is for k. Lists are a
// dozen items long; the square is cheaper than remembering.
func namedLater(s *Schema, text string, off int, k Kind) bool {
	for off < len(text) {
		item, _, _ := strings.Cut(text[off:], ",")
		if j, _, _, _, err := parseItem(s, item); err == nil && j == k {
			return true
		}
		off += len(item) + 1
	}
	return false
}

func applyTRES(old int64, op byte, n int64) int64 {
	if op == '=' {
		return n
	}
	if old == Unlimited {
		old = 0
	}
	if op == '+' {
		return SatAdd(old, n)
	}
	return max(SatSub(old, n), 0)
}

// parseItem reads KIND op N; at is the offset of what is wrong.
func parseItem(s *Schema, item string) (k Kind, op byte, n int64, at int, err error) {
	eq := strings.IndexByte(item, '=')
	if eq < 0 {
		return 0, 0, 0, len(item), ErrSyntax
	}
	name, op := item[:eq], byte('=')
	if eq > 0 && (item[eq-1] == '+' || item[eq-1] == '-') {
		name, op = item[:eq-1], item[eq-1]
	}
	if name == "" {
		return 0, 0, 0, 0, ErrSyntax
	}
	k, ok := s.Kind(name)
	if !ok {
		return 0, 0, 0, 0, ErrUnknownKind
	}
	val := item[eq+1:]
	if val == "-1" && op == '=' {
		return k, op, Unlimited, 0, nil
	}
	n, at, err = parseAmount(val, s.MiBBased(k))
	return k, op, n, eq + 1 + at, err
}

// parseAmount reads digits and one suffix letter. In MiB-based kinds K and M
// are the base itself.
func parseAmount(val string, mib bool) (n int64, at int, err error) {
	n, i, err := parseDigits(val)
	if err != nil || i == len(val) {
		return n, i, err
	}
	shift := suffixShift(val[i])
	if shift == 0 || i+1 != len(val) {
		return 0, i, ErrSyntax
	}
	if mib {
		shift = max(shift-20, 0)
	}
	return SatMul(n, 1<<shift), 0, nil
}

// parseDigits reads a run of at least one digit. Numbers of 64 bits above
// MaxInt64 are held there; longer ones are out of range.
func parseDigits(val string) (n int64, i int, err error) {
	var u uint64
	for ; i < len(val) && val[i] >= '0' && val[i] <= '9'; i++ {
		hi, lo := bits.Mul64(u, 10)
		sum, carry := bits.Add64(lo, uint64(val[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			return 0, i, ErrRange
		}
		u = sum
	}
	if i == 0 {
		return 0, 0, ErrSyntax
	}
	return int64(min(u, math.MaxInt64)), i, nil
}

// suffixShift returns the power of two of a suffix letter, 0 if c is none.
func suffixShift(c byte) int {
	switch c | 0x20 {
	case 'k':
		return 10
	case 'm':
		return 20
	case 'g':
		return 30
	case 't':
		return 40
	case 'p':
		return 50
	}
	return 0
}

// ParseCount reads a count of a node's or a request's GRES: digits and an
// optional suffix, any case. K, KiB = 1024, KB = 1000; M, G, T, P likewise.
// A product beyond int64 is held at [Unlimited]. Errors are *[ParseError].
//
// Source: spec/gres.md 2.
func ParseCount(text string) (int64, error) {
	n, i, err := parseDigits(text)
	if err != nil {
		return 0, &ParseError{text, i, err}
	}
	if i == len(text) {
		return n, nil
	}
	shift := suffixShift(text[i])
	if shift == 0 {
		return 0, &ParseError{text, i, ErrSyntax}
	}
	switch rest := text[i+1:]; {
	case rest == "" || strings.EqualFold(rest, "ib"):
		return SatMul(n, 1<<shift), nil
	case strings.EqualFold(rest, "b"):
		for ; shift > 0; shift -= 10 {
			n = SatMul(n, 1000)
		}
		return n, nil
	}
	return 0, &ParseError{text, i + 1, ErrSyntax}
}

// AppendCount appends n with the largest suffix K, M, G, T, P that divides it
// exactly, as Slurm shows counts: 4096 is "4K", 1500 is "1500".
func AppendCount(dst []byte, n int64) []byte {
	return appendUnits(dst, n, " KMGTP")
}

// appendUnits divides n by 1024 while that is exact; units[i] is the letter
// after i divisions, a blank for none.
func appendUnits(dst []byte, n int64, units string) []byte {
	u := 0
	for n != 0 && n%1024 == 0 && u+1 < len(units) {
		n /= 1024
		u++
	}
	dst = strconv.AppendInt(dst, n, 10)
	if units[u] != ' ' {
		dst = append(dst, units[u])
	}
	return dst
}

// AppendTRES appends the amounts of v that are not 0 as a TRES list in the
// order of s: "cpu=16,mem=32G,gres/gpu=4". Kinds in MiB carry the largest
// exact suffix from M on; Unlimited is written as -1. [ParseTRES] reads it
// back. It does not allocate if dst has room.
func AppendTRES(dst []byte, s *Schema, v Vector) []byte {
	return appendTRES(dst, s, v, 0)
}

// AppendLimits is [AppendTRES] for limits: it leaves out the amounts that are
// [Unlimited] and writes those that are 0.
func AppendLimits(dst []byte, s *Schema, v Vector) []byte {
	return appendTRES(dst, s, v, Unlimited)
}

func appendTRES(dst []byte, s *Schema, v Vector, absent int64) []byte {
	if len(v) != s.Len() {
		panic(badLen)
	}
	start := len(dst)
	for i, n := range v {
		if n == absent {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		k := Kind(i)
		dst = append(dst, s.Name(k)...)
		dst = append(dst, '=')
		switch {
		case n == Unlimited:
			dst = append(dst, "-1"...)
		case s.MiBBased(k):
			dst = appendUnits(dst, n, "MGTP")
		default:
			dst = strconv.AppendInt(dst, n, 10)
		}
	}
	return dst
}
