package slurmconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/scheduler"
	"github.com/berth-sched/berth/topology"
)

// sharedNames share the devices of gpu.
var sharedNames = []string{"mps", "shard"}

// checkGresTypes tests GresTypes alone: what shares a GPU needs one.
func (b *builder) checkGresTypes() {
	p := &b.f.Params
	for _, s := range sharedNames {
		if !slices.Contains(p.GresTypes.V, s) {
			continue
		}
		if !slices.Contains(p.GresTypes.V, "gpu") {
			b.rd.fail(p.GresTypes.At, s, refusedErr("%s in GresTypes needs gpu there too", s))
		}
		if p.SelectType.Or("select/cons_tres") != "select/cons_tres" {
			b.rd.fail(p.GresTypes.At, s, refusedErr("%s needs SelectType=select/cons_tres", s))
		}
	}
	for i, n := range p.GresTypes.V {
		if !slices.Contains(p.GresTypes.V[:i], n) {
			b.cfg.GresTypes = append(b.cfg.GresTypes, n)
		} else {
			b.rd.warn(p.GresTypes.At, n, "the name stands twice")
		}
	}
}

// A gresItem is one entry of a node's Gres list.
type gresItem struct {
	name, typ string
	noConsume bool
	count     int64
}

// text returns the item in the grammar it was read from.
func (g gresItem) text() string {
	s := g.name
	if g.typ != "" {
		s += ":" + g.typ
	}
	if g.noConsume {
		s += ":no_consume"
	}
	return s + ":" + strconv.FormatInt(g.count, 10)
}

// parseNodeGres reads name[:type][:no_consume]:count,… as a NodeName line has
// it. A type never looks like a count, and a bracket after the count, as in
// "(S:0-1)", is dropped.
func parseNodeGres(s string) ([]gresItem, error) {
	var out []gresItem
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		item, _, _ = strings.Cut(item, "(")
		f := strings.Split(item, ":")
		g := gresItem{name: f[0], count: 1}
		f = f[1:]
		if n := len(f); n > 0 && f[n-1] != "" && f[n-1][0] >= '0' && f[n-1][0] <= '9' {
			c, err := gres.ParseCount(f[n-1])
			if err == nil {
				g.count, f = c, f[:n-1]
			} else if n == 2 {
				return nil, fmt.Errorf("%w: %w", ErrValue, err)
			}
		}
		if n := len(f); n > 0 && strings.EqualFold(f[n-1], "no_consume") {
			g.noConsume, f = true, f[:n-1]
		}
		switch {
		case g.name == "" || len(f) > 1:
			return nil, valueErr("name[:type][:no_consume]:count is wanted: %q", item)
		case len(f) == 1:
			g.typ = f[0]
		}
		out = append(out, g)
	}
	return out, nil
}

// gres checks a node's Gres list and returns it without the names that
// GresTypes lacks.
func (b *builder) gres(n *Node) string {
	if n.Gres.V == "" || strings.EqualFold(n.Gres.V, "(null)") {
		return ""
	}
	items, err := parseNodeGres(n.Gres.V)
	if err != nil {
		b.rd.fail(n.Gres.At, n.Gres.V, err)
		return ""
	}
	var out []string
	typed := map[string]bool{}
	for _, g := range items {
		if b.f.Params.GresTypes.IsSet() && !slices.Contains(b.f.Params.GresTypes.V, g.name) || !b.f.Params.GresTypes.IsSet() {
			b.rd.warn(n.Gres.At, g.name, "GresTypes does not list this name, the entry is dropped")
			continue
		}
		if was, ok := typed[g.name]; ok && was != (g.typ != "") {
			b.rd.fail(n.Gres.At, n.Gres.V, refusedErr("%s with and without a type on one node", g.name))
			return ""
		}
		typed[g.name] = g.typ != ""
		out = append(out, g.text())
	}
	return strings.Join(out, ",")
}

// gresLines knows which records of gres.conf hold for which node.
type gresLines struct {
	b      *builder
	common []int            // records without NodeName
	own    map[string][]int // by node: records that name it
	// checked are the sets of records that have been tested together.
	checked map[string]bool
}

// A nodeGroup is nodes of one NodeName line for which the same records hold.
type nodeGroup struct {
	names string
	lines []int
}

// devices checks gres.conf and sorts its records by node.
func (b *builder) devices() *gresLines {
	g := &gresLines{b: b, own: make(map[string][]int), checked: make(map[string]bool)}
	detect := map[string]Value[string]{}
	for i := range b.f.Gres {
		l := &b.f.Gres[i]
		if l.AutoDetect.IsSet() && l.Nodes.IsSet() {
			for _, name := range b.expand(l.Nodes) {
				if was := detect[name]; was.IsSet() && was.V != l.AutoDetect.V {
					b.rd.fail(l.AutoDetect.At, l.AutoDetect.V, refusedErr("node %s has AutoDetect=%s at %s", name, was.V, was.At))
					break
				}
				detect[name] = l.AutoDetect
			}
		}
		if !b.checkGres(l) || l.Name.V == "" {
			continue
		}
		if !l.Nodes.IsSet() {
			g.common = append(g.common, i)
			continue
		}
		for _, name := range b.expand(l.Nodes) {
			if _, ok := b.line[name]; !ok {
				b.rd.warn(l.Nodes.At, name, "no NodeName line has this node, the record is ignored there")
				continue
			}
			g.own[name] = append(g.own[name], i)
		}
	}
	return g
}

// checkGres tests one record of gres.conf.
func (b *builder) checkGres(l *GresLine) bool {
	if l.Name.V == "" {
		return true
	}
	types := b.f.Params.GresTypes
	if !slices.Contains(types.V, l.Name.V) {
		b.rd.warn(l.Name.At, l.Name.V, "GresTypes does not list this name, the record is ignored")
		return false
	}
	if l.AutoDetect.IsSet() && !l.Nodes.IsSet() {
		b.rd.warn(l.AutoDetect.At, l.AutoDetect.V, "AutoDetect beside Name needs NodeName, it is ignored")
	}
	if l.File.IsSet() && l.MultipleFiles.IsSet() {
		b.rd.fail(l.At, l.Name.V, refusedErr("File and MultipleFiles exclude each other"))
		return false
	}
	if files := len(b.expandFiles(l.MultipleFiles)); l.MultipleFiles.IsSet() && files < 2 {
		b.rd.fail(l.MultipleFiles.At, l.MultipleFiles.V, refusedErr("MultipleFiles needs two files at least"))
		return false
	}
	if !l.File.IsSet() {
		return true
	}
	files := len(b.expandFiles(l.File))
	if l.Count.IsSet() && l.Count.V != int64(files) && !slices.Contains(sharedNames, l.Name.V) {
		b.rd.fail(l.Count.At, l.Name.V, refusedErr("Count=%d with %d files", l.Count.V, files))
		return false
	}
	return true
}

// expandFiles expands a list of files. Sites repeat the same few lists on every
// line, so they are kept.
func (b *builder) expandFiles(v Value[string]) []string {
	if v.V == "" {
		return nil
	}
	list, ok := b.files[v.V]
	if !ok {
		list = b.expand(v)
		b.files[v.V] = list
	}
	return list
}

// split cuts the nodes of line i into groups with the same records.
func (g *gresLines) split(i int, names []string) []nodeGroup {
	if len(g.own) == 0 {
		return []nodeGroup{{g.b.f.Nodes[i].Names.V, g.check(g.common)}}
	}
	var order []string
	members := map[string][]string{}
	var key []byte
	for _, name := range names {
		key = key[:0]
		for _, l := range g.own[name] {
			key = append(strconv.AppendInt(key, int64(l), 10), ',')
		}
		if _, ok := members[string(key)]; !ok {
			order = append(order, string(key))
		}
		members[string(key)] = append(members[string(key)], name)
	}
	if len(order) == 1 {
		return []nodeGroup{{g.b.f.Nodes[i].Names.V, g.check(g.merge(names[0]))}}
	}
	var out []nodeGroup
	for _, k := range order {
		out = append(out, nodeGroup{string(topology.AppendHostlist(nil, members[k])), g.check(g.merge(members[k][0]))})
	}
	return out
}

// merge returns the records that hold for a node in file order.
func (g *gresLines) merge(name string) []int {
	own := g.own[name]
	if len(own) == 0 {
		return g.common
	}
	out := append(slices.Clone(g.common), own...)
	slices.Sort(out)
	return out
}

// check tests a set of records once.
func (g *gresLines) check(lines []int) []int {
	var key []byte
	for _, l := range lines {
		key = append(strconv.AppendInt(key, int64(l), 10), ',')
	}
	if !g.checked[string(key)] {
		g.checked[string(key)] = true
		g.b.checkGroup(lines)
	}
	return lines
}

// overridden reports whether a record tells nothing that counts: with
// config_overrides the numbers of slurm.conf hold.
func (b *builder) overridden(l *GresLine) bool {
	return slices.Contains(b.f.Params.SlurmdParameters.V, "config_overrides") && !slices.Contains(sharedNames, l.Name.V) &&
		!l.File.IsSet() && !l.MultipleFiles.IsSet() && !l.Type.IsSet() && !l.Cores.IsSet() && !l.Count.IsSet()
}

// specs returns the records as device specifications, those of names that the
// node's Gres list has.
func (g *gresLines) specs(lines []int, nodeGres string) []scheduler.DeviceSpec {
	if nodeGres == "" {
		return nil
	}
	has := map[string]bool{}
	for item := range strings.SplitSeq(nodeGres, ",") {
		name, _, _ := strings.Cut(item, ":")
		has[name] = true
	}
	var out []scheduler.DeviceSpec
	for _, i := range lines {
		l := &g.b.f.Gres[i]
		if !has[l.Name.V] || g.b.overridden(l) {
			continue
		}
		d := scheduler.DeviceSpec{
			Name: l.Name.V, Type: l.Type.V, Count: l.Count.V, File: l.File.V, MultipleFiles: l.MultipleFiles.V,
			Cores: l.Cores.V, Flags: strings.Join(l.Flags.V, ","),
		}
		for j, n := range l.Links.V {
			if j > 0 {
				d.Links += ","
			}
			d.Links += strconv.FormatInt(n, 10)
		}
		out = append(out, d)
	}
	return out
}
