package report

import (
	"encoding/json"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// named writes what the script needs to name the job under the pointer: the
// rectangles as one flat list of numbers, and a line of text for each job that
// has any.
func (p *page) named(l *lanes, list []rect) {
	type data struct {
		W, H  int64
		Rects []int64  // x0, x1−x0, y0, y1−y0, text
		Text  []string // of jobs
	}
	d := data{W: ganttWidth, H: l.high * l.scale}
	index := make(map[int32]int64)
	for _, r := range list {
		t, ok := index[r.job]
		if !ok {
			t = int64(len(d.Text))
			index[r.job] = t
			d.Text = append(d.Text, p.jobLine(&p.run.Jobs[r.job]))
		}
		d.Rects = append(d.Rects, r.x0, r.x1-r.x0, r.y0, r.y1-r.y0, t)
	}
	text, err := json.Marshal(d) // escapes <, > and &
	if err != nil {
		panic("report: " + err.Error()) // numbers and strings always marshal
	}
	p.print(`<div id="tip"></div><script id="runs" type="application/json">`, string(text), "</script>\n<script>\n", hover, "</script>\n")
}

// jobLine describes a job in three short lines.
func (p *page) jobLine(j *outcome.Job) string {
	var s strings.Builder
	s.WriteString("job " + j.Name)
	for _, who := range [...]string{j.User, j.Account, j.Partition} {
		if who != "" {
			s.WriteString(", " + who)
		}
	}
	s.WriteString("\n")
	if g := j.GPUMilli(); g > 0 {
		s.WriteString(num(float64(g)/1000) + " " + plural(int(g/1000), "GPU") + " on ")
	}
	n := j.Nodes()
	s.WriteString(num(float64(n)) + " " + plural(n, "node") + "\nwaited " + outcome.Span(float64(outcome.WaitOf(j))/outcome.Second) +
		", ran " + outcome.Span(float64(j.Ran())/outcome.Second) + ", " + j.State)
	return s.String()
}
