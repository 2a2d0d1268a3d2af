package trace

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// parseStamp reads sacct's date and time, which carries no zone, as UTC, in
// microseconds since the Unix epoch.
func parseStamp(s string) (int64, error) {
	t, err := time.Parse("2006-01-02T15:04:05", s)
	if err != nil {
		return 0, errors.New("not a date and time such as 2021-12-10T14:23:28")
	}
	if t.Unix() < 0 || t.Unix() > maxSeconds {
		return 0, ErrRange
	}
	return t.Unix() * Second, nil
}

// sacctLimit reads Timelimit: [d-]hh:mm:ss or a word for "none".
func sacctLimit(s string) (int64, error) {
	switch s {
	case "", "UNLIMITED", "Partition_Limit", "INVALID":
		return 0, nil
	}
	return parseSpan(s)
}

// parseSpan reads [d-]hh:mm:ss in microseconds.
func parseSpan(s string) (int64, error) {
	bad := errors.New("not a time such as 1-12:00:00")
	var days int64
	if d, rest, ok := strings.Cut(s, "-"); ok {
		n, err := parseCount(d, maxSeconds/86400)
		if err != nil {
			return 0, bad
		}
		days, s = n, rest
	}
	part := strings.Split(s, ":")
	if len(part) != 3 {
		return 0, bad
	}
	total := days * 86400
	for i, unit := range [3]int64{3600, 60, 1} {
		n, err := parseCount(part[i], maxSeconds/3600)
		if err != nil || strings.HasPrefix(part[i], "+") {
			return 0, bad
		}
		total += n * unit
	}
	if total > maxSeconds {
		return 0, ErrRange
	}
	return total * Second, nil
}

// parseMiB reads 4000M, 1.50G, 500: without a unit MiB, rounded up.
func parseMiB(s string) (int64, error) {
	if s == "" {
		return 0, errors.New("memory without a number")
	}
	shift := 0
	switch s[len(s)-1] {
	case 'K':
		shift = -10
	case 'M':
	case 'G':
		shift = 10
	case 'T':
		shift = 20
	default:
		s += "M"
	}
	n, err := parseSeconds(s[:len(s)-1]) // a decimal number in millionths
	switch {
	case errors.Is(err, ErrDecimal):
		return 0, errors.New("not an amount of memory such as 4000M")
	case err != nil:
		return 0, err
	case shift < 0:
		return (n + 1<<-shift*Second - 1) / (1 << -shift * Second), nil
	case n>>20 > maxMemMiB>>shift:
		return 0, fmt.Errorf("%w, at most %d MiB", ErrRange, int64(maxMemMiB))
	}
	// The whole part first: n<<shift could leave int64.
	return n/Second<<shift + (n%Second<<shift+Second-1)/Second, nil
}
