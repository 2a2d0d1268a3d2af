package gres

import "slices"

// wholeNode gives the job all cores of a node that jobs may have.
//
// Source: spec/cores.md 4.4 and 6.
func (s *Scratch) wholeNode(g *Grant, c *Chosen, r *Request) {
	sh := c.Node.Shape
	copy(g.Cores, sh.usable)
	if r.leavesOutCores(sh) {
		leaveOut(g.Cores, sh, int(r.SpecCount))
	}
}

// wholeDevices gives the job every device of the node, but of explicit groups
// only what it asks, and shared units only if it asks for them.
//
// Source: spec/gres.md 13.
func (s *Scratch) wholeDevices(g *Grant, c *Chosen, r *Request) Refusal {
	sh := c.Node.Shape
	var shared uint64 // groups whose devices are taken in units
	for k := range r.Needs[:r.NumNeeds] {
		d := &r.Needs[k]
		x := sh.Group(d.Name)
		if x < 0 || sh.TypeCount(x, d.Type) < max(d.PerNode, d.PerTask, d.PerSocket) {
			return RefuseNotEnough
		}
		if gr := &sh.groups[x]; gr.over >= 0 {
			if !r.Has(MultipleSharing) {
				return RefuseNotEnough
			}
			shared |= 1<<gr.over | 1<<x
		}
	}
	for x := range sh.groups {
		gr := &sh.groups[x]
		switch {
		case gr.over >= 0 && shared>>x&1 == 0, gr.over < 0 && shared>>x&1 != 0:
		case gr.part != nil:
			// Instances come with the need that names them.
		case gr.flags&Explicit != 0:
			if k := needOf(r, gr.name); k >= 0 {
				d := &r.Needs[k]
				addCount(g, gr, x, max(d.PerNode, min(d.PerJob, 1)))
			}
		default:
			addCount(g, gr, x, gr.count)
		}
	}
	for k := range r.Needs[:r.NumNeeds] {
		if x := sh.Group(r.Needs[k].Name); x >= 0 {
			s.sel.jobTaken[k] += g.Count(sh, x, r.Needs[k].Type)
		}
	}
	return RefuseNone
}

func needOf(r *Request, name NameID) int {
	return slices.IndexFunc(r.Needs[:r.NumNeeds], func(d Need) bool { return d.Name == name })
}

// addCount adds the first n of group x to g.
func addCount(g *Grant, gr *group, x int, n int64) {
	if len(gr.devs) == 0 {
		if gr.flags&NoConsume != 0 {
			n = 0
		}
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(x), Device: CountOnly, Units: n})
		return
	}
	for y := range gr.devs {
		u := gr.devs[y].units
		if gr.over < 0 && gr.flags&Divisible == 0 {
			u = min(u, n)
		}
		if n <= 0 || u <= 0 {
			break
		}
		g.Devices = append(g.Devices, DeviceGrant{Group: uint16(x), Device: int16(y), Units: u})
		if gr.flags&Divisible != 0 {
			n--
		} else {
			n -= u
		}
	}
}

// sortDevices puts the devices of g in the order of listings and gives them
// the types under which they are listed: those of the request, or every type
// of the node for a request without types, the absent ones mentioned with
// zero units.
func sortDevices(sh *Shape, r *Request, g *Grant) {
	n := len(g.Devices)
	for i := range g.Devices {
		e := &g.Devices[i]
		gr := &sh.groups[e.Group]
		if e.Device >= 0 && gr.over < 0 && gr.part == nil {
			e.Type = gr.devs[e.Device].typ
		}
	}
	for x := range sh.groups {
		gr := &sh.groups[x]
		if len(gr.types) < 2 || gr.over >= 0 || gr.part != nil || !untyped(r, gr.name) && !r.Has(WholeNode) {
			continue
		}
		has := slices.ContainsFunc(g.Devices[:n], func(e DeviceGrant) bool { return int(e.Group) == x })
		for _, t := range gr.types {
			here := slices.ContainsFunc(g.Devices[:n], func(e DeviceGrant) bool { return int(e.Group) == x && e.Type == t })
			if has && !here {
				g.Devices = append(g.Devices, DeviceGrant{Group: uint16(x), Type: t, Device: CountOnly})
			}
		}
	}
	rank := func(e *DeviceGrant) int {
		gr := &sh.groups[e.Group]
		if !r.Has(WholeNode) {
			for k := range r.Needs[:r.NumNeeds] {
				if d := &r.Needs[k]; d.Name == gr.name && (d.Type == 0 || d.Type == e.Type) {
					return k<<20 | (slices.Index(gr.types, e.Type)+1)<<10
				}
			}
		}
		return 1<<28 | int(e.Group)<<20 | (slices.Index(gr.types, e.Type)+1)<<10
	}
	for i := 1; i < len(g.Devices); i++ {
		for j := i; j > 0; j-- {
			a, b := rank(&g.Devices[j-1]), rank(&g.Devices[j])
			if a < b || a == b && g.Devices[j-1].Device <= g.Devices[j].Device {
				break
			}
			g.Devices[j-1], g.Devices[j] = g.Devices[j], g.Devices[j-1]
		}
	}
}

// untyped reports whether r asks for the name without a type.
func untyped(r *Request, name NameID) bool {
	for k := range r.Needs[:r.NumNeeds] {
		if d := &r.Needs[k]; d.Name == name && d.Type == 0 {
			return true
		}
	}
	return false
}
