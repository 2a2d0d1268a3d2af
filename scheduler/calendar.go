package scheduler

import "time"

// A ZoneChange says that clocks are Offset ahead of UTC from an instant on.
type ZoneChange struct {
	// From is the first instant at which it holds.
	From Time
	// Offset is local time minus UTC.
	Offset time.Duration
}

const day = 24 * time.Hour

// offset is how far clocks are ahead of UTC at t.
func (p *Parameters) offset(t Time) time.Duration {
	off := p.Priority.UTCOffset
	for i := range p.Zone {
		if p.Zone[i].From > t {
			break
		}
		off = p.Zone[i].Offset
	}
	return off
}

// instant is when clocks show wall (microseconds of a clock at UTC). What they
// show twice is the first time; what they never show is as long after the last
// instant before the change as wall says.
func (p *Parameters) instant(wall Time) Time {
	off, until := p.Priority.UTCOffset, Never
	for i := 0; ; i++ {
		if until = Never; i < len(p.Zone) {
			until = p.Zone[i].From
		}
		t := wall.Add(-off)
		if t < until || i >= len(p.Zone) {
			return t
		}
		if next := wall.Add(-p.Zone[i].Offset); next < until {
			return t // in the gap
		}
		off = p.Zone[i].Offset
	}
}

// addDays moves t by whole days on the clock.
func (p *Parameters) addDays(t Time, n int) Time {
	return p.instant(t.Add(p.offset(t)).Add(time.Duration(n) * day))
}

// weekday is the day of the week at t, 0 for Sunday.
func (p *Parameters) weekday(t Time) int {
	days := floorDiv(int64(t.Add(p.offset(t))), int64(day/time.Microsecond))
	return int(((days+4)%7 + 7) % 7)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// repeat is the next occurrence after one at t (spec: reservations 6.1).
func (p *Parameters) repeat(f resvFlags, t Time) Time {
	const sunday, friday, saturday = 0, 5, 6
	switch w := p.weekday(t); {
	case f&resvHourly != 0:
		return t.Add(time.Hour)
	case f&resvDaily != 0:
		return p.addDays(t, 1)
	case f&resvWeekly != 0:
		return p.addDays(t, 7)
	case f&resvWeekday != 0:
		switch w {
		case friday:
			return p.addDays(t, 3)
		case saturday:
			return p.addDays(t, 2)
		}
		return p.addDays(t, 1)
	case w == saturday: // WEEKEND
		return p.addDays(t, 1)
	case w == sunday:
		return p.addDays(t, 6)
	default:
		return p.addDays(t, saturday-w)
	}
}

// advance moves a span to its next occurrence, its end by the clock as well.
func (p *Parameters) advance(f resvFlags, start, end Time) (Time, Time) {
	next := p.repeat(f, start)
	if f&resvHourly != 0 {
		return next, end.Add(time.Hour)
	}
	wall, last := next.Add(p.offset(next))-start.Add(p.offset(start)), end.Add(p.offset(end))
	if last >= Never-wall {
		return next, Never
	}
	return next, max(p.instant(last+wall), next+1)
}

// occurrence is the first occurrence that ends after t of a span that repeats.
// Weeks that lie in between are skipped at once, or centuries if they are more
// than a duration can tell.
func (p *Parameters) occurrence(f resvFlags, start, end, t Time) (Time, Time) {
	for end < Never && f&resvRecurs != 0 {
		weeks := int(t.Sub(end)/(7*day)) - 1
		if weeks <= 0 {
			break
		}
		start, end = p.addDays(start, 7*weeks), p.addDays(end, 7*weeks)
	}
	for end <= t && end < Never {
		start, end = p.advance(f, start, end)
	}
	return start, end
}

// coincide reports whether two reservations hold at the same time, in what is to
// come of the earlier one if it repeats. Maintenance once, more than a week ahead,
// is no matter to one that repeats (spec: reservations 2.2).
func (e *engine) coincide(a, b *reservation) bool {
	if b.start < a.start {
		a, b = b, a
	}
	week := e.resv.clock.Add(7 * day)
	if (a.flags^b.flags)&resvRecurs != 0 && (a.farMaint(week) || b.farMaint(week)) {
		return false
	}
	start, end := a.start, a.end
	if a.flags&resvRecurs != 0 {
		if end <= b.start {
			start, end = e.par.occurrence(a.flags, start, end, b.start)
		}
	}
	return start < b.end && end > b.start
}

// spanFrom is the first occurrence of x that ends after t; for one that floats, what
// it is when t has come. Profile Slurm knows only the next one (spec: reservations
// 5.2).
func (e *engine) spanFrom(x *reservation, t Time) (start, end Time) {
	switch {
	case e.cfg.Profile == ProfileSlurm || t == Never:
	case x.flags&resvFloat != 0:
		start = max(t, e.now) + x.offset
		return start, start.Add(x.end.Sub(x.start))
	case x.flags&resvRecurs != 0 && x.end <= t:
		return e.par.occurrence(x.flags, x.start, x.end, t)
	}
	return x.start, x.end
}

// period is about how long it takes x to repeat.
func (x *reservation) period() time.Duration {
	switch {
	case x.flags&resvHourly != 0:
		return time.Hour
	case x.flags&(resvDaily|resvWeekday) != 0:
		return day
	}
	return 7 * day
}

// endAfter is the first end of x after t at which what it keeps comes free, Never if
// there is none before until, or a number of occurrences later: who has found no
// place until then finds none.
func (e *engine) endAfter(x *reservation, t, until Time) Time {
	switch {
	case x.flags&resvFloat != 0 && e.cfg.Profile != ProfileSlurm:
		return Never
	case x.end > t:
		return x.end
	case x.flags&resvRecurs == 0, e.cfg.Profile == ProfileSlurm, t >= max(until, x.end).Add(mostRepeats*x.period()):
		return Never
	}
	_, end := e.spanFrom(x, t)
	return end
}

// holdsDuring reports whether x holds at any time of [from, to), now or when it repeats.
func (e *engine) holdsDuring(x *reservation, from, to Time) bool {
	start, end := e.spanFrom(x, from)
	return start < to && end > from
}

// farMaint reports whether x is maintenance once that begins after t.
func (x *reservation) farMaint(t Time) bool {
	return x.flags&resvMaint != 0 && x.flags&resvRecurs == 0 && x.start > t
}
