package report

import (
	_ "embed"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

//go:embed style.css
var style string

//go:embed hover.js
var hover string

// Append appends the page to dst.
func Append(dst []byte, r *outcome.Run, f *outcome.Figures) []byte {
	p := &page{b: dst, run: r, fig: f}
	p.t0, p.t1 = r.Span()
	p.t1 = max(p.t1, p.t0+1)
	p.print(`<!doctype html><html lang="en"><head><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width, initial-scale=1"><title>`, esc(r.Title), "</title><style>\n", style, "</style></head><body>\n")
	p.print("<h1>", esc(r.Title), "</h1>\n")
	for _, n := range r.Notes {
		p.print("<p>", esc(n), "</p>\n")
	}
	p.tiles()
	p.gantt()
	p.topology()
	p.usage()
	p.queue()
	p.shares()
	p.promises()
	p.waits()
	p.tables()
	p.print("</body></html>\n")
	return p.b
}

// page is the page as far as it is written.
type page struct {
	b      []byte
	run    *outcome.Run
	fig    *outcome.Figures
	t0, t1 int64 // of every time axis
}

func (p *page) print(s ...string) {
	for _, s := range s {
		p.b = append(p.b, s...)
	}
}

func (p *page) printf(format string, a ...any) { p.b = fmt.Appendf(p.b, format, a...) }

func esc(s string) string { return html.EscapeString(s) }

// num prints x with at most one decimal.
func num(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

func percent(x float64) string { return num(x*100) + " %" }

func (p *page) tiles() {
	f := p.fig
	p.print(`<div class="tiles">`)
	tile := func(val, what string) {
		p.print(`<div class="tile"><b>`, esc(val), `</b><span>`, esc(what), `</span></div>`)
	}
	tile(strconv.Itoa(f.Jobs), "jobs")
	tile(outcome.Span(f.Makespan), "makespan")
	if f.GPUs > 0 {
		tile(percent(f.GPUShare), "of "+num(f.GPUs)+" GPUs in use")
	}
	tile(percent(f.CPUShare), "of "+num(f.CPUs)+" CPUs in use")
	tile(percent(f.NodeShare), "of "+num(f.Nodes)+" nodes in use")
	tile(outcome.Span(f.Wait.Median), "median wait")
	tile(outcome.Span(f.Wait.P95), "wait of 95 % at most")
	tile(outcome.Span(f.Turnaround.Median), "median turnaround")
	if f.Requeues > 0 {
		tile(strconv.Itoa(f.Requeues), "requeues")
	}
	if f.LostGPUSeconds > 0 {
		tile(num(f.LostGPUSeconds/3600), "GPU hours lost to preemption")
	}
	p.print("</div>\n")
}

func (p *page) tables() {
	for _, t := range p.fig.Tables() {
		if t.Title == outcome.ReasonsTitle {
			continue // drawn as bars
		}
		p.print("<h2>", esc(t.Title), `</h2><div class="scroll"><table><tr>`)
		for _, h := range t.Head {
			p.print("<th>", esc(h), "</th>")
		}
		p.print("</tr>\n")
		for _, row := range t.Rows {
			p.print("<tr>")
			for _, c := range row {
				p.print("<td>", esc(c), "</td>")
			}
			p.print("</tr>\n")
		}
		p.print("</table></div>\n")
	}
}

// A legend is names with their colours, in order.
type legend []string

func (p *page) key(l legend) {
	p.print(`<div class="key">`)
	for i, name := range l {
		p.printf(`<span><i class="b%d"></i>%s</span>`, min(i, mostColours), esc(name))
	}
	p.print("</div>\n")
}
