package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// waitLabels are the marks of the axis of waits, in seconds.
var waitLabels = [...]int64{1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400}

// waits draws, for each size class, the share of jobs that waited at most so
// long, and what they waited for.
func (p *page) waits() {
	byClass := make(map[string][]float64)
	class := outcome.SizeClass(p.run)
	longest := 60.0
	for i := range p.run.Jobs {
		j := &p.run.Jobs[i]
		w := float64(outcome.WaitOf(j)) / outcome.Second
		byClass[class(j)] = append(byClass[class(j)], w)
		longest = max(longest, w)
	}
	p.print("<h2>Waits</h2><p>Share of the jobs of a size that waited no longer than the time below.</p>\n")
	var l legend
	for _, g := range p.fig.Sizes {
		l = append(l, g.Name+" ("+strconv.Itoa(g.Jobs)+")")
	}
	p.key(l)
	// log1p: a wait of nothing has a place on the axis.
	end := math.Log1p(longest)
	at := func(sec float64) float64 { return math.Log1p(sec) / end }
	xs := []label{{0, "0"}}
	for _, s := range waitLabels {
		if a := at(float64(s)); a <= 1 {
			xs = append(xs, label{a, timeLabel(s)})
		}
	}
	p.frame(240, 1, 0.25, func(v float64) string { return strconv.Itoa(int(v*100+0.5)) + "\u202f%" }, columns)
	p.gridX(xs, columns, curveHeight)
	for c, g := range p.fig.Sizes {
		w := byClass[g.Name]
		slices.Sort(w)
		v := make([]float64, columns)
		k := 0
		for i := range v {
			limit := math.Expm1(float64(i+1) / columns * end * (1 + 1e-12))
			for k < len(w) && w[k] <= limit {
				k++
			}
			v[i] = float64(k) / float64(len(w))
		}
		p.curve(v, 1, min(c, 8), false)
	}
	p.plotEnd(xs)
	p.reasons()
}

// reasons draws what jobs waited for as bars.
func (p *page) reasons() {
	if len(p.fig.Reasons) == 0 {
		return
	}
	var sum float64
	for _, r := range p.fig.Reasons {
		sum += r.Seconds
	}
	p.print("<h2>", outcome.ReasonsTitle, "</h2><p>Time that all jobs together waited, by the reason shown for them.</p>\n", `<div class="bars">`)
	for _, r := range p.fig.Reasons {
		part := 0.0
		if sum > 0 {
			part = r.Seconds / sum
		}
		p.printf(`<span>%s</span><div class="b0" style="width:%.1f%%"></div><em>%s %s, %s</em>`, esc(strings.ReplaceAll(r.Reason, "_", " ")), part*100,
			strconv.Itoa(r.Jobs), plural(r.Jobs, "job"), percent(part))
	}
	p.print("</div>\n")
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
