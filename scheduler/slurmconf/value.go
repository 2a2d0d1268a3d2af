package slurmconf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/qos"
)

// A Value is a setting and where it was written. The zero Value was not
// written.
type Value[T any] struct {
	V  T
	At Origin
}

// IsSet reports whether the setting was written.
func (v Value[T]) IsSet() bool { return !v.At.IsZero() }

// Or returns the setting, or d if it was not written.
func (v Value[T]) Or(d T) T {
	if v.IsSet() {
		return v.V
	}
	return d
}

// Unlimited is the value of a count or a time that was written as UNLIMITED,
// INFINITE or -1.
const Unlimited = math.MaxInt64

// Forever is the value of a duration that was written as UNLIMITED, INFINITE or
// -1.
const Forever = qos.Unlimited

// A setter stores the value of one key in a record.
type setter[R any] func(r *R, w word, at Origin) error

// A table maps the keys of a record, in lower case, to their setters.
type table[R any] map[string]setter[R]

// with returns the table with names as further spellings of key.
func (t table[R]) with(key string, names ...string) table[R] {
	for _, n := range names {
		t[n] = t[key]
	}
	return t
}

// put makes a setter from a parser and the place for its result.
func put[R, T any](parse func(string) (T, error), field func(*R) *Value[T]) setter[R] {
	return func(r *R, w word, at Origin) error {
		v, err := parse(w.val)
		if err != nil {
			return err
		}
		*field(r) = Value[T]{v, at}
		return nil
	}
}

// drop is the setter of a key that is known and does not concern scheduling.
func drop[R any](*R, word, Origin) error { return nil }

func parseText(s string) (string, error) { return s, nil }

// parseList cuts a comma list; blanks around items and empty items vanish.
func parseList(s string) ([]string, error) {
	var out []string
	for f := range strings.SplitSeq(s, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

// parseBool reads Slurm's booleans: yes, true, 1, up and no, false, 0, down,
// in any case.
func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "yes", "true", "1", "up", "y", "t":
		return true, nil
	case "no", "false", "0", "down", "n", "f":
		return false, nil
	}
	return false, valueErr("yes or no is wanted")
}

// parseCount returns a reader of integers in [lo, hi]; unlimited also allows
// UNLIMITED, INFINITE and -1.
func parseCount(lo, hi int64, unlimited bool) func(string) (int64, error) {
	return func(s string) (int64, error) {
		if unlimited && isUnlimited(s) {
			return Unlimited, nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, valueErr("a number is wanted")
		}
		if n < lo || n > hi {
			return 0, valueErr("a number in [%d, %d] is wanted", lo, hi)
		}
		return n, nil
	}
}

func isUnlimited(s string) bool {
	return s == "-1" || strings.EqualFold(s, "unlimited") || strings.EqualFold(s, "infinite")
}

// parseFloat reads a finite number.
func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, valueErr("a number is wanted")
	}
	return f, nil
}

// parseMiB reads an amount of memory or disk in MiB with an optional suffix K,
// M, G, T or P; kibibytes round up.
func parseMiB(s string) (int64, error) {
	if isUnlimited(s) {
		return Unlimited, nil
	}
	num, unit := s, int64(1)
	if n := len(s) - 1; n > 0 {
		switch s[n] | 0x20 {
		case 'k':
			num, unit = s[:n], 0
		case 'm':
			num = s[:n]
		case 'g':
			num, unit = s[:n], 1<<10
		case 't':
			num, unit = s[:n], 1<<20
		case 'p':
			num, unit = s[:n], 1<<30
		}
	}
	v, err := strconv.ParseInt(num, 10, 64)
	if err != nil || v < 0 || unit > 0 && v > math.MaxInt64/unit {
		return 0, valueErr("a size in MiB is wanted, or a number with K, M, G, T or P")
	}
	if unit == 0 {
		return v/1024 + min(v%1024, 1), nil
	}
	return v * unit, nil
}

// parseWord returns a reader of one word out of a list, in lower case.
func parseWord(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		l := strings.ToLower(s)
		if !slices.Contains(words, l) {
			return "", valueErr("one of %s is wanted", strings.Join(words, ", "))
		}
		return l, nil
	}
}

// parseDuration reads Slurm's time strings; UNLIMITED, INFINITE and -1 are
// Forever.
func parseDuration(s string) (time.Duration, error) {
	d, err := qos.ParseTimeLimit(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrValue, err)
	}
	return d, nil
}

// parseMinutes is parseDuration rounded up to whole minutes, as Slurm keeps
// time limits.
func parseMinutes(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	return qos.RoundMinutes(d), err
}

// parseSeconds reads a plain number of seconds; UNLIMITED, INFINITE and -1 are
// Forever.
func parseSeconds(s string) (time.Duration, error) {
	n, err := parseCount(0, int64(Forever/time.Second), true)(s)
	if err != nil {
		return 0, err
	}
	if n == Unlimited {
		return Forever, nil
	}
	return time.Duration(n) * time.Second, nil
}

// An Item is one word of a parameter list such as SchedulerParameters, with
// its value if it has one.
type Item struct {
	Name  string // in lower case
	Value string
	Given bool // a value was written
}

func parseItems(s string) ([]Item, error) {
	list, _ := parseList(s)
	out := make([]Item, len(list))
	for i, f := range list {
		n, v, ok := strings.Cut(f, "=")
		out[i] = Item{strings.ToLower(strings.TrimSpace(n)), strings.TrimSpace(v), ok}
	}
	return out, nil
}

// findItem returns the last item of that name.
func findItem(items []Item, name string) (Item, bool) {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Name == name {
			return items[i], true
		}
	}
	return Item{}, false
}

// hasFold reports whether list holds word in any case.
func hasFold(list []string, word string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, word) })
}
