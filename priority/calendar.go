package priority

import (
	"slices"
	"time"
)

// Period says how often usage is set back to nothing. Slurm:
// PriorityUsageResetPeriod.
type Period uint8

// The periods. [ResetNow] is once, at the start.
const (
	ResetNone Period = iota
	ResetNow
	ResetDaily     // midnight
	ResetWeekly    // Sunday
	ResetMonthly   // the 1st
	ResetQuarterly // 1 January, April, July, October
	ResetYearly    // 1 January
)

// Calendar says what the wall clock shows: the offsets from UTC of the place
// that a cluster keeps its books in. Its zero value is UTC. It is a value in
// the configuration, so the same journal gives the same resets everywhere.
type Calendar struct {
	// Offsets are in ascending order of From; the first one holds before,
	// too.
	Offsets []Offset
}

// Offset is how far the wall clock is ahead of UTC from an instant on.
type Offset struct {
	From int64         // microseconds since 1970 UTC
	East time.Duration // ahead of UTC
}

const (
	usecPerSecond = 1_000_000
	secondsPerDay = 86400
	usecPerDay    = secondsPerDay * usecPerSecond
)

// Next is the first boundary of p after the given instant, both in microseconds
// since 1970 UTC: the first moment at which the wall clock has reached it. ok
// is false for [ResetNone] and [ResetNow]. Missed boundaries are not made up
// for: reset once, then ask again from now. Source: spec priority 5.4.
func (p Period) Next(c *Calendar, after int64) (at int64, ok bool) {
	if p < ResetDaily || p > ResetYearly {
		return 0, false
	}
	wall := p.boundary(floorDiv(after+c.east(after), usecPerDay)) * usecPerDay
	if len(c.Offsets) == 0 {
		return wall, true
	}
	for i, o := range c.Offsets {
		at = wall - o.East.Microseconds()
		if i > 0 {
			at = max(at, o.From)
		}
		last := i == len(c.Offsets)-1
		if at > after && (last || at < c.Offsets[i+1].From) {
			break
		}
	}
	return at, true
}

// east is the offset at the given instant, in microseconds.
func (c *Calendar) east(at int64) int64 {
	if len(c.Offsets) == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(c.Offsets, at, func(o Offset, at int64) int {
		switch {
		case o.From < at:
			return -1
		case o.From > at:
			return 1
		}
		return 0
	})
	if !found && i > 0 {
		i--
	}
	return c.Offsets[i].East.Microseconds()
}

// boundary is the first day after the given one, both counted from 1970, on
// which p begins anew.
func (p Period) boundary(day int64) int64 {
	y, m := monthOf(day)
	switch p {
	case ResetDaily:
		return day + 1
	case ResetWeekly:
		// 1 January 1970 was a Thursday, three days before a Sunday.
		return day + 7 - (day + 4 - 7*floorDiv(day+4, 7))
	case ResetMonthly:
		return firstOf(y, m+1)
	case ResetQuarterly:
		return firstOf(y, m/3*3+3)
	}
	return firstOf(y+1, 0)
}

// firstOf is the day, counted from 1970, of the 1st of month m, counted from 0
// and perhaps beyond 11, of year y.
func firstOf(y, m int64) int64 {
	y, m = y+m/12, m%12
	// Years that begin in March put the leap day last; 400 of them have
	// 146,097 days.
	m -= 2
	if m < 0 {
		y, m = y-1, m+12
	}
	era := floorDiv(y, 400)
	y -= era * 400
	return era*146097 + y*365 + y/4 - y/100 + (153*m+2)/5 - 719468
}

// monthOf is the year and the month, counted from 0, of a day counted from
// 1970.
func monthOf(day int64) (y, m int64) {
	y = 1970 + floorDiv(day*400, 146097)
	for firstOf(y, 0) > day {
		y--
	}
	for firstOf(y+1, 0) <= day {
		y++
	}
	for m = 11; firstOf(y, m) > day; m-- {
	}
	return y, m
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
