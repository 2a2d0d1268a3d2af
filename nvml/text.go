package nvml

import (
	"strconv"
	"strings"
)

// normalBusID returns a PCI address in the kernel's form: lower case and a
// domain of four digits where that suffices.
func normalBusID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	domain, rest, ok := strings.Cut(s, ":")
	for ok && len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	if !ok {
		return s
	}
	return domain + ":" + rest
}

// cpuList reads Linux's list form, such as 0-3,8, into bits.
func cpuList(s string) ([]uint64, error) {
	var words []uint64
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err := strconv.ParseUint(lo, 10, 32)
		b, err2 := strconv.ParseUint(hi, 10, 32)
		if err != nil || err2 != nil || b < a || b >= 64*cpuWords {
			return nil, ErrSyntax
		}
		for len(words) <= int(b>>6) {
			words = append(words, 0)
		}
		for i := a; i <= b; i++ {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words, nil
}

func hasBit(words []uint64, i int) bool {
	return i >= 0 && i>>6 < len(words) && words[i>>6]>>(i&63)&1 == 1
}

// normalName makes a GRES type of a model: lower case, blanks to underscores.
func normalName(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), " ", "_")
}
