package trace

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A table is a text of rows under a heading, fields apart by one byte.
type table struct {
	lines
	sep   byte
	cols  map[string]int
	width int
	f     []string
	err   error // first error of the present row
}

// openTable reads the heading and checks that it has the wanted columns.
func openTable(l lines, sep byte, want ...string) (*table, error) {
	t := &table{lines: l, sep: sep, cols: make(map[string]int)}
	head, err := t.nextFull()
	if err != nil {
		return nil, err
	}
	if t.f, err = splitFields(t.f[:0], head, sep); err != nil {
		return nil, t.errorf(head, err)
	}
	for i, name := range t.f {
		name = strings.TrimSpace(name)
		if _, twice := t.cols[name]; twice && name != "" {
			return nil, t.errorf(name, errors.New("column named twice"))
		}
		t.cols[name] = i
	}
	t.width = len(t.f)
	for _, name := range want {
		if _, ok := t.cols[name]; !ok {
			return nil, t.errorf(head, fmt.Errorf("%w: heading has no column %s", ErrFormat, name))
		}
	}
	return t, nil
}

// row moves to the next row; io.EOF after the last.
func (t *table) row() error {
	t.err = nil
	s, err := t.nextFull()
	if err != nil {
		return err
	}
	if t.f, err = splitFields(t.f[:0], s, t.sep); err != nil {
		return t.errorf(s, err)
	}
	if len(t.f) != t.width {
		return t.errorf(s, fmt.Errorf("%w: %d fields, the heading has %d", ErrSyntax, len(t.f), t.width))
	}
	return nil
}

// text returns a field, empty if there is no such column.
func (t *table) text(col string) string {
	if i, ok := t.cols[col]; ok {
		return strings.TrimSpace(t.f[i])
	}
	return ""
}

// count returns a whole number in [0, most]; an empty field is 0.
func (t *table) count(col string, most int64) int64 {
	s := t.text(col)
	if s == "" {
		return 0
	}
	n, err := parseCount(s, most)
	if err != nil {
		t.fail(col, s, err)
	}
	return n
}

// must is count for a field that may not be empty.
func (t *table) must(col string, most int64) int64 {
	if t.text(col) == "" {
		t.fail(col, "", ErrNumber)
		return 0
	}
	return t.count(col, most)
}

// seconds returns a field of seconds, decimals allowed, in microseconds.
func (t *table) seconds(col string) int64 {
	s := t.text(col)
	n, err := parseSeconds(s)
	if err != nil {
		t.fail(col, s, err)
	}
	return n
}

// fail keeps the first error of a row.
func (t *table) fail(col, token string, err error) {
	if t.err == nil {
		t.err = t.errorf(token, fmt.Errorf("column %s: %w", col, err))
	}
}

// each calls f for each row until the text or f ends it.
func (t *table) each(f func()) error {
	for {
		switch err := t.row(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if f(); t.err != nil {
			return t.err
		}
	}
}

// splitFields appends the fields of s to dst. A field that starts with a quote
// goes to the closing one; a doubled quote inside stands for one.
func splitFields(dst []string, s string, sep byte) ([]string, error) {
	for {
		if strings.HasPrefix(s, `"`) {
			val, rest, ok := cutQuoted(s[1:])
			if !ok || (rest != "" && rest[0] != sep) {
				return dst, fmt.Errorf("%w: quoted field without its end", ErrSyntax)
			}
			dst = append(dst, val)
			if rest == "" {
				return dst, nil
			}
			s = rest[1:]
			continue
		}
		i := strings.IndexByte(s, sep)
		if i < 0 {
			return append(dst, s), nil
		}
		dst = append(dst, s[:i])
		s = s[i+1:]
	}
}

func cutQuoted(s string) (val, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(s[:i], `""`, `"`), s[i+1:], true
	}
	return "", "", false
}

// parseCount reads a whole number in [0, most].
func parseCount(s string, most int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && s[0] != '-':
		return 0, fmt.Errorf("%w, at most %d", ErrRange, most)
	case errors.Is(err, strconv.ErrRange), err == nil && n < 0:
		return 0, ErrNegative
	case err != nil:
		return 0, ErrNumber
	case n > most:
		return 0, fmt.Errorf("%w, at most %d", ErrRange, most)
	}
	return n, nil
}

// parseSeconds reads seconds with decimals as microseconds; what lies beyond
// the sixth decimal is cut off.
func parseSeconds(s string) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || strings.HasPrefix(whole, "+") {
		return 0, ErrDecimal
	}
	n, err := parseCount(whole, maxSeconds)
	if errors.Is(err, ErrNumber) {
		return 0, ErrDecimal
	}
	if err != nil {
		return 0, err
	}
	if whole[0] == '-' {
		return 0, ErrNegative // "-0.5"
	}
	us := int64(0)
	for i := range frac {
		if frac[i] < '0' || frac[i] > '9' {
			return 0, ErrDecimal
		}
	}
	for i := range 6 {
		us *= 10
		if i < len(frac) {
			us += int64(frac[i] - '0')
		}
	}
	return n*Second + us, nil
}
