package topology

import (
	"slices"
	"strconv"
)

// MaxSizeValue is the bound that every value of a size list stays below.
const MaxSizeValue = 16384

// maxNodeCount bounds a plain node count; it is Slurm's largest int.
const maxNodeCount = 1<<31 - 1

// A NodeCount is how many nodes a job asks for: a range Min to Max, or, if Sizes
// is not empty, one of several sizes. Sizes ascends without duplicates, and Min
// and Max are then its ends.
//
// Source: sbatch --nodes.
type NodeCount struct {
	Min, Max int32
	Sizes    []int32
}

// ParseNodeCount reads the text of -N: "4", "4-8", with suffixes k (×1024) and
// m (×1048576), or a size list of values and "a-b:step" ranges: "2,4,8",
// "1-15:4" (1, 5, 9, 13). Errors are of type *[ParseError].
func ParseNodeCount(text string) (NodeCount, error) {
	p := countParser{text: text}
	lo, err := p.value()
	if err != nil {
		return NodeCount{}, err
	}
	hi, ranged := lo, false
	if p.peek() == '-' {
		p.at++
		ranged = true
		if hi, err = p.value(); err != nil {
			return NodeCount{}, err
		}
		if hi < lo {
			return NodeCount{}, p.fail(0, ErrOrder)
		}
	}
	if p.at == len(text) {
		return NodeCount{Min: lo, Max: hi}, nil
	}
	c := NodeCount{}
	for start := 0; ; {
		if err := p.sizes(&c, start, lo, hi, ranged); err != nil {
			return NodeCount{}, err
		}
		if len(c.Sizes) > 2*MaxSizeValue { // a short text must not pile up values
			slices.Sort(c.Sizes)
			c.Sizes = slices.Compact(c.Sizes)
		}
		if p.at == len(text) {
			break
		}
		p.at++ // the comma
		start = p.at
		if lo, err = p.value(); err != nil {
			return NodeCount{}, err
		}
		hi, ranged = lo, false
		if p.peek() == '-' {
			p.at++
			ranged = true
			if hi, err = p.value(); err != nil {
				return NodeCount{}, err
			}
		}
	}
	slices.Sort(c.Sizes)
	c.Sizes = slices.Compact(c.Sizes)
	c.Min, c.Max = c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	return c, nil
}

// AppendNodeCount appends the text of c: "4", "4-8" or "2,4,8".
func AppendNodeCount(dst []byte, c NodeCount) []byte {
	if len(c.Sizes) > 0 {
		for i, k := range c.Sizes {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(k), 10)
		}
		if len(c.Sizes) == 1 { // a step makes it a list again
			dst = append(dst, '-')
			dst = strconv.AppendInt(dst, int64(c.Sizes[0]), 10)
			dst = append(dst, ":1"...)
		}
		return dst
	}
	dst = strconv.AppendInt(dst, int64(c.Min), 10)
	if c.Max != c.Min {
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, int64(c.Max), 10)
	}
	return dst
}

type countParser struct {
	text string
	at   int
}

func (p *countParser) fail(at int, err error) error {
	return &ParseError{Text: p.text, Offset: at, Err: err}
}

func (p *countParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// value reads a positive number with its suffix.
func (p *countParser) value() (int32, error) {
	start := p.at
	v := int64(0)
	for ; p.at < len(p.text) && p.text[p.at]-'0' <= 9; p.at++ {
		if v = v*10 + int64(p.text[p.at]-'0'); v > maxNodeCount {
			return 0, p.fail(start, ErrLimit)
		}
	}
	if p.at == start {
		return 0, p.fail(start, ErrSyntax)
	}
	switch p.peek() {
	case 'k', 'K':
		v <<= 10
		p.at++
	case 'm', 'M':
		v <<= 20
		p.at++
	}
	if v > maxNodeCount {
		return 0, p.fail(start, ErrLimit)
	}
	if v == 0 {
		return 0, p.fail(start, ErrSyntax)
	}
	return int32(v), nil
}

// sizes appends to c the values of one part of a size list, whose range has been
// read from start and whose step may follow.
func (p *countParser) sizes(c *NodeCount, start int, lo, hi int32, ranged bool) error {
	step := int32(1)
	if ranged && p.peek() == ':' {
		p.at++
		var err error
		if step, err = p.value(); err != nil {
			return err
		}
	}
	if p.at < len(p.text) && p.text[p.at] != ',' {
		return p.fail(p.at, ErrSyntax)
	}
	if hi < lo {
		return p.fail(start, ErrOrder)
	}
	if hi >= MaxSizeValue || step >= MaxSizeValue {
		return p.fail(start, ErrLimit)
	}
	for v := lo; v <= hi; v += step {
		c.Sizes = append(c.Sizes, v)
	}
	return nil
}
