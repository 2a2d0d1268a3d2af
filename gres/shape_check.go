package gres

import (
	"errors"
	"fmt"
	"math/bits"
)

// validate returns all problems of c in field order.
func (c *ShapeConfig) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("gres: make shape: "+format, args...))
	}
	cores := 0
	switch {
	case c.Sockets < 0 || c.Sockets > maxSockets:
		bad("%d sockets: want 0 to %d", c.Sockets, maxSockets)
	case c.Sockets > 0 && (c.CoresPerSocket < 1 || c.CoresPerSocket*c.Sockets > maxCores):
		bad("%d cores per socket: want 1 to %d", c.CoresPerSocket, maxCores/c.Sockets)
	case c.Sockets == 0 && (c.CoresPerSocket != 0 || c.CPUs != 0):
		bad("cores without sockets")
	default:
		cores = c.Sockets * c.CoresPerSocket
	}
	if c.Threads < 0 || c.Threads > 64 {
		bad("%d threads per core: want 1 to 64", c.Threads)
	}
	if c.Boards < 0 || c.Boards > 1 && c.Sockets%c.Boards != 0 {
		bad("%d boards: do not divide %d sockets", c.Boards, c.Sockets)
	}
	if c.CPUs < 0 || c.CPUs > cores && c.CPUs != cores*max(c.Threads, 1) {
		bad("%d CPUs: want at most %d, or %d", c.CPUs, cores, cores*max(c.Threads, 1))
	}
	if c.MilliCPU < 0 || c.MilliCPU > 0 && c.Sockets > 0 {
		bad("%d milli-CPU: only nodes without sockets count them", c.MilliCPU)
	}
	if c.MemMiB < 0 || c.RealMemMiB < 0 {
		bad("negative memory")
	}
	for _, k := range c.SpecCores {
		if k < 0 || k >= cores {
			bad("specialised core %d: want 0 to %d", k, cores-1)
		}
	}
	if c.RestrictedPerGPU < 0 {
		bad("%d restricted cores per GPU", c.RestrictedPerGPU)
	}
	if len(c.Groups) > maxGroups {
		bad("%d device groups: want at most %d", len(c.Groups), maxGroups)
	}
	for i := range c.Groups {
		if err := c.Groups[i].validate(c.Groups[:i], cores); err != nil {
			errs = append(errs, fmt.Errorf("gres: make shape: group %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// validate returns the first problem of a group; before are the groups in
// front of it.
func (g *GroupConfig) validate(before []GroupConfig, cores int) error {
	if g.Name == 0 {
		return errors.New("no name")
	}
	under := -1
	for i := range before {
		if before[i].Name == g.Name {
			return errors.New("name is given twice")
		}
		if before[i].Name == g.Over {
			under = i
		}
	}
	switch {
	case g.Count < 0:
		return fmt.Errorf("count %d", g.Count)
	case len(g.Devices) > maxDevices:
		return fmt.Errorf("%d devices: want at most %d", len(g.Devices), maxDevices)
	case g.Over != 0 && under < 0:
		return errors.New("shares a group that does not stand before it")
	case g.Over != 0 && before[under].Over != 0:
		return errors.New("shares a group that is shared itself")
	case g.Over != 0 && len(g.Devices) != len(before[under].Devices):
		return fmt.Errorf("%d devices: shares a group of %d", len(g.Devices), len(before[under].Devices))
	}
	if g.Partition != nil {
		if err := g.validatePartition(); err != nil {
			return err
		}
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		if d.Units < 0 {
			return fmt.Errorf("device %d: %d units", i, d.Units)
		}
		if len(d.Links) > maxDevices {
			return fmt.Errorf("device %d: %d links", i, len(d.Links))
		}
		for w, x := range d.Cores {
			if x != 0 && w<<6+bits.Len64(x) > cores {
				return fmt.Errorf("device %d: core %d: want less than %d", i, w<<6+bits.Len64(x)-1, cores)
			}
		}
	}
	return nil
}
