package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// namedClocks are the hours that have names, in seconds after midnight.
var namedClocks = map[string]int{"midnight": 0, "noon": 12 * 3600, "elevenses": 11 * 3600, "fika": 15 * 3600, "teatime": 16 * 3600}

var timeUnits = []struct {
	name string
	unit time.Duration
}{{"seconds", time.Second}, {"minutes", time.Minute}, {"hours", time.Hour}, {"days", 24 * time.Hour}, {"weeks", 7 * 24 * time.Hour}}

// ParseWhen reads an instant as Slurm's commands take it and returns it in
// now's time zone:
//
//	now[+count[unit]], now-…     units seconds (default), minutes, hours, days, weeks
//	today, tomorrow, midnight, noon, elevenses, fika, teatime
//	HH:MM[:SS] [AM|PM]           the next time the clock shows it
//	YYYY-MM-DD[THH:MM[:SS]], MMDD[YY], MM/DD[/YY], DD.MM[.YY], then [-]HH:MM[:SS]
//	uts<seconds>                 seconds since 1970
//
// Errors are [*GrammarError].
//
// Source: sbatch(1), --begin; scontrol(1), StartTime.
func ParseWhen(text string, now time.Time) (time.Time, error) {
	bad := func(at int, why string) (time.Time, error) {
		return time.Time{}, &GrammarError{"time", text, at, why}
	}
	low := strings.ToLower(strings.TrimSpace(text))
	if rest, ok := strings.CutPrefix(low, "uts"); ok {
		n, err := strconv.ParseInt(rest, 10, 38)
		if err != nil {
			return bad(3, "seconds since 1970 are wanted")
		}
		return time.Unix(n, 0).In(now.Location()), nil
	}
	if rest, ok := strings.CutPrefix(low, "now"); ok {
		d, ok := parseOffset(strings.TrimSpace(rest))
		if !ok {
			return bad(3, "+count[seconds|minutes|hours|days|weeks] is wanted")
		}
		return now.Add(d), nil
	}
	y, mo, d := now.Date()
	day := func(add int) time.Time { return time.Date(y, mo, d+add, 0, 0, 0, 0, now.Location()) }
	switch low {
	case "today":
		return day(0), nil
	case "tomorrow":
		return day(1), nil
	}
	if strings.ContainsRune(low, 0) || low == "" {
		return bad(0, "a time is wanted")
	}
	date, clock := splitWhen(low)
	at, dated, ok := parseDate(date, now)
	if !ok {
		return bad(0, "a date is wanted: YYYY-MM-DD, MM/DD/YY or DD.MM.YY")
	}
	if clock == "" {
		return at, nil
	}
	sec, ok := parseClock(clock)
	if !ok {
		return bad(len(text)-min(len(clock), len(text)), "HH:MM[:SS] is wanted")
	}
	y, mo, d = at.Date()
	t := time.Date(y, mo, d, 0, 0, sec, 0, now.Location())
	if !dated && !t.After(now) {
		t = time.Date(y, mo, d+1, 0, 0, sec, 0, now.Location())
	}
	return t, nil
}

// parseOffset reads what follows "now".
func parseOffset(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	neg := s[0] == '-'
	if !neg && s[0] != '+' {
		return 0, false
	}
	s = strings.TrimSpace(s[1:])
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 31)
	if err != nil {
		return 0, false
	}
	unit, word := time.Second, strings.TrimSpace(s[i:])
	if word != "" {
		unit = 0
		for _, u := range timeUnits {
			if strings.HasPrefix(u.name, word) {
				unit = u.unit
				break
			}
		}
	}
	if unit == 0 || n > int64((1<<62)/unit) {
		return 0, false
	}
	if neg {
		n = -n
	}
	return time.Duration(n) * unit, true
}

// splitWhen separates a date from the clock after it.
func splitWhen(s string) (date, clock string) {
	if _, ok := namedClocks[s]; ok {
		return "", s
	}
	colon := strings.IndexByte(s, ':')
	if colon < 0 {
		return s, ""
	}
	start := colon
	for start > 0 && s[start-1] >= '0' && s[start-1] <= '9' {
		start--
	}
	date = strings.TrimSpace(s[:start])
	date = strings.TrimSuffix(strings.TrimSuffix(date, "t"), "-")
	return strings.TrimSpace(date), s[start:]
}

// parseClock reads HH:MM[:SS] [am|pm] or the name of an hour.
func parseClock(s string) (int, bool) {
	if sec, ok := namedClocks[s]; ok {
		return sec, true
	}
	pm, am := false, false
	for _, suffix := range []string{"pm", "am"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, pm, am = strings.TrimSpace(rest), suffix == "pm", suffix == "am"
			break
		}
	}
	f := strings.Split(s, ":")
	if len(f) < 2 || len(f) > 3 {
		return 0, false
	}
	var n [3]int
	for i, part := range f {
		v, err := strconv.ParseUint(part, 10, 8)
		if err != nil || len(part) > 2 || i > 0 && v > 59 {
			return 0, false
		}
		n[i] = int(v)
	}
	if (am || pm) && (n[0] < 1 || n[0] > 12) || n[0] > 23 {
		return 0, false
	}
	if am && n[0] == 12 {
		n[0] = 0
	}
	if pm && n[0] < 12 {
		n[0] += 12
	}
	return n[0]*3600 + n[1]*60 + n[2], true
}

// parseDate reads a date; dated is false for the empty one, which is today.
func parseDate(s string, now time.Time) (_ time.Time, dated, ok bool) {
	y, mo, d := now.Date()
	at := func(y, m, d int) (time.Time, bool, bool) {
		t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, now.Location())
		return t, true, m >= 1 && m <= 12 && d >= 1 && t.Day() == d
	}
	field := func(s string, width int) int {
		v, err := strconv.ParseUint(s, 10, 15)
		if err != nil || len(s) > width {
			return -1
		}
		return int(v)
	}
	year := func(s string) int {
		v := field(s, 4)
		if len(s) <= 2 && v >= 0 {
			v += 2000
		}
		return v
	}
	switch {
	case s == "":
		return time.Date(y, mo, d, 0, 0, 0, 0, now.Location()), false, true
	case strings.Count(s, "-") == 2:
		f := strings.Split(s, "-")
		if len(f[0]) != 4 {
			return time.Time{}, false, false
		}
		return at(field(f[0], 4), field(f[1], 2), field(f[2], 2))
	case strings.Contains(s, "/"):
		f := strings.Split(s, "/")
		if len(f) == 2 {
			return at(y, field(f[0], 2), field(f[1], 2))
		}
		if len(f) == 3 {
			return at(year(f[2]), field(f[0], 2), field(f[1], 2))
		}
	case strings.Contains(s, "."):
		f := strings.Split(s, ".")
		if len(f) == 2 {
			return at(y, field(f[1], 2), field(f[0], 2))
		}
		if len(f) == 3 {
			return at(year(f[2]), field(f[1], 2), field(f[0], 2))
		}
	case len(s) == 4:
		return at(y, field(s[:2], 2), field(s[2:], 2))
	case len(s) == 6:
		return at(year(s[4:]), field(s[:2], 2), field(s[2:4], 2))
	}
	return time.Time{}, false, false
}
