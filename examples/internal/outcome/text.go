package outcome

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// most rows of a table of users, accounts or partitions.
const mostRows = 12

// AppendText appends the figures as tables for people, at most 100 columns
// wide.
func AppendText(dst []byte, f *Figures) []byte {
	b := &printer{dst}
	b.kv("jobs", strconv.Itoa(f.Jobs)+"  "+counts(f.States))
	if f.Requeues > 0 {
		b.kv("requeues", strconv.Itoa(f.Requeues))
	}
	b.kv("backfilled", strconv.Itoa(f.Backfilled)+" of "+strconv.Itoa(f.Jobs+f.Requeues)+" starts, "+strconv.Itoa(f.Passes)+" passes")
	b.kv("makespan", Span(f.Makespan))
	b.kv("nodes", use(f.Nodes, f.NodeShare))
	b.kv("CPUs", use(f.CPUs, f.CPUShare)+whileWaiting(f.CPUBusy))
	if f.GPUs > 0 {
		b.kv("GPUs", use(f.GPUs, f.GPUShare)+whileWaiting(f.GPUBusy))
	}
	if f.LostGPUSeconds+f.LostCPUSeconds > 0 {
		b.kv("lost", hours(f.LostGPUSeconds)+" GPU hours, "+hours(f.LostCPUSeconds)+" CPU hours of work to preemption")
	}
	if p := &f.Promises; p.Jobs > 0 {
		b.kv("promises", strconv.Itoa(p.Jobs)+" first plans: "+strconv.Itoa(p.Early)+" jobs started earlier, "+strconv.Itoa(p.Late)+" later, by "+
			Span(p.Latest)+" at most")
	}
	b.line("")
	b.table([]string{"", "mean", "median", "p95", "max"}, [][]string{
		{"wait", Span(f.Wait.Mean), Span(f.Wait.Median), Span(f.Wait.P95), Span(f.Wait.Max)},
		{"turnaround", Span(f.Turnaround.Mean), Span(f.Turnaround.Median), Span(f.Turnaround.P95), Span(f.Turnaround.Max)},
		{"bounded slowdown", ratio(f.Slow.Mean), ratio(f.Slow.Median), ratio(f.Slow.P95), ratio(f.Slow.Max)},
	})
	for _, t := range f.Tables() {
		b.line("")
		b.table(t.Head, t.Rows)
	}
	return b.b
}

// ReasonsTitle is the title of the table of reasons.
const ReasonsTitle = "What jobs waited for"

// A Table is a heading and rows of cells; the first column is text, the others
// are numbers.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Tables returns what the figures say of groups of jobs and of reasons.
func (f *Figures) Tables() []Table {
	var list []Table
	for _, g := range []struct {
		title, head string
		groups      []Group
	}{
		{"By size", "size", f.Sizes}, {"By account", "account", f.Accounts}, {"By user", "user", f.Users}, {"By partition", "partition", f.Partitions},
	} {
		if len(g.groups) > 0 {
			list = append(list, f.groupTable(g.title, g.head, g.groups))
		}
	}
	if len(f.Evictions) > 0 {
		list = append(list, f.evictionTable())
	}
	if len(f.Reasons) == 0 {
		return list
	}
	t := Table{Title: ReasonsTitle, Head: []string{"waited for", "jobs", "job hours", "share"}}
	var sum float64
	for _, r := range f.Reasons {
		sum += r.Seconds
	}
	for _, r := range f.Reasons {
		t.Rows = append(t.Rows, []string{r.Reason, strconv.Itoa(r.Jobs), hours(r.Seconds), percent(share(r.Seconds, sum))})
	}
	return append(list, t)
}

func (f *Figures) groupTable(title, head string, groups []Group) Table {
	unit, total := "GPU hours", f.GPUSeconds
	if f.GPUSeconds == 0 {
		unit, total = "CPU hours", f.CPUSeconds
	}
	t := Table{Title: title, Head: []string{head, "jobs", unit, "share", "wait mean", "median", "p95", "slowdown", "median", "p95"}}
	for i, g := range groups {
		if i == mostRows {
			t.Rows = append(t.Rows, []string{strconv.Itoa(len(groups)-i) + " more", "", "", "", "", "", "", "", "", ""})
			break
		}
		used := g.GPUSeconds
		if f.GPUSeconds == 0 {
			used = g.CPUSeconds
		}
		name := g.Name
		if name == "" {
			name = "(none)"
		}
		t.Rows = append(t.Rows, []string{name, strconv.Itoa(g.Jobs), hours(used), percent(share(used, total)),
			Span(g.Wait.Mean), Span(g.Wait.Median), Span(g.Wait.P95), ratio(g.Slow.Mean), ratio(g.Slow.Median), ratio(g.Slow.P95)})
	}
	return t
}

type printer struct{ b []byte }

func (p *printer) line(s string) { p.b = append(append(p.b, s...), '\n') }

func (p *printer) kv(key, val string) { p.line(pad(key, 12, false) + strings.TrimRight(val, " ")) }

func (p *printer) table(head []string, rows [][]string) {
	width := make([]int, len(head))
	for i, s := range head {
		width[i] = utf8.RuneCountInString(s)
	}
	for _, row := range rows {
		for i, s := range row {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	for _, row := range append([][]string{head}, rows...) {
		var s strings.Builder
		for i, cell := range row {
			if i > 0 {
				s.WriteString("  ")
			}
			s.WriteString(pad(cell, width[i], i > 0))
		}
		p.line(strings.TrimRight(s.String(), " "))
	}
}

func pad(s string, width int, right bool) string {
	gap := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
	if right {
		return gap + s
	}
	return s + gap
}

func counts(list []Count) string {
	var s []string
	for _, c := range list {
		s = append(s, strconv.Itoa(c.Jobs)+" "+c.Name)
	}
	return strings.Join(s, ", ")
}

func use(n, part float64) string {
	return pad(strconv.FormatFloat(n, 'f', -1, 64), 8, false) + percent(part) + " in use"
}

func whileWaiting(part float64) string {
	if part == 0 {
		return ""
	}
	return ", " + percent(part) + " while jobs waited"
}

func percent(x float64) string { return strconv.FormatFloat(x*100, 'f', 1, 64) + " %" }

func hours(sec float64) string { return strconv.FormatFloat(sec/3600, 'f', 1, 64) }

func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// AppendTable appends a table for people.
func AppendTable(dst []byte, t *Table) []byte {
	b := &printer{dst}
	b.table(t.Head, t.Rows)
	return b.b
}
