package gres

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrGrant says that a grant does not fit the node's shape or what is free on
// it; see [Shape.CheckGrant].
var ErrGrant = errors.New("grant does not fit")

// CheckGrant reports why g cannot be booked on row: an index that the shape
// lacks, or something that is in use already. It serves grants that come from
// outside, such as those of jobs found running. Errors wrap [ErrGrant].
func (s *Shape) CheckGrant(row []uint64, g *Grant) error {
	if len(g.Cores) > s.coreWords {
		return fmt.Errorf("gres: check grant: %d core words of %d: %w", len(g.Cores), s.coreWords, ErrGrant)
	}
	for w, c := range g.Cores {
		last := ^uint64(0)
		if r := s.cores - w<<6; r < 64 {
			last = 1<<r - 1
		}
		if c&^last != 0 {
			return fmt.Errorf("gres: check grant: core %d of %d: %w", w<<6+bits.Len64(c)-1, s.cores, ErrGrant)
		}
		if used := c & row[w]; used != 0 && !g.SharedCores {
			return fmt.Errorf("gres: check grant: core %d in use: %w", w<<6+bits.TrailingZeros64(used), ErrGrant)
		}
	}
	if g.MemMiB < 0 || g.MemMiB > s.FreeMem(row) {
		return fmt.Errorf("gres: check grant: %d MiB of %d free: %w", g.MemMiB, s.FreeMem(row), ErrGrant)
	}
	if g.MilliCPU < 0 || s.sockets == 0 && g.MilliCPU > s.FreeMilliCPU(row) {
		return fmt.Errorf("gres: check grant: %d milli-CPU of %d free: %w", g.MilliCPU, s.FreeMilliCPU(row), ErrGrant)
	}
	for i := range g.Devices {
		if err := s.checkDevice(row, g, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shape) checkDevice(row []uint64, g *Grant, i int) error {
	d := &g.Devices[i]
	if int(d.Group) >= len(s.groups) || d.Units < 0 {
		return fmt.Errorf("gres: check grant: group %d, %d units: %w", d.Group, d.Units, ErrGrant)
	}
	gr := &s.groups[d.Group]
	if gr.flags&NoConsume != 0 || d.Units == 0 {
		return nil
	}
	if gr.part != nil {
		return s.checkInstance(row, g, i)
	}
	free := gr.count - int64(row[gr.off])
	if d.Device >= 0 || len(gr.devs) > 0 {
		if d.Device < 0 || int(d.Device) >= len(gr.devs) {
			return fmt.Errorf("gres: check grant: device %d of %d: %w", d.Device, len(gr.devs), ErrGrant)
		}
		free = s.FreeUnits(row, int(d.Group), int(d.Device))
		for j := range g.Devices[:i] {
			if o := &g.Devices[j]; o.Device == d.Device && o.Group == d.Group {
				free -= o.Units
			}
		}
		if gr.owner >= 0 && row[gr.owner+int(d.Device)] != 0 && row[gr.owner+int(d.Device)] != g.Owner.word(gr.scope) {
			return fmt.Errorf("gres: check grant: device %d belongs to another %s: %w", d.Device, gr.scope, ErrGrant)
		}
	}
	if d.Units > free {
		return fmt.Errorf("gres: check grant: %d units of device %d, %d free: %w", d.Units, d.Device, free, ErrGrant)
	}
	return nil
}
