package report

import "slices"

// A packer hands out lanes of a node, or of a device, to stays that follow one
// another in order of their starts. It knows amounts only: which core a job
// really held is not drawn.
type packer struct {
	capacity int64
	held     []hold // by lo
}

type hold struct{ lo, hi, end int64 }

// take returns the lanes [lo, hi) for need from start to end, lowest first,
// in several pieces if no gap is wide enough. What does not fit (jobs that
// share) lies over the lowest lanes.
func (p *packer) take(dst []hold, start, end, need int64) []hold {
	p.held = slices.DeleteFunc(p.held, func(h hold) bool { return h.end <= start })
	need = min(need, p.capacity)
	if lo, ok := p.gap(need); ok {
		return append(dst, p.put(hold{lo, lo + need, end}))
	}
	for need > 0 {
		lo, wide := p.first()
		if wide == 0 {
			return append(dst, hold{0, need, end})
		}
		wide = min(wide, need)
		dst = append(dst, p.put(hold{lo, lo + wide, end}))
		need -= wide
	}
	return dst
}

// gap returns the lowest gap of at least need.
func (p *packer) gap(need int64) (lo int64, ok bool) {
	for _, h := range p.held {
		if h.lo-lo >= need {
			return lo, true
		}
		lo = max(lo, h.hi)
	}
	return lo, p.capacity-lo >= need
}

// first returns the lowest gap of any width.
func (p *packer) first() (lo, wide int64) {
	for _, h := range p.held {
		if h.lo > lo {
			return lo, h.lo - lo
		}
		lo = max(lo, h.hi)
	}
	return lo, p.capacity - lo
}

func (p *packer) put(h hold) hold {
	i := 0
	for i < len(p.held) && p.held[i].lo < h.lo {
		i++
	}
	p.held = slices.Insert(p.held, i, h)
	return h
}
