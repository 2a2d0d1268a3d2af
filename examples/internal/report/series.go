package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// columns is the number of steps of a curve over time.
const columns = 600

// overTime divides the page's span into columns and returns, for each, the
// mean of f over the time in it.
func (p *page) overTime(f func(*outcome.Sample) float64) []float64 {
	sum := make([]float64, columns)
	width := float64(p.t1-p.t0) / columns
	s := p.run.Samples
	for i := range s {
		end := p.t1
		if i+1 < len(s) {
			end = s[i+1].At
		}
		a := float64(max(s[i].At, p.t0)-p.t0) / width
		b := float64(min(end, p.t1)-p.t0) / width
		for v := f(&s[i]); a < b; {
			c := int(a)
			next := min(float64(c+1), b)
			if c < columns {
				sum[c] += v * (next - a)
			}
			if next <= a {
				break
			}
			a = next
		}
	}
	return sum
}

// highest is overTime with the greatest value instead of the mean.
func (p *page) highest(f func(*outcome.Sample) float64) []float64 {
	top := make([]float64, columns)
	width := float64(p.t1-p.t0) / columns
	s := p.run.Samples
	for i := range s {
		end := p.t1
		if i+1 < len(s) {
			end = s[i+1].At
		}
		if end <= s[i].At || s[i].At >= p.t1 {
			continue
		}
		a := int(float64(max(s[i].At, p.t0)-p.t0) / width)
		b := int(float64(min(end, p.t1)-p.t0) / width)
		for c, v := a, f(&s[i]); c <= min(b, columns-1); c++ {
			top[c] = max(top[c], v)
		}
	}
	return top
}

// The height of a curve's drawing in units.
const curveHeight = 400

// curve draws steps, and the area below if asked.
func (p *page) curve(v []float64, top float64, colour int, area bool) {
	y := func(x float64) string { return strconv.Itoa(int(curveHeight*(1-min(x/top, 1)) + 0.5)) }
	path := []byte("M0 " + y(v[0]))
	was := y(v[0])
	for i := 1; i < len(v); i++ {
		if now := y(v[i]); now != was {
			path = append(path, "H"+strconv.Itoa(i)+"V"+now...)
			was = now
		}
	}
	path = append(path, "H"+strconv.Itoa(len(v))...)
	if area {
		p.printf(`<path class="area f%d" d="%sV%dH0z"/>`, colour, path, curveHeight)
	}
	p.printf(`<path class="s s%d" d="%s"/>`, colour, path)
}

// frame opens a plot of curves from 0 to top with labels and lines.
func (p *page) frame(pixels int, top, step float64, text func(float64) string, w int) {
	var ys []label
	for v := 0.0; v <= top*1.0001; v += step {
		ys = append(ys, label{1 - v/top, text(v)})
	}
	p.plotStart("3.4rem", pixels, ys, w, curveHeight)
	p.print(`<path class="grid" d="`)
	for _, l := range ys[1:] {
		p.printf("M0 %.0fh%d", l.at*curveHeight, w)
	}
	p.print(`"/>`)
}

func (p *page) usage() {
	gpus, cpus := p.run.Capacity()
	type line struct {
		name string
		v    []float64
	}
	part := func(n, of int64) float64 {
		if of == 0 {
			return 0
		}
		return float64(n) / float64(of)
	}
	var lines []line
	if gpus > 0 {
		lines = append(lines, line{"GPUs", p.overTime(func(s *outcome.Sample) float64 { return part(s.GPUMilli, gpus) })})
	}
	cpu := p.overTime(func(s *outcome.Sample) float64 { return part(s.MilliCPU, cpus) })
	lines = append(lines, line{"CPUs", cpu})
	nodes := p.overTime(func(s *outcome.Sample) float64 { return part(int64(s.Nodes), int64(len(p.run.Nodes))) })
	if !slices.Equal(nodes, cpu) { // jobs of whole nodes: one line says it
		lines = append(lines, line{"nodes with a job", nodes})
	}
	p.print("<h2>In use</h2><p>Share of the cluster that jobs hold.</p>\n")
	var l legend
	for _, c := range lines {
		l = append(l, c.name)
	}
	for _, r := range p.run.Reservations {
		l = append(l, "reserved: "+r.Name)
	}
	p.key(l)
	top, step := 1.0, 0.25
	most := 0.0
	for _, c := range lines {
		most = max(most, slices.Max(c.v))
	}
	if most < 0.25 && len(p.run.Reservations) == 0 { // an almost idle cluster: look closer
		top, step = niceMax(max(most, 0.0001) * 10000) // hundredths of a percent
		top, step = top/10000, step/10000
	}
	xs := p.timeAxis()
	p.frame(220, top, step, func(v float64) string { return strings.ReplaceAll(share(v), " ", "\u202f") }, columns)
	p.gridX(xs, columns, curveHeight)
	p.bands(len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		p.curve(lines[i].v, top, i, i == 0)
	}
	p.plotEnd(xs)
}

// bands draws reservations from above: as wide as they last, as deep as their
// part of the nodes, so that what hangs down is what others could not have.
func (p *page) bands(colour int) {
	for i, r := range p.run.Reservations {
		x0 := max(float64(r.Start-p.t0)/float64(p.t1-p.t0), 0)
		x1 := min(float64(r.End-p.t0)/float64(p.t1-p.t0), 1)
		if x1 <= x0 || len(p.run.Nodes) == 0 {
			continue
		}
		part := float64(len(r.Nodes)) / float64(len(p.run.Nodes))
		p.printf(`<rect class="band f%d" x="%.2f" y="0" width="%.2f" height="%.1f"><title>%s: %d %s</title></rect>`, min(colour+i, 8), x0*columns,
			max((x1-x0)*columns, 0.5), part*curveHeight, esc(r.Name), len(r.Nodes), plural(len(r.Nodes), "node"))
	}
}

// share prints a part of one in percent, with as many decimals as it needs.
func share(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e4, 'f', -1, 64) + " %"
}

func (p *page) queue() {
	pending := p.highest(func(s *outcome.Sample) float64 { return float64(s.Pending) })
	running := p.highest(func(s *outcome.Sample) float64 { return float64(s.Running) })
	most := 0.0
	for i := range pending {
		most = max(most, pending[i], running[i])
	}
	p.print("<h2>Queue</h2><p>Jobs that wait and jobs that run, the most in each step of the picture.</p>\n")
	p.key(legend{"waiting", "running"})
	top, step := niceMax(most)
	xs := p.timeAxis()
	p.frame(180, top, step, num, columns)
	p.gridX(xs, columns, curveHeight)
	p.curve(running, top, 1, false)
	p.curve(pending, top, 0, true)
	p.plotEnd(xs)
}
