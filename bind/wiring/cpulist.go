package wiring

import (
	"strconv"
	"strings"
)

// maxCPU bounds CPU and NUMA numbers, so that a slip in a file cannot ask for
// gigabytes.
const maxCPU = 1 << 13

// ParseCPUList reads Linux's list form, such as 0-3,8, into bits. An empty
// list is empty. Errors are of type [*ParseError].
func ParseCPUList(text string) ([]uint64, error) {
	var words []uint64
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err := number(lo)
		b, err2 := number(hi)
		if err == nil {
			err = err2
		}
		if err == nil && b < a {
			err = ErrSyntax
		}
		if err != nil {
			return nil, &ParseError{File: "CPU list", Line: 1, Token: part, Err: err}
		}
		for len(words) <= b>>6 {
			words = append(words, 0)
		}
		for i := a; i <= b; i++ {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words, nil
}

// number reads a CPU or NUMA number.
func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	switch {
	case err != nil:
		return 0, ErrSyntax
	case n >= maxCPU:
		return 0, ErrRange
	}
	return int(n), nil
}

// has reports whether bit i of words is set.
func has(words []uint64, i int) bool {
	return i>>6 < len(words) && words[i>>6]>>(i&63)&1 == 1
}

// each calls f for every set bit, rising.
func each(words []uint64, f func(i int)) {
	for i := range 64 * len(words) {
		if has(words, i) {
			f(i)
		}
	}
}
