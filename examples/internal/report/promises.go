package report

import (
	"strconv"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// promises draws the first plan of each job against its actual start.
func (p *page) promises() {
	f := &p.fig.Promises
	if f.Jobs == 0 {
		return
	}
	late := "None started later than its first plan."
	if f.Late > 0 {
		late = strconv.Itoa(f.Late) + " started later, by " + outcome.Span(f.Latest) + " at most."
	}
	past := 0
	for i := range p.run.Jobs {
		if j := &p.run.Jobs[i]; j.Promised && len(j.Stays) > 0 && j.Promise > p.t1 {
			past++
		}
	}
	if past > 0 {
		late += " At the right edge: " + strconv.Itoa(past) + " whose first plan was later than the end of the picture."
	}
	p.print("<h2>Promised and actual starts</h2><p>A dot is a job that had a plan before it started: its first plan to the right, its start upwards. ",
		"Below the line it started earlier than planned: ", strconv.Itoa(f.Early), " of ", strconv.Itoa(f.Jobs), " did, by ", outcome.Span(f.MeanEarly),
		" on the mean over all. ", late, "</p>\n")
	p.print(`<div class="key"><span><i class="b0"></i>as planned or earlier</span>`)
	if f.Late > 0 {
		p.print(`<span><i class="b3"></i>later</span>`)
	}
	p.print("</div>\n")
	high := 400
	var ys []label
	xs := p.timeAxis()
	for _, l := range xs {
		ys = append(ys, label{1 - l.at, l.text})
	}
	p.plotStart("3.4rem", 340, ys, columns, high)
	p.gridX(xs, columns, high)
	p.printf(`<path class="split" d="M0 %dL%d 0"/>`, high, columns)
	dots := [2][]byte{}
	seen := make(map[[2]int]bool)
	for i := range p.run.Jobs {
		j := &p.run.Jobs[i]
		if !j.Promised || len(j.Stays) == 0 {
			continue
		}
		span := float64(p.t1 - p.t0)
		at := [2]int{int(min(float64(j.Promise-p.t0)/span, 1) * columns), high - int(float64(j.Start()-p.t0)/span*float64(high))}
		if seen[at] {
			continue
		}
		seen[at] = true
		colour := 0
		if j.Start() > j.Promise {
			colour = 1
		}
		dots[colour] = append(append(append(append(dots[colour], 'M'), strconv.Itoa(at[0])...), ' '), strconv.Itoa(at[1])...)
		dots[colour] = append(dots[colour], "h0"...)
	}
	for i, colour := range [...]int{0, 3} {
		if len(dots[i]) > 0 {
			p.printf(`<path class="dots s%d" d="%s"/>`, colour, dots[i])
		}
	}
	p.plotEnd(xs)
}
