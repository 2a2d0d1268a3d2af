package scheduler

import "testing"

// TestOccurrenceFar asks for the occurrence at the end of time of what repeats from
// now on: it comes to an end in few steps, and the span never turns around.
func TestOccurrenceFar(t *testing.T) {
	p := &Parameters{}
	for _, far := range []Time{Never - 1, 9223372036854000000, 4_000_000_000_000_000} {
		for _, f := range []resvFlags{resvHourly, resvDaily, resvWeekly, resvWeekday, resvWeekend} {
			start, end := p.occurrence(f, Seconds(103600), Seconds(107200), far)
			if end <= far || start >= end && end != Never {
				t.Errorf("%v at %d: %d to %d", f.words(), far, start, end)
			}
		}
	}
}
