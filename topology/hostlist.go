package topology

import (
	"slices"
	"strconv"
)

// Limits of a hostlist. The first three are Slurm's; the last two are ours and
// keep a short text from filling the memory.
const (
	MaxRangeHosts = 65536   // hosts in one range "[1-65536]"
	MaxPrefixes   = 65536   // combinations of the brackets before the last one of an item
	MaxRanges     = 262144  // ranges in a list
	MaxHosts      = 1 << 20 // hosts of a list
	MaxHostBytes  = 1 << 26 // bytes of all names of a list
)

// ParseHostlist expands a hostlist into names, in its order and with its
// duplicates: "n[08-10,2],login" is n08, n09, n10, n2, login.
//
// Items are separated by commas, spaces, tabs and newlines, repeated at will; a
// bracket holds ranges of decimal numbers, and the digits of a range's lower end
// give the width to which its numbers are padded. With several brackets in an
// item the last one runs fastest, then the first, then the second and so on. A
// dash or "]" outside brackets is plain text. An empty text has no hosts. Errors
// are of type *[ParseError]. Cost: O(names).
//
// Source: Slurm's hostlist expressions; spec/topology.md 1.7.
func ParseHostlist(text string) ([]string, error) { return AppendHosts(nil, text) }

// AppendHosts is [ParseHostlist] appending to dst. On an error dst is returned
// as it came.
func AppendHosts(dst []string, text string) ([]string, error) {
	p := hostParser{text: text}
	for p.more() {
		if err := p.next(); err != nil {
			return dst, err
		}
	}
	return p.appendNames(dst), nil
}

// A hostRange is one range of a bracket.
type hostRange struct {
	lo, hi uint64
	width  int
}

// A hostPiece is a stretch of plain text, followed by the ranges first to
// last-1 of hostParser.ranges if it has a bracket.
type hostPiece struct {
	text        string
	first, last int
	hosts       int
}

// A hostParser expands a list into buf; ends are the ends of the names in it.
type hostParser struct {
	text   string
	at     int
	total  int
	buf    []byte
	ends   []int
	ranges []hostRange
	pieces []hostPiece
	index  []uint64
}

func (p *hostParser) fail(at int, err error) error {
	return &ParseError{Text: p.text, Offset: at, Err: err}
}

func isHostSep(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' }

// more skips separators and reports whether an item follows.
func (p *hostParser) more() bool {
	for p.at < len(p.text) && isHostSep(p.text[p.at]) {
		p.at++
	}
	return p.at < len(p.text)
}

// next expands the item at p.at into buf and ends.
func (p *hostParser) next() error {
	start := p.at
	if err := p.item(); err != nil {
		return err
	}
	return p.expand(start)
}

// appendNames appends the names expanded so far and forgets them.
func (p *hostParser) appendNames(dst []string) []string {
	all := string(p.buf)
	at := 0
	for _, end := range p.ends {
		dst = append(dst, all[at:end])
		at = end
	}
	p.buf, p.ends = p.buf[:0], p.ends[:0]
	return dst
}

// item reads one item into pieces and ranges.
func (p *hostParser) item() error {
	p.pieces, p.ranges = p.pieces[:0], p.ranges[:0]
	from := p.at
	for p.at < len(p.text) && !isHostSep(p.text[p.at]) {
		if p.text[p.at] != '[' {
			p.at++
			continue
		}
		piece := hostPiece{text: p.text[from:p.at], first: len(p.ranges)}
		open := p.at
		p.at++
		for {
			n, err := p.rang(open)
			if err != nil {
				return err
			}
			piece.hosts += n
			if p.text[p.at] == ']' {
				break
			}
			p.at++
		}
		p.at++
		piece.last = len(p.ranges)
		p.pieces = append(p.pieces, piece)
		from = p.at
	}
	p.pieces = append(p.pieces, hostPiece{text: p.text[from:p.at]})
	return nil
}

// rang reads one range of the bracket opened at open, up to the comma or
// bracket after it, and returns the number of its hosts.
func (p *hostParser) rang(open int) (int, error) {
	start := p.at
	lo, width, err := p.number(open)
	if err != nil {
		return 0, err
	}
	hi := lo
	if p.text[p.at] == '-' {
		p.at++
		if hi, _, err = p.number(open); err != nil {
			return 0, err
		}
	}
	switch c := p.text[p.at]; {
	case c != ',' && c != ']':
		return 0, p.fail(p.at, ErrSyntax)
	case hi < lo:
		return 0, p.fail(start, ErrOrder)
	case hi-lo >= MaxRangeHosts, len(p.ranges) >= MaxRanges:
		return 0, p.fail(start, ErrLimit)
	}
	p.ranges = append(p.ranges, hostRange{lo: lo, hi: hi, width: width})
	return int(hi-lo) + 1, nil
}

// number reads digits; a byte follows them when it returns without an error.
func (p *hostParser) number(open int) (v uint64, width int, err error) {
	start := p.at
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at] - '0'
		if c > 9 {
			break
		}
		if v >= 1e17 {
			return 0, 0, p.fail(start, ErrLimit)
		}
		v = v*10 + uint64(c)
	}
	switch {
	case p.at == len(p.text):
		return 0, 0, p.fail(open, ErrUnclosed)
	case p.at == start:
		return 0, 0, p.fail(start, ErrSyntax)
	}
	return v, p.at - start, nil
}

// expand appends the names of the item that began at start.
func (p *hostParser) expand(start int) error {
	tail := p.pieces[len(p.pieces)-1]
	brackets := p.pieces[:len(p.pieces)-1]
	prefixes, size := 1, len(tail.text)
	for i, b := range brackets {
		size += len(b.text) + p.maxWidth(b)
		if i == len(brackets)-1 {
			break
		}
		if prefixes *= b.hosts; prefixes > MaxPrefixes {
			return p.fail(start, ErrLimit)
		}
	}
	hosts := prefixes
	if len(brackets) > 0 {
		hosts *= brackets[len(brackets)-1].hosts
	}
	if p.total += hosts; p.total > MaxHosts || (len(p.buf)+hosts*size) > MaxHostBytes {
		return p.fail(start, ErrLimit)
	}
	if len(brackets) == 0 {
		p.buf = append(p.buf, tail.text...)
		p.ends = append(p.ends, len(p.buf))
		return nil
	}
	p.buf = slices.Grow(p.buf, hosts*size)
	p.ends = slices.Grow(p.ends, hosts)
	p.index = p.index[:0]
	for range brackets {
		p.index = append(p.index, 0)
	}
	for prefix := range prefixes {
		// The brackets before the last count up with the first running fastest.
		rest := prefix
		for i, b := range brackets[:len(brackets)-1] {
			p.index[i] = uint64(rest % b.hosts)
			rest /= b.hosts
		}
		p.names(brackets, tail.text)
	}
	return nil
}

// names appends one name for each host of the last bracket, the others standing
// at p.index.
func (p *hostParser) names(brackets []hostPiece, tail string) {
	head := len(p.buf)
	for i, b := range brackets[:len(brackets)-1] {
		p.buf = append(p.buf, b.text...)
		at := p.index[i]
		for _, r := range p.ranges[b.first:b.last] {
			if n := r.hi - r.lo + 1; at >= n {
				at -= n
				continue
			}
			p.buf = appendPadded(p.buf, r.lo+at, r.width)
			break
		}
	}
	last := brackets[len(brackets)-1]
	p.buf = append(p.buf, last.text...)
	prefix := len(p.buf) - head
	first := true
	for _, r := range p.ranges[last.first:last.last] {
		for v := r.lo; v <= r.hi; v++ {
			at := len(p.buf)
			switch {
			case first:
				p.buf = appendPadded(p.buf, v, r.width)
			case v > r.lo && digits(v) == digits(v-1) || v > r.lo && digits(v) <= r.width:
				// The name before it with its number counted up in place.
				size := p.ends[len(p.ends)-1] - head
				p.buf = append(p.buf, p.buf[head:head+size]...)
				countUp(p.buf[at+prefix : len(p.buf)-len(tail)])
				head = at
				p.ends = append(p.ends, len(p.buf))
				continue
			default:
				p.buf = append(p.buf, p.buf[head:head+prefix]...)
				p.buf = appendPadded(p.buf, v, r.width)
				head = at
			}
			first = false
			p.buf = append(p.buf, tail...)
			p.ends = append(p.ends, len(p.buf))
		}
	}
}

// countUp adds one to a decimal number that has room for it.
func countUp(digits []byte) {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '9' {
			digits[i]++
			return
		}
		digits[i] = '0'
	}
}

// maxWidth returns the most digits that a bracket can print.
func (p *hostParser) maxWidth(b hostPiece) int {
	w := 0
	for _, r := range p.ranges[b.first:b.last] {
		w = max(w, r.width, digits(r.hi))
	}
	return w
}

// appendPadded appends v with at least width digits.
func appendPadded(dst []byte, v uint64, width int) []byte {
	for n := digits(v); n < width; n++ {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, v, 10)
}

// digits returns the number of decimal digits of v.
func digits(v uint64) int {
	n := 1
	for v >= 10 {
		v /= 10
		n++
	}
	return n
}
