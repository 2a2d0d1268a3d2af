package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// buildShape makes the hardware shape of a node description.
// Its drain is why nodes of it must not be used, empty if they may.
func (e *engine) buildShape(n *NodeSpec) (_ *gres.Shape, drain string, err error) {
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
			return nil, "", fmt.Errorf("scheduler: read node %s: CPUSpecList %q: %w", n.Names, n.CPUSpecList, err)
		}
		for _, k := range cpus {
			c.SpecCores = append(c.SpecCores, k/c.Threads)
		}
	}
	if c.Groups, drain, err = e.buildGroups(n, &c); err != nil {
		return nil, "", fmt.Errorf("scheduler: read node %s: %w", n.Names, err)
	}
	e.noteScopes(c.Groups)
	s, err := gres.NewShape(c)
	if err != nil {
		return nil, "", fmt.Errorf("scheduler: read node %s: %w", n.Names, err)
	}
	return s, drain, nil
}

// buildGroups makes the device groups of a node: its GRES merged with its
// device records as the node daemon and the controller do. A node without
// records has the devices that GRES counts, near every core. drain is why the
// node must not be used; empty if it may.
func (e *engine) buildGroups(n *NodeSpec, c *gres.ShapeConfig) (groups []gres.GroupConfig, drain string, err error) {
	conf, err := gres.ParseNodeGRES(n.GRES)
	if err != nil {
		return nil, "", err
	}
	cut, rest, replicas, err := e.cutGroups(n, c)
	if err != nil {
		return nil, "", err
	}
	plain := *n
	plain.Devices = rest
	conf = slices.DeleteFunc(conf, func(a gres.ConfGRES) bool {
		return slices.ContainsFunc(cut, func(g gres.GroupConfig) bool { return e.devices.Name(g.Name) == a.Name })
	})
	if len(conf) > 0 {
		if groups, drain, err = e.plainGroups(&plain, conf, c); err != nil {
			return nil, "", err
		}
	}
	groups = append(cut, groups...)
	for i := range replicas {
		g, err := e.replicated(&replicas[i], groups)
		if err != nil {
			return nil, "", fmt.Errorf("device record of %s: %w", replicas[i].Name, err)
		}
		groups = append(groups, g)
	}
	return groups, drain, nil
}

// plainGroups is buildGroups for devices that are neither cut nor replicated.
func (e *engine) plainGroups(n *NodeSpec, conf []gres.ConfGRES, c *gres.ShapeConfig) (groups []gres.GroupConfig, drain string, err error) {
	types := e.cfg.GresTypes
	for i := range conf {
		a := &conf[i]
		if a.Name == "" || a.Name == "gpu" && a.Count > maxDevices {
			return nil, "", fmt.Errorf("gres %q: name %q, count %d: %w", n.GRES, a.Name, a.Count, ErrSpec)
		}
		if !slices.Contains(types, a.Name) {
			types = append(slices.Clip(types), a.Name)
		}
	}
	if n.CPUMilli > 0 {
		groups, err = e.countedGroups(conf)
		return groups, "", err
	}
	lines, err := records(n, conf, c)
	if err != nil {
		return nil, "", err
	}
	lines, problems := gres.CheckRecords(lines)
	merged, more := gres.MergeNode(conf, lines, nil, false)
	nc := gres.NodeConf{Name: n.Names, Shape: *c, GRES: conf, Types: types}
	if err := e.scopesOf(n, &nc); err != nil {
		return nil, "", err
	}
	groups, last := nc.Groups(e.devices, merged)
	for _, p := range slices.Concat(problems, more, last) {
		switch {
		case p.Fatal():
			return nil, "", &p
		case p.Drains() && drain == "":
			drain = p.Reason()
		}
	}
	return groups, drain, nil
}

// maxDevices is the most devices of one name on a node.
const maxDevices = 1024

// countedGroups are the groups of a node described by counts alone: each gpu in
// thousandths.
func (e *engine) countedGroups(conf []gres.ConfGRES) ([]gres.GroupConfig, error) {
	var groups []gres.GroupConfig
	for i := range conf {
		a := &conf[i]
		name := e.devices.InternName(a.Name)
		k := slices.IndexFunc(groups, func(g gres.GroupConfig) bool { return g.Name == name })
		if k < 0 {
			k = len(groups)
			groups = append(groups, gres.GroupConfig{Name: name})
		}
		g := &groups[k]
		switch a.Name {
		case "gpu":
			g.Flags |= gres.Divisible
			if a.Type != "" {
				g.Flags |= gres.Tracked
			}
			for range a.Count {
				g.Devices = append(g.Devices, gres.DeviceConfig{Type: e.devices.InternType(a.Type), Units: 1000})
			}
		case "shard", "mps":
			return nil, fmt.Errorf("gres %s on a node of counts: %w", a.Name, ErrUnsupported)
		default:
			g.Count += a.Count
		}
		if a.NoConsume {
			g.Flags |= gres.NoConsume
		}
	}
	return groups, nil
}

// records are the node's device records in the form of package gres. GPUs that
// no record describes are taken to be there as counted.
func records(n *NodeSpec, conf []gres.ConfGRES, c *gres.ShapeConfig) ([]gres.Record, error) {
	var out []gres.Record
	for i := range n.Devices {
		r, err := deviceRecord(&n.Devices[i], c)
		if err != nil {
			return nil, fmt.Errorf("device record %d (%s): %w", i+1, n.Devices[i].Name, err)
		}
		out = append(out, r)
	}
	for i := range conf {
		a := &conf[i]
		if a.Name != "gpu" || slices.ContainsFunc(out, func(r gres.Record) bool { return r.Name == "gpu" }) && len(n.Devices) > 0 {
			continue
		}
		r := gres.Record{Name: a.Name, Type: a.Type, Count: a.Count}
		for k := range a.Count {
			r.Files = append(r.Files, fmt.Sprintf("gpu/%d/%d", i, k))
		}
		out = append(out, r)
	}
	return out, nil
}

func deviceRecord(d *DeviceSpec, c *gres.ShapeConfig) (gres.Record, error) {
	r := gres.Record{Name: d.Name, Type: d.Type, Count: d.Count, UUID: d.UUID}
	var err error
	switch {
	case d.File != "" && d.MultipleFiles != "":
		return r, fmt.Errorf("both File and MultipleFiles: %w", ErrSpec)
	case d.File != "":
		r.Files, err = topology.ParseHostlist(d.File)
	case d.MultipleFiles != "":
		r.Multiple = true
		r.Files, err = topology.ParseHostlist(d.MultipleFiles)
	}
	if err != nil {
		return r, err
	}
	if r.Flags, err = gres.ParseRecordFlags(d.Flags); err != nil {
		return r, err
	}
	if d.Cores != "" {
		cores, err := parseRange(d.Cores)
		if err != nil {
			return r, err
		}
		r.Cores = make([]uint64, (c.Sockets*c.CoresPerSocket+63)/64)
		for _, k := range cores {
			if k >= c.Sockets*c.CoresPerSocket {
				return r, fmt.Errorf("core %d of %d: %w", k, c.Sockets*c.CoresPerSocket, ErrSpec)
			}
			r.Cores[k>>6] |= 1 << (k & 63)
		}
	}
	if d.Links != "" {
		for item := range strings.SplitSeq(d.Links, ",") {
			k, err := strconv.ParseInt(strings.TrimSpace(item), 10, 32)
			if err != nil {
				return r, fmt.Errorf("links %q: %w", d.Links, ErrSpec)
			}
			r.Links = append(r.Links, int32(k))
		}
	}
	return r, nil
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
