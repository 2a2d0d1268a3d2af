package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/topology"
)

// A DeviceCount says what there is of a device that a job asks for, on the
// nodes that it may use.
type DeviceCount struct {
	// Name and Type asked; Type is empty for any.
	Name, Type string
	// Free devices of the name, and OfType those of them of the type.
	Free, OfType int64
	// Asked in all.
	Asked int64
}

// countDevices counts what is free of the devices that c asks for on the nodes
// of set.
func (e *engine) countDevices(c *class, set *topology.NodeSet) (out []DeviceCount) {
	for i := range c.req.Needs[:c.req.NumNeeds] {
		n := &c.req.Needs[i]
		x := DeviceCount{Name: e.devices.Name(n.Name), Asked: max(n.PerJob, n.PerNode*int64(c.min), n.PerTask*int64(c.req.Tasks))}
		if n.Type == gres.NoType {
			continue
		}
		x.Type = e.devices.Type(n.Type)
		for id := range set.All() {
			sh, row := e.pool.Shape(int32(id)), e.pool.Row(int32(id))
			if g := sh.Group(n.Name); g >= 0 {
				x.Free += sh.FreeDevices(row, g, 0)
				x.OfType += sh.FreeDevices(row, g, n.Type)
			}
		}
		out = append(out, x)
	}
	return out
}

func (d *DeviceCount) appendText(b []byte) []byte {
	b = append(append(append(b, "  "...), d.Name...), ": "...)
	b = strconv.AppendInt(b, d.Free, 10)
	b = append(b, " free"...)
	if d.Type != "" {
		b = append(b, ", "...)
		b = strconv.AppendInt(b, d.OfType, 10)
		b = append(append(b, " of type "...), d.Type...)
	}
	b = append(b, ", "...)
	b = strconv.AppendInt(b, d.Asked, 10)
	return append(b, " asked\n"...)
}

// askLess adds what the job could ask instead to start now: any type of device,
// fewer devices, fewer nodes, or less time.
func (e *engine) askLess(x *Explanation, rec record) {
	licences := !slices.ContainsFunc(x.Limits, func(b LimitBlock) bool { return b.Reason != ReasonLicenses })
	if !licences || len(x.Funnel) == 0 || x.Behind != 0 && e.cfg.Profile == ProfileSlurm {
		return
	}
	last := x.Funnel[len(x.Funnel)-1]
	if last.Stage < StageHardware && (len(x.Reservations) == 0 || last.Stage < StageReservation) {
		return
	}
	asked := e.jobs.rows[rec.row].asked()
	base := &asked
	try := func(text string, change func(*JobSpec) bool) bool {
		spec := cloneSpec(base)
		if !change(&spec) {
			return false
		}
		nodes, ok := e.startsAs(rec, &spec)
		if ok {
			x.Changes = append(x.Changes, Change{Text: text, Nodes: nodes})
		}
		return ok
	}
	if last.Stage < StageHardware || len(x.Limits) > 0 {
		e.askLessTime(rec, try) // to end before what is reserved
		return
	}
	try("if it took any type of device", func(s *JobSpec) bool { return mapAsks(s, anyType) })
	if most := e.mostAsked(rec); most > 1 {
		for n := min(most-1, 64); n > 0; n-- {
			if try(fmt.Sprintf("with %d instead of %d devices", n, most), func(s *JobSpec) bool { return mapAsks(s, atMost(n)) }) {
				break
			}
		}
	}
	if base.MinNodes > 1 {
		for n := min(base.MinNodes-1, max(last.Nodes, 1)); n > 0 && n+8 > last.Nodes; n-- {
			if try(fmt.Sprintf("with %d instead of %d nodes", n, base.MinNodes), func(s *JobSpec) bool { return fewerNodes(s, n) }) {
				break
			}
		}
	}
	e.askLessTime(rec, try)
}

// askLessTime tries the time left until each start to come of a plan or of a
// reservation, the longest first.
func (e *engine) askLessTime(rec record, try func(string, func(*JobSpec) bool) bool) {
	limit := e.timeLimit(&e.jobs.rows[rec.row], int(rec.pair))
	var left []time.Duration
	add := func(at Time) {
		if d := at.Sub(e.now).Truncate(time.Second); at > e.now && at != Never && d > 0 && d < limit {
			left = append(left, d)
		}
	}
	for i := range e.plans.all[:e.plans.n] {
		if p := &e.plans.all[i]; p.row >= 0 && p.row != rec.row {
			add(p.start)
		}
	}
	for i := range e.resv.all {
		add(e.resv.all[i].start)
	}
	slices.Sort(left)
	left = slices.Compact(left)
	slices.Reverse(left)
	for _, d := range left[:min(len(left), 16)] {
		if try("with a time limit of at most "+d.String(), func(s *JobSpec) bool { s.TimeLimit = d; return s.TimeMin <= d }) {
			return
		}
	}
}

// startsAs reports whether the job of rec would start now, beside all plans, if
// it were asked for as spec says, and on which nodes. Nothing changes.
func (e *engine) startsAs(rec record, spec *JobSpec) (nodes string, ok bool) {
	_, classes, err := e.compile(spec)
	if err != nil || int(rec.pair) >= len(classes) {
		return "", false
	}
	j := &e.jobs.rows[rec.row]
	id := classes[rec.pair]
	c := &e.classes.rows[id]
	all, was, first, fails, wake := j.classes, j.spec, j.firstTry, c.fails, e.nextSwitch
	j.classes = slices.Clone(all)
	j.classes[rec.pair], j.spec, c.fails = id, spec, [2]failure{}
	if c.overMem || !e.waitsForNothing(rec) || !e.licensesNow(rec, e.timeLimit(j, int(rec.pair))) {
		ok = false
	} else if ok = e.tryNow(rec, &e.plans); ok {
		nodes = e.hosts(e.try.nodes)
	}
	j, c = &e.jobs.rows[rec.row], &e.classes.rows[id]
	j.classes, j.spec, j.firstTry, c.fails, e.nextSwitch = all, was, first, fails, wake
	e.dropUnused(classes)
	return nodes, ok
}

// waitsForNothing reports whether partition limits let the record start.
func (e *engine) waitsForNothing(rec record) bool {
	j := &e.jobs.rows[rec.row]
	return e.waitsFor(j.spec, j.own, j.parts[rec.pair], j.classes[rec.pair]) == ReasonNone
}

// mostAsked is the largest count of devices that the job asks in one way.
func (e *engine) mostAsked(rec record) int64 {
	c := &e.classes.rows[e.jobs.rows[rec.row].classes[rec.pair]]
	most := int64(0)
	for i := range c.req.Needs[:c.req.NumNeeds] {
		n := &c.req.Needs[i]
		most = max(most, n.PerJob, n.PerNode)
	}
	return most
}

// mapAsks rewrites the device requests of s entry by entry and reports whether
// any changed.
func mapAsks(s *JobSpec, change func(*gres.Ask) bool) bool {
	changed := false
	rewrite := func(text *string, per gres.Per, named bool) {
		if *text == "" {
			return
		}
		parse := gres.ParseGPUs
		if named {
			parse = gres.ParseAsks
		}
		asks, err := parse(nil, per, "", *text)
		if err != nil {
			return
		}
		var out []string
		any := false
		for i := range asks {
			a := &asks[i]
			any = change(a) || any
			w := strconv.FormatInt(a.Count, 10)
			if a.Type != "" {
				w = a.Type + ":" + w
			}
			if named {
				w = a.Name + ":" + w
			}
			out = append(out, w)
		}
		if any {
			*text, changed = strings.Join(out, ","), true
		}
	}
	rewrite(&s.GRES, gres.PerNode, true)
	rewrite(&s.GPUs, gres.PerJob, false)
	rewrite(&s.GPUsPerNode, gres.PerNode, false)
	return changed
}

func anyType(a *gres.Ask) bool {
	had := a.Type != ""
	a.Type = ""
	return had
}

// atMost returns a change that caps counts at n.
func atMost(n int64) func(*gres.Ask) bool {
	return func(a *gres.Ask) bool {
		over := a.Count > n
		a.Count = min(a.Count, n)
		return over
	}
}

// fewerNodes makes s a request for n nodes, with tasks in proportion.
func fewerNodes(s *JobSpec, n int32) bool {
	if s.Tasks > 0 {
		if s.Tasks%s.MinNodes != 0 {
			return false
		}
		s.Tasks = s.Tasks / s.MinNodes * n
	}
	s.MinNodes = n
	if !s.NodesRange {
		s.MaxNodes = min(s.MaxNodes, n)
	}
	return len(s.NodeSizes) == 0 && s.NodeList == ""
}
