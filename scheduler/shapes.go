package scheduler

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
)

// buildShape makes the hardware shape of a node description.
func (e *engine) buildShape(n *NodeSpec) (*gres.Shape, error) {
	c := gres.ShapeConfig{
		Boards: int(max(n.Boards, 1)), MilliCPU: n.CPUMilli, RealMemMiB: max(n.MemMiB, 1), MemMiB: max(max(n.MemMiB, 1)-n.MemSpecMiB, 0),
		RestrictedPerGPU: int(n.RestrictedCoresPerGPU),
	}
	if n.CPUMilli == 0 {
		c.Sockets, c.CoresPerSocket, c.Threads = int(max(n.Sockets, 1)), int(max(n.CoresPerSocket, 1)), int(max(n.ThreadsPerCore, 1))
		if n.CoresPerSocket == 0 && n.CPUs > 0 {
			// Slurm: CPUs alone are that many one-core sockets' worth of cores.
			c.CoresPerSocket = max(int(n.CPUs)/(c.Sockets*c.Threads), 1)
		}
		c.CPUs = int(n.CPUs)
	}
	if n.CoreSpecCount > 0 {
		c.SpecCores = gres.AppendSpecCores(nil, c.Sockets, c.CoresPerSocket, int(n.CoreSpecCount), e.par.Select.SpecCoresFirst)
	}
	if n.CPUSpecList != "" {
		cpus, err := parseRange(n.CPUSpecList)
		if err != nil {
			return nil, fmt.Errorf("scheduler: read node %s: CPUSpecList %q: %w", n.Names, n.CPUSpecList, err)
		}
		for _, k := range cpus {
			c.SpecCores = append(c.SpecCores, k/c.Threads)
		}
	}
	groups, err := e.buildGroups(n, &c)
	if err != nil {
		return nil, fmt.Errorf("scheduler: read node %s: %w", n.Names, err)
	}
	c.Groups = groups
	s, err := gres.NewShape(c)
	if err != nil {
		return nil, fmt.Errorf("scheduler: read node %s: %w", n.Names, err)
	}
	return s, nil
}

// maxDevices is the most devices of one name on a node.
const maxDevices = 1024

// buildGroups makes the device groups of a node: counts from GRES, and where
// records name them, types and cores.
func (e *engine) buildGroups(n *NodeSpec, c *gres.ShapeConfig) ([]gres.GroupConfig, error) {
	counts, err := gres.ParseAsks(nil, gres.PerNode, "Gres", n.GRES)
	if err != nil {
		return nil, err
	}
	var groups []gres.GroupConfig
	for i := range counts {
		a := &counts[i]
		if a.Name == "" || a.Name == "gpu" && a.Count > maxDevices {
			return nil, fmt.Errorf("gres %q: name %q, count %d: %w", n.GRES, a.Name, a.Count, ErrSpec)
		}
		if a.Name != "gpu" && (a.Name == "shard" || a.Name == "mps") {
			return nil, fmt.Errorf("gres %s: %w", a.Name, ErrUnsupported)
		}
		name := e.devices.InternName(a.Name)
		g := findGroup(&groups, name)
		if a.Name != "gpu" {
			g.Count += a.Count
			continue
		}
		d := gres.DeviceConfig{Type: e.devices.InternType(a.Type)}
		if n.CPUMilli > 0 {
			d.Units = 1000
			g.Flags |= gres.Divisible
		}
		if a.Type != "" {
			g.Flags |= gres.Tracked
		}
		for range a.Count {
			g.Devices = append(g.Devices, d)
		}
	}
	for i := range n.Devices {
		if err := e.applyRecord(groups, &n.Devices[i], c); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// applyRecord gives the devices of a record, in order, their cores.
func (e *engine) applyRecord(groups []gres.GroupConfig, d *DeviceSpec, c *gres.ShapeConfig) error {
	if d.Cores == "" || c.Sockets == 0 {
		return nil
	}
	name, ok := e.devices.NameID(d.Name)
	if !ok {
		return nil
	}
	cores, err := parseRange(d.Cores)
	if err != nil {
		return fmt.Errorf("device %s: cores %q: %w", d.Name, d.Cores, err)
	}
	words := make([]uint64, (c.Sockets*c.CoresPerSocket+63)/64)
	for _, k := range cores {
		if k >= c.Sockets*c.CoresPerSocket {
			return fmt.Errorf("device %s: core %d of %d: %w", d.Name, k, c.Sockets*c.CoresPerSocket, ErrSpec)
		}
		words[k>>6] |= 1 << (k & 63)
	}
	for i := range groups {
		if groups[i].Name != name {
			continue
		}
		left := max(d.Count, 1)
		for k := range groups[i].Devices {
			if x := &groups[i].Devices[k]; x.Cores == nil && left > 0 {
				x.Cores = words
				groups[i].Flags |= gres.Tracked
				left--
			}
		}
	}
	return nil
}

func findGroup(groups *[]gres.GroupConfig, name gres.NameID) *gres.GroupConfig {
	for i := range *groups {
		if (*groups)[i].Name == name {
			return &(*groups)[i]
		}
	}
	*groups = append(*groups, gres.GroupConfig{Name: name})
	return &(*groups)[len(*groups)-1]
}

// parseRange reads a list of numbers and ranges: "0-3,8".
func parseRange(text string) ([]int, error) {
	var out []int
	for item := range strings.SplitSeq(text, ",") {
		lo, hi, ranged := strings.Cut(item, "-")
		a, err := strconv.ParseUint(lo, 10, 16)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(hi, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("%q: %w", item, ErrSpec)
		}
		for k := a; k <= b; k++ {
			out = append(out, int(k))
		}
	}
	return out, nil
}
