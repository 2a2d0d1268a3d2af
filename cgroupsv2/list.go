package cgroupsv2

import (
	"math/bits"
	"slices"
	"strconv"
)

// MaxCPU is the largest number in a list, more than any kernel is built for.
const MaxCPU = 1<<16 - 1

// AppendList appends a set of CPUs or memory nodes as the kernel writes lists:
// ascending numbers and ranges, as 0-3,8. Bit i of words is number i. The
// empty set is the empty text.
func AppendList(dst []byte, words []uint64) []byte {
	first := true
	for i := nextBit(words, 0); i >= 0; {
		end := i
		for hasBit(words, end+1) {
			end++
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(i), 10)
		if end > i {
			dst = strconv.AppendInt(append(dst, '-'), int64(end), 10)
		}
		i = nextBit(words, end+1)
	}
	return dst
}

// ParseList reads a list as [AppendList] writes it and as the kernel shows it;
// white space around it is ignored, order and overlaps do not matter. Numbers
// above [MaxCPU] are an error. The result is as short as its highest number
// allows, and nil for an empty list.
func ParseList(text string) ([]uint64, error) {
	s, base := trim(text)
	if s == "" {
		return nil, nil
	}
	var words []uint64
	for at := 0; at <= len(s); {
		lo, next, err := number(s, at)
		if err != nil {
			return nil, &ParseError{What: "list", Text: text, Offset: base + next, Err: err}
		}
		hi := lo
		if next < len(s) && s[next] == '-' {
			start := next + 1
			if hi, next, err = number(s, start); err == nil && hi < lo {
				next, err = start, ErrRange
			}
			if err != nil {
				return nil, &ParseError{What: "list", Text: text, Offset: base + next, Err: err}
			}
		}
		for len(words) <= hi/64 {
			words = append(words, 0)
		}
		for i := lo; i <= hi; i++ {
			words[i/64] |= 1 << (i % 64)
		}
		if next == len(s) {
			break
		}
		if s[next] != ',' {
			return nil, &ParseError{What: "list", Text: text, Offset: base + next, Err: ErrSyntax}
		}
		at = next + 1
	}
	return words, nil
}

// number reads digits of s from at on; on error, next is where it stands.
func number(s string, at int) (n, next int, err error) {
	for next = at; next < len(s) && s[next] >= '0' && s[next] <= '9'; next++ {
		if n = n*10 + int(s[next]-'0'); n > MaxCPU {
			return 0, at, ErrRange
		}
	}
	if next == at {
		return 0, at, ErrSyntax
	}
	return n, next, nil
}

// trim cuts white space off both ends and says how much at the front.
func trim(s string) (string, int) {
	i, j := 0, len(s)
	for i < j && space(s[i]) {
		i++
	}
	for j > i && space(s[j-1]) {
		j--
	}
	return s[i:j], i
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func hasBit(words []uint64, i int) bool {
	return i/64 < len(words) && words[i/64]>>(i%64)&1 != 0
}

// nextBit returns the lowest number of the set from i on, or -1.
func nextBit(words []uint64, i int) int {
	for w := i / 64; w < len(words); w++ {
		v := words[w]
		if w == i/64 {
			v = v >> (i % 64) << (i % 64)
		}
		if v != 0 {
			return w*64 + bits.TrailingZeros64(v)
		}
	}
	return -1
}

// equalSets compares two sets of any lengths.
func equalSets(a, b []uint64) bool {
	n := min(len(a), len(b))
	zero := func(w uint64) bool { return w != 0 }
	return slices.Equal(a[:n], b[:n]) && !slices.ContainsFunc(a[n:], zero) && !slices.ContainsFunc(b[n:], zero)
}
