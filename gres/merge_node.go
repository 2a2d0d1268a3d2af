package gres

import (
	"cmp"
	"slices"
	"strings"
)

// MergeNode is the node daemon's merge: the node's slurm.conf entries, its
// checked gres.conf lines (see [CheckRecords]) and the GPUs that the driver
// reports become records of one device each, in the order that gives devices
// their index. detect says whether devices were looked for at all.
//
// Source: spec/gres.md 4, spec/nvml.md 5.
func MergeNode(conf []ConfGRES, lines, detected []Record, detect bool) ([]Record, []MergeProblem) {
	m := merger{}
	for i := range conf {
		c := &conf[i]
		if c.Name == "gpu" && detect {
			continue // below, with the devices
		}
		m.take(c, lines)
	}
	if detect {
		m.detect(conf, lines, detected)
	}
	m.dropFileless()
	m.splitShared(conf, lines)
	return m.out, m.probs
}

type merger struct {
	out   []Record
	probs []MergeProblem
}

func (m *merger) add(k MergeKind, r *Record, have, want int64) {
	m.probs = append(m.probs, MergeProblem{Kind: k, Name: r.Name, Type: r.Type, Have: have, Want: want})
}

// take appends the devices of the lines that entry c configures, cut to its
// count. Types are compared as the node daemon does, ignoring case. Shared
// names are split later.
func (m *merger) take(c *ConfGRES, lines []Record) {
	left, found := c.Count, int64(0)
	if sharedName(c.Name) {
		return
	}
	any := false
	for i := range lines {
		r := &lines[i]
		if r.Name != c.Name || c.Type != "" && !strings.EqualFold(r.Type, c.Type) {
			continue
		}
		any = true
		found += r.Count
		for _, d := range singles(r) {
			if d.Type = c.Type; left <= 0 {
				break
			}
			d.Count = min(d.Count, left)
			left -= d.Count
			m.out = append(m.out, d)
		}
	}
	r := Record{Name: c.Name, Type: c.Type}
	switch {
	case found > c.Count:
		m.add(Surplus, &r, found, c.Count)
	case !any && slices.ContainsFunc(lines, func(l Record) bool { return l.Name == c.Name }):
		m.out = append(m.out, r) // other types only: none of this one
	case !any && len(lines) > 0:
		m.out = append(m.out, r)
	case left > 0 && len(lines) == 0:
		r.Count = left
		m.out = append(m.out, r)
	}
}

// singles splits a line into one record a file; a line without files stays one
// record.
func singles(r *Record) []Record {
	if len(r.Files) == 0 || r.Multiple {
		return []Record{*r}
	}
	var out []Record
	for _, f := range r.Files {
		d := *r
		d.Count, d.Files = 1, []string{f}
		out = append(out, d)
	}
	return out
}

// detect merges configured GPUs with those that the driver reports.
func (m *merger) detect(conf []ConfGRES, lines, detected []Record) {
	var gpus []ConfGRES
	typed := false
	for i := range conf {
		if conf[i].Name == "gpu" {
			gpus = append(gpus, conf[i])
			typed = typed || conf[i].Type != ""
		}
	}
	devs := slices.Clone(detected)
	slices.SortStableFunc(devs, func(a, b Record) int {
		return cmp.Or(cmp.Compare(len(b.Type), len(a.Type)), strings.Compare(a.Type, b.Type), compareFiles(&a, &b))
	})
	if !typed {
		for i := range devs {
			devs[i].Type = ""
		}
	} else {
		devs = renameTypes(gpus, devs)
	}
	slices.SortStableFunc(devs, func(a, b Record) int { return compareFiles(&a, &b) })
	var all []Record
	for i := range lines {
		if lines[i].Name == "gpu" {
			all = append(all, singles(&lines[i])...)
		}
	}
	slices.SortStableFunc(all, func(a, b Record) int { return compareFiles(&a, &b) })
	merged := m.match(all, devs)
	slices.SortStableFunc(merged, func(a, b Record) int { return compareFiles(&a, &b) })
	slices.SortStableFunc(merged, func(a, b Record) int { return cmp.Compare(ownLink(&a), ownLink(&b)) })
	for i := range merged {
		d := &merged[i]
		if !slices.ContainsFunc(gpus, func(c ConfGRES) bool { return c.Type == "" || strings.EqualFold(c.Type, d.Type) }) {
			m.add(UnknownDevice, d, 0, 0)
		}
	}
	for i := range gpus {
		m.keepConfigured(&gpus[i], merged)
	}
	// Devices of several types stand in device order, not type by type.
	order := func(r *Record) int {
		return slices.IndexFunc(merged, func(x Record) bool { return slices.Equal(x.Files, r.Files) })
	}
	slices.SortStableFunc(m.out, func(a, b Record) int {
		if a.Name != "gpu" || b.Name != "gpu" {
			return 0
		}
		return cmp.Compare(order(&a), order(&b))
	})
}

// renameTypes gives each detected device the first configured type, longest
// first, that its name contains and that is not used up.
func renameTypes(gpus []ConfGRES, devs []Record) []Record {
	types := slices.Clone(gpus)
	slices.SortStableFunc(types, func(a, b ConfGRES) int {
		return cmp.Or(cmp.Compare(len(b.Type), len(a.Type)), strings.Compare(a.Type, b.Type))
	})
	for i := range devs {
		for k := range types {
			if types[k].Count > 0 && strings.Contains(strings.ToLower(devs[i].Type), strings.ToLower(types[k].Type)) {
				devs[i].Type = types[k].Type
				types[k].Count--
				break
			}
		}
	}
	return devs
}

// match joins configured records with detected devices of the same type and
// file.
func (m *merger) match(lines, devs []Record) []Record {
	var out []Record
	used := make([]bool, len(devs))
	if len(lines) == 0 {
		return devs
	}
	for i := range lines {
		r := &lines[i]
		k := slices.IndexFunc(devs, func(d Record) bool {
			return (r.Type == "" || strings.EqualFold(d.Type, r.Type)) &&
				(len(r.Files) == 0 || slices.Equal(r.Files, d.Files))
		})
		for k >= 0 && used[k] {
			k = nextMatch(r, devs, used)
		}
		switch {
		case k < 0 && len(r.Files) > 0:
			out = append(out, *r)
		case k < 0:
			m.add(NoFile, r, 0, 0)
		case r.Cores != nil && !slices.Equal(r.Cores, devs[k].Cores), r.Links != nil && !slices.Equal(r.Links, devs[k].Links):
			used[k] = true
			m.add(DetectConflict, r, 0, 0)
		default:
			used[k] = true
			d := devs[k]
			d.Flags |= r.Flags
			out = append(out, d)
		}
	}
	for k := range devs {
		if !used[k] {
			m.add(UnknownDevice, &devs[k], 0, 0)
		}
	}
	return out
}

func nextMatch(r *Record, devs []Record, used []bool) int {
	for k := range devs {
		if !used[k] && (r.Type == "" || strings.EqualFold(devs[k].Type, r.Type)) && (len(r.Files) == 0 || slices.Equal(r.Files, devs[k].Files)) {
			return k
		}
	}
	return -1
}

// keepConfigured appends the first devices of merged that entry c configures.
func (m *merger) keepConfigured(c *ConfGRES, merged []Record) {
	left, found := c.Count, int64(0)
	for i := range merged {
		d := merged[i]
		if c.Type != "" && !strings.EqualFold(d.Type, c.Type) {
			continue
		}
		if found++; left > 0 {
			d.Type = c.Type
			m.out = append(m.out, d)
			left--
		}
	}
	if found > c.Count {
		m.add(Surplus, &Record{Name: c.Name, Type: c.Type}, found, c.Count)
	}
}

// dropFileless removes GPUs without a file.
func (m *merger) dropFileless() {
	m.out = slices.DeleteFunc(m.out, func(r Record) bool {
		drop := r.Name == "gpu" && len(r.Files) == 0 && r.Count > 0 && r.Flags&RecordCountOnly == 0
		if drop {
			m.add(NoFile, &r, 0, 0)
		}
		return drop
	})
}

// splitShared gives the GPUs of the node the units of shared names: one record
// a GPU, type and cores copied from it.
//
// Source: spec/gres.md 6.
func (m *merger) splitShared(conf []ConfGRES, lines []Record) {
	var gpus []Record
	for i := range m.out {
		if m.out[i].Name == "gpu" && m.out[i].Count > 0 {
			gpus = append(gpus, m.out[i])
		}
	}
	for i := range conf {
		c := &conf[i]
		if !sharedName(c.Name) || len(gpus) == 0 {
			continue
		}
		units := make([]int64, len(gpus))
		var flags RecordFlags
		files := false
		for k := range lines {
			r := &lines[k]
			if r.Name != c.Name {
				continue
			}
			flags |= r.Flags
			for _, f := range r.Files {
				files = true
				x := slices.IndexFunc(gpus, func(g Record) bool { return slices.Contains(g.Files, f) })
				if x < 0 {
					m.add(SharedNoGPU, r, 0, 0)
					continue
				}
				units[x] += r.Count / int64(len(r.Files))
			}
		}
		if !files {
			spreadUnits(units, c.Count)
		}
		for x := range gpus {
			d := gpus[x]
			d.Name, d.Count, d.Flags = c.Name, units[x], flags
			m.out = append(m.out, d)
		}
	}
}

// spreadUnits gives each device in turn its part of what is left: 10 on three
// is 3, 3, 4.
func spreadUnits(units []int64, total int64) {
	for i := range units {
		units[i] = total / int64(len(units)-i)
		total -= units[i]
	}
}

// compareFiles orders records by device file as people count: nvidia2 before
// nvidia10; records without file go last.
func compareFiles(a, b *Record) int {
	if len(a.Files) == 0 || len(b.Files) == 0 {
		return cmp.Compare(len(b.Files), len(a.Files))
	}
	x, y := a.Files[0], b.Files[0]
	xs, ys := strings.TrimRight(x, "0123456789"), strings.TrimRight(y, "0123456789")
	if xs != ys {
		return strings.Compare(x, y)
	}
	xn, yn := strings.TrimLeft(x[len(xs):], "0"), strings.TrimLeft(y[len(ys):], "0")
	return cmp.Or(cmp.Compare(len(xn), len(yn)), strings.Compare(xn, yn))
}

// ownLink returns the position of −1 in the links of r, the largest int if it
// has none.
func ownLink(r *Record) int {
	if k := slices.Index(r.Links, -1); k >= 0 {
		return k
	}
	return 1<<31 - 1
}
