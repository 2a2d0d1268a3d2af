package slurmconf

import (
	"time"

	"github.com/berth-sched/berth/scheduler"
)

// Calendar lists how far the clocks of a zone are ahead of UTC from one instant
// to another: what a scheduler needs to repeat reservations by the clock
// ([scheduler.Parameters] Zone). The first entry begins at or before from. It
// costs a step a change of the clocks.
//
// No file that [Load] reads names the zone: Slurm's controller takes that of its
// host, and Load leaves Zone empty, which is UTC. A program that wants the clock of
// a host sets it: cfg.Parameters.Zone = Calendar(time.Local, from, to).
func Calendar(zone *time.Location, from, to time.Time) []scheduler.ZoneChange {
	var out []scheduler.ZoneChange
	for at := from.In(zone); ; {
		start, end := at.ZoneBounds()
		_, offset := at.Zone()
		if start.IsZero() {
			start = from
		}
		out = append(out, scheduler.ZoneChange{From: scheduler.Time(start.UnixMicro()), Offset: time.Duration(offset) * time.Second})
		if end.IsZero() || end.After(to) {
			return out
		}
		at = end
	}
}
