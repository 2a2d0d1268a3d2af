package scheduler

import (
	"fmt"
	"strconv"
)

// enumName returns the name of v, or its number if it has none.
func enumName(names []string, v uint8) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return strconv.Itoa(int(v))
}

// enumText is enumName for MarshalText; the zero value is the empty text.
func enumText(names []string, v uint8) ([]byte, error) {
	if int(v) < len(names) && (names[v] != "" || v == 0) {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("scheduler: marshal %d: %w", v, errUnknownName)
}

func enumParse(what string, names []string, b []byte) (uint8, error) {
	for i, n := range names {
		if n == string(b) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("scheduler: parse %s %q: %w", what, b, errUnknownName)
}
