package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// A snapshot is the cluster at one instant.
type snapshot struct {
	at      int64
	jobs    []stayRef       // that run, by their lowest node
	on      map[int32][]int // by node: indices of jobs
	waiting int
	group   int   // the most nodes that a waiting job asks for and one unit has; 0 none
	colour  []int // of jobs
}

// topology draws the units as boxes of nodes at the instant with the longest
// queue.
func (p *page) topology() {
	if len(p.run.Units) == 0 || len(p.run.Jobs) == 0 {
		return
	}
	s := p.snapshot(p.busiest())
	queue := strconv.Itoa(s.waiting) + " " + plural(s.waiting, "job")
	if s.waiting == 0 {
		queue = "no job"
	}
	p.printf("<h2>Where things are</h2><p>Units of the topology %s after the start, when %s waited. A square is a node; "+
		"colours tell jobs of several nodes apart, grey are jobs of one.", esc(timeLabel((s.at-p.t0)/outcome.Second/60*60)), queue)
	if s.group > 0 {
		p.printf(" The widest waiting job that fits into a unit asks for %d nodes: free ones that are over when units are filled "+
			"with groups of %[1]d are hatched.", s.group)
	}
	p.print("</p>\n")
	p.print(`<div class="units">`)
	for i := range p.run.Units {
		p.unit(&p.run.Units[i], s)
	}
	p.print("</div>\n")
}

// busiest is the instant of the longest queue, of those the one with most
// nodes in use.
func (p *page) busiest() int64 {
	best := slices.MaxFunc(p.run.Samples, func(a, b outcome.Sample) int {
		return cmp.Or(cmp.Compare(a.Pending, b.Pending), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(b.At, a.At))
	})
	return best.At
}

func (p *page) snapshot(at int64) *snapshot {
	s := &snapshot{at: at, on: make(map[int32][]int)}
	largest := 0
	for _, u := range p.run.Units {
		largest = max(largest, len(u.Nodes))
	}
	for j := range p.run.Jobs {
		job := &p.run.Jobs[j]
		runs := false
		for k := range job.Stays {
			if st := &job.Stays[k]; st.Start <= at && at < st.End {
				s.jobs = append(s.jobs, stayRef{int32(j), int32(k)})
				runs = true
			}
		}
		if !runs && job.Submit <= at && at < job.End() {
			s.waiting++
			if n := job.Nodes(); n > 1 && n <= largest {
				s.group = max(s.group, n)
			}
		}
	}
	// Neighbours get different colours: by the lowest node, in turn.
	slices.SortStableFunc(s.jobs, func(a, b stayRef) int { return int(p.stay(a).Places[0].Node - p.stay(b).Places[0].Node) })
	next := 0
	for i, ref := range s.jobs {
		s.colour = append(s.colour, mostColours)
		if len(p.stay(ref).Places) > 1 {
			s.colour[i] = next % mostColours
			next++
		}
		for _, pl := range p.stay(ref).Places {
			s.on[pl.Node] = append(s.on[pl.Node], i)
		}
	}
	return s
}

// cell is the side of a node's square in units of the drawing.
const cell = 12

// unit draws one box: rows of nodes, each with a slice for every job on it.
func (p *page) unit(u *outcome.Unit, s *snapshot) {
	pixels := 26 // of a square
	switch n := len(p.run.Nodes); {
	case n > 300:
		pixels = 12
	case n > 100:
		pixels = 18
	}
	wide := columnsOf(len(u.Nodes))
	high := (len(u.Nodes) + wide - 1) / wide
	free := 0
	for _, n := range u.Nodes {
		if len(s.on[n]) == 0 {
			free++
		}
	}
	over := 0
	if s.group > 0 {
		over = free % s.group
	}
	text := fmt.Sprintf("%d of %d free", free, len(u.Nodes))
	p.printf(`<div class="unit"><svg viewBox="0 0 %d %d" width="%d" height="%d" role="img"><title>%s: %s</title>`, wide*cell, high*cell,
		wide*pixels, high*pixels, esc(u.Name), text)
	seen := 0
	for i, n := range u.Nodes {
		x, y := i%wide*cell, i/wide*cell
		jobs := s.on[n]
		if len(jobs) == 0 {
			seen++
			p.printf(`<rect class="free" x="%d.5" y="%d.5" width="%d" height="%d"/>`, x, y, cell-2, cell-2)
			if seen > free-over {
				p.printf(`<path class="hatch" d="M%d %dL%d %dM%d %dL%d %dM%d %dL%d %d"/>`, x+1, y+5, x+5, y+1, x+1, y+cell-2, x+cell-2, y+1,
					x+6, y+cell-2, x+cell-2, y+6)
			}
			continue
		}
		p.slices(x, y, n, jobs, s)
	}
	p.print(`</svg><b>`, esc(u.Name), `</b><span>`, text, "</span></div>\n")
}

// columnsOf is the width of a box of n squares: somewhat wider than high, and
// without gaps if some width near does that.
func columnsOf(n int) int {
	ideal := max(int(math.Ceil(math.Sqrt(float64(n)*1.5))), 1)
	for _, w := range [...]int{ideal, ideal + 1, ideal - 1, ideal + 2, ideal - 2} {
		if w > 0 && n%w == 0 {
			return w
		}
	}
	return ideal
}

// slices draws a node in use: each job as wide as its part of the node.
func (p *page) slices(x, y int, n int32, jobs []int, s *snapshot) {
	node := &p.run.Nodes[n]
	p.printf(`<rect class="free" x="%d.5" y="%d.5" width="%d" height="%d"/>`, x, y, cell-2, cell-2)
	at := 0.0
	for _, i := range jobs {
		part := 0.0
		for k := range p.stay(s.jobs[i]).Places {
			if pl := &p.stay(s.jobs[i]).Places[k]; pl.Node == n {
				part = partOf(node, pl)
			}
		}
		w := min(part, 1-at) * (cell - 1)
		ref := s.jobs[i]
		count := len(p.stay(ref).Places)
		p.printf(`<rect class="f%d" x="%.1f" y="%d" width="%.1f" height="%d"><title>job %s, %d %s</title></rect>`, s.colour[i],
			float64(x)+at*(cell-1), y, max(w, 0.6), cell-1, esc(p.run.Jobs[ref.job].Name), count, plural(count, "node"))
		at += w / (cell - 1)
	}
}

// partOf is what a place takes of its node: of GPUs or of CPUs, whichever is
// more.
func partOf(n *outcome.Node, pl *outcome.Place) float64 {
	var gpu int64
	for _, d := range pl.Devices {
		gpu += d.Milli
	}
	part := 0.0
	if n.GPUs > 0 {
		part = float64(gpu) / float64(n.GPUs*1000)
	}
	if n.MilliCPU > 0 {
		part = max(part, float64(pl.MilliCPU)/float64(n.MilliCPU))
	}
	return part
}
