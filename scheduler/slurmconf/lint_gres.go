package slurmconf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/topology"
)

// lintGresTypes: gres-name-undeclared, gres-shard-no-gpu.
func (s *site) lintGresTypes() {
	types := s.f.Params.GresTypes
	seen := map[string]bool{}
	report := func(at Origin, what, name string) {
		if name == "" || slices.Contains(types.V, name) || seen[name] {
			return
		}
		seen[name] = true
		s.bad("gres-name-undeclared", at, "the entry is dropped", "%s names %s, GresTypes=%s lacks it; add it there",
			what, name, strings.Join(types.V, ","))
	}
	for l := range s.f.Nodes {
		for _, g := range s.items[l] {
			report(s.f.Nodes[l].Gres.At, "Gres="+s.f.Nodes[l].Gres.V, g.name)
		}
	}
	for i := range s.f.Gres {
		report(s.f.Gres[i].Name.At, "gres.conf", s.f.Gres[i].Name.V)
	}
	for _, shared := range sharedNames {
		if !slices.Contains(types.V, shared) {
			continue
		}
		if !slices.Contains(types.V, "gpu") {
			s.bad("gres-shard-no-gpu", types.At, "fatal at start", "GresTypes has %s and not gpu; add gpu", shared)
		} else if t := s.f.Params.SelectType; t.IsSet() && t.V != "select/cons_tres" {
			s.bad("gres-shard-no-gpu", t.At, "fatal at start", "GresTypes has %s, SelectType is %s; it needs select/cons_tres", shared, t.V)
		}
	}
}

// lintNodeGres: gres-typed-untyped, gres-shard-and-mps, gres-shard-uneven.
func (s *site) lintNodeGres() {
	for l := range s.f.Nodes {
		n := &s.f.Nodes[l]
		forms := map[string]bool{}
		for _, g := range s.items[l] {
			if was, ok := forms[g.name]; ok && was != (g.typ != "") {
				s.bad("gres-typed-untyped", n.Gres.At, "fatal at start", "Gres=%s has %s with and without a type; use one form", n.Gres.V, g.name)
			}
			forms[g.name] = g.typ != ""
		}
		gpus, shards, mps := s.amount(l, "gpu"), s.amount(l, "shard"), s.amount(l, "mps")
		if shards > 0 && mps > 0 {
			s.warn("gres-shard-and-mps", n.Gres.At, "the launch environment comes out wrong", "Gres=%s has both shard and mps; use one of them", n.Gres.V)
		}
		if gpus > 0 && shards%gpus != 0 && !s.shardFiles(l) {
			s.warn("gres-shard-uneven", n.Gres.At, "GPUs hold different numbers of shards",
				"%d shards over %d GPUs become %s; use a multiple of %d", shards, gpus, spread(shards, gpus), gpus)
		}
	}
}

// spread shows how a total is split over devices.
func spread(total, n int64) string {
	var out []string
	for i := range min(n, 16) {
		share := (total) / (n - i)
		total -= share
		out = append(out, fmt.Sprint(share))
	}
	if n > 16 {
		out = append(out, "…")
	}
	return strings.Join(out, ",")
}

// shardFiles reports whether gres.conf gives the shards of a line's nodes
// device by device.
func (s *site) shardFiles(line int) bool {
	for i := range s.f.Gres {
		g := &s.f.Gres[i]
		if g.Name.V == "shard" && g.File.IsSet() && s.applies(g, line) {
			return true
		}
	}
	return false
}

// applies reports whether a record of gres.conf holds for a node of the line.
func (s *site) applies(g *GresLine, line int) bool {
	if !g.Nodes.IsSet() {
		return true
	}
	names, _ := topology.ParseHostlist(g.Nodes.V)
	for _, n := range names {
		if l, ok := s.b.line[n]; ok && int(l) == line {
			return true
		}
	}
	return false
}

// detect returns how GPUs of a record's nodes are detected, "" if they are
// not: the AutoDetect of a line with the same NodeName counts before the global
// one.
func (s *site) detect(g *GresLine) string {
	global := ""
	for i := range s.f.Gres {
		o := &s.f.Gres[i]
		switch {
		case !o.AutoDetect.IsSet():
		case !o.Nodes.IsSet() && (o.Name.V == "" || o == g):
			global = o.AutoDetect.V
		case o.Nodes.IsSet() && o.Nodes.V == g.Nodes.V:
			if o.AutoDetect.V == "off" {
				return ""
			}
			return o.AutoDetect.V
		}
	}
	if global == "off" {
		return ""
	}
	return global
}

// lintGresConf: gres-autodetect-no-count, gres-cores-socket, gres-nofile.
func (s *site) lintGresConf() {
	anyCount := s.anyGPU() >= 0
	for i := range s.f.Gres {
		g := &s.f.Gres[i]
		if g.AutoDetect.IsSet() && g.AutoDetect.V != "off" {
			s.lintAutoDetect(g, anyCount)
		}
		if g.Name.V == "gpu" && !g.File.IsSet() && !g.MultipleFiles.IsSet() && s.detect(g) == "" {
			s.bad("gres-nofile", g.At, "the node becomes invalid", "gpu without File and without AutoDetect; give File=/dev/nvidia[0-…] or AutoDetect=nvml")
		}
		if g.Cores.IsSet() {
			s.lintCores(g)
		}
	}
}

// dynamic reports whether the nodes of a line may register what they have.
func dynamic(n *Node) bool {
	return strings.Contains(n.State.V, "dynamic") || strings.Contains(n.State.V, "future")
}

func (s *site) lintAutoDetect(g *GresLine, anyCount bool) {
	for l := range s.f.Nodes {
		n := &s.f.Nodes[l]
		if s.amount(l, "gpu") > 0 || dynamic(n) || !s.applies(g, l) || !g.Nodes.IsSet() && anyCount && !s.found(l) {
			continue
		}
		s.bad("gres-autodetect-no-count", n.Names.At, "no GPU will be schedulable",
			"AutoDetect=%s (%s), the line of %s has no Gres=; write Gres=gpu:TYPE:n", g.AutoDetect.V, g.AutoDetect.At, n.Names.V)
		return
	}
}

// found reports whether the inventory has GPUs on a node of the line.
func (s *site) found(line int) bool {
	for _, v := range s.inv.Nodes {
		if len(v.GPUs) == 0 {
			continue
		}
		names, _ := topology.ParseHostlist(v.Names)
		for _, n := range names {
			if l, ok := s.b.line[n]; ok && int(l) == line {
				return true
			}
		}
	}
	return false
}

// lintCores tests that a record's cores are whole sockets of its nodes.
func (s *site) lintCores(g *GresLine) {
	cores, ok := parseCores(g.Cores.V)
	if !ok {
		return
	}
	for l := range s.f.Nodes {
		if s.amount(l, g.Name.V) == 0 || !s.applies(g, l) {
			continue
		}
		sockets, per, _, _ := s.shape(l)
		count := make([]int64, sockets)
		outside := false
		for _, c := range cores {
			if c >= sockets*per {
				outside = true
				break
			}
			count[c/per]++
		}
		whole := !slices.ContainsFunc(count, func(n int64) bool { return n != 0 && n != per })
		if whole && !outside {
			continue
		}
		s.bad("gres-cores-socket", g.Cores.At, "the node drains",
			"Cores=%s of %s is not whole sockets: socket 0 of %s has the cores 0-%d; name whole sockets", g.Cores.V, g.Name.V, s.f.Nodes[l].Names.V, per-1)
		return
	}
}

// parseCores reads a list of core ids: 0-7,16.
func parseCores(v string) ([]int64, bool) {
	var out []int64
	for f := range strings.SplitSeq(v, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(f), "-")
		a, err := parseCount(0, 1<<14, false)(lo)
		if err != nil {
			return nil, false
		}
		b := a
		if ranged {
			if b, err = parseCount(a, 1<<14, false)(hi); err != nil {
				return nil, false
			}
		}
		for c := a; c <= b; c++ {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out, true
}

// deviceName makes a GRES type of a device's name as Slurm does: lower case,
// blanks to underscores.
func deviceName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "_")
}

// lintInventory: gres-type-mismatch, gres-undercount, gres-overcount.
func (s *site) lintInventory() {
	for _, v := range s.inv.Nodes {
		names, _ := topology.ParseHostlist(v.Names)
		done := map[int32]bool{}
		for _, name := range names {
			l, ok := s.b.line[name]
			if ok && !done[l] {
				done[l] = true
				s.compare(int(l), name, v.GPUs)
			}
		}
	}
}

// compare sets a line's GPUs beside what a node of it really has. The longest
// configured types are matched first, as Slurm does.
func (s *site) compare(line int, name string, detected []string) {
	n := &s.f.Nodes[line]
	free := make([]string, len(detected))
	for i, d := range detected {
		free[i] = deviceName(d)
	}
	items := slices.DeleteFunc(slices.Clone(s.items[line]), func(g gresItem) bool { return g.name != "gpu" })
	slices.SortStableFunc(items, func(a, b gresItem) int { return len(b.typ) - len(a.typ) })
	configured := int64(0)
	for _, g := range items {
		configured += g.count
		got := int64(0)
		for i, d := range free {
			if got < g.count && d != "" && strings.Contains(d, strings.ToLower(g.typ)) {
				free[i] = ""
				got++
			}
		}
		switch {
		case got == 0 && g.count > 0 && g.typ != "" && !slices.ContainsFunc(detected, func(d string) bool { return strings.Contains(deviceName(d), strings.ToLower(g.typ)) }):
			s.bad("gres-type-mismatch", n.Gres.At, fmt.Sprintf("the node drains: gres/gpu count reported lower than configured (0 < %d)", g.count),
				"type %s is no part of a name detected on %s: %s", g.typ, name, strings.Join(unique(detected), ", "))
		case got < g.count:
			s.bad("gres-undercount", n.Gres.At, fmt.Sprintf("the node drains: gres/gpu count reported lower than configured (%d < %d)", got, g.count),
				"%s on %s: %d of %d were detected", g.text(), name, got, g.count)
		}
	}
	if int64(len(detected)) > configured && configured > 0 {
		s.info("gres-overcount", n.Gres.At, "the surplus is ignored", "%d GPUs were detected on %s, Gres=%s has %d", len(detected), name, n.Gres.V, configured)
	}
}

func unique(list []string) []string {
	var out []string
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
