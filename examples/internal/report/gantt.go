package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/internal/outcome"
)

// The picture's width in units; a unit is less than half a pixel on a screen
// of 1,280.
const ganttWidth = 3000

// mostRects bounds the page's size: a rectangle takes some 20 bytes, twice
// where the script can name it.
const (
	mostRects = 60_000
	mostNamed = 25_000
)

// lanes says where the nodes lie in the picture, in lanes of one GPU or of one
// CPU.
type lanes struct {
	byGPU bool
	nodes []int32 // that are drawn, in order
	first []int64 // first lane, by row of nodes; in the order of nodes
	lane  []int64 // first lane by row of Run.Nodes; −1: not drawn
	high  int64   // lanes in all
	scale int64   // units a lane
}

func (p *page) lanes() lanes {
	withGPU := 0
	used := make([]bool, len(p.run.Nodes))
	busy := 0
	for i := range p.run.Jobs {
		if p.run.Jobs[i].GPUMilli() > 0 {
			withGPU++
		}
		for k := range p.run.Jobs[i].Stays {
			for _, at := range p.run.Jobs[i].Stays[k].Places {
				if !used[at.Node] {
					used[at.Node] = true
					busy++
				}
			}
		}
	}
	l := lanes{byGPU: 2*withGPU > len(p.run.Jobs)}
	for i, n := range p.run.Nodes {
		if busy < len(used)/3 && !used[i] {
			l.lane = append(l.lane, -1) // an almost empty picture shows nothing
			continue
		}
		wide := max((n.MilliCPU+999)/1000, 1)
		if l.byGPU {
			wide = max(n.GPUs, 1)
		}
		l.nodes = append(l.nodes, int32(i))
		l.first = append(l.first, l.high)
		l.lane = append(l.lane, l.high)
		l.high += wide
	}
	l.scale = max(2000/max(l.high, 1), 1)
	return l
}

// A rect is one job in neighbouring lanes for one stay, in units.
type rect struct {
	x0, x1, y0, y1 int64
	job            int32
}

// A stayRef names a stay of a job.
type stayRef struct{ job, stay int32 }

// rects lays all stays out. hidden counts jobs that hold no lane.
func (p *page) rects(l *lanes) (list []rect, hidden int) {
	var order []stayRef
	for j := range p.run.Jobs {
		for s := range p.run.Jobs[j].Stays {
			order = append(order, stayRef{int32(j), int32(s)})
		}
	}
	slices.SortFunc(order, func(a, b stayRef) int {
		return cmp.Or(cmp.Compare(p.stay(a).Start, p.stay(b).Start), cmp.Compare(a.job, b.job), cmp.Compare(a.stay, b.stay))
	})
	packers := make([]packer, l.high)
	var one []rect
	for _, ref := range order {
		s := p.stay(ref)
		one = one[:0]
		for i := range s.Places {
			one = p.place(one, l, packers, &s.Places[i], s)
		}
		if len(one) == 0 {
			hidden++
			continue
		}
		for i := range one {
			one[i].job = ref.job
		}
		list = append(list, merge(one)...)
	}
	return list, hidden
}

func (p *page) stay(r stayRef) *outcome.Stay { return &p.run.Jobs[r.job].Stays[r.stay] }

func (p *page) x(t int64) int64 {
	return int64(math.Round(float64(t-p.t0) / float64(p.t1-p.t0) * ganttWidth))
}

// place appends the rectangles of one stay on one node.
func (p *page) place(dst []rect, l *lanes, packers []packer, at *outcome.Place, s *outcome.Stay) []rect {
	x0 := min(p.x(s.Start), ganttWidth-1)
	x1 := max(p.x(s.End), x0+1)
	top := l.lane[at.Node]
	put := func(lane, capacity, need, base int64) {
		pk := &packers[lane]
		pk.capacity = capacity
		for _, h := range pk.take(nil, s.Start, s.End, need) {
			y0 := (base*1000 + h.lo) * l.scale / 1000
			y1 := ((base*1000+h.hi)*l.scale + 999) / 1000
			dst = append(dst, rect{x0: x0, x1: x1, y0: y0, y1: max(y1, y0+1)})
		}
	}
	if !l.byGPU {
		put(top, max(p.run.Nodes[at.Node].MilliCPU, 1), at.MilliCPU, top)
		return dst
	}
	for _, d := range at.Devices {
		if d.Index >= 0 {
			put(top+int64(d.Index), 1000, d.Milli, top+int64(d.Index))
		} else {
			put(top, p.run.Nodes[at.Node].GPUs*1000, d.Milli, top)
		}
	}
	return dst
}

// merge joins rectangles of one stay that touch.
func merge(one []rect) []rect {
	slices.SortFunc(one, func(a, b rect) int { return cmp.Or(cmp.Compare(a.y0, b.y0), cmp.Compare(a.y1, b.y1)) })
	out := one[:1]
	for _, r := range one[1:] {
		if last := &out[len(out)-1]; r.y0 <= last.y1 {
			last.y1 = max(last.y1, r.y1)
			continue
		}
		out = append(out, r)
	}
	return out
}

// mostColours is how many groups have a colour of their own.
const mostColours = 8

// colours gives every job a colour and returns the legend. Jobs are told apart
// by account, if that makes three to eight groups; else by user, if there are
// three; else by account or size, whichever makes two.
func (p *page) colours() (legend, []uint8) {
	account := func(j *outcome.Job) string { return j.Account }
	switch n, users := len(p.fig.Accounts), len(p.fig.Users); {
	case n > 2 && n <= mostColours:
		return p.colourBy(p.fig.Accounts, account)
	case users > 2:
		return p.colourBy(p.fig.Users, func(j *outcome.Job) string { return j.User })
	case n > 1:
		return p.colourBy(p.fig.Accounts, account)
	case len(p.fig.Sizes) > 1:
		return p.colourBy(p.fig.Sizes, outcome.SizeClass(p.run))
	}
	return legend{"jobs"}, make([]uint8, len(p.run.Jobs))
}

func (p *page) colourBy(groups []outcome.Group, name func(*outcome.Job) string) (legend, []uint8) {
	index := make(map[string]uint8)
	var l legend
	for i, g := range groups {
		if i == mostColours {
			l = append(l, strconv.Itoa(len(groups)-i)+" others")
			break
		}
		index[g.Name] = uint8(i)
		l = append(l, cmp.Or(g.Name, "(none)"))
	}
	colour := make([]uint8, len(p.run.Jobs))
	for i := range p.run.Jobs {
		c, ok := index[name(&p.run.Jobs[i])]
		if !ok {
			c = mostColours
		}
		colour[i] = c
	}
	return l, colour
}

func (p *page) gantt() {
	l := p.lanes()
	list, hidden := p.rects(&l)
	keyed, colour := p.colours()
	short := 0
	if len(list) > mostRects {
		slices.SortStableFunc(list, func(a, b rect) int { return cmp.Compare(b.x1-b.x0, a.x1-a.x0) })
		short = len(list) - mostRects
		list = list[:mostRects]
	}
	what := "a lane is a CPU"
	if l.byGPU {
		what = "a lane is a GPU"
	}
	p.print("<h2>Who ran where</h2><p>Nodes from top to bottom, time from left to right; ", what, ".")
	if n := len(p.run.Nodes) - len(l.nodes); n > 0 {
		p.printf(" %d nodes that never had a job are not drawn.", n)
	}
	if hidden > 0 {
		p.printf(" %d runs without GPUs are not drawn.", hidden)
	}
	if short > 0 {
		p.printf(" %d pieces too short to be seen are left out.", short)
	}
	p.print("</p>\n")
	p.key(keyed)

	pixels := int(min(max(l.high*14, 120), 880))
	if l.high > 62 {
		pixels = int(min(max(l.high*3, 640), 880))
	}
	h := int(l.high * l.scale)
	xs := p.timeAxis()
	p.plotStart("5.2rem", pixels, p.nodeLabels(&l, pixels), ganttWidth, h)
	p.gridX(xs, ganttWidth, h)
	p.paths(list, colour)
	p.splits(&l)
	p.plotEnd(xs)
	if len(list) <= mostNamed {
		p.named(&l, list)
	}
}

// paths draws all rectangles of a colour as one path.
func (p *page) paths(list []rect, colour []uint8) {
	for c := range uint8(9) {
		open := false
		for _, r := range list {
			if colour[r.job] != c {
				continue
			}
			if !open {
				p.printf(`<path class="f%d" d="`, c)
				open = true
			}
			p.b = append(p.b, 'M')
			p.b = strconv.AppendInt(p.b, r.x0, 10)
			p.b = append(p.b, ' ')
			p.b = strconv.AppendInt(p.b, r.y0, 10)
			p.b = append(p.b, 'h')
			p.b = strconv.AppendInt(p.b, r.x1-r.x0, 10)
			p.b = append(p.b, 'v')
			p.b = strconv.AppendInt(p.b, r.y1-r.y0, 10)
			p.b = append(p.b, 'h')
			p.b = strconv.AppendInt(p.b, r.x0-r.x1, 10)
			p.b = append(p.b, 'z')
		}
		if open {
			p.print(`"/>`)
		}
	}
}

// splits draws a line where the kind of node changes, and between nodes where
// there is room.
func (p *page) splits(l *lanes) {
	if len(l.nodes) <= 48 && len(l.nodes) > 1 {
		p.print(`<path class="grid" d="`)
		for _, y := range l.first[1:] {
			p.printf("M0 %dh%d", y*l.scale, ganttWidth)
		}
		p.print(`"/>`)
	}
	kind := func(row int32) [3]string {
		n := &p.run.Nodes[row]
		return [3]string{n.Type, strconv.FormatInt(n.GPUs, 10), strconv.FormatInt(n.MilliCPU, 10)}
	}
	var lines []string
	for i := 1; i < len(l.nodes); i++ {
		if kind(l.nodes[i]) != kind(l.nodes[i-1]) {
			lines = append(lines, "M0 "+strconv.FormatInt(l.first[i]*l.scale, 10)+"h"+strconv.Itoa(ganttWidth))
		}
	}
	if len(lines) > 0 && len(lines) <= 12 {
		p.print(`<path class="split" d="`, strings.Join(lines, ""), `"/>`)
	}
}

// nodeLabels names every node, or every second, fifth, tenth, …, as many as
// have room.
func (p *page) nodeLabels(l *lanes, pixels int) []label {
	const room = 15 // pixels
	step := 1
	for _, s := range [...]int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000} {
		if step = s; pixels*s >= room*len(l.nodes) {
			break
		}
	}
	var dst []label
	strip := commonPrefix(p.run.Nodes)
	for i := 0; i < len(l.nodes); i += step {
		next := l.high
		if i+1 < len(l.nodes) {
			next = l.first[i+1]
		}
		at := float64(l.first[i]+next) / 2 / float64(l.high)
		dst = append(dst, label{at, shortName(p.run.Nodes[l.nodes[i]].Name, strip)})
	}
	return dst
}

// commonPrefix is the length of what all names of nodes begin with, digits at
// its end left out; 0 if that saves little.
func commonPrefix(nodes []outcome.Node) int {
	if len(nodes) == 0 {
		return 0
	}
	n := len(nodes[0].Name)
	for _, node := range nodes {
		n = min(n, len(node.Name))
		for i := range n {
			if node.Name[i] != nodes[0].Name[i] {
				n = i
				break
			}
		}
	}
	for n > 0 && nodes[0].Name[n-1] >= '0' && nodes[0].Name[n-1] <= '9' {
		n--
	}
	if n < 5 {
		return 0
	}
	return n
}

// shortName fits a name into the labels' column.
func shortName(name string, strip int) string {
	const most = 11
	name = name[strip:]
	if strip > 0 {
		name = "\u2026" + name
	}
	if r := []rune(name); len(r) > most {
		name = "\u2026" + string(r[len(r)-most+1:])
	}
	return name
}
