package sbatch

import (
	"slices"
	"strconv"
)

// An Array is the index list of a job array. Slurm: --array.
type Array struct {
	// Ranges ascend and neither touch nor overlap if they have the same step.
	Ranges []IndexRange
	// Throttle is how many tasks may run at once; 0 any number.
	Throttle int32
}

// An IndexRange is From, From+Step, … up to To, which it hits.
type IndexRange struct{ From, To, Step int32 }

// maxIndex bounds an array index; Slurm's MaxArraySize cannot be larger.
const maxIndex = 4000000

// ParseArray reads "0-15", "1,3,5-9:2%4" and the same in brackets. Whether the
// cluster allows the indexes is not asked. Errors are [*GrammarError].
//
// Source: sbatch(1), --array; spec/backfill.md 4.
func ParseArray(text string) (Array, error) {
	p := scanner{grammar: "array", text: text, end: len(text)}
	if p.end > 1 && text[0] == '[' && text[p.end-1] == ']' {
		p.at, p.end = 1, p.end-1
	}
	var a Array
	for {
		r := IndexRange{Step: 1}
		start := p.at
		n, err := p.number(maxIndex, "an index")
		if err != nil {
			return Array{}, err
		}
		r.From, r.To = n, n
		if p.take('-') {
			if r.To, err = p.number(maxIndex, "an index"); err != nil {
				return Array{}, err
			}
			if r.To < r.From {
				return Array{}, p.fail(start, "the range descends")
			}
			if p.take(':') {
				if r.Step, err = p.number(maxIndex, "a step"); err != nil {
					return Array{}, err
				}
				if r.Step == 0 {
					return Array{}, p.fail(p.at-1, "a step of 0")
				}
				r.To -= (r.To - r.From) % r.Step
			}
		}
		a.Ranges = append(a.Ranges, r)
		if !p.take(',') {
			break
		}
	}
	if p.take('%') {
		n, err := p.number(1<<31-1, "a number of tasks")
		if err != nil {
			return Array{}, err
		}
		a.Throttle = n
	}
	if p.at != p.end {
		return Array{}, p.fail(p.at, "a comma, a range or %tasks is wanted")
	}
	a.normalize()
	return a, nil
}

// normalize sorts the ranges and joins plain ones that touch.
func (a *Array) normalize() {
	for i := range a.Ranges {
		if r := &a.Ranges[i]; r.From == r.To {
			r.Step = 1
		}
	}
	slices.SortFunc(a.Ranges, func(x, y IndexRange) int {
		if x.From != y.From {
			return int(x.From) - int(y.From)
		}
		if x.To != y.To {
			return int(x.To) - int(y.To)
		}
		return int(x.Step) - int(y.Step)
	})
	out := a.Ranges[:0]
	for _, r := range a.Ranges {
		if n := len(out) - 1; n >= 0 && out[n].Step == 1 && r.Step == 1 && r.From <= out[n].To+1 {
			out[n].To = max(out[n].To, r.To)
			continue
		}
		out = append(out, r)
	}
	a.Ranges = slices.Compact(out)
}

// Max returns the largest index. It is -1 for an array without ranges.
func (a Array) Max() int32 {
	m := int32(-1)
	for _, r := range a.Ranges {
		m = max(m, r.To)
	}
	return m
}

// Count returns the number of different indexes. It costs the largest index in
// bits if ranges with steps overlap.
func (a Array) Count() int {
	n, last, overlap := 0, int32(-1), false
	for _, r := range a.Ranges {
		n += int((r.To-r.From)/r.Step) + 1
		overlap = overlap || r.From <= last
		last = max(last, r.To)
	}
	if !overlap {
		return n
	}
	seen := make([]uint64, a.Max()/64+1)
	n = 0
	for _, r := range a.Ranges {
		for i := r.From; i <= r.To; i += r.Step {
			if seen[i/64]>>(i%64)&1 == 0 {
				seen[i/64] |= 1 << (i % 64)
				n++
			}
		}
	}
	return n
}

// AppendArray appends a in sbatch's grammar. [ParseArray] reads it back.
func AppendArray(dst []byte, a Array) []byte {
	for i, r := range a.Ranges {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(r.From), 10)
		if r.To > r.From {
			dst = strconv.AppendInt(append(dst, '-'), int64(r.To), 10)
			if r.Step != 1 {
				dst = strconv.AppendInt(append(dst, ':'), int64(r.Step), 10)
			}
		}
	}
	if a.Throttle > 0 {
		dst = strconv.AppendInt(append(dst, '%'), int64(a.Throttle), 10)
	}
	return dst
}

// A scanner walks over an argument.
type scanner struct {
	grammar, text string
	at, end       int
}

func (p *scanner) fail(at int, why string) error {
	return &GrammarError{p.grammar, p.text, at, why}
}

// peek returns the next byte, 0 at the end.
func (p *scanner) peek() byte {
	if p.at < p.end {
		return p.text[p.at]
	}
	return 0
}

// take steps over c if it comes next.
func (p *scanner) take(c byte) bool {
	if p.at < p.end && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// number reads decimal digits up to most.
func (p *scanner) number(most int32, what string) (int32, error) {
	start, n := p.at, int64(0)
	for ; p.at < p.end && p.text[p.at] >= '0' && p.text[p.at] <= '9'; p.at++ {
		if n = n*10 + int64(p.text[p.at]-'0'); n > int64(most) {
			return 0, p.fail(start, what+" is too large")
		}
	}
	if p.at == start {
		return 0, p.fail(start, what+" is wanted")
	}
	return int32(n), nil
}

// until reads up to one of the bytes of stop.
func (p *scanner) until(stop string) string {
	start := p.at
	for p.at < p.end {
		for i := range len(stop) {
			if p.text[p.at] == stop[i] {
				return p.text[start:p.at]
			}
		}
		p.at++
	}
	return p.text[start:p.end]
}
