package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
)

// cutGroups makes the groups of devices that are cut into instances as jobs
// need them (NVIDIA: MIG), and returns the records that are left and those of
// replicas.
func (e *engine) cutGroups(n *NodeSpec, c *gres.ShapeConfig) (groups []gres.GroupConfig, rest, replicas []DeviceSpec, err error) {
	for i := range n.Devices {
		d := &n.Devices[i]
		bad := func(what string, err error) ([]gres.GroupConfig, []DeviceSpec, []DeviceSpec, error) {
			return nil, nil, nil, fmt.Errorf("device record %d (%s): %s%w", i+1, d.Name, what, err)
		}
		switch {
		case d.Model != "" && d.Replicas != 0, d.Replicas < 0 || d.Replicas > maxDevices:
			return bad("replicas: ", ErrSpec)
		case d.Replicas > 0:
			replicas = append(replicas, *d)
			continue
		case d.Model == "":
			rest = append(rest, *d)
			continue
		}
		g, err := e.cutGroup(d, c)
		if err != nil {
			return bad("", err)
		}
		if slices.ContainsFunc(groups, func(o gres.GroupConfig) bool { return o.Name == g.Name }) {
			return bad("a second model: ", ErrSpec)
		}
		groups = append(groups, g)
	}
	return groups, rest, replicas, nil
}

// replicated makes the group by which every gpu of a node is handed out several
// times, one to a request (NVIDIA: time-slicing).
func (e *engine) replicated(d *DeviceSpec, groups []gres.GroupConfig) (g gres.GroupConfig, err error) {
	g = gres.GroupConfig{Name: e.devices.InternName(d.Name), Over: gres.NameGPU, Flags: gres.OneUnit}
	k := slices.IndexFunc(groups, func(o gres.GroupConfig) bool {
		return o.Name == gres.NameGPU && o.Partition == nil && len(o.Devices) > 0
	})
	if k < 0 || slices.ContainsFunc(groups, func(o gres.GroupConfig) bool { return o.Name == g.Name || o.Over == gres.NameGPU }) {
		return g, fmt.Errorf("a node whose GPUs are whole and not shared otherwise is needed: %w", ErrSpec)
	}
	for range groups[k].Devices {
		g.Devices = append(g.Devices, gres.DeviceConfig{Units: int64(d.Replicas)})
	}
	g.Scope, err = shareScope(d.Scope)
	return g, err
}

func (e *engine) cutGroup(d *DeviceSpec, c *gres.ShapeConfig) (gres.GroupConfig, error) {
	g := gres.GroupConfig{}
	m, ok := gres.PartitionModelByName(d.Model)
	if !ok {
		var known []string
		for _, m := range gres.PartitionModels() {
			known = append(known, m.Name)
		}
		return g, fmt.Errorf("model %q: want one of %s: %w", d.Model, strings.Join(known, ", "), ErrSpec)
	}
	if d.Name == "" || d.Type != "" {
		return g, fmt.Errorf("model %q: a record with a model has a name and no type: %w", d.Model, ErrSpec)
	}
	r, err := deviceRecord(d, c)
	if err != nil {
		return g, err
	}
	count := max(int(r.Count), len(r.Files), 1)
	if count > maxDevices {
		return g, fmt.Errorf("%d devices: %w", count, ErrSpec)
	}
	g.Name, g.Partition = e.devices.InternName(d.Name), m
	for k := range m.Profiles {
		t := e.devices.InternType(m.Profiles[k].Name)
		g.Profiles = append(g.Profiles, t)
		if m.Profiles[k].Name == d.Plain {
			g.Plain = t
		}
	}
	if d.Plain != "" && g.Plain == 0 {
		return g, fmt.Errorf("plain profile %q: not one of %s: %w", d.Plain, d.Model, ErrSpec)
	}
	for range count {
		g.Devices = append(g.Devices, gres.DeviceConfig{Cores: r.Cores})
	}
	g.Scope, err = shareScope(d.Scope)
	return g, err
}

// shareScope reads who may be together on one device.
func shareScope(text string) (gres.ShareScope, error) {
	for s := gres.ShareAny; s <= gres.ShareJob; s++ {
		if text == s.String() || text == "" {
			return s, nil
		}
	}
	return 0, fmt.Errorf("scope %q: want any, account, user or job: %w", text, ErrSpec)
}

// scopesOf reads who may share the devices under shard and mps on a node.
func (e *engine) scopesOf(n *NodeSpec, c *gres.NodeConf) error {
	if e.cfg.Profile == ProfileBest {
		c.MPSScope = gres.ShareUser
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.Scope == "" {
			continue
		}
		s, err := shareScope(d.Scope)
		if err != nil {
			return fmt.Errorf("device record %d (%s): %w", i+1, d.Name, err)
		}
		switch d.Name {
		case "shard":
			c.ShardScope = s
		case "mps":
			c.MPSScope = s
		default:
			return fmt.Errorf("device record %d (%s): scope without shares or a model: %w", i+1, d.Name, ErrSpec)
		}
	}
	return nil
}

// noteScopes remembers of the groups of a shape who may be together on one
// device, so that requests for them say whose they are.
func (e *engine) noteScopes(groups []gres.GroupConfig) {
	for i := range groups {
		g := &groups[i]
		if g.Scope == gres.ShareAny {
			continue
		}
		k := slices.IndexFunc(e.scopes, func(s nameScope) bool { return s.name == g.Name && s.scope == g.Scope })
		if k < 0 {
			e.scopes = append(e.scopes, nameScope{g.Name, g.Scope})
		}
	}
}

// A nameScope says that devices of a name may be shared within a scope only.
type nameScope struct {
	name  gres.NameID
	scope gres.ShareScope
}

// ownDevices says in r whose the job is, as far as the devices it asks for are
// particular about it.
func (e *engine) ownDevices(r *gres.Request, s *JobSpec) {
	for _, x := range e.scopes {
		if !slices.ContainsFunc(r.Needs[:r.NumNeeds], func(n gres.Need) bool { return n.Name == x.name }) {
			continue
		}
		switch x.scope {
		case gres.ShareAccount:
			account := s.Account
			if account == "" && e.acct != nil {
				account = e.acct.defaultAccount(s.User)
			}
			r.Owner.Account = uint32(e.owners.intern("account "+account)) + 1
		case gres.ShareUser:
			r.Owner.User = uint32(e.owners.intern("user "+s.User)) + 1
		default:
			r.Owner.Job = uint64(s.ID)
		}
	}
}

// reconfigure tells to cut devices anew for a job that starts, and returns how
// long that takes.
func (e *engine) reconfigure(dst []Decision, r int32) ([]Decision, time.Duration) {
	j := &e.jobs.rows[r]
	recuts := false
	for i := range j.alloc {
		recuts = recuts || j.alloc[i].grant.Recuts()
	}
	if !recuts {
		return dst, 0
	}
	dst = e.decide(dst, r, OpReconfigure)
	d := &dst[len(dst)-1]
	d.Nodes = d.Nodes[:0:0]
	from := len(e.try.names)
	for i := range j.alloc {
		if j.alloc[i].grant.Recuts() {
			e.try.names = append(e.try.names, e.names.Name(j.alloc[i].node))
		}
	}
	d.Nodes = e.try.names[from:len(e.try.names):len(e.try.names)]
	return dst, e.par.Select.ReconfigureDelay
}

// visitIdleInstances visits the instances that exist and are not in use: jobs
// do not tell of them, and later placements depend on them.
func (e *engine) visitIdleInstances(c *codec) {
	type idle struct {
		node  int32
		grant gres.DeviceGrant
	}
	var all []idle
	if !c.reading {
		var some []gres.DeviceGrant
		for n := range int32(len(e.nodes)) {
			some = e.pool.AppendIdle(some[:0], n)
			for _, d := range some {
				all = append(all, idle{n, d})
			}
		}
	}
	list(c, &all, func(c *codec, x *idle) {
		num(c, &x.node)
		visitDevice(c, &x.grant)
		if c.reading && c.err == nil && !e.pool.AddIdle(x.node, &x.grant) {
			c.fail("idle instance")
		}
	})
}

// visitOwners visits the numbers by which grants name owners of devices.
func (e *engine) visitOwners(c *codec) {
	names := e.owners.names
	strs(c, &names)
	if !c.reading {
		return
	}
	for i, n := range names {
		if int(e.owners.intern(n)) != i {
			c.fail("owner")
			return
		}
	}
}

// truncate forgets the names after the first n.
func (t *nameTable) truncate(n int) {
	for _, s := range t.names[n:] {
		delete(t.ids, s)
	}
	t.names = t.names[:n]
}
