package report

import (
	"math"
	"strconv"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// timeSteps are the distances of time labels, in seconds.
var timeSteps = [...]int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600,
	86400, 2 * 86400, 3 * 86400, 5 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 60 * 86400, 90 * 86400, 180 * 86400, 365 * 86400}

// timeTicks returns at most most+1 round distances from the start of a span.
func timeTicks(us int64, most int64) []int64 {
	sec := us / outcome.Second
	step := timeSteps[0]
	for _, s := range timeSteps {
		if step = s; sec/s <= most {
			break
		}
	}
	for sec/step > most {
		step *= 2
	}
	var dst []int64
	for t := int64(0); t <= sec; t += step {
		dst = append(dst, t)
	}
	return dst
}

// timeLabel writes a distance from the start: 0, 90 s, 15 min, 6 h, 2 d, 1 d 12 h.
func timeLabel(sec int64) string {
	unit := func(n int64, u string) string { return strconv.FormatInt(n, 10) + "\u202f" + u }
	switch {
	case sec == 0:
		return "0"
	case sec%86400 == 0:
		return unit(sec/86400, "d")
	case sec > 86400 && sec%3600 == 0:
		return unit(sec/86400, "d") + " " + unit(sec%86400/3600, "h")
	case sec%3600 == 0:
		return unit(sec/3600, "h")
	case sec > 3600 && sec%60 == 0:
		return unit(sec/3600, "h") + " " + unit(sec%3600/60, "min")
	case sec%60 == 0:
		return unit(sec/60, "min")
	}
	return unit(sec, "s")
}

// niceMax returns a round number at or above x and the step of its labels.
func niceMax(x float64) (top, step float64) {
	if x <= 4 {
		return max(math.Ceil(x), 1), 1
	}
	step = math.Pow(10, math.Floor(math.Log10(x/4)))
	for _, m := range [...]float64{1, 2, 5, 10} {
		if x/(step*m) <= 5 {
			step *= m
			break
		}
	}
	return math.Ceil(x/step) * step, step
}

// A label stands at a fraction of an axis.
type label struct {
	at   float64
	text string
}

// plotStart opens a plot: y labels, then the drawing in a box of width w and
// height h units, stretched over the page's width and height pixels.
func (p *page) plotStart(left string, pixels int, ys []label, w, h int) {
	p.printf(`<div class="plot" style="--h:%dpx;--left:%s"><div class="y">`, pixels, left)
	for i, l := range ys {
		opt := ""
		if i%2 == 1 && len(ys) > 12 {
			opt = ` class="opt"`
		}
		p.printf(`<span%s style="top:%.2f%%">%s</span>`, opt, l.at*100, esc(l.text))
	}
	p.printf(`</div><div class="box"><svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img">`, w, h)
}

// plotEnd closes the drawing and writes the x labels.
func (p *page) plotEnd(xs []label) {
	p.print(`</svg></div><div class="x">`)
	for i, l := range xs {
		class := ""
		switch {
		case l.at < 0.02:
			class = "first"
		case l.at > 0.97:
			class = "last"
		}
		if i%2 == 1 {
			class += " opt"
		}
		p.printf(`<span class="%s" style="left:%.2f%%">%s</span>`, class, l.at*100, esc(l.text))
	}
	p.print("</div></div>\n")
}

// timeAxis returns the labels of the page's span.
func (p *page) timeAxis() []label {
	var dst []label
	for _, t := range timeTicks(p.t1-p.t0, 9) {
		dst = append(dst, label{float64(t) * outcome.Second / float64(p.t1-p.t0), timeLabel(t)})
	}
	return dst
}

// gridX draws a line at each label but the first.
func (p *page) gridX(xs []label, w, h int) {
	p.print(`<path class="grid" d="`)
	for _, l := range xs {
		if l.at > 0 {
			p.printf("M%.0f 0v%d", l.at*float64(w), h)
		}
	}
	p.print(`"/>`)
}
